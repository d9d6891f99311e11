"""Whether the words of a text are parted by spaces; if they are not, white space finds no words: characters are taken.

Chinese and Japanese, Thai, Lao, Khmer, Burmese and some more scripts write words without spaces between them; spaces
there, if any, part phrases. Text that somebody has split into words is told from such text by how many letters stand
between two spaces. So is text of any script whose lines are one long token each: hashes, addresses, sequences.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

AUTO = "auto"  # the tokenizer that is chosen by `choose_tokenizer`
SPLIT_AT_SPACES = ("whitespace", "words", "13a")  # tokenizers that need spaces between words

# Han, kana, bopomofo, Yi; emoji, which stand side by side as well
_IDEOGRAPHS = re.compile(
    "[\u3005-\u3007\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48f\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff\u2600-\u27bf\U0001f000-\U0001faff]"
)
# Thai, Lao, Tibetan, Burmese, Khmer, Tai scripts, Balinese, Javanese: combining marks are counted nowhere
_ALPHABETS = re.compile("[\u0e00-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9ff\uaa60-\uaadf]")
# Letters of a usual word, and more than words that were split have on average over a text
_USUAL_IDEOGRAPHS, _USUAL_LETTERS, _USUAL_OTHERS = 2, 4, 5
_MOST_IDEOGRAPHS, _MOST_LETTERS = 3, 7

_ENOUGH = 0.2  # of the texts: from this share of unspaced ones on, characters are taken for all
# So many texts or more, most of them one token, half of these distinct and on average longer than words are
_LEAST, _SINGLE, _DISTINCT, _LONG = 10, 0.8, 0.5, 16


class SpacingWarning(UserWarning):
    """Said where texts without spaces between words become a corpus."""


@dataclass(frozen=True, eq=False)
class Spacing:
    """How words are parted in some texts."""

    # Which texts are in a script without spaces between words and have none, shape (N,)
    unspaced: npt.NDArray[np.bool_]
    # Which texts have no white space inside, so that white space makes one token of each, shape (N,)
    single: npt.NDArray[np.bool_]
    n_filled: int  # How many texts are not blank
    # Of the single ones: how many different texts, and their characters together
    n_distinct: int
    n_characters: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Spacing":
        """Return how words are parted in `texts`."""
        unspaced = np.zeros(len(texts), dtype=np.bool_)
        single = np.zeros(len(texts), dtype=np.bool_)
        n_filled = n_characters = 0
        distinct = set()
        for place, text in enumerate(texts):
            bare = text.strip()
            if not bare:
                continue
            n_filled += 1
            if " " not in bare and len(bare.split(None, 1)) == 1:
                single[place] = True
                n_characters += len(bare)
                distinct.add(bare)
            if not bare.isascii():
                unspaced[place] = _is_unspaced(bare)
        return cls(unspaced, single, n_filled, len(distinct), n_characters)

    @cached_property
    def lacking(self) -> npt.NDArray[np.bool_]:
        """Which texts white space cannot split into words, shape (N,)."""
        return self.unspaced | self.single if self._one_long_token else self.unspaced

    @property
    def n_lacking(self) -> int:
        """How many texts white space cannot split into words."""
        return int(np.count_nonzero(self.lacking))

    @property
    def needs_characters(self) -> bool:
        """Whether white space fails on so many texts that characters are to be taken."""
        return self.n_filled > 0 and self.n_lacking >= _ENOUGH * self.n_filled

    @property
    def n_alone(self) -> int:
        """How many texts are one token that no other text has."""
        return int(np.count_nonzero(self.single)) if self._mostly_distinct else 0

    @property
    def _mostly_distinct(self) -> bool:
        n_single = int(np.count_nonzero(self.single))
        return n_single >= _LEAST and n_single >= _SINGLE * self.n_filled and self.n_distinct >= _DISTINCT * n_single

    @property
    def _one_long_token(self) -> bool:
        return self._mostly_distinct and self.n_characters >= _LONG * int(np.count_nonzero(self.single))


def choose_tokenizer(texts: Sequence[str]) -> str:
    """Return ``chars`` for texts whose words are not parted by spaces, else ``whitespace``; said as a warning."""
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
    """Warn where `tokenizer` splits at spaces and words are not parted by them."""
    if tokenizer not in SPLIT_AT_SPACES:
        return
    spacing = Spacing.of(texts)
    if spacing.needs_characters:
        warnings.warn(
            f"{spacing.n_lacking} of {len(texts)} texts have no spaces between words, so --tokenizer {tokenizer} makes "
            "whole sentences or phrases single tokens, and no metric can see a difference inside them; "
            "use --tokenizer chars",
            SpacingWarning,
            stacklevel=3,
        )


def _is_unspaced(text: str) -> bool:
    """Return whether most of `text` is in scripts without spaces between words, and its tokens are longer than words.

    Letters are reckoned in usual words of their script, so that a Chinese sentence with an English name is Chinese.
    """
    if _IDEOGRAPHS.search(text) is None and _ALPHABETS.search(text) is None:
        return False
    ideographs = letters = others = n_tokens = 0
    for token in text.split():
        of_token = len(_IDEOGRAPHS.findall(token))
        of_alphabet = sum(map(str.isalpha, _ALPHABETS.findall(token)))
        ideographs += of_token
        letters += of_alphabet
        others += sum(map(str.isalpha, token)) - sum(map(str.isalpha, _IDEOGRAPHS.findall(token))) - of_alphabet
        n_tokens += of_token + of_alphabet > 0
    mostly = ideographs / _USUAL_IDEOGRAPHS + letters / _USUAL_LETTERS >= others / _USUAL_OTHERS
    return mostly and ideographs / _MOST_IDEOGRAPHS + letters / _MOST_LETTERS > n_tokens
