"""What was found on exposure bias, in sentences, by the rules of `textassay.comparison.verdicts`.

An interval that leaves out 1 says that there is exposure bias, or the contrary; one that holds 1 and stays near it,
that there is no more than so much; any other leaves it open, and the sentence says what would settle it. The statements
are about the longest prefix that was measured, which is fixed before anything is seen.
"""

import math

from textassay.comparison import MARGIN, RATIO_MARGIN, more_sentences, verdict_of
from textassay.estimate import Interval
from textassay.exposure import EbDd, Exposure, ExposureSettings
from textassay.report.number import count, counted, interval, level, number

DISTANCE_NAMES = {
    "tv": "total variation",
    "js": "Jensen-Shannon divergence",
    "greedy": "share of unlike likeliest words",
    "kl": "Kullback-Leibler divergence",
}
_MODEL = "model"
_ENDS = {
    "excluded": "no sentence ends, on any side: models of whole sentences run on past their ends",
    "absorbing": "a sentence may end, on all sides; what has ended says nothing more",
}
_FINE = 0.1  # percent points: intervals narrower than this to each side get another decimal


def verdicts(found: Exposure) -> list[str]:
    """Return one sentence a measure, the one against the oracle first."""
    told = []
    last = len(found.lengths.lengths) - 1
    tokens = counted(found.lengths.lengths[last], "token")
    name = found.settings.distances[0]
    rate = found.rates.get(name, {}).get(_MODEL)
    if rate is not None:
        told.append(_of_rate(rate.intervals[last], float(rate.values[last]), tokens, name, found.settings))
    bleu = found.bleu.get(_MODEL)
    if bleu is not None:
        n_continuations = bleu.n_sentences * found.settings.bleu_runs
        told.append(_of_bleu(bleu.intervals[last], float(bleu.values[last]), tokens, n_continuations, found.settings))
    if bleu is None:
        told.append("Nothing is said of exposure bias: no prefixes of the model were measured.")
    scale = [
        f"{_described(kind)} {_percent(1 - 1 / float(other.values[last]), 1 - 1 / bounds.low, 1 - 1 / bounds.high)}"
        for kind, other in found.bleu.items()
        if kind != _MODEL and (bounds := other.intervals[last]) is not None and bounds.low > 0
    ]
    if scale:
        told.append(f"For scale, this share of BLEU is lost after {tokens} of: {'; '.join(scale)}.")
    if found.excess is not None:
        excess = found.excess
        told += _of_excess(excess.intervals[-1], float(excess.values[-1]), excess.lengths[-1], found.settings)
    if found.dd:
        told += _of_dd(found.dd[-1], found.settings.level)
    return told


def rule(found: Exposure) -> str:
    """Return the rule by which `verdicts` says what it says."""
    longest = found.lengths.lengths[-1]
    share = level(found.settings.level)
    over = "over runs: other draws of the model and other parts of this text"
    if found.settings.bleu_runs == 1:
        over = "over the sentences of one run"
    parts = ["the excess"] * (found.excess is not None) + ["the difference of dd"] * bool(found.dd)
    others = f", or that of {' or of '.join(parts)} above 0" if parts else ""
    return (
        f"Rule: there is exposure bias where the {share} interval of the ratio after the longest prefix, of "
        f"{counted(longest, 'token')}, lies above 1{others}. One that holds 1 and "
        f"stays within {level(RATIO_MARGIN)} of it rules more than that out; any other leaves it open. Intervals are "
        f"{over}" + ("; those of dd are over sentences." if found.dd else ".")
    )


def sizes(found: Exposure) -> list[str]:
    """Return what it was measured on."""
    lengths, settings = found.lengths, found.settings
    left = ", ".join(f"{count(n)} have {count(length)}" for length, n in lengths.n_left.items())
    if min(lengths.n_left.values()) == lengths.n_sentences:
        left = f"all have {count(lengths.sentence_length)}"
    told = [
        f"Sentences of {lengths.sentence_length} tokens, prefixes of {', '.join(map(str, lengths.lengths))}. Of "
        f"{count(lengths.n_sentences)} sentences of the text {left} tokens or more; "
        f"{100 * found.unknown_share:.2f} % of its tokens are unknown to the model."
    ]
    bleu = next(iter(found.bleu.values()))
    told.append(
        f"EB-bleu: {_runs(settings.bleu_runs)} of {counted(bleu.n_sentences, 'continuation')} against "
        f"{counted(bleu.n_references, 'reference')}"
        + (f" ({count(settings.n)} were asked for)." if bleu.n_sentences < settings.n else ".")
    )
    if found.oracle is not None:
        told.append(
            f"EB-C against {found.oracle}: {_runs(settings.oracle_runs)} of {counted(settings.n, 'sequence')} of each "
            "kind."
        )
    return told


