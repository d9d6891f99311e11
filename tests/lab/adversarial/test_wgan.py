"""Training of the recurrent Wasserstein GAN: it learns, goes on to the same bits, and says when it collapses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay_lab.adversarial.noise_gru import NoiseGru
from textassay_lab.adversarial.rounds import RoundsHistory, train_in_rounds
from textassay_lab.adversarial.wgan import Wgan, WganRecipe
from textassay_lab.adversarial.wgan_training import WganTraining

torch = pytest.importorskip("torch")

TINY = WganRecipe(
    length=3, rounds=2, iterations=1, critic_updates=2, generator_updates=1, batch_size=8, critic_width=6
)  # fmt: skip
TEXT = Corpus.from_texts(["a b c a b c a b", "c a b", "b"])


def train_wgan(
    model: NoiseGru, train: Corpus, valid: Corpus | None = None, *, recipe: WganRecipe, seed: int = 0, **how: Any
) -> RoundsHistory:
    """Train `model` against a critic, in place, through all lengths; the last weights are kept."""
    training = WganTraining(model, train, valid, recipe, seed=seed)
    with training.lasting:
        history = train_in_rounds(training, training.phases, collapse=training.collapse, config={"seed": seed}, **how)
    training.finish(history)
    return history


def weights_of(model: NoiseGru) -> np.ndarray:
    return np.concatenate([weight.numpy().ravel() for weight in model.weights.values()])


@pytest.mark.feature("LM-10")
@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize(("helping", "variable"), [(True, True), (True, False), (False, True), (False, False)])
def test_rows_of_both_sides_have_one_shape_and_lengths_advance(ends: bool, helping: bool, variable: bool) -> None:
    model = NoiseGru(6, length=3, ends=ends)
    recipe = replace(TINY, teacher_helping=helping, variable_length=variable)
    history = train_wgan(model, TEXT, TEXT, recipe=recipe)
    assert [each.values["length"] for each in history.rounds] == [1, 1, 2, 2, 3, 3]
    assert {"critic_loss", "distance", "penalty", "generator_loss", "distinct"} < set(history.rounds[0].values)
    assert [told.step for told in history.validations] == [0, 1, 2, 3, 4, 5, 6]
    training = WganTraining(model, TEXT, None, recipe, seed=0)
    with training.lasting:
        rng = torch.Generator().manual_seed(0)
        real, generated = training._rows(3, rng, np.random.default_rng(0))
        empty = (real == 0).all(2)
        assert (empty == (generated == 0).all(2)).all()
        torch.testing.assert_close(generated.sum(2), (~empty).float())
        assert bool(empty.any()) is variable
        assert bool((real[:, :-1] == generated[:, :-1]).all()) is helping
        gradients = torch.autograd.grad(generated[:, -1, 4:].square().sum(), list(model.weights.values()))
        assert any(bool((gradient != 0).any()) for gradient in gradients)
        assert training.validate() == {}


def test_a_training_that_was_broken_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = NoiseGru(6, length=3)
    told = train_wgan(whole, TEXT, TEXT, recipe=TINY, seed=3)

    def breaks(label: str, done: int, of: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    path = tmp_path / "checkpoint.safetensors"
    model = NoiseGru(6, length=3)
    settings: dict[str, Any] = {"recipe": TINY, "seed": 3, "checkpoint": path, "checkpoint_seconds": 0.0}
    with pytest.raises(KeyboardInterrupt):
        train_wgan(model, TEXT, TEXT, **settings, progress=breaks)
    with pytest.raises(InputError, match="is not fitted"):
        model.sample(1, seed=0)
    again = train_wgan(model, TEXT, TEXT, **settings)
    assert again == told
    assert (weights_of(model) == weights_of(whole)).all()
    other = NoiseGru(6, length=3)
    train_wgan(other, TEXT, TEXT, recipe=TINY, seed=4)
    assert (weights_of(other) != weights_of(whole)).any()
    with pytest.raises(InputError, match="was made with another config"):
        train_wgan(NoiseGru(6, length=3), TEXT, TEXT, **{**settings, "seed": 4})


@pytest.mark.slow
def test_it_learns_which_words_there_are_and_which_follow() -> None:
    """After `a` comes always `b`, and half of all words are each: 1 bit for the first word, none for the second."""
    text = Corpus.from_texts(["a b a b a b a b a b"] * 4)
    recipe = WganRecipe(
        length=2,
        rounds=15,
        iterations=5,
        critic_updates=10,
        generator_updates=5,
        batch_size=32,
        critic_width=32,
        learning_rate=2e-3,
    )
    model = NoiseGru(32, length=2, noise=1.0, ends=False)
    history = train_wgan(model, text, text, recipe=recipe, seed=1, validate_every=5)
    costs = [told.values["approximate_nll"] for told in history.validations]
    assert costs[0] is not None
    assert costs[-1] is not None
    uniform, exact = np.log(3), np.log(2) / 2  # <unk> can be drawn as well
    assert costs[0] > 0.8 * uniform
    assert exact - 0.02 < costs[-1] < exact + 0.1
    texts = list(model.sample(400, seed=0).texts)
    assert texts.count("a b") + texts.count("b a") > 380
    assert 100 < texts.count("a b") < 300


def test_a_generator_that_always_says_the_same_is_stopped_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoiseGru, "draw_rows", lambda self, n, length, seed: np.full((n, length), 4))
    text = Corpus.from_texts([" ".join(map(str, np.random.default_rng(0).permutation(300)))])
    history = train_wgan(NoiseGru(4, length=1, ends=False), text, recipe=replace(TINY, length=1, rounds=30))
    assert history.stopped is not None
    assert history.stopped.startswith("adversarial, round 20: the generator collapses: distinct is")
    assert (history.kept, len(history.rounds)) == (0, 20)


def test_presets_and_settings_are_what_they_say() -> None:
    network, paper = Wgan.presets["paper"]
    assert network == {"width": 512, "noise": 10.0}
    assert paper.critic_width == 512
    assert (paper.length, paper.rounds * paper.iterations) == (32, 15_000)
    assert (paper.critic_updates, paper.generator_updates, paper.batch_size, paper.gradient_penalty) == (10, 50, 64, 10)
    assert (paper.learning_rate, paper.beta1, paper.beta2) == (1e-4, 0.5, 0.9)
    for settings, message in (
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"beta2": 1.0}, r"beta2 must be at least 0 and below 1, got 1\.0"),
        ({"gradient_penalty": -1.0}, "gradient_penalty must be at least 0, got -1"),
    ):
        with pytest.raises(OptionError, match=message):
            replace(TINY, **settings)
    with pytest.raises(EmptyCorpusError, match="the training corpus has no sentence"):
        train_wgan(NoiseGru(4), Corpus.from_texts([]), recipe=TINY)
    with pytest.raises(InputError, match="no sentence has 3 tokens"):
        train_wgan(NoiseGru(4, ends=False), Corpus.from_texts(["a b"]), recipe=TINY)
    with pytest.raises(OptionError, match="seed must be at least 0, got -1"):
        train_wgan(NoiseGru(4), TEXT, recipe=TINY, seed=-1)
    with pytest.raises(OptionError, match="draws 2 tokens, but the recipe trains 3"):
        train_wgan(NoiseGru(4, length=2), TEXT, recipe=TINY)
