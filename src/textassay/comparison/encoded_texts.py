"""Sets of texts that are each encoded once, though one of them grows: those that are drawn while dd is measured.

A set is encoded by itself, part by part. The corpora of any sets, in one vocabulary, are made from the parts by
renumbering tokens: they are those that one call of `corpora_from_texts` would have made of the same sets in that order.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus import (
    AUTO,
    SPECIAL_TOKENS,
    Corpus,
    GrowingArray,
    Interner,
    SpacingWarning,
    Texts,
    Unit,
    Vocabulary,
    as_texts,
    corpora_from_texts,
)

_BLOCK = 1 << 20  # tokens that are renumbered together
Table = npt.NDArray[np.int32]  # the number of each token of a part


@dataclass
class _Set:
    parts: list[Corpus]  # each with a vocabulary of its own
    made: tuple[list[Table], Corpus] | None = None  # the corpus that was made last, and of which numbers


class EncodedTexts:
    """Named sets of texts, encoded; the tokeniser ``auto`` is chosen for the first of them."""

    def __init__(self, reading: Mapping[str, Any]) -> None:
        self._reading = dict(reading)
        self._sets: dict[str, _Set] = {}

    def add(self, name: str, source: Texts) -> None:
        """Encode `source`, at the end of the set `name`."""
        with warnings.catch_warnings():
            if self._sets:  # the first one has said it
                warnings.simplefilter("ignore", SpacingWarning)
            corpus = corpora_from_texts({name: as_texts(source, name)}, **self._reading)[name]
        if not self._sets and self._reading.get("tokenizer", AUTO) == AUTO:
            self._reading["tokenizer"] = corpus.tokenizer.split("+")[0]
        if isinstance(source, Corpus):
            corpus = replace(corpus, columns=source.columns)
        self._sets.setdefault(name, _Set([])).parts.append(corpus)

    def grow(self, name: str, texts: Sequence[str], n: int) -> None:
        """Encode those of the first `n` of `texts` that the set `name` lacks; it holds the first ones."""
        known = sum(map(len, self._sets[name].parts)) if name in self._sets else 0
        if known < n:
            self.add(name, list(texts[known:n]))

    def corpora(self, names: Iterable[str], sizes: Mapping[str, int] | None = None) -> dict[str, Corpus]:
        """Return the corpora of these sets, in one vocabulary; of a set in `sizes`, the parts that hold so many."""
        interner = Interner()
        interner.add(SPECIAL_TOKENS, Unit.STRING)
        tables: dict[str, list[Table]] = {}
        for name in names:
            parts = self._parts(name, (sizes or {}).get(name))
            tables[name] = [interner.add(part.vocabulary.tokens, Unit.STRING)[0] for part in parts]
        vocabulary = Vocabulary.from_interner(interner)
        return {name: self._corpus(self._sets[name], of_parts, vocabulary) for name, of_parts in tables.items()}

    def _parts(self, name: str, size: int | None) -> list[Corpus]:
        parts = self._sets[name].parts
        if size is None:
            return parts
        ends = np.cumsum([len(part) for part in parts])
        return parts[: int(np.searchsorted(ends, size)) + 1]

    def _corpus(self, texts: _Set, tables: list[Table], vocabulary: Vocabulary) -> Corpus:
        """Return the corpus of the parts that have `tables`; what was made last is used again if nothing changed."""
        parts = texts.parts[: len(tables)]
        if texts.made is None or not _equal(texts.made[0], tables):
            texts.made = tables, _joined(parts, tables, vocabulary)
        made = texts.made[1]
        if made.vocabulary is vocabulary:
            return made
        corpus = replace(made, vocabulary=vocabulary)
        corpus.__dict__["fingerprint"] = made.fingerprint  # the texts are the same
        return corpus


def _equal(tables: Sequence[Table], others: Sequence[Table]) -> bool:
    return len(tables) == len(others) and all(map(np.array_equal, tables, others))


def _joined(parts: Sequence[Corpus], tables: Sequence[Table], vocabulary: Vocabulary) -> Corpus:
    renumbered = [_renumbered(part, table, vocabulary) for part, table in zip(parts, tables, strict=True)]
    return renumbered[0] if len(parts) == 1 else Corpus.concatenate(renumbered)


def _renumbered(corpus: Corpus, table: Table, vocabulary: Vocabulary) -> Corpus:
    if np.array_equal(table, np.arange(len(table))):
        return replace(corpus, vocabulary=vocabulary)
    tokens: GrowingArray[np.int32] = GrowingArray(np.int32)
    for start in range(0, len(corpus.tokens), _BLOCK):
        tokens.append(table[corpus.tokens[start : start + _BLOCK]])
    return replace(corpus, tokens=tokens.array(), vocabulary=vocabulary)
