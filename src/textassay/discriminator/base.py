"""The interface of a discriminator, a classifier that gives the probability that a text is real, and their common base.

Sources: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation" (objective (3) and optimum
(4)); Platt, "Probabilistic outputs for support vector machines", 1999 (scores of classifiers without probabilities).
"""

import copy
import inspect
import math
import operator
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Protocol, Self, TypeVar, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Pair = tuple[Corpus, Corpus]  # (real, generated)
Scores = tuple[FloatArray, FloatArray]  # of real and generated texts
T = TypeVar("T")

MOST_FITTED = 120_000  # texts a side to which weights are fitted; all others are scored alone
FIT = "fit"  # how `chosen` says how many texts a side were drawn for that, where not all
LOG_PROBS = "log_probs/"  # prefix of columns of log-probabilities under a generator
_SMALLEST = 1e-15  # probabilities are kept this far from 0 and 1 before the logarithm
_LIMITS: Mapping[str, tuple[str, Callable[[float, float], bool]]] = {  # of declared settings: words, and what must hold
    "least": ("at least", operator.ge),
    "above": ("above", lambda value, bound: bound < value < math.inf),
    "most": ("at most", operator.le),
}

_STANDARD_ERRORS = 2.0  # of a gain, which a threshold away from 1/2 must have


@runtime_checkable
class Discriminator(Protocol):
    """Tells real sentences from generated ones."""

    @property
    def name(self) -> str:
        """Short name for signatures, such as ``logistic``."""
        ...

    @property
    def features(self) -> str:
        """Its features and every setting that can change its answers, for signatures."""
        ...

    @property
    def chosen(self) -> Mapping[str, Any]:
        """Settings that `fit` chose on validation text, JSON-ready; empty before."""
        ...

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return a fitted discriminator; both classes weigh the same, whatever their sizes.

        Parameters
        ----------
        train, valid
            Real and generated corpora, at least one sentence each; choices are made on `valid`.
        """
        ...

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,), if both classes were equally frequent."""
        ...


@runtime_checkable
class CrossValidated(Protocol):
    """A fitted discriminator that also learnt from its validation text, and scored it out of fold."""

    @property
    def valid_scores(self) -> tuple[FloatArray, FloatArray]:
        """Scores of the validation sentences, real and generated, each by a model that did not see the sentence."""
        ...


@runtime_checkable
class TokenEvidence(Protocol):
    """A discriminator with the contribution of each token, such as a linear one."""

    def token_evidence(self, corpus: Corpus) -> FloatArray:
        """Return the contribution of each token in nats; see `textassay.discriminator.logistic`."""
        ...


class Pool:
    """All texts of a cross-fit, and what is computed from them once for all its parts; threads may use one together."""

    def __init__(self, real: Corpus, generated: Corpus) -> None:
        self.sides = (real, generated)
        self._results: dict[Any, Any] = {}
        self._locks: defaultdict[Any, Lock] = defaultdict(Lock)
        self._lock = Lock()

    def once(self, function: Callable[..., T], **settings: Any) -> T:
        """Return ``function(real, generated, **settings)``, computed at the first call; others may be, meanwhile."""
        key = function, *settings.items()
        with self._lock:
            own_lock = self._locks[key]
        with own_lock:
            if key not in self._results:
                self._results[key] = function(*self.sides, **settings)
            result: T = self._results[key]
        return result

    def __reduce__(self) -> tuple[type["Pool"], Pair]:
        """Return what makes an empty one: in another process, results are computed anew."""
        return Pool, self.sides


