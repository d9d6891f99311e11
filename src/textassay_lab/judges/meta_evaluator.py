"""Discriminative evaluators of generators: one judge of all of them (meta), or one for each (individual).

A meta-evaluator learns from the pooled texts of all generators against real text. Either is given apart for training,
choosing and testing (`meta_evaluate_parts`), or, where text is scarce, every text is judged by a judge that saw neither
it nor an equal text nor one of its group (`meta_evaluate`). An answer is "real" from a probability above 1/2 on.

The accuracy of a generator is the share of its texts that are called generated: the lower, the better the generator.
Over all generators texts count alike, so that one with fewer weighs less; "all" is the mean of real and generated.

Sources: Garbacea et al., "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for Online Review
Generation", section on meta-adversarial evaluators (splits of 70/10/20), tables 3 and 4 (their layout); Wilson,
"Probable inference, the law of succession, and statistical inference", JASA 22, 1927; Zou and Donner, "Construction of
confidence limits about effect measures", Statistics in Medicine 27, 2008 (the interval of "all" from its two halves).
Departs from the first: it speaks of balanced training sets and of more real text. Here as many real texts are drawn as
there are generated ones, or (``balance="weights"``) none is left out; where there are fewer, both classes weigh the
same.
"""

import copy
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import Discriminator, Pair
from textassay.discriminator.text_folds import stratified_folds, text_clusters
from textassay.display import Displayed, columns_from
from textassay.errors import EmptyCorpusError, MissingExtraError, OptionError, TooFewSentencesError
from textassay.estimate import Estimate, Evidence, Interval, Signature
from textassay.execution.threads import parallel_map
from textassay.resampling.proportions import wilson_interval
from textassay.seeding import stream

if TYPE_CHECKING:
    import pandas as pd


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Balance = Literal["equal", "weights"]
Kind = Literal["meta", "individual"]

ALL, REAL, GENERATED = "(all)", "(real)", "(generated)"
_VALIDATION_PARTS = 8  # of what is not tested, one part in so many validates: 70/10/20 with five folds
_INFLATION = 1 + 2 / math.pi  # of variances, with up to five folds; docs/how-sure.md says why
_INFLATION_OF_MORE, _FEW_FOLDS = 2.0, 5
_EVERYONE = ""  # the judge of all generators


@dataclass(frozen=True)
class Accuracy:
    """Share of right answers, of how many texts, of which so many differ; the interval is clustered by text."""

    value: float
    interval: Interval
    n_texts: int
    n_distinct: int


