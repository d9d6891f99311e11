"""What the findings about evaluators and people look at: values of generators, as measured and over resampled texts.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 4 and 5.
Departs from it: verdicts account for the sampling of texts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from textassay_lab.meta_evaluation.correlations import row_correlations
from textassay_lab.papers.findings import BoolArray, Outcome, Quantities, check
from textassay_lab.papers.paper import Number, read_paper
from textassay_lab.papers.reproduction import CheckedFinding

FloatArray = npt.NDArray[np.float64]

JUDGES_PAPER = read_paper("textassay_lab.papers.judges")
PEOPLE = ("H1", "H2")
CLASSIFIERS = ("LSTM", "CNN", "CNN & LSTM", "SVM", "RF", "NB", "XGBoost")
INDIVIDUAL = "SVM individual"
OVERLAPS = ("BLEU", "ROUGE", "METEOR", "CIDEr")
SELF_BLEU, DIVERSITY, BLEU_TRAIN = "Self-BLEU", "lexical diversity", "BLEU G-train"
_SEQGANS = ("MLE SeqGAN", "SeqGAN", "RankGAN")
_ADVERSARIAL = ("SeqGAN", "RankGAN", "LeakGAN")  # MLE SeqGAN has learnt from text alone
_FOREIGN = "Google LM"  # trained on another domain
_WORDS = ("Word LSTM 1.0", "Word LSTM 0.7", "Word LSTM 0.5")
_FOUR = CLASSIFIERS[:4]
_ALL, _REAL, _GENERATED = range(3)
quantity = Quantities()


@dataclass(frozen=True, eq=False)
class DrawnValues:
    """Evaluators' values, as measured and over draws of texts; missing ones were not measured."""

    about: str  # source of the values
    generators: tuple[str, ...]  # G names
    # by evaluator, shape (1 + B, G): row 0 as measured, the others resampled, B may be 0; for people and classifiers
    # the share that is called fake
    values: Mapping[str, FloatArray]
    better: Mapping[str, str]  # "higher" or "lower", by evaluator
    # accuracy of people and classifiers on all, on real and on generated texts, shape (1 + B, 3)
    rates: Mapping[str, FloatArray] = field(default_factory=dict)
    # Kendall's tau-b by evaluator and "H1" or "H2", signs such that higher is better, shape (1 + B,)
    taus: Mapping[tuple[str, str], FloatArray] = field(default_factory=dict)
    # the same with people's majority as the truth
    majority_taus: Mapping[tuple[str, str], FloatArray] = field(default_factory=dict)
    kappa: float | None = None  # Fleiss' kappa of right and mistaken answers; not resampled

    def of(self, evaluator: str, generator: str) -> FloatArray:
        """Return one generator's values, shape (1 + B,); raises KeyError where there are none."""
        return self.values[evaluator][:, self._place(generator)]

    def goodness(self, evaluator: str) -> FloatArray:
        """Return values with signs such that higher is better."""
        return self.values[evaluator] if self.better[evaluator] == "higher" else -self.values[evaluator]

    def rank(self, evaluator: str, generator: str) -> FloatArray:
        """Return how many generators are better than one, shape (1 + B,)."""
        goodness = self.goodness(evaluator)
        own = goodness[:, [self._place(generator)]]
        return np.asarray((goodness > own).sum(axis=1), dtype=np.float64)

    def is_best(self, evaluator: str, generator: str) -> BoolArray:
        """Return whether all other generators are worse than one, shape (1 + B,)."""
        goodness = self.goodness(evaluator)
        own = goodness[:, [self._place(generator)]]
        return np.asarray((goodness >= own).sum(axis=1) == 1)

    def _place(self, generator: str) -> int:
        if generator not in self.generators:
            raise KeyError(generator)
        return self.generators.index(generator)


def check_findings(values: DrawnValues) -> tuple[CheckedFinding, ...]:
    """Return the verdict on every finding."""
    return check(JUDGES_PAPER.findings, lambda finding: quantity[finding.quantity](values), whose=values.about)


@quantity
def exact_figures(values: DrawnValues) -> Iterator[Outcome]:
    rates = {name: 100 * values.rates[name][:1] for name in PEOPLE}
    if values.kappa is None:
        raise KeyError("kappa")
    printed = JUDGES_PAPER.tables["figure 2"].column("(all)")
    kappa = JUDGES_PAPER.tables["kappa"].column("all")["right or mistaken"]
    parts = {name: np.abs(rates[name][:, _ALL] - printed[name]) < 0.005 + 1e-9 for name in PEOPLE}
    parts["kappa"] = np.array([abs(values.kappa - kappa) < 5e-5])
    numbers: dict[str, Number] = {f"{name}, %": float(rates[name][0, _ALL]) for name in PEOPLE}
    yield Outcome("", parts, {**numbers, "kappa": values.kappa})


