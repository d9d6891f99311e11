"""Bytes of a file to UTF-8 text in blocks of whole lines; what is wrong is said with line and byte."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from textassay.errors import EmptyCorpusError, InputError

__all__ = ["Source", "io_errors"]

_BLOCK = 1 << 23  # bytes read at once: a large file is never in memory twice
_BOM = "\ufeff"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


class Source:
    """A file, gzipped or not, or standard input.

    Parameters
    ----------
    path
        The file; none for standard input.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.name = "standard input" if path is None else path.name
        self.place = "standard input" if path is None else str(path)
        self.is_gzipped = path is not None and path.suffix.lower() == ".gz"

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open for reading; what the system or gzip complains about becomes an InputError."""
        with io_errors(self.place):
            if self.path is None:
                yield sys.stdin.buffer
            elif self.is_gzipped:
                with gzip.open(self.path) as stream:
                    yield stream  # type: ignore[misc]
            else:
                with self.path.open("rb") as stream:
                    yield stream

    def text_blocks(self) -> Iterator[str]:
        r"""Yield the text in blocks that end with ``\n``, all but the last; a byte order mark is dropped.

        Raises
        ------
        EmptyCorpusError
            If there is no byte.
        InputError
            If it cannot be read, has a zero byte or is not UTF-8; the message gives line and byte.
        """
        with self.open() as stream:
            n_bytes, n_lines = 0, 0
            begun: list[bytes] = []  # the blocks of a line whose end has not come yet
            while True:
                read = stream.read(_BLOCK)
                cut = read.rfind(b"\n") + 1
                if read and not cut:
                    begun.append(read)
                    continue
                data, begun = b"".join([*begun, read[:cut]]), [read[cut:]]
                if data:
                    text = self._decode(data, n_bytes, n_lines)
                    yield text.removeprefix(_BOM) if n_bytes == 0 else text
                if not read:
                    break
                n_bytes += len(data)
                n_lines += data.count(b"\n")
        if n_bytes == 0 and data in (b"", _BOM.encode()):
            raise EmptyCorpusError(f"{self.place} is empty: give a file with one sentence or more")

    def lines(self) -> Iterator[str]:
        r"""Yield the lines without their ends (``\n`` or ``\r\n``, nothing else ends a line)."""
        for block in self.text_blocks():
            lines = block.replace("\r\n", "\n").split("\n")
            if not lines[-1]:
                lines.pop()
            yield from lines

    def _decode(self, data: bytes, n_bytes: int, n_lines: int) -> str:
        """Decode a block that comes after `n_bytes` bytes and `n_lines` lines."""
        if n_bytes == 0 and data[:2] in _UTF16_BOMS:
            raise InputError(f"{self.place} is UTF-16: convert it with {self._iconv('UTF-16')}")
        if b"\0" in data:
            position = data.index(b"\0")
            line = n_lines + data.count(b"\n", 0, position) + 1
            raise InputError(
                f"{self.place} is a binary file: zero byte in line {line} (byte {n_bytes + position}); give a text file"
            )
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = n_lines + data.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"{self.place} is not UTF-8: byte 0x{data[error.start]:02X} in line {line} (byte "
                f"{n_bytes + error.start}); convert it with {self._iconv('WINDOWS-1252')} or from what it is in"
            ) from None

    def _iconv(self, encoding: str) -> str:
        name = self.name.removesuffix(".gz")
        return f"iconv -f {encoding} -t UTF-8 {name} > utf8-{name}"


@contextmanager
def io_errors(place: str) -> Iterator[None]:
    """Turn what the system or gzip complains about into an InputError that names `place`."""
    try:
        yield
    except EOFError:
        raise InputError(f"{place} ends too early: the gzip file is cut off; copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{place} is no intact gzip file ({error}); if it is not gzipped, drop .gz") from None
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror or error}") from None
