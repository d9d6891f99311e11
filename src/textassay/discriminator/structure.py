"""What a judge of documents sees beside n-grams: their structure, the run of their sentences, and how they repeat.

The columns come from a text alone, alike for both sides. Counts are per 1,000 tokens, in logarithms, so that a few
documents full of lists do not stretch the scale, and beside each stands whether there is any.

Openings and closings are not here: how telling they are is learnt from the sides (`edges`).
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.structure import STRUCTURES, count_structures
from textassay.discriminator.kernels import describe_quarters, repeated_share, sentence_moments

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
        repeated_share(corpus.tokens, corpus.offsets, order, shares[:, column])
    return shares


def sentence_lengths(corpus: Corpus) -> FloatArray:
    """Return the mean and the standard deviation of the tokens of each text's sentences, shape (N, 2)."""
    values = np.zeros((len(corpus), 2))
    sentence_moments(corpus.tokens, corpus.offsets, _ends_sentence(corpus).view(np.uint8), values)
    return values


def _along(corpus: Corpus) -> FloatArray:
    """Return sentence lengths, and of each quarter the share of distinct tokens and the entropy, shape (N, 10)."""
    quarters = np.zeros((len(corpus), 2 * N_QUARTERS))
    describe_quarters(corpus.tokens, corpus.offsets, len(corpus.vocabulary), quarters)
    return np.concatenate([np.log1p(sentence_lengths(corpus)), quarters], axis=1)


def _ends_sentence(corpus: Corpus) -> npt.NDArray[np.bool_]:
    """Return which tokens of the vocabulary end a sentence."""
    ends = [token.rstrip(_CLOSERS)[-1:] in _ENDS and token.rstrip(_CLOSERS) != "" for token in corpus.vocabulary.tokens]
    return np.array(ends, dtype=np.bool_)
