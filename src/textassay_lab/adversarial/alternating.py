"""The original generative adversarial networks: losses, and training that alternates between the two sides.

Source: Goodfellow et al., "Generative Adversarial Nets", NeurIPS 2014, algorithm 1: the discriminator ascends
E log D(x) + E log(1 - D(G(z))), the generator descends E log(1 - D(G(z))). Sampled tokens pass no gradient to the
generator, so its loss here must be differentiable in another way, such as over soft outputs or all outcomes.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn.functional import softplus

from textassay.errors import check_range
from textassay.seeding import stream
from textassay_lab.adversarial.generator_training import Player
from textassay_lab.adversarial.rounds import part_of


def discriminator_loss(real: Tensor, generated: Tensor) -> Tensor:
    """Return -E log D - E log(1 - D) in nats, a scalar, from log-odds of being real, shapes (N,) and (M,)."""
    return softplus(-real).mean() + softplus(generated).mean()


def generator_loss(generated: Tensor, *, saturating: bool = True) -> Tensor:
    """Return E log(1 - D) in nats, or -E log D where not `saturating`, a scalar, from log-odds of being real, (M,)."""
    return -softplus(generated).mean() if saturating else softplus(-generated).mean()


class Alternating:
    """An `AdversarialTrainer` of two networks."""

    def __init__(
        self,
        generator: Player,
        discriminator: Player,
        losses: tuple[Callable[[torch.Generator], Tensor], Callable[[torch.Generator], Tensor]],
        *,
        discriminator_steps: int = 1,
        generator_steps: int = 1,
        phases: Mapping[str, tuple[int, int]] | None = None,
        seed: int = 0,
        validate: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        check_range("discriminator_steps", discriminator_steps, 0)
        check_range("generator_steps", generator_steps, 0)
        self.players = {"discriminator": discriminator, "generator": generator}
        self._losses = dict(zip(self.players, losses, strict=True))
        self._steps = (discriminator_steps, generator_steps)
        self._phases = dict(phases or {})
        self._seed = seed
        self._validate = validate

    def state(self) -> dict[str, Tensor]:
        return {
            f"{side}/{name}": each for side, player in self.players.items() for name, each in player.tensors().items()
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        for side, player in self.players.items():
            player.restore(part_of(tensors, side))

    def round(self, phase: str, number: int) -> dict[str, float]:
        """Take the steps of each side; return the mean loss of each that took any."""
        values = {}
        for (side, player), n_steps in zip(self.players.items(), self._phases.get(phase, self._steps), strict=True):
            seed = int(stream(self._seed, "adversarial", phase, number, side).integers(2**63))
            rng = torch.Generator(player.device).manual_seed(seed)
            losses = [player.descend(self._losses[side](rng)) for _ in range(n_steps)]
            if losses:
                values[f"{side} loss"] = sum(losses) / len(losses)
        return values

    def validate(self) -> Mapping[str, float]:
        return self._validate()
