"""Made-up comparisons to draw: three generators, twelve, one; missing cells; text that tries to break out."""

import itertools
import math
from collections.abc import Mapping

import numpy as np

from textassay.comparison.comparison import FLOOR, Comparison, PairDifference, Rank, RealText, Result
from textassay.comparison.explanation import (
    CurvePoint,
    DiscriminativeNgram,
    Example,
    Explanation,
    LengthBin,
    PositionBin,
    PrefixPoint,
)
from textassay.comparison.pairs import pair_differences, rank_intervals
from textassay.estimate import Better, Estimate, Evidence, Interval, Signature
from textassay.inspection.finding import HELDOUT, Finding

METRICS: dict[str, Better] = {
    "dd": "lower",
    **{f"bleu(order={order})": "higher" for order in (2, 3, 4, 5)},
    **{f"self-bleu(order={order})": "closer" for order in (2, 3, 4, 5)},
    **{f"distinct-n(order={order})": "closer" for order in (1, 2, 3)},
    "length": "lower",
    "vocabulary(of=tokens)": "closer",
    "vocabulary(of=types)": "neither",
}
MANY_METRICS: dict[str, Better] = {
    **METRICS,
    "lm-score": "closer",
    "reverse-lm-score": "lower",
    "fed": "lower",
    "mmd": "lower",
    "mauve": "higher",
    "precision": "higher",
    "recall": "higher",
    "density": "closer",
    "coverage": "higher",
    "compression-ratio": "closer",
    "zipf": "closer",
    "memorization": "closer",
}
SCALES = {  # metric to what its made-up fractions are multiplied by, what is added, and the unit
    "lm-score": (3.0, 4.0, "nats per token"),
    "reverse-lm-score": (3.0, 4.5, "nats per token"),
    "fed": (0.03, 0.001, "squared distance"),
    "mmd": (0.0005, -0.0001, "squared distance"),
    "density": (2.0, 0.2, "ratio"),
    "compression-ratio": (5.0, 0.0, "ratio"),
}
CLOSE_METRICS: dict[str, Better] = {
    "dd": "lower",
    "bleu(order=4)": "higher",
    "self-bleu(order=4)": "closer",
    "distinct-n(order=2)": "closer",
    "length": "lower",
    "vocabulary(of=unseen)": "closer",
    "lm-score": "closer",
}
FEW_METRICS: dict[str, Better] = {"dd": "lower", "bleu(order=4)": "higher", "vocabulary(of=types)": "neither"}
METRICS_OF_ALL_FIGURES: dict[str, Better] = {
    **FEW_METRICS, "mauve": "higher", "lm-score": "closer", "reverse-lm-score": "lower"
}  # fmt: skip
REVIEWS = (
    "AttentionAC",
    "GoogleLM",
    "LeakGAN",
    "MLE_SeqGAN",
    "NoAttentionAC",
    "RankGAN",
    "SS",
    "SeqGAN",
    "SkipConnectionsAC",
    "WordRNN05",
    "WordRNN07",
    "WordRNN10",
)
HOSTILE = (
    "<script>alert('x')</script> & <img src=x onerror=alert(1)>",
    '=HYPERLINK("http://example.org","click")',
    "a" * 400,
    "שלום עולם \u202eevil\u202c مرحبا",
    "👩‍👩‍👧 emoji, \"quotes\", 'more', and\na line break",
    "\x1b[31mred\x1b[0m \x07 [bold]markup[/bold]",
    "{{ 7 * 7 }} {% raw %}",
)
N = 40


