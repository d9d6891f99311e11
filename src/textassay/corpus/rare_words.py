"""Replace rare words by a mark in real and generated text, so that they do not tell the two apart.

Source: Garbacea et al., "Judge the Judges", EMNLP 2019: words outside the vocabulary are shown as underscores.
Departs from it: if words are counted in the real texts that are judged, each real text is left out of its own counts;
otherwise every word of a real text would have been seen at least once, unlike those of a generated text.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.errors import OptionError, TooFewSentencesError

FloatArray = npt.NDArray[np.float64]

MARK = "__"
_TEXTS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class MarkedTexts:
    """Both sides with their rare words marked, and the fraction of marks among the words of each side."""

    real: tuple[str, ...]  # Words separated by single spaces
    generated: Mapping[str, tuple[str, ...]]  # Generator to texts
    # Generator (None: real text) to a fraction in [0, 1]; marks that were in the text before count, too
    shares: Mapping[str | None, float]


def mark_rare_words(
    real: Sequence[str],
    generated: Mapping[str, Sequence[str]],
    *,
    min_count: int,
    counted: Iterable[str] | None = None,
) -> MarkedTexts:
    """Return both sides with every word that occurs fewer than `min_count` times in `counted` replaced by `MARK`."""
    if min_count < 1:
        raise OptionError(f"min_count must be at least 1, got {min_count}")
    counts = Counter(word for text in (real if counted is None else counted) for word in text.split())

    def marked(text: str, *, is_counted: bool) -> str:
        words = text.split()
        own = Counter(words) if is_counted else Counter[str]()
        return " ".join(word if is_mark(word) or counts[word] - own[word] >= min_count else MARK for word in words)

    real_marked = tuple(marked(text, is_counted=counted is None) for text in real)
    others = {name: tuple(marked(text, is_counted=False) for text in texts) for name, texts in generated.items()}
    shares = {None: mark_share(real_marked)} | {name: mark_share(texts) for name, texts in others.items()}
    return MarkedTexts(real_marked, others, shares)


def is_mark(word: str) -> bool:
    """Return whether `word` is a run of underscores."""
    return bool(word) and not word.strip("_")


def mark_share(texts: Iterable[str]) -> float:
    """Return the fraction of words of `texts` that are marks, in [0, 1]; 0 without words."""
    n_marks, n_words = mark_counts(texts).sum(axis=0).tolist()
    return n_marks / n_words if n_words else 0.0


def mark_counts(texts: Iterable[str]) -> npt.NDArray[np.int64]:
    """Return the marks and the words of each text, shape (n_texts, 2)."""
    counts = [(sum(map(is_mark, words)), len(words)) for words in map(str.split, texts)]
    return np.array(counts, dtype=np.int64).reshape(-1, 2)


def equal_shares_p_value(
    real: Sequence[str], generated: Sequence[str], *, rng: np.random.Generator, n_resamples: int = 1_999
) -> float:
    """Return the two-sided p-value of equal shares of marks on both sides.

    Marks of one text go together, so whole texts change sides; exact if the texts of both sides are distributed alike.
    The difference is divided by its standard error, so that the test also holds, in large samples, for texts that have
    other lengths and equal shares (Janssen, "Studentized permutation tests for non-i.i.d. hypotheses", Statistics &
    Probability Letters 36, 1997).
    """
    if n_resamples < 1:
        raise OptionError(f"n_resamples must be at least 1, got {n_resamples}")
    counts = np.concatenate([mark_counts(real), mark_counts(generated)]).astype(np.float64)
    is_real = np.arange(len(counts)) < len(real)
    if min(np.count_nonzero(counts[side, 1]) for side in (is_real, ~is_real)) < 2:
        raise TooFewSentencesError("a test of equal shares of marks needs at least 2 texts with words a side")
    marks, words = counts.T
    products = np.stack([marks, words, marks**2, marks * words, words**2], axis=1)  # (N, 5)
    observed = _studentised(is_real[None], products)[0]
    block = max(1, _TEXTS_AT_ONCE // len(counts))
    n_above = 0
    for start in range(0, n_resamples, block):
        sides = np.tile(is_real, (min(block, n_resamples - start), 1))
        n_above += int((_studentised(rng.permuted(sides, axis=1), products) >= observed * (1 - 1e-9)).sum())
    return (n_above + 1) / (n_resamples + 1)


def _studentised(is_real: npt.NDArray[np.bool_], products: FloatArray) -> FloatArray:
    """Return the difference of the shares over its standard error, without a sign, for each row of sides, (R, N)."""
    shares, variances = [], []
    for side in (is_real, ~is_real):
        marks, words, squares, crossed, words_squared = (side @ products).T  # each (R,)
        share = np.divide(marks, words, out=np.zeros_like(marks), where=words > 0)
        residuals = np.maximum(squares - 2 * share * crossed + share**2 * words_squared, 0.0)
        n = side.sum(axis=1)
        variances.append(residuals / np.maximum(words, 1) ** 2 * n / (n - 1))
        shares.append(share)
    difference, error = np.abs(shares[0] - shares[1]), np.sqrt(sum(variances))
    difference[difference < 1e-12] = 0.0
    studentised: FloatArray = np.where(difference > 0, np.inf, 0.0)  # where nothing varies inside the sides
    np.divide(difference, error, out=studentised, where=error > 1e-9)
    return studentised
