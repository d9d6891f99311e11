"""The loop of adversarial training: phases of rounds, validation, monitors, checkpoints, collapse.

The training (`AdversarialTrainer`) defines a round; its randomness comes from the seed, the phase and the number of
the round. So a run that was killed resumes from its checkpoint, which is always between two rounds, and on a CPU with
the same number of threads ends with the same bits.
"""

import json
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from textassay.errors import InputError, OptionError, OutputError, check_range
from textassay.estimate import json_ready
from textassay_lab.training.backend import threads
from textassay_lab.training.checkpoint import load_checkpoint, save_checkpoint
from textassay_lab.training.history import Reading

if TYPE_CHECKING:
    from torch import Tensor


Tensors = Mapping[str, "Tensor"]

_ADVICE = "lower learning rates, fewer rounds or longer pre-training may help"


@dataclass(frozen=True)
class Round:
    """One round: its number from 1, over all phases, its phase, and its finite losses, rewards and other values."""

    number: int
    phase: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class RoundsHistory:
    """A whole training."""

    # in order; after a collapse also those whose weights were not kept
    rounds: tuple[Round, ...] = ()
    # `Reading.step` and `Reading.epoch` are both the number of the round before the reading, 0 before the first
    validations: tuple[Reading, ...] = ()
    readings: tuple[Reading, ...] = ()
    kept: int = 0  # number of the round whose weights were kept
    # why training ended early, with advice, in one line; None where it did not
    stopped: str | None = None

    @property
    def ending(self) -> dict[str, Any]:
        """The entry in the record of a model, JSON-ready: the round that is kept, of how many, why it ended."""
        return {"kept": self.kept, "rounds": len(self.rounds), "stopped": self.stopped}


class AdversarialTrainer(Protocol):
    """A generator and a discriminator trained against each other."""

    def state(self) -> Tensors:
        """Return the state by name: weights, optimisers' moments, drawn text; memory may be shared."""
        ...

    def restore(self, tensors: Tensors) -> None:
        """Restore a copy of `state`; raises `InputError` where it does not fit."""
        ...

    def round(self, phase: str, number: int) -> Mapping[str, float]:
        """Run round `number`, from 1, of `phase`, and return losses, rewards and the like, always the same names."""
        ...

    def validate(self) -> Mapping[str, float]:
        """Return values of the present weights, such as nats per token of validation text; may be empty."""
        ...


@dataclass(frozen=True)
class Phase:
    """`n_rounds` rounds of one kind, at least 0; `validated`: whether validation and monitors run between them."""

    name: str
    n_rounds: int
    validated: bool = True


@dataclass(frozen=True)
class Collapse:
    """The rule of mode collapse: a value below `least` for `patience` rounds ends the training."""

    # of a value of rounds, such as the share of distinct sentences; rounds without it do not count
    name: str = "distinct"
    least: float = 0.1
    patience: int = 3  # rounds in a row, at least 1


COLLAPSE = Collapse("variety", least=0.1)  # share of the bigrams of real text: SeqGAN, RankGAN, LeakGAN


def train_in_rounds(
    training: AdversarialTrainer,
    phases: Sequence[Phase],
    *,
    keep: str | None = None,
    collapse: Collapse | None = None,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 60.0,
    config: Mapping[str, Any] | None = None,
    validate_every: int = 1,
    monitors: Mapping[str, Callable[[int], float | None]] | None = None,
    monitor_every: int = 10,
    progress: Callable[[str, int, int], None] | None = None,
) -> RoundsHistory:
    """Train through all phases; afterwards the weights are those of the round that is kept."""
    _check(phases, checkpoint_seconds, validate_every, monitor_every, collapse)
    if checkpoint is not None and not checkpoint.parent.is_dir():
        raise OutputError(f"cannot write the checkpoint {checkpoint}: there is no folder {checkpoint.parent}")
    settings = {
        "config": dict(config or {}),
        "keep": keep,
        "collapse": None if collapse is None else asdict(collapse),
        "every": [validate_every, monitor_every],
        "phases": [[phase.name, phase.n_rounds] for phase in phases[:-1]] + [phases[-1].name],
        "version": version("textassay"),
    }
    loop = _Loop(
        training=training,
        phases=phases,
        keep=keep,
        collapse=collapse,
        checkpoint=checkpoint,
        checkpoint_seconds=checkpoint_seconds,
        settings=json.loads(json.dumps(settings)),  # as it comes back from a checkpoint
        every=(validate_every, monitor_every),
        monitors=monitors or {},
        progress=progress,
    )
    with threads():
        if checkpoint is not None and checkpoint.exists():
            loop.load(checkpoint)
        return loop.run()


