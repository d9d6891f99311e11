"""Evaluators on texts that people judged: stages that measure, evaluations, and values over bootstrap draws of texts.

Texts of each generator are resampled with replacement, the same for all evaluators; so are real texts.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 3.2 to 3.5.
Departs from it: where no other texts of the same writers are given, classifiers are cross-fitted on the judged ones, on
one or several partitions; nearest texts are by TF-IDF.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Discriminator
from textassay.discriminator.catalog import make_discriminator
from textassay.discriminator.text_folds import stratified_folds, text_clusters
from textassay.errors import InputError, OptionError
from textassay.estimate import Better
from textassay.metric.base import Shared
from textassay.metric.catalog import parse_metric
from textassay.seeding import stream
from textassay_lab.human.judgements import Judgements
from textassay_lab.judges.meta_evaluator import Parts, meta_evaluate, meta_evaluate_parts
from textassay_lab.judges.random_search import RandomSearchDiscriminator
from textassay_lab.meta_evaluation.correlations import draw_goodness, row_correlations, text_draws
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.papers.findings import LEVEL
from textassay_lab.papers.judges.findings import (
    BLEU_TRAIN,
    CLASSIFIERS,
    DIVERSITY,
    INDIVIDUAL,
    JUDGES_PAPER,
    OVERLAPS,
    PEOPLE,
    SELF_BLEU,
    DrawnValues,
)
from textassay_lab.papers.paper import Scale
from textassay_lab.papers.stages import Stage, Work

NAMES: Mapping[str, str] = {  # as the judgements call them, and as the tables do
    "WordRNN10": "Word LSTM 1.0",
    "WordRNN07": "Word LSTM 0.7",
    "WordRNN05": "Word LSTM 0.5",
    "SS": "Scheduled Sampling",
    "GoogleLM": "Google LM",
    "AttentionAC": "Att2Seq",
    "NoAttentionAC": "C2S",
    "SkipConnectionsAC": "gC2S",
    "MLESeqGAN": "MLE SeqGAN",
    "SeqGAN": "SeqGAN",
    "RankGAN": "RankGAN",
    "LeakGAN": "LeakGAN",
}
GENERATORS = tuple(NAMES.values())
SIDES = ALL, REAL, GENERATED = "(all)", "(real)", "(generated)"
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

WITH_ALL = tuple(f"{name}, all references" for name in OVERLAPS[:2])
MEAN_WITH_ALL = f"{WITH_ALL[0]}, mean of texts"  # the paper's is of all texts together
METRICS: Mapping[str, str] = {
    "BLEU": "bleu-nearest(order=4)",
    "ROUGE": "rouge(kind=l)",
    "METEOR": "meteor",
    "CIDEr": "cider-d",  # the Gaussian penalty of lengths, sigma 6, is that of CIDEr-D
    "BLEU, all references": "bleu-nearest(order=4,references=all)",
    "ROUGE, all references": "rouge(kind=l,references=all)",
    MEAN_WITH_ALL: "bleu(order=4)",
    SELF_BLEU: "self-bleu(order=4)",
    DIVERSITY: "distinct-n(order=3)",
    "distinct-1": "distinct-n(order=1)",
    "distinct-2": "distinct-n(order=2)",
}
_CATALOGUE: Mapping[str, str] = {  # classifiers as the tables call them, and as the catalogue does
    **dict(
        zip(CLASSIFIERS, ("lstm", "cnn", "cnn-lstm", "svm", "random-forest", "naive-bayes", "xgboost"), strict=True)
    ),
    INDIVIDUAL: "svm",
}
# Closer to real text is better, by the catalogue; the paper calls any diversity better.
DIRECTIONS: Mapping[str, Better] = {
    SELF_BLEU: "lower",
    BLEU_TRAIN: "higher",
    **dict.fromkeys((DIVERSITY, "distinct-1", "distinct-2"), "higher"),
}
_TRAIN = "(training text)"


@dataclass(frozen=True, eq=False)
class JudgedTexts:
    """Texts and people's judgements of them."""

    judgements: Judgements  # Generators have the names of the tables
    # The texts, in the order of the items; generators in the order of the tables
    real: Corpus
    generated: Mapping[str, Corpus]
    majority: Evaluation  # People's majority: share of each generator's texts, and of which texts, that passed for real
    train: Corpus | None = None  # What the generators learnt from

    @property
    def key(self) -> str:
        """Hash of all texts and their writers."""
        return _hash({"": self.real, **self.generated})


