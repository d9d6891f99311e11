"""Add start and end tokens to texts, so that n-grams at the edges can be counted."""

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, SOS

IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]


def mark_ends(corpus: Corpus) -> Corpus:
    """Return `corpus` with each text between a start and an end token."""
    n = len(corpus)
    offsets = corpus.offsets + 2 * np.arange(n + 1)
    tokens = np.empty(len(corpus.tokens) + 2 * n, dtype=np.int32)
    inner = np.ones(len(tokens), dtype=bool)
    inner[offsets[:-1]] = False
    inner[offsets[1:] - 1] = False
    tokens[offsets[:-1]] = SOS
    tokens[offsets[1:] - 1] = EOS
    tokens[inner] = corpus.tokens
    return Corpus(tokens, offsets, corpus.vocabulary, corpus.texts, tokenizer=corpus.tokenizer)


def with_ends(tokens: TokenArray, offsets: IntArray) -> tuple[TokenArray, IntArray]:
    """Return N texts, shapes (T,) and (N + 1,), with ``<eos>`` after each: shapes (T + N,) and (N + 1,)."""
    ended = offsets + np.arange(len(offsets))
    text = np.full(ended[-1], EOS, dtype=np.int32)
    inside = np.ones(len(text), dtype=np.bool_)
    inside[ended[1:] - 1] = False
    text[inside] = tokens
    return text, ended
