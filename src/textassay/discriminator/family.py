"""A family of discriminators: all are fitted, and validation text alone decides which of them is used.

Members stand in order of preference. Another than the first is taken only where its balanced accuracy on validation
text is clearly better, by a paired standard error: two discriminators differ in the few sentences that they call
differently, and the best of several on some hundred sentences is mostly luck.

One more candidate is a blend of all members, a logistic regression on their log-odds, scored out of fold. It starts as
the plain mean of the log-odds, and a ridge limits how far the weights move from it: ten texts leave the mean nearly
unchanged, thousands outweigh it.

Source: Wolpert, "Stacked generalization", Neural Networks 5, 1992.
Departs from it: the ridge pulls towards equal weights, not towards none.
"""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from textassay.corpus.corpus import Corpus
from textassay.corpus.split import fold_numbers
from textassay.discriminator.base import (
    Discriminator,
    Pair,
    Part,
    Scores,
    balanced_accuracy,
    choose_threshold,
    fit_part,
    prob_real_of,
    reads_log_probs,
    reads_prior,
    reads_training_text,
    reads_vectors,
    validation_scores,
)
from textassay.discriminator.solvers import minimise_logistic
from textassay.errors import OptionError
from textassay.execution.threads import parallel_map
from textassay.resampling.permutation import joint_groups
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Groups = tuple[IntArray | None, IntArray | None]

BLEND = "blend"
_STANDARD_ERRORS = 2.0  # how clear the gain over what is preferred must be
_RIDGE = 10.0  # in texts: the weight of the prior that all members are equally good
_LARGEST = 12.0  # log-odds are clipped here, so that no single member outvotes all others
_N_FOLDS = 5


@dataclass(frozen=True)
class Candidate:
    """What could be used: a member, or the blend of all."""

    # Probabilities of being real of validation sentences, real and generated, by a model that did not see them
    valid_scores: tuple[FloatArray, FloatArray]
    threshold: float  # Chosen on those
    chosen: Mapping[str, Any]  # What fitting chose
    member: Discriminator | None  # The fitted member; None for the blend
    seconds: float = field(compare=False)  # Wall time of fitting; of the blend's alone

    @property
    def valid_accuracy(self) -> float:
        return balanced_accuracy(*self.valid_scores, self.threshold)


@dataclass(frozen=True)
class Blend:
    """Log-odds are ``log_odds @ weights + intercept``; `weights` has shape (n_members,)."""

    weights: FloatArray
    intercept: float

    def prob_real(self, odds: FloatArray) -> FloatArray:
        """Return the probability of being real from log-odds of all members, shape (N, n_members)."""
        return np.asarray(expit(np.einsum("ij,j->i", odds, self.weights) + self.intercept), dtype=np.float64)


