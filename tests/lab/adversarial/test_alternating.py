"""Two sides against each other on a toy whose optimum is known, and what a side keeps."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from textassay.errors import InputError, OptionError
from textassay_lab.adversarial.alternating import Alternating, discriminator_loss, generator_loss
from textassay_lab.adversarial.generator_training import Player
from textassay_lab.adversarial.rounds import Phase, train_in_rounds

REAL = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)
BEGIN = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)


def _toy() -> tuple[Alternating, Player, Player]:
    """Return a generator of four symbols and a discriminator of them; losses are exact sums over all symbols."""
    generator = Player({"logits": BEGIN.log().requires_grad_()}, learning_rate=0.01, betas=(0.0, 0.9))
    discriminator = Player({"log odds": torch.zeros(4, dtype=torch.float64, requires_grad=True)}, learning_rate=0.02)

    def expected(terms: Tensor, probabilities: Tensor) -> Tensor:
        return (terms * probabilities).sum()

    def of_discriminator(rng: torch.Generator) -> Tensor:
        odds = discriminator.weights["log odds"]
        drawn = torch.softmax(generator.weights["logits"], 0).detach()
        softplus = torch.nn.functional.softplus
        return expected(softplus(-odds), REAL) + expected(softplus(odds), drawn)

    def of_generator(rng: torch.Generator) -> Tensor:
        odds = discriminator.weights["log odds"].detach()
        return expected(-torch.nn.functional.softplus(odds), torch.softmax(generator.weights["logits"], 0))

    losses = (of_discriminator, of_generator)
    phases = {"discriminator": (20, 0)}
    return (
        Alternating(generator, discriminator, losses, discriminator_steps=20, phases=phases),
        generator,
        discriminator,
    )


@pytest.mark.slow
@pytest.mark.feature("JJ-15")
def test_the_best_discriminator_is_p_over_p_plus_q_and_the_game_ends_where_q_is_p() -> None:
    training, generator, discriminator = _toy()
    history = train_in_rounds(training, [Phase("discriminator", 60)])
    found = torch.sigmoid(discriminator.weights["log odds"])
    assert torch.allclose(found, REAL / (REAL + BEGIN), atol=1e-3)
    divergence = sum(  # Jensen-Shannon: the value of the game is 2 JS - 2 log 2
        float((p * (p / ((REAL + BEGIN) / 2)).log()).sum()) / 2 for p in (REAL, BEGIN)
    )
    assert history.rounds[-1].values["discriminator loss"] == pytest.approx(2 * math.log(2) - 2 * divergence, abs=1e-4)
    train_in_rounds(training, [Phase("adversarial", 400)])
    assert torch.allclose(torch.softmax(generator.weights["logits"], 0), REAL, atol=0.02)
    assert torch.allclose(torch.sigmoid(discriminator.weights["log odds"]), torch.full((4,), 0.5).double(), atol=0.03)


@pytest.mark.feature("JJ-15")
def test_losses_are_those_of_the_paper() -> None:
    real, generated = torch.tensor([0.3, -2.0]), torch.tensor([1.0, -0.5, 4.0])
    log_d, log_not_d = torch.sigmoid(real).log(), (1 - torch.sigmoid(generated)).log()
    assert float(discriminator_loss(real, generated)) == pytest.approx(-float(log_d.mean() + log_not_d.mean()))
    assert float(generator_loss(generated)) == pytest.approx(float(log_not_d.mean()))
    lively = -float(torch.sigmoid(generated).log().mean())
    assert float(generator_loss(generated, saturating=False)) == pytest.approx(lively)
    far = torch.tensor([-200.0, 200.0])
    assert math.isfinite(float(discriminator_loss(far, far)))


def test_both_sides_go_on_to_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "rounds.safetensors"
    whole, *sides = _toy()
    train_in_rounds(whole, [Phase("adversarial", 30)])
    first, *_ = _toy()
    train_in_rounds(first, [Phase("adversarial", 11)], checkpoint=path)
    second, *again = _toy()
    train_in_rounds(second, [Phase("adversarial", 30)], checkpoint=path)
    for side, other in zip(sides, again, strict=True):
        for name, tensor in side.tensors().items():
            assert torch.equal(tensor, other.tensors()[name]), name


def test_a_player_takes_a_plain_step_of_adam_and_clips() -> None:
    weight = torch.tensor([3.0, 4.0], requires_grad=True)
    player = Player({"w": weight}, learning_rate=0.1, max_norm=1.0)
    loss = player.descend((weight**2).sum())
    assert loss == 25
    assert torch.allclose(weight.detach(), torch.tensor([2.9, 3.9]), atol=1e-6)  # Adam's first step is the rate
    moment = player.tensors()["adam exp_avg/w"]
    assert torch.allclose(moment, 0.1 * torch.tensor([0.6, 0.8]))  # of a gradient of length 1


def test_weights_of_another_network_are_refused() -> None:
    player = Player({"w": torch.zeros(2, requires_grad=True)}, learning_rate=0.1)
    other = Player({"w": torch.zeros(3, requires_grad=True)}, learning_rate=0.1)
    with pytest.raises(InputError, match="weights/w differs"):
        player.restore(other.tensors())
    for rate, norm in ((0.0, None), (0.1, 0.0)):
        with pytest.raises(OptionError):
            Player({"w": torch.zeros(2, requires_grad=True)}, learning_rate=rate, max_norm=norm)
