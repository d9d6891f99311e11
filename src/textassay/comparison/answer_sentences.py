"""The answer of a comparison in a few plain sentences, and the sentences that say what was compared."""

import re
import shlex
from collections.abc import Sequence

from textassay.comparison.comparison import FLOOR, TRAIN
from textassay.comparison.digest import Digest
from textassay.comparison.draw_document import drawn_sentences
from textassay.comparison.metric_kinds import family_of
from textassay.comparison.verdicts import MOSTLY, Verdict, more_sentences
from textassay.inspection.checks import CHARACTERS, UNSPACED
from textassay.inspection.finding import HELDOUT
from textassay.report.text import NOT_VALID, count, interval, join_few, join_words, level, number, span

_MODEL = re.compile(r",?encoder=(?!given\b)[^,)]*")  # in a metric's name: the content of the model, not where it is
_COLUMNS = {"log-probs": ("huse", "lm-score(model=self)"), "ratings": ("huse",)}  # option: metrics that read it
_MOST_NAMED = 4
_MOST_FIRST = 8
_MOST_DISAGREEMENTS = 2
_MOST_CLEAR = 2
_AT_LEAST = re.compile(r"needs at least (\d+) texts a side")
_TOKENS = {"chars": "characters", "mixed": "single letters"}  # of text without spaces between words
_MOST = 0.8  # of the real texts
_COPIES = {  # kinds of findings of text that overlap takes for quality
    "repeated-sentences": "repeat an earlier one",
    "memorised-sentences": "occur in the training text",
    "shared-sentences": "occur in the real text",
}


def scope(digest: Digest) -> tuple[tuple[str, str], ...]:
    """Return (label, text) of what was compared: the real text, the generators, the settings."""
    comparison = digest.comparison
    sizes = {generator: digest.size(generator) for generator in digest.generators}
    n_known = sum(size is not None for size in sizes.values())
    if (len({*sizes.values()}) == 1 and n_known) or n_known > _MOST_NAMED:
        each = " each" if n_known > 1 else ""
        generators = f"{join_words(digest.generators)}: {digest.sizes_text} texts{each}"
    else:
        generators = join_words(
            [name if size is None else f"{name} ({count(size)} texts)" for name, size in sizes.items()]
        )
    settings = [f"level {level(comparison.level)}", f"seed {comparison.seed}", f"textassay {comparison.version}"]
    tokenizer = digest.setting("tok")
    if tokenizer is not None:
        settings.insert(0, f"tokeniser {tokenizer}")
    if digest.setting("unit") == "document":
        settings.insert(0, "measured as documents")
    if digest.learnt_note:
        settings.append(digest.learnt_note)
    return (
        ("Real text", f"{comparison.real.name}: {count(comparison.real.n_sentences)} texts"),
        ("Generators" if len(digest.generators) > 1 else "Generator", generators),
        ("Settings", ", ".join(settings)),
    )


def answer(digest: Digest, *, with_warnings: bool = True) -> tuple[str, ...]:
    """Return the paragraphs that answer: which is closest, could it be luck, does any pass for real, who disagrees.

    The first one names the warnings that may explain the numbers, unless these follow.
    """
    metric = digest.headline
    explained = _explained(digest) if with_warnings else ""
    if metric is None:
        return (f"No metric that has a direction could be computed.{explained}", *_missing(digest))
    first, *others = *_missing(digest), _closest(digest, metric)
    sentences = [
        first + explained,
        *others,
        *_not_valid(digest, metric),
        *_unequal(digest, metric),
        *_passing(digest, metric),
        *drawn_sentences(digest.comparison.draws),
        *_tokens(digest),
        *_disagreement(digest, metric),
        *_repeats(digest, metric),
    ]
    return tuple(sentences)


