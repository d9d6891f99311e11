"""Results of the study ``gan-as-lm``, for its tables, figures and findings.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.approximation import RuleCurve
from textassay.study.gan_as_lm.published import MLE, SEQGAN, WGAN

FloatArray = npt.NDArray[np.float64]

LEAKGAN = "LeakGAN"  # which the paper trained, and gives no numbers of
LSTM = "LSTM"  # a language model of ours, which the paper has from the literature
WGAN_SOFT = f"{WGAN}, soft"  # the mean of its distributions instead of its draws
SHORT: Mapping[str, str] = {
    MLE: "SeqGAN, before",
    SEQGAN: "SeqGAN",
    WGAN: "recurrent GAN",
    WGAN_SOFT: "recurrent GAN, soft",
}  # what does not stand here is short as it is


@dataclass(frozen=True)
class TextCost:
    """Cost of a text, or a part of it, under one generator; sums over S stretches of the text."""

    window: int  # Characters of a window; each begins without context
    mode: str  # ``multinomial``, ``onehot`` or ``soft``
    # Draws, and what a character that was never drawn has instead of probability 0
    n_samples: int
    floor: float
    # Windows; characters in none; share of scored characters that the generator does not know
    n_windows: int
    n_dropped: int
    unknown_share: float
    sizes: tuple[int, ...]  # Scored characters of each stretch, S numbers
    # Bits of each stretch, S numbers each: ``plain`` and ``corrected``; of a softmax also ``exact`` and ``expected``
    # (what ``plain`` is above it on average over all draws). ``zeros``: characters that were never drawn.
    sums: Mapping[str, tuple[float, ...]]

    @property
    def n_characters(self) -> int:
        """Scored characters."""
        return sum(self.sizes)

    def mean(self, *names: str) -> float:
        """Return the mean over characters of the sum of some of `sums`; a minus before a name subtracts it."""
        return float(self._added(names).sum() / self.n_characters)

    def terms(self, *names: str) -> FloatArray:
        """Return S terms whose mean is `mean` and whose variance, over S, is that of it (ratio estimate)."""
        sizes, value = np.array(self.sizes, dtype=np.float64), self.mean(*names)
        return np.asarray(value + (self._added(names) - value * sizes) / sizes.mean())

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready values."""
        return {
            **{name: value for name, value in vars(self).items() if name not in ("sizes", "sums")},
            "sizes": list(self.sizes),
            "sums": {name: list(values) for name, values in self.sums.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TextCost":
        """Return the cost that `to_dict` gave as `data`."""
        sums = {name: tuple(values) for name, values in data["sums"].items()}
        return cls(**{**data, "sizes": tuple(data["sizes"]), "sums": sums})

    def _added(self, names: Sequence[str]) -> FloatArray:
        total = np.zeros(len(self.sizes))
        for name in names:
            total += (-1 if name.startswith("-") else 1) * np.array(self.sums[name.removeprefix("-")])
        return total


@dataclass(frozen=True)
class GanResults:
    """All measurements; a run is a training from its own seed."""

    # T1 and T2: `LSTM`, `MLE`, `SEQGAN`, `LEAKGAN`, `WGAN`, `WGAN_SOFT` and `UNIFORM` to runs, at the window of each.
    # Run k of `SEQGAN` goes on from run k of `MLE`.
    costs: Mapping[str, tuple[TextCost, ...]]
    # T5: all but the last of these to window to runs, all over the same text
    lengths: Mapping[str, Mapping[int, tuple[TextCost, ...]]]
    # T4: `SEQGAN` and `LEAKGAN` to, of each run, round of the adversarial training, 0 before it, to cost; a run that
    # ended early has no later rounds
    along: Mapping[str, tuple[Mapping[int, TextCost], ...]]
    convergence: Mapping[str, Mapping[int, TextCost]]  # Model with a softmax to N to cost, of its first run
    # T3: `LSTM`, `SEQGAN`, `LEAKGAN`, `WGAN` and `WGAN_SOFT` to the curves of several parts of the text, of the first
    # run
    rules: Mapping[str, tuple[RuleCurve, ...]]
    n_types: int  # Characters there are
    # `WGAN` and `WGAN_SOFT` as in `lengths`, on validation text: the window of least cost is theirs in `costs`, `rules`
    on_validation: Mapping[str, Mapping[int, tuple[TextCost, ...]]] = field(default_factory=dict)
    # Run of a training against a discriminator to why it ended early
    stopped: Mapping[str, str] = field(default_factory=dict)
    # How much there is of what; kind of stage to how long its stages took; all that decides the numbers, JSON-ready
    sizes: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # What a reader must know, sentences; warnings of stages among them


def curve_from_dict(data: Mapping[str, Any]) -> RuleCurve:
    """Return the curve whose `RuleCurve.to_dict` is `data`."""
    known = {name: value for name, value in data.items() if name not in ("slope", "error_slope", "spread")}
    lists = {name: tuple(known[name]) for name in ("sizes", "differences")}
    errors = None if known["errors"] is None else tuple(known["errors"])
    return RuleCurve(**{**known, **lists, "errors": errors})
