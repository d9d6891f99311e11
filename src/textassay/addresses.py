"""Files at addresses, such as ``s3://bucket/real.txt``: all that fsspec knows, read in parts, with one-line errors.

Web pages (http and https) are no part of this: they are downloaded into the user's cache (`textassay.corpus.source`).
"""

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Self

from textassay.errors import InputError, MissingExtraError, OutputError, TextassayError

EXTRA = "remote"
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)  # two letters at least: C:\ is a disk
_BLOCK = 1 << 23  # bytes asked for at once
_ACCESS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE (a public bucket: FSSPEC_S3_ANON=true)",
    "gs": "run 'gcloud auth application-default login', or set GOOGLE_APPLICATION_CREDENTIALS",
}
_ACCESS["s3a"], _ACCESS["gcs"] = _ACCESS["s3"], _ACCESS["gs"]


def is_address(source: object) -> bool:
    """Return whether `source` is an address that fsspec opens: ``s3://`` and the like, but not http or https."""
    return isinstance(source, str) and _scheme(source) not in ("", "http", "https")


def place_of(source: str | os.PathLike[str]) -> Path | str:
    """Return the path that `source` is, or names as ``file://``; an address as it is."""
    if not is_address(source):
        return Path(source)
    assert isinstance(source, str)
    return Path(source[len("file://") :]) if _scheme(source) == "file" else source


def name_of(address: str) -> PurePosixPath:
    return PurePosixPath(PurePosixPath(address.rstrip("/")).name)


def file_system(address: str) -> tuple[Any, str]:
    """Return fsspec's file system of an address, and the path in it."""
    with address_errors(address):
        import fsspec

        return fsspec.core.url_to_fs(address)  # type: ignore[no-any-return]


def open_address(address: str) -> BinaryIO:
    """Open a file for reading from its start; it can be read in parts and at any place."""
    return io.BufferedReader(_Stream.of(address), _BLOCK)


def fetch(address: str, folder: Path) -> Path:
    """Copy a file or a folder into `folder` and return the path of the copy."""
    system, path = file_system(address)
    copy = folder / name_of(address)
    with address_errors(address):
        system.get(path, str(copy), recursive=True)
    return copy


def size_of(address: str) -> int | None:
    """Return the bytes of a file; None where its store does not say."""
    system, path = file_system(address)
    with address_errors(address):
        size: int | None = system.size(path)
        return size


class _Stream(io.RawIOBase):
    """A file at an address; what goes wrong while it is read is an InputError."""

    def __init__(self, address: str, file: Any) -> None:
        self._address, self._file = address, file

    @classmethod
    def of(cls, address: str) -> Self:
        system, path = file_system(address)
        with address_errors(address):
            return cls(address, system.open(path, "rb", block_size=_BLOCK))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with address_errors(self._address):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@contextmanager
def address_errors(address: str, *, writing: bool = False) -> Iterator[None]:
    """Turn what a file system raises into an error of one line: an OutputError where it is being written to."""
    kind: type[TextassayError] = OutputError if writing else InputError
    try:
        yield
    except TextassayError:
        raise
    except ImportError:  # fsspec, or what it needs for this kind of address
        raise MissingExtraError(f"{_scheme(address)}://", EXTRA) from None
    except Exception as error:
        raise kind(f"{address} cannot be {'written' if writing else 'read'}: {_reason(error, address)}") from None


def _reason(error: Exception, address: str) -> str:
    words = str(error.strerror if isinstance(error, OSError) and error.strerror else error).strip()
    words = words.partition("\n")[0] or type(error).__name__
    scheme = _scheme(address)
    if "Credential" in type(error).__name__ or "redential" in words:
        return f"no credentials; {_ACCESS.get(scheme, 'see the documentation of its fsspec file system')}"
    if isinstance(error, PermissionError):
        return f"access is denied ({words}); {_ACCESS.get(scheme, 'check the credentials')}"
    if isinstance(error, FileNotFoundError):
        return "there is no such file or bucket"
    if isinstance(error, IsADirectoryError):
        return "it is a folder; give a file"
    if isinstance(error, ValueError) and "rotocol" in words:
        return f"fsspec does not know {scheme}:// addresses"
    if re.search(
        "connect|endpoint|timed? ?out|resolve|name or service", f"{type(error).__name__} {words}", re.IGNORECASE
    ):
        return f"no answer ({words}); check the address, the endpoint and the network"
    return f"{words} ({type(error).__name__})"


def _scheme(source: str) -> str:
    match = _ADDRESS.match(source)
    return "" if match is None else match[1].lower()
