"""Figures of the study of GANs as language models, and all of it together, ours beside the published.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, figure 2 (error against
N); the other figures are of what the paper says without one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from textassay.approximation import CHANGE
from textassay.meta_evaluation import Curve, CurvePoint, Reproduction
from textassay.study.gan_as_lm.findings import check_findings, check_published
from textassay.study.gan_as_lm.published import FIGURE_2, SEQGAN, WGAN
from textassay.study.gan_as_lm.results import SHORT, GanResults
from textassay.study.gan_as_lm.tables import gan_tables
from textassay.study.gan_as_lm.values import Crossed, mean_of

FloatArray = npt.NDArray[np.float64]

_BPC, _DRAWS = "bits per character", "draws a position, N"
_ERROR = "largest difference of a share"
_NOTES = (
    "What an approximate value is above the exact one depends on N and on the floor; a value without both says little.",
    "Values in windows of different lengths are not the same task: the first characters of a window have no context.",
    "All but one is measured on the test text, and no setting, round or training is chosen by it: the window of the "
    "recurrent GAN is chosen on validation text.",
    "LeakGAN learns from the real text again between its rounds, as published: what its rounds alone do is not seen.",
    "What LeakGAN sees of a text is the largest value so far: in windows longer than it learnt from, all it ever saw.",
)


def gan_reproduction(results: GanResults, *, level: float = 0.95) -> Reproduction:
    """Return the study, our results beside the published ones."""
    sizes = ", ".join(f"{n:,} {what}" for what, n in results.sizes.items())
    return Reproduction(
        title="Evaluating Text GANs as Language Models",
        settings={**results.settings, **({"sizes": sizes} if sizes else {})},
        tables=gan_tables(results),
        findings=(*check_findings(results, level=level), *check_published(level)),
        curves=gan_curves(results),
        notes=(*results.notes, *_NOTES),
        seconds=results.seconds,
    )


def gan_curves(results: GanResults) -> tuple[Curve, ...]:
    """Return the curves of all figures."""
    makers = (_rule, _convergence, _along, _windows)
    return tuple(curve for make in makers for curve in make(results))


def _rule(results: GanResults) -> Iterable[Curve]:
    """Yield figure 2, one panel per generator: criterion, true error where known, published criterion."""
    title = "Figure 2: error against N"
    sizes = [int(row.removeprefix("N = ")) for row in FIGURE_2.rows]
    for model, curves in results.rules.items():
        lines: dict[str, tuple[Sequence[int], FloatArray]] = {
            "change over 10 draws": (curves[0].sizes, np.mean([curve.differences for curve in curves], axis=0))
        }
        if curves[0].errors is not None:
            errors = [curve.errors for curve in curves if curve.errors is not None]
            lines["true error"] = (curves[0].sizes, np.mean(errors, axis=0))
        if model in (SEQGAN, WGAN):
            lines["change, published"] = (tuple(sizes), np.array(list(FIGURE_2.column(model).values())))
        for name, (places, values) in lines.items():
            points = tuple(CurvePoint(None, x, y) for x, y in zip(places, values.tolist(), strict=True))
            yield Curve(
                "by length", name, SHORT.get(model, model), _DRAWS, _ERROR, points, title, log="xy", level=CHANGE
            )


def _convergence(results: GanResults) -> Iterable[Curve]:
    for model, by_size in results.convergence.items():
        for name, key in (("approximate", "plain"), ("corrected", "corrected"), ("exact", "exact")):
            values = {size: mean_of([cost], key) for size, cost in sorted(by_size.items())}
            yield _curve("BPC against N", name, SHORT.get(model, model), _DRAWS, values, banded=False, log="x")


def _along(results: GanResults) -> Iterable[Curve]:
    sides = (("exact", "exact"), ("approximate", "plain"))
    for model, runs in results.along.items():
        title = f"BPC of {SHORT.get(model, model)} along adversarial training"
        numbers = sorted(set.intersection(*map(set, runs)))
        for name, key in sides:
            values = {number: mean_of([rounds[number] for rounds in runs], key) for number in numbers}
            yield _curve(title, name, "mean of the trainings", "adversarial rounds", values)
        for run, rounds in enumerate(runs, 1):
            for name, key in sides:
                values = {number: mean_of([cost], key) for number, cost in rounds.items()}
                yield _curve(title, name, f"training {run}", "adversarial rounds", values)


def _windows(results: GanResults) -> Iterable[Curve]:
    for model, windows in results.lengths.items():
        key = "exact" if "exact" in next(iter(windows.values()))[0].sums else "corrected"
        values = {window: mean_of(runs, key) for window, runs in windows.items()}
        yield _curve("BPC by window", f"{SHORT.get(model, model)}, {key}", "",
                     "characters of a window", values, log="x")  # fmt: skip


def _curve(
    title: str,
    name: str,
    family: str,
    x: str,
    values: Mapping[int, Crossed],
    *,
    banded: bool = True,
    log: Literal["", "x", "xy"] = "",
) -> Curve:
    points = []
    for place, value in values.items():
        low, high = value.condition().interval(0.95) if banded else (np.nan, np.nan)
        known = bool(np.isfinite(low))
        points.append(
            CurvePoint(None, place, value.value, y_low=low if known else None, y_high=high if known else None)
        )
    return Curve("by length", name, family, x, _BPC, tuple(points), title, log=log)
