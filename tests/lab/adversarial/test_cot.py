"""CoT on languages so small that every sentence can be listed: exact divergence, mediator, oracle, resuming."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, UNK
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay_lab.adversarial.cot import CoT, CotRecipe
from textassay_lab.adversarial.cot_training import CotTraining, divergence
from textassay_lab.adversarial.generator_training import ORACLE, VALID
from textassay_lab.adversarial.policy_gradient import Actions
from textassay_lab.adversarial.rounds import train_in_rounds
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.module import SentenceNetwork
from textassay_lab.generator.random_lstm import RandomLstm

TEXT = Corpus.from_texts(["a b", "a", "b b a", "a a b", "b"] * 4)
RECIPE = CotRecipe(rounds=3, iterations=2, batch_size=8, mediator_width=6, validation_samples=20)


def _begun(*, length: int | None = None) -> CotTraining:
    """Return both sides as they begin, each with weights large enough to have something to say."""
    model = LstmModel(5, dropout=0.0, init_range=1.0, length=length, max_length=length or 3, seed=1)
    text = Corpus.from_texts([each for each in TEXT.texts if not length or each.count(" ") + 1 == length])
    training = CotTraining(model, text, text, recipe=RECIPE, seed=2)
    rng = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in training.players["mediator"].weights.values():
            weight.uniform_(-1, 1, generator=rng)
    return training


def _all_rows(training: CotTraining) -> Actions:
    """Return every row of actions that the generator can draw."""
    types = range(UNK, len(training.model.vocabulary))
    can = [*types, *([] if training.model.length else [EOS])]
    rows = {row[: row.index(EOS) + 1] if EOS in row else row for row in product(can, repeat=training.limit)}
    lengths = np.array([len(row) for row in sorted(rows)])
    tokens = np.array([[*row, *[PAD] * (training.limit - len(row))] for row in sorted(rows)])
    return Actions(tokens, lengths)


def _row_log_probs(network: SentenceNetwork, rows: Actions) -> torch.Tensor:
    """Return how likely each row is, one step of the network after another."""
    total, state = torch.zeros(len(rows)), network.begin(len(rows))
    for place in range(rows.tokens.shape[1]):
        vectors, state = network.step(state, torch.from_numpy(rows.inputs[:, place]), place)
        told = torch.log_softmax(network.logits(vectors), 1)
        hit = told.gather(1, torch.from_numpy(rows.tokens[:, place : place + 1]))[:, 0]
        total = total + torch.where(torch.from_numpy(rows.taken[:, place]), hit, torch.zeros(()))
    return total


@pytest.mark.feature("EB-22")
@pytest.mark.parametrize("length", [None, 2])
def test_mean_loss_over_all_sentences_is_the_exact_divergence(length: int | None) -> None:
    """Chain rule: sum over sentences of G(s) sum_t KL(G(. | s_<t) || M(. | s_<t)) = KL(G || M)."""
    training = _begun(length=length)
    with training.lasting:
        rows = _all_rows(training)
        with torch.no_grad():
            log_g = _row_log_probs(training.network, rows)
            log_m = _row_log_probs(training.mediator, rows)
            gaps = divergence(training.network, training.mediator, rows)
        assert float(log_g.exp().sum()) == pytest.approx(1, abs=1e-5)
        exact = float((log_g.exp() * (log_g - log_m)).sum())
        assert exact > 0.05
        assert float((log_g.exp() * gaps).sum()) == pytest.approx(exact, rel=1e-4)


@pytest.mark.feature("EB-22")
def test_loss_and_gradient_are_exact_over_the_next_word() -> None:
    """Sentences of one word: what is drawn does not matter, and the gradient is that of KL(G || M) itself."""
    training = _begun(length=1)
    with training.lasting:
        rows = _all_rows(training)
        log_g = _row_log_probs(training.network, rows)
        log_m = _row_log_probs(training.mediator, rows).detach()
        exact = (log_g.exp() * (log_g - log_m)).sum()
        gaps = divergence(training.network, training.mediator, rows)
        torch.testing.assert_close(gaps, exact.detach().expand(len(rows)), rtol=1e-4, atol=1e-6)
        weights = training.players["generator"].weights
        names = ("head.weight", "head.bias", "embedding.weight")
        wanted = torch.autograd.grad(exact, [weights[name] for name in names])
        found = torch.autograd.grad(gaps[0], [weights[name] for name in names])
        for ours, theirs in zip(found, wanted, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-6)


def _jensen_shannon(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    middle = np.logaddexp(first, second) - np.log(2)
    return float((np.exp(first) * (first - middle) + np.exp(second) * (second - middle)).sum() / 2)


@pytest.mark.slow
@pytest.mark.feature("EB-22")
def test_mediator_learns_and_the_generator_comes_closer_to_a_random_oracle() -> None:
    oracle = RandomLstm(4, length=3, width=8, seed=5)
    drawn = oracle.sample(2000, seed=1)
    everything = Corpus.from_texts([" ".join(row) for row in product("0123", repeat=3)])
    everything = everything.with_vocabulary(drawn.vocabulary)
    truth = oracle.log_prob(everything)
    assert np.exp(truth).sum() == pytest.approx(1)
    model = LstmModel(16, dropout=0.0, length=3, max_length=3)
    recipe = CotRecipe(
        rounds=8, iterations=15, batch_size=64, learning_rate=2e-2, mediator_learning_rate=2e-2, mediator_width=16,
        mediator_dropout=0.0, validation_samples=500,
    )  # fmt: skip
    training = CotTraining(model, drawn, drawn, recipe=recipe, oracle=oracle, seed=3)
    with training.lasting:
        before = _jensen_shannon(truth, model.log_prob(everything))
        history = train_in_rounds(training, training.phases)
        after = _jensen_shannon(truth, model.log_prob(everything))
    assert before > 0.15
    assert after < before / 5
    losses = [each.values["mediator_loss"] for each in history.rounds]
    assert losses[-1] < losses[0] - 0.1
    first, last = (history.validations[place].values for place in (0, -1))
    for name in (VALID, ORACLE):
        assert (last[name] or np.inf) < (first[name] or np.inf)


def _weights(model: LstmModel) -> npt.NDArray[np.float32]:
    return np.concatenate([weight.numpy().ravel() for weight in model.weights.values()])


def test_a_training_that_was_broken_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    def train(checkpoint: Path | None, *, breaks: bool = False, seed: int = 0) -> LstmModel:
        def progress(label: str, done: int, of: int) -> None:
            if breaks and done == 2:
                raise KeyboardInterrupt

        model = LstmModel(4, dropout=0.0, max_length=3)
        training = CotTraining(model, TEXT, TEXT, recipe=RECIPE, seed=seed)
        with training.lasting:
            told = train_in_rounds(
                training, training.phases, checkpoint=checkpoint, checkpoint_seconds=0.0, progress=progress
            )
        training.finish(told, {"more": 1})
        return model

    whole, path = train(None), tmp_path / "rounds.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train(path, breaks=True)
    again = train(path)
    assert (_weights(again) == _weights(whole)).all()
    assert (_weights(train(None, seed=1)) != _weights(whole)).any()
    assert whole.record["adversarial"] == {"kind": "cot", "kept": 3, "rounds": 3, "stopped": None, "more": 1}
    assert (whole.log_prob(TEXT) == again.log_prob(TEXT)).all()


def test_presets_and_settings_are_what_they_say() -> None:
    network, paper = CoT.presets["paper"]
    assert (network["width"], paper.mediator_width, paper.batch_size, paper.mediator_dropout) == (32, 64, 64, 0.5)
    assert (paper.learning_rate, paper.beta1, paper.beta2, paper.mediator_learning_rate) == (1e-3, 0.9, 0.95, 3e-3)
    for settings, message in (
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"rounds": -1}, "rounds must be at least 0, got -1"),
        ({"mediator_learning_rate": 0.0}, r"mediator_learning_rate must be above 0, got 0\.0"),
        ({"mediator_dropout": 1.0}, r"mediator_dropout must be at least 0 and below 1, got 1\.0"),
    ):
        with pytest.raises(OptionError, match=message):
            replace(paper, **settings)
    with pytest.raises(EmptyCorpusError):
        CotTraining(LstmModel(4), Corpus.from_texts([]), recipe=RECIPE)
    with pytest.raises(InputError, match="draws at most 2 tokens, but real sentences have up to 3"):
        CotTraining(LstmModel(4, max_length=2), TEXT, recipe=RECIPE)
    with pytest.raises(InputError, match=r"needs sentences of 3 tokens, but .* such as 2"):
        CotTraining(LstmModel(4, length=3), TEXT, recipe=RECIPE)
    with pytest.raises(OptionError, match="seed must be at least 0, got -1"):
        CotTraining(LstmModel(4), TEXT, recipe=RECIPE, seed=-1)