def _hash(corpora: Mapping[str, Corpus]) -> str:
    texts = {name: list(corpus.texts) for name, corpus in corpora.items()}
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


_VALID_PARTS = 8  # a validation text to seven of training, as the paper's D-valid and D-train


@dataclass(frozen=True, eq=False)
class OtherTexts:
    """Texts of the writers of judged texts that nobody judged; no judged text is among them."""

    real: Corpus
    generated: Mapping[str, Corpus]
    judged_real: Corpus  # The judged texts, over the same vocabulary
    judged: Mapping[str, Corpus]
    n_dropped: int  # Texts that were judged, too

    @property
    def key(self) -> str:
        """Hash of all texts and their writers."""
        return _hash({"": self.real, **self.generated})

    def parts(self, seed: int) -> dict[str, Parts]:
        """Return what classifiers learn from, choose by and judge, of real text (`REAL`) and of each generator."""
        others, judged = [self.real, *self.generated.values()], [self.judged_real, *self.judged.values()]
        folds = stratified_folds(text_clusters(others), _VALID_PARTS, stream(seed, "study", "judges", "valid"))
        return {
            name: Parts(other.take(np.flatnonzero(fold != 0)), other.take(np.flatnonzero(fold == 0)), test)
            for name, other, fold, test in zip((REAL, *self.generated), others, folds, judged, strict=True)
        }


def other_texts(judged: JudgedTexts, real: Sequence[str], generated: Mapping[str, Sequence[str]]) -> OtherTexts:
    """Return other texts of the writers of `judged`, without those that equal a judged one but for case and spacing."""
    named = {NAMES.get(name, name): texts for name, texts in generated.items()}
    missing = [name for name in judged.generated if name not in named]
    unknown = [name for name in named if name not in judged.generated]
    if missing or unknown:
        what = f"no texts of {', '.join(missing)}" if missing else f"no judgements of {', '.join(unknown)}"
        raise InputError(f"{what}: each generator needs a file NAME.txt; generators: {', '.join(judged.generated)}")
    names = ("", *judged.generated)
    texts = {f"judged {name}": list((judged.generated[name] if name else judged.real).texts) for name in names}
    texts |= {f"other {name}": list(named[name] if name else real) for name in names}
    equal = text_clusters(list(corpora_from_texts(texts, lowercase=True, normalize=True).values()))
    known = np.concatenate(equal[: len(names)])
    corpora = list(corpora_from_texts(texts).values())
    kept = {
        name: corpus.take(np.flatnonzero(~np.isin(own, known)))
        for name, corpus, own in zip(names, corpora[len(names) :], equal[len(names) :], strict=True)
    }
    empty = [name or "real text" for name, corpus in kept.items() if not len(corpus)]
    if empty:
        raise InputError(f"classifiers need texts that were not judged, of {', '.join(empty)} there are none")
    n_dropped = sum(map(len, corpora[len(names) :])) - sum(map(len, kept.values()))
    return OtherTexts(
        real=kept.pop(""),
        generated=kept,
        judged_real=corpora[0],
        judged=dict(zip(names[1:], corpora[1 : len(names)], strict=True)),
        n_dropped=n_dropped,
    )


def judged_texts(judgements: Judgements, *, votes: int, train: Sequence[str] = ()) -> JudgedTexts:
    """Return the texts that were judged, generator by generator; majorities are those of texts with `votes` votes."""
    if judgements.scale != "real-or-fake":
        raise InputError("the study needs judgements of real or fake, not ratings")
    items = [
        replace(item, generator=item.generator and NAMES.get(item.generator, item.generator))
        for item in judgements.items
    ]
    known = dict.fromkeys(item.generator for item in items if item.generator is not None)
    names = [*(name for name in GENERATORS if name in known), *(name for name in known if name not in GENERATORS)]
    if len(names) < 2 or len(names) == len({item.generator for item in items}):
        raise InputError(f"the study needs judged texts of people and of at least two generators, got {len(names)}")
    if not all(item.text.strip() for item in items):
        raise InputError("the study needs the judged texts: some items have none")
    renamed = replace(judgements, items=tuple(items))
    texts = {name or "": [item.text for item in items if item.generator == name] for name in (None, *names)}
    corpora = corpora_from_texts({**texts, **({_TRAIN: list(train)} if train else {})})
    return JudgedTexts(
        judgements=renamed,
        real=corpora[""],
        generated={name: corpora[name] for name in names},
        majority=Evaluation.of_judgements(renamed, by="majority", votes=votes).select(names),
        train=corpora.get(_TRAIN),
    )


