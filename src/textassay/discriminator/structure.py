"""What a judge of documents sees beside n-grams: their structure, the run of their sentences, and how they repeat.

The columns come from a text alone, alike for both sides. Counts are per 1,000 tokens, in logarithms, so that a few
documents full of lists do not stretch the scale, and beside each stands whether there is any.

Openings and closings are not here: how telling they are is learnt from the sides (`edges`).
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.corpus import Corpus
from textassay.corpus.structure import STRUCTURES, count_structures

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

COLUMN = "structure"  # of corpora, shape (N, n_columns)
N_EDGE = 3  # tokens of an opening, and of a closing
N_QUARTERS = 4
_REPEATED = (1, 3)  # lengths of the n-grams of the second half that are looked for in the first
_ENDS = ".!?\u2026\u3002\uff01\uff1f"
_CLOSERS = "\"'\u201d\u2019)]*_"


def with_structure(corpus: Corpus) -> Corpus:
    """Return `corpus` with the column `COLUMN`."""
    if COLUMN in corpus.columns:
        return corpus
    counts = count_structures(corpus.texts).astype(np.float64)
    per_thousand = np.log1p(1000 * counts / np.maximum(corpus.lengths, 1)[:, None])
    columns = [per_thousand, (counts > 0).astype(np.float64), np.log1p(counts[:, : STRUCTURES.index("paragraphs") + 1])]
    columns += [_along(corpus), repeated_shares(corpus)]
    return replace(corpus, columns={**corpus.columns, COLUMN: np.concatenate(columns, axis=1)})


def edges(corpus: Corpus) -> Corpus:
    """Return the first and last `N_EDGE` tokens of each text as its only ones; a shorter text stays whole."""
    kept = np.minimum(corpus.lengths, 2 * N_EDGE)
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(kept)))
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], kept)
    skipped = np.where(place >= N_EDGE, np.repeat(corpus.lengths - kept, kept), 0)
    tokens = corpus.tokens[np.repeat(corpus.offsets[:-1], kept) + place + skipped]
    return Corpus(tokens, offsets, corpus.vocabulary, corpus.texts, tokenizer=corpus.tokenizer, groups=corpus.groups)


def repeated_shares(corpus: Corpus) -> FloatArray:
    """Return which part of the n-grams of the second half of each text stand in its first half, shape (N, 2)."""
    shares = np.zeros((len(corpus), len(_REPEATED)))
    for column, order in enumerate(_REPEATED):
        _repeated(corpus.tokens, corpus.offsets, order, shares[:, column])
    return shares


def sentence_lengths(corpus: Corpus) -> FloatArray:
    """Return the mean and the standard deviation of the tokens of each text's sentences, shape (N, 2)."""
    values = np.zeros((len(corpus), 2))
    _sentences(corpus.tokens, corpus.offsets, _ends_sentence(corpus), values)
    return values


def _along(corpus: Corpus) -> FloatArray:
    """Return sentence lengths, and of each quarter the share of distinct tokens and the entropy, shape (N, 10)."""
    quarters = np.zeros((len(corpus), 2 * N_QUARTERS))
    _by_quarter(corpus.tokens, corpus.offsets, len(corpus.vocabulary), quarters)
    return np.concatenate([np.log1p(sentence_lengths(corpus)), quarters], axis=1)


def _ends_sentence(corpus: Corpus) -> npt.NDArray[np.bool_]:
    """Return which tokens of the vocabulary end a sentence."""
    ends = [token.rstrip(_CLOSERS)[-1:] in _ENDS and token.rstrip(_CLOSERS) != "" for token in corpus.vocabulary.tokens]
    return np.array(ends, dtype=np.bool_)


@njit(cache=True, nogil=True)
def _sentences(tokens, offsets, ends, values):  # type: ignore[no-untyped-def]
    for text in range(len(offsets) - 1):
        n, total, squares, length = 0, 0.0, 0.0, 0.0
        for place in range(offsets[text], offsets[text + 1]):
            length += 1.0
            if ends[tokens[place]] or place == offsets[text + 1] - 1:
                n += 1
                total += length
                squares += length * length
                length = 0.0
        if n > 0:
            mean = total / n
            values[text, 0] = mean
            values[text, 1] = np.sqrt(max(squares / n - mean * mean, 0.0))


@njit(cache=True, nogil=True)
def _by_quarter(tokens, offsets, n_types, values):  # type: ignore[no-untyped-def]
    """Fill the share of distinct tokens of each quarter, then its entropy over the largest that there can be."""
    counts = np.zeros(n_types, dtype=np.int64)
    n_quarters = values.shape[1] // 2
    for text in range(len(offsets) - 1):
        n = offsets[text + 1] - offsets[text]
        for quarter in range(n_quarters):
            begin = offsets[text] + n * quarter // n_quarters
            end = offsets[text] + n * (quarter + 1) // n_quarters
            n_tokens = end - begin
            if n_tokens == 0:
                continue
            distinct, sum_of_logs = 0, 0.0
            for place in range(begin, end):
                counts[tokens[place]] += 1
                distinct += counts[tokens[place]] == 1
            for place in range(begin, end):
                count = counts[tokens[place]]
                if count > 0:
                    sum_of_logs += count * np.log(count)
                    counts[tokens[place]] = 0
            values[text, quarter] = distinct / n_tokens
            if n_tokens > 1:
                values[text, n_quarters + quarter] = 1.0 - sum_of_logs / (n_tokens * np.log(n_tokens))


@njit(cache=True, nogil=True)
def _repeated(tokens, offsets, order, shares):  # type: ignore[no-untyped-def]
    """Fill the share of n-grams of `order` in the second half that stand in the first, compared token by token."""
    longest = 1
    for text in range(len(offsets) - 1):
        longest = max(longest, offsets[text + 1] - offsets[text])
    size = 2
    while size < 2 * longest:
        size *= 2
    slots = np.empty(size, dtype=np.int64)  # where an n-gram of the first half begins
    used = np.full(size, -1, dtype=np.int64)  # by which text
    for text in range(len(offsets) - 1):
        begin, end = offsets[text], offsets[text + 1]
        middle = begin + (end - begin) // 2
        n_found, n_looked = 0, 0
        for place in range(begin, end - order + 1):
            is_first = place + order <= middle
            if not is_first and place < middle:
                continue  # across the middle
            key = np.uint64(0)
            for step in range(order):
                key = (key ^ np.uint64(tokens[place + step] + 1)) * np.uint64(0x9E3779B97F4A7C15)
                key ^= key >> np.uint64(32)
            slot = np.int64(key & np.uint64(size - 1))
            found = False
            while used[slot] == text:
                same = True
                for step in range(order):
                    if tokens[slots[slot] + step] != tokens[place + step]:
                        same = False
                        break
                if same:
                    found = True
                    break
                slot = (slot + 1) & (size - 1)
            if is_first:
                if not found:
                    used[slot] = text
                    slots[slot] = place
            else:
                n_looked += 1
                n_found += found
        if n_looked > 0:
            shares[text] = n_found / n_looked
