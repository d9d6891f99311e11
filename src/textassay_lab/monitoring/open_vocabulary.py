"""A vocabulary with free places at its end, so that the prepared real text can be reused for every generated text.

Metrics need one vocabulary on both sides, and the prepared real side depends on it. Here real tokens keep their ids,
and the ids after them are reassigned for each generated text, in order of first appearance: the same ids as from one
`corpora_from_texts`.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary


class OpenVocabulary(Vocabulary):
    """The tokens `known`, then `room` places for others; only the last admitted corpus can be decoded."""

    def __init__(self, known: Sequence[str], room: int) -> None:
        self._known = {token: number for number, token in enumerate(known)}
        self._free = tuple(f"\0{place}" for place in range(room))
        self._fill((*known, *self._free))

    @property
    def n_known(self) -> int:
        """Number of tokens that keep their ids."""
        return len(self._known)

    def admit(self, corpus: Corpus) -> Corpus | None:
        """Return `corpus` in this vocabulary; None, with nothing changed, if there is no room for its new tokens."""
        ids, first = np.unique(corpus.tokens, return_index=True)
        ids = ids[np.argsort(first)]
        tokens = corpus.vocabulary.decode(ids)
        new = [token for token in tokens if token not in self._known]
        if len(new) > len(self._free):
            return None
        for name in ("_ids", "hashes"):
            self.__dict__.pop(name, None)
        self._fill((*self._known, *new, *self._free[len(new) :]))
        places = {**self._known, **{token: len(self._known) + number for number, token in enumerate(new)}}
        table = np.zeros(len(corpus.vocabulary), dtype=np.int32)
        table[ids] = [places[token] for token in tokens]
        return replace(corpus, tokens=table[corpus.tokens], vocabulary=self)
