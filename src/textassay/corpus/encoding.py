"""From texts to token ids: one pass over the text, one vocabulary for all sets.

`Interner` numbers the distinct tokens in order of appearance, in one compiled pass over UTF-8 bytes: an open-addressing
hash table with linear probing. Tokens with equal hashes are compared byte by byte, so the numbers are exact. White
space is what `str.split` splits at. `Vocabulary` says what each number means.

Source of the hash: Fowler, Noll, Vo, "The FNV Non-Cryptographic Hash Algorithm", RFC 9923 (FNV-1a, 64 bits).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.tokenizer import SPACERS, NamedTokenizer, SubwordTokenizer
from textassay.errors import InputError, OptionError
from textassay.execution import sent_once

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus

SPECIAL_TOKENS = ("<pad>", "<eos>", "<sos>", "<unk>")
PAD, EOS, SOS, UNK = range(4)

Arrays = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]
_BLOCK = 1 << 20  # characters handled at once: memory beyond text and tokens stays small

_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_FOLD = np.uint64(32)
_N_SLOTS = 1 << 13
# what a byte can begin: 0 no white space, 1 ASCII white space, 2 perhaps white space of several bytes
_KINDS = np.zeros(256, dtype=np.uint8)
_KINDS[[0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x1F, 0x20]] = 1
_KINDS[[0xC2, 0xE1, 0xE2, 0xE3]] = 2

Number = TypeVar("Number", np.uint8, np.int64, np.uint64)


class Unit(IntEnum):
    """What is a token: each run without white space, each whole string, or each character."""

    WORD = 0
    STRING = 1
    CHARACTER = 2


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
        joined = "".join(texts)
        data = np.frombuffer(joined.encode("utf-8"), dtype=np.uint8)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        if not joined.isascii():
            _to_byte_lengths(data, lengths)
        most = {Unit.WORD: (len(data) + len(texts)) // 2, Unit.STRING: len(texts), Unit.CHARACTER: len(joined)}[unit]
        numbers = np.empty(most, dtype=np.int32)
        counts = np.empty(len(texts), dtype=np.int64)
        n_done, position, n_numbers = 0, 0, 0
        while n_done < len(texts):
            self._make_room(int(lengths[n_done]))
            n_done, position, n_numbers, self.n_tokens = _scan(
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
            _fill_slots(self._slots, self.n_tokens, self._hashes)
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


def encode(sets: Mapping[str, Sequence[str]], tokenize: NamedTokenizer) -> tuple[dict[str, Arrays], Vocabulary]:
    """Return token ids, shape (T,), and offsets, shape (N + 1,), of each set of texts, and their shared vocabulary."""
    interner = Interner()
    interner.add(SPECIAL_TOKENS, Unit.STRING)
    arrays = {}
    for name, sentences in sets.items():
        numbers, counts = [np.empty(0, dtype=np.int32)], [np.zeros(1, dtype=np.int64)]
        for start, stop in _blocks(sentences):
            try:
                block_numbers, block_counts = _encode_block(sentences[start:stop], tokenize, interner)
            except UnicodeEncodeError:
                raise _surrogate_error(name, sentences, start) from None
            numbers.append(block_numbers)
            counts.append(block_counts)
        arrays[name] = (np.concatenate(numbers), np.cumsum(np.concatenate(counts)))
    return arrays, Vocabulary.from_interner(interner)


def _blocks(sentences: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of runs of texts with about `_BLOCK` characters each."""
    ends = np.cumsum(np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences)))
    start = 0
    while start < len(sentences):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _BLOCK)))
        yield start, stop
        start = stop


def _encode_block(texts: Sequence[str], tokenize: NamedTokenizer, interner: Interner) -> Arrays:
    """Return token numbers, shape (T,), and the number of tokens of each text, shape (N,)."""
    if tokenize.lowercase:
        texts = [text.lower() for text in texts]
    if tokenize.function is list:
        return interner.add(texts, Unit.CHARACTER)
    if tokenize.function is str.split:
        return interner.add(texts, Unit.WORD)
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
                    f"{name}: text {number + 1} holds a lone surrogate (U+{ord(character):04X}), which is not a "
                    "character; write the text as valid UTF-8"
                )
    return InputError(f"{name}: the tokenizer returned a lone surrogate, which is not a character")


