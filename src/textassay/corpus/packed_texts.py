"""Many texts in one buffer: their bytes, UTF-8, and where each text starts and stops.

A text costs its bytes and 16 more; the same text as a Python string costs 57 more, and time whenever Python looks for
garbage. Large buffers are memory-mapped files.
"""

import operator
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from textassay.corpus.array_files import GrowingArray, gather, read_only

Bytes = npt.NDArray[np.uint8]
IntArray = npt.NDArray[np.int64]

_BLOCK = 1 << 20  # bytes decoded or compared at once
_MAX_BLOCK = 1 << 16  # texts decoded at once
_PACKED = 1 << 9  # strings packed at once
_SHOWN = 7  # texts of which `reprlib` shows the first 6
_ERRORS = "surrogatepass"  # a lone surrogate, which a Python string may hold, stays what it is


class PackedTexts(Sequence[str]):
    """An immutable sequence of N texts; slices and `take` share its buffer."""

    # UTF-8, shape (n_bytes,); and where each text starts and stops, shape (N,); all read-only
    data: Bytes
    starts: IntArray
    stops: IntArray

    __slots__ = ("data", "starts", "stops")

    def __init__(self, data: Bytes, starts: IntArray, stops: IntArray) -> None:
        self.data, self.starts, self.stops = read_only(data), read_only(starts), read_only(stops)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "PackedTexts":
        """Return `texts` packed, or as they are if they are."""
        if isinstance(texts, PackedTexts):
            return texts
        packer = TextPacker()
        iterator = iter(texts)
        while block := list(islice(iterator, _PACKED)):
            packer.add(block)
        return packer.texts()

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "PackedTexts": ...
    def __getitem__(self, place: int | slice) -> "str | PackedTexts":
        if isinstance(place, slice):
            return PackedTexts(self.data, self.starts[place], self.stops[place])
        index = operator.index(place)
        return self.data[self.starts[index] : self.stops[index]].tobytes().decode("utf-8", _ERRORS)

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks():
            yield from block._decoded()

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a sequence of the same strings."""
        if isinstance(other, PackedTexts):
            if not np.array_equal(self.lengths, other.lengths):
                return False
            pairs = zip(self.blocks(), other.blocks(), strict=True)  # equal lengths have equal blocks
            return all(np.array_equal(mine.data, theirs.data) for mine, theirs in pairs)
        if isinstance(other, list | tuple):
            return len(self) == len(other) and all(map(operator.eq, self, other))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"PackedTexts({len(self)} texts: {reprlib.repr(list(self[:_SHOWN]))})"

    def __reduce__(self) -> tuple[Callable[..., "PackedTexts"], tuple[Any, ...]]:
        texts = self.compact()
        return PackedTexts, (texts.data, texts.starts, texts.stops)

    @property
    def lengths(self) -> IntArray:
        """Number of bytes of each text, shape (N,)."""
        return self.stops - self.starts

    @property
    def n_characters(self) -> IntArray:
        """Number of characters of each text, shape (N,)."""
        counts = [block._n_characters() for block in self.blocks()]
        return np.concatenate([np.empty(0, dtype=np.int64), *counts])

    def take(self, indices: IntArray) -> "PackedTexts":
        return PackedTexts(self.data, self.starts[indices], self.stops[indices])

    def blocks(self, n_bytes: int = _BLOCK) -> Iterator["PackedTexts"]:
        """Yield runs of texts with up to `n_bytes` bytes each, or one text, each with a buffer of its own bytes."""
        start = 0
        while start < len(self):
            lengths = self.stops[start : start + _MAX_BLOCK] - self.starts[start : start + _MAX_BLOCK]
            n = max(1, int(np.searchsorted(np.cumsum(lengths), n_bytes, side="right")))
            yield self[start : start + n].compact()
            start += n

    def compact(self) -> "PackedTexts":
        """Return the same texts with a buffer that holds them alone, one after another."""
        if len(self) == 0:
            return PackedTexts(self.data[:0], self.starts, self.stops)
        first, last = self.starts[0], self.stops[-1]
        if np.array_equal(self.starts[1:], self.stops[:-1]):
            return PackedTexts(self.data[first:last], self.starts - first, self.stops - first)
        lengths = self.lengths
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        return PackedTexts(gather(self.data, self.starts, lengths), offsets[:-1], offsets[1:])

    def _decoded(self) -> list[str]:
        """Return the strings of a block, whose buffer holds them alone."""
        content = self.data.tobytes()
        bounds = pairwise([0, *self.stops.tolist()])
        if content.isascii():
            text = content.decode("ascii")
            return [text[start:stop] for start, stop in bounds]
        return [content[start:stop].decode("utf-8", _ERRORS) for start, stop in bounds]

    def _n_characters(self) -> IntArray:
        """Return the number of characters of each text of a block, whose buffer holds them alone."""
        if self.data.tobytes().isascii():
            return self.lengths
        before = np.concatenate(([0], np.cumsum((self.data & 0xC0) != 0x80)))  # bytes that begin a character
        return before[self.stops] - before[self.starts]


class TextPacker:
    def __init__(self) -> None:
        self._data = GrowingArray(np.uint8)
        self._offsets = GrowingArray(np.int64)
        self._offsets.append(np.zeros(1, dtype=np.int64))
        self._n_bytes = 0
        self._waiting: list[str] = []  # texts that came one by one

    def add_one(self, text: str) -> None:
        self._waiting.append(text)
        if len(self._waiting) == _PACKED:
            self._pack_waiting()

    def _pack_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        self.add(waiting)

    def add(self, texts: Sequence[str]) -> None:
        joined = "".join(texts)
        sized: Sequence[str | bytes] = texts if joined.isascii() else [text.encode("utf-8", _ERRORS) for text in texts]
        lengths = np.fromiter(map(len, sized), dtype=np.int64, count=len(sized))
        self.add_bytes(np.frombuffer(joined.encode("utf-8", _ERRORS), dtype=np.uint8), lengths)

    def add_bytes(self, data: Bytes, lengths: IntArray) -> None:
        """Add texts by their bytes, UTF-8, one after another, and the number of bytes of each."""
        if self._waiting:
            self._pack_waiting()
        self._data.append(data)
        self._offsets.append(self._n_bytes + np.cumsum(lengths))
        self._n_bytes += len(data)

    def add_lines(self, block: str) -> None:
        r"""Add the lines of `block`, without their ends, which are ``\n`` or ``\r\n`` only."""
        data = np.frombuffer(block.replace("\r\n", "\n").encode(), dtype=np.uint8)
        is_end = data == ord("\n")
        stops = np.flatnonzero(is_end)
        if len(data) and not is_end[-1]:
            stops = np.append(stops, len(data))
        self.add_bytes(data[~is_end], np.diff(stops, prepend=-1) - 1)

    def texts(self) -> PackedTexts:
        """Return all texts; no more can be added."""
        if self._waiting:
            self._pack_waiting()
        offsets = self._offsets.array()
        return PackedTexts(self._data.array(), offsets[:-1], offsets[1:])
