"""LeakGAN's generator, guided by goals in the feature space of its discriminator.

Goals are functions of the tokens, so the probability of each next word is exact: it is a language model.
`textassay.adversarial` trains it.

Source: Guo et al., "Long Text Generation via Adversarial Training with Leaked Information", AAAI 2018.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, Self

from textassay.corpus import Corpus
from textassay.errors import OptionError, check_least, check_positive, check_range
from textassay.generator.base import MAX_WINDOW
from textassay.generator.leakgan_network import begin_reading, leakgan_shapes, new_leakgan_weights, read_on
from textassay.generator.one_length import OneLength
from textassay.training import History, Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor


_MAX_MEMORY = 1000  # goals, each kept for every sentence that is drawn


class LeakGanModel(OneLength):
    """Manager, worker and leaked features; a `LanguageModel` trained against a discriminator.

    Needs the extra ``neural``.
    """

    kind: ClassVar[str] = "leakgan"

    def __init__(
        self,
        width: int = 32,
        *,
        goal: int = 16,
        memory: int = 4,
        dimension: int = 64,
        filters: Sequence[Sequence[int]] = ((1, 100), (2, 100), (3, 100)),
        sharpness: float = 1.0,
        length: int | None = None,
        max_length: int = 200,
        batch_size: int = 128,
        seed: int = 0,
    ) -> None:
        super().__init__(Recipe(max_epochs=1), batch_size=batch_size, max_length=max_length, seed=seed)
        self.width, self.goal, self.memory, self.dimension = width, goal, memory, dimension
        self.filters = {pair[0]: pair[1] for pair in filters}
        self.sharpness, self.length = sharpness, length
        check_least(self, ("width", "goal", "dimension"), 1)
        check_range("memory", memory, 1, _MAX_MEMORY)
        check_range("length", length, 1, MAX_WINDOW)
        check_positive(self, ("sharpness",))
        if not self.filters or min(*self.filters, *self.filters.values()) < 1 or len(self.filters) < len(filters):
            raise OptionError(f"filters must be different windows of at least 1 with at least 1 filter, got {filters}")
        self.record = {"history": asdict(History())}

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        names = ("width", "goal", "memory", "dimension", "sharpness", "length", "max_length", "batch_size", "seed")
        own = {name: getattr(self, name) for name in names}
        return {**own, "filters": [list(pair) for pair in self.filters.items()]}

    @property
    def _title(self) -> str:
        sharpness = "" if self.sharpness == 1 else f", sharpness={self.sharpness:g}"
        length = "" if self.length is None else f", length={self.length}"
        return f"leakgan(width={self.width}, goal={self.goal}, memory={self.memory}{sharpness}{length})"

    def fit(self, train: Corpus, valid: Corpus | None = None, **settings: Any) -> Self:
        """Raise: it is trained against a discriminator."""
        raise OptionError(f"{self.name} is trained against a discriminator: use textassay.generators.LeakGan")

    def output(self, weights: "Mapping[str, Tensor]") -> "tuple[Tensor, Tensor | None]":
        """Return the matrix of the output layer, which has no bias."""
        return weights["worker output"], None

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights; `longest` does not matter."""
        sizes = {"width": self.width, "goal": self.goal, "dimension": self.dimension}
        return leakgan_shapes(n_types, **sizes, filters=self.filters)

    def new_weights(self, shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return initial weights."""
        return new_leakgan_weights(shapes, rng)

    def read(self, weights: "Mapping[str, Tensor]", tokens: "Tensor", rng: "torch.Generator | None" = None) -> "Tensor":
        """Return the worker's hidden state after each token, (B, L, (width + 1) x goal); there is no dropout."""
        return read_on(weights, tokens, self.begin(weights, len(tokens))).vectors * self.sharpness

    def begin(self, weights: "Mapping[str, Tensor]", n: int) -> "tuple[Tensor, ...]":
        """Return the state of `n` sentences; see `begin_reading`."""
        return begin_reading(weights, n, self.memory)

    def step(
        self, weights: "Mapping[str, Tensor]", state: "tuple[Tensor, ...]", tokens: "Tensor", position: int
    ) -> "tuple[Tensor, tuple[Tensor, ...]]":
        """Return the worker's hidden state, shape (B, (width + 1) x goal), and the next state."""
        reading = read_on(weights, tokens[:, None], state)
        return reading.vectors[:, 0] * self.sharpness, reading.state