@njit(cache=True, nogil=True)
def _to_byte_lengths(data, lengths):  # type: ignore[no-untyped-def]
    """Replace the number of characters of each text by its number of bytes."""
    position = 0
    for text in range(len(lengths)):
        start = position
        for _ in range(lengths[text]):
            position += _width(data[position])
        lengths[text] = position - start


@njit(cache=True, nogil=True)
def _width(first):  # type: ignore[no-untyped-def]
    """Return the number of bytes of the character that begins with byte `first`."""
    if first < 0x80:
        return 1
    return 2 if first < 0xE0 else 3 if first < 0xF0 else 4


@njit(cache=True, nogil=True)
def _space_width(data, position):  # type: ignore[no-untyped-def]
    """Return the number of bytes of the non-ASCII white space at `position`, 0 if there is none."""
    first, second = data[position], data[position + 1]
    if first == 0xC2:
        return 2 if second == 0x85 or second == 0xA0 else 0
    third = data[position + 2]
    if first == 0xE2 and second == 0x80:
        return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
    if first == 0xE2:
        return 3 if second == 0x81 and third == 0x9F else 0
    if first == 0xE1:
        return 3 if second == 0x9A and third == 0x80 else 0
    return 3 if second == 0x80 and third == 0x80 else 0


@njit(cache=True, nogil=True)
def _scan(  # type: ignore[no-untyped-def]
    data, lengths, unit, numbers, counts, n_done, position, n_numbers, n_tokens, slots, hashes, ends, store
):
    """Write the token numbers of `data` from text `n_done` on, until all are done or the next text may not fit.

    A text has at most as many new tokens as bytes (or one, if it is a token itself). Returns the number of texts done,
    where the next begins in `data`, how many numbers are written and how many distinct tokens there are.
    """
    mask = len(slots) - 1
    for text in range(n_done, len(lengths)):
        stop = position + lengths[text]
        if n_tokens + lengths[text] + 1 > len(hashes) or ends[n_tokens] + lengths[text] > len(store):
            return text, position, n_numbers, n_tokens
        before = n_numbers
        first = True
        while position < stop or (first and unit == 1):
            first = False
            start = position
            width = 0
            key = _FNV_OFFSET
            while position < stop:
                if unit == 0:
                    kind = _KINDS[data[position]]
                    if kind != 0:
                        width = 1 if kind == 1 else _space_width(data, position)
                        if width > 0:
                            break
                elif unit == 2 and position > start and data[position] & 0xC0 != 0x80:
                    break
                key = (key ^ np.uint64(data[position])) * _FNV_PRIME
                position += 1
            size = position - start
            if size > 0 or unit == 1:
                slot = np.int64(key ^ (key >> _FOLD)) & mask
                while True:
                    number = slots[slot]
                    if number < 0:
                        number = n_tokens
                        slots[slot] = number
                        hashes[number] = key
                        begin = ends[number]
                        for index in range(size):
                            store[begin + index] = data[start + index]
                        ends[number + 1] = begin + size
                        n_tokens += 1
                        break
                    if hashes[number] == key and ends[number + 1] - ends[number] == size:
                        begin = ends[number]
                        same = 0
                        while same < size and store[begin + same] == data[start + same]:
                            same += 1
                        if same == size:
                            break
                    slot = (slot + 1) & mask
                numbers[n_numbers] = number
                n_numbers += 1
            position += width
        counts[text] = n_numbers - before
    return len(lengths), position, n_numbers, n_tokens


@njit(cache=True, nogil=True)
def _fill_slots(slots, n_tokens, hashes):  # type: ignore[no-untyped-def]
    """Insert tokens 0 to `n_tokens` - 1 into an empty table, whose size is a power of two."""
    mask = len(slots) - 1
    for number in range(n_tokens):
        slot = np.int64(hashes[number] ^ (hashes[number] >> _FOLD)) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = number