def command_line(digest: Digest) -> str:
    """Return the command that repeats the comparison; the reader puts files for FILE and the encoder's model for MODEL.

    Metrics that have no value at all are left out: named, they would be computed after all, or be an error.
    """
    comparison = digest.spelt
    signed = digest.setting("tok") or ""
    tokenizer, *steps = signed.split("+")
    known = {result.metric for result in comparison.results if result.estimate is not None}
    metrics = [metric for metric in comparison.metrics if metric in known or not known]
    encoders = {_encoder(metric) for metric in metrics} - {None, "given"}
    one_model = len(encoders) == 1 and not (digest.setting("encoder") or "").startswith("lsa")
    if one_model:
        metrics = [_MODEL.sub("", metric).replace("()", "") for metric in metrics]
    parts = ["textassay compare", f"--real {shlex.quote(comparison.real.name)}"]
    parts += ["--real-heldout FILE"] * (HELDOUT in digest.floors)
    parts += ["--train FILE"] * (TRAIN in digest.floors or digest.setting("train") is not None)
    parts += ["--fit-real FILE"] * (digest.setting("fit_real") is not None)
    prior = comparison.settings.get("prior")
    parts += [f"--prior {shlex.quote(prior)}"] if prior is not None else []
    drawn = {draw.generator: draw for draw in comparison.draws}
    sources = {name: draw.source for name, draw in drawn.items() if draw.source is not None}
    parts += [shlex.quote(f"{generator}={sources.get(generator, 'FILE')}") for generator in digest.generators]
    n_most = max((drawn[name].n for name in sources), default=comparison.real.n_sentences)
    parts += [f"--draw {n_most}"] * (n_most != comparison.real.n_sentences)
    parts += ["--no-log-probs"] * (bool(sources) and not any(draw.log_probs for draw in drawn.values()))
    if any(_encoder(metric) == "given" for metric in metrics):
        rows = ["real", *["real-heldout"] * (HELDOUT in digest.floors), *digest.generators]
        parts += [f"--features {shlex.quote(f'{name}=FILE')}" for name in rows]
    for option, users in _COLUMNS.items():
        judged = [
            name
            for name in digest.generators
            if not (option == "log-probs" and name in sources)
            if any(digest.estimate(name, user) is not None for user in users)
            or (option == "log-probs" and any(digest.is_white_box(name, metric) for metric in metrics))
        ]
        parts += [f"--{option} {shlex.quote(f'{name}=FILE')}" for name in judged]
    parts.append(f"--metrics {shlex.quote(','.join(metrics))}")
    parts += ["--encoder MODEL"] * one_model
    effort = digest.setting("effort") or _effort_of(digest.setting("clusterings"))
    parts += [f"--effort {effort}"] * (effort not in (None, "default"))
    if tokenizer:
        parts.append(f"--tokenizer {shlex.quote(tokenizer)}")
    parts += ["--lowercase" if step == "lower" else f"--{step.replace('=', ' ')}" for step in steps]
    if comparison.equivalence:
        margins = {one.metric: one.margin for one in comparison.equivalence}
        named = ",".join(f"{metric}={margin:g}" for metric, margin in margins.items())
        parts.append(f"--equivalent {shlex.quote(named)}")
    return " ".join([*parts, f"--level {comparison.level:g}", f"--seed {comparison.seed}"])


def _effort_of(clusterings: str | None) -> str | None:
    """Return the effort at which mauve averages so many clusterings: how it is known without dd."""
    if clusterings is None:
        return None
    from textassay.metric.mauve import N_CLUSTERINGS  # loads the encoders

    return next((effort for effort, n in N_CLUSTERINGS.items() if str(n) == clusterings), None)


def _encoder(metric: str) -> str | None:
    """Return the encoder in a metric's name; none where it is the usual one, or has none."""
    found = re.search(r"[(,]encoder=([^,)]*)", metric)
    return found[1] if found else None


def _not_valid(digest: Digest, metric: str) -> list[str]:
    """Return a sentence on generators of which nothing can be told."""
    names = [name for name in digest.generators if _is_not_valid(digest.cells[name, metric].error or "")]
    told = [
        f"{metric} is not valid for {join_words(names)}: its texts depend on real ones in ways that cannot be "
        "detected; name the groups (--group-column, --prompt-column)."
    ] * bool(names)
    for name in digest.generators:
        draws, own = digest.detail(name, metric, "as_independent"), digest.estimate(name, metric)
        if draws is None or own is None or own.interval is None or draws["low"] is None:
            continue
        if draws["low"] > own.interval.high or draws["high"] < own.interval.low:
            places = digest.places(metric)
            scored = f"{number(draws['value'], places)} {span(draws['low'], draws['high'], places)}"
            told.append(f"If every text is an independent draw, {name} scores {scored}.")
    return told


def _is_not_valid(reason: str) -> bool:
    return reason.startswith(NOT_VALID)


def _explained(digest: Digest) -> str:
    """Return which warnings of inspection may explain the numbers, a sentence behind the first one, or nothing."""
    kinds: dict[str, dict[str, None]] = {}
    for finding in digest.comparison.findings:
        if finding.severity == "warning":
            kinds.setdefault(finding.kind_in_words, {})[finding.generator] = None
    named = [f"{kind} ({join_few(list(names))})" for kind, names in kinds.items()]
    return f" First read the warnings, which may explain this result: {join_words(named)}." if named else ""


