"""Findings about trained generators: those of "Judge the Judges" that need no people, and one of our own.

K are findings of `textassay_lab.papers.judges.findings`, G those of the paper without people, both about its twelve
generators; O1 is our own, about the floor.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 4 and 5.
Departs from it: verdicts account for the sampling of texts (`textassay_lab.papers.drawn_values`), not for another
training of the same generators.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from textassay_lab.meta_evaluation.correlations import row_correlations
from textassay_lab.meta_evaluation.reproduction import CheckedFinding, Number
from textassay_lab.papers.drawn_values import DrawnValues, Outcome, Rule, check_rules
from textassay_lab.papers.generators.experiment import DD
from textassay_lab.papers.generators.texts import FLOOR
from textassay_lab.papers.judges.findings import RULES as JUDGES_RULES
from textassay_lab.papers.judges.published import CLASSIFIERS, DIVERSITY, INDIVIDUAL, OVERLAPS, SELF_BLEU

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_ALIKE = 0.5  # tau from which two evaluators order alike; the smallest of the printed ones is .76
_WORDS = ("Word LSTM 1.0", "Word LSTM 0.7", "Word LSTM 0.5")
_GANS = ("SeqGAN", "RankGAN", "LeakGAN")


def check_paper(values: DrawnValues, *, level: float = 0.95) -> tuple[CheckedFinding, ...]:
    """Return the verdicts on the paper's generators that need no people."""
    kept = [rule for rule in JUDGES_RULES if rule.id in ("K6", "K8", "K11")]
    return check_rules((*kept, *_RULES), values, level=level)


def check_floor(values: DrawnValues, *, level: float = 0.95) -> tuple[CheckedFinding, ...]:
    """Return the verdict on the floor; `values` are of it and of generators."""
    return check_rules(_FLOOR_RULES, values, level=level)


def _classifiers(values: DrawnValues) -> list[str]:
    """Return the classifiers with values; KeyError where there are none."""
    known = [name for name in CLASSIFIERS if name in values.values]
    if not known:
        raise KeyError("no classifier")
    return known


def _tau(values: DrawnValues, first: str, second: str) -> FloatArray:
    return row_correlations(values.goodness(first), values.goodness(second), "kendall")


def _extremes(taus: dict[str, FloatArray]) -> dict[str, Number]:
    firsts = {name: float(rows[0]) for name, rows in taus.items()}
    lowest, highest = (choose(firsts, key=lambda name: firsts[name]) for choose in (min, max))
    return {f"lowest tau, {lowest}": firsts[lowest], f"highest tau, {highest}": firsts[highest]}


def _classifiers_agree(values: DrawnValues) -> Outcome:
    taus = {f"{a} and {b}": _tau(values, a, b) for a, b in combinations(_classifiers(values), 2)}
    if not taus:
        raise KeyError("one classifier")
    return {f"{pair} at least {_ALIKE:g}": rows >= _ALIKE for pair, rows in taus.items()}, _extremes(taus)


def _individual_like_meta(values: DrawnValues) -> Outcome:
    tau = _tau(values, INDIVIDUAL, "SVM")
    return {f"tau at least {_ALIKE:g}": tau >= _ALIKE}, {"tau": float(tau[0])}


def _foreign_is_never_first(values: DrawnValues) -> Outcome:
    names = (*_classifiers(values), *OVERLAPS, SELF_BLEU)
    ranks = {name: values.rank(name, values.foreign) for name in names}
    parts = {f"not first by {name}": rank > 0 for name, rank in ranks.items()}
    return parts, {f"better than it by {name}": int(rank[0]) for name, rank in ranks.items()}


def _foreign_is_last(values: DrawnValues) -> Outcome:
    last = len(values.generators) - 1
    ranks = {name: values.rank(name, values.foreign) for name in (*_classifiers(values), *OVERLAPS)}
    parts = {f"last by {name}": rank == last for name, rank in ranks.items()}
    return parts, {"evaluators that put it last": sum(int(rank[0]) == last for rank in ranks.values())}


def _rising(values: DrawnValues, evaluator: str) -> BoolArray:
    hot, mild, cold = (values.of(evaluator, generator) for generator in _WORDS)
    return np.asarray((mild > hot) & (cold > mild))


def _cold_is_called_fake(values: DrawnValues) -> Outcome:
    names = _classifiers(values)
    shares: dict[str, Number] = {
        f"{name}, {generator}": float(values.of(name, generator)[0]) for name in names[:1] for generator in _WORDS
    }
    return {f"{name} rises as text gets colder": _rising(values, name) for name in names}, shares


def _cold_is_less_diverse(values: DrawnValues) -> Outcome:
    hot, mild, cold = (values.of(DIVERSITY, generator) for generator in _WORDS)
    parts = {f"{SELF_BLEU} rises": _rising(values, SELF_BLEU), f"{DIVERSITY} falls": (mild < hot) & (cold < mild)}
    return parts, {f"{SELF_BLEU}, {name}": float(values.of(SELF_BLEU, name)[0]) for name in _WORDS}


