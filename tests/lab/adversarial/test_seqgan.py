"""SeqGAN on a language so small that every sentence can be listed: rewards, gradient, MLE SeqGAN, resuming."""

from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
import torch

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, UNK
from textassay.errors import InputError, OptionError
from textassay.execution.threads import workers
from textassay_lab.adversarial.generator_training import ORACLE, VALID
from textassay_lab.adversarial.policy_gradient import Actions, policy_loss
from textassay_lab.adversarial.rounds import Phase, RoundsHistory, train_in_rounds
from textassay_lab.adversarial.seqgan import SeqGanRecipe
from textassay_lab.adversarial.seqgan_training import SeqGanTraining
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.random_lstm import RandomLstm
from textassay_lab.training.recipe import Recipe

LIMIT = 3
TEXTS = ["a b", "a", "b b a", "", "a a b", "b"] * 10
FAST = Recipe(max_epochs=2, learning_rate=2e-2)
RECIPE = SeqGanRecipe(
    rounds=3,
    pretraining_rounds=2,
    refreshes=1,
    discriminator_epochs=1,
    negatives=40,
    adversarial_batch_size=16,
    roll_outs=2,
    discriminator_width=4,
    discriminator_filters={1: 3, 2: 3, 20: 5},
    validation_samples=50,
)
PHASES = (Phase("discriminator", 2, validated=False), Phase("adversarial", 3))


def _fitted(*, length: int | None = None, seed: int = 0, **recipe: Any) -> SeqGanTraining:
    """Return the two sides after the first stage, with sentences of one length or with ends."""
    texts = [f"{text} a b a"[:5] for text in TEXTS if text] if length else TEXTS
    train = Corpus.from_texts([text for text in texts if not length or len(text.split()) == length])
    model = LstmModel(4, dropout=0.2, length=length, max_length=LIMIT, recipe=FAST, batch_size=16, seed=seed)
    model.fit(train, train)
    return SeqGanTraining(model, train, train, recipe=SeqGanRecipe(**{**RECIPE.__dict__, **recipe}), seed=seed)


def _all_actions(training: SeqGanTraining) -> Actions:
    """Return every sentence that can be written, as actions."""
    n_types = len(training.model.vocabulary)
    drawn = [token for token in range(n_types) if token > UNK or (token == EOS and training.model.length is None)]
    rows = {tuple(row[: row.index(EOS) + 1] if EOS in row else row) for row in product(drawn, repeat=LIMIT)}
    lengths = np.array([len(row) for row in sorted(rows)])
    tokens = np.array([[*row, *[PAD] * (LIMIT - len(row))] for row in sorted(rows)])
    return Actions(tokens, lengths)


def _exact_rewards(training: SeqGanTraining, everything: Actions) -> npt.NDArray[np.float64]:
    """Return the expected judgement after each action, shape (n, limit), by summing over all that may follow."""
    probs = np.exp(training.log_probs(everything).detach().double().numpy().sum(axis=1))
    judged = training._prob_real(everything.tokens)
    rewards = np.zeros(everything.tokens.shape)
    for row, (tokens, length) in enumerate(zip(everything.tokens, everything.lengths, strict=True)):
        for count in range(1, length + 1):
            same = (everything.tokens[:, :count] == tokens[:count]).all(axis=1)
            rewards[row, count - 1] = (probs[same] * judged[same]).sum() / probs[same].sum()
    return rewards


@pytest.fixture(params=[None, LIMIT], ids=["ends", "fixed-length"])
def training(request: pytest.FixtureRequest) -> SeqGanTraining:
    return _fitted(length=request.param)


@pytest.mark.feature("JJ-09")
def test_the_gradient_is_the_exact_one_of_the_expected_reward(training: SeqGanTraining) -> None:
    everything = _all_actions(training)
    log_probs = training.log_probs(everything).double()
    probs = log_probs.sum(1).exp()
    assert float(probs.sum().detach()) == pytest.approx(1, abs=1e-5)
    judged = torch.from_numpy(training._prob_real(everything.tokens))
    weights = list(training.generator.weights.values())
    exact = torch.autograd.grad((probs * judged).sum(), weights, retain_graph=True)
    rewards = torch.from_numpy(_exact_rewards(training, everything))
    taken = torch.from_numpy(everything.taken)
    surrogate = sum(  # (27): each sentence as often as it is drawn
        prob * policy_loss(log_probs[[row]], rewards[[row]], taken[[row]]) for row, prob in enumerate(probs.detach())
    )
    found = torch.autograd.grad(surrogate, weights)
    assert max(float(each.abs().max()) for each in exact) > 1e-4
    for mine, theirs in zip(found, exact, strict=True):
        assert torch.allclose(-mine, theirs, atol=1e-7)


