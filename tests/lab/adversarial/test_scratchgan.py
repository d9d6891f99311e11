"""ScratchGAN: rewards and returns by hand, a discriminator that learns, REINFORCE in its mean, a training, resuming."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError, OptionError
from textassay_lab.adversarial.generator_training import VALID
from textassay_lab.adversarial.policy_gradient import Actions, policy_loss
from textassay_lab.adversarial.rounds import train_in_rounds
from textassay_lab.adversarial.scratchgan import ScratchGan, ScratchGanRecipe
from textassay_lab.adversarial.scratchgan_training import (
    ScratchGanTraining,
    StepDiscriminator,
    TiedLstm,
    returns_of,
    step_loss,
    step_rewards,
)
from textassay_lab.generator.module import begun

TEXT = Corpus.from_texts(["a b", "a", "b b a", "a a b", "b"] * 4)
RECIPE = ScratchGanRecipe(
    rounds=3, iterations=2, batch_size=8, discriminator_embedding_width=3, discriminator_width=4, validation_samples=20
)


def _begun(text: Corpus = TEXT, *, length: int | None = None, **recipe: Any) -> ScratchGanTraining:
    model = TiedLstm(6, embedding_width=4, fixed_width=2, dropout=0.0, length=length, max_length=length or 3, seed=1)
    return ScratchGanTraining(model, text, text, recipe=replace(RECIPE, **recipe), seed=2)


@pytest.mark.feature("EB-20")
def test_rewards_and_returns_by_hand() -> None:
    logits = torch.tensor([[0.0, float(np.log(3)), -float(np.log(3))], [float(np.log(9)), 0.0, 0.0]])
    rewards = step_rewards(logits)  # of probabilities 1/2, 3/4, 1/4; 9/10, 1/2, 1/2
    torch.testing.assert_close(rewards, torch.tensor([[0.0, 0.5, -0.5], [0.8, 0.0, 0.0]]))
    wanted = torch.tensor([[0.5 * 0.5 - 0.25 * 0.5, 0.5 - 0.5 * 0.5, -0.5], [0.8, 0.0, 0.0]])
    torch.testing.assert_close(returns_of(rewards, discount=0.5), wanted)
    torch.testing.assert_close(returns_of(rewards, discount=1.0), torch.tensor([[0.0, 0.0, -0.5], [0.8, 0.0, 0.0]]))


def test_loss_of_the_discriminator_by_hand() -> None:
    found = step_loss(torch.zeros(2, 2), torch.tensor([[float(np.log(3)), 0.0]]))
    assert float(found) == pytest.approx((np.log(2) + (np.log(4) + np.log(2)) / 2) / 2)


def test_a_judgement_knows_only_what_stands_before_it_and_where() -> None:
    rng = torch.Generator().manual_seed(0)
    network = begun(lambda: StepDiscriminator(7, dimension=3, fixed=2, width=4), rng).requires_grad_(False)
    fixed = torch.randn(7, 2, generator=torch.Generator().manual_seed(1))
    first = network(torch.tensor([[4, 5, 6], [4, 5, 4]]), fixed)
    assert first.shape == (2, 3)
    torch.testing.assert_close(first[0, :2], first[1, :2])
    assert float(first[0, 2]) != float(first[1, 2])
    assert (network(torch.tensor([[4, 5, 6]]), fixed + 1) != first[0]).all()
    rng = torch.Generator().manual_seed(2)
    assert (network(torch.tensor([[4, 5, 6]]), fixed, dropout=0.5, rng=rng) != first[0]).any()


def test_the_discriminator_is_what_it_says() -> None:
    """Words, what is given of them and cosines of the place; one LSTM layer, its gates normalised; one logit a step."""
    rng = torch.Generator().manual_seed(0)
    network = begun(lambda: StepDiscriminator(7, dimension=3, fixed=2, width=4), rng).requires_grad_(False)
    network.norm.weight.add_(torch.linspace(0.0, 1.0, 16))
    fixed = torch.randn(7, 2, generator=torch.Generator().manual_seed(1))
    w: dict[str, Any] = {name: weight.numpy().astype(np.float64) for name, weight in network.named_parameters()}
    state: Any = np.zeros(4)
    memory: Any = np.zeros(4)
    expected = []
    read: Any
    gates: Any
    for place, token in enumerate((4, 5, 6, 4)):
        cosines = np.cos(place / 10_000.0 ** (np.arange(8) / 7))
        read = np.concatenate((w["words.weight"][token], fixed[token].numpy(), cosines))
        gates = w["input.weight"] @ read + w["state.weight"] @ state
        gates = (gates - gates.mean()) / np.sqrt(gates.var() + 1e-5) * w["norm.weight"] + w["norm.bias"]
        enter, keep, show = (1 / (1 + np.exp(-gates[first : first + 4])) for first in (0, 4, 12))
        memory = keep * memory + enter * np.tanh(gates[8:12])
        state = show * np.tanh(memory)
        expected.append(float((w["head.weight"] @ state + w["head.bias"])[0]))
    found = network(torch.tensor([[4, 5, 6, 4]]), fixed)[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_step_descends_the_losses_of_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cross-entropy with a penalty on all weights; returns less the baseline of the steps before."""
    training = _begun(discriminator_penalty=0.5)
    descended: list[float] = []

    def descend(loss: torch.Tensor) -> float:
        descended.append(float(loss.detach()))
        return descended[-1]

    with training.lasting:
        training._baseline += 0.7
        judge = training.players["discriminator"]
        squares = sum(float(weight.detach().square().sum()) for weight in judge.weights.values())
        for player in training.players.values():
            monkeypatch.setattr(player, "descend", descend)
        told = training._step("adversarial", 1)
        drawn = training._batch("adversarial", 1, "climbed")
        returns = returns_of(step_rewards(training.step_logits(drawn)), discount=training.recipe.discount).numpy()
        terms = training.log_probs(drawn).detach().numpy() * (returns - 0.7) * drawn.taken
    assert descended[0] == pytest.approx(told["judge_loss"] + 0.5 * squares, rel=1e-5)
    assert descended[1] == pytest.approx(-terms.sum() / len(drawn), rel=1e-5)


