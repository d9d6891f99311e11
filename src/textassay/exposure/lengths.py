"""Which prefixes a real text allows: how long its sentences are decides, and how many are left is told.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, section 4.1, for prefixes of 5 to
30 tokens in sentences of one length.
Departs from it: the paper does not give the length of its sentences; without one, the longest up to 50 tokens that half
of the sentences have is taken, and prefixes of up to six tenths of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from textassay.continuation import n_long_enough
from textassay.corpus import Corpus
from textassay.errors import OptionError, TooFewSentencesError
from textassay.exposure.bleu import ORDER
from textassay.generator import Ends, check_ends

LONGEST = 50  # tokens of a sentence where none are asked for: room for the paper's prefixes of 5 to 30
_N_LENGTHS = 6


@dataclass(frozen=True)
class ChosenLengths:
    """What is measured of a text."""

    lengths: tuple[int, ...]  # Tokens of the prefixes, rising, each at least 1
    sentence_length: int  # Tokens at which all sentences are cut; more than those of each prefix by 3 at least
    n_left: Mapping[int, int]  # Tokens to sentences that have so many, for all lengths and for `sentence_length`
    n_sentences: int  # Of the whole text
    n_usable: int  # That can give a prefix or a reference


def choose_lengths(
    text: Corpus,
    lengths: Sequence[int] | None = None,
    sentence_length: int | None = None,
    *,
    ends: Ends = "excluded",
) -> ChosenLengths:
    """Return the lengths that were asked for, or those that suit the text, and how many sentences are left at each."""
    check_ends(ends)
    asked = None if lengths is None else tuple(sorted(set(lengths)))
    if asked is not None and (not asked or asked[0] < 1):
        raise OptionError(f"prefixes must have at least 1 token, got {', '.join(map(str, asked)) or 'none'}")
    size = sentence_length
    if size is None:
        common = int(np.sort(text.lengths)[len(text) // 2]) if len(text) else 0
        size = max(min(LONGEST, common), ORDER + (1 if asked is None else asked[-1]))
    if asked is None:
        step = max(1, size // 10)
        asked = tuple(step * k for k in range(1, _N_LENGTHS + 1) if step * k <= size - ORDER)
    told = _told(text, (*asked, size, *((asked[-1] + ORDER,) if asked else ())))
    if not asked or asked[-1] > size - ORDER:
        longest = asked[-1] if asked else 1
        raise OptionError(
            f"a continuation needs at least {ORDER} tokens to be scored, and sentences of {size} tokens "
            f"leave {max(size - longest, 0)} after a prefix of {longest}: ask for shorter prefixes or longer "
            f"sentences ({told})"
        )
    n_usable = n_long_enough(text, size if ends == "excluded" else asked[-1] + 1)
    if n_usable < 2:
        raise TooFewSentencesError(
            f"{n_usable} of {len(text)} sentences are long enough for prefixes of {asked[-1]} tokens in sentences of "
            f"{size}, at least 2 are needed, for a prefix and for a reference: ask for shorter ones ({told})"
        )
    n_left = {length: n_long_enough(text, length) for length in (*asked, size)}
    return ChosenLengths(asked, size, n_left, len(text), n_usable)


def _told(text: Corpus, lengths: Sequence[int]) -> str:
    """Return how many sentences have so many tokens."""
    parts = [f"{n_long_enough(text, length)} have {length} tokens" for length in sorted(set(lengths))]
    return f"of {len(text)} sentences {', '.join(parts)} or more"