def explanations(found: Exposure) -> list[tuple[str, str]]:
    """Return what the columns mean."""
    told = [
        ("C-bleu(H)", "mean BLEU-3, in percent, of what the model writes after prefixes from H; prefixes do not count"),
        ("EB-bleu", "C-bleu(data) divided by C-bleu(H): 1 without exposure bias, more with it"),
        ("±", "standard deviation over runs"),
        ("ends", _ENDS[found.settings.ends]),
    ]
    if found.oracle is not None:
        told += [
            ("CGD(H)", "mean distance between the next words of model and oracle after prefixes from H"),
            ("EB-C", "CGD(model) divided by CGD(data): 1 without exposure bias, more with it"),
        ]
    if found.excess is not None:
        told.append(("excess", "by how much errors pile up faster over the model's own words than over the oracle's"))
    if found.dd:
        told.append(("dd", "how well a classifier tells continuations from real ones; more after own words is bias"))
    ties = max(found.ties.values(), default=0.0)
    if "greedy" in found.rates and ties > 0:
        told.append(("greedy", f"up to {100 * ties:.2g} % of the sequences have several likeliest words; one counts"))
    return told


def _of_rate(bounds: Interval | None, value: float, tokens: str, distance: str, settings: ExposureSettings) -> str:
    name = DISTANCE_NAMES[distance]
    if bounds is None:
        return _without_interval(
            "EB-C", value, "after real words, the next words of model and oracle do not differ in every run"
        )
    if bounds.low > 1 or bounds.high < 1:
        way, what = ("farther from", "exposure bias") if bounds.low > 1 else ("nearer to", "no exposure bias, rather")
        tail = "" if bounds.low > 1 else " the contrary"
        return (
            f"After {tokens} of its own the model's next words are {_change(value, bounds)} {way} the oracle's than "
            f"after real ones ({name}): {what}{tail}."
        )
    n, what = settings.n * settings.oracle_runs, "sequences of each kind"
    return _absent(
        "Against the oracle",
        f"after {tokens} of its own the model's next words are {_between(bounds, 'nearer to', 'farther from')} the "
        f"oracle's than after real ones ({name})",
        bounds, value, n, what, settings.level,
    )  # fmt: skip


def _of_bleu(bounds: Interval | None, value: float, tokens: str, n: int, settings: ExposureSettings) -> str:
    if bounds is None:
        return _without_interval(
            "EB-bleu", value, "in some run, no word of the model's continuations stands in a reference"
        )
    if bounds.low > 1 or bounds.high < 1:
        way, what = ("higher", "exposure bias") if bounds.low > 1 else ("lower", "no exposure bias, rather")
        tail = "" if bounds.low > 1 else " the contrary"
        return (
            f"After {tokens} of real text the model's continuations have a BLEU {_change(value, bounds)} {way} than "
            f"after its own: {what}{tail}."
        )
    return _absent(
        "By BLEU",
        f"after {tokens} of real text the model's continuations score {_between(bounds, 'lower', 'higher')} than after "
        "its own",
        bounds, value, n, "continuations of each kind", settings.level,
    )  # fmt: skip