def test_what_draws_has_no_dropout() -> None:
    model = TiedLstm(6, embedding_width=4, fixed_width=2, dropout=0.5, length=2, max_length=2)
    text = Corpus.from_texts(["a b", "b a"] * 4)
    training = ScratchGanTraining(model, text, recipe=RECIPE)
    with training.lasting:
        found = training.log_probs(training._real).detach().sum(1)
        np.testing.assert_allclose(found, model.log_prob(text), atol=1e-5)


@pytest.mark.feature("EB-20")
def test_the_discriminator_separates_random_text() -> None:
    """Real text goes a b a b; what the generator begins with draws is any words: from the second on, it shows."""
    text = Corpus.from_texts(["a b a b", "b a b a"] * 20)
    training = _begun(
        text,
        length=4,
        batch_size=64,
        discriminator_width=16,
        discriminator_embedding_width=8,
        discriminator_dropout=0.0,
    )
    with training.lasting:
        for number in range(40):
            training._train_discriminator("adversarial", number)
        probs = [training.step_logits(side).sigmoid().mean(0) for side in (training._real, training._batch("held out"))]
    real, drawn = probs
    assert abs(float(real[0]) - float(drawn[0])) < 0.1
    assert float(real[-1]) > 0.8
    assert float(drawn[-1]) < 0.3


@pytest.mark.parametrize("baseline", [0.0, 0.7])
def test_mean_gradient_is_that_of_the_expected_return_for_any_baseline(baseline: float) -> None:
    """All sentences of two words, weighed by how likely they are, against the gradient of the sum of rewards itself."""
    training = _begun(Corpus.from_texts(["a b", "b a"] * 4), length=2)
    with training.lasting:
        types = [token for token in range(len(training.model.vocabulary)) if token > 2]
        rows = np.array(list(product(types, repeat=2)))
        drawn = Actions(rows, np.full(len(rows), 2))
        taken, rewards = torch.from_numpy(drawn.taken), step_rewards(training.step_logits(drawn))
        weights = training.players["generator"].weights
        names = ("projection.weight", "embedding.weight", "layers.0.weight_hh")
        log_probs = training.log_probs(drawn)
        assert float(log_probs.detach().sum(1).exp().sum()) == pytest.approx(1, abs=1e-5)
        expected = (log_probs.sum(1).exp() * rewards.sum(1)).sum()
        wanted = torch.autograd.grad(expected, [weights[name] for name in names], retain_graph=True)
        returns = returns_of(rewards, discount=1.0) - baseline
        each = log_probs.sum(1).exp().detach()[:, None] * len(rows)  # the mean over rows is the expectation
        found = torch.autograd.grad(policy_loss(log_probs, returns * each, taken), [weights[name] for name in names])
        for ours, theirs in zip(found, wanted, strict=True):
            torch.testing.assert_close(-ours, theirs, rtol=1e-3, atol=1e-6)