class FamilyDiscriminator:
    """Several discriminators of which validation text chooses one, or their blend.

    `members`: at least two, with different names, none called ``blend``; those before are preferred; `prefer`: the
    candidate that stays unless another is clearly better: a member's name, or ``blend``; the first member where None.
    """

    def __init__(self, name: str, members: Sequence[Discriminator], *, prefer: str | None = None) -> None:
        self.name = name
        self.members = tuple(members)
        names = [member.name for member in self.members]
        if len(names) < 2:
            raise OptionError(f"a family must have at least 2 members, got {len(names)}")
        if len({*names, BLEND}) != len(names) + 1:
            raise OptionError(f"members must have different names, none '{BLEND}', got {', '.join(names)}")
        self.prefer = names[0] if prefer is None else prefer
        if self.prefer not in (*names, BLEND):
            raise OptionError(f"the preferred one must be among {', '.join([*names, BLEND])}, got '{self.prefer}'")
        self.won = ""
        self.candidates: Mapping[str, Candidate] = {}
        self._blend: Blend | None = None

    @property
    def features(self) -> str:
        """The rule of choice, and what each member looks at."""
        members = "; ".join(f"{member.name}: {member.features}" for member in self.members)
        return f"{self.prefer} unless another or the blend is better by {_STANDARD_ERRORS:g} standard errors; {members}"

    @property
    def chosen(self) -> Mapping[str, Any]:
        """Which candidate won, the validation accuracies of all, what members chose, the weights of the blend."""
        if self._blend is None:
            return {}
        names = [member.name for member in self.members]
        return {
            "won": self.won,
            "valid_accuracies": {name: candidate.valid_accuracy for name, candidate in self.candidates.items()},
            "members": {name: dict(self.candidates[name].chosen) for name in names},
            "blend": dict(self.candidates[BLEND].chosen),
        }

    @property
    def reads_log_probs(self) -> bool:
        return any(map(reads_log_probs, self.members))

    @property
    def reads_training_text(self) -> bool:
        return any(map(reads_training_text, self.members))

    @property
    def reads_prior(self) -> bool:
        return any(map(reads_prior, self.members))

    @property
    def reads_vectors(self) -> bool:
        return any(map(reads_vectors, self.members))

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the fitted family; this one stays as it is."""
        return self._fitted(lambda member: member.fit(train, valid), valid, (valid[0].groups, valid[1].groups))

    def fit_part(self, train: Part, valid: Part) -> Self:
        groups = [
            None if side.groups is None else side.groups[rows]
            for side, rows in zip(valid.pool.sides, valid.rows, strict=True)
        ]
        return self._fitted(lambda member: fit_part(member, train, valid), valid, (groups[0], groups[1]))

    def _fitted(self, fit: Callable[[Discriminator], Discriminator], valid: Pair | Part, groups: Groups) -> Self:
        def candidate(member: Discriminator) -> Candidate:
            begin = time.perf_counter()
            fitted_member = fit(member)
            return _candidate(validation_scores(fitted_member, valid), fitted_member.chosen, fitted_member, begin)

        fitted = copy.copy(self)
        fitted_members = parallel_map(candidate, self.members)
        candidates = {member.name: each for member, each in zip(self.members, fitted_members, strict=True)}
        begin = time.perf_counter()
        odds = [
            np.column_stack([log_odds(candidate.valid_scores[side]) for candidate in candidates.values()])
            for side in (0, 1)
        ]
        fitted._blend = fit_blend(odds[0], odds[1], in_groups=_any(groups))
        scores = blended_out_of_fold(odds[0], odds[1], groups)
        blend_settings = {
            "weights": dict(zip(candidates, fitted._blend.weights.tolist(), strict=True)),
            "intercept": fitted._blend.intercept,
        }
        candidates[BLEND] = _candidate(scores, blend_settings, None, begin)
        fitted.candidates = candidates
        fitted.won = _best(candidates, self.prefer, groups)
        return fitted

    @property
    def valid_scores(self) -> tuple[FloatArray, FloatArray]:
        """Scores of the validation text by what won, each by a model that did not see the sentence."""
        self._check_fitted()
        return self.candidates[self.won].valid_scores

    def alone(self, corpus: Corpus) -> dict[str, FloatArray]:
        """Return the probability that each sentence is real by every candidate, each shape (N,)."""
        self._check_fitted()
        return self._with_blend(
            {
                name: candidate.member.prob_real(corpus)
                for name, candidate in self.candidates.items()
                if candidate.member
            }
        )

    def alone_of(self, part: Part) -> dict[str, Scores]:
        """Return the same of texts of the pool of whose parts the family learnt, real and generated."""
        scores = {
            name: prob_real_of(candidate.member, part)
            for name, candidate in self.candidates.items()
            if candidate.member
        }
        real, generated = (self._with_blend({name: both[side] for name, both in scores.items()}) for side in (0, 1))
        return {name: (real[name], generated[name]) for name in real}

    def _with_blend(self, scores: dict[str, FloatArray]) -> dict[str, FloatArray]:
        odds = np.column_stack([log_odds(of_member) for of_member in scores.values()])
        return {**scores, BLEND: self._check_fitted().prob_real(odds)}

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real by what won, shape (N,)."""
        self._check_fitted()
        member = self.candidates[self.won].member
        return self.alone(corpus)[BLEND] if member is None else member.prob_real(corpus)

    def prob_real_of(self, part: Part) -> Scores:
        """Return the same of texts of the pool of whose parts the family learnt, real and generated."""
        self._check_fitted()
        member = self.candidates[self.won].member
        return self.alone_of(part)[BLEND] if member is None else prob_real_of(member, part)

    def _check_fitted(self) -> Blend:
        if self._blend is None:
            raise OptionError("a family must be fitted before it scores texts")
        return self._blend


def _candidate(
    scores: tuple[FloatArray, FloatArray], chosen: Mapping[str, Any], member: Discriminator | None, begin: float
) -> Candidate:
    return Candidate(scores, choose_threshold(*scores), dict(chosen), member, time.perf_counter() - begin)


