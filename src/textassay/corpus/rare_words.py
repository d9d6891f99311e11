"""Rare words shown as a mark, in real and generated text alike, so that nobody tells the two apart by them.

Source: Garbacea et al., "Judge the Judges", EMNLP 2019: words outside the vocabulary are shown as underscores.
Departs from it: where the counts are those of the judged real text itself, a real text's own words are left out of
them; otherwise every real word would have been seen once, and a generated one not.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from textassay.errors import OptionError

MARK = "__"


@dataclass(frozen=True)
class MarkedTexts:
    """Both sides with their rare words marked, and the share of marks among the words of each side."""

    real: tuple[str, ...]  # As many texts as were given, words parted by single spaces
    generated: Mapping[str, tuple[str, ...]]  # The same for each generator
    # Fraction in [0, 1] of each generator, under its name, and of the real text, under None; marks that stood in the
    # text before count
    shares: Mapping[str | None, float]


def mark_rare_words(
    real: Sequence[str],
    generated: Mapping[str, Sequence[str]],
    *,
    min_count: int,
    counted: Iterable[str] | None = None,
    mark: str = MARK,
) -> MarkedTexts:
    """Return both sides with every word that was seen fewer than `min_count` times replaced by `mark`."""
    if min_count < 1:
        raise OptionError(f"min_count must be at least 1, got {min_count}")
    if not is_mark(mark):
        raise OptionError(f"the mark of rare words must be underscores, got {mark!r}")
    counts = Counter(word for text in (real if counted is None else counted) for word in text.split())

    def marked(text: str, *, is_counted: bool) -> str:
        words = text.split()
        own = Counter(words) if is_counted else Counter[str]()
        return " ".join(word if is_mark(word) or counts[word] - own[word] >= min_count else mark for word in words)

    real_marked = tuple(marked(text, is_counted=counted is None) for text in real)
    others = {name: tuple(marked(text, is_counted=False) for text in texts) for name, texts in generated.items()}
    shares = {None: mark_share(real_marked)} | {name: mark_share(texts) for name, texts in others.items()}
    return MarkedTexts(real_marked, others, shares)


def is_mark(word: str) -> bool:
    """Return whether `word` is a run of underscores."""
    return bool(word) and not word.strip("_")


def mark_share(texts: Iterable[str]) -> float:
    """Return the fraction of words of `texts` that are marks, in [0, 1]; 0 where there is no word."""
    n_marks = n_words = 0
    for text in texts:
        words = text.split()
        n_words += len(words)
        n_marks += sum(map(is_mark, words))
    return n_marks / n_words if n_words else 0.0