def _missing(digest: Digest) -> list[str]:
    """Return why the metrics that should have answered have no value, what to do, and which metric answers instead."""
    sentences = []
    for metric in digest.missing:
        family = family_of(metric)
        cells = [digest.cells[name, metric] for name in digest.generators if (name, metric) in digest.cells]
        reasons = dict.fromkeys(re.sub(rf"^{re.escape(family)} ", "it ", digest.reason(cell)) for cell in cells)
        told = f"{metric} {'is' if all(map(_is_not_valid, reasons)) else 'has no value:'} {'; '.join(reasons)}."
        needed = max((int(found[1]) for reason in reasons if (found := _AT_LEAST.search(reason))), default=0)
        if needed:
            told += (
                f" Give at least {count(needed)} texts of each generator and {count(2 * needed)} real ones, "
                f"since {FLOOR} compares two halves."
            )
        sentences.append(told)
    if sentences and digest.headline is not None:
        sentences[-1] += f" Until then, the answer uses {digest.headline}, the first metric that has a value."
    return sentences


def _closest(digest: Digest, metric: str) -> str:
    places = digest.places(metric)

    def cell(generator: str) -> str:
        estimate = digest.shown(generator, metric)
        if estimate is None:
            return ""
        return f"{number(estimate.value, places)} {interval(estimate.interval, places)}".strip()

    rows = {FLOOR: "real text against itself", HELDOUT: "held-out real text", TRAIN: "the training text"}
    known = {what: digest.value(name, metric) for name, what in rows.items()}
    scores = [f"{what} {number(value, places)}" for what, value in known.items() if value is not None]
    against = f" For comparison: {', '.join(scores)}." if scores else ""
    measured = [generator for generator in digest.order if digest.value(generator, metric) is not None]
    if len(measured) == 1:
        return f"{measured[0]} scores {cell(measured[0])} by {metric}.{against}"
    superlative = "best" if digest.better(metric) == "higher" else "closest to the real text"
    first = [generator for generator in measured if generator in digest.marked(metric)]
    if not first:
        if any(pair.p_adjusted is not None for pair in digest.pairs(metric)):
            whose = (
                f"{join_words(measured)} are not"
                if len(measured) == 2
                else f"Of the {len(measured)} generators, no two are"
            )
            return f"{whose} separated by {metric}. {_open_order(digest, metric, measured)}.{against}"
        return (
            f"{measured[0]} has the best value by {metric}: {cell(measured[0])}. It is not clear whether it is "
            f"{superlative}, since its differences from the others have no intervals.{against}"
        )
    if len(first) == 1:
        text = f"{first[0]} is {superlative} by {metric}: {cell(first[0])}, rank 1 of {len(measured)}"
    else:
        cells = [f"{generator} ({number(digest.value(generator, metric), places)})" for generator in first]
        if len(first) > _MOST_FIRST:
            cells = [f"{len(first)} generators, {cells[0]} to {cells[-1]},"]
        text = f"{join_words(cells)} come first by {metric}. {_open_order(digest, metric, first)}"
    last = [generator for generator in measured if digest.is_last(generator, metric)]
    values = join_words([number(digest.value(generator, metric), places) for generator in last])
    if len(measured) > 2 and last == measured[-1:]:
        text += f". {last[0]} is last at {values}"
    elif len(measured) > 2 and 0 < len(last) <= _MOST_NAMED and not set(last) & set(first):
        text += f". Last, in no clear order, come {join_words(last)} at {values}"
    return f"{text}.{against}"


def _open_order(digest: Digest, metric: str, generators: Sequence[str]) -> str:
    """Return sentences on generators that are not separated, without the last full stop: how much they may differ."""
    level = digest.comparison.level
    found = [pair for pair in digest.pairs(metric) if {pair.a, pair.b} <= set(generators) and pair.low is not None]
    known = [(pair, pair.difference, pair.low, pair.high) for pair in found if pair.difference is not None]
    if not known:
        return "It is not clear which of them is closest"
    places = digest.places(metric)
    margin = digest.margin(metric)
    most = max(max(abs(low), abs(high)) for _, _, low, high in known if low is not None and high is not None)
    if margin is not None and most <= margin:
        return f"They differ by at most {number(most, places)}"
    pair, difference, low, high = max(known, key=lambda item: abs(item[1]))
    assert low is not None
    assert high is not None
    told = f"It is not clear which of them is closest: they may differ by up to {number(most, places)}"
    n = min((size for name in (pair.a, pair.b) if (size := digest.size(name)) is not None), default=0)
    n_tests = max(1, len(digest.pairs(metric)))
    more = more_sentences(difference, (high - low) / 2, n, level=level, margin=margin, n_tests=n_tests)
    if more is None:
        return told
    whom = f" between {pair.a} and {pair.b}" if len(generators) > 2 else ""
    return f"{told}. {more[0][0].upper()}{more[0][1:]} would show a difference of {number(more[1], places)}{whom}"


