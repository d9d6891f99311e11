"""Where text is read from: a file, here or at an address, perhaps compressed; standard input; a web address.

It is read as UTF-8 in blocks of whole lines; errors name line and byte. A web address is downloaded into the user's
cache, only on request; copies of other addresses live as long as the run.
"""

import atexit
import difflib
import gzip
import os
import re
import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path, PurePath
from tempfile import mkdtemp
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from textassay.addresses import fetch, name_of, open_address, place_of, size_of
from textassay.corpus.limits import MIN_LINE_BYTES, document_limit, input_limit, input_too_long, text_too_long
from textassay.errors import EmptyCorpusError, InputError, MissingExtraError

COMPRESSED = (".gz", ".zst")

_BLOCK = 1 << 23  # bytes read at once: a large file is never in memory twice
_HEAD = 1 << 20  # bytes from which it is told what a file is
_BOM = "\ufeff"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_MAX_CHARACTER_BYTES = 4
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_CONTINUING = bytes(range(0x80, 0xC0))  # bytes inside a character
_COUNTED_BLOCKS = 32  # how far a line that is too long is read to tell its length
_TIMEOUT = 30  # seconds without an answer


class Source:
    """A file, on this machine or at an address, perhaps compressed; or standard input."""

    def __init__(self, place: Path | str | None) -> None:
        """Take a path, an address such as ``s3://bucket/file.txt.gz``, or None for standard input."""
        self.path = place if isinstance(place, Path) else None
        self.address = place if isinstance(place, str) else None
        file: PurePath | None = self.path if self.address is None else name_of(self.address)
        self.name = "standard input" if file is None else file.name
        self.place = "standard input" if place is None else str(place)
        suffixes = [] if file is None else [suffix.lower() for suffix in file.suffixes]
        self.compression = suffixes.pop() if suffixes[-1:] and suffixes[-1] in COMPRESSED else None
        self.kind = suffixes[-1] if suffixes else ""  # suffix of what is in it
        self._begun: _Begun | None = None  # of what can be read only once: standard input, or a pipe

    @cached_property
    def head(self) -> bytes:
        """The first bytes of what is in the file, all of them if they are few."""
        with self.open() as stream:
            head = stream.read(_HEAD)
        if self._begun is not None:
            self._begun.head = head
        return head

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open for reading, decompressed; errors of the system and of the compression become InputErrors."""
        with io_errors(self.place):
            if self.address is None and (self.path is None or not self.path.is_file()):
                self._begun = self._begun or _Begun(sys.stdin.buffer if self.path is None else self.path.open("rb"))
                yield self._begun  # type: ignore[misc]
                return
            with self.open_as_it_is() as stored, decompressed(stored, self.compression) as stream:
                yield stream

    def open_as_it_is(self) -> BinaryIO:
        """Open the file without decompressing it."""
        if self.address is not None:
            return open_address(self.address)
        assert self.path is not None
        return self.path.open("rb")

    def text_blocks(
        self, *, max_bytes: int | None = None, max_line: int | None = None, by_line: bool = True
    ) -> Iterator[str]:
        r"""Yield the text in blocks that end with ``\n`` (but the last), without the byte order mark.

        Where it is read `by_line`, a file whose lines all end as those of old Macs, in ``\r``, is refused.
        """
        with self.open() as stream:
            limit = input_limit(self.size or 0) if max_bytes is None else max_bytes
            self._check_size(limit)
            n_bytes, n_lines, n_read = 0, 0, 0
            begun: list[bytes] = []  # the start of a line whose end has not been read yet
            while True:
                read = stream.read(_BLOCK)
                n_read += len(read)
                if b"\0" in read:
                    self._decode(b"".join([*begun, read]), n_bytes, n_lines)
                if n_read > limit:
                    raise input_too_long(self.place, limit, size=self.size)
                cut = read.rfind(b"\n") + 1
                if read and not cut:
                    begun.append(read)
                    if by_line and n_bytes == 0:
                        self._check_line_ends(read)
                    if max_line is not None and n_read - n_bytes > _MAX_CHARACTER_BYTES * max_line:
                        n = _characters_of_line(begun, stream)
                        raise text_too_long(f"{self.place} line {n_lines + 1}", n, max_line)
                    continue
                data, begun = b"".join([*begun, read[:cut]]), [read[cut:]]
                if data:
                    text = self._decode(data, n_bytes, n_lines)
                    if by_line and n_bytes == 0:
                        self._check_line_ends(data)
                    yield text.removeprefix(_BOM) if n_bytes == 0 else text
                if not read:
                    break
                n_bytes += len(data)
                n_lines += data.count(b"\n")
                if n_lines * MIN_LINE_BYTES > limit:
                    raise input_too_long(self.place, limit, n_lines=n_lines, size=self.size)
        if n_bytes == 0 and data in (b"", _BOM.encode()):
            raise EmptyCorpusError(f"{self.place} is empty: give a file with at least one text")

    def text(self) -> str:
        """Return the whole content, at most `document_limit` bytes."""
        return "".join(self.text_blocks(max_bytes=document_limit(), by_line=False))

    def lines(self, *, max_line: int | None = None) -> Iterator[str]:
        r"""Yield the lines without their ends, which are ``\n`` or ``\r\n`` only, of at most `max_line` characters."""
        for block in self.text_blocks(max_line=max_line):
            lines = block.replace("\r\n", "\n").split("\n")
            if not lines[-1]:
                lines.pop()
            yield from lines

    @cached_property
    def size(self) -> int | None:
        """Bytes of the file as it is stored; None where nobody says."""
        return size_of(self.address) if self.address is not None else self.path.stat().st_size if self.path else None

    def _check_size(self, limit: int) -> None:
        """Raise before reading if the file is known to be too long."""
        if self.compression is None and self.size is not None and self.size > limit:
            raise input_too_long(self.place, limit, size=self.size)

    def _decode(self, data: bytes, n_bytes: int, n_lines: int) -> str:
        """Decode a block that follows `n_bytes` bytes and `n_lines` lines."""
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
                f"{n_bytes + error.start}); convert it with {self._iconv('WINDOWS-1252')} or from its own encoding"
            ) from None

    def _check_line_ends(self, data: bytes) -> None:
        """Raise if the first lines of a file are ended by carriage returns alone, so that they would be one text."""
        inside = data.rstrip(b"\r\n")
        if b"\n" not in inside and _LONE_RETURN.search(inside):
            raise InputError(
                f"{self.place} has line ends of old Macs (\\r alone), so that it is one line: convert it with "
                + self._through("tr '\\r' '\\n'", "unix")
            )

    def _iconv(self, encoding: str) -> str:
        return self._through(f"iconv -f {encoding} -t UTF-8", "utf8")

    def _through(self, command: str, prefix: str) -> str:
        """Return how to convert the file by `command`, in the pipe where it is standard input."""
        name = self.name.removesuffix(self.compression or "")
        return f"{command} < {name} > {prefix}-{name}" if self.path or self.address else f"{command} in the pipe"


class _Begun:
    """What is read only once, whose first bytes are put back after a look at them."""

    def __init__(self, stream: BinaryIO) -> None:
        self.head = b""
        self._stream = stream

    def read(self, n: int) -> bytes:
        head, self.head = self.head, b""
        read = head or self._stream.read(n)
        if not read and self._stream is not sys.stdin.buffer:
            self._stream.close()
        return read


@contextmanager
def decompressed(stored: BinaryIO, compression: str | None) -> Iterator[Any]:
    """Yield the file `stored` for reading what was compressed: ``.gz``, ``.zst`` or None."""
    if compression is None:
        yield stored
    elif compression == ".gz":
        with gzip.open(stored) as stream:
            yield stream
    else:
        try:
            from pyarrow import CompressedInputStream
        except ImportError:
            raise MissingExtraError("reading .zst files", "parquet") from None
        with CompressedInputStream(stored, "zstd") as stream:
            yield stream


def _characters_of_line(begun: list[bytes], stream: BinaryIO) -> int | None:
    """Return the length in characters of the line that starts with `begun`; None if its end is far away."""
    n = sum(len(block.translate(None, _CONTINUING)) for block in begun)
    for _ in range(_COUNTED_BLOCKS):
        block = stream.read(_BLOCK)
        line, end, _ = block.partition(b"\n")
        n += len(line.translate(None, _CONTINUING))
        if end or not block:
            return n
    return None


@contextmanager
def io_errors(place: str) -> Iterator[None]:
    """Turn errors of the system and of gzip into an InputError that names `place`."""
    try:
        yield
    except EOFError:
        raise InputError(f"{place} ends too early: the gzip file is cut off; copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{place} is not a valid gzip file ({error}); if it is not gzipped, drop .gz") from None
    except OSError as error:
        if "Truncated compressed stream" in str(error):  # as pyarrow says it
            raise InputError(f"{place} ends too early: the zstd file is cut off; copy or download it again") from None
        if "ZSTD" in str(error):
            raise InputError(f"{place} is not a valid zstd file; if it is not compressed, drop .zst") from None
        raise InputError(f"{place} cannot be read: {error.strerror or error}") from None


def check_exists(place: Path | str) -> None:
    """Raise unless the file or folder exists; the message suggests similar names. Addresses: see `Source.open`."""
    if isinstance(place, str):
        return
    path = place
    if "\0" in str(path):
        raise InputError(f"no file can be called {str(path)!r}: the name contains a zero byte")
    try:
        exists = path.exists()
    except OSError as error:  # a name may be too long
        raise InputError(f"no file can be called {str(path)!r}: {error.strerror or error}") from None
    if not exists:
        raise InputError(f"no file {path}{nearest_files(path)}")


def nearest_files(path: Path) -> str:
    """Return a hint for a message: similar names, or that the folder is missing."""
    folder = path.parent
    if not folder.is_dir():
        return f": there is no folder {folder}"
    try:
        near = difflib.get_close_matches(path.name, os.listdir(folder), n=3, cutoff=0.6)  # noqa: PTH208
    except OSError:
        near = []
    return f"; did you mean {' or '.join(str(folder / name) for name in near)}?" if near else ""


def is_url(source: object) -> bool:
    """Return whether `source` is an http or https address."""
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))


def download(url: str) -> Path:
    """Return the local copy of the file at `url`, downloaded unless it is cached."""
    import hashlib
    import logging

    import pooch
    import requests

    name = Path(unquote(urlsplit(url).path)).name or "download.txt"
    folder = Path(pooch.os_cache("textassay")) / hashlib.sha256(url.encode()).hexdigest()[:16]
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        path = pooch.retrieve(
            url,
            known_hash=None,
            fname=name,
            path=folder,
            downloader=pooch.HTTPDownloader(progressbar=False, timeout=_TIMEOUT),
        )
    except (requests.RequestException, OSError) as error:
        response = getattr(error, "response", None)
        reason = type(error).__name__
        if response is not None:
            reason = f"{response.status_code} {response.reason}"
            response.close()
        raise InputError(f"{url} cannot be downloaded ({reason}); check the address and the network") from None
    finally:
        logger.setLevel(level)
    return Path(path)


def local_file(source: str | os.PathLike[str]) -> Path:
    """Return the path of a file or folder, of its download, or of a copy, removed at exit, of what is at an address."""
    if is_url(source):
        return download(str(source))
    place = place_of(source)
    return place if isinstance(place, Path) else fetch(place, Path(mkdtemp(dir=_copies())))


@cache
def _copies() -> str:
    folder = mkdtemp(prefix="textassay-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
