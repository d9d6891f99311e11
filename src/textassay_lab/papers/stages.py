"""A study as a graph of stages: each computed once and kept in a folder named by its settings.

The key of a stage is a hash of its kind, name, settings, input stages and the version of the software, so all keys are
known before anything runs. A run computes the missing stages of its targets, those of a level in parallel. A stage is
done when its document is there, which is written last and atomically; a killed run leaves a working folder, from whose
checkpoint a training resumes.
"""

import json
import time
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from textassay.comparison.measure import estimate_key
from textassay.corpus.documents import parse_json, read_document
from textassay.errors import OutputError, unknown_name
from textassay.execution.tasks import map_tasks
from textassay.storage import atomic_write, remove_stale_drafts
from textassay_lab.papers.paper import Scale
from textassay_lab.papers.reproduction import Reproduction

Progress = Callable[[str, int, int], None]

_DOCUMENT = "stage.json"
_said: ContextVar[list[str] | None] = ContextVar("said", default=None)


@dataclass(frozen=True)
class Done:
    """A finished stage: its folder, result, seconds and warnings."""

    folder: Path
    result: Any
    seconds: float
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Work:
    """The working environment of a stage."""

    folder: Path  # for its files; those of an interrupted run are still there
    inputs: Mapping["Stage", Done]
    tell: Callable[[str], None]  # reports progress, in a few words


@dataclass(frozen=True, eq=False)
class Stage:
    """One step of a study."""

    # such as ``train``, and such as ``LSTM_0.2``
    kind: str
    name: str
    settings: Mapping[str, Any]  # JSON-ready: with `inputs`, everything that decides the result
    # computes it and returns a JSON-ready result; other results are files in the folder, written atomically
    run: Callable[[Work], Any] = field(repr=False)
    inputs: tuple["Stage", ...] = ()

    @property
    def label(self) -> str:
        """Kind and name."""
        return f"{self.kind} {self.name}"

    @cached_property
    def key(self) -> str:
        """Hash of everything that decides the result."""
        settings = json.dumps(self.settings, sort_keys=True, allow_nan=False)
        return estimate_key(self.kind, self.name, settings, *(stage.key for stage in self.inputs), version("textassay"))

    @cached_property
    def level(self) -> int:
        """Length of the longest chain of stages before it."""
        return 1 + max((stage.level for stage in self.inputs), default=-1)


def with_inputs(targets: Sequence[Stage], wanted: Callable[[Stage], bool] = lambda _: True) -> list[Stage]:
    """Return the stages among `targets` and what they build on that are wanted, each once."""
    by_key: dict[str, Stage] = {}
    waiting = list(targets)
    while waiting:
        stage = waiting.pop()
        if stage.key not in by_key and wanted(stage):
            by_key[stage.key] = stage
            waiting.extend(stage.inputs)
    return list(by_key.values())


def leaves(tree: Any) -> Iterator[Stage]:
    """Yield the stages at any depth of mappings and tuples."""
    if isinstance(tree, Stage):
        yield tree
        return
    for one in tree.values() if isinstance(tree, Mapping) else tree:
        yield from leaves(one)


