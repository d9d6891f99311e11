"""From sentences to token ids: one pass over the text, one vocabulary for all sets."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from textassay.corpus.tokenizer import NamedTokenizer
from textassay.corpus.vocabulary import Vocabulary

__all__ = ["encode"]

Arrays = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]


def encode(sets: Sequence[Sequence[str]], tokenize: NamedTokenizer) -> tuple[list[Arrays], Vocabulary]:
    """Return tokens and offsets of each set of sentences, and the vocabulary they share (in order of appearance)."""
    tokenised = [[tokenize(text) for text in sentences] for sentences in sets]
    vocabulary = Vocabulary(token for sentences in tokenised for tokens in sentences for token in tokens)
    arrays = []
    for sentences in tokenised:
        offsets = np.concatenate(([0], np.cumsum([len(tokens) for tokens in sentences], dtype=np.int64)))
        arrays.append((vocabulary.encode(token for tokens in sentences for token in tokens), offsets))
    return arrays, vocabulary