def _overlap_likes_cold(values: DrawnValues) -> Outcome:
    numbers: dict[str, Number] = {f"BLEU, {name}": float(values.of("BLEU", name)[0]) for name in _WORDS}
    return {f"{name} rises as text gets colder": _rising(values, name) for name in OVERLAPS}, numbers


def _sides_disagree(values: DrawnValues) -> Outcome:
    taus = {f"{a} and {b}": _tau(values, a, b) for a in _classifiers(values) for b in OVERLAPS}
    return {f"{pair} below 0": rows < 0 for pair, rows in taus.items()}, _extremes(taus)


def _overlap_likes_repetition(values: DrawnValues) -> Outcome:
    taus = {name: _tau(values, name, SELF_BLEU) for name in (*_classifiers(values), *OVERLAPS)}
    parts = {
        f"{name} with {SELF_BLEU} {'below' if name in OVERLAPS else 'above'} 0": (
            rows < 0 if name in OVERLAPS else rows > 0
        )
        for name, rows in taus.items()
    }
    return parts, _extremes(taus)


def _rounds_make_worse(values: DrawnValues) -> Outcome:
    gaps = {name: values.of(name, "SeqGAN") - values.of(name, "MLE SeqGAN") for name in _classifiers(values)}
    numbers: dict[str, Number] = {f"{name}, SeqGAN less MLE SeqGAN": float(gap[0]) for name, gap in gaps.items()}
    return {f"SeqGAN is found out more often by {name}": gap > 0 for name, gap in gaps.items()}, numbers


def _lstm_rivals_gans(values: DrawnValues) -> Outcome:
    parts, numbers = {}, {}
    for name in _classifiers(values):
        gans = np.mean([values.of(name, generator) for generator in _GANS], axis=0)
        gap = values.of(name, _WORDS[0]) - gans
        parts[f"{name}: below the mean of the GANs"] = gap < 0
        numbers[f"{name}, LSTM less GANs"] = float(gap[0])
    return parts, numbers


def _none_reaches_the_floor(values: DrawnValues) -> Outcome:
    floor = values.of(DD, FLOOR)
    others = {name: values.of(DD, name) for name in values.generators if name != FLOOR}
    closest = min(others, key=lambda name: float(others[name][0]))
    parts = {f"{name} is farther than real text": rows > floor for name, rows in others.items()}
    return parts, {FLOOR: float(floor[0]), f"closest, {closest}": float(others[closest][0])}


_RULES: Sequence[Rule] = (
    Rule("G1", "The meta-evaluators order generators alike.", "tau of two of the seven .76 to .97",
         f"tau of each two at least {_ALIKE:g}.", _classifiers_agree),
    Rule("G2", "Individual evaluators order generators as meta-evaluators do.", "said, without numbers",
         f"tau of both SVMs at least {_ALIKE:g}.", _individual_like_meta),
    Rule("G3", "The model of another domain is first for no evaluator but lexical diversity.", "true",
         "Each classifier, each word overlap, Self-BLEU.", _foreign_is_never_first),
    Rule("G4", "No evaluator prefers the model of another domain to one that learnt from reviews.",
         "expected; 6th to 9th of twelve by classifiers", "It is last by each classifier and each word overlap.",
         _foreign_is_last),
    Rule("G5", "The colder a language model draws, the more often it is found out.", "48, 93, 99 % (LSTM)",
         "Each classifier's accuracy rises from 1.0 to .7 to .5.", _cold_is_called_fake),
    Rule("G6", "The colder a language model draws, the less diverse it is.", "Self-BLEU .19, .48, .70",
         "Self-BLEU rises and lexical diversity falls from 1.0 to .7 to .5.", _cold_is_less_diverse),
    Rule("G7", "The colder a language model draws, the better it is by word overlap.", "BLEU .21, .37, .46",
         "Each word overlap rises from 1.0 to .7 to .5.", _overlap_likes_cold),
    Rule("G8", "Word overlap and classifiers order generators the other way round.", "tau -.73 to -.21",
         "tau of each overlap with each classifier below 0.", _sides_disagree),
    Rule("G9", "Word overlap favours generators that repeat themselves, classifiers find them out.",
         "tau with Self-BLEU -.88 to -.55 and .58 to .76", "The sign of each tau with Self-BLEU.",
         _overlap_likes_repetition),
    Rule("G10", "SeqGAN's rounds make its generator worse.", "41 against 50 % (LSTM); true of all seven",
         "Each classifier finds out SeqGAN more often than MLE SeqGAN.", _rounds_make_worse),
    Rule("G11", "At temperature 1.0 the word LSTM rivals GANs.", "true of all seven",
         "Each classifier finds it out less often than the mean of SeqGAN, RankGAN and LeakGAN.", _lstm_rivals_gans),
)  # fmt: skip

_FLOOR_RULES: Sequence[Rule] = (
    Rule("O1", "No generator is as close to real text as real text is.", "not asked",
         "DD of each generator above the floor's.", _none_reaches_the_floor),
)  # fmt: skip