class Stages:
    """The stages of a study in a folder."""

    def __init__(self, folder: Path, progress: Progress | None = None) -> None:
        self._folder = folder.absolute()  # the processes of a cluster work elsewhere
        self._progress = progress
        self._done: dict[str, Done] = {}

    def folder_of(self, stage: Stage) -> Path:
        """Return the folder of `stage`, whether it is there or not."""
        slug = "".join(letter if letter.isalnum() or letter in ".-_" else "-" for letter in stage.label)
        return self._folder / f"{slug}-{stage.key[:16]}"

    def done(self, stage: Stage, *, whole: bool = True) -> Done | None:
        """Return `stage` if it is done; not `whole`: its files may have been left elsewhere, the result is here."""
        if stage.key in self._done:
            return self._done[stage.key]
        folder = self.folder_of(stage)
        try:
            document = parse_json(read_document(folder / _DOCUMENT))
            result = Done(folder, document["result"], document["seconds"], tuple(document["warnings"]))
            sizes = dict(document["files"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if document["key"] != stage.key:
            return None
        if any(not (path := folder / name).is_file() or path.stat().st_size != size for name, size in sizes.items()):
            return None if whole else result
        self._done[stage.key] = result
        return result

    def missing(self, targets: Sequence[Stage]) -> list[Stage]:
        """Return the missing stages for `targets`, inputs first."""
        wanted = with_inputs(targets, lambda stage: self.done(stage) is None)
        return sorted(wanted, key=lambda stage: (stage.level, stage.label))

    def compute(self, targets: Sequence[Stage]) -> int:
        """Compute the missing stages for `targets`, and return their number."""
        missing = self.missing(targets)
        total = len(missing)
        n_done = 0
        compute = _Compute(lambda label: self._tell(label, n_done, total))

        def ready(level: int) -> Iterator[_Ready]:
            for stage in missing:
                if stage.level == level:
                    done = {each: self.done(each) for each in stage.inputs}
                    inputs = {each: finished for each, finished in done.items() if finished is not None}
                    yield _Ready(stage, self.folder_of(stage), inputs)

        def tell(ready: _Ready) -> None:
            self._tell(ready.stage.label, n_done, total)

        with _warnings_by_stage():
            for level in sorted({stage.level for stage in missing}):
                for _ in map_tasks(compute, ready(level), tell=tell, threads=True):
                    n_done += 1
        if total:
            self._tell("done", total, total)
        return total

    def __reduce__(self) -> tuple[type["Stages"], tuple[Path]]:
        """Return what is sent to another process: progress is shown here."""
        return Stages, (self._folder,)

    def _tell(self, label: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(label, done, total)


class Study(ABC):
    """A study; subclasses define the stages and the result, and say their name, scale and seed."""

    name: str

    def __init__(self, folder: Path, scale: Scale, *, seed: int = 0, progress: Progress | None = None) -> None:
        self.scale, self.seed = scale, seed
        self.stages = Stages(folder / "stages", progress)

    @property
    @abstractmethod
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""

    @abstractmethod
    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""

    @property
    def kinds(self) -> list[str]:
        """Kinds of stages, in the order in which they are computed."""
        return list(dict.fromkeys(stage.kind for stage in self.all_stages()))

    def all_stages(self) -> list[Stage]:
        """Return all stages, each after those it builds on."""
        return sorted(with_inputs(self.targets), key=lambda stage: stage.level)

    def compute(self, only: Sequence[str] = ()) -> int:
        """Compute the missing stages, and return their number.

        `only`: kinds such as ``train``, or patterns of labels such as ``*LSTM_0.2*``: those stages, and what they need.
        """
        if not only:
            return self.stages.compute(self.targets)
        wanted = []
        for pattern in only:
            found = [stage for stage in self.all_stages() if stage.kind == pattern or fnmatchcase(stage.label, pattern)]
            if not found:
                raise unknown_name("stage", pattern, self.kinds)
            wanted += found
        return self.stages.compute(list(dict.fromkeys(wanted)))

    def seconds(self) -> dict[str, float]:
        """Return the total seconds of the stages of each kind when they were computed."""
        spent: dict[str, float] = {}
        for stage, done in self._all_done():
            spent[stage.kind] = spent.get(stage.kind, 0.0) + done.seconds
        return spent

    def warning_notes(self) -> list[str]:
        """Return the warnings of stages, each with their kind and number."""
        warned = Counter(f"{stage.kind}: {message}" for stage, done in self._all_done() for message in done.warnings)
        return [f"{message} ({count} stages)" for message, count in warned.items()]

    def settings(self, **chosen: Any) -> dict[str, Any]:
        """Return the settings of every study, with those of this one before seed and version."""
        return {
            "study": self.name,
            "scale": self.scale.name,
            **self.scale.in_words(),
            **chosen,
            "seed": self.seed,
            "version": version("textassay"),
        }

    def _all_done(self) -> Iterator[tuple[Stage, Done]]:
        for stage in self.all_stages():
            done = self.stages.done(stage, whole=False)
            if done is not None:
                yield stage, done

    def done(self, stage: Stage) -> Done:
        """Return a stage that is done, whether its files are here or not."""
        done = self.stages.done(stage, whole=False)
        assert done is not None, f"{stage.label} is not done"
        return done

    def read(self, tree: Any, read: Callable[[Any], Any]) -> Any:
        """Return nested mappings and tuples of stages with what `read` makes of the result of each.

        What is None is left out of mappings.
        """
        if isinstance(tree, Stage):
            return read(self.done(tree).result)
        if isinstance(tree, tuple):
            return tuple(self.read(one, read) for one in tree)
        values = {name: self.read(one, read) for name, one in tree.items()}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, eq=False)
class _Ready:
    """A stage to compute, whose inputs are there."""

    stage: Stage
    folder: Path
    inputs: Mapping[Stage, Done]


class _Compute:
    """Computes a stage in its folder; `tell` says how far it is, where there is somebody to tell."""

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        self._tell = tell

    def __reduce__(self) -> tuple[type["_Compute"], tuple[()]]:
        """Return what is sent to another process, where nobody is told."""
        return _Compute, ()

    def __call__(self, ready: _Ready) -> None:
        """Write the files of the stage, its document last."""
        stage, folder, tell = ready.stage, ready.folder, self._tell
        said: list[str] = []
        token = _said.set(said)
        begun = time.perf_counter()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            remove_stale_drafts(folder)
            with nullcontext() if tell is not None else _warnings_by_stage():
                say = (lambda text: None) if tell is None else lambda text: tell(f"{stage.label}: {text}")
                result = stage.run(Work(folder, ready.inputs, say))
            document = {
                "key": stage.key,
                "kind": stage.kind,
                "name": stage.name,
                "settings": stage.settings,
                "version": version("textassay"),
                "seconds": time.perf_counter() - begun,
                "warnings": list(dict.fromkeys(said)),
                "files": {
                    str(path.relative_to(folder)): path.stat().st_size
                    for path in sorted(folder.rglob("*"))
                    if path.is_file() and path.name != _DOCUMENT
                },
                "result": result,
            }
            with atomic_write(folder / _DOCUMENT) as file:
                file.write(json.dumps(document, allow_nan=False).encode())
        except OSError as error:
            raise OutputError(f"cannot write to {folder}: {error.strerror or error}; choose another --out") from error
        finally:
            _said.reset(token)


@contextmanager
def _warnings_by_stage() -> Iterator[None]:
    """Collect the warnings of each stage; filters are set here, once, since all threads share them."""
    with warnings.catch_warnings():
        show_warning = warnings.showwarning

        def keep(message: Any, category: type[Warning], *where: Any, **rest: Any) -> None:
            said = _said.get()
            if said is None:
                show_warning(message, category, *where, **rest)
            else:
                said.append(str(message))

        warnings.simplefilter("always")
        warnings.showwarning = keep
        yield
