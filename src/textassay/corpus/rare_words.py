"""Replace rare words by a mark in real and generated text, so that they do not tell the two apart.

Source: Garbacea et al., "Judge the Judges", EMNLP 2019: words outside the vocabulary are shown as underscores.
Departs from it: if words are counted in the real texts that are judged, each real text is left out of its own counts;
otherwise every word of a real text would have been seen at least once, unlike those of a generated text.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from textassay.errors import OptionError

MARK = "__"


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
    mark: str = MARK,
) -> MarkedTexts:
    """Return both sides with every word that occurs fewer than `min_count` times in `counted` replaced by `mark`."""
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
    """Return the fraction of words of `texts` that are marks, in [0, 1]; 0 without words."""
    n_marks = n_words = 0
    for text in texts:
        words = text.split()
        n_words += len(words)
        n_marks += sum(map(is_mark, words))
    return n_marks / n_words if n_words else 0.0
