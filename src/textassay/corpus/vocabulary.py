"""The vocabulary: tokens to ids and back, with the four special tokens at fixed ids."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.corpus.interning import Interner, Unit
from textassay.errors import OptionError

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus


SPECIAL_TOKENS = ("<pad>", "<eos>", "<sos>", "<unk>")
PAD, EOS, SOS, UNK = range(4)


class Vocabulary:
    """Tokens with their ids; ids 0-3 are ``<pad>``, ``<eos>``, ``<sos>`` and ``<unk>``."""

    _size: int
    _encoded: tuple[bytes, npt.NDArray[np.int64]]

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self._fill(tuple(dict.fromkeys((*SPECIAL_TOKENS, *tokens))))

    @classmethod
    def from_interner(cls, interner: Interner) -> "Vocabulary":
        """Return the vocabulary of an interner that numbered the special tokens first; strings are decoded lazily."""
        vocabulary = cls.__new__(cls)
        vocabulary._size = interner.n_tokens
        vocabulary._encoded = interner.encoded
        vocabulary.__dict__["hashes"] = interner.hashes
        return vocabulary

    @classmethod
    def build(cls, corpus: "Corpus", *, max_size: int | None = None, min_count: int = 1) -> "Vocabulary":
        """Return the vocabulary of `corpus`, most frequent token first, ties by first appearance."""
        if max_size is not None and max_size < 0:
            raise OptionError(f"max_size must be at least 0, got {max_size}")
        if min_count < 1:
            raise OptionError(f"min_count must be at least 1, got {min_count}")
        known = corpus.vocabulary
        counts = np.bincount(corpus.tokens, minlength=len(known))
        counts[: len(SPECIAL_TOKENS)] = 0
        first = np.zeros(len(known), dtype=np.int64)
        first[corpus.tokens[::-1]] = np.arange(len(corpus.tokens))[::-1]
        order = np.lexsort((first, -counts))
        return cls(known.decode(order[counts[order] >= min_count][:max_size]))

    def __len__(self) -> int:
        return self._size

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens)"

    def __getstate__(self) -> tuple[str, ...]:
        return self.tokens

    def __setstate__(self, tokens: tuple[str, ...]) -> None:
        self._fill(tokens)

    def _fill(self, tokens: tuple[str, ...]) -> None:
        self._size = len(tokens)
        self.__dict__["tokens"] = tokens

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """All tokens, in the order of their ids."""
        store, ends = self._encoded
        return tuple([store[start:stop].decode() for start, stop in pairwise(ends.tolist())])

    @cached_property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """A 64-bit hash of each token, shape (V,), the same in every process and on every machine."""
        interner = Interner()
        interner.add(self.tokens, Unit.STRING)
        return interner.hashes

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    def encode(self, tokens: Iterable[str]) -> npt.NDArray[np.int32]:
        """Return the ids of `tokens`, shape (n_tokens,); a token that is not in the vocabulary becomes ``UNK``."""
        return np.array([self._ids.get(token, UNK) for token in tokens], dtype=np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of `ids`, each at least 0 and below the size of the vocabulary."""
        tokens = self.tokens
        numbers: Sequence[int] = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        if numbers and min(numbers) < 0:
            raise OptionError(f"a token id must be at least 0, got {min(numbers)}")
        return [tokens[number] for number in numbers]
