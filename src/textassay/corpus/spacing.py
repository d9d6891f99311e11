"""Detect text without spaces between words, for which tokens must be characters.

Chinese, Japanese, Thai, Lao, Khmer, Burmese and some other scripts write words without spaces; spaces there, if any,
separate phrases. The number of letters between two spaces tells whether such text was segmented into words. The same
holds in any script for lines of one long token each: hashes, addresses, sequences.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

AUTO = "auto"  # let `choose_tokenizer` choose
SPLIT_AT_SPACES = ("whitespace", "words", "13a")  # tokenizers that need spaces between words

# Han, kana, bopomofo, Yi; emoji, which are written without spaces, too
_IDEOGRAPHS = re.compile(
    "[\u3005-\u3007\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48f\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff\u2600-\u27bf\U0001f000-\U0001faff]"
)
# Thai, Lao, Tibetan, Burmese, Khmer, Tai scripts, Balinese, Javanese; combining marks are never counted
_ALPHABETS = re.compile("[\u0e00-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9ff\uaa60-\uaadf]")
# Letters of a typical word; and the mean number of letters per token above which a text is not segmented
_USUAL_IDEOGRAPHS, _USUAL_LETTERS, _USUAL_OTHERS = 2, 4, 5
_MAX_IDEOGRAPHS, _MAX_LETTERS = 3, 7

_UNSPACED_SHARE = 0.2  # of the texts; from here on tokens are characters for all texts
# Texts of one long token: at least 10 of them, 80 % of all, half of them distinct, at least 16 characters on average
_MIN_SINGLE, _SINGLE_SHARE, _DISTINCT_SHARE, _LONG_TOKEN = 10, 0.8, 0.5, 16


class SpacingWarning(UserWarning):
    """Texts without spaces between words were tokenised."""


@dataclass(frozen=True, eq=False)
class Spacing:
    """Which of N texts have spaces between words."""

    # Texts without spaces, in a script that writes words without them, shape (N,)
    unspaced: npt.NDArray[np.bool_]
    # Texts without white space inside, so that each is one token, shape (N,)
    single: npt.NDArray[np.bool_]
    n_filled: int  # Texts that are not blank
    # Of the single ones: distinct texts, and characters altogether
    n_distinct: int
    n_characters: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Spacing":
        """Return the spacing of `texts`."""
        unspaced = np.zeros(len(texts), dtype=np.bool_)
        single = np.zeros(len(texts), dtype=np.bool_)
        n_filled = n_characters = 0
        distinct = set()
        for place, text in enumerate(texts):
            stripped = text.strip()
            if not stripped:
                continue
            n_filled += 1
            if " " not in stripped and len(stripped.split(None, 1)) == 1:
                single[place] = True
                n_characters += len(stripped)
                distinct.add(stripped)
            if not stripped.isascii():
                unspaced[place] = _is_unspaced(stripped)
        return cls(unspaced, single, n_filled, len(distinct), n_characters)

    @cached_property
    def lacking(self) -> npt.NDArray[np.bool_]:
        """Texts that white space cannot split into words, shape (N,)."""
        return self.unspaced | self.single if self._one_long_token else self.unspaced

    @property
    def n_lacking(self) -> int:
        """Number of texts that white space cannot split into words."""
        return int(np.count_nonzero(self.lacking))

    @property
    def needs_characters(self) -> bool:
        """Whether white space fails on so many texts that tokens should be characters."""
        return self.n_filled > 0 and self.n_lacking >= _UNSPACED_SHARE * self.n_filled

    @property
    def n_alone(self) -> int:
        """Number of texts of one token, if most of these are distinct."""
        return int(np.count_nonzero(self.single)) if self._mostly_distinct else 0

    @property
    def _mostly_distinct(self) -> bool:
        n_single = int(np.count_nonzero(self.single))
        return (
            n_single >= max(_MIN_SINGLE, _SINGLE_SHARE * self.n_filled)
            and self.n_distinct >= _DISTINCT_SHARE * n_single
        )

    @property
    def _one_long_token(self) -> bool:
        return self._mostly_distinct and self.n_characters >= _LONG_TOKEN * int(np.count_nonzero(self.single))


def choose_tokenizer(texts: Sequence[str]) -> str:
    """Return ``chars``, with a warning, for texts without spaces between words, else ``whitespace``."""
    spacing = Spacing.of(texts)
    if not spacing.needs_characters:
        return "whitespace"
    warnings.warn(
        f"{spacing.n_lacking} of {len(texts)} texts have no spaces between words: tokens are characters "
        "(--tokenizer chars)",
        SpacingWarning,
        stacklevel=3,
    )
    return "chars"


def warn_of_spacing(texts: Sequence[str], tokenizer: str) -> None:
    """Warn if `tokenizer` splits at spaces but `texts` have none between words."""
    if tokenizer not in SPLIT_AT_SPACES:
        return
    spacing = Spacing.of(texts)
    if spacing.needs_characters:
        warnings.warn(
            f"{spacing.n_lacking} of {len(texts)} texts have no spaces between words, so --tokenizer {tokenizer} makes "
            "whole texts or phrases single tokens, and no metric can see a difference inside them; "
            "use --tokenizer chars",
            SpacingWarning,
            stacklevel=3,
        )


def _is_unspaced(text: str) -> bool:
    """Return whether `text` is mostly in scripts without spaces between words, with tokens longer than words.

    Letters are weighted by the length of a typical word, so that a Chinese text with an English name counts as Chinese.
    """
    if _IDEOGRAPHS.search(text) is None and _ALPHABETS.search(text) is None:
        return False
    ideographs = letters = others = n_tokens = 0
    for token in text.split():
        n_ideographs = len(_IDEOGRAPHS.findall(token))
        n_letters = sum(map(str.isalpha, _ALPHABETS.findall(token)))
        ideographs += n_ideographs
        letters += n_letters
        others += sum(map(str.isalpha, token)) - sum(map(str.isalpha, _IDEOGRAPHS.findall(token))) - n_letters
        n_tokens += n_ideographs + n_letters > 0
    is_mostly_unspaced = ideographs / _USUAL_IDEOGRAPHS + letters / _USUAL_LETTERS >= others / _USUAL_OTHERS
    return is_mostly_unspaced and ideographs / _MAX_IDEOGRAPHS + letters / _MAX_LETTERS > n_tokens