@dataclass(frozen=True, eq=False, kw_only=True)
class MetaEvaluation(Displayed, document="textassay_lab.judges.meta_evaluator_document:meta_evaluation_document"):
    """What one discriminative evaluator says of all texts."""

    name: str  # Of the discriminator, such as ``svm``
    kind: Kind  # ``meta``: one judge of all generators; ``individual``: one for each
    # Probability of being real of each real text, by a judge that saw neither it nor an equal text; one row a judge,
    # shape (1, n_real), or (n_generators, n_real) where judges are individual
    real_scores: FloatArray
    # Generator to the same of its texts, shape (N,), by the judge that is asked about it
    generated_scores: Mapping[str, FloatArray]
    # Equal numbers mean equal texts, shapes (n_real,) and, by generator, (N,)
    real_clusters: IntArray
    generated_clusters: Mapping[str, IntArray]
    # Texts of each generator that stand, equal, in the training or validation text; 0 under cross-fitting
    n_seen: Mapping[str, int]
    level: float  # Of the intervals
    inflation: float  # What plain variances are multiplied by: judges of several folds depend on one another
    signature: Signature  # Every setting that can change the numbers
    chosen: tuple[Mapping[str, Any], ...] = ()  # What each fitted judge chose, and of which generator and fold it is
    seconds: float = 0.0  # Wall time of all fits, summed

    by_generator: Mapping[str, Accuracy] = field(init=False)
    real: Accuracy = field(init=False)
    generated: Accuracy = field(init=False)
    all: Accuracy = field(init=False)

    def __post_init__(self) -> None:
        right = {name: (scores <= 0.5).astype(np.float64) for name, scores in self.generated_scores.items()}
        clusters = self.generated_clusters
        by_generator = {name: _accuracy(right[name], clusters[name], self.level, self.inflation) for name in right}
        real = _accuracy((self.real_scores > 0.5).mean(axis=0), self.real_clusters, self.level, self.inflation)
        pooled = [np.concatenate([arrays[name] for name in right]) for arrays in (right, clusters)]
        generated = _accuracy(pooled[0], pooled[1].astype(np.int64), self.level, self.inflation)
        _, value = overall_accuracy(
            {name: one.value for name, one in by_generator.items()},
            {name: one.n_texts for name, one in by_generator.items()},
            real.value,
        )
        distinct = len(np.union1d(pooled[1], self.real_clusters))
        together = Accuracy(value, _mean_interval(real, generated), real.n_texts + generated.n_texts, distinct)
        for name, one in (("by_generator", by_generator), ("real", real), ("generated", generated), ("all", together)):
            object.__setattr__(self, name, one)

    @property
    def generators(self) -> tuple[str, ...]:
        """Names of the generators, in order."""
        return tuple(self.generated_scores)

    @property
    def accuracies(self) -> dict[str, Accuracy]:
        """The accuracy on the texts of each generator, then on all, real and generated texts."""
        return {**self.by_generator, ALL: self.all, REAL: self.real, GENERATED: self.generated}

    def _columns(self) -> dict[str, list[Any]]:
        rows = [
            {"generator": name, "accuracy": one.value, "low": one.interval.low, "high": one.interval.high, **vars(one)}
            for name, one in self.accuracies.items()
        ]
        return columns_from(rows, ["generator", "accuracy", "low", "high", "n_texts", "n_distinct"])

    def to_estimates(self) -> dict[str, Estimate]:
        """Return the accuracy on each generator's texts as an estimate, lower is better.

        Its terms are 1 where a text was called generated; its scores are the probabilities of being generated.
        """
        return {
            name: Estimate(
                metric=f"{self.name}-{self.kind}",
                value=one.value,
                interval=one.interval,
                unit="fraction",
                better="lower",
                sizes={"n_generated": one.n_texts, "n_distinct": one.n_distinct, "n_real": self.real.n_texts},
                signature=self.signature,
                details={"n_seen": self.n_seen[name]},
                evidence=Evidence(
                    None, (self.generated_scores[name] <= 0.5).astype(np.float64), None, 1 - self.generated_scores[name]
                ),
            )
            for name, one in self.by_generator.items()
        }


