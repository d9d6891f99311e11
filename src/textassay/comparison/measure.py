"""The cells of a comparison, one for each metric and corpus, computed once and kept in a folder.

Each estimate is one file, named by the content it was computed from, so that a comparison can resume: its JSON
document, its warnings, and the arrays of its evidence. The name is a hash of metric, settings, both corpora, seed and
version. A file is written under a temporary name and then renamed, so a killed run leaves nothing half-written and two
runs in one folder cannot harm each other. An unreadable file counts as absent. An explanation is a JSON document.

A folder holds one set of settings: its report is not replaced by one with another seed, real text or settings.
Generators, metrics and the version of textassay may change.
"""

import hashlib
import io
import json
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, BinaryIO, Self
from weakref import WeakValueDictionary

import numpy as np

from textassay.comparison.comparison import Comparison, RealText
from textassay.corpus.array_files import drop_pages
from textassay.corpus.corpus import Corpus
from textassay.corpus.documents import parse_json
from textassay.errors import InputError, OutputError, TextassayError, TooFewSentencesError, UnavailableError
from textassay.estimate import Estimate, Evidence
from textassay.execution.tasks import map_tasks
from textassay.execution.threads import recorded_warnings
from textassay.inspection.dependence import Examined
from textassay.metric.base import Metric, Shared
from textassay.storage import atomic_write, remove_stale_drafts

RESULTS = "results.json"
_LEARNT_FROM = ("fit_real", "prior", "train")  # settings that a comparison has where dd learns from more than its texts
_OF_TEXTS = {"fit_real": "--fit-real", "prompts": "--prompt-column", "train": "--train"}  # settings that are hashes
# Texts and tokens a side: where there are more, one generator is measured after another, to limit memory
_AT_ONCE, _TOKENS_AT_ONCE = 30_000, 3_000_000
_ARRAYS = tuple(each.name for each in fields(Evidence))

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Task:
    """One corpus to measure against one real corpus; `name` is its row of the table.

    With too few texts a `requested` task may raise; the others are left out. `senseless` maps the names of metrics that
    make no sense for it to the reason; `instead`, to a metric that is computed in place of the one of that name.
    """

    name: str
    texts: Examined
    requested: bool = True
    senseless: Mapping[str, str] = field(default_factory=dict)
    instead: Mapping[str, Metric] = field(default_factory=dict)

    @property
    def generated(self) -> Corpus:
        """The generated side, in the groups that were found."""
        return self.texts.generated

    @property
    def real(self) -> Corpus:
        """The real side."""
        return self.texts.real


@dataclass(frozen=True)
class Cell:
    """One metric for one task: an estimate, or the reason why there is none, and its warnings."""

    estimate: Estimate | None
    error: str | None
    warnings: tuple[str, ...] = ()


def estimate_key(*parts: object) -> str:
    """Return the name under which an estimate is kept: a hash of everything that decides its value."""
    return hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=16).hexdigest()


class StoredEvidence(Evidence):
    """Evidence in a file of the store, read whenever it is asked for: of hundreds of generators it fills the memory."""

    def __init__(self, path: Path) -> None:
        object.__setattr__(self, "_path", path)

    def __getattribute__(self, name: str) -> Any:
        return self._read()[name] if name in _ARRAYS else super().__getattribute__(name)

    def __reduce__(self) -> tuple[type[Evidence], tuple[Any, ...]]:
        """Return the arrays themselves: where it is sent, the file may not be."""
        return Evidence, tuple(self._read().values())

    def _read(self) -> dict[str, Any]:
        path: Path = super().__getattribute__("_path")
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                return {name: kept.get(name) for name in _ARRAYS}
        except Exception as error:  # a damaged file raises anything
            raise InputError(f"{path}, which this comparison reads, is missing or damaged") from error


