"""A GAN through Gumbel-softmax: exact draws, gradients that reach the generator, a training, resuming."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD
from textassay.errors import InputError, OptionError
from textassay_lab.adversarial.gumbelgan import GumbelGan
from textassay_lab.adversarial.policy_gradient import Actions, log_probs_of
from textassay_lab.adversarial.recipes import GumbelGanRecipe
from textassay_lab.adversarial.rounds import Phase, train_in_rounds
from textassay_lab.generator.lstm import LstmModel
from textassay_lab.training.recipe import Recipe

TEXTS = ["a b", "a", "b b a", "", "a a b", "b"] * 10
RECIPE = GumbelGanRecipe(rounds=3, pretraining_rounds=1, iterations=2, batch_size=16, dimension=4, width=6)


def _fitted(*, length: int | None = None, **recipe: Any) -> GumbelGan:
    texts = [f"{text} a b a"[:5] for text in TEXTS if text] if length else TEXTS
    train = Corpus.from_texts([text for text in texts if not length or len(text.split()) == length])
    settings = Recipe(max_epochs=2, learning_rate=2e-2)
    model = LstmModel(4, dropout=0.2, length=length, max_length=3, recipe=settings, batch_size=16)
    model.fit(train, train)
    return GumbelGan(model, train, train, recipe=GumbelGanRecipe(**{**RECIPE.__dict__, **recipe}))


@pytest.mark.feature("JJ-14")
@pytest.mark.parametrize("length", [None, 3])
def test_what_is_drawn_is_as_frequent_as_the_generator_says(length: int | None) -> None:
    training, n = _fitted(length=length), 20_000
    with torch.no_grad():
        rows = training.relaxed(n, 0.5, key=1)
    torch.testing.assert_close(rows.amax(2), torch.ones(n, 3))  # one-hot, and nothing else
    torch.testing.assert_close(rows.sum(2), torch.ones(n, 3))
    tokens = rows.argmax(2).numpy()
    ended = np.cumsum(tokens == EOS, axis=1) - (tokens == EOS) > 0
    assert ((tokens == PAD) == ended).all()
    n_words = range(4) if length is None else (length,)
    texts = [" ".join(words) for n_tokens in n_words for words in product("ab", repeat=n_tokens)]
    space = Corpus.from_texts(texts, vocabulary=training.model.vocabulary)
    sentences = Actions.of_text(space.tokens, space.offsets, 3)
    expected = n * log_probs_of(training.policy, sentences).detach().double().sum(1).exp().numpy()
    assert expected.sum() == pytest.approx(n, rel=1e-5)
    found = (tokens[:, None] == sentences.tokens).all(axis=2).sum(axis=0)
    assert chisquare(found, expected * n / expected.sum()).pvalue > 1e-3


@pytest.mark.feature("JJ-14")
def test_gradients_move_the_generator_to_what_the_discriminator_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    training = _fitted(length=3, learning_rate=2e-2, iterations=40, temperature=0.7, last_temperature=0.7)
    liked = training.model.vocabulary.encode(["a"])[0]
    monkeypatch.setattr(training, "generator_loss", lambda rows: -rows[:, :, liked].mean())
    shares = [(training._drawn(500, 3).tokens == liked).mean()]
    training.round("adversarial", 1)
    shares.append((training._drawn(500, 3).tokens == liked).mean())
    assert shares[0] < 0.7
    assert shares[1] > 0.9


def test_the_discriminator_learns_who_is_real() -> None:
    training = _fitted(judge_learning_rate=2e-2, iterations=40, dropout=0.0, batch_size=64)
    losses = [training.round("discriminator", number)["judge_loss"] for number in (1, 2, 3)]
    assert losses[0] > 0.6
    assert losses[2] < losses[0] - 0.005


def test_a_killed_training_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, first, second = (_fitted() for _ in range(3))
    history = train_in_rounds(whole, whole.phases)
    path = tmp_path / "rounds.safetensors"
    train_in_rounds(first, (whole.phases[0], Phase("adversarial", 1)), checkpoint=path)
    assert train_in_rounds(second, whole.phases, checkpoint=path).rounds == history.rounds
    for name, tensor in whole.state().items():
        assert torch.equal(tensor, second.state()[name]), name
    state = torch.get_rng_state()
    whole.round("adversarial", 3)
    assert torch.equal(torch.get_rng_state(), state)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="draws at most 3 tokens"):
        GumbelGan(_fitted().model, Corpus.from_texts(["a b a b"]), recipe=RECIPE)  # type: ignore[arg-type]
    bad: tuple[dict[str, Any], ...] = ({"rounds": -1}, {"iterations": 0}, {"temperature": 0.0}, {"dropout": 1.0})
    for setting in bad:
        with pytest.raises(OptionError):
            GumbelGanRecipe(**setting)