@pytest.mark.feature("JJ-09")
def test_roll_outs_average_to_the_expected_reward_and_the_last_action_earns_the_judgement(
    training: SeqGanTraining,
) -> None:
    with torch.no_grad():  # a policy that heeds what it read
        for weight in (*training.network.parameters(), *training.roll_out_policy.parameters()):
            weight.mul_(3)
    everything = _all_actions(training)
    n = 400
    tiled = Actions(np.tile(everything.tokens, (n, 1)), np.tile(everything.lengths, n))
    found = training.rewards(tiled, key=5).reshape(n, len(everything), LIMIT)
    exact = _exact_rewards(training, everything)
    last = np.arange(len(everything)), everything.lengths - 1
    np.testing.assert_allclose(found[:, *last], np.tile(training._prob_real(everything.tokens), (n, 1)), rtol=1e-6)
    errors = found.std(axis=0) / n**0.5
    assert (np.abs(found.mean(axis=0) - exact) <= 4.5 * errors + 1e-6).all()
    assert errors.max() > 1e-5
    assert (found[:, ~everything.taken] == 0).all()


@pytest.mark.slow
@pytest.mark.feature("JJ-09")
def test_a_step_of_the_generator_is_unbiased(training: SeqGanTraining) -> None:
    everything = _all_actions(training)
    probs = training.log_probs(everything).double().sum(1).exp()
    weights = training.generator.weights
    judged = torch.from_numpy(training._prob_real(everything.tokens))
    (exact,) = torch.autograd.grad((probs * judged).sum(), [weights["head.bias"]])
    found = []
    for number in range(300):
        drawn = training._drawn(16, training._key("test", number))
        returns = torch.from_numpy(training.rewards(drawn, key=number))
        loss = policy_loss(training.log_probs(drawn).double(), returns, torch.from_numpy(drawn.taken))
        found.append(-torch.autograd.grad(loss, [weights["head.bias"]])[0])
    mean, error = torch.stack(found).mean(0), torch.stack(found).std(0) / 300**0.5
    assert ((mean - exact).abs() <= 4 * error + 1e-9).all()


def test_draws_do_not_depend_on_workers_or_blocks(training: SeqGanTraining) -> None:
    drawn = training._drawn(1200, 3)
    alone = training.rewards(drawn, key=7)
    with workers(2):
        np.testing.assert_array_equal(training.rewards(drawn, key=7), alone)
        np.testing.assert_array_equal(training._drawn(1200, 3).tokens, drawn.tokens)
    first = drawn.take(np.arange(600))
    np.testing.assert_array_equal(training.rewards(first, key=7), alone[:600])


def test_a_discount_lowers_what_comes_early() -> None:
    training = _fitted(discount=0.5)
    plain = _fitted(discount=1.0)
    drawn = training._drawn(30, 1)
    early = training.rewards(drawn, key=2) / np.where(drawn.taken, plain.rewards(drawn, key=2), 1)
    to_come = drawn.lengths[:, None] - 1 - np.arange(LIMIT)
    np.testing.assert_allclose(early[drawn.taken], 0.5 ** to_come[drawn.taken])


def test_roll_outs_are_of_the_policy_that_follows_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    training = _fitted(length=LIMIT, roll_out_averaging=0.75)
    liked = training.model.vocabulary.encode(["a"])[0]
    monkeypatch.setattr(training, "_prob_real", lambda rows: (rows == liked).mean(axis=1))
    training.roll_out_policy.head.bias[liked] += 100  # it goes on with nothing else
    drawn = training._drawn(20, 1)
    np.testing.assert_allclose(training.rewards(drawn, key=2)[:, 0], ((drawn.tokens[:, 0] == liked) + 2) / 3)
    before = {name: weight.clone() for name, weight in training.roll_out_policy.named_parameters()}
    training._update_rollout_policy()
    after = dict(training.roll_out_policy.named_parameters())
    for name, weight in training.generator.weights.items():
        torch.testing.assert_close(after[name], 0.75 * before[name] + 0.25 * weight.detach())


@pytest.mark.feature("JJ-10")
def test_the_model_before_the_rounds_is_the_mle_model_bit_for_bit() -> None:
    training = _fitted()
    before = {name: weight.clone() for name, weight in training.model.weights.items()}
    record = training.model.record
    train_in_rounds(training, (PHASES[0], Phase("adversarial", 0)))
    for name, weight in training.generator.weights.items():
        assert torch.equal(weight, before[name])
    training.finish(RoundsHistory(), {})
    assert all(torch.equal(weight, before[name]) for name, weight in training.model.weights.items())
    assert training.model.record == {**record, "adversarial": {"kind": "seqgan", **RoundsHistory().ending}}
    again = _fitted()
    train_in_rounds(again, PHASES)
    assert not all(torch.equal(weight, before[name]) for name, weight in again.generator.weights.items())
    assert all(torch.equal(weight, before[name]) for name, weight in again.model.weights.items())  # until `finish`


