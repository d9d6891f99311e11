"""How many texts a comparison needs, from stated assumptions or from a pilot.

A pilot is a small comparison. It estimates dd, how often real and generated texts are judged correctly, and how the
judgements of the same real texts correlate between generators, which makes differences between generators easier to
detect than with two separate measurements.

The plan is for dd at the planned size, which is a little larger than the pilot's, since a classifier that sees more
text detects more; the learning curve shows how much, and for each side alone what its last doubling added.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from scipy.special import ndtri

from textassay.comparison.columns import columns_of
from textassay.comparison.comparison import FLOOR, Comparison, Draw
from textassay.comparison.drawn_texts import least_for_dd, read_and_draw
from textassay.comparison.explanation import CurvePoint
from textassay.comparison.measure import Progress
from textassay.comparison.sources import Source
from textassay.comparison.verdicts import MARGIN, POWER
from textassay.corpus.corpus import Corpus, TextOptions, Texts
from textassay.corpus.named_texts import named_texts
from textassay.display import Displayed, columns_from
from textassay.errors import InputError, OptionError, check_range
from textassay.execution.progress import shows_progress
from textassay.inspection.dependence import independent_units
from textassay.metric.base import Effort, check_level
from textassay.metric.discrepancy_interval import variance_factor
from textassay.resampling.power import sentences_for_margin, sentences_to_detect, sentences_to_separate
from textassay.settings import Measuring

MARGINS, DETECTABLE, SEPARABLE = (0.05, 0.02, 0.01), (0.1, 0.05, MARGIN), (0.1, 0.05, MARGIN)
TIMES_REAL = 5  # so many times the real texts of each generator: real texts are what there is
_TESTED_OF_ONE_SPLIT = 10  # one split tests a tenth
_LEAST_SHARED = 0.1  # smallest share of real texts in the variance of a difference: below it, rounding dominates


@dataclass(frozen=True)
class PilotCurve:
    """dd of a pilot at growing sizes, and whether it was still rising; see `Explanation`."""

    points: tuple[CurvePoint, ...]
    rising: bool | None
    rise: float | None
    rise_low: float | None
    rise_high: float | None


@dataclass(frozen=True)
class MoreText:
    """What more text of one side (``generated`` or ``real``) would buy, the other side left as it is.

    `rise`: what the last doubling of this side alone added to dd, with its interval; None where it is not known.
    `half_width`: of the interval of dd; `half_width_doubled`: the same with twice the text of this side.
    """

    side: str
    n: int
    rise: float | None
    rise_low: float | None
    rise_high: float | None
    half_width: float
    half_width_doubled: float


@dataclass(frozen=True)
class PilotGenerator:
    """One generator of a pilot: dd, shares of correct answers on both sides, sizes, and its learning curve if known."""

    generator: str
    value: float
    share_real: float
    share_generated: float
    n_real: int
    n_generated: int
    curve: PilotCurve | None
    more: tuple[MoreText, ...] = ()  # generated text first


@dataclass(frozen=True)
class Pilot:
    """Results of a small comparison."""

    generators: tuple[PilotGenerator, ...]  # At least one
    # The smallest correlation, over pairs of generators, between the judgements of the same real texts; None with one
    # generator, or where real texts contribute too little to a finished comparison's intervals
    correlation: float | None
    prior: str | None = None  # What dd knew of a language
    draws: tuple[Draw, ...] = ()  # What was drawn for it


@dataclass(frozen=True)
class Requirement:
    """One question (``margin``, ``detect`` or ``separate``), its effect size, and the texts it takes.

    `n_tested` texts are judged; `n` are needed, real and of each generator. With one fold, `n` is larger. `n_real` real
    ones are enough where there are `TIMES_REAL` times as many of each generator.
    """

    question: str
    size: float
    n_tested: int
    n: int
    n_real: int


@dataclass(frozen=True)
class Plan(Displayed, document="textassay.comparison.plan_document:plan_document"):
    """The requirements and the assumptions behind them."""

    requirements: tuple[Requirement, ...]
    level: float
    power: float
    folds: int
    variance_factor: float
    share_real: float
    share_generated: float
    dd: float
    correlation: float
    assumptions: tuple[str, ...]
    pilot: Pilot | None

    def _columns(self) -> dict[str, list[Any]]:
        return columns_from(self.to_dict()["requirements"], [*Requirement.__dataclass_fields__])

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return asdict(self)


@shows_progress
def plan(
    generated: Texts | Source | Mapping[str, Texts | Source] | None = None,
    real: Texts = None,
    by: str | None = None,
    *,
    margins: Sequence[float] = (),
    detectable: Sequence[float] = (),
    separable: Sequence[float] = (),
    dd: float | None = None,
    pilot: Pilot | Comparison | None = None,
    level: float = 0.95,
    power: float = POWER,
    folds: int = 5,
    effort: Effort = "default",
    prior: str | None = None,
    draw: int | None = None,
    own_log_probs: bool = True,
    independent: bool = False,
    seed: int = 0,
    out: Path | str | None = None,
    progress: Progress | None = None,
    **text: Unpack[TextOptions],
) -> Plan:
    """Return how many sentences each question takes; without any question, a few typical ones are answered.

    Of two generators that are to be told apart, one has the `dd` that is assumed and the other less, which takes more
    sentences than if it had more.

    Parameters
    ----------
    generated, real
        Texts of a pilot, as in `compare`, at least 10 a fold (50 for one split) of each generator and real ones; both
        or none. Generators are drawn from.
    by
        Of a table of all texts, as in `compare`.
    margins
        Bound dd within plus or minus so much, each in (0, 1).
    detectable
        Tell a dd of so much from 0: the interval lies above it.
    separable
        Tell two generators apart whose dd differ by so much.
    dd
        What dd is assumed to be, in [0, 1); by default that of the pilot, or 0, which takes the most sentences.
    pilot
        A finished comparison that has ``dd`` among its metrics, in place of texts.
    level
        Of intervals and significance, in (0, 1).
    power
        With which what is there is found, in (0, 1).
    folds
        Cross-fitting folds, at least 1.
    effort, prior, draw, own_log_probs, independent, seed, progress
        Of a pilot with texts, as in `compare`.
    out
        Folder in which what is drawn for it is kept.
    text
        How those are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Raises
    ------
    InputError
        If the comparison has no value of ``dd``, or texts of a pilot depend on each other.
    OptionError
        If a number is out of range, or a pilot has one side of texts only.
    """
    check_level(level)
    check_range("folds", folds, 1)
    if not 0 < power < 1:
        raise OptionError(f"power must be between 0 and 1, got {power}")
    if dd is not None and not 0 <= dd < 1:
        raise OptionError(f"dd must be at least 0 and below 1, got {dd}")
    if not (margins or detectable or separable):
        margins, detectable, separable = MARGINS, DETECTABLE, SEPARABLE
    if (generated is None) != (real is None) or (real is not None and pilot is not None):
        raise OptionError("a pilot is a finished comparison, or texts of both sides: generated and real")
    if prior is not None:
        if real is None:
            raise OptionError("prior needs a pilot with texts: give generated and real, or leave it out")
        from textassay.prior.catalog import check_prior  # loads the classifiers

        check_prior(prior)
    if isinstance(pilot, Comparison):
        pilot = pilot_of(pilot)
    if generated is not None:
        plan(
            margins=margins, detectable=detectable, separable=separable, dd=dd, level=level, power=power, folds=folds
        )  # checks ranges before measuring
        settings = Measuring(
            effort=effort,
            prior=prior,
            folds=folds,
            level=level,
            draw=draw,
            no_log_probs=not own_log_probs,
            independent=independent,
            seed=seed,
            **text,
        )
        named, real = named_texts(generated, real, by=by)
        pilot = measure_pilot(named, real, settings, out=out, progress=progress)
    factor = variance_factor(folds)
    closest = None if pilot is None else min(pilot.generators, key=lambda found: abs(found.value))
    shares, assumed, dd_assumption = _shares(dd, closest)
    correlation = 0.0 if pilot is None or pilot.correlation is None else pilot.correlation
    kinds = {"level": level, "variance_factor": factor}
    sizes = [
        *(
            ("margin", size, sentences_for_margin(size, share_real=shares[0], share_generated=shares[1], **kinds))
            for size in margins
        ),
        *(("detect", size, sentences_to_detect(size, power=power, **kinds)) for size in detectable),
        *(
            ("separate", size, _to_separate(size, dd=assumed, correlation=correlation, power=power, **kinds))
            for size in separable
        ),
    ]
    least = least_for_dd(folds)
    per_tested = 1 if folds > 1 else _TESTED_OF_ONE_SPLIT
    variances = [share * (1 - share) for share in shares]
    return Plan(
        requirements=tuple(
            Requirement(
                question,
                size,
                n_tested,
                max(least, n_tested * per_tested),
                max(least, math.ceil(n_tested * per_tested * _with_more(question, variances, correlation))),
            )
            for question, size, n_tested in sizes
        ),
        level=level,
        power=power,
        folds=folds,
        variance_factor=factor,
        share_real=shares[0],
        share_generated=shares[1],
        dd=assumed,
        correlation=correlation,
        assumptions=(dd_assumption, *_assumptions(factor, folds, pilot, correlation)),
        pilot=pilot,
    )


def _with_more(question: str, variances: Sequence[float], correlation: float) -> float:
    """Return what part of the real texts is needed where there are `TIMES_REAL` times as many generated ones.

    `variances`: of the judgement of a real and of a generated text. The real texts are shared by two generators.
    """
    real = variances[0] * (1 - correlation) if question == "separate" else variances[0]
    return (real + variances[1] / TIMES_REAL) / (real + variances[1])


def measure_pilot(
    generated: Mapping[str, Texts | Source],
    real: Texts,
    settings: Measuring,
    *,
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> Pilot:
    """Return the pilot with these texts, and those that are drawn for it."""
    corpora, drawn = read_and_draw(generated, real, settings, out=out, progress=progress)
    return replace(run_pilot(corpora.pop(FLOOR), corpora, settings, progress=progress), draws=drawn.draws)


def run_pilot(
    all_real: Corpus, generated: Mapping[str, Corpus], settings: Measuring, *, progress: Progress | None = None
) -> Pilot:
    """Measure dd of every generator, its learning curve, and what each side added to it."""
    from textassay.comparison.learning_curve import judge, learning_curve, side_rises  # loads the classifiers

    metric, independent = settings.of_dd(), settings.independent
    generators, answers = [], []
    for number, (name, texts) in enumerate(generated.items()):
        corpus, real = independent_units(columns_of(texts, name), columns_of(all_real, name), independent=independent)
        if progress is not None:
            progress(f"pilot with {name}", number, len(generated))
        judged = judge(real, corpus, metric, seed=settings.seed)
        curve = learning_curve(real, corpus, metric, seed=settings.seed, full=judged)
        rise = curve.rise
        pilot_curve = PilotCurve(
            curve.points,
            None if rise is None else rise.rising,
            None if rise is None else rise.value,
            None if rise is None else rise.low,
            None if rise is None else rise.high,
        )
        details = judged.estimate.details
        shares = (details["accuracy_real"], details["accuracy_generated"])
        rises = side_rises(real, corpus, metric, seed=settings.seed, full=judged)
        more = _more_text(
            shares,
            (len(real), len(corpus)),
            {side: None if found is None else (found.value, found.low, found.high) for side, found in rises.items()},
            level=settings.level,
            factor=variance_factor(settings.n_folds),
        )
        sizes = (len(real), len(corpus))
        generators.append(PilotGenerator(name, judged.estimate.value, *shares, *sizes, pilot_curve, more))
        of_real = judged.fit.correct()[0]
        answers.append(of_real[~np.isnan(of_real)])
    correlations = [
        float(np.corrcoef(one, other)[0, 1]) if one.std() > 0 and other.std() > 0 else 0.0
        for one, other in itertools.combinations(answers, 2)
    ]
    return Pilot(tuple(generators), min(correlations, default=None), settings.prior)


def pilot_of(comparison: Comparison) -> Pilot:
    """Return the pilot in a finished comparison that has ``dd`` among its metrics."""
    dd = next((name for name in comparison.metrics if name.split("(")[0] == "dd"), None)
    explained = {found.generator: found for found in comparison.explanations}
    found = {}
    for name in comparison.generators:
        estimate = None if dd is None else comparison.result(name, dd).estimate
        if estimate is None:
            continue
        curve = None
        if name in explained:
            known = explained[name]
            curve = PilotCurve(known.curve, known.rising, known.rise, known.rise_low, known.rise_high)
        shares = (estimate.details["accuracy_real"], estimate.details["accuracy_generated"])
        sizes = (estimate.sizes["n_real"], estimate.sizes["n_generated"])
        folds = int(estimate.signature.settings.get("folds", 5))
        more = _more_text(shares, sizes, {}, level=comparison.level, factor=variance_factor(folds))
        found[name] = PilotGenerator(name, estimate.value, *shares, *sizes, curve, more)
    if not found:
        raise InputError("the comparison has no value of dd: compare again with dd among the metrics")
    correlations = [
        _correlation(found[pair.a], found[pair.b], (pair.high - pair.low) / 2, comparison, pair.metric)
        for pair in comparison.pairs
        if pair.metric == dd and pair.high is not None and pair.low is not None
    ]
    telling = [correlation for correlation in correlations if correlation is not None]
    return Pilot(tuple(found.values()), min(telling, default=None), comparison.settings.get("prior"))


def _more_text(
    shares: tuple[float, float],
    sizes: tuple[int, int],
    rises: Mapping[str, tuple[float, float, float] | None],
    *,
    level: float,
    factor: float,
) -> tuple[MoreText, ...]:
    """Return what more text of each side would buy; `shares` and `sizes`: of real and of generated text."""

    def half_width(n_real: int, n_generated: int) -> float:
        of_sides = zip(shares, (n_real, n_generated), strict=True)
        variance = factor * sum(share * (1 - share) / n for share, n in of_sides)
        return float(ndtri((1 + level) / 2)) * math.sqrt(variance)

    doubled = {"generated": (sizes[0], 2 * sizes[1]), "real": (2 * sizes[0], sizes[1])}
    now, more = half_width(*sizes), []
    for side, n in (("generated", sizes[1]), ("real", sizes[0])):
        value, low, high = rises.get(side) or (None, None, None)
        more.append(MoreText(side, n, value, low, high, now, half_width(*doubled[side])))
    return tuple(more)


def _correlation(a: PilotGenerator, b: PilotGenerator, margin: float, comparison: Comparison, dd: str) -> float | None:
    """Return the correlation of judgements of real texts that explains the interval of a difference.

    None where real texts contribute too little to its width.
    """
    estimates = [comparison.result(found.generator, dd).estimate for found in (a, b)]
    errors = [0.0 if estimate is None else float(estimate.details["se_sampling"]) for estimate in estimates]
    of_real = []
    for found, error in zip((a, b), errors, strict=True):
        sides = [
            found.share_real * (1 - found.share_real) / found.n_real,
            found.share_generated * (1 - found.share_generated) / found.n_generated,
        ]
        of_real.append(error**2 * sides[0] / sum(sides) if sum(sides) > 0 else 0.0)
    shared = math.sqrt(of_real[0] * of_real[1])
    if shared <= _LEAST_SHARED * (errors[0] ** 2 + errors[1] ** 2):
        return None
    variance = (margin / float(ndtri((1 + comparison.level) / 2))) ** 2
    return float(np.clip((errors[0] ** 2 + errors[1] ** 2 - variance) / (2 * shared), -1, 1))


def _shares(dd: float | None, closest: PilotGenerator | None) -> tuple[tuple[float, float], float, str]:
    """Return the shares of correct answers, dd, and the assumption in words."""
    if dd is not None:
        return ((1 + dd) / 2, (1 + dd) / 2), dd, f"dd is about {dd:g}, both sides classified equally well"
    if closest is None:
        return (0.5, 0.5), 0.0, "dd is near 0, which needs the most texts (change this with --dd or a pilot)"
    shares = (closest.share_real, closest.share_generated)
    assumption = f"dd is that of {closest.generator} in the pilot, {closest.value:.3f}, the closest to 0"
    return shares, max(0.0, closest.value), assumption


def _to_separate(
    size: float, *, dd: float, correlation: float, level: float, power: float, variance_factor: float
) -> int:  # fmt: skip
    return sentences_to_separate(
        size,
        discrepancy=max(0.0, dd - size),
        correlation=correlation,
        level=level,
        power=power,
        variance_factor=variance_factor,
    )


def _assumptions(factor: float, folds: int, pilot: Pilot | None, correlation: float) -> tuple[str, ...]:
    assumptions = ["texts are independent draws, as many real ones as of each generator"]
    if folds > 1:
        assumptions.append(
            f"every text is scored once, by {folds}-fold cross-fitting, which multiplies variance by {factor:g}"
        )
    else:
        assumptions.append("one split: a tenth of the texts is scored")
    if pilot is None or pilot.correlation is None:
        assumptions.append(
            "scores of the same real text beside two generators are uncorrelated, which needs the most texts"
        )
    else:
        assumptions.append(
            f"scores of the same real text beside two generators correlate by {correlation:.2f}, as in the pilot"
        )
    assumptions.append("there are two generators, so one pair; adjusting the p-values of more pairs needs more texts")
    prior = "" if pilot is None or pilot.prior is None else f", with the prior {pilot.prior}"
    assumptions.append(
        f"dd is the value at the planned size and the same effort{prior}: it grows with the sample while its "
        "learning curve rises"
    )
    return tuple(assumptions)
