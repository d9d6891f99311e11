"""Estimates and explanations on disk, named by the content they were computed from, so that a comparison can resume.

Each estimate is one file: its JSON document, its warnings, and the arrays of its evidence. The name is a hash of
metric, settings, both corpora, seed and version. A file is written under a temporary name and then renamed, so a killed
run leaves nothing half-written and two runs in one folder cannot harm each other. An unreadable file counts as absent.
An explanation is a JSON document.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from textassay.corpus import parse_json
from textassay.errors import OutputError, TextassayError
from textassay.estimate import Estimate, Evidence
from textassay.storage import atomic_write, remove_stale_drafts

_ARRAYS = ("real_terms", "generated_terms", "real_scores", "generated_scores")


def estimate_key(*parts: object) -> str:
    """Return the name under which an estimate is kept: a hash of everything that decides its value."""
    return hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=16).hexdigest()


class EstimateStore:
    """Estimates in a folder; without a folder, in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[str, tuple[Estimate, tuple[str, ...]]] = {}
        self._new_folders: list[Path] = []  # folders that were not there before, inner ones first
        self._written: list[Path] = []
        if folder is not None:
            with _writing(folder):
                self._new_folders = [each for each in (folder, *folder.parents) if not each.exists()]
                folder.mkdir(parents=True, exist_ok=True)
                remove_stale_drafts(folder)

    def __enter__(self) -> Self:
        """Return the store; if the input is refused inside the ``with`` block, its files are removed afterwards."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the files written by this store if the input was refused; after a full disk, complete files stay."""
        if self._folder is None:
            return
        with suppress(OSError):
            remove_stale_drafts(self._folder)
        if isinstance(error, TextassayError) and not isinstance(error, OutputError):
            with suppress(OSError):
                for path in self._written:
                    path.unlink(missing_ok=True)
                for folder in self._new_folders:
                    folder.rmdir()  # raises where others have put something in

    def load(self, key: str) -> tuple[Estimate, tuple[str, ...]] | None:
        """Return the estimate stored under `key` and its warnings, or None."""
        if self._folder is None:
            return self._memory.get(key)
        try:
            with (self._folder / f"{key}.npz").open("rb") as file, np.load(file, allow_pickle=False) as kept:
                document = parse_json(str(kept["document"]))
                estimate = Estimate.from_dict(document["estimate"])
                arrays = {name: kept.get(name) for name in _ARRAYS}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return replace(estimate, evidence=Evidence(**arrays)), tuple(document["warnings"])

    def save(self, key: str, estimate: Estimate, warnings: tuple[str, ...] = ()) -> None:
        """Store `estimate` and its warnings under `key`."""
        if self._folder is None:
            self._memory[key] = (estimate, warnings)
            return
        evidence = estimate.evidence or Evidence(None, None)
        arrays = {name: getattr(evidence, name) for name in _ARRAYS}
        document = json.dumps({"estimate": estimate.to_dict(), "warnings": warnings})
        with self._file(f"{key}.npz") as file:
            np.savez(
                file,
                document=np.array(document),
                **{name: array for name, array in arrays.items() if array is not None},
            )

    def load_document(self, key: str) -> Any:
        """Return the JSON document stored under `key`, or None; documents are stored in folders only."""
        if self._folder is None:
            return None
        try:
            return parse_json((self._folder / f"{key}.json").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None

    def save_document(self, key: str, document: Mapping[str, Any]) -> None:
        """Store a JSON-ready document under `key`."""
        if self._folder is None:
            return
        with self._file(f"{key}.json") as file:
            file.write(json.dumps(document, allow_nan=False).encode("ascii"))

    @contextmanager
    def _file(self, name: str) -> Iterator[BinaryIO]:
        """Open a file of the folder for writing; it appears complete or not at all."""
        assert self._folder is not None
        path = self._folder / name
        with _writing(self._folder):
            is_new = not path.exists()
            with atomic_write(path) as file:
                yield file
        if is_new:
            self._written.append(path)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}; choose another --out") from error