def _tokens(digest: Digest) -> list[str]:
    """Return a sentence where the words of the real text are not parted by spaces: what tokens are, or should be."""
    sentences = []
    tokenizer = (digest.setting("tok") or "").split("+")[0]
    for finding in digest.comparison.findings:
        if finding.generator != FLOOR:
            continue
        is_most = finding.count_real >= _MOST * finding.n_real
        whose = "The real text has" if is_most else f"{finding.count_real:,} of {finding.n_real:,} real texts have"
        if finding.kind == CHARACTERS:
            tokens = _TOKENS.get(tokenizer, "words found by ICU")
            sentences.append(f"{whose} no spaces between words: tokens are {tokens}.")
        elif finding.kind == UNSPACED and finding.severity == "warning":
            sentences.append(
                f"{whose} no spaces between words, but {tokenizer} splits at spaces: these numbers cannot "
                "show differences inside a sentence or phrase; use --tokenizer auto."
            )
    return sentences


def _unequal(digest: Digest, metric: str) -> list[str]:
    """Return a sentence that takes the order back where only some generators' log-probabilities were used."""
    sides: dict[bool, list[str]] = {True: [], False: []}
    for generator in digest.order:
        if digest.estimate(generator, metric) is not None:
            sides[digest.is_white_box(generator, metric)].append(generator)
    if not sides[True] or not sides[False]:
        return []
    those, were = (join_words(sides[True]), "was") if len(sides[True]) == 1 else (f"{len(sides[True])} of them", "were")
    return [f"But {those} {were} measured with log-probabilities and others without: do not compare the two groups."]


def _passing(digest: Digest, metric: str) -> list[str]:
    """Return whether generators are told from real text, by the headline or, where it cannot tell, by other metrics."""
    verdicts = {generator: digest.verdict(generator, metric) for generator in digest.order}

    def named(verdict: Verdict) -> list[str]:
        return [generator for generator, found in verdicts.items() if found == verdict]

    unclear = named("blind") + named("open")
    is_brief = len(named("open")) > _MOST_CLEAR
    why = [f"{name}: {digest.blindness(name, metric)}." for name in named("blind")]
    reasons = {name: _why_open(digest, name, metric, brief=is_brief) for name in named("open")}
    why += [f"{name}: {reason}." for name, reason in reasons.items() if reason]
    near, barely = ([f"{name}{_p(digest, name, metric)}" for name in named(one)] for one in ("negligible", "hardly"))
    differ = "differs" if len(unclear) == 1 else "differ"
    sentences = [f"{metric} leaves open whether {join_words(unclear)} {differ} from real text."] * bool(unclear)
    sentences += [" ".join(why)] * bool(why)
    if near:
        most = max(digest.most_apart(name, metric) or 0.0 for name in named("negligible"))
        away = f"at most {number(most, digest.places(metric))} away from it"
        sentences.append(f"Not distinguished from real text by {metric}, and {away}: {join_words(near)}.")
    if barely:
        reached = _chance(digest, named("hardly"), metric)
        sentences.append(f"Barely distinguished from real text: {join_words(barely)}; the interval reaches {reached}.")
    others = [name for said in ("blind", "open", "negligible", "hardly") for name in named(said)]
    sentences += _separated_by_others(digest, metric, others)
    if verdicts and set(verdicts.values()) == {"separated"}:
        whose = "Its text" if len(verdicts) == 1 else "The text of every generator"
        sentences.append(f"{whose} can be distinguished from real text.")
    return sentences


