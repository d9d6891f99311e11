"""Scheduled sampling: settings, presets, the schedules, and the public class.

How it learns is in `scheduled_sampling_model`.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import Annotated, ClassVar

from textassay.errors import OptionError, unknown_name
from textassay.fields import Option
from textassay_lab.generator.lstm import Lstm, LstmSettings
from textassay_lab.generator.text_generator import Presets

SCHEDULES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"constant": ("k",), "exponential": ("k",), "inverse-sigmoid": ("k",), "linear": ("k", "c", "least")}
)

_CALL = re.compile(r"([\w-]+)(?:\((.*)\))?")


@dataclass(frozen=True)
class SamplingSchedule:
    """A probability for each step i of training, from 0."""

    name: str  # one of `SCHEDULES`
    # ``constant``: the probability, in [0, 1]. ``exponential``: k^i, in (0, 1). ``inverse-sigmoid``: k / (k + exp(i /
    # k)), at least 1; half is reached at i = k ln k. ``linear``: the first probability, in [0, 1].
    k: float = 1.0
    # ``linear`` alone: max(least, k - c i); `c` above 0, `least` at least 0 and below 1
    c: float = 0.0
    least: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in SCHEDULES:
            raise unknown_name("schedule", self.name, SCHEDULES)
        allowed = {
            "constant": (0 <= self.k <= 1, "in [0, 1]"),
            "exponential": (0 < self.k < 1, "above 0 and below 1"),
            "inverse-sigmoid": (1 <= self.k < math.inf, "at least 1"),
            "linear": (0 <= self.k <= 1, "in [0, 1]"),
        }
        fits, requirement = allowed[self.name]
        if not fits:
            raise OptionError(f"k of the schedule {self.name} must be {requirement}, got {self.k:g}")
        if self.name == "linear" and not 0 < self.c < math.inf:
            raise OptionError(f"c of the schedule linear must be above 0, got {self.c:g}")
        if not 0 <= self.least < 1:
            raise OptionError(f"least of the schedule linear must be at least 0 and below 1, got {self.least:g}")

    @classmethod
    def from_text(cls, text: str) -> "SamplingSchedule":
        """Parse a schedule such as ``linear(k=1,c=0.001,least=0.1)``."""
        call = _CALL.fullmatch(text.strip())
        if call is None:
            raise OptionError(f"a schedule must look like linear(k=1,c=0.001,least=0.1), got '{text}'")
        name, inside = call[1], call[2] or ""
        if name not in SCHEDULES:
            raise unknown_name("schedule", name, SCHEDULES)
        numbers: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in inside.split(","))):
            key, _, value = (piece.strip() for piece in part.partition("="))
            if key not in SCHEDULES[name]:
                raise unknown_name(f"setting of the schedule {name}", key, SCHEDULES[name])
            if key in numbers:
                raise OptionError(f"the schedule {name} has {key} twice")
            try:
                numbers[key] = float(value)
            except ValueError:
                raise OptionError(f"{key} of the schedule {name} must be a number, got '{value}'") from None
        needed = [key for key in ("k", "c") if key in SCHEDULES[name]]
        missing = [key for key in needed if key not in numbers]
        if missing:
            spelt = ",".join(f"{key}=..." for key in needed)
            raise OptionError(f"the schedule {name} needs {' and '.join(missing)}: {name}({spelt})")
        return cls(name, **numbers)

    def __str__(self) -> str:
        """Return what `from_text` reads."""
        return f"{self.name}({','.join(f'{key}={getattr(self, key)!r}' for key in SCHEDULES[self.name])})"

    def prob_true(self, step: int) -> float:
        """Return the probability of the true token at `step`, from 0, in [0, 1]."""
        if self.name == "constant":
            return self.k
        if self.name == "exponential":
            return float(self.k**step)
        if self.name == "linear":
            return max(self.least, self.k - self.c * step)
        beyond = step / self.k - math.log(self.k)  # 1 / (1 + exp(beyond)), where neither side overflows
        return 1 / (1 + math.exp(beyond)) if beyond < 0 else math.exp(-beyond) / (1 + math.exp(-beyond))


@dataclass(eq=False, repr=False)
class ScheduledSamplingSettings(LstmSettings):
    """What can be set of scheduled sampling: what can of an LSTM, and how often it is shown its own words."""

    _: KW_ONLY
    sampling_schedule: Annotated[
        str,
        Option(
            "How often the true word is shown, such as 'linear(k=1,c=0.001,least=0.1)'; also constant(k), "
            "exponential(k), inverse-sigmoid(k)."
        ),
    ] = "inverse-sigmoid(k=1000)"
    greedy: Annotated[bool, Option("Show the most likely word instead of a drawn one.")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.schedule = SamplingSchedule.from_text(self.sampling_schedule)
        self.sampling_schedule = str(self.schedule)


class ScheduledSampling(Lstm):
    """LSTM that is also shown its own words in training.

    Settings: those of `Lstm`, `sampling_schedule` and `greedy`.
    """

    kind = "scheduled-sampling"
    implementation = "textassay_lab.generator.scheduled_sampling_model:ScheduledSamplingModel"
    settings_class = ScheduledSamplingSettings
    # those of the LSTM, with schedules of our own
    presets: ClassVar[Presets] = {
        "paper": {**Lstm.presets["paper"], "sampling_schedule": "inverse-sigmoid(k=8000)"},  # half after k ln k steps
        # with least=0, samples degenerate
        "small": {**Lstm.presets["small"], "sampling_schedule": "linear(k=1,c=0.00005,least=0.5)"},
        "tiny": {**Lstm.presets["tiny"], "sampling_schedule": "linear(k=1,c=0.0005,least=0.5)"},
    }
