"""The base of all studies: stages that lead to targets, of which missing ones are computed, and a result."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from textassay.errors import unknown_name
from textassay_lab.meta_evaluation.reproduction import Reproduction
from textassay_lab.papers.presets import scale_in_words
from textassay_lab.papers.stages import Done, Stage, Stages, with_inputs


class StagedStudy(ABC):
    """A study; subclasses define the stages and the result, and say their name, scale and seed."""

    name: str
    scale: Any
    seed: int

    def __init__(self, folder: Path, progress: Callable[[str, int, int], None] | None = None) -> None:
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
        """Compute the missing stages, and return their number."""
        for kind in only:
            if kind not in self.kinds:
                raise unknown_name("stage", kind, self.kinds)
        return self.stages.compute(
            [stage for stage in self.all_stages() if stage.kind in only] if only else self.targets
        )

    def seconds(self) -> dict[str, float]:
        """Return the total seconds of the stages of each kind when they were computed."""
        spent: dict[str, float] = {}
        for stage, done in self._all_done():
            spent[stage.kind] = spent.get(stage.kind, 0.0) + done.seconds
        return spent

    def warning_notes(self, *, but: str | None = None) -> list[str]:
        """Return the warnings of stages, each with their kind and number; those that contain `but` are left out."""
        warned = Counter(
            f"{stage.kind}: {message}"
            for stage, done in self._all_done()
            for message in done.warnings
            if but is None or but not in message
        )
        return [f"{message} ({count} stages)" for message, count in warned.items()]

    def settings(self, **chosen: Any) -> dict[str, Any]:
        """Return the settings of every study, with those of this one before seed and version."""
        return {
            "study": self.name,
            "scale": self.scale.name,
            **scale_in_words(self.scale),
            **chosen,
            "seed": self.seed,
            "version": version("textassay"),
        }

    def _all_done(self) -> Iterator[tuple[Stage, Done]]:
        for stage in self.all_stages():
            done = self.stages.done(stage)
            if done is not None:
                yield stage, done

    def done(self, stage: Stage) -> Done:
        """Return a stage that is done."""
        done = self.stages.done(stage)
        assert done is not None, f"{stage.label} is not done"
        return done

    def outcome(self, stage: Stage) -> Any:
        """Return the result of a stage that is done."""
        return self.done(stage).result