@dataclass(frozen=True, eq=False)
class Part:
    """Some texts of a pool."""

    pool: Pool
    rows: tuple[IntArray, IntArray]  # Of the real and of the generated texts

    @cached_property
    def corpora(self) -> Pair:
        """The texts themselves; few discriminators need them."""
        real, generated = self.pool.sides
        return real.take(self.rows[0]), generated.take(self.rows[1])

    @property
    def numbers(self) -> IntArray:
        """Their numbers where all real texts of the pool come before all generated ones, real ones first."""
        return np.concatenate([self.rows[0], len(self.pool.sides[0]) + self.rows[1]])

    @property
    def is_real(self) -> npt.NDArray[np.bool_]:
        """Whether each is real, real ones first."""
        return np.repeat([True, False], [len(side) for side in self.rows])

    def gathered(self, values: Callable[[Corpus], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return one value for each text, real ones first, from what `values` returns for a whole side."""
        return np.concatenate([values(side)[rows] for side, rows in zip(self.pool.sides, self.rows, strict=True)])

    def column(self, name: str) -> npt.NDArray[Any]:
        return self.gathered(lambda side: side.columns[name])

    def between(self, first: int, last: int) -> "Part":
        """Return the texts from `first` up to `last`, counted with real ones first."""
        n_real = len(self.rows[0])
        return Part(self.pool, (self.rows[0][first:last], self.rows[1][max(0, first - n_real) : max(0, last - n_real)]))

    def joined(self, other: "Part") -> "Part":
        """Return the texts of both, those of `other` last on each side."""
        real, generated = (np.concatenate(rows) for rows in zip(self.rows, other.rows, strict=True))
        return Part(self.pool, (real, generated))

    def chosen(self, mask: npt.NDArray[np.bool_]) -> "Part":
        """Return those that `mask` says, shape (n_real + n_generated,)."""
        n_real = len(self.rows[0])
        return Part(self.pool, (self.rows[0][mask[:n_real]], self.rows[1][mask[n_real:]]))


def drawn(sizes: Iterable[int], most: int, *path: str) -> npt.NDArray[np.bool_]:
    """Return which texts of both sides weights are fitted to, at most `most` a side, real ones first.

    `sizes`: of the real and of the generated side; `path`: of the random stream.
    """
    masks = []
    for side, size in zip(("real", "generated"), sizes, strict=True):
        mask = np.ones(size, dtype=np.bool_)
        if size > most:
            mask[stream(0, *path, side).permutation(size)[most:]] = False
        masks.append(mask)
    return np.concatenate(masks)


@runtime_checkable
class LearnsFromParts(Protocol):
    """A discriminator that looks at all texts once before it learns from a part of them: cross-fitting is then faster.

    The texts that it is tested on change nothing about what it learns.
    """

    def fit_part(self, train: Part, valid: Part) -> Self:
        """Return what `fit` returns for the corpora of these parts; it may be unable to score other texts."""
        ...

    def prob_real_of(self, part: Part) -> Scores:
        """Return the probabilities that texts of the same pool are real."""
        ...


def fit_part(discriminator: Discriminator, train: Part, valid: Part) -> Discriminator:
    if isinstance(discriminator, LearnsFromParts):
        return discriminator.fit_part(train, valid)
    return copy.deepcopy(discriminator).fit(train.corpora, valid.corpora)


def prob_real_of(fitted: Discriminator, part: Part) -> Scores:
    """Return the scores of texts of the pool of whose parts `fitted` learnt, real and generated."""
    if isinstance(fitted, LearnsFromParts):
        return fitted.prob_real_of(part)
    return fitted.prob_real(part.corpora[0]), fitted.prob_real(part.corpora[1])


def setting(default: Any, meaning: str, **limits: Any) -> Any:
    """Declare a setting of a discriminator: its default, what it means, and what values it may have.

    `limits`: ``least``, ``above``, ``most`` or ``below`` a number, for each number of a setting that holds several; or
    ``choices``, a Literal. Subclasses that have another default give that alone.
    """
    metadata = {"meaning": meaning, **limits}
    if isinstance(default, dict):
        return field(default_factory=lambda: default, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared_settings(discriminator: Any) -> dict[str, Mapping[str, Any]]:
    """Return what `setting` declared of each setting of a discriminator, or of its class."""
    mro = (discriminator if isinstance(discriminator, type) else type(discriminator)).__mro__
    declared = [{one.name: one for one in fields(cls)} for cls in mro if is_dataclass(cls)]
    return {
        one.name: next((cls[one.name].metadata for cls in declared if one.name in cls and cls[one.name].metadata), {})
        for one in fields(discriminator)
    }


@dataclass(eq=False, kw_only=True)
class BaseDiscriminator(ABC):
    """A discriminator is its declared settings and `learn`; `fit` and `prob_real` are the same for all."""

    def __post_init__(self) -> None:
        for name, declared in declared_settings(self).items():
            value = getattr(self, name)
            _check_setting(name, value, declared)
            if isinstance(value, Sequence) and not isinstance(value, str):
                setattr(self, name, tuple(sorted(value)))
        self.chosen: Mapping[str, Any] = {}
        self._model: Any = None

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def features(self) -> str: ...

    @abstractmethod
    def learn(self, train: Pair, valid: Pair) -> tuple[Any, Mapping[str, Any]]:
        """Return the model, which has a method `prob_real`, and what was chosen on validation text, JSON-ready."""

    @property
    def model(self) -> Any:
        if self._model is None:
            raise OptionError(f"a {self.name} discriminator must be fitted before it scores texts")
        return self._model

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return a fitted copy; this discriminator stays as it is."""
        fitted = copy.copy(self)
        fitted._model, fitted.chosen = self.learn(train, valid)
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        scores: FloatArray = self.model.prob_real(corpus)
        return scores


def _check_setting(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    """Raise `OptionError` unless `value` is what `setting` declared."""
    if "choices" in limits and value not in get_args(limits["choices"]):
        raise OptionError(f"{name} must be {', '.join(get_args(limits['choices']))}, got {value}")
    bounds = [(words, holds, limits[limit]) for limit, (words, holds) in _LIMITS.items() if limit in limits]
    several = isinstance(value, Sequence)
    numbers = list(value) if several else [value]
    if bounds and not (numbers and all(holds(each, bound) for each in numbers for _, holds, bound in bounds)):
        allowed = " and ".join(f"{words} {bound:g}" for words, _, bound in bounds)
        must = f"hold numbers {'of ' if allowed.startswith('at') else ''}{allowed}" if several else f"be {allowed}"
        raise OptionError(f"{name} must {must}, got {numbers if several else value}")


def is_real_of(pair: Pair) -> npt.NDArray[np.bool_]:
    """Return whether each sentence of a pair is real, shape (n_real + n_generated,)."""
    return np.repeat([True, False], [len(corpus) for corpus in pair])


def balanced_weights(pair: Pair) -> FloatArray:
    """Return weights of the sentences of a pair, mean 1, by which both sides weigh the same."""
    sizes = [len(corpus) for corpus in pair]
    return np.repeat([sum(sizes) / (2 * size) for size in sizes], sizes)


def validation_scores(fitted: Discriminator, valid: Pair | Part) -> Scores:
    """Return the scores of the validation text, real and generated, for making choices."""
    if isinstance(fitted, CrossValidated):
        return fitted.valid_scores
    if isinstance(valid, Part):
        return prob_real_of(fitted, valid)
    return fitted.prob_real(valid[0]), fitted.prob_real(valid[1])


def log_probs_column(real: Corpus, generated: Corpus) -> str | None:
    """Return the column ``log_probs/NAME`` that both corpora have; None where they share none, or several."""
    shared = [name for name in generated.columns if name.startswith(LOG_PROBS) and name in real.columns]
    return shared[0] if len(shared) == 1 else None


def reads_log_probs(discriminator: Discriminator) -> bool:
    """Return whether a discriminator uses the column `log_probs_column` where both sides have it, by its attribute."""
    return bool(getattr(discriminator, "reads_log_probs", False))


def reads_training_text(discriminator: Discriminator) -> bool:
    """Return whether a discriminator uses what `TrainingText` says of both sides, by its attribute."""
    return bool(getattr(discriminator, "reads_training_text", False))


def reads_prior(discriminator: Discriminator) -> bool:
    """Return whether a discriminator uses what `prior` says of both sides, by its attribute."""
    return bool(getattr(discriminator, "reads_prior", False))


def reads_vectors(discriminator: Discriminator) -> bool:
    """Return whether a discriminator uses vectors of both sides, by its attribute."""
    return bool(getattr(discriminator, "reads_vectors", False))


def balanced_cross_entropy(real_scores: FloatArray, generated_scores: FloatArray) -> float:
    """Return the binary cross-entropy of scores, both classes weighing a half, in nats per sentence.

    Objective (3) is minus twice this. At best it is ln 2 less the Jensen-Shannon divergence of the two distributions.

    `real_scores`, `generated_scores`: probabilities of being real, shapes (n_real,) and (n_generated,).
    """
    real = np.clip(real_scores, _SMALLEST, 1 - _SMALLEST)
    generated = np.clip(generated_scores, _SMALLEST, 1 - _SMALLEST)
    return float(-(np.mean(np.log(real)) + np.mean(np.log1p(-generated))) / 2)


def balanced_accuracy(real_scores: FloatArray, generated_scores: FloatArray, threshold: float = 0.5) -> float:
    """Return the mean accuracy of both classes; a score of exactly `threshold` counts as generated."""
    return float((np.mean(real_scores > threshold) + np.mean(generated_scores <= threshold)) / 2)


class SklearnDiscriminator:
    """Any scikit-learn classifier or pipeline over texts (as they were read, before tokenising).

    `classifier`: it is cloned, never changed.
    """

    def __init__(self, classifier: Any) -> None:
        if not (hasattr(classifier, "predict_proba") or hasattr(classifier, "decision_function")):
            raise OptionError(
                f"a discriminator needs predict_proba or decision_function, {type(classifier).__name__} has neither"
            )
        self.classifier = classifier
        self._log_prior_odds = 0.0
        self._sigmoid: LogisticRegression | None = None

    @property
    def name(self) -> str:
        """Class of the classifier, of a pipeline's last step."""
        last = self.classifier.steps[-1][1] if isinstance(self.classifier, Pipeline) else self.classifier
        return type(last).__name__

    @property
    def features(self) -> str:
        """All settings that differ from their defaults, as scikit-learn prints them."""
        return " ".join(repr(self.classifier).split())

    @property
    def chosen(self) -> Mapping[str, Any]:
        """Nothing: the classifier comes with its settings."""
        return {}

    def fit(self, train: Pair, valid: Pair) -> Self:
        fitted = type(self)(clone(self.classifier))
        texts = [text for corpus in train for text in corpus.texts]
        labels = is_real_of(train).astype(np.int64)
        parameter = _weight_parameter(fitted.classifier)
        if parameter is None:
            fitted.classifier.fit(texts, labels)
            fitted._log_prior_odds = float(np.log(len(train[0]) / len(train[1])))
        else:
            fitted.classifier.fit(texts, labels, **{parameter: balanced_weights(train)})
        if not hasattr(fitted.classifier, "predict_proba"):
            decisions = np.concatenate([fitted.classifier.decision_function(list(corpus.texts)) for corpus in valid])
            fitted._sigmoid = LogisticRegression(C=1e6, class_weight="balanced").fit(
                decisions[:, None], is_real_of(valid).astype(np.int64)
            )
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        texts = list(corpus.texts)
        if self._sigmoid is not None:
            decisions = self.classifier.decision_function(texts)
            scores: FloatArray = self._sigmoid.predict_proba(decisions[:, None])[:, 1]
            return scores
        probabilities = self.classifier.predict_proba(texts)[:, list(self.classifier.classes_).index(1)]
        if self._log_prior_odds == 0:
            return np.asarray(probabilities, dtype=np.float64)
        with np.errstate(divide="ignore"):
            log_odds = np.log(probabilities) - np.log1p(-probabilities)
        return np.asarray(expit(log_odds - self._log_prior_odds), dtype=np.float64)


def _weight_parameter(classifier: Any) -> str | None:
    """Return the name under which `fit` takes sample weights, or none where it takes none."""
    prefix = ""
    while isinstance(classifier, Pipeline):
        step, classifier = classifier.steps[-1]
        prefix += f"{step}__"
    return f"{prefix}sample_weight" if "sample_weight" in inspect.signature(classifier.fit).parameters else None


def choose_threshold(real_scores: FloatArray, generated_scores: FloatArray) -> float:
    """Return the threshold with the best balanced accuracy on validation text, or 1/2 where none is clearly better.

    Between two thresholds only the sentences scored between them are called differently, so the gain of one over the
    other is a difference of two proportions with its own standard error. On text GANs' data an unlimited choice loses
    as often as it wins, since the best of many thresholds on validation text is mostly luck.

    `real_scores`, `generated_scores`: probabilities of being real of validation sentences, shapes (n_real,) and
    (n_generated,), at least one each.
    """
    scores, where = np.unique(np.concatenate([real_scores, generated_scores, [0.5]]), return_inverse=True)
    n_real, n_generated = len(real_scores), len(generated_scores)
    real = np.bincount(where[:n_real], minlength=len(scores)).cumsum()  # at or below each score: called generated
    generated = np.bincount(where[n_real:-1], minlength=len(scores)).cumsum()
    half = where[-1]
    more_real, more_generated = real - real[half], generated - generated[half]
    gains = more_generated / n_generated - more_real / n_real
    errors = np.sqrt(np.abs(more_generated) / n_generated**2 + np.abs(more_real) / n_real**2)
    clear = np.where(gains > _STANDARD_ERRORS * errors, gains, 0.0)
    best = int(np.argmax(clear))
    if clear[best] <= 0 or best == len(scores) - 1:
        return 0.5
    return float((scores[best] + scores[best + 1]) / 2)
