"""What each side of CoT learns from, while the other hardly moves: on sentences of two words, all listed."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay_lab.adversarial.cot import CotRecipe
from textassay_lab.adversarial.cot_training import CotTraining, divergence
from textassay_lab.adversarial.generator_training import VALID
from textassay_lab.adversarial.policy_gradient import Actions
from textassay_lab.generator.lstm_model import LstmModel

torch = pytest.importorskip("torch")

STILL = 1e-9
REAL = Corpus.from_texts(["a a"] * 60 + ["a b"] * 30 + ["a c"] * 10)  # nothing real begins with "b" or "c"
EVERYTHING = Corpus.from_texts([f"{x} {y}" for x, y in product("abc", repeat=2)], vocabulary=REAL.vocabulary)
SHARE_REAL = np.array([REAL.texts.count(text) for text in EVERYTHING.texts]) / len(REAL)


def _training(**settings: float) -> CotTraining:
    recipe = CotRecipe(1, 200, mediator_width=16, mediator_dropout=0.0)
    recipe = CotRecipe(**{**vars(recipe), "batch_size": 8, **settings})
    training = CotTraining(LstmModel(16, dropout=0.0, length=2, max_length=2), REAL, REAL, recipe=recipe, seed=4)
    rng = torch.Generator().manual_seed(3)
    with torch.no_grad():  # both begin far from uniform
        for player in training.players.values():
            player.weights["head.bias"][UNK + 1 :].uniform_(-1.5, 1.5, generator=rng)
        training.players["mediator"].weights["head.bias"][UNK] = -30.0  # as the generator begins
    return training


def _log_probs(training: CotTraining, side: str) -> npt.NDArray[np.float64]:
    """Return the log-probability of each of all sentences under a side as it is now."""
    network = {"generator": training.network, "mediator": training.mediator}[side]
    rows = Actions.of_text(EVERYTHING.tokens, EVERYTHING.offsets, 2)
    with torch.no_grad():
        vectors = network(torch.from_numpy(rows.inputs))
        logits = torch.nn.functional.linear(vectors, *network.output_layer())
        told = torch.log_softmax(logits, 2).gather(2, torch.from_numpy(rows.tokens)[..., None])
    return np.asarray(told.sum((1, 2)).double().numpy())


@pytest.mark.slow
@pytest.mark.feature("EB-22")
def test_the_mediator_becomes_the_even_mixture_of_real_and_drawn() -> None:
    training = _training(learning_rate=STILL, mediator_learning_rate=1e-2)
    with training.lasting:
        drawn = np.exp(_log_probs(training, "generator"))
        mixture = (drawn / drawn.sum() + SHARE_REAL) / 2
        gaps = [np.sum(mixture * (np.log(mixture) - _log_probs(training, "mediator")))]
        told = training.round("cooperative", 1)
        gaps.append(np.sum(mixture * (np.log(mixture) - _log_probs(training, "mediator"))))
        entropy = -np.sum(mixture * np.log(mixture)) / 2
    assert gaps[0] > 0.2
    assert gaps[1] < 0.015  # few real sentences a step: the same ones always would not do
    assert np.abs(drawn - SHARE_REAL).sum() > 0.5  # neither side alone would do
    assert entropy - 0.05 < told["mediator_loss"] < entropy + 0.2  # nats per token, mean of the round


@pytest.mark.slow
@pytest.mark.feature("EB-22")
def test_the_generator_learns_after_words_of_its_own_which_no_real_sentence_has() -> None:
    training = _training(learning_rate=1e-2, mediator_learning_rate=STILL)
    rng = torch.Generator().manual_seed(1)
    with training.lasting:
        with torch.no_grad():  # the second word depends much on the first
            for name in ("embedding.weight", "layers.0.weight_ih", "head.weight"):
                training.players["mediator"].weights[name].uniform_(-1.2, 1.2, generator=rng)
        began, wanted = (_log_probs(training, side) for side in ("generator", "mediator"))
        told = training.round("cooperative", 1)
        found = _log_probs(training, "generator")
    assert np.sum(np.exp(began) * (began - wanted)) > 0.2
    assert np.sum(np.exp(found) * (found - wanted)) < 0.002
    assert 0 < told["generator_loss"] < 0.2


@pytest.mark.feature("EB-22")
def test_the_gradient_is_that_of_the_formula_along_the_draws() -> None:
    """Sum over places and words of grad G (log M - log G): beginnings are given, and grad log G in it adds nothing."""
    training = _training()
    with training.lasting:
        sides = {side: dict(training.players[side].weights) for side in ("generator", "mediator")}
        rows = Actions.of_text(EVERYTHING.tokens, EVERYTHING.offsets, 2).take(np.array([1, 5, 5, 6]))
        networks = {"generator": training.network, "mediator": training.mediator}
        logs = {}
        for side, network in networks.items():
            vectors = network(torch.from_numpy(rows.inputs))
            matrix, bias = network.output_layer()
            can = bias.isfinite()
            logs[side] = torch.log_softmax(torch.nn.functional.linear(vectors, matrix[can], bias[can]), 2)
        bracket = (logs["mediator"] - logs["generator"]).detach()
        objective = (logs["generator"].exp() * bracket).sum((1, 2)).mean()
        gaps = divergence(training.network, training.mediator, rows)
        for name in ("embedding.weight", "layers.0.weight_hh", "head.weight", "head.bias"):
            (wanted,) = torch.autograd.grad(-objective, [sides["generator"][name]], retain_graph=True)
            (found,) = torch.autograd.grad(gaps.mean(), [sides["generator"][name]], retain_graph=True)
            assert wanted.abs().max() > 1e-4
            torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-6)


def test_validation_is_per_token() -> None:
    training = _training()
    with training.lasting:
        told, log_probs = training.validate(), training.model.log_prob(REAL)
    assert told[VALID] == pytest.approx(-log_probs.sum() / 200, rel=1e-6)
