"""The findings of the paper that evaluates evaluators by people, checked on published or on our values.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 4 and 5.
Departs from it: verdicts account for the sampling of texts (`textassay_lab.papers.drawn_values`).
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from textassay_lab.meta_evaluation.correlations import row_correlations
from textassay_lab.meta_evaluation.reproduction import CheckedFinding, Number
from textassay_lab.papers.drawn_values import DrawnValues, check_rules
from textassay_lab.papers.findings import Outcome, Rule
from textassay_lab.papers.judges.published import (
    BLEU_TRAIN,
    CLASSIFIERS,
    DIVERSITY,
    INDIVIDUAL,
    OVERLAPS,
    PEOPLE,
    SELF_BLEU,
    published_table,
)

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_SEQGANS = ("MLE SeqGAN", "SeqGAN", "RankGAN")
_ADVERSARIAL = ("SeqGAN", "RankGAN", "LeakGAN")  # MLE SeqGAN has learnt from text alone
_WORDS = ("Word LSTM 1.0", "Word LSTM 0.7", "Word LSTM 0.5")
_FOUR = CLASSIFIERS[:4]
_ALL, _REAL, _GENERATED = range(3)


def check_findings(values: DrawnValues, *, level: float = 0.95) -> tuple[CheckedFinding, ...]:
    """Return the verdict on every finding."""
    return check_rules(RULES, values, level=level)


def _exact_figures(values: DrawnValues) -> Outcome:
    rates = {name: 100 * values.rates[name][:1] for name in PEOPLE}
    if values.kappa is None:
        raise KeyError("kappa")
    printed = published_table("figure 2").column("(all)")
    parts = {name: np.abs(rates[name][:, _ALL] - printed[name]) < 0.005 + 1e-9 for name in PEOPLE}
    parts["kappa"] = np.array([abs(values.kappa - published_table("kappa").column("all")["right or mistaken"]) < 5e-5])
    numbers: dict[str, Number] = {f"{name}, %": float(rates[name][0, _ALL]) for name in PEOPLE}
    return parts, {**numbers, "kappa": values.kappa}


def _real_is_easier(values: DrawnValues) -> Outcome:
    parts, numbers = {}, {}
    for name in PEOPLE:
        rates = values.rates[name]
        parts[name] = rates[:, _REAL] > rates[:, _GENERATED]
        numbers[f"{name}: real less generated, points"] = _gap(rates)
    return parts, numbers


def _gated_is_best(values: DrawnValues) -> Outcome:
    parts = {name: values.is_best(name, "gC2S") for name in PEOPLE}
    return parts, {name: float(values.of(name, "gC2S")[0]) for name in PEOPLE}


def _three_groups(values: DrawnValues) -> Outcome:
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
    return parts, {name: float(values.of("H1", name)[0]) for name in (*high, *middle, "Word LSTM 1.0")}


def _classifiers_beat_people(values: DrawnValues) -> Outcome:
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
    return parts, numbers


def _classifiers_like_gans(values: DrawnValues) -> Outcome:
    liked = {*_SEQGANS, "Scheduled Sampling", "Word LSTM 1.0"}
    parts: dict[str, BoolArray] = {}
    for name in CLASSIFIERS:
        worst_liked = np.max([values.of(name, generator) for generator in liked], axis=0)
        others = [values.of(name, generator) for generator in values.generators if generator not in liked]
        parts[f"{name}: the five are best"] = worst_liked < np.min(others, axis=0)
        parts[f"{name}: C2S is worst"] = values.rank(name, "C2S") == len(values.generators) - 1
    return parts, {f"C2S by {name}": float(values.of(name, "C2S")[0]) for name in CLASSIFIERS}


def _signs(taus: Mapping[tuple[str, str], FloatArray], sign: float) -> Iterator[tuple[str, BoolArray]]:
    for gold in PEOPLE:
        for name in (*CLASSIFIERS, *((INDIVIDUAL,) if (INDIVIDUAL, gold) in taus else ())):
            yield f"{name} with {gold} {'above' if sign > 0 else 'below'} 0", sign * taus[name, gold] > 0


def _opposite_signs(values: DrawnValues) -> Outcome:
    parts = dict(_signs(values.taus, -1.0))
    for gold in PEOPLE:
        parts |= {f"{name} with {gold} above 0": values.taus[name, gold] > 0 for name in OVERLAPS}
        others = np.max([values.taus[name, gold] for name in (*CLASSIFIERS, *OVERLAPS[1:])], axis=0)
        parts[f"BLEU highest with {gold}"] = values.taus["BLEU", gold] > others
    return parts, _told_taus(values.taus, ("SVM", "NB", *OVERLAPS))


def _best_by_overlap(values: DrawnValues) -> Outcome:
    parts: dict[str, BoolArray] = {}
    for name in OVERLAPS:
        best = "gC2S" if name == "CIDEr" else "C2S"
        parts[f"{best} best by {name}"] = values.is_best(name, best)
        for generator in _ADVERSARIAL:
            parts[f"{generator} in the lower half by {name}"] = 2 * values.rank(name, generator) >= len(
                values.generators
            )
    return parts, {f"C2S by {name}": float(values.of(name, "C2S")[0]) for name in OVERLAPS} | {
        "gC2S by CIDEr": float(values.of("CIDEr", "gC2S")[0])
    }


def _majority_turns(values: DrawnValues) -> Outcome:
    taus = values.majority_taus
    parts = dict(_signs(taus, 1.0))
    for gold in PEOPLE:
        others = np.max([taus[name, gold] for name in CLASSIFIERS], axis=0)
        parts[f"BLEU highest with {gold}"] = taus["BLEU", gold] > others
    return parts, _told_taus(taus, ("SVM", "NB", "BLEU"))


def _diversity_misleads(values: DrawnValues) -> Outcome:
    own, other = values.values[SELF_BLEU], values.values[DIVERSITY]
    rho = row_correlations(own, other, "spearman")
    parts = {"rho of Self-BLEU and lexical diversity at most -.7": rho <= -0.7}
    for name in (*PEOPLE, *CLASSIFIERS):
        tau = row_correlations(values.goodness(name), values.goodness(SELF_BLEU), "kendall")
        below = name in PEOPLE
        parts[f"{name} with Self-BLEU {'below' if below else 'above'} 0"] = tau < 0 if below else tau > 0
    return parts, {"rho": float(rho[0])}


def _memorisation(values: DrawnValues) -> Outcome:
    tau = row_correlations(values.goodness(BLEU_TRAIN), values.goodness("BLEU"), "kendall")
    gans = (*_SEQGANS, "LeakGAN")
    others = [name for name in values.generators if name not in (*gans, values.foreign)]
    most = np.max([values.of(BLEU_TRAIN, name) for name in gans], axis=0)
    parts = {"tau with BLEU at least .9": tau >= 0.9}
    parts |= {f"GAN models below {name}": most < values.of(BLEU_TRAIN, name) for name in others}
    return parts, {"tau": float(tau[0]), "highest GAN model": float(most[0])}


def _temperature(values: DrawnValues) -> Outcome:
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
    return parts, {f"H1 of {name}": float(values.of("H1", name)[0]) for name in _WORDS}


def _foreign_model(values: DrawnValues) -> Outcome:
    half = len(values.generators) / 2
    parts = {f"{name}: lower half": values.rank(name, values.foreign) >= half for name in PEOPLE}
    for name in (*PEOPLE, *CLASSIFIERS, *OVERLAPS, SELF_BLEU):
        parts[f"not best by {name}"] = values.rank(name, values.foreign) > 0
    return parts, {f"better than it by {name}": float(values.rank(name, values.foreign)[0]) for name in PEOPLE}


def _gap(rates: FloatArray) -> float:
    return float(100 * (rates[0, _REAL] - rates[0, _GENERATED]))


def _told_taus(taus: Mapping[tuple[str, str], FloatArray], names: Sequence[str]) -> dict[str, Number]:
    return {f"tau of {name} with H1": float(taus[name, "H1"][0]) for name in names}


RULES: tuple[Rule, ...] = (
    Rule("K1", "People are right in 66.61 % of judgements and 72.63 % of majorities; kappa is 0.2748.",
          "66.61 %, 72.63 %, 0.2748", "The three numbers. Each to the last printed digit.", _exact_figures, how=""),
    Rule("K2", "People recognise real text better than generated text.", "78.96 and 88.31 % against 54.26 and 56.95 %",
          "H1 and H2.", _real_is_easier),
    Rule("K3", "gC2S is the best generator by H1 and by H2.", "true", "H1 and H2.", _gated_is_best),
    Rule("K4", "SS, MLE SeqGAN, SeqGAN and RankGAN are found out most, then LeakGAN and Google LM, then the others.",
          "above .74; about .68; below .55", "Each generator by H1, against 74 %, 68 +- 3 % and 55 %.", _three_groups),
    Rule("K5", "LSTM, CNN, CNN & LSTM and SVM are right more often than H2, on both classes alike; people are not.",
          "77.58, 74.72, 75.18, 74.50 against 72.63 %; gaps below 6 points against 25 and 31",
          "Each of the four against H2; each gap against 6 points.", _classifiers_beat_people),
    Rule("K6", "Classifiers put SeqGAN's kind, SS and the word LSTM at 1.0 first, and C2S last.",
          "true of all seven", "Both, for each of the seven; SeqGAN's kind: MLE SeqGAN, SeqGAN, RankGAN.",
          _classifiers_like_gans),
    Rule("K7", "Classifiers disagree with people, word overlap agrees, BLEU most.",
          "tau -.45 to -.73; .45 to .76", "The sign of each tau with H1 and with H2; BLEU highest with each.",
          _opposite_signs),
    Rule("K8", "C2S is best by BLEU, ROUGE and METEOR, gC2S by CIDEr; GANs are low in all.", "true",
          "Who is best by each; SeqGAN, RankGAN and LeakGAN in the lower half of each. Of METEOR and CIDEr the printed "
          "values are those of texts judged fake.", _best_by_overlap),
    Rule("K9", "With the majority for the truth classifiers agree with people; BLEU still agrees most.",
          "true, in figures without numbers",
          "The sign of each tau with H1 and with H2; BLEU, of texts judged fake, highest with each.", _majority_turns),
    Rule("K10", "Self-BLEU and lexical diversity rank almost oppositely; little diversity deceives people, not "
          "classifiers.", "rho -.85; tau of H1 with Self-BLEU -.88, of classifiers .58 to .76",
          "rho at most -.7; the sign of each tau with Self-BLEU.", _diversity_misleads),
    Rule("K11", "BLEU against the training text goes with BLEU; GAN models have the least, Google LM apart.",
          "tau .96; true but for SS",
          "tau at least .9; the four GAN models below each other generator but Google LM.", _memorisation),
    Rule("K12", "At temperature 1.0 the word LSTM rivals GANs under classifiers; less heat helps with people, not "
          "with classifiers.", "H1 .55, .34, .27",
          "H1 falls and each classifier's accuracy rises from 1.0 to .7 to .5; at 1.0 each classifier finds out less "
          "than the mean of SeqGAN, RankGAN and LeakGAN.", _temperature),
    Rule("K13", "Google LM is in the lower half by people, and first by no evaluator but lexical diversity.", "true",
          "H1 and H2; each of the thirteen evaluators, and Self-BLEU.", _foreign_model),
)  # fmt: skip
