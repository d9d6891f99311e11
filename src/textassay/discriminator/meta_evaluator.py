"""Discriminative evaluators of generators: one judge of all of them (meta), or one for each (individual).

A meta-evaluator learns from the pooled texts of all generators against real text. Either is given apart for training,
choosing and testing (`meta_evaluate_parts`), or, where text is scarce, every text is judged by a judge that saw neither
it nor an equal text nor one of its group (`meta_evaluate`). An answer is "real" from a probability above 1/2 on.

Source: Garbacea et al., "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for Online Review
Generation", section on meta-adversarial evaluators (splits of 70/10/20).
Departs from it: it speaks of balanced training sets and of more real text. Here as many real texts are drawn as there
are generated ones, or (``balance="weights"``) none is left out. Where there are fewer, both classes weigh the same.
"""

import copy
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.discriminator.base import Discriminator, Pair
from textassay.discriminator.meta_accuracy import Kind, MetaEvaluation
from textassay.discriminator.text_folds import stratified_folds, text_clusters
from textassay.errors import OptionError, TooFewSentencesError
from textassay.estimate import Signature
from textassay.execution import parallel_map
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Balance = Literal["equal", "weights"]

_VALIDATION_PARTS = 8  # of what is not tested, one part in so many validates: 70/10/20 with five folds
_INFLATION = 1 + 2 / math.pi  # of variances, with up to five folds; docs/how-sure.md says why
_INFLATION_OF_MORE, _FEW_FOLDS = 2.0, 5
_EVERYONE = ""  # the judge of all generators


@dataclass(frozen=True)
class Parts:
    """Text of one writer: what judges learn from, what they choose by, and what they judge."""

    train: Corpus
    valid: Corpus
    test: Corpus


def meta_evaluate(
    discriminator: Discriminator,
    real: Corpus,
    generated: Mapping[str, Corpus],
    *,
    individual: bool = False,
    balance: Balance = "equal",
    folds: int = 5,
    level: float = 0.95,
    seed: int = 0,
) -> MetaEvaluation:
    """Return what judges say of all texts, each text judged by one that did not see it.

    `balance`: ``equal``: where there is more real text than generated, as much is drawn for training and choosing;
    ``weights``: all is used, and discriminators give both classes the same weight. That helps little where one tells
    all its training text apart: an SVM for one generator with a tenth of the text then calls most text real.

    The same bits at any number of workers.
    """
    _check(generated, balance, level)
    writers = [_checked("real text", real), *(_checked(name, corpus) for name, corpus in generated.items())]
    clusters = text_clusters(writers)
    writers = [replace(corpus, groups=numbers) for corpus, numbers in zip(writers, clusters, strict=True)]
    tested = stratified_folds(clusters, folds, stream(seed, "meta-evaluate", "test"))
    tasks = []
    for fold in range(folds):
        rest = [np.flatnonzero(numbers != fold) for numbers in tested]
        drawn = stream(seed, "meta-evaluate", "valid", fold)
        folds_of_texts = stratified_folds(
            [all_[rows] for all_, rows in zip(clusters, rest, strict=True)], _VALIDATION_PARTS, drawn
        )
        parts = [
            Parts(
                corpus.take(rows[part != 0]), corpus.take(rows[part == 0]), corpus.take(np.flatnonzero(numbers == fold))
            )
            for corpus, rows, part, numbers in zip(writers, rest, folds_of_texts, tested, strict=True)
        ]
        tasks += _tasks(parts, list(generated), individual, fold)
    judged = parallel_map(lambda task: _judge(discriminator, task, balance, seed), tasks)
    n_judges = len(generated) if individual else 1
    real_scores = np.full((n_judges, len(real)), np.nan)
    generated_scores = {name: np.full(len(corpus), np.nan) for name, corpus in generated.items()}
    for task, one in zip(tasks, judged, strict=True):
        row = list(generated).index(task.judge) if individual else 0
        real_scores[row, tested[0] == task.fold] = one.real
        for name, scores in one.generated.items():
            generated_scores[name][tested[1 + list(generated).index(name)] == task.fold] = scores
    inflation = _INFLATION if folds <= _FEW_FOLDS else _INFLATION_OF_MORE
    how = {"folds": f"{folds} by text, validation 1/{_VALIDATION_PARTS} of the rest", "ci": f"wilson x{inflation:.3g}"}
    return MetaEvaluation(
        name=discriminator.name,
        kind=_kind(individual),
        real_scores=real_scores,
        generated_scores=generated_scores,
        real_clusters=clusters[0],
        generated_clusters=dict(zip(generated, clusters[1:], strict=True)),
        n_seen=dict.fromkeys(generated, 0),
        level=level,
        inflation=inflation,
        signature=_signature(discriminator, individual, balance, how, writers, seed),
        chosen=tuple(one.chosen for one in judged),
        seconds=sum(one.seconds for one in judged),
    )