def _why_open(digest: Digest, name: str, metric: str, *, brief: bool) -> str:
    """Return why noise decides, how far a generator may be from real text, and what would tell.

    If `brief`, p and how far alone, where there are many generators.
    Where the interval alone would separate them, the test did not, and it goes by one fold: what decides is its size.
    """
    p = digest.detail(name, metric, "p_value")
    parts = [] if p is None else [f"p {digest.p_text(name, metric)}"]
    most, gap, own = digest.most_apart(name, metric), digest.gap(name, metric), digest.estimate(name, metric)
    if brief and most is not None:
        parts.append(f"up to {number(most, digest.places(metric))} away")
    elif most is not None and gap is not None:
        places, (difference, half_width, n) = digest.places(metric), gap
        folds = 1 if own is None else int(own.signature.settings.get("folds", 1))
        if p is None:
            parts.append(f"with {count(n)} texts a side, its interval and that of real text overlap")
        else:
            difference, reached = max(difference, 0.0), _chance(digest, [name], metric)
            low = None if own is None or own.interval is None else own.interval.low
            if low is not None and low <= digest.chance(name, metric):
                parts.append(f"with {count(n)} texts a side, its interval reaches {reached}")
            elif folds > 1:
                half_width *= folds**0.5
                parts.append(
                    f"its interval does not reach {reached}, but p comes from one fold in {folds}, of about "
                    f"{count(n // folds)} texts a side"
)  # fmt: skip
        parts.append(f"it may be up to {number(most, places)} away")
        level, margin = digest.comparison.level, digest.margin(metric)
        more = more_sentences(difference, half_width, n, level=level, margin=margin)
        parts += [] if more is None else [f"{more[0]} would show a difference of {number(more[1], places)}"]
    return "; ".join(parts)


def _chance(digest: Digest, generators: Sequence[str], metric: str) -> str:
    """Return what intervals are compared with that tell text from real text."""
    above = any(digest.chance(generator, metric) for generator in generators)
    return "what real text itself scores" if above else "0, which is guessing"


def _p(digest: Digest, generator: str, metric: str) -> str:
    p = digest.p_text(generator, metric)
    return f" (p {p})" if p else ""


def _separated_by_others(digest: Digest, metric: str, generators: Sequence[str]) -> list[str]:
    """Return, for each of `generators`, which other metrics separate it clearly from real text."""
    sentences = []
    dependent = {one.generator for one in digest.comparison.findings if one.kind == "dependent-texts"}
    for generator in generators:
        if generator in dependent:  # a partner is closer than any text of the floor has one
            continue
        told: dict[str, str] = {}  # the clearest metric of each family
        for other in digest.clearest(generator, besides=metric):
            values = (digest.matched(generator, other), digest.floor(generator, other))
            like, floor = (number(None if one is None else one.value, digest.places(other)) for one in values)
            told.setdefault(family_of(other), f"{other} ({like} against {floor})")
        if told:
            more = len(told) - _MOST_CLEAR
            which = join_words([*list(told.values())[:_MOST_CLEAR], *([f"{more} more"] if more > 0 else [])])
            sentences.append(f"But {generator} clearly differs from real text by {which}.")
    return sentences


def _repeats(digest: Digest, metric: str) -> list[str]:
    """Return a sentence for each generator that comes first somewhere though its text is mostly repeats or copies."""
    copies: dict[str, list[str]] = {}
    for finding in digest.comparison.findings:
        what = _COPIES.get(finding.kind)
        share = finding.count_generated / finding.n_generated if finding.n_generated else 0.0
        if what is not None and finding.severity == "warning" and share >= MOSTLY:
            copies.setdefault(finding.generator, []).append(f"{100 * share:.0f} % of its texts {what}")
    sentences = []
    for generator, shares in copies.items():
        where = [other for other in (metric, *digest.comparison.metrics) if generator in digest.marked(other)]
        if where:
            whose = join_words(_by_family(digest, list(dict.fromkeys(where))))
            sentences.append(f"Where {generator} comes first ({whose}), note that {join_words(shares)}.")
    return sentences


def _disagreement(digest: Digest, metric: str) -> list[str]:
    """Return a sentence on metrics whose first places have none in common with the headline's."""
    others = digest.disagreeing(metric)
    if not others:
        return []
    clearest = [(names, metrics) for names, metrics in others.items() if len(names) < _MOST_NAMED]
    shown = sorted(clearest, key=lambda item: -len(item[1]))[:_MOST_DISAGREEMENTS]
    parts = [
        f"{join_words(names)} {'is first' if len(names) == 1 else 'come first, in no clear order,'} "
        f"by {join_words(_by_family(digest, metrics))}"
        for names, metrics in shown
    ]
    n_more = sum(map(len, others.values())) - sum(len(metrics) for _, metrics in shown)
    if n_more:
        parts.append(f"{n_more} more {'metric puts' if n_more == 1 else 'metrics put'} others first")
    return [f"Not all metrics agree: {'; '.join(parts)}."]


def _by_family(digest: Digest, metrics: list[str]) -> list[str]:
    """Return `metrics` with those of a family that is there in full (and has several) under the family's name."""
    named: dict[str, None] = {}
    for metric in metrics:
        family = family_of(metric)
        members = [other for other in digest.comparison.metrics if family_of(other) == family]
        whole = len(members) > 1 and set(members) <= set(metrics)
        named[f"{family} (all {len(members)})" if whole else metric] = None
    return list(named)