def judged_fake(judged: JudgedTexts) -> dict[str, BoolArray]:
    """Return which texts of each generator the majority called fake; texts without a majority are not among them."""
    assert judged.majority.texts is not None
    return {name: labels < 0.5 for name, labels in judged.majority.texts.items()}


def metric_stages(judged: JudgedTexts, *, seed: int) -> dict[str, Stage]:
    """Return the stages of metrics on all texts and, for word overlap, on those that the majority called fake."""
    everything = {name: np.ones(len(corpus), dtype=np.bool_) for name, corpus in judged.generated.items()}
    stages = {name: _metric_stage(judged, name, METRICS[name], everything, seed) for name in METRICS}
    fake = judged_fake(judged)
    if all(mask.any() for mask in fake.values()):
        for name in OVERLAPS:
            stages[f"{name}, judged fake"] = _metric_stage(judged, f"{name}, judged fake", METRICS[name], fake, seed)
    if judged.train is not None:
        stages[BLEU_TRAIN] = _metric_stage(judged, BLEU_TRAIN, "bleu-train(order=4)", everything, seed)
    return stages


def metric_evaluation(name: str, result: Mapping[str, Any]) -> tuple[Evaluation, dict[str, tuple[float, float]]]:
    """Return the evaluation of a metric's stage, and the interval of each generator."""
    rows = result["generators"]
    has_terms = all(row["terms"] for row in rows.values())
    evaluation = Evaluation(
        name,
        DIRECTIONS.get(name, result["better"]),
        tuple(rows),
        np.array([row["value"] for row in rows.values()]),
        terms={generator: np.array(row["terms"]) for generator, row in rows.items()} if has_terms else None,
    )
    return evaluation, {generator: (row["low"], row["high"]) for generator, row in rows.items()}


def classifier_stages(
    judged: JudgedTexts, scale: Scale, *, seed: int, other: OtherTexts | None = None
) -> dict[str, list[Stage]]:
    """Return the stages of each classifier, one a partition of the texts."""
    return {
        name: [_classifier_stage(judged, name, scale.trials, seed + place, other) for place in range(scale.partitions)]
        for name in scale.classifiers
    }


def classifier_evaluation(name: str, results: Sequence[Mapping[str, Any]]) -> Evaluation:
    """Return the share of each generator's texts that a classifier calls fake, the mean over partitions."""
    generators = tuple(results[0]["generated"])
    texts = {
        generator: np.mean([np.array(one["generated"][generator]) <= 0.5 for one in results], axis=0)
        for generator in generators
    }
    return Evaluation(name, "lower", generators, np.array([texts[generator].mean() for generator in generators]), texts)


def make_classifier(name: str, *, trials: int, seed: int) -> Discriminator:
    """Return the classifier that tables call `name`; with `trials`, the settings are searched at random, else usual."""
    known = _CATALOGUE[name]
    return RandomSearchDiscriminator(known, n_trials=trials, seed=seed) if trials else make_discriminator(known)


