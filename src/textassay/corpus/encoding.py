"""From texts to token ids: one pass over the text, one vocabulary for all sets.

`Interner` numbers the distinct tokens in order of appearance, in one compiled pass over UTF-8 bytes: an open-addressing
hash table with linear probing. Tokens with equal hashes are compared byte by byte, so the numbers are exact. White
space is what `str.split` splits at. `Vocabulary` says what each number means.

Source of the hash: Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm", RFC 9923 (FNV-1a, 64 bits).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from textassay.corpus.array_files import GrowingArray
from textassay.corpus.kept_texts import KeptTexts
from textassay.corpus.kernels import fill_slots, number_tokens
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.tokenizer import SPACERS, TOKENIZERS, NamedTokenizer, SubwordTokenizer
from textassay.errors import InputError, OptionError
from textassay.execution.tasks import sent_once

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus

SPECIAL_TOKENS = ("<pad>", "<eos>", "<sos>", "<unk>")
PAD, EOS, SOS, UNK = range(4)

Arrays = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]
"""Token ids of some texts, shape (T,), and offsets, shape (N + 1,), or the number of tokens of each, shape (N,)."""
_BLOCK = 1 << 20  # bytes handled at once: memory beyond text and tokens stays small
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf]")  # the bytes of a lone surrogate, which are not valid UTF-8

_N_SLOTS = 1 << 13

Number = TypeVar("Number", np.uint8, np.int64, np.uint64)


class Unit(IntEnum):
    """What is a token: each run without white space, each whole string, or each character."""

    WORD = 0
    STRING = 1
    CHARACTER = 2


_UNITS = ((str.split, Unit.WORD), (list, Unit.CHARACTER))  # tokenisers that the interner itself can do


class Interner:
    """Distinct tokens in order of first appearance, as bytes, with their hashes; `n_tokens` so far."""

    def __init__(self) -> None:
        self.n_tokens = 0
        self._slots = np.full(_N_SLOTS, -1, dtype=np.int32)
        self._hashes = np.zeros(_N_SLOTS // 2, dtype=np.uint64)
        self._ends = np.zeros(_N_SLOTS // 2 + 1, dtype=np.int64)
        self._store = np.zeros(4 * _N_SLOTS, dtype=np.uint8)

    def add(self, texts: Sequence[str], unit: Unit) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the number of each token, shape (T,), and the number of tokens of each text, shape (n_texts,)."""
        encoded = [text.encode() for text in texts]
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        return self.add_bytes(np.frombuffer(b"".join(encoded), dtype=np.uint8), lengths, unit)

    def add_bytes(
        self, data: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int64], unit: Unit
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the same for the UTF-8 bytes of all texts, read-only, and the number of bytes of each."""
        most = {
            Unit.WORD: (len(data) + len(lengths)) // 2,
            Unit.STRING: len(lengths),
            Unit.CHARACTER: len(data),
        }[unit]
        numbers = np.empty(most, dtype=np.int32)
        counts = np.empty(len(lengths), dtype=np.int64)
        n_done, position, n_numbers = 0, 0, 0
        while n_done < len(lengths):
            self._make_room(int(lengths[n_done]))
            n_done, position, n_numbers, self.n_tokens = number_tokens(
                data, lengths, int(unit), numbers, counts, n_done, position, n_numbers,
                self.n_tokens, self._slots, self._hashes, self._ends, self._store,
            )  # fmt: skip
        return numbers[:n_numbers].copy(), counts

    def _make_room(self, n_bytes: int) -> None:
        """Make room for a text of `n_bytes`, however many new tokens it has; arrays that grow at least double."""
        most = self.n_tokens + n_bytes + 1
        if most > len(self._hashes):
            self._hashes = _grown(self._hashes, 2 * most)
            self._ends = _grown(self._ends, 2 * most + 1)
            self._slots = np.full(1 << (4 * most).bit_length(), -1, dtype=np.int32)
            fill_slots(self._slots, self.n_tokens, self._hashes)
        most = int(self._ends[self.n_tokens]) + n_bytes
        if most > len(self._store):
            self._store = _grown(self._store, 2 * most)

    @property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """Hash of each distinct token, shape (n_tokens,); the same on every machine."""
        return self._hashes[: self.n_tokens].copy()

    @property
    def encoded(self) -> tuple[bytes, npt.NDArray[np.int64]]:
        """UTF-8 bytes of the distinct tokens, one after another, and their bounds, shape (n_tokens + 1,)."""
        ends = self._ends[: self.n_tokens + 1].copy()
        return self._store[: ends[-1]].tobytes(), ends


def _grown(array: npt.NDArray[Number], size: int) -> npt.NDArray[Number]:
    larger = np.zeros(size, dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@sent_once
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


def encode(
    sets: Mapping[str, PackedTexts], tokenize: NamedTokenizer
) -> tuple[dict[str, tuple[PackedTexts, *Arrays]], Vocabulary]:
    """Return each set of texts with its token ids and offsets, and their shared vocabulary."""
    interner = Interner()
    interner.add(SPECIAL_TOKENS, Unit.STRING)
    is_named = any(tokenize.function is function for function in TOKENIZERS.values())  # and so known by its name
    kept = KeptTexts.of_this_run(tokenize.name, list(sets.values())) if is_named else None
    encoded: dict[str, tuple[PackedTexts, *Arrays]] = {}
    for name, texts in sets.items():
        if kept is None:
            encoded[name] = (texts, *_encode(name, texts, tokenize, interner))
            continue
        arrays = kept.read(texts)
        if arrays is None:
            arrays = kept.write(_all_arrays(name, texts, tokenize, interner))
        else:
            interner.add_bytes(arrays["words"], np.diff(arrays["ends"]), Unit.STRING)
        packed = PackedTexts(arrays["bytes"], arrays["bounds"][:-1], arrays["bounds"][1:])
        encoded[name] = (packed, arrays["tokens"], arrays["offsets"])
    return encoded, Vocabulary.from_interner(interner)


def _all_arrays(
    name: str, texts: PackedTexts, tokenize: NamedTokenizer, interner: Interner
) -> dict[str, npt.NDArray[Any]]:
    tokens, offsets = _encode(name, texts, tokenize, interner)
    words, ends = interner.encoded
    texts = texts.compact()
    bounds = np.concatenate((np.zeros(1, dtype=np.int64), texts.stops))
    return {
        "bytes": texts.data,
        "bounds": bounds,
        "tokens": tokens,
        "offsets": offsets,
        "words": np.frombuffer(words, dtype=np.uint8),
        "ends": ends,
    }


def _encode(name: str, texts: PackedTexts, tokenize: NamedTokenizer, interner: Interner) -> Arrays:
    tokens, offsets = GrowingArray(np.int32), GrowingArray(np.int64)
    offsets.append(np.zeros(1, dtype=np.int64))
    n_texts = n_tokens = 0
    for block in texts.blocks(_BLOCK):
        try:
            numbers, counts = _encode_block(block, tokenize, interner)
        except UnicodeEncodeError:
            raise _surrogate_error(name, texts, n_texts) from None
        tokens.append(numbers)
        offsets.append(n_tokens + np.cumsum(counts))
        n_texts += len(counts)
        n_tokens += len(numbers)
    return tokens.array(), offsets.array()


def _encode_block(block: PackedTexts, tokenize: NamedTokenizer, interner: Interner) -> Arrays:
    """Return token numbers, shape (T,), and the number of tokens of each text, shape (N,)."""
    unit = next((unit for function, unit in _UNITS if tokenize.function is function), None)
    if unit is not None and not tokenize.lowercase and _SURROGATE.search(block.data.tobytes()) is None:
        return interner.add_bytes(block.data, block.lengths, unit)
    texts: Sequence[str] = [text.lower() for text in block] if tokenize.lowercase else list(block)
    if unit is not None:
        return interner.add(texts, unit)
    for function, space in SPACERS.items():
        if tokenize.function is function:
            return interner.add(space(texts), Unit.WORD)
    if isinstance(tokenize.function, SubwordTokenizer):
        return _intern_subwords(tokenize.function, texts, interner)
    tokenised = [tokenize.function(text) for text in texts]
    for text, tokens in zip(texts, tokenised, strict=True):
        if not isinstance(tokens, list | tuple) or not all(isinstance(token, str) for token in tokens):
            raise OptionError(f"tokenizer {tokenize.name} must return a list of strings, got {tokens!r} for {text!r}")
    numbers, _ = interner.add([token for tokens in tokenised for token in tokens], Unit.STRING)
    return numbers, np.array([len(tokens) for tokens in tokenised], dtype=np.int64)


def _intern_subwords(tokenizer: SubwordTokenizer, texts: Sequence[str], interner: Interner) -> Arrays:
    """Return the same for subwords; only distinct ones become strings."""
    "".join(texts).encode()  # raises for a lone surrogate, which the tokeniser may accept
    ids, counts = tokenizer.encode(texts)
    distinct, first, places = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    types = tokenizer.types
    numbers = np.empty(len(distinct), dtype=np.int32)
    numbers[order] = interner.add([types[number] for number in distinct[order].tolist()], Unit.STRING)[0]
    return numbers[places.reshape(-1)], counts


def _surrogate_error(name: str, sentences: Sequence[str], start: int) -> InputError:
    """Return the error for the first lone surrogate at or after text `start`."""
    for number in range(start, len(sentences)):
        for character in sentences[number]:
            if "\ud800" <= character <= "\udfff":
                return InputError(
                    f"{name}: text {number + 1} contains a lone surrogate (U+{ord(character):04X}), which is not a "
                    "character; write the text as valid UTF-8"
                )
    return InputError(f"{name}: the tokenizer returned a lone surrogate, which is not a character")
