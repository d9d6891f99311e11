"""The empirical stopping rule for the number of draws, and the error that it misses.

The rule takes the smallest N at which the mean of N one-hot draws differs by less than gamma' from that of N - alpha,
in its largest coordinate, averaged over positions. This difference follows c alpha / N, where c is the distance of the
mean of alpha draws from the expectation. So it measures how much the generator's output varies, not how close the mean
is: the true error falls only as 1 / sqrt(N). Where the softmax is known, the true error is given too.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, section 3 (alpha 10,
gamma' 1e-3; one batch of 64 sequences in its authors' code).
Departs from it: starts at 2 alpha, since at alpha there is no earlier mean to compare with.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.errors import OptionError
from textassay.estimate import json_ready
from textassay.ngram.language_model import LanguageModel
from textassay.seeding import stream
from textassay_lab.approximation.kernels import rule_sums
from textassay_lab.approximation.reference_windows import ReferenceWindows
from textassay_lab.approximation.steppable import NoiseDriven, WindowStepper, next_token_probs
from textassay_lab.approximation.token_counts import Mode, Progress
from textassay_lab.generator.kernels import tokens_of_draws
from textassay_lab.generator.next_words import model_vocabulary

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ALPHA, CHANGE = 10, 1e-3  # alpha and gamma' of the paper
N_ROWS = 64
_NUMBERS = 1 << 22  # draws or probabilities held at once


@dataclass(frozen=True)
class RuleCurve:
    """The rule's difference at each N, and the true error."""

    sizes: tuple[int, ...]  # Values of N: ``2 alpha, 3 alpha, ...``, K numbers
    # Between the means of N and N - alpha draws: largest coordinate, averaged over positions, shape (K,)
    differences: tuple[float, ...]
    # Between the mean of N draws and the softmax, likewise, shape (K,); None where there is no softmax
    errors: tuple[float, ...] | None
    stops_at: int | None  # The smallest N of `sizes` with a difference below `gamma`; None where there is none
    # Settings of the rule: draws between two means, and gamma'
    alpha: int
    gamma: float
    # Rows and positions averaged over
    n_rows: int
    n_positions: int

    @property
    def slope(self) -> float:
        """Log-log slope of the differences: near -1."""
        return log_slope(self.sizes, self.differences)

    @property
    def error_slope(self) -> float | None:
        """Log-log slope of the true error: near -1/2; None without a softmax."""
        return None if self.errors is None else log_slope(self.sizes, self.errors)

    @property
    def spread(self) -> float:
        """The c of c alpha / N: the mean of N x difference / alpha."""
        return float(np.mean(np.asarray(self.sizes) * np.asarray(self.differences)) / self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready values."""
        slopes = {"slope": self.slope, "error_slope": self.error_slope, "spread": self.spread}
        document: dict[str, Any] = json_ready(asdict(self) | slopes)
        return document


def check_samples(n_samples: int, *, alpha: int = ALPHA, name: str = "n_samples") -> None:
    """Raise unless `n_samples`, an option called `name`, is at least 2 `alpha`."""
    if alpha < 1:
        raise OptionError(f"alpha must be at least 1, got {alpha}")
    if n_samples < 2 * alpha:
        raise OptionError(
            f"{name} must be at least {2 * alpha} (the rule compares means of {alpha} draws each), got {n_samples}"
        )


def log_slope(sizes: tuple[int, ...], values: tuple[float, ...]) -> float:
    """Return the least-squares slope of log(value) on log(size); NaN with fewer than two values above 0."""
    x, y = np.log(np.asarray(sizes, dtype=np.float64)), np.asarray(values)
    positive = y > 0
    if np.count_nonzero(positive) < 2:
        return math.nan
    x, y = x[positive] - x[positive].mean(), np.log(y[positive])
    return float(x @ y / (x @ x))


def rule_curve(
    generator: WindowStepper | NoiseDriven | LanguageModel,
    text: ReferenceWindows,
    n_samples: int,
    *,
    mode: Mode,
    alpha: int = ALPHA,
    gamma: float = CHANGE,
    n_rows: int = N_ROWS,
    seed: int,
    progress: Progress | None = None,
) -> RuleCurve:
    """Return the curve of the rule for a generator on `n_rows` evenly spread rows of a text (all, if it has fewer).

    `generator`: a language model for ``multinomial``, a stepper for ``onehot``, driven by noise for ``soft``.
    `n_samples`: the largest N, at least ``2 alpha``. `mode`: not ``exact``.
    """
    check_samples(n_samples, alpha=alpha)
    if n_rows < 1 or not 0 < gamma < 1:
        raise OptionError(f"n_rows must be at least 1 and gamma in (0, 1), got {n_rows} and {gamma:g}")
    row_numbers = np.unique(np.linspace(0, len(text.rows) - 1, min(n_rows, len(text.rows))).astype(np.int64))
    n_steps = n_samples // alpha
    n_draws = alpha * n_steps
    n_types = len(model_vocabulary(generator)) if mode == "multinomial" else len(generator.vocabulary)  # type: ignore[arg-type,union-attr]
    totals = np.zeros((2, n_steps))
    n_positions = 0
    for number, place in enumerate(row_numbers.tolist()):
        if progress is not None:
            progress("the stopping rule", number, len(row_numbers))
        rows, scored = text.part(place, place + 1)
        rng = stream(seed, "approximation", "rule", place)
        if mode == "soft":
            totals[0] += _soft_row(generator, rows, scored, alpha, n_steps, rng)  # type: ignore[arg-type]
        elif mode == "multinomial":
            probs = next_token_probs(generator, rows, ends=text.ends)[scored]  # type: ignore[arg-type]
            for block in np.array_split(probs, -(-len(probs) * n_draws // _NUMBERS)):
                totals += rule_of_draws(_of_softmax(block, n_draws, rng), n_types, alpha=alpha, probs=block)
        else:
            drawn = _of_steps(generator, rows, scored, n_draws, rng)  # type: ignore[arg-type]
            totals += rule_of_draws(drawn, n_types, alpha=alpha)
        n_positions += int(scored.sum())
    differences, errors = totals[:, 1:] / n_positions
    sizes = tuple(range(2 * alpha, alpha * n_steps + 1, alpha))
    below = np.flatnonzero(differences < gamma)
    return RuleCurve(
        sizes,
        tuple(differences.tolist()),
        tuple(errors.tolist()) if mode == "multinomial" else None,
        sizes[below[0]] if len(below) else None,
        alpha,
        gamma,
        len(row_numbers),
        n_positions,
    )


def rule_of_draws(
    drawn: npt.NDArray[np.int32], n_types: int, *, alpha: int = ALPHA, probs: FloatArray | None = None
) -> FloatArray:
    """Return sums over positions of the rule's differences and of the true errors, shape (2, N / alpha).

    `drawn`: the tokens drawn at each position, shape (positions, N). `probs`: their distribution, shape (positions,
    n_types). Column k is for ``N = (k + 1) alpha``; the first difference is 0, since no mean precedes it.
    """
    known_probs = np.empty((0, n_types)) if probs is None else probs
    return np.asarray(rule_sums(drawn, n_types, alpha, known_probs), dtype=np.float64)


def _of_softmax(probs: FloatArray, n: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """Return n draws from each row of probabilities, (R, V), shape (R, n)."""
    draws = rng.random((len(probs), n))
    return np.asarray(tokens_of_draws(np.cumsum(probs, axis=1), np.arange(len(probs)), draws), dtype=np.int32)


def _of_steps(
    generator: WindowStepper, rows: IntArray, scored: npt.NDArray[np.bool_], n: int, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Return n draws of a generator at each scored position of one row, shape (R, n)."""
    batch_rows = max(1, _NUMBERS // 32 // rows.size)
    draws = []
    for start in range(0, n, batch_rows):
        repeated = np.tile(rows, (min(batch_rows, n - start), 1))
        drawn = generator.step_after(repeated, seed=int(rng.integers(2**62)))
        draws.append(drawn[:, scored[0]].T.astype(np.int32))
    return np.concatenate(draws, axis=1)


def _soft_row(
    generator: NoiseDriven,
    rows: IntArray,
    scored: npt.NDArray[np.bool_],
    alpha: int,
    n_steps: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.float64]:
    """Return the differences of soft means, summed over the positions of one row, shape (n_steps,)."""
    repeated = np.tile(rows, (alpha, 1))
    total = np.zeros((int(scored.sum()), len(generator.vocabulary)))
    differences = np.zeros(n_steps)
    for step in range(n_steps):
        probs = generator.soft_after(repeated, seed=int(rng.integers(2**62)))[:, scored[0]]
        previous = total.copy()
        total += probs.sum(axis=0, dtype=np.float64)
        if step > 0:
            change = np.abs(total / (alpha * (step + 1)) - previous / (alpha * step))
            differences[step] = change.max(axis=1).sum()
    return differences