def _metric_stage(judged: JudgedTexts, name: str, metric: str, chosen: Mapping[str, BoolArray], seed: int) -> Stage:
    def run(work: Work) -> dict[str, Any]:
        measured = parse_metric(metric, level=LEVEL, **({"train": judged.train} if name == BLEU_TRAIN else {}))
        rows, better, signature = {}, "higher", ""
        shared = Shared()
        for generator, corpus in judged.generated.items():
            part = corpus.take(np.flatnonzero(chosen[generator]))
            with shared.used():
                estimate = measured.estimate(part, judged.real, seed=seed)
            shared.forget(part)
            terms = None if estimate.evidence is None else estimate.evidence.generated_terms
            interval = estimate.interval
            rows[generator] = {
                "value": estimate.value,
                "low": None if interval is None else interval.low,
                "high": None if interval is None else interval.high,
                "terms": None if terms is None else terms.tolist(),
            }
            better, signature = estimate.better, str(estimate.signature)
        return {"generators": rows, "better": better, "signature": signature}

    masks = hashlib.sha256(b"".join(np.packbits(mask).tobytes() for mask in chosen.values())).hexdigest()[:16]
    settings = {"texts": judged.key, "chosen": masks, "metric": metric, "level": LEVEL, "seed": seed}
    if name == BLEU_TRAIN and judged.train is not None:
        settings["train"] = _hash({"": judged.train})
    return Stage("metric", name, settings, run)


def _classifier_stage(judged: JudgedTexts, name: str, trials: int, seed: int, other: OtherTexts | None) -> Stage:
    def run(work: Work) -> dict[str, Any]:
        classifier, individual = make_classifier(name, trials=trials, seed=seed), name == INDIVIDUAL
        if other is None:
            meta_evaluation = meta_evaluate(
                classifier, judged.real, judged.generated, individual=individual, level=LEVEL, seed=seed
            )
        else:
            parts = other.parts(seed)
            real = parts.pop(REAL)
            meta_evaluation = meta_evaluate_parts(
                classifier, real, parts, individual=individual, level=LEVEL, seed=seed
            )
        accuracies = {
            **meta_evaluation.by_generator,
            ALL: meta_evaluation.all,
            REAL: meta_evaluation.real,
            GENERATED: meta_evaluation.generated,
        }
        return {
            "real": (meta_evaluation.real_scores > 0.5).mean(axis=0).tolist(),
            "generated": {generator: scores.tolist() for generator, scores in meta_evaluation.generated_scores.items()},
            "accuracies": {row: [one.value, one.interval.low, one.interval.high] for row, one in accuracies.items()},
            "signature": str(meta_evaluation.signature),
        }

    if trials < 0:
        raise OptionError(f"trials must be at least 0, got {trials}")
    settings = {"texts": judged.key, "classifier": _CATALOGUE[name], "trials": trials, "level": LEVEL, "seed": seed}
    if other is not None:
        settings["trained on"] = other.key
    return Stage("classifier", f"{name} {seed}", settings, run)


def printed_evaluations() -> dict[str, Evaluation]:
    """Return the evaluators whose values for each generator are printed, by name.

    METEOR, CIDEr and the individual SVM are not among them: their values are in figures alone.
    """
    sources: tuple[tuple[str, Sequence[str], Better], ...] = (
        ("figure 3", PEOPLE, "lower"),
        ("table 4", CLASSIFIERS, "lower"),
        ("figures 4 and 10", ("BLEU", "ROUGE"), "higher"),
        ("table 6", (SELF_BLEU,), "lower"),
        ("table 6", (DIVERSITY,), "higher"),
        ("table 9", (BLEU_TRAIN,), "higher"),
    )
    return {name: _printed(name, better, table, name) for table, names, better in sources for name in names}


def _printed(name: str, better: Better, table: str, column: str) -> Evaluation:
    values = JUDGES_PAPER.tables[table].column(column)
    return Evaluation(name, better, GENERATORS, np.array([values[generator] for generator in GENERATORS]))


def printed_values() -> DrawnValues:
    """Return the printed values, as exact ones; METEOR and CIDEr are those of texts judged fake."""
    evaluations = printed_evaluations()
    for name in ("METEOR", "CIDEr"):
        evaluations[name] = _printed(name, "higher", "figures 4 and 10", f"{name}, judged fake")
    people, table_4, correlations = (JUDGES_PAPER.tables[name] for name in ("figure 2", "table 4", "table 5"))
    rates = {name: [people.column(side)[name] for side in SIDES] for name in PEOPLE}
    rates |= {name: [table_4.column(name)[side] for side in SIDES] for name in CLASSIFIERS}
    taus = {
        (name, gold): np.array([value]) for gold in PEOPLE for name, value in correlations.column(f"tau {gold}").items()
    }
    shares = (*PEOPLE, *CLASSIFIERS)
    return DrawnValues(
        about="the published numbers",
        generators=GENERATORS,
        values={name: one.values[None] / (100 if name in shares else 1) for name, one in evaluations.items()},
        better={name: one.better for name, one in evaluations.items()},
        rates={name: np.array([row]) / 100 for name, row in rates.items()},
        taus=taus,
        kappa=JUDGES_PAPER.tables["kappa"].column("all")["right or mistaken"],
    )