def make_comparison(
    generators: tuple[str, ...] = ("trigram", "5-gram", "shuffler"),
    *,
    heldout: bool = False,
    missing: bool = False,
    findings: tuple[Finding, ...] = (),
    seed: int = 0,
    n_sentences: int = 10_000,
    metrics: Mapping[str, Better] = METRICS,
    explained: bool = False,
) -> Comparison:
    """Return a comparison whose generators are farther from real text the later they come."""
    rng = np.random.default_rng(seed)
    floors = (FLOOR, HELDOUT) if heldout else (FLOOR,)
    results: list[Result] = []
    pairs: list[PairDifference] = []
    ranks: list[Rank] = []
    for metric, better in metrics.items():
        values: dict[str, float] = {}
        for row, name in enumerate((*floors, *generators)):
            place = 0 if name in floors else row
            value = _value(better, place, len(generators)) + rng.normal(0, 0.002)
            scale, offset, _ = SCALES.get(metric, (1.0, 0.0, ""))
            value = value * scale + offset
            values[name] = value
            gone = missing and name == generators[-1] and metric.startswith(("self-bleu", "length"))
            size = n_sentences // 2 if name == FLOOR else n_sentences
            estimate = _estimate(metric, better, value, name, size, rng)
            if missing and metric == "bleu(order=5)" and name == generators[0]:
                estimate = _estimate(metric, better, math.nan, name, n_sentences, rng)
            matched = _estimate(metric, better, value + 0.01 * scale, name, n_sentences // 2, rng)
            results.append(
                Result(
                    name,
                    metric,
                    better,
                    None if gone else estimate,
                    None
                    if gone or name == FLOOR or math.isnan(estimate.value)
                    else estimate
                    if name in floors
                    else matched,
                    error=f"{metric} needs at least 50 sentences a side, {name} has 12" if gone else None,
                )
            )
        scale = SCALES.get(metric, (1.0, 0.0, ""))[0]
        for i, a in enumerate(generators):
            for b in generators[i + 1 :]:
                difference = values[a] - values[b]
                p = min(1.0, math.exp(-abs(difference) / (0.008 * scale)))
                ends = (difference - 0.01 * scale, difference + 0.01 * scale)
                pairs.append(PairDifference(metric, a, b, difference, *ends, p, p))
        if better != "neither":
            ranks += _ranks(metric, better, generators, values)
    return Comparison(
        version="0.1.0",
        real=RealText("real.txt", n_sentences, "abc123"),
        generators=generators,
        metrics=tuple(metrics),
        results=tuple(results),
        pairs=tuple(pairs),
        ranks=tuple(ranks),
        findings=findings,
        warnings=("bleu(order=5) of trigram: 3 sentences are empty",) if missing else (),
        level=0.95,
        seed=seed,
        explanations=tuple(make_explanation(name, place) for place, name in enumerate(generators) if explained),
    )


def make_measured(seed: int, *, metrics: Mapping[str, Better] = CLOSE_METRICS, far: float = 0.3) -> Comparison:
    """Return a comparison whose differences and ranks are computed from its terms, as `compare` computes them.

    Values at the floor's size are in another order than those of all text; "small" has fewer sentences than the floor
    and a floor of its own; where a third of the metrics is concerned, one generator has no value at the floor's size.
    """
    rng = np.random.default_rng(seed)
    generators = ("a", "b", "c", "small")
    sizes = {"a": 2000, "b": 2000, "c": 2000, "small": 150, FLOOR: 1000}

    def measured(metric: str, better: Better, name: str, size: int) -> Estimate:
        terms = rng.normal(rng.uniform(0.4, 0.4 + far), 0.3, 100)
        value, width = float(terms.mean()), 1.96 * float(terms.std(ddof=1)) / 10
        return Estimate(
            metric, value, Interval(value - width, value + width, 0.95, "t"), "fraction", better,
            {"n_generated": size, "n_real": 1000}, Signature({"metric": metric}),
            {"p_value": 0.001} if metric == "dd" else {}, Evidence(None, terms),
        )  # fmt: skip

    results: list[Result] = []
    pairs: list[PairDifference] = []
    ranks: list[Rank] = []
    for metric, better in metrics.items():
        floor = measured(metric, better, FLOOR, sizes[FLOOR])
        gone = "c" if rng.uniform() < 1 / 3 else None
        rows = []
        for name in generators:
            own = measured(metric, better, FLOOR, sizes[name]) if sizes[name] < sizes[FLOOR] else floor
            full = measured(metric, better, name, sizes[name])
            matched = None if name == gone else measured(metric, better, name, min(sizes[name], sizes[FLOOR]))
            rows.append(Result(name, metric, better, full, matched, own))
        results += [Result(FLOOR, metric, better, floor), *rows]
        pairs += (found := pair_differences(rows, level=0.95))
        ranks += rank_intervals(rows, found, level=0.95)
    real = RealText("real.txt", 2000, "abc123")
    return Comparison(
        "0.1.0", real, generators, tuple(metrics), tuple(results), tuple(pairs), tuple(ranks), (), (), 0.95, seed
    )


def make_explanation(generator: str, place: int = 0) -> Explanation:
    """Return what gives `generator` away; the third generator has nothing to show."""
    told = place != 2
    more = [
        DiscriminativeNgram(f"a {text[:40]} <eos>", 3, 12 + n, 240 - n, 0.0012, 0.024, 1e-9)
        for n, text in enumerate(HOSTILE)
    ]
    less = [DiscriminativeNgram(f"w{n}", 1, 900 - n, 90, 0.09, 0.009, 0.0004) for n in range(12)]
    edges = [1, 5, 8, 11, 15, 20, 40]
    lengths = [
        LengthBin(low, high - 1, 800, 20 if high == 40 else 700, *(3 * (None,) if high == 40 else (0.5, 0.4, 0.6)))
        for low, high in itertools.pairwise(edges)
    ]
    sizes = (500, 1000, 2000, 4000, 8000)
    curve = [CurvePoint(n, n, 0.5 - 40 / n, 0.5 - 60 / n, 0.5 - 20 / n) for n in sizes]
    return Explanation(
        generator=generator,
        value=0.61,
        more_generated=tuple(more) if told else (),
        more_real=tuple(less) if told else (),
        n_tested=12_345,
        level=0.95,
        lengths=tuple(lengths),
        positions=tuple(PositionBin(n / 5, (n + 1) / 5, 0.1 * n, 0.05 - 0.2 * n) for n in range(5)),
        most_generated=tuple(Example(f"{text} {generator}", 0.01 * n) for n, text in enumerate(HOSTILE[:3])),
        most_lifelike=(Example("a lifelike sentence .", 0.98),) if told else (),
        mistaken=(Example("a real sentence mistaken .", 0.03),) if told else (),
        curve=tuple(curve),
        rising=(True, False, None)[place % 3],
        prefixes=tuple(PrefixPoint(n, min(1.0, 0.06 * n), 0.05 * n, min(1.0, 0.07 * n)) for n in (1, 2, 3, 5, 8, 12)),
        half_length=8.3,
        half_low=7.1,
        half_high=10.0,
    )


def make_findings(generators: tuple[str, ...]) -> tuple[Finding, ...]:
    """Return two warnings of one kind and a note, with hostile examples."""
    glued = [
        Finding(
            "glued-punctuation",
            "warning",
            name,
            f"{9120 - 10 * i:,} of 10,000 sentences end in punctuation glued to the word (real: 12 of 10,000)",
            9120 - 10 * i,
            12,
            10_000,
            10_000,
            f"the cat sat. {HOSTILE[0]}",
            "the cat sat .",
            "Repair both sides alike with --normalize, or tokenise with --tokenizer words.",
        )
        for i, name in enumerate(generators[:2])
    ]
    note = Finding(
        "repeated-sentences", "note", generators[-1], "212 of 10,000 sentences repeat another", 212, 3, 10_000, 10_000,
        HOSTILE[3], None, "Nothing needs doing if the generator really draws them.",
    )  # fmt: skip
    return (note, *glued)


def make_texts(generators: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Return `N` sentences a side, the first ones hostile; the real text's under its row's name."""
    words = ["".join(pair) for pair in zip("abcdefghij", "klmnopqrst", strict=True)]
    texts = {}
    for name in (FLOOR, *generators):
        plain = [f"{name} sentence {number} {words[number % 10]} ." for number in range(N - len(HOSTILE))]
        texts[name] = [*HOSTILE, *plain]
    return texts


def _value(better: Better, place: int, n: int) -> float:
    far = place / (n + 1)
    return {"lower": 0.01 + 0.9 * far, "higher": 0.9 - 0.6 * far, "closer": 0.3 + 0.4 * far, "neither": 0.4}[better]


def _estimate(
    metric: str, better: Better, value: float, name: str, size: int, rng: np.random.Generator
) -> Estimate:  # fmt: skip
    details: dict[str, object] = {}
    evidence = None
    scale, _, unit = SCALES.get(metric, (1.0, 0.0, "fraction"))
    if metric == "dd":
        real = np.histogram(rng.beta(3 + 4 * value, 3, size), bins=40, range=(0, 1))[0]
        generated = np.histogram(rng.beta(3, 3 + 4 * value, size), bins=40, range=(0, 1))[0]
        details = {
            "certified_bound": {"value": max(0.0, value - 0.03), "level": 0.95, "fold": 0},
            "p_value": 0.34 if name == FLOOR else 0.001,
            "dd_distinct_texts": value - 0.01,
            "sd_seeds": 0.002,
            "score_histogram": {
                "edges": np.linspace(0, 1, 41).tolist(),
                "real": real.tolist(),
                "generated": generated.tolist(),
            },
        }
        steps = np.linspace(0, 1, 11)
        details["roc"] = np.stack([steps, steps ** (1 - min(0.9, value))], axis=1).tolist()
        details["auc"] = 0.5 + value / 2
        evidence = Evidence(None, None, rng.uniform(size=N), rng.uniform(size=N))
    elif metric == "mauve":
        mixtures = np.linspace(0, np.pi / 2, 9)
        details["frontier"] = np.stack([value**0.5 * np.sin(mixtures), value**0.5 * np.cos(mixtures)], axis=1).tolist()
        details["sd_clusterings"] = 0.004
    elif metric.startswith("bleu"):
        evidence = Evidence(None, None, None, rng.uniform(size=N))
    return Estimate(
        metric=metric,
        value=value,
        interval=Interval(value - 0.012 * scale, value + 0.011 * scale, 0.95, "newcombe"),
        unit=unit,
        better=better,
        sizes={"n_generated": size, "n_real": size},
        signature=Signature({"metric": metric, "tok": "whitespace", "n": f"{size}+{size}", "seed": "0", "v": "0.1.0"}),
        details=details,
        evidence=evidence,
    )


def _ranks(metric: str, better: Better, generators: tuple[str, ...], values: Mapping[str, float]) -> list[Rank]:
    tie = 0.024 * SCALES.get(metric, (1.0, 0.0, ""))[0]

    def badness(name: str) -> float:
        if better == "closer":
            return abs(values[name] - values[FLOOR])
        return -values[name] if better == "higher" else values[name]

    return [
        Rank(
            name,
            metric,
            1 + sum(badness(other) < badness(name) - tie for other in generators),
            len(generators) - sum(badness(other) > badness(name) + tie for other in generators),
        )
        for name in generators
    ]
