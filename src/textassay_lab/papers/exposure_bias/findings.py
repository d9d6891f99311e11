"""What the findings on exposure bias look at, in the published numbers and in ours.

Source: He, Zhang, Zhou, Glass, "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4 and 5.
Departs from it: a finding holds only beyond the error of the numbers. Each is a list of conditions, a number and where
it should lie, fixed before anything was measured; a trend is the slope over all lengths, not two points. The paper's
"slightly" and "slowly" are numbers here, and stand in the rule.

Where runs share one model, the covariance is over sequences (delta method), pooled over the runs, and intervals are
normal. Where each run trained its own model, and for BLEU, whose sentences are not kept, it is over runs, and intervals
are Student's. Published values are independent, with their published spreads.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError
from textassay.estimate import Interval
from textassay_lab.exposure.bleu import BleuRun
from textassay_lab.exposure.distance import COLUMNS, row_distances
from textassay_lab.exposure.runs import PrefixRun, parse_kind
from textassay_lab.exposure.translation import TranslationCurve
from textassay_lab.generator.text_likelihood import Quantity
from textassay_lab.papers.exposure_bias.experiment import (
    BLEU_MODELS,
    DATA_MODEL,
    DISTANCES,
    EXPOSURE_PAPER,
    OTHERS,
    RANDOM_ORACLE,
    RANKGAN,
    SYNTHETIC_MODELS,
    ExposureResults,
)
from textassay_lab.papers.findings import (
    LEVEL,
    Condition,
    Outcome,
    Quantities,
    check,
    difference,
    mean_interval,
    numbers_of,
)
from textassay_lab.papers.paper import Number
from textassay_lab.papers.reproduction import CheckedFinding, Verdict

FloatArray = npt.NDArray[np.float64]

_SYMBOLS: Mapping[str, str] = {"LSTM": "LS", "Transformer-XL": "TF", "position unigram": "U"}
_KINDS: Mapping[str, str] = {"data": "D", "shuffled": "D_shuf", "random": "random"}
EB_C = "EB-C"
_LSTM, _TF, _UNIGRAM = BLEU_MODELS
_RUNS = 10  # of table 2
_NONE = 1e-12  # a mean distance of no more than this is none


@dataclass(frozen=True, eq=False)
class LengthValues:
    """Several numbers at each of K prefix lengths."""

    lengths: tuple[int, ...]  # K numbers
    values: Mapping[str, FloatArray]  # Name to values, shapes (K,); m names
    covariance: FloatArray  # Of all values, in the order of their names, shape (m K, m K)
    degrees: float  # Of freedom of the covariance; infinite where it is known well

    def condition(self, name: str, weights: Mapping[str, FloatArray]) -> Condition:
        """Return the sum of weighted values; weights are of shapes (K,)."""
        zeros = np.zeros(len(self.lengths))
        row = np.concatenate([weights.get(one, zeros) for one in self.values])
        value = math.fsum(row * np.concatenate(list(self.values.values())))
        return Condition(name, value, math.sqrt(max(0.0, float(row @ self.covariance @ row))), self.degrees)

    def at_each(self, name: str, weights: Mapping[str, float]) -> list[Condition]:
        """Return a sum of weighted values at each length."""
        return [
            self.condition(
                f"l = {length}: {name}",
                {one: weight * np.eye(len(self.lengths))[k] for one, weight in weights.items()},
            )
            for k, length in enumerate(self.lengths)
        ]

    def mean(self, name: str, more: str, less: str | None = None) -> Condition:
        """Return the mean over the lengths of a value, or of its difference to another one."""
        weights = {more: mean_over(self.lengths)} | ({} if less is None else {less: -mean_over(self.lengths)})
        return self.condition(name, weights)

    def growth(self, name: str, of: str) -> Condition:
        """Return the growth of a value from the first to the last length along the line of least squares."""
        return self.condition(name, {of: trend_over(self.lengths)})


def bleu_row(model: str, prefixes: str) -> str:
    """Return what table 2 calls C-bleu of a model after prefixes of a kind, such as "C-bleu(TF|D)"."""
    own = _SYMBOLS.get(model, model)
    return f"C-bleu({own}|{own if prefixes == 'model' else _KINDS.get(prefixes, prefixes)})"


def ratio_row(model: str, prefixes: str = "model") -> str:
    """Return what table 2 calls EB-bleu of a model, such as "EB-bleu(TF|D_shuf)" of shuffled prefixes."""
    own = _SYMBOLS.get(model, model)
    return f"EB-bleu({own})" if prefixes == "model" else f"EB-bleu({own}|{_KINDS.get(prefixes, prefixes)})"


def mean_over(lengths: Sequence[int]) -> FloatArray:
    """Return the weights of a mean over lengths."""
    return np.full(len(lengths), 1 / len(lengths))


def trend_over(lengths: Sequence[int]) -> FloatArray:
    """Return the weights that give the growth from the first to the last length along the line of least squares."""
    places = np.array(lengths, dtype=np.float64)
    centred = places - places.mean()
    squares = float(centred @ centred)
    return centred / squares * np.ptp(places) if squares > 0 else np.full(len(places), np.nan)


def after_words(runs: Sequence[PrefixRun]) -> tuple[PrefixRun, ...]:
    """Return the runs without the empty prefix, after which all prefixes are the same."""
    return tuple(run.at([length for length in run.lengths if length > 0]) for run in runs)


def bleu_values(models: Mapping[str, Sequence[BleuRun]]) -> LengthValues:
    """Return C-bleu and EB-bleu of all models and kinds of prefixes, named as in table 2, BLEU in percent."""
    shapes = {(len(runs), *(run.lengths for run in runs)) for runs in models.values()}
    if len(shapes) != 1:
        raise InputError("models on one text must have as many runs each, with the same prefix lengths")
    tables: dict[str, FloatArray] = {}  # shapes (R, K)
    for model, runs in models.items():
        scores = {kind: 100 * np.stack([run.scores[kind] for run in runs]) for kind in runs[0].scores}
        tables |= {bleu_row(model, kind): values for kind, values in scores.items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            tables |= {
                ratio_row(model, kind): np.where(values > 0, scores["data"] / values, np.nan)
                for kind, values in scores.items()
                if kind != "data"
            }
    return _over_runs(next(iter(models.values()))[0].lengths, tables)


def by_training(runs: Sequence[BleuRun], n_trainings: int) -> tuple[BleuRun, ...]:
    """Return the mean of the runs of each training; run r is of training r modulo `n_trainings`."""
    return tuple(_mean(runs[k::n_trainings]) for k in range(n_trainings))


def _mean(runs: Sequence[BleuRun]) -> BleuRun:
    scores = {kind: np.mean([run.scores[kind] for run in runs], axis=0) for kind in runs[0].scores}
    errors = {
        kind: np.sqrt(np.sum([run.errors[kind] ** 2 for run in runs], axis=0)) / len(runs) for kind in runs[0].errors
    }
    return replace(runs[0], scores=scores, errors=errors)


def mean_of_trainings(quantities: Sequence[Quantity]) -> Quantity:
    """Return the mean over trainings, with the interval of `mean_interval`: all are measured on one text."""
    if len(quantities) == 1:
        return quantities[0]
    values = [one.value for one in quantities]
    errors = [_error(one.interval) for one in quantities if one.interval is not None]
    if len(errors) < len(quantities) or not np.isfinite(values).all():
        return Quantity(float(np.mean(values)), None)
    interval = mean_interval(values, float(np.mean(errors)))
    return Quantity(float(np.mean(values)), replace(interval, low=max(0.0, interval.low)))


def published_bleu() -> LengthValues:
    """Return table 2; BLEU in percent."""
    table = EXPOSURE_PAPER.tables["table 2"]
    spreads = np.array(table.spreads, dtype=np.float64)
    values = {row: np.array(own, dtype=np.float64) for row, own in zip(table.rows, table.values, strict=True)}
    lengths = tuple(map(int, table.columns))
    return LengthValues(lengths, values, np.diag(spreads.reshape(-1) ** 2 / _RUNS), _RUNS - 1)


def deviation_values(kinds: Mapping[str, Sequence[PrefixRun]], distance: str, *, retrained: bool) -> LengthValues:
    """Return the CGD after each kind of prefixes, named by the kind, and `EB_C`; without the empty prefix.

    `kinds`: runs of each, as many; ``data`` and ``model`` among them.
    """
    cut = {kind: after_words(runs) for kind, runs in kinds.items()}
    if len({(len(runs), *(run.lengths for run in runs)) for runs in cut.values()}) != 1:
        raise InputError("all kinds of prefixes must have as many runs, with the same lengths")
    lengths = cut["data"][0].lengths
    tables = {kind: np.stack([run.means[distance] for run in runs]) for kind, runs in cut.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        tables[EB_C] = np.where(tables["data"] > _NONE, tables["model"] / tables["data"], np.nan)
    over_runs = _over_runs(lengths, tables)
    n_runs, size = len(cut["data"]), len(lengths)
    if retrained and n_runs > 1:
        return over_runs
    total = np.zeros_like(over_runs.covariance)
    for run in range(n_runs):
        known = np.zeros((size * len(cut), size * len(cut)))
        slopes = np.zeros((size * len(tables), size * len(cut)))
        for place, runs in enumerate(cut.values()):
            own = slice(place * size, (place + 1) * size)
            known[own, own] = runs[run].covariances[distance]
            slopes[own, own] = np.eye(size)
        bottom, ratio, names = tables["data"][run], tables[EB_C][run], list(cut)
        with np.errstate(divide="ignore", invalid="ignore"):
            for kind, slope in (("data", -ratio / bottom), ("model", 1 / bottom)):
                begin = names.index(kind) * size
                slopes[-size:, begin : begin + size] = np.diag(np.where(bottom > _NONE, slope, np.nan))
            total += slopes @ known @ slopes.T
    return replace(over_runs, covariance=total / n_runs**2, degrees=math.inf)


def _over_runs(lengths: tuple[int, ...], tables: Mapping[str, FloatArray]) -> LengthValues:
    """Return the means of tables, shapes (R, K), with their covariance over runs; NaN of one run."""
    rows = np.concatenate(list(tables.values()), axis=1)  # (R, m K)
    n_runs, size = rows.shape
    covariance = np.full((size, size), np.nan)
    if n_runs > 1:
        centred = rows - rows.mean(axis=0)
        covariance = centred.T @ centred / ((n_runs - 1) * n_runs)
    return LengthValues(lengths, {name: table.mean(axis=0) for name, table in tables.items()}, covariance, n_runs - 1)


_RATIOS: Mapping[str, tuple[tuple[str, str, str], ...]] = {  # table 2: rows ratio, above, below; table 4: columns
    "table 2": tuple((ratio_row(model, kind), bleu_row(model, "data"), bleu_row(model, kind))
                     for model, kind in ((_LSTM, "model"), (_TF, "model"), (_TF, "shuffled"))),
    "table 4": (("EB-C", "CGD(M|M)", "CGD(M|D)"),),
}  # fmt: skip


@dataclass(frozen=True)
class Recomputed:
    """A printed ratio and the ratio of the printed numbers it is of."""

    # the cell of the printed ratio
    row: str
    column: str
    # as printed
    printed: float
    spread: float
    value: float  # the ratio of the other two
    rounding: float  # by how much `value` and `printed` may differ because all three are rounded
    spread_of_parts: float  # spread of the ratio where its parts vary independently with their printed spreads

    @property
    def in_spreads(self) -> float:
        """By how many printed spreads the two differ; two means of ten runs each are not 3 apart."""
        return abs(self.value - self.printed) / self.spread


def recomputed_ratios(name: str) -> tuple[Recomputed, ...]:
    """Return every ratio that "table 2" or "table 4" prints, computed again from the numbers it is of."""
    table = EXPOSURE_PAPER.tables[name]
    cells = table.cells()
    across = name == "table 4"  # the parts of a ratio stand in other columns, not in other rows
    half = 0.0005 if across else 0.005  # of the last digit of the parts
    ratios = []
    for names in _RATIOS[name]:
        for place in table.rows if across else table.columns:
            key, *parts = ((place, one) if across else (one, place) for one in names)
            (above, above_spread), (below, below_spread) = (cells[part] for part in parts)
            printed, spread = cells[key]
            value = above / below
            relative = (((above_spread or 0.0) / above) ** 2 + ((below_spread or 0.0) / below) ** 2) ** 0.5
            rounding = 0.0005 + value * half * (1 / above + 1 / below)
            ratios.append(Recomputed(*key, printed, spread or math.nan, value, rounding, value * relative))
    return tuple(ratios)


@dataclass(frozen=True)
class _Values:
    """What the findings look at, of ours or of what is printed; what there is none of is empty."""

    bleu: Mapping[str, LengthValues]  # by what is said after a model, such as " on yelp"
    perplexity: Mapping[str, Mapping[str, Quantity]]  # text to model to it
    deviations: Mapping[str, Mapping[str, LengthValues]] = field(default_factory=dict)  # model, distance
    others: Mapping[str, Mapping[str, LengthValues]] = field(default_factory=dict)  # the same of those of `OTHERS`
    oracle_costs: Mapping[str, Quantity] = field(default_factory=dict)
    translation: Mapping[str, TranslationCurve] = field(default_factory=dict)  # by distance
    people: Sequence[Recomputed] = ()


quantity = Quantities()


def check_findings(results: ExposureResults, *, level: float = LEVEL) -> tuple[CheckedFinding, ...]:
    """Return the verdict on every finding, once for each text or model with the measurements it needs."""

    def deviations(models: Mapping[str, Mapping[str, Sequence[PrefixRun]]]) -> dict[str, dict[str, LengthValues]]:
        return {
            model: {name: deviation_values(kinds, name, retrained=results.retrained) for name in DISTANCES}
            for model, kinds in models.items()
        }

    values = _Values(
        bleu={f" on {text}": bleu_values(models) for text, models in results.bleu.items()},
        perplexity={
            text: {model: texts[text] for model, texts in results.perplexity.items() if text in texts}
            for text in dict.fromkeys(text for texts in results.perplexity.values() for text in texts)
        },
        deviations=deviations(results.synthetic),
        others=deviations(results.others),
        oracle_costs=results.oracle_costs,
        translation={} if results.translation is None else results.translation.curves,
    )
    return check(EXPOSURE_PAPER.findings, lambda one: quantity[one.quantity](values), whose="ours", level=level)


def check_published(level: float = LEVEL) -> tuple[CheckedFinding, ...]:
    """Return the verdicts on the published tables, where they have the numbers."""
    printed = EXPOSURE_PAPER.tables["table 7"].column("perplexity")
    values = _Values(
        bleu={"": published_bleu()},
        perplexity={"": {model: Quantity(value, None) for model, value in printed.items()}},
        people=recomputed_ratios("table 4"),
    )
    of_paper = [one for one in EXPOSURE_PAPER.findings if one.id.startswith("B") and one.quantity != "example_one"]
    checked = check(of_paper, lambda one: quantity[one.quantity](values), whose="the published numbers", level=level)
    return tuple(one for one in checked if one.verdict != "not measured")


def _each_model(values: _Values, *kinds: str) -> Iterator[tuple[str, str, LengthValues]]:
    """Yield title, name and values of each model whose EB-bleu after some kinds of prefixes is known."""
    for where, own in values.bleu.items():
        for model in (_LSTM, _TF):
            if all(ratio_row(model, kind) in own.values for kind in ("model", *kinds)):
                yield f"{model}{where}", model, own


@quantity
def eb_bleu_at_each(values: _Values) -> Iterator[Outcome]:
    for title, model, own in _each_model(values):
        yield numbers_of(title, *own.at_each(ratio_row(model), {ratio_row(model): 1.0}))


@quantity
def mean_eb_bleu(values: _Values) -> Iterator[Outcome]:
    for title, model, own in _each_model(values):
        yield numbers_of(title, own.mean("EB-bleu", ratio_row(model)))


@quantity
def growth(values: _Values) -> Iterator[Outcome]:
    for title, model, own in _each_model(values):
        yield numbers_of(title, own.growth("growth", ratio_row(model)))


@quantity
def growth_of_shuffled(values: _Values) -> Iterator[Outcome]:
    for title, model, own in _each_model(values, "shuffled"):
        plain, shuffled = ratio_row(model), ratio_row(model, "shuffled")
        differences = own.at_each(f"{shuffled} - {plain}", {shuffled: 1.0, plain: -1.0})
        yield numbers_of(title, own.growth("growth, shuffled", shuffled), *differences)


@quantity
def harm_of_shuffled(values: _Values) -> Iterator[Outcome]:
    for title, model, own in _each_model(values, "shuffled"):
        plain, shuffled = ratio_row(model), ratio_row(model, "shuffled")
        yield numbers_of(title, own.growth("growth, shuffled", shuffled), own.mean("mean difference", shuffled, plain))


@quantity
def kinds_of_prefixes(values: _Values) -> Iterator[Outcome]:
    for title, model, own in _each_model(values, "shuffled", "random"):
        plain, shuffled, random = (ratio_row(model, kind) for kind in ("model", "shuffled", "random"))
        yield numbers_of(
            title,
            own.mean("EB-bleu, own prefixes", plain),
            own.mean("shuffled - own", shuffled, plain),
            own.mean("random - shuffled", random, shuffled),
            own.mean("EB-bleu, shuffled", shuffled),
            own.mean("EB-bleu, random", random),
        )


@quantity
def transformer_ahead(values: _Values) -> Iterator[Outcome]:
    for where, own in values.bleu.items():
        if {ratio_row(_LSTM), ratio_row(_TF)} <= own.values.keys():
            ahead = [one for kind in ("data", "model") for one in _ahead(own, kind, kind)]
            yield numbers_of(f"{_LSTM} and {_TF}{where}", *ahead)


@quantity
def transformer_ahead_after_shuffled(values: _Values) -> Iterator[Outcome]:
    for where, own in values.bleu.items():
        if {ratio_row(_LSTM), ratio_row(_TF), bleu_row(_TF, "shuffled")} <= own.values.keys():
            yield numbers_of(f"{_LSTM} and {_TF}{where}", *_ahead(own, "shuffled", "data"))


def _ahead(values: LengthValues, first: str, second: str) -> list[Condition]:
    rows = bleu_row(_TF, first), bleu_row(_LSTM, second)
    return values.at_each(f"{rows[0]} - {rows[1]}", {rows[0]: 1.0, rows[1]: -1.0})


@quantity
def position_unigram(values: _Values) -> Iterator[Outcome]:
    for where, own in values.bleu.items():
        row = ratio_row(_UNIGRAM)
        if row in own.values:
            yield numbers_of(f"{_UNIGRAM}{where}", own.mean("EB-bleu", row), own.growth("growth", row))


@quantity
def mean_eb_c(values: _Values) -> Iterator[Outcome]:
    for model, own in values.deviations.items():
        yield numbers_of(model, *(own[distance].mean(name, EB_C) for distance, name in DISTANCES.items()))


@quantity
def trend_of_eb_c(values: _Values) -> Iterator[Outcome]:
    for model, own in values.deviations.items():
        yield numbers_of(model, *(own[distance].growth(name, EB_C) for distance, name in DISTANCES.items()))


@quantity
def eb_c_at_each(values: _Values) -> Iterator[Outcome]:
    for model, own in values.deviations.items():
        rates = [one for distance, name in DISTANCES.items() for one in own[distance].at_each(name, {EB_C: 1.0})]
        yield numbers_of(model, *rates)


@quantity
def corruption(values: _Values) -> Iterator[Outcome]:
    for model, by_distance in values.deviations.items():
        own = by_distance["tv"]
        rates = sorted((parse_kind(kind)[1], kind) for kind in own.values if kind.startswith("corrupted"))
        order = ["data", "model", *(kind for _, kind in rates)]
        if rates:
            yield numbers_of(
                model, *(own.mean(f"{worse} - {better}", worse, better) for better, worse in pairwise(order))
            )


@quantity
def mean_eb_c_of_others(values: _Values) -> Iterator[Outcome]:
    for model, own in values.others.items():
        yield numbers_of(model, own["js"].mean("EB-C", EB_C))


@quantity
def difference_of_others(values: _Values) -> Iterator[Outcome]:
    for model in values.others:
        yield numbers_of(model, _difference_of_others(values, model))


@quantity
def mean_and_difference_of_others(values: _Values) -> Iterator[Outcome]:
    for model, own in values.others.items():
        yield numbers_of(model, own["js"].mean("EB-C", EB_C), _difference_of_others(values, model))


def _difference_of_others(values: _Values, model: str) -> Condition:
    """Return EB-C of a model less that of the one trained by maximum likelihood."""
    own, other = (known["js"].mean("", EB_C) for known in (values.others[model], values.deviations[OTHERS[model]]))
    return difference(f"{model} - {OTHERS[model]}", own, other)


@quantity
def oracle_costs(values: _Values) -> Iterator[Outcome]:
    costs = values.oracle_costs
    yield numbers_of(RANKGAN, _step("after - before", costs[RANDOM_ORACLE], costs[RANKGAN]))


@quantity
def perplexities(values: _Values) -> Iterator[Outcome]:
    """Yield differences of logarithms, the models as if they were measured on different sentences."""
    for text, known in values.perplexity.items():
        if known.keys() >= {DATA_MODEL, *SYNTHETIC_MODELS}:
            logs = {model: known[model].mapped(math.log) for model in (DATA_MODEL, *SYNTHETIC_MODELS)}
            steps = pairwise(logs)
            yield numbers_of(
                text, *(_step(f"log of {worse} / {better}", logs[better], logs[worse]) for better, worse in steps)
            )


def _step(name: str, first: Quantity, second: Quantity) -> Condition:
    """Return the second less the first, measured on different sentences."""
    errors = [0.0 if one.interval is None else _error(one.interval) for one in (first, second)]
    return Condition(name, second.value - first.value, math.hypot(*errors), math.inf)


def _error(interval: Interval) -> float:
    """Return the standard error behind a normal interval."""
    return (interval.high - interval.low) / 2 / float(stats.norm.ppf((1 + interval.level) / 2))


@quantity
def ratios_of_people(values: _Values) -> Iterator[Outcome]:
    if values.people:
        off = [one for one in values.people if abs(one.value - one.printed) > one.rounding]
        numbers: dict[str, Number] = {f"{one.row}: {one.printed:g} printed, is": one.value for one in values.people}
        yield Outcome("", "does not hold" if off else "holds", numbers)


@quantity
def eb_c_of_translation(values: _Values) -> Iterator[Outcome]:
    rates = [
        Condition(f"l = {length}: {name}", value, math.nan if interval is None else _error(interval), math.inf)
        for distance, name in DISTANCES.items()
        if (curve := values.translation.get(distance)) is not None
        for length, value, interval in zip(curve.lengths, curve.eb_c.tolist(), curve.eb_c_intervals, strict=True)
    ]
    if rates:
        yield numbers_of("translation", *rates)


@quantity
def example_one(values: _Values) -> Iterator[Outcome]:
    """Yield example 1: two words, two letters, all equally likely; the model repeats its first A too often."""
    rows = {"A": (0.9, 0.1), "B": (0.5, 0.5)}  # the model's second word after each first one
    with np.errstate(divide="ignore"):
        model = np.log(np.array(list(rows.values())))
    distances = row_distances(model, np.log(np.full((2, 2), 0.5)))[:, COLUMNS.index("tv")]
    data, own = (float(np.array(first) @ distances) for first in ((0.5, 0.5), (0.9, 0.1)))
    numbers: dict[str, Number] = {"CGD(M|D)": data, "CGD(M|M)": own, "EB-C": own / data}
    exact = all(abs((value or 0.0) - to) < 1e-12 for value, to in zip(numbers.values(), (0.2, 0.36, 1.8), strict=True))
    verdict: Verdict = "holds" if exact else "does not hold"
    yield Outcome("computed", verdict, numbers)