@quantity
def real_is_easier(values: DrawnValues) -> Iterator[Outcome]:
    parts, numbers = {}, {}
    for name in PEOPLE:
        rates = values.rates[name]
        parts[name] = rates[:, _REAL] > rates[:, _GENERATED]
        numbers[f"{name}: real less generated, points"] = _gap(rates)
    yield Outcome("", parts, numbers)


@quantity
def gated_is_best(values: DrawnValues) -> Iterator[Outcome]:
    parts = {name: values.is_best(name, "gC2S") for name in PEOPLE}
    yield Outcome("", parts, {name: float(values.of(name, "gC2S")[0]) for name in PEOPLE})


@quantity
def three_groups(values: DrawnValues) -> Iterator[Outcome]:
    high, middle = (*_SEQGANS, "Scheduled Sampling"), ("LeakGAN", "Google LM")
    parts: dict[str, BoolArray] = {}
    for generator in values.generators:
        share = values.of("H1", generator)
        if generator in high:
            parts[f"{generator} above 74 %"] = share > 0.74
        elif generator in middle:
            parts[f"{generator} within 3 points of 68 %"] = np.abs(share - 0.68) <= 0.03
        else:
            parts[f"{generator} below 55 %"] = share < 0.55
    numbers: dict[str, Number] = {name: float(values.of("H1", name)[0]) for name in (*high, *middle, "Word LSTM 1.0")}
    yield Outcome("", parts, numbers)


@quantity
def classifiers_beat_people(values: DrawnValues) -> Iterator[Outcome]:
    parts: dict[str, BoolArray] = {}
    numbers: dict[str, Number] = {"H2": float(values.rates["H2"][0, _ALL])}
    for name in _FOUR:
        rates = values.rates[name]
        parts[f"{name} is right more often than H2"] = rates[:, _ALL] > values.rates["H2"][:, _ALL]
        parts[f"{name}: classes within 6 points"] = np.abs(rates[:, _REAL] - rates[:, _GENERATED]) < 0.06
        numbers[name] = float(rates[0, _ALL])
    for name in PEOPLE:
        rates = values.rates[name]
        parts[f"{name}: classes more than 6 points apart"] = rates[:, _REAL] - rates[:, _GENERATED] > 0.06
    yield Outcome("", parts, numbers)


@quantity
def classifiers_like_gans(values: DrawnValues) -> Iterator[Outcome]:
    liked = {*_SEQGANS, "Scheduled Sampling", "Word LSTM 1.0"}
    parts: dict[str, BoolArray] = {}
    for name in CLASSIFIERS:
        worst_liked = np.max([values.of(name, generator) for generator in liked], axis=0)
        others = [values.of(name, generator) for generator in values.generators if generator not in liked]
        parts[f"{name}: the five are best"] = worst_liked < np.min(others, axis=0)
        parts[f"{name}: C2S is worst"] = values.rank(name, "C2S") == len(values.generators) - 1
    yield Outcome("", parts, {f"C2S by {name}": float(values.of(name, "C2S")[0]) for name in CLASSIFIERS})


def _signs(taus: Mapping[tuple[str, str], FloatArray], sign: float) -> Iterator[tuple[str, BoolArray]]:
    for gold in PEOPLE:
        for name in (*CLASSIFIERS, *((INDIVIDUAL,) if (INDIVIDUAL, gold) in taus else ())):
            yield f"{name} with {gold} {'above' if sign > 0 else 'below'} 0", sign * taus[name, gold] > 0


@quantity
def opposite_signs(values: DrawnValues) -> Iterator[Outcome]:
    parts = dict(_signs(values.taus, -1.0))
    for gold in PEOPLE:
        parts |= {f"{name} with {gold} above 0": values.taus[name, gold] > 0 for name in OVERLAPS}
        others = np.max([values.taus[name, gold] for name in (*CLASSIFIERS, *OVERLAPS[1:])], axis=0)
        parts[f"BLEU highest with {gold}"] = values.taus["BLEU", gold] > others
    yield Outcome("", parts, _told_taus(values.taus, ("SVM", "NB", *OVERLAPS)))