def meta_evaluate_parts(
    discriminator: Discriminator,
    real: Parts,
    generated: Mapping[str, Parts],
    *,
    individual: bool = False,
    balance: Balance = "equal",
    level: float = 0.95,
    seed: int = 0,
) -> MetaEvaluation:
    """Return what judges say of the test parts, fitted on the training parts and chosen by the validation parts."""
    _check(generated, balance, level)
    writers = [real, *generated.values()]
    texts = [corpus for parts in writers for corpus in (parts.train, parts.valid, parts.test)]
    clusters = text_clusters(texts)
    grouped = iter(replace(corpus, groups=numbers) for corpus, numbers in zip(texts, clusters, strict=True))
    writers = [Parts(next(grouped), next(grouped), next(grouped)) for _ in writers]
    tasks = _tasks(writers, list(generated), individual, 0)
    judged = parallel_map(lambda task: _judge(discriminator, task, balance, seed), tasks)
    learnt = np.unique(np.concatenate([one for place, one in enumerate(clusters) if place % 3 != 2]))
    tests = clusters[2::3]
    return MetaEvaluation(
        name=discriminator.name,
        kind=_kind(individual),
        real_scores=np.stack([one.real for one in judged]),
        generated_scores={name: scores for one in judged for name, scores in one.generated.items()},
        real_clusters=tests[0],
        generated_clusters=dict(zip(generated, tests[1:], strict=True)),
        n_seen={name: int(np.isin(one, learnt).sum()) for name, one in zip(generated, tests[1:], strict=True)},
        level=level,
        inflation=1.0,
        signature=_signature(discriminator, individual, balance, {"parts": "given", "ci": "wilson"}, texts, seed),
        chosen=tuple(one.chosen for one in judged),
        seconds=sum(one.seconds for one in judged),
    )


@dataclass(frozen=True)
class _Task:
    """A judge to be fitted, of one generator or of all, and what it is to judge."""

    judge: str
    fold: int
    train: Pair
    valid: Pair
    real: Corpus
    generated: Mapping[str, Corpus]


@dataclass(frozen=True)
class _Judged:
    real: FloatArray
    generated: Mapping[str, FloatArray]
    chosen: Mapping[str, Any]
    seconds: float


def _tasks(writers: Sequence[Parts], names: Sequence[str], individual: bool, fold: int) -> list[_Task]:
    """Return the judges of one fold; the first of `writers` is real text."""
    real, parts = writers[0], dict(zip(names, writers[1:], strict=True))
    tasks = []
    for judge, judged_names in [(name, [name]) for name in names] if individual else [(_EVERYONE, list(names))]:
        train = real.train, Corpus.concatenate([parts[name].train for name in judged_names])
        valid = real.valid, Corpus.concatenate([parts[name].valid for name in judged_names])
        if not all(len(corpus) for corpus in (*train, *valid, real.test)):
            who = f"'{judge}' or real text" if individual else "the generators or real text"
            raise TooFewSentencesError(
                f"{who} must have texts in every part: give more different texts, or ask fewer folds"
            )
        tasks.append(_Task(judge, fold, train, valid, real.test, {name: parts[name].test for name in judged_names}))
    return tasks


def _judge(discriminator: Discriminator, task: _Task, balance: Balance, seed: int) -> _Judged:
    begin = time.perf_counter()
    path = (task.judge, task.fold)
    train, valid = task.train, task.valid
    if balance == "equal":
        train, valid = (
            _equal(pair, stream(seed, "meta-evaluate", "equal", part, *path))
            for part, pair in (("train", train), ("valid", valid))
        )
    fitted = copy.deepcopy(discriminator).fit(train, valid)
    took = time.perf_counter() - begin
    chosen = {"judge": task.judge, "fold": task.fold, "n_train": [len(side) for side in train], **fitted.chosen}
    generated = {name: fitted.prob_real(corpus) for name, corpus in task.generated.items()}
    return _Judged(fitted.prob_real(task.real), generated, chosen, took)


def _equal(pair: Pair, rng: np.random.Generator) -> Pair:
    """Return the pair with at most as many real texts as generated ones."""
    real, generated = pair
    if len(real) <= len(generated):
        return pair
    return real.take(np.sort(rng.choice(len(real), len(generated), replace=False))), generated


def _signature(
    discriminator: Discriminator,
    individual: bool,
    balance: Balance,
    how: Mapping[str, str],
    texts: Sequence[Corpus],
    seed: int,
) -> Signature:
    balanced = {"equal": "real text drawn to equal numbers, class weights where it is less", "weights": "class weights"}
    return Signature(
        {
            "evaluator": discriminator.name,
            "kind": _kind(individual),
            "features": discriminator.features.replace("|", "/"),
            "balance": balanced[balance],
            **how,
            "threshold": "0.5",
            "tok": texts[0].tokenizer.replace("|", "/"),
            "n": ",".join(str(len(corpus)) for corpus in texts),
            "seed": str(seed),
            "v": version("textassay"),
        }
    )


def _kind(individual: bool) -> Kind:
    return "individual" if individual else "meta"


def _check(generated: Mapping[str, Any], balance: str, level: float) -> None:
    if not generated:
        raise OptionError("there must be at least one generator, got none")
    if balance not in get_args(Balance):
        raise OptionError(f"balance must be {' or '.join(get_args(Balance))}, got {balance}")
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, got {level}")


def _checked(name: str, corpus: Corpus) -> Corpus:
    if len(corpus) == 0:
        raise TooFewSentencesError(f"{name} has no text")
    return corpus
