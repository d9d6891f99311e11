"""Curves and samples of the study of exposure bias, and all of it together, ours beside the published.

Source: He, Zhang, Zhou, Glass, "Quantifying Exposure Bias for Neural Language Generation", 2019, figures 2 to 4 and
tables 1, 5, 8 and 9, which hold texts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt

from textassay.estimate import Interval
from textassay.exposure import SwitchedSample, cgd_curve, eb_bleu_of_runs, eb_c, excess_error
from textassay.meta_evaluation import CheckedFinding, Curve, CurvePoint, Number, Reproduction
from textassay.study.exposure_bias.findings import DISTANCE_NAMES, check_findings, check_published
from textassay.study.exposure_bias.published import LENGTHS, published_table, ratio_row
from textassay.study.exposure_bias.results import DATA_MODEL, OTHERS, RANDOM_LSTM, RANDOM_ORACLE, ExposureResults
from textassay.study.exposure_bias.tables import exposure_tables
from textassay.study.exposure_bias.values import after_words

FloatArray = npt.NDArray[np.float64]
Intervals = Sequence[Interval | None]

_WORDS = "words of the prefix"
_TOKENS = "tokens of the prefix"
_OF_TABLES: Mapping[str, str] = {
    "Transformer-XL on wikitext2": ", as in tables 1 and 8",
    "LSTM on emnlp_news": ", as in table 9",
}
_NOTES = (
    "Table 4 has answers of people who choose next words, figure 6 the page that they see for translation: 'textassay "
    "human next-word' makes it. Table 6 argues by two examples that EB-bleu says little of a model with a source, and "
    "has nothing to measure.",
    "A verdict is about these trained models and this held-out text: what varies is what was drawn, and with models "
    "trained anew for each run also the training.",
    "Tables and figures show intervals over runs. Where the runs share one model, verdicts on EB-C and CGD rest on the "
    "error over the sequences of all runs.",
    "Means over l leave out the empty prefix, after which all kinds of prefixes are the same.",
)


def exposure_reproduction(results: ExposureResults, *, retrained: bool = False, level: float = 0.95) -> Reproduction:
    """Return the study, our results beside the published ones."""
    stopped = [f"{model}: training ended early. {why}" for model, why in results.stopped.items()]
    missing = [f"{text} was not there: what needs it is not measured." for text in results.missing]
    sizes = {
        f"sizes, {part}": ", ".join(f"{n:,} {what}" for what, n in counts.items())
        for part, counts in results.sizes.items()
    }
    return Reproduction(
        title="Quantifying Exposure Bias for Neural Language Generation",
        settings={**results.settings, **sizes},
        tables=exposure_tables(results),
        findings=_together(check_findings(results, retrained=retrained, level=level), check_published(level)),
        curves=exposure_curves(results),
        samples=exposure_samples(results),
        notes=(*results.notes, *missing, *stopped, *_NOTES),
        seconds=results.seconds,
    )


def _together(ours: Sequence[CheckedFinding], published: Sequence[CheckedFinding]) -> tuple[CheckedFinding, ...]:
    """Return the findings with those of the published numbers after ours of the same id."""
    return tuple(one for name in dict.fromkeys(one.id for one in ours) for one in (*ours, *published) if one.id == name)


def exposure_samples(results: ExposureResults) -> dict[str, tuple[SwitchedSample, ...]]:
    """Return samples after switched prefixes by title; of translation with source and reference as two more kinds."""
    samples = {f"{title}{_OF_TABLES.get(title, '')}": rows for title, rows in results.switching.items()}
    if results.translation is not None and results.translation.samples:
        rows: list[SwitchedSample] = []
        seen: dict[str, None] = {}
        for one in results.translation.samples:
            if one.source not in seen:
                seen[one.source] = None
                rows.append(SwitchedSample("source", "", one.source))
                rows.append(SwitchedSample("reference", "", one.reference))
            rows.append(SwitchedSample(one.mode.upper(), one.prefix, one.continuation))
        samples["translation, as in table 5"] = tuple(rows)
    return samples


def exposure_curves(results: ExposureResults) -> tuple[Curve, ...]:
    """Return the curves of all figures."""
    makers = (_eb_c, _cgd, _eb_bleu, _recovery, _excess, _translation)
    return tuple(curve for make in makers for curve in make(results))


def _eb_c(results: ExposureResults) -> Iterable[Curve]:
    """Yield figure 2, a panel per distance, and figure 4, a panel per oracle, for models with two sides as well."""
    for (model, kinds), (distance, name) in product(results.synthetic.items(), DISTANCE_NAMES.items()):
        rate = eb_c(after_words(kinds["data"]), after_words(kinds["model"]), distance)
        yield _curve("Figure 2: EB-C", model, name, "EB-C", rate.lengths, rate.values, rate.intervals,
                     average=rate.average)  # fmt: skip
    for model, kinds in {**results.synthetic, **results.others}.items():
        oracle = RANDOM_LSTM if RANDOM_ORACLE in (model, OTHERS.get(model)) else DATA_MODEL
        rate = eb_c(after_words(kinds["data"]), after_words(kinds["model"]), "js")
        yield _curve("Figure 4: EB-C of models", model, f"against the {oracle}", "EB-C, Jensen-Shannon", rate.lengths,
                     rate.values, rate.intervals, average=rate.average)  # fmt: skip


def _cgd(results: ExposureResults) -> Iterable[Curve]:
    """Yield figure 3, a figure a model: how far models are from the data differs more than prefixes do."""
    for model, kinds in results.synthetic.items():
        for kind, runs in kinds.items():
            curve = cgd_curve(after_words(runs), "tv")
            title, name = f"Figure 3: CGD, {model}", kind.replace(":", " ")
            yield _curve(title, name, model, "CGD, total variation", curve.lengths, curve.values, curve.intervals)


def _eb_bleu(results: ExposureResults) -> Iterable[Curve]:
    """Yield EB-bleu, one panel per text, and the published one."""
    title, printed = "EB-bleu", published_table("table 2")
    assert printed.spreads is not None
    rows = {row: k for k, row in enumerate(printed.rows)}
    for name, row in (
        ("LSTM", ratio_row("LSTM")),
        ("Transformer-XL", ratio_row("Transformer-XL")),
        ("Transformer-XL, shuffled", ratio_row("Transformer-XL", "shuffled")),
    ):
        values, spreads = (np.array(part[rows[row]], dtype=np.float64) for part in (printed.values, printed.spreads))
        yield Curve("by length", name, "paper: wiki-103, with spread", _WORDS, title, tuple(
            CurvePoint(None, length, value, y_low=value - spread, y_high=value + spread)
            for length, value, spread in zip(LENGTHS, values.tolist(), spreads.tolist(), strict=True)
        ), title)  # fmt: skip
    for text, models in results.bleu.items():
        for model, runs in models.items():
            kinds = ("model",) if model == "position unigram" else ("model", "shuffled")
            for kind in (kind for kind in kinds if kind in runs[0].scores):
                rate = eb_bleu_of_runs(runs, prefixes=kind)
                name = model if kind == "model" else f"{model}, {kind}"
                yield _curve(title, name, text, title, rate.lengths, rate.values, rate.intervals)


def _recovery(results: ExposureResults) -> Iterable[Curve]:
    """Yield what is left of C-bleu after each kind of prefixes, a panel per model and text."""
    for text, models in results.bleu.items():
        for model, runs in models.items():
            for kind in (kind for kind in runs[0].scores if kind != "data"):
                rate = eb_bleu_of_runs(runs, prefixes=kind)
                bounds = [  # none where the rate may be 0: its inverse has no bound then
                    replace(one, low=1 / one.high, high=1 / one.low) if one is not None and one.low > 0 else None
                    for one in rate.intervals
                ]
                yield _curve("Self-recovery", kind, f"{model}, {text}", "share of C-bleu after data", rate.lengths,
                             1 / rate.values, bounds)  # fmt: skip


def _excess(results: ExposureResults) -> Iterable[Curve]:
    for model, kinds in results.synthetic.items():
        error = excess_error(kinds["data"], kinds["model"])
        yield _curve("Excess accumulated error", model, "", "excess error", error.lengths, error.values,
                     error.intervals, x="words of the sentence so far")  # fmt: skip


def _translation(results: ExposureResults) -> Iterable[Curve]:
    if results.translation is None:
        return
    for distance, name in DISTANCE_NAMES.items():
        curve = results.translation.curves[distance]
        yield _curve("EB-C of translation", name, "translation", "EB-C", curve.lengths, curve.eb_c,
                     curve.eb_c_intervals, x=_TOKENS)  # fmt: skip


def _curve(
    title: str,
    name: str,
    family: str,
    y: str,
    lengths: Sequence[int],
    values: FloatArray,
    intervals: Intervals | None = None,
    *,
    average: Number = None,
    x: str = _WORDS,
) -> Curve:
    """Return a curve by length; lengths without a value are not on it."""
    bounds = intervals or [None] * len(lengths)
    points = tuple(
        CurvePoint(
            None,
            length,
            value,
            y_low=None if interval is None else interval.low,
            y_high=None if interval is None else interval.high,
        )
        for length, value, interval in zip(lengths, values.tolist(), bounds, strict=True)
        if np.isfinite(value)
    )
    known = None if average is None or not np.isfinite(average) else average
    return Curve("by length", name, family, x, y, points, title, known)