@quantity
def best_by_overlap(values: DrawnValues) -> Iterator[Outcome]:
    parts: dict[str, BoolArray] = {}
    for name in OVERLAPS:
        best = "gC2S" if name == "CIDEr" else "C2S"
        parts[f"{best} best by {name}"] = values.is_best(name, best)
        for generator in _ADVERSARIAL:
            parts[f"{generator} in the lower half by {name}"] = 2 * values.rank(name, generator) >= len(
                values.generators
            )
    best_values = {f"C2S by {name}": float(values.of(name, "C2S")[0]) for name in OVERLAPS}
    numbers = {**best_values, "gC2S by CIDEr": float(values.of("CIDEr", "gC2S")[0])}
    yield Outcome("", parts, numbers)


@quantity
def majority_turns(values: DrawnValues) -> Iterator[Outcome]:
    taus = values.majority_taus
    parts = dict(_signs(taus, 1.0))
    for gold in PEOPLE:
        others = np.max([taus[name, gold] for name in CLASSIFIERS], axis=0)
        parts[f"BLEU highest with {gold}"] = taus["BLEU", gold] > others
    yield Outcome("", parts, _told_taus(taus, ("SVM", "NB", "BLEU")))


@quantity
def diversity_misleads(values: DrawnValues) -> Iterator[Outcome]:
    own, other = values.values[SELF_BLEU], values.values[DIVERSITY]
    rho = row_correlations(own, other, "spearman")
    parts = {"rho of Self-BLEU and lexical diversity at most -.7": rho <= -0.7}
    for name in (*PEOPLE, *CLASSIFIERS):
        tau = row_correlations(values.goodness(name), values.goodness(SELF_BLEU), "kendall")
        below = name in PEOPLE
        parts[f"{name} with Self-BLEU {'below' if below else 'above'} 0"] = tau < 0 if below else tau > 0
    yield Outcome("", parts, {"rho": float(rho[0])})


@quantity
def memorisation(values: DrawnValues) -> Iterator[Outcome]:
    tau = row_correlations(values.goodness(BLEU_TRAIN), values.goodness("BLEU"), "kendall")
    gans = (*_SEQGANS, "LeakGAN")
    others = [name for name in values.generators if name not in (*gans, _FOREIGN)]
    most = np.max([values.of(BLEU_TRAIN, name) for name in gans], axis=0)
    parts = {"tau with BLEU at least .9": tau >= 0.9}
    parts |= {f"GAN models below {name}": most < values.of(BLEU_TRAIN, name) for name in others}
    yield Outcome("", parts, {"tau": float(tau[0]), "highest GAN model": float(most[0])})


@quantity
def temperature(values: DrawnValues) -> Iterator[Outcome]:
    parts: dict[str, BoolArray] = {}
    for name in ("H1", *CLASSIFIERS):
        hot, mild, cold = (values.of(name, generator) for generator in _WORDS)
        sign = -1.0 if name == "H1" else 1.0
        parts[f"{name} {'falls' if sign < 0 else 'rises'} as text gets colder"] = (sign * (mild - hot) > 0) & (
            sign * (cold - mild) > 0
        )
        if name != "H1":
            gans = np.mean([values.of(name, generator) for generator in _ADVERSARIAL], axis=0)
            parts[f"{name}: at 1.0 below the mean of the GANs"] = hot < gans
    yield Outcome("", parts, {f"H1 of {name}": float(values.of("H1", name)[0]) for name in _WORDS})


@quantity
def foreign_model(values: DrawnValues) -> Iterator[Outcome]:
    half = len(values.generators) / 2
    parts = {f"{name}: lower half": values.rank(name, _FOREIGN) >= half for name in PEOPLE}
    for name in (*PEOPLE, *CLASSIFIERS, *OVERLAPS, SELF_BLEU):
        parts[f"not best by {name}"] = values.rank(name, _FOREIGN) > 0
    numbers: dict[str, Number] = {f"better than it by {name}": float(values.rank(name, _FOREIGN)[0]) for name in PEOPLE}
    yield Outcome("", parts, numbers)


def _gap(rates: FloatArray) -> float:
    return float(100 * (rates[0, _REAL] - rates[0, _GENERATED]))


def _told_taus(taus: Mapping[tuple[str, str], FloatArray], names: Sequence[str]) -> dict[str, Number]:
    return {f"tau of {name} with H1": float(taus[name, "H1"][0]) for name in names}