def test_the_baseline_is_an_average_that_forgets() -> None:
    training = _begun(baseline_decay=0.25)
    with training.lasting:
        means = []
        for number in range(2):
            training._train_discriminator("adversarial", 1, number)  # as in the step below, which then learns once more
            before = {name: tensor.clone() for name, tensor in training.state().items()}
            training._step("adversarial", 2, number)
            after = float(training._baseline)
            training.players["generator"].restore({k[10:]: v for k, v in before.items() if k.startswith("generator/")})
            drawn = training._batch("adversarial", 2, number, "climbed")
            returns = returns_of(step_rewards(training.step_logits(drawn)), discount=training.recipe.discount)
            means.append((float(before["baseline"]), float(returns.mean()), after))
        for old, mean, new in means:
            assert new == pytest.approx(0.25 * old + 0.75 * mean, abs=1e-6)
        assert means[1][0] == means[0][2] != 0


@pytest.mark.slow
def test_it_learns_from_scratch_and_leaves_what_was_given() -> None:
    text = Corpus.from_texts(["a b c", "b c a", "c a b"] * 30)
    vectors = np.random.default_rng(0).normal(size=(len(text.vocabulary), 2))
    model = TiedLstm(16, embedding_width=8, fixed_width=2, dropout=0.0, length=3, max_length=3)
    recipe = ScratchGanRecipe(
        rounds=6,
        iterations=20,
        batch_size=64,
        learning_rate=1e-2,
        discriminator_learning_rate=1e-2,
        discriminator_embedding_width=8,
        discriminator_width=16,
    )
    training = ScratchGanTraining(model, text, text, recipe=recipe, vectors=vectors, seed=1)
    with training.lasting:
        history = train_in_rounds(training, training.phases)
    training.finish(history, {})
    costs = [each.values[VALID] or np.inf for each in history.validations]
    assert costs[0] > 1  # of three words, nothing is known
    assert costs[-1] < 0.75  # which comes first is chance: log(3) / 3 = 0.37
    drawn = list(model.sample(300, seed=0).texts)
    assert sum(each in ("a b c", "b c a", "c a b") for each in drawn) > 200
    assert (model.weights["fixed.weight"].numpy() == vectors.astype(np.float32)).all()
    assert model.record["adversarial"] == {"kind": "scratchgan", "kept": 6, "rounds": 6, "stopped": None}


def _weights(model: TiedLstm) -> npt.NDArray[np.float32]:
    return np.concatenate([weight.numpy().ravel() for weight in model.weights.values()])


def test_a_training_that_was_broken_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    def train(checkpoint: Path | None, *, breaks: bool = False) -> TiedLstm:
        def progress(label: str, done: int, of: int) -> None:
            if breaks and done == 2:
                raise KeyboardInterrupt

        training = _begun()
        with training.lasting:
            told = train_in_rounds(
                training, training.phases, checkpoint=checkpoint, checkpoint_seconds=0.0, progress=progress
            )
        training.finish(told, {})
        model = training.model
        assert isinstance(model, TiedLstm)
        return model

    whole, path = train(None), tmp_path / "rounds.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train(path, breaks=True)
    assert (_weights(train(path)) == _weights(whole)).all()


def test_presets_and_settings_are_what_they_say() -> None:
    network, paper = ScratchGan.presets["paper"]
    assert (network["width"], network["layers"], network["embedding_width"], network["fixed_width"]) == (
        512,
        2,
        64,
        300,
    )
    assert (paper.batch_size, paper.discriminator_width, paper.discriminator_embedding_width) == (512, 512, 64)
    assert paper.rounds * paper.iterations == 200_000
    assert (paper.learning_rate, paper.discriminator_learning_rate, paper.beta1) == (9.59e-5, 9.38e-3, 0.5)
    assert (paper.discount, paper.baseline_decay, paper.discriminator_dropout, paper.discriminator_penalty) == (
        0.23,
        0.08,
        0.1,
        1e-6,
    )
    for settings, message in (
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"discriminator_learning_rate": 0.0}, r"discriminator_learning_rate must be above 0, got 0\.0"),
        ({"baseline_decay": 1.0}, r"baseline_decay must be at least 0 and below 1, got 1\.0"),
        ({"discount": 1.1}, r"discount must be at least 0 and at most 1, got 1\.1"),
        ({"discriminator_penalty": -1.0}, r"discriminator_penalty must be at least 0, got -1\.0"),
    ):
        with pytest.raises(OptionError, match=message):
            replace(paper, **settings)
    model = TiedLstm(4, embedding_width=3, fixed_width=2)
    with pytest.raises(InputError, match=r"vectors must have shape \(6, 2\), got \(6, 3\)"):
        ScratchGanTraining(model, TEXT, recipe=RECIPE, vectors=np.zeros((6, 3)))
    with pytest.raises(InputError, match="vectors must be finite"):
        ScratchGanTraining(model, TEXT, recipe=RECIPE, vectors=np.full((6, 2), np.nan))
