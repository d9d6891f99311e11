"""Evaluators on texts that people judged: stages that measure, and evaluations from their results.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 3.2 to 3.5.
Departs from it: classifiers are cross-fitted on the judged texts, on one or several partitions, since there is no other
text of these generators; nearest texts are by TF-IDF.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, corpora_from_texts
from textassay.discriminator import Discriminator, RandomSearchDiscriminator, make_discriminator, meta_evaluate
from textassay.errors import InputError, OptionError
from textassay.estimate import Better
from textassay.human import Judgements
from textassay.meta_evaluation import Evaluation
from textassay.metric import Shared, parse_metric
from textassay.study.judges.published import (
    CLASSIFIERS,
    DIVERSITY,
    GENERATORS,
    INDIVIDUAL,
    OVERLAPS,
    SELF_BLEU,
    short_name,
)
from textassay.study.stages import Stage, Work

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

LEVEL = 0.95
BESIDES = "naturalness"  # not of the paper
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
    BESIDES: "naturalness",
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
    **dict.fromkeys((DIVERSITY, "distinct-1", "distinct-2"), "higher"),
}
_NETWORKS = CLASSIFIERS[:3]
SECONDS: Mapping[str, float] = {"LSTM": 28, "CNN": 11, "CNN & LSTM": 32, "RF": 15, "XGBoost": 4}


@dataclass(frozen=True)
class JudgesScale:
    """The scale of the study."""

    networks: bool  # Whether the three networks are among the classifiers
    partitions: int  # How often texts are dealt into folds anew, for every classifier
    trials: int = 0  # Of a random search of settings; 0 for the settings of the catalogue

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Names of the classifiers, the individual one last."""
        return (*(name for name in CLASSIFIERS if self.networks or name not in _NETWORKS), INDIVIDUAL)


@dataclass(frozen=True, eq=False)
class JudgedTexts:
    """Texts and people's judgements of them."""

    judgements: Judgements  # Generators have the names of the tables
    # The texts, in the order of the items; generators in the order of the tables
    real: Corpus
    generated: Mapping[str, Corpus]
    majority: Evaluation  # People's majority: share of each generator's texts, and of which texts, that passed for real

    @property
    def key(self) -> str:
        """Hash of all texts and their writers."""
        texts = {name: list(corpus.texts) for name, corpus in {"": self.real, **self.generated}.items()}
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def judged_texts(judgements: Judgements, *, votes: int) -> JudgedTexts:
    """Return the texts that were judged, generator by generator; majorities are those of texts with `votes` votes."""
    if judgements.scale != "real-or-fake":
        raise InputError("the study needs judgements of real or fake, not ratings")
    items = [replace(item, generator=item.generator and short_name(item.generator)) for item in judgements.items]
    known = dict.fromkeys(item.generator for item in items if item.generator is not None)
    names = [*(name for name in GENERATORS if name in known), *(name for name in known if name not in GENERATORS)]
    if len(names) < 2 or len(names) == len({item.generator for item in items}):
        raise InputError(f"the study needs judged texts of people and of at least two generators, got {len(names)}")
    if not all(item.text.strip() for item in items):
        raise InputError("the study needs the judged texts: some items have none")
    renamed = replace(judgements, items=tuple(items))
    texts = {name or "": [item.text for item in items if item.generator == name] for name in (None, *names)}
    corpora = corpora_from_texts(texts)
    return JudgedTexts(
        judgements=renamed,
        real=corpora[""],
        generated={name: corpora[name] for name in names},
        majority=Evaluation.of_judgements(renamed, by="majority", votes=votes).select(names),
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


def classifier_stages(judged: JudgedTexts, scale: JudgesScale, *, seed: int) -> dict[str, list[Stage]]:
    """Return the stages of each classifier, one a partition of the texts."""
    return {
        name: [_classifier_stage(judged, name, scale.trials, seed + place) for place in range(scale.partitions)]
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
        measured = parse_metric(metric, level=LEVEL)
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
    return Stage("metric", name, settings, run)


def _classifier_stage(judged: JudgedTexts, name: str, trials: int, seed: int) -> Stage:
    def run(work: Work) -> dict[str, Any]:
        meta_evaluation = meta_evaluate(
            make_classifier(name, trials=trials, seed=seed), judged.real, judged.generated,
            individual=name == INDIVIDUAL, level=LEVEL, seed=seed,
        )  # fmt: skip
        accuracies = {
            **meta_evaluation.by_generator,
            "(all)": meta_evaluation.all,
            "(real)": meta_evaluation.real,
            "(generated)": meta_evaluation.generated,
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
    return Stage("classifier", f"{name} {seed}", settings, run, cost=SECONDS.get(name, 1.0) * max(1, trials))
