"""Read files of numbers that come with texts: features, log-probabilities, ratings. Nothing is ever unpickled."""

import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.limits import current_limits, input_too_long
from textassay.corpus.source import COMPRESSED, Source, check_exists, local_file
from textassay.errors import InputError

SIDES = ("real", "generated")

Array = npt.NDArray[Any]
_SIDE_SUFFIXES = (".npz", ".json", ".npy", ".txt", ".csv")


def read_features(source: str | os.PathLike[str]) -> Array:
    """Return the vectors in a file, one row per text, shape (N, d); `attach_columns` checks that they fit the texts."""
    path = _file(source)
    if path.suffix == ".npz":
        arrays = _read_npz(path)
        if len(arrays) != 1:
            raise InputError(f"{path} must contain one array, got {len(arrays)}: {', '.join(sorted(arrays)) or 'none'}")
        (array,) = arrays.values()
    elif path.suffix == ".npy":
        array = _read_npy(path)
    else:
        raise InputError(f"{path}: features must be a .npy file (numpy.save) or a .npz file with one array")
    if array.ndim != 2:
        raise InputError(f"{path} must have one row per text, shape (N, d), got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path} must contain real numbers, got the type {array.dtype}")
    return array


def read_side_columns(source: str | os.PathLike[str], *, n_generated: int, n_real: int) -> tuple[Array, Array]:
    """Return one number per generated and per real text, shapes (n_generated,) and (n_real,).

    `source`: .npz or .json with ``real`` and ``generated``; or .txt, .csv (one number per line) or .npy with the real
    texts first, then the generated ones. `attach_columns` checks the range.
    """
    path = _file(source)
    kind = path.suffix if path.suffix not in COMPRESSED else Path(path.stem).suffix
    if kind in (".txt", ".csv"):
        return _split(path, _read_lines(path), n_real, n_generated)
    if kind == ".npy":
        return _split(path, _read_npy(path), n_real, n_generated)
    if kind == ".npz":
        arrays: Mapping[str, Any] = _read_npz(path)
    elif kind == ".json":
        arrays = _read_json(path)
    else:
        raise InputError(f"{path}: unknown kind of file (suffix '{kind}'); valid: {', '.join(_SIDE_SUFFIXES)}")
    missing = [side for side in SIDES if side not in arrays]
    if missing:
        names = ", ".join(sorted(map(str, arrays))) or "nothing"
        raise InputError(
            f"{path} must contain 'real' and 'generated', but '{missing[0]}' is missing (it contains {names})"
        )
    real, generated = (_side(path, side, arrays[side], n) for side, n in zip(SIDES, (n_real, n_generated), strict=True))
    return generated, real


def _file(source: str | os.PathLike[str]) -> Path:
    path = local_file(source)
    check_exists(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file")
    return path


def _read_npy(path: Path) -> Array:
    with _numpy_errors(path, "numpy.save"):
        return np.lib.format.open_memmap(path, mode="r")


def _read_npz(path: Path) -> dict[str, Array]:
    with _numpy_errors(path, "numpy.savez"), path.open("rb") as stream, zipfile.ZipFile(stream) as members:
        _check_arrays(members, path)
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}


def _check_arrays(archive: zipfile.ZipFile, path: Path) -> None:
    """Raise if the arrays, or the sizes in their headers, exceed the limit on one input."""
    limit = current_limits().max_input
    if sum(member.file_size for member in archive.infolist()) > limit:
        raise input_too_long(str(path), limit)
    for member in archive.infolist():
        with archive.open(member) as stream:
            version = np.lib.format.read_magic(stream)
            read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else _read_later_header
            shape, _, dtype = read_header(stream)
            if math.prod(shape) * dtype.itemsize > member.file_size:
                raise ValueError(f"{member.filename} is shorter than its header says")


def _read_later_header(stream: IO[bytes]) -> Any:
    return np.lib.format.read_array_header_2_0(stream)


@contextmanager
def _numpy_errors(path: Path, save: str) -> Iterator[None]:
    """Turn NumPy's errors about files that are not its own into an InputError."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except Exception as error:  # a damaged header or archive raises anything
        reason = "objects instead of numbers" if "object" in str(error).lower() else "another format, or truncated"
        raise InputError(
            f"{path} is not a {path.suffix} file of numbers ({reason}): save the array with {save}"
        ) from None


def _read_json(path: Path) -> Mapping[str, Any]:
    text = Source(path).text()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f", line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f'{path}{place}: broken JSON; write {{"real": [...], "generated": [...]}}') from None
    if not isinstance(document, Mapping):
        kind = type(document).__name__
        raise InputError(f'{path} must hold {{"real": [...], "generated": [...]}}, got a {kind}')
    return document


def _read_lines(path: Path) -> Array:
    numbers = []
    for number, line in enumerate(Source(path).lines(), start=1):
        try:
            numbers.append(float(line))
        except ValueError:
            printed = repr(line if len(line) <= 40 else f"{line[:40]}...") if line.strip() else "an empty line"
            raise InputError(
                f"{path}, line {number}: must contain one number, got {printed}; the file has no header"
            ) from None
    return np.array(numbers, dtype=np.float64)


def _split(path: Path, values: Array, n_real: int, n_generated: int) -> tuple[Array, Array]:
    if values.shape != (n_real + n_generated,):
        got = f"{len(values)}" if values.ndim == 1 else f"shape {values.shape}"
        raise InputError(
            f"{path} must hold {n_real + n_generated} numbers, first those of the {n_real:,} real texts, then those "
            f"of the {n_generated} generated ones, got {got}"
        )
    return values[n_real:], values[:n_real]


def _side(path: Path, side: str, values: Any, n: int) -> Array:
    what = f"{path}: '{side}' must be a list of {n} numbers, one for each {side} text"
    if isinstance(values, list):  # from JSON, which may hold null, strings or lists
        for row, value in enumerate(values, start=1):
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise InputError(f"{what}, number {row} is {json.dumps(value)[:40]}")
        try:
            values = np.array([float(value) for value in values], dtype=np.float64)
        except OverflowError:
            raise InputError(f"{what}, but one is too large") from None
    if not isinstance(values, np.ndarray):
        raise InputError(f"{what}, got a {type(values).__name__}")
    if values.shape != (n,):
        raise InputError(f"{what}, got {len(values) if values.ndim == 1 else f'shape {values.shape}'}")
    return values
