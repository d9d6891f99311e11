"""Sets of texts that are each encoded once: those that are given, before anything is drawn, and those that are drawn.

A set is encoded by itself. The corpora of any sets, in one vocabulary, are made by renumbering tokens: they are those
that one call of `corpora_from_texts` would have made of the same sets in that order.
"""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.array_files import GrowingArray
from textassay.corpus.corpus import Corpus, Texts, corpora_from_texts
from textassay.corpus.encoding import SPECIAL_TOKENS, Interner, Unit, Vocabulary
from textassay.corpus.texts import as_texts
from textassay.corpus.tokenizer import AUTO, SpacingWarning

_BLOCK = 1 << 20  # tokens that are renumbered together


class EncodedTexts:
    """Named sets of texts, encoded; the tokeniser ``auto`` is chosen for the first of them."""

    def __init__(self, reading: Mapping[str, Any]) -> None:
        self._reading = dict(reading)
        self._sets: dict[str, Corpus] = {}  # each with a vocabulary of its own

    def add(self, name: str, source: Texts) -> None:
        """Encode `source` as the set `name`."""
        with warnings.catch_warnings():
            if self._sets:  # the first one has said it
                warnings.simplefilter("ignore", SpacingWarning)
            corpus = corpora_from_texts({name: as_texts(source, name)}, **self._reading)[name]
        if not self._sets and self._reading.get("tokenizer", AUTO) == AUTO:
            self._reading["tokenizer"] = corpus.tokenizer.split("+")[0]
        self._sets[name] = replace(corpus, columns=source.columns) if isinstance(source, Corpus) else corpus

    def corpora(self, names: Iterable[str]) -> dict[str, Corpus]:
        """Return the corpora of these sets, in one vocabulary."""
        interner = Interner()
        interner.add(SPECIAL_TOKENS, Unit.STRING)
        tables = {name: interner.add(self._sets[name].vocabulary.tokens, Unit.STRING)[0] for name in names}
        vocabulary = Vocabulary.from_interner(interner)
        return {name: _renumbered(self._sets[name], table, vocabulary) for name, table in tables.items()}


def _renumbered(corpus: Corpus, table: npt.NDArray[np.int32], vocabulary: Vocabulary) -> Corpus:
    """Return a corpus in another vocabulary; `table` has the number there of each of its own tokens."""
    tokens = corpus.tokens
    if not np.array_equal(table, np.arange(len(table))):
        renumbered: GrowingArray[np.int32] = GrowingArray(np.int32)
        for start in range(0, len(tokens), _BLOCK):
            renumbered.append(table[tokens[start : start + _BLOCK]])
        tokens = renumbered.array()
    found = replace(corpus, tokens=tokens, vocabulary=vocabulary)
    found.__dict__["fingerprint"] = corpus.fingerprint  # the texts are the same
    return found