class EstimateStore:
    """Estimates in a folder, which then holds their evidence; without a folder, in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[str, tuple[Estimate, tuple[str, ...]]] = {}
        self._new_folders: list[Path] = []  # folders that were not there before, inner ones first
        self._written: list[Path] = []
        self._is_full = False
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
            path = self._folder / f"{key}.npz"
            with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                document = parse_json(str(kept["document"]))
                estimate = Estimate.from_dict(document["estimate"])
                for name in _ARRAYS:
                    kept.get(name)  # raises where it is damaged
            return replace(estimate, evidence=StoredEvidence(path)), tuple(document["warnings"])
        except Exception:  # a damaged file raises anything
            return None

    def save(self, key: str, estimate: Estimate, warnings: tuple[str, ...] = ()) -> Estimate:
        """Store `estimate` and its warnings under `key`, and return it, its evidence where it is stored.

        Where the disk is full the run goes on: what was computed is worth more than what is kept of it.
        """
        if self._folder is None:
            self._memory[key] = (estimate, warnings)
            return estimate
        evidence = estimate.evidence or Evidence(None, None)
        arrays = {name: getattr(evidence, name) for name in _ARRAYS}
        document = json.dumps({"estimate": estimate.to_dict(), "warnings": warnings})
        try:
            with self._file(f"{key}.npz") as file:
                content = io.BytesIO()  # a disk that is full would leave a half-written archive to NumPy
                known = {name: array for name, array in arrays.items() if array is not None}
                np.savez(content, document=np.array(document), **known)
                file.write(content.getbuffer())
        except OutputError as error:
            self._go_on(error)
            return estimate
        return replace(estimate, evidence=estimate.evidence and StoredEvidence(self._folder / f"{key}.npz"))

    def load_document(self, key: str) -> Any:
        """Return the JSON document stored under `key`, or None; documents are stored in folders only."""
        if self._folder is None:
            return None
        try:
            kept = parse_json((self._folder / f"{key}.json").read_text(encoding="ascii"))
            return kept["document"] if kept["checksum"] == _checksum(kept["document"]) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save_document(self, key: str, document: Mapping[str, Any]) -> None:
        """Store a JSON-ready document under `key`."""
        if self._folder is None:
            return
        try:
            with self._file(f"{key}.json") as file:
                file.write(json.dumps({"checksum": _checksum(document), "document": document}).encode("ascii"))
        except OutputError as error:
            self._go_on(error)

    def _go_on(self, error: OutputError) -> None:
        if not self._is_full:
            warnings.warn(f"{error}; the run continues, but its results are not stored there", stacklevel=3)
        self._is_full = True

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


def _checksum(document: Any) -> int:
    return zlib.crc32(json.dumps(document, allow_nan=False).encode("ascii"))


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}; choose another --out") from error


def measure_cells(
    metrics: Sequence[Metric],
    tasks: Sequence[Task],
    *,
    seed: int,
    store: EstimateStore,
    strict: bool,
    version: str,
    progress: Progress | None = None,
) -> dict[tuple[str, str], Cell]:
    """Return the cell of every (task name, metric name).

    Metrics of one family share work, which is forgotten after the family's last task.
    """
    families: dict[str, list[Metric]] = {}
    for metric in metrics:
        families.setdefault(metric.declaration.family, []).append(metric)
    total = len(families) * len(tasks)
    done = 0
    cells: dict[tuple[str, str], Cell] = {}

    def tell(part: _Part) -> None:
        if progress is not None:
            progress(f"{families[part.family][0].declaration.name} of {part.task.name}", done, total)

    def missing() -> Iterator[_Part]:
        nonlocal done
        for family, of_family in families.items():
            for task in tasks:
                part = _Part(family, task, {}, {})
                for metric in of_family:
                    reason = task.senseless.get(metric.name)
                    if reason is not None:
                        cells[task.name, metric.name] = Cell(None, reason)
                        continue
                    measured_by = task.instead.get(metric.name, metric)
                    key = cell_key(measured_by, task.texts, seed=seed, version=version)
                    stored = store.load(key)
                    if stored is not None:
                        cells[task.name, metric.name] = Cell(stored[0], None, stored[1])
                        continue
                    part.keys[metric.name] = key
                    part.metrics[metric.name] = measured_by
                if part.keys:
                    yield part
                else:
                    tell(part)
                    done += 1

    measure = _Measure(seed, strict)
    threads = at_once(corpus for task in tasks for corpus in (task.generated, task.real))
    for part, measured in map_tasks(measure, missing(), tell=tell, threads=threads):
        for name, cell in measured.items():
            if cell.estimate is not None:
                cell = replace(cell, estimate=store.save(part.keys[name], cell.estimate, cell.warnings))
            cells[part.task.name, name] = cell
        done += 1
    if progress is not None:
        progress("done", total, total)
    return {
        (task.name, metric.name): cells[task.name, metric.name]
        for of_family in families.values()
        for task in tasks
        for metric in of_family
    }


def at_once(corpora: Iterable[Corpus]) -> bool:
    """Return whether several of these may be measured at once, each by one thread."""
    return all(len(corpus) <= _AT_ONCE and len(corpus.tokens) <= _TOKENS_AT_ONCE for corpus in corpora)


def cell_key(metric: Metric, texts: Examined, *, seed: int, version: str) -> str:
    """Return the key of an estimate in the store: a hash of everything that can change it."""
    found = texts.dependence
    return estimate_key(
        *(metric.name, metric.level, metric.key, seed, version),
        *(part for corpus in (texts.generated, texts.real) for part in _content(metric, corpus)),
        *((found.label, found.can_be_told, found.is_across, found.may_be_collapse) if found.label else ()),
    )


def _content(metric: Metric, corpus: Corpus) -> tuple[str, str]:
    """Return hashes of the text of `corpus`, and of its columns if `metric` reads them."""
    return corpus.fingerprint, corpus.columns_fingerprint if metric.reads_columns else ""


@dataclass(frozen=True)
class _Part:
    """The metrics of a family that are to be computed for a task, and the keys of their estimates, by name."""

    family: str
    task: Task
    keys: dict[str, str]
    metrics: dict[str, Metric]


class _Measure:
    """Computes a part of the cells; what the metrics of a family share is kept as long as that family goes on."""

    def __init__(self, seed: int, strict: bool) -> None:
        self._seed = seed
        self._strict = strict
        self._latest = Shared()
        self._of_families: WeakValueDictionary[str, Shared] = WeakValueDictionary()  # of the latest one, and in use
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["_Measure"], tuple[Any, ...]]:
        """Return what makes one that shares nothing yet."""
        return _Measure, (self._seed, self._strict)

    def __call__(self, part: _Part) -> dict[str, Cell]:
        """Return the cells by the name of their metrics."""
        with self._lock:
            self._latest = shared = self._of_families.setdefault(part.family, Shared())
        with shared.used():
            cells = {name: self._cell(metric, part.task) for name, metric in part.metrics.items()}
        shared.forget(part.task.generated)
        drop_pages()
        return cells

    def _cell(self, metric: Metric, task: Task) -> Cell:
        if not metric.is_valid(task.texts.dependence):
            return Cell(None, task.texts.dependence.reason)
        try:
            with recorded_warnings() as messages:
                estimate = metric.estimate_examined(task.texts, seed=self._seed)
        except (TooFewSentencesError, UnavailableError) as error:
            if self._strict and task.requested:
                raise type(error)(f"{task.name}: {error}") from None
            return Cell(None, str(error))
        return Cell(estimate, None, tuple(dict.fromkeys(map(str, messages))))


def check_same_comparison(folder: Path, comparison: Comparison) -> None:
    """Raise where `folder` holds the report of another real text or of other settings than `comparison` has."""
    check_same_settings(
        folder, real=comparison.real, level=comparison.level, seed=comparison.seed, settings=comparison.settings
    )


def check_same_settings(
    folder: Path, *, real: RealText | None, level: float, seed: int, settings: Mapping[str, Any]
) -> None:
    """Raise if `folder` holds the report of another real text or of other settings; unknown settings pass.

    Without `real`, only settings are compared.
    """
    before = _before(folder)
    old_settings = {"seed": before.get("seed"), "level": before.get("level"), **_mapping(before.get("settings"))}
    new_settings = {"seed": seed, "level": level, **settings}
    changed = [
        f"{_OF_TEXTS[name]} of other texts"
        if name in _OF_TEXTS
        else f"{name} {old_settings[name]}, now {new_settings[name]}"
        for name in new_settings
        if old_settings.get(name) is not None
        and new_settings[name] is not None
        and old_settings[name] != new_settings[name]
    ]
    if real is not None:
        left_out = [name for name in _LEARNT_FROM if old_settings.get(name) is not None and name not in new_settings]
        changed += [
            f"with {_OF_TEXTS.get(name, f'--{name} {old_settings[name]}')} before, now without" for name in left_out
        ]
    old_real = _mapping(before.get("real"))
    prepared_alike = old_settings.get("tokenizer") in (None, settings.get("tokenizer"))
    if real is not None and old_real and prepared_alike and old_real.get("fingerprint") != real.fingerprint:
        changed.append(_other_real(old_real, real))
    if changed:
        raise InputError(
            f"{folder} contains results for other settings ({'; '.join(changed)}): choose another --out, give the "
            f"same settings, or delete {folder / RESULTS}"
        )


def _other_real(before: Mapping[str, Any], now: RealText) -> str:
    """Return how the real text differs from that of before, as which another hash is kept."""
    if (before.get("texts") or before.get("fingerprint")) == (now.texts or now.fingerprint):
        ways = "without" if now.texts is None else "with" if before.get("texts") is None else "other"
        return f"the same real text, now {ways} groups (--group-column, --prompt-column)"
    old, new = (f"{text.get('n_sentences')} texts of {text.get('name')}" for text in (before, now.to_dict()))
    if old == new:
        return f"real text with the same name and size, {old}, but different content"
    return f"real text {old}, now {new}"


def _before(folder: Path) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads((folder / RESULTS).read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