def drawn_values(
    judgements: Judgements,
    people: Sequence[Evaluation],
    evaluations: Mapping[str, Evaluation],
    real_right: Mapping[str, FloatArray],
    *,
    votes: int,
    majority: Sequence[Evaluation] = (),
    kappa: float | None = None,
    n_resamples: int = 2_000,
    seed: int = 0,
) -> DrawnValues:
    """Return values as measured and over draws of texts.

    `real_right`: classifier to how often it was right on each real text, shape (n_real,).
    """
    together = [*people, *evaluations.values()]
    goodness, taus = _with_taus(people, list(evaluations.values()), n_resamples, seed)
    values = {
        one.name: 1 - rows if one.name in PEOPLE else rows if one.better == "higher" else -rows
        for one, rows in zip(together, goodness, strict=True)
    }
    totals, is_real = judgements.votes().sum(axis=1).astype(np.float64), judgements.is_real
    counts = {"H1": totals, "H2": (totals == votes).astype(np.float64)}  # of judgements, of texts with enough of them
    writers = np.array([item.generator for item in judgements.items])
    texts = {one.name: one.texts or {} for one in together}
    rates = {}
    for name, of_real in _real_rates(judgements, real_right, counts, n_resamples, seed).items():
        sizes = np.array([np.isfinite(texts[name][g]).sum() for g in people[0].generators])
        if name == "H1":
            sizes = np.array([totals[writers == g].sum() for g in people[0].generators])
        generated = values[name] @ sizes / sizes.sum()
        share = counts[name][is_real].sum() / counts[name].sum() if name in counts else 0.5
        rates[name] = np.stack([share * of_real + (1 - share) * generated, of_real, generated], axis=1)
    return DrawnValues(
        about="the judged texts",
        generators=people[0].generators,
        values=values,
        better={one.name: "lower" if one.name in PEOPLE else one.better for one in together},
        rates=rates,
        taus=taus,
        majority_taus=_with_taus(people, majority, n_resamples, seed)[1],
        kappa=kappa,
    )


def _with_taus(
    people: Sequence[Evaluation], others: Sequence[Evaluation], n_resamples: int, seed: int
) -> tuple[FloatArray, dict[tuple[str, str], FloatArray]]:
    """Return goodness, as measured and as drawn, shape (E, 1 + n_resamples, G), and tau of the others with people."""
    together = [*people, *others]
    measured = np.array([one.goodness for one in together])[:, None]
    goodness = np.concatenate([measured, draw_goodness(together, n_resamples=n_resamples, seed=seed)], axis=1)
    taus = {
        (one.name, gold.name): row_correlations(own, of_gold, "kendall")
        for gold, of_gold in zip(people, goodness[: len(people)], strict=True)
        for one, own in zip(others, goodness[len(people) :], strict=True)
    }
    return goodness, taus


def _real_rates(
    judgements: Judgements,
    real_right: Mapping[str, FloatArray],
    counts: Mapping[str, FloatArray],
    n_resamples: int,
    seed: int,
) -> dict[str, FloatArray]:
    """Return how often real texts are called real, as measured and as drawn, shape (1 + n_resamples,)."""
    real_votes = judgements.votes()[judgements.is_real].astype(np.float64)
    n = len(real_votes)
    of_people = {name: count[judgements.is_real] for name, count in counts.items()}
    right = {
        "H1": real_votes[:, 1],
        "H2": (2 * real_votes[:, 1] > of_people["H1"]) * of_people["H2"],
        **real_right,
    }
    drawn = np.concatenate([np.ones((1, n)), *text_draws(REAL, n, n_resamples=n_resamples, seed=seed)])
    return {name: (drawn @ sums) / (drawn @ of_people.get(name, np.ones(n))) for name, sums in right.items()}