def _best(candidates: Mapping[str, Candidate], prefer: str, groups: Groups) -> str:
    """Return the candidate whose gain over the preferred one is largest, of those whose gain is clear."""
    sizes = [len(scores) for scores in candidates[prefer].valid_scores]
    units = joint_groups(*groups, sizes[0], sizes[1])
    shares = np.repeat([1 / (2 * size) for size in sizes], sizes)
    usual = _correct(candidates[prefer])
    won, most = prefer, 0.0
    for name, candidate in candidates.items():
        gains = shares * (_correct(candidate) - usual)
        error = float(np.sqrt(np.sum(np.bincount(units, weights=gains) ** 2)))
        gain = float(gains.sum())
        if gain > most and gain > _STANDARD_ERRORS * error:
            won, most = name, gain
    return won


def _correct(candidate: Candidate) -> FloatArray:
    """Return 1 for every validation sentence on its right side of the threshold, else 0; real ones first."""
    real, generated = candidate.valid_scores
    correct = np.concatenate([real > candidate.threshold, generated <= candidate.threshold])
    return correct.astype(np.float64)


def log_odds(scores: FloatArray) -> FloatArray:
    """Return the log-odds of probabilities, any shape, kept within plus and minus 12."""
    with np.errstate(divide="ignore"):
        odds = np.log(scores) - np.log1p(-scores)
    return np.asarray(np.clip(odds, -_LARGEST, _LARGEST), dtype=np.float64)


def fit_blend(real: FloatArray, generated: FloatArray, *, in_groups: bool = False) -> Blend:
    """Return the best blend for log-odds of real and generated texts; both sides have equal weight.

    `real`, `generated`: shapes (n_real, n_members) and (n_generated, n_members); `in_groups`: whether the texts came in
    groups, which may not hold all that belongs together: then no weight is below 0 (the stack says why).
    """
    equal = np.full(real.shape[1], 1 / real.shape[1])
    if len(real) == 0 or len(generated) == 0:
        return Blend(equal, 0.0)
    odds = np.concatenate([real, generated])
    n = len(odds)
    is_real = np.arange(n) < len(real)
    weights = np.where(is_real, n / (2 * len(real)), n / (2 * len(generated)))
    design, prior = np.column_stack([odds, np.ones(n)]), np.append(equal, 0.0)
    ridge = _RIDGE * np.append(np.maximum(odds.std(axis=0), 1e-3), 1.0) ** 2
    least = np.append(np.zeros(len(equal)), -np.inf) if in_groups else None
    theta = minimise_logistic(design, is_real, weights, ridge, start=prior, centre=prior, least=least)
    return Blend(theta[:-1], float(theta[-1]))


def blended_out_of_fold(real: FloatArray, generated: FloatArray, groups: Groups) -> tuple[FloatArray, FloatArray]:
    """Return the scores of real and generated sentences, each by a blend that was fitted to others.

    Probabilities of being real, shapes (n_real,) and (n_generated,).
    """
    folds = _assign_folds(len(real), len(generated), groups)
    scores = np.empty(len(real)), np.empty(len(generated))
    for fold in np.unique(np.concatenate(folds)).tolist():
        rows = folds[0] == fold, folds[1] == fold
        blend = fit_blend(real[~rows[0]], generated[~rows[1]], in_groups=_any(groups))
        for side, row, odds in zip(scores, rows, (real, generated), strict=True):
            side[row] = blend.prob_real(odds[row])
    return scores


def _any(groups: Groups) -> bool:
    """Return whether a side has groups."""
    return any(side is not None for side in groups)


def _assign_folds(n_real: int, n_generated: int, groups: Groups) -> tuple[IntArray, IntArray]:
    """Return the fold of every text; without groups both sides are divided evenly."""
    rng = stream(0, "blend", "folds")
    if not _any(groups):
        parts = []
        for n in (n_real, n_generated):
            n_folds = min(_N_FOLDS, n)
            parts.append(np.zeros(n, dtype=np.int64) if n_folds < 2 else fold_numbers(n, n_folds, rng))
        return parts[0], parts[1]
    groups_of_all = joint_groups(*groups, n_real, n_generated)
    n_folds = min(_N_FOLDS, int(groups_of_all.max()) + 1)
    numbers = (
        np.zeros(len(groups_of_all), np.int64)
        if n_folds < 2
        else fold_numbers(len(groups_of_all), n_folds, rng, groups_of_all)
    )
    return numbers[:n_real], numbers[n_real:]