def _check(
    phases: Sequence[Phase], seconds: float, validate_every: int, monitor_every: int, collapse: Collapse | None
) -> None:
    if not phases or len({phase.name for phase in phases}) < len(phases):
        raise OptionError(f"phases must have different names, got {[phase.name for phase in phases]}")
    for phase in phases:
        check_range(f"rounds of {phase.name}", phase.n_rounds, 0)
    if not seconds >= 0:  # infinity is allowed
        raise OptionError(f"checkpoint_seconds must be at least 0, got {seconds}")
    check_range("validate_every", validate_every, 1)
    check_range("monitor_every", monitor_every, 1)
    check_range("patience", None if collapse is None else collapse.patience, 1)


@dataclass(kw_only=True)
class _Loop:
    """The settings of `train_in_rounds`, and its progress."""

    training: AdversarialTrainer
    phases: Sequence[Phase]
    keep: str | None
    collapse: Collapse | None
    checkpoint: Path | None
    checkpoint_seconds: float
    settings: Mapping[str, Any]
    every: tuple[int, int]  # rounds between validations, between readings
    monitors: Mapping[str, Callable[[int], float | None]]
    progress: Callable[[str, int, int], None] | None
    rounds: list[Round] = field(default_factory=list)
    validations: list[Reading] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    best: "dict[str, Tensor]" = field(default_factory=dict)
    lowest: tuple[float, int] = (math.inf, 0)  # validation value of `best`, and the number of its round
    written: float = field(default_factory=lambda: time.monotonic())

    @property
    def n_done(self) -> int:
        return len(self.rounds)

    def run(self) -> RoundsHistory:
        """Run the remaining rounds, and restore the weights that are kept."""
        first, kept, stopped = 0, 0, None
        for phase in self.phases:
            kept, stopped = self._run_phase(phase, first)
            if stopped is not None:
                break
            first += phase.n_rounds
        if self.best:
            self.training.restore(self.best)
            kept = self.lowest[1]
        return RoundsHistory(tuple(self.rounds), tuple(self.validations), tuple(self.readings), kept, stopped)

    def _run_phase(self, phase: Phase, first: int) -> tuple[int, str | None]:
        """Run the rest of a phase, before which there are `first` rounds.

        Returns the number of the round of the weights, and why training stopped, None if it did not.
        """
        last = first + phase.n_rounds
        if self.n_done >= last:
            return self.n_done, None
        if phase.validated and self.n_done == first:
            self._validate(first, (True, True), good=True)
        good, n_good, n_bad = self._copied(), self.n_done, 0
        while self.n_done < last:
            number = self.n_done + 1
            values = {name: float(value) for name, value in self.training.round(phase.name, number - first).items()}
            finite = {name: value for name, value in values.items() if math.isfinite(value)}
            self.rounds.append(Round(number, phase.name, finite))
            wrong = self._broken(values)
            is_broken = wrong is not None
            if not is_broken:
                wrong = self._collapsed(values)
                if phase.validated:
                    due = [(number - first) % every == 0 or number == last for every in self.every]
                    self._validate(number, (due[0], due[1]), good=wrong is None)
            if wrong is None:
                good, n_good, n_bad = self._copied(), number, 0
                if number == last or time.monotonic() - self.written >= self.checkpoint_seconds:
                    self._write(number)
            else:
                n_bad += 1
                if is_broken or n_bad >= cast(Collapse, self.collapse).patience:
                    self.training.restore(good)
                    self._write(n_good)
                    return n_good, f"{phase.name}, round {number - first}: {wrong}; {_ADVICE}"
            if self.progress is not None:
                text = ", ".join(f"{name} {value:.3f}" for name, value in values.items())
                n_rounds = sum(each.n_rounds for each in self.phases)
                self.progress(f"{phase.name}, round {number - first}: {text}", number, n_rounds)
        return last, None

    def _broken(self, values: Mapping[str, float]) -> str | None:
        """Return which value or weight is not finite after a round; None where all are."""
        import torch

        for name, value in values.items():
            if not math.isfinite(value):
                return f"{name} is {value}"
        sums = [tensor.sum().to("cpu", torch.float64) for tensor in self.training.state().values()]
        return None if bool(torch.stack(sums).isfinite().all()) else "a weight is not finite"

    def _collapsed(self, values: Mapping[str, float]) -> str | None:
        """Return why the values of a round show mode collapse; None if they do not."""
        rule = self.collapse
        value = math.inf if rule is None else values.get(rule.name, math.inf)
        if rule is None or value >= rule.least:
            return None
        return (
            f"the generator collapses: {rule.name} is {value:.3g}, below {rule.least:g}, {rule.patience} times in a row"
        )

    def _validate(self, number: int, due: tuple[bool, bool], *, good: bool) -> None:
        """Run validation and monitors, where they are due, after round `number`."""
        if due[0]:
            results: dict[str, float | None] = json_ready(self.training.validate())
            if self.keep is not None and self.keep not in results:
                raise InputError(f"the best round cannot be kept: validation has {sorted(results)}, not '{self.keep}'")
            if results:
                self.validations.append(Reading(number, number, results))
            value = None if self.keep is None else results[self.keep]
            if good and value is not None and value < self.lowest[0]:
                self.best, self.lowest = self._copied(), (value, number)
        if due[1] and self.monitors:
            values = {name: monitor(number) for name, monitor in self.monitors.items()}
            self.readings.append(Reading(number, number, json_ready(values)))

    def _copied(self) -> "dict[str, Tensor]":
        return {name: tensor.detach().clone() for name, tensor in self.training.state().items()}

    def _write(self, n_rounds: int) -> None:
        """Write the checkpoint after the first `n_rounds`; the weights must be those."""
        import torch

        if self.checkpoint is None:
            return
        tensors = {f"now/{name}": tensor for name, tensor in self.training.state().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best.items()}
        document = {
            **self.settings,
            "threads": torch.get_num_threads(),
            "rounds": [asdict(each) for each in self.rounds[:n_rounds]],
            "validations": [asdict(each) for each in self.validations if each.step <= n_rounds],
            "readings": [asdict(each) for each in self.readings if each.step <= n_rounds],
            "lowest": self.lowest if self.best else None,
        }
        save_checkpoint(self.checkpoint, tensors, document)
        self.written = time.monotonic()

    def load(self, path: Path) -> None:
        """Resume from the checkpoint at `path`; raise `InputError` where it does not fit, warn of other threads."""
        import torch

        tensors, document = load_checkpoint(path)
        changed = [name for name, value in self.settings.items() if document.get(name) != value]
        if changed:
            raise InputError(
                f"the checkpoint {path} was made with another {' and '.join(changed)}: delete it to start again, or "
                "use another folder"
            )
        n_rounds = sum(phase.n_rounds for phase in self.phases)
        if len(document["rounds"]) > n_rounds:
            raise InputError(
                f"the checkpoint {path} has {len(document['rounds'])} rounds, more than the {n_rounds} of this run: "
                "set more rounds, or delete it to start again"
            )
        if document["threads"] != torch.get_num_threads():
            warnings.warn(
                f"the checkpoint {path} was made with {document['threads']} threads, but this run has "
                f"{torch.get_num_threads()}: the last bits of the weights may differ from an uninterrupted run",
                stacklevel=3,
            )
        parts = {part: part_of(tensors, part) for part in ("now", "best")}
        self.training.restore(parts["now"])
        self.best = parts["best"]
        self.rounds = [Round(**each) for each in document["rounds"]]
        self.validations = [Reading(**each) for each in document["validations"]]
        self.readings = [Reading(**each) for each in document["readings"]]
        if document["lowest"] is not None:
            self.lowest = (document["lowest"][0], document["lowest"][1])


def mean_values(steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each value over steps, which have the same names; {} without steps."""
    return {name: float(np.mean([each[name] for each in steps])) for name in (steps[0] if steps else {})}


def part_of(tensors: Tensors, part: str) -> "dict[str, Tensor]":
    """Return the tensors named ``PART/...``, without that prefix."""
    return {name.removeprefix(f"{part}/"): tensor for name, tensor in tensors.items() if name.startswith(f"{part}/")}