def test_a_killed_training_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, first, second = (_fitted(roll_out_averaging=0.5, baseline="leave-one-out") for _ in range(3))
    history = train_in_rounds(whole, PHASES)
    path = tmp_path / "rounds.safetensors"
    train_in_rounds(first, (PHASES[0], Phase("adversarial", 1)), checkpoint=path)
    assert train_in_rounds(second, PHASES, checkpoint=path).rounds == history.rounds
    for name, tensor in whole.state().items():
        assert torch.equal(tensor, second.state()[name]), name


@pytest.mark.feature("JJ-09")
def test_the_generator_learns_what_the_judge_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    training = _fitted(refreshes=0, adversarial_learning_rate=2e-2, baseline="leave-one-out")
    liked = training.model.vocabulary.encode(["a"])[0]
    monkeypatch.setattr(training, "_prob_real", lambda rows: (rows == liked).mean(axis=1))
    rewards = [each.values["reward"] for each in train_in_rounds(training, [Phase("adversarial", 40)]).rounds]
    assert np.mean(rewards[:5]) < 0.6
    assert np.mean(rewards[-5:]) > 0.9


@pytest.mark.feature("JJ-09")
def test_the_judge_learns_which_sentences_are_real() -> None:
    training = _fitted(discriminator_epochs=3, discriminator_learning_rate=2e-2, discriminator_dropout=0.0)
    train_in_rounds(training, [Phase("discriminator", 40)])
    real, drawn = (training._prob_real(rows.tokens).mean() for rows in (training._real, training._drawn(300, 1)))
    assert real > drawn + 0.1


def test_validation_asks_text_and_oracle() -> None:
    oracle = RandomLstm(30, length=LIMIT, width=4, seed=1)
    train = oracle.sample(200, seed=2)
    model = LstmModel(8, length=LIMIT, max_length=LIMIT, recipe=FAST, batch_size=16).fit(train)
    training = SeqGanTraining(model, train, train, recipe=RECIPE, oracle=oracle)
    said = training.validate()
    assert said[VALID] == pytest.approx(-model.log_prob(train).sum() / len(train.tokens), abs=1e-6)
    drawn = training.sample(50, seed=training._key("oracle"))
    assert said[ORACLE] == pytest.approx(-oracle.log_prob(drawn).mean() / LIMIT)
    assert set(drawn.lengths.tolist()) == {LIMIT}


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="draws at most 3 tokens"):
        SeqGanTraining(cast(LstmModel, _fitted().model), Corpus.from_texts(["a b a b"]), recipe=RECIPE)
    with pytest.raises(InputError, match="sentences of 2 tokens, but 1 of 2"):
        LstmModel(4, length=2).fit(Corpus.from_texts(["a b", "a"]))
    bad: tuple[dict[str, Any], ...] = (
        {"rounds": -1},
        {"roll_outs": 0},
        {"discount": 0.0},
        {"baseline": "mean"},
        {"discriminator_filters": {}},
    )
    for setting in bad:
        with pytest.raises(OptionError):
            SeqGanRecipe(**setting)


@pytest.mark.slow
@pytest.mark.feature("JJ-09")
def test_the_rounds_improve_the_likelihood_of_the_oracle() -> None:
    """Text drawn after the rounds costs the oracle less than after maximum likelihood alone, over ten seeds."""
    oracle = RandomLstm(50, length=6, seed=0)
    changes = []
    for seed in range(10, 20):
        train, valid = (oracle.sample(1000, seed=10 * seed + place) for place in (1, 2))
        first = Recipe(max_epochs=12, learning_rate=1e-2)
        model = LstmModel(16, dropout=0.0, length=6, max_length=6, recipe=first, batch_size=32, seed=seed)
        recipe = SeqGanRecipe(
            rounds=80,
            pretraining_rounds=30,
            refreshes=1,
            discriminator_epochs=2,
            negatives=1000,
            adversarial_batch_size=64,
            roll_outs=8,
            roll_out_averaging=0.0,
            baseline="leave-one-out",
            adversarial_learning_rate=5e-3,
            discriminator_learning_rate=3e-3,
            discriminator_width=16,
            discriminator_filters={1: 16, 2: 16, 3: 16},
            discriminator_dropout=0.1,
            validation_samples=4000,
        )
        training = SeqGanTraining(model.fit(train, valid), train, valid, recipe=recipe, oracle=oracle, seed=seed)
        phases = (Phase("discriminator", 30, validated=False), Phase("adversarial", 80))
        history = train_in_rounds(training, phases, validate_every=80)
        before, *_, after = (each.values[ORACLE] for each in history.validations)
        assert before is not None
        assert after is not None
        changes.append(after - before)
    found = np.array(changes)
    assert found.mean() < -2 * found.std(ddof=1) / len(found) ** 0.5
    assert found.mean() < -0.03
