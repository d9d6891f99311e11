"""Choose prefix lengths that the sentences of a real text allow, and count the sentences left at each.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, section 4.1, for prefixes of 5 to
30 tokens in sentences of one length.
Departs from it: the paper does not give its sentence length; by default it is the median length, at most 50 tokens,
and prefixes have up to six tenths of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError, TooFewSentencesError
from textassay_lab.exposure.bleu import ORDER
from textassay_lab.generator.next_words import Ends, check_ends
from textassay_lab.generator.prefixes import n_long_enough

LONGEST = 50  # largest default sentence length, in tokens: room for the paper's prefixes of 5 to 30
_N_LENGTHS = 6


@dataclass(frozen=True)
class ChosenLengths:
    """Prefix lengths and sentence length of a measurement."""

    lengths: tuple[int, ...]  # Tokens of the prefixes, ascending, each at least 1
    sentence_length: int  # Tokens at which all sentences are cut, at least 3 more than the longest prefix
    n_left: Mapping[int, int]  # Length to number of sentences that are as long, for `lengths` and `sentence_length`
    n_sentences: int  # Sentences of the whole text
    n_usable: int  # Sentences that can give a prefix or a reference


def choose_lengths(
    text: Corpus,
    lengths: Sequence[int] | None = None,
    sentence_length: int | None = None,
    *,
    ends: Ends = "excluded",
) -> ChosenLengths:
    """Return the lengths given, or lengths that suit the text, and how many sentences are left at each."""
    check_ends(ends)
    chosen = None if lengths is None else tuple(sorted(set(lengths)))
    if chosen is not None and (not chosen or chosen[0] < 1):
        raise OptionError(f"prefixes must have at least 1 token, got {', '.join(map(str, chosen)) or 'none'}")
    length_cut = sentence_length
    if length_cut is None:
        common = int(np.sort(text.lengths)[len(text) // 2]) if len(text) else 0
        length_cut = max(min(LONGEST, common), ORDER + (1 if chosen is None else chosen[-1]))
    if chosen is None:
        step = max(1, length_cut // 10)
        chosen = tuple(step * k for k in range(1, _N_LENGTHS + 1) if step * k <= length_cut - ORDER)
    counts = _length_counts(text, (*chosen, length_cut, *((chosen[-1] + ORDER,) if chosen else ())))
    if not chosen or chosen[-1] > length_cut - ORDER:
        longest = chosen[-1] if chosen else 1
        raise OptionError(
            f"a continuation needs at least {ORDER} tokens to be scored, and sentences of {length_cut} tokens "
            f"leave {max(length_cut - longest, 0)} after a prefix of {longest}: ask for shorter prefixes or longer "
            f"sentences ({counts})"
        )
    n_usable = n_long_enough(text, length_cut if ends == "excluded" else chosen[-1] + 1)
    if n_usable < 2:
        raise TooFewSentencesError(
            f"{n_usable} of {len(text)} sentences are long enough for prefixes of {chosen[-1]} tokens in sentences of "
            f"{length_cut}, at least 2 are needed, for a prefix and for a reference: ask for shorter ones ({counts})"
        )
    n_left = {length: n_long_enough(text, length) for length in (*chosen, length_cut)}
    return ChosenLengths(chosen, length_cut, n_left, len(text), n_usable)


def _length_counts(text: Corpus, lengths: Sequence[int]) -> str:
    """Return, in words, how many sentences have at least each number of tokens."""
    parts = [f"{n_long_enough(text, length)} have {length} tokens" for length in sorted(set(lengths))]
    return f"of {len(text)} sentences {', '.join(parts)} or more"