def _of_excess(bounds: Interval | None, value: float, n_tokens: int, settings: ExposureSettings) -> list[str]:
    if bounds is None:
        return []
    if bounds.low > 0 or bounds.high < 0:
        way = "faster" if bounds.low > 0 else "more slowly"
        ends = (bounds.low, bounds.high) if bounds.low > 0 else (-bounds.high, -bounds.low)
        return [
            f"Over the first {n_tokens} tokens errors pile up {_percent(abs(value), *ends)} {way} after the model's "
            "own words than after the oracle's."
        ]
    told = (
        f"over the first {n_tokens} tokens errors pile up {_between(bounds, 'more slowly', 'faster', middle=0.0)} "
        "after the model's own words than after the oracle's"
    )
    n, what = settings.n * settings.oracle_runs, "sequences of each kind"
    return [
        _absent(
            "By accumulated error",
            told,
            bounds,
            value,
            n,
            what,
            settings.level,
            middle=0.0,
            thing="an excess of errors",
        )
    ]


def _of_dd(found: EbDd, share: float) -> list[str]:
    bounds = found.interval
    if bounds is None or found.difference is None:
        return []
    told = f"dd after {count(found.length)} own tokens less dd after as many real ones"
    found_text = f"{number(found.difference, 3)} {interval(bounds, 3)}"
    said = verdict_of(bounds.low, bounds.high, margin=MARGIN)
    if said == "separated":
        easier = "more" if bounds.low > 0 else "less"
        return [
            f"A classifier tells the model's text from real text {easier} easily after its own words: {told} is "
            f"{found_text}."
        ]
    if said == "negligible":
        most = number(max(bounds.high, 0.0), 3)
        return [f"By a classifier there is no exposure bias of more than {most}: {told} is {found_text}."]
    half = (bounds.high - bounds.low) / 2
    more = more_sentences(found.difference, half, found.n_sentences, level=share, margin=MARGIN)
    settle = "" if more is None else f"; {more[0]} would show a difference of {number(more[1], 3)}"
    return [f"By a classifier it is not clear whether there is exposure bias: {told} is {found_text}{settle}."]


def _absent(
    by: str,
    told: str,
    bounds: Interval,
    value: float,
    n: int,
    what: str,
    share: float,
    *,
    middle: float = 1.0,
    thing: str = "exposure bias",
) -> str:
    """Return what is said where the interval of a ratio holds `middle`: no more than so much, or that it is open."""
    if verdict_of(bounds.low, bounds.high, none=middle, margin=RATIO_MARGIN) == "negligible":
        most = number(100 * (bounds.high - middle), _places(bounds.low, bounds.high))
        return f"{by} there is no sign of {thing}, and none of more than {most} %: {told}."
    more = more_sentences(
        value - middle, (bounds.high - bounds.low) / 2, n, level=share, margin=RATIO_MARGIN, what=what
    )
    settle = "" if more is None else f"; {more[0]} would show a difference of {number(100 * more[1], 1)} %"
    return f"{by} it is not clear whether there is {thing}: {told}{settle}."


def _without_interval(name: str, value: float, why: str) -> str:
    """Return what is said of a ratio that has no interval, and maybe no value."""
    if math.isfinite(value):
        return f"Nothing is said of {name}, {number(value, 3)}: so few texts give it no interval."
    return f"{name} is undefined: {why}."


def _change(value: float, bounds: Interval) -> str:
    """Return how far a ratio is from 1, in percent, with its interval, all above 0."""
    ends = (bounds.low - 1, bounds.high - 1) if value > 1 else (1 - bounds.high, 1 - bounds.low)
    return _percent(abs(value - 1), *ends)


def _percent(share: float, low: float, high: float) -> str:
    places = _places(low, high)
    return f"{number(100 * share, places)} % [{number(100 * low, places)}, {number(100 * high, places)}]"


def _between(bounds: Interval, below: str, above: str, *, middle: float = 1.0) -> str:
    """Return an interval that holds `middle` as how far it reaches below and above it, in percent."""
    places = _places(bounds.low, bounds.high)
    return (
        f"between {number(100 * (middle - bounds.low), places)} % {below} and "
        f"{number(100 * (bounds.high - middle), places)} % {above}"
    )


def _places(low: float, high: float) -> int:
    return 1 if 50 * (high - low) >= _FINE else 2


def _described(kind: str) -> str:
    name, _, rate = kind.partition(":")
    if name == "corrupted":
        return f"its own with {100 * float(rate):g} % of the words replaced"
    return {"shuffled": "real text, shuffled", "random": "random words"}[name]


def _runs(n: int) -> str:
    return "one run" if n == 1 else f"{count(n)} runs"