def accuracy_table(evaluations: Sequence[MetaEvaluation]) -> "pd.DataFrame":
    """Return the layout of table 4: a column an evaluator, a row a generator, then all, real and generated; fractions.

    Raises
    ------
    OptionError
        If there is none, two have one name and kind, or the generators differ.
    MissingExtraError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise MissingExtraError("accuracy_table", "pandas") from None
    names = [f"{one.name} ({one.kind})" for one in evaluations]
    if not names or len(set(names)) < len(names):
        raise OptionError(f"a table needs evaluators, each once, got {', '.join(names) or 'none'}")
    if any(one.generators != evaluations[0].generators for one in evaluations):
        raise OptionError("the evaluators judged different generators, or in another order")
    columns = ({key: each.value for key, each in one.accuracies.items()} for one in evaluations)
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


def overall_accuracy(by_generator: Mapping[str, float], n_texts: Mapping[str, int], real: float) -> tuple[float, float]:
    """Return the accuracy on all generated texts, generators weighing as many texts as they have, and on all texts."""
    generated = float(
        np.average([by_generator[name] for name in by_generator], weights=[n_texts[g] for g in by_generator])
    )
    return generated, (real + generated) / 2


def clustered_interval(correct: FloatArray, clusters: IntArray, *, level: float, inflation: float = 1.0) -> Interval:
    """Return Wilson's interval of a share for as many independent texts as vary like these clusters.

    `correct`: 1 for right, 0 for wrong, or a share between, shape (N,), at least one; `clusters`: equal numbers mean
    equal texts, shape (N,).

    In [0, 1]. Where all are right, or all wrong, clusters count as if each gave one answer.
    """
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, got {level}")
    n = len(correct)
    if n == 0:
        raise EmptyCorpusError("an accuracy needs at least one text")
    share = float(np.mean(correct))
    _, members, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    residuals = np.bincount(members.reshape(-1), weights=correct - share)
    variance = float(np.sum(residuals**2)) / n**2 * len(sizes) / max(1, len(sizes) - 1)
    copies = n**2 / float(np.sum(sizes.astype(np.float64) ** 2))
    size = (share * (1 - share) / variance if variance > 0 and 0 < share < 1 else copies) / inflation
    low, high = wilson_interval(share, size, level=level)
    return Interval(max(0.0, low), min(1.0, high), level, "wilson clustered by text")


def _accuracy(correct: FloatArray, clusters: IntArray, level: float, inflation: float) -> Accuracy:
    interval = clustered_interval(correct, clusters, level=level, inflation=inflation)
    return Accuracy(float(np.mean(correct)), interval, len(correct), len(np.unique(clusters)))


def _mean_interval(first: Accuracy, second: Accuracy) -> Interval:
    """Return the interval of the mean of two independent shares from theirs."""
    below, above = (
        math.hypot(*(one.value - one.interval.low for one in (first, second))) / 2,
        math.hypot(*(one.interval.high - one.value for one in (first, second))) / 2,
    )
    value = (first.value + second.value) / 2
    return Interval(
        max(0.0, value - below), min(1.0, value + above), first.interval.level, "from both sides' intervals"
    )


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
    judges = _Judges(discriminator, tuple(generated), individual, balance, level, seed)
    writers = [_checked("real text", real), *(_checked(name, corpus) for name, corpus in generated.items())]
    clusters = text_clusters(writers)
    writers = [replace(corpus, groups=numbers) for corpus, numbers in zip(writers, clusters, strict=True)]
    tested = stratified_folds(clusters, folds, stream(seed, "meta-evaluate", "test"))
    tasks = []
    for fold in range(folds):
        rest = [np.flatnonzero(numbers != fold) for numbers in tested]
        valid_folds = stratified_folds(
            [numbers[rows] for numbers, rows in zip(clusters, rest, strict=True)],
            _VALIDATION_PARTS,
            stream(seed, "meta-evaluate", "valid", fold),
        )
        parts = [
            Parts(
                corpus.take(rows[part != 0]), corpus.take(rows[part == 0]), corpus.take(np.flatnonzero(numbers == fold))
            )
            for corpus, rows, part, numbers in zip(writers, rest, valid_folds, tested, strict=True)
        ]
        tasks += judges.tasks(parts, fold)
    inflation = _INFLATION if folds <= _FEW_FOLDS else _INFLATION_OF_MORE
    how = {"folds": f"{folds} by text, validation 1/{_VALIDATION_PARTS} of the rest", "ci": f"wilson x{inflation:.3g}"}
    n_seen = dict.fromkeys(generated, 0)
    return judges.evaluation(tasks, tested, clusters, n_seen=n_seen, inflation=inflation, how=how, texts=writers)


def meta_evaluate_parts(
    discriminator: Discriminator,
    real: Parts,
    generated: Mapping[str, Parts],
    *,
    individual: bool = False,
    level: float = 0.95,
    seed: int = 0,
) -> MetaEvaluation:
    """Return what judges say of the test parts, fitted on the training parts and chosen by the validation parts."""
    judges = _Judges(discriminator, tuple(generated), individual, "equal", level, seed)
    writers = [real, *generated.values()]
    texts = [corpus for parts in writers for corpus in (parts.train, parts.valid, parts.test)]
    clusters = text_clusters(texts)
    grouped = iter(replace(corpus, groups=numbers) for corpus, numbers in zip(texts, clusters, strict=True))
    writers = [Parts(next(grouped), next(grouped), next(grouped)) for _ in writers]
    tests = clusters[2::3]
    learnt = np.unique(np.concatenate([numbers for place, numbers in enumerate(clusters) if place % 3 != 2]))
    n_seen = {name: int(np.isin(test, learnt).sum()) for name, test in zip(generated, tests[1:], strict=True)}
    tested = [np.zeros(len(test), dtype=np.int64) for test in tests]
    how = {"parts": "given", "ci": "wilson"}
    tasks = judges.tasks(writers, 0)
    return judges.evaluation(tasks, tested, tests, n_seen=n_seen, inflation=1.0, how=how, texts=texts)


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
class _Scores:
    """What a judge said of the texts of its task."""

    real: FloatArray
    generated: Mapping[str, FloatArray]
    chosen: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True)
class _Judges:
    """The judges of one evaluation."""

    discriminator: Discriminator
    generators: tuple[str, ...]
    individual: bool
    balance: Balance
    level: float
    seed: int

    def __post_init__(self) -> None:
        if not self.generators:
            raise OptionError("there must be at least one generator, got none")
        if self.balance not in get_args(Balance):
            raise OptionError(f"balance must be {' or '.join(get_args(Balance))}, got {self.balance}")
        if not 0 < self.level < 1:
            raise OptionError(f"level must be between 0 and 1, got {self.level}")

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each judge: its generator, or `_EVERYONE`."""
        return self.generators if self.individual else (_EVERYONE,)

    def tasks(self, writers: Sequence[Parts], fold: int) -> list[_Task]:
        """Return the judges of one fold; the first of `writers` is real text."""
        real, parts = writers[0], dict(zip(self.generators, writers[1:], strict=True))
        tasks = []
        for judge in self.names:
            names = [judge] if self.individual else self.generators
            train = real.train, Corpus.concatenate([parts[name].train for name in names])
            valid = real.valid, Corpus.concatenate([parts[name].valid for name in names])
            if not all(len(corpus) for corpus in (*train, *valid, real.test)):
                who = f"'{judge}' or real text" if self.individual else "the generators or real text"
                raise TooFewSentencesError(
                    f"{who} must have texts in every part: give more different texts, or ask fewer folds"
                )
            tasks.append(_Task(judge, fold, train, valid, real.test, {name: parts[name].test for name in names}))
        return tasks

    def evaluation(
        self,
        tasks: Sequence[_Task],
        tested: Sequence[IntArray],
        clusters: Sequence[IntArray],
        *,
        n_seen: Mapping[str, int],
        inflation: float,
        how: Mapping[str, str],
        texts: Sequence[Corpus],
    ) -> MetaEvaluation:
        """Return what the judges say; `tested` and `clusters`: the fold and the cluster of each tested text."""
        results = parallel_map(self._scores, tasks)
        real_scores = np.full((len(self.names), len(tested[0])), np.nan)
        folds_of = dict(zip(self.generators, tested[1:], strict=True))
        generated_scores = {name: np.full(len(folds), np.nan) for name, folds in folds_of.items()}
        for task, result in zip(tasks, results, strict=True):
            real_scores[self.names.index(task.judge), tested[0] == task.fold] = result.real
            for name, scores in result.generated.items():
                generated_scores[name][folds_of[name] == task.fold] = scores
        return MetaEvaluation(
            name=self.discriminator.name,
            kind=self._kind,
            real_scores=real_scores,
            generated_scores=generated_scores,
            real_clusters=clusters[0],
            generated_clusters=dict(zip(self.generators, clusters[1:], strict=True)),
            n_seen=n_seen,
            level=self.level,
            inflation=inflation,
            signature=self._signature(how, texts),
            chosen=tuple(result.chosen for result in results),
            seconds=sum(result.seconds for result in results),
        )

    def _scores(self, task: _Task) -> _Scores:
        begin = time.perf_counter()
        train, valid = task.train, task.valid
        if self.balance == "equal":
            train, valid = (
                _equal(pair, stream(self.seed, "meta-evaluate", "equal", part, task.judge, task.fold))
                for part, pair in (("train", train), ("valid", valid))
            )
        fitted = copy.deepcopy(self.discriminator).fit(train, valid)
        seconds = time.perf_counter() - begin
        chosen = {
            "judge": task.judge,
            "fold": task.fold,
            "n_train": [len(side) for side in train],
            **fitted.chosen,
        }
        generated = {name: fitted.prob_real(corpus) for name, corpus in task.generated.items()}
        return _Scores(fitted.prob_real(task.real), generated, chosen, seconds)

    @property
    def _kind(self) -> Kind:
        return "individual" if self.individual else "meta"

    def _signature(self, how: Mapping[str, str], texts: Sequence[Corpus]) -> Signature:
        balanced = {
            "equal": "real text drawn to equal numbers, class weights where it is less",
            "weights": "class weights",
        }
        return Signature(
            {
                "evaluator": self.discriminator.name,
                "kind": self._kind,
                "features": self.discriminator.features.replace("|", "/"),
                "balance": balanced[self.balance],
                **how,
                "threshold": "0.5",
                "tok": texts[0].tokenizer.replace("|", "/"),
                "n": ",".join(str(len(corpus)) for corpus in texts),
                "seed": str(self.seed),
                "v": version("textassay"),
            }
        )


def _equal(pair: Pair, rng: np.random.Generator) -> Pair:
    """Return the pair with at most as many real texts as generated ones."""
    real, generated = pair
    if len(real) <= len(generated):
        return pair
    return real.take(np.sort(rng.choice(len(real), len(generated), replace=False))), generated


def _checked(name: str, corpus: Corpus) -> Corpus:
    if len(corpus) == 0:
        raise TooFewSentencesError(f"{name} has no text")
    return corpus
