"""LeakGAN's training: rewards by hand, gradients of the right players, no collapse on a toy, resuming."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, UNK
from textassay.errors import InputError, OptionError
from textassay.ngram.language_model import drawn_corpus
from textassay_lab.adversarial.generator_training import VALID
from textassay_lab.adversarial.leakgan import LeakGanRecipe
from textassay_lab.adversarial.leakgan_model import LeakGanModel
from textassay_lab.adversarial.leakgan_training import LeakGanTraining, goal_agreement, intrinsic_rewards, rank_rescaled
from textassay_lab.adversarial.policy_gradient import Actions
from textassay_lab.adversarial.rounds import Collapse, Phase, RoundsHistory, train_in_rounds

TEXTS = ["a b c", "a", "b b a", "", "a a b d", "b d"] * 10
RECIPE = LeakGanRecipe(
    rounds=3,
    cycles=2,
    pretraining_refreshes=1,
    epochs=2,
    refreshes=1,
    discriminator_epochs=1,
    mle_every=2,
    negatives=60,
    batch_size=16,
    roll_outs=2,
    learning_rate=5e-3,
    discriminator_learning_rate=1e-3,
)
PHASES = (Phase("pretraining", 2), Phase("adversarial", 3))


def _made(*, length: int | None = None, sharpness: float = 1.0, **recipe: Any) -> LeakGanTraining:
    train = Corpus.from_texts([text for text in TEXTS if length is None or len(text.split()) == length])
    model = LeakGanModel(
        8,
        goal=4,
        memory=2,
        feature_width=4,
        feature_filters=((1, 4), (2, 4)),
        sharpness=sharpness,
        length=length,
        max_length=4,
    )
    return LeakGanTraining(model, train, train, recipe=LeakGanRecipe(**{**RECIPE.__dict__, **recipe}), seed=1)


def _text(training: LeakGanTraining) -> Corpus:
    """Return the text that it learns from."""
    tokens, offsets = training._real.sentences()
    return drawn_corpus(tokens, offsets, vocabulary=training.model.vocabulary, tokenizer="whitespace")


def _cosine(one: Any, other: Any) -> float:
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / size if size else 0.0


@pytest.mark.feature("JJ-12")
def test_the_worker_is_rewarded_for_following_the_last_goals() -> None:
    rng = np.random.default_rng(0)
    features, goals = rng.standard_normal((2, 3, 7, 5))
    found = intrinsic_rewards(torch.from_numpy(features), torch.from_numpy(goals), memory=3).numpy()
    for row in range(3):
        for t in range(1, 7):  # (40)
            terms = [_cosine(features[row, t] - features[row, t - i], goals[row, t - i]) for i in (1, 2, 3) if i <= t]
            assert found[row, t - 1] == pytest.approx(sum(terms) / 3)
    line = torch.arange(7.0)[None, :, None] * torch.tensor([3.0, 4.0])
    along = torch.tensor([0.6, 0.8]).expand(1, 7, 2)
    np.testing.assert_allclose(intrinsic_rewards(line, along, memory=2)[0], [0.5, 1, 1, 1, 1, 1], atol=1e-6)
    assert float(intrinsic_rewards(line, -along, memory=2).min()) >= -1
    assert float(intrinsic_rewards(line, along, memory=9).max()) == pytest.approx(6 / 9)


@pytest.mark.feature("JJ-12")
def test_a_goal_is_for_where_the_features_are_a_few_tokens_later() -> None:
    rng = np.random.default_rng(1)
    features, goals = rng.standard_normal((2, 2, 6, 4))
    lengths = torch.tensor([5, 3])
    found = goal_agreement(torch.from_numpy(features), torch.from_numpy(goals), lengths, memory=2).numpy()
    for row, length in enumerate(lengths.tolist()):
        for t in range(length):
            moved = features[row, min(t + 2, length)] - features[row, t]
            assert found[row, t] == pytest.approx(_cosine(moved, goals[row, t]))


def test_rewards_are_rescaled_by_rank() -> None:
    rewards = np.array([[0.9, 0.1], [0.2, 0.5], [0.4, 0.5], [0.3, 99.0]])
    taken = np.array([[True, True], [True, True], [True, True], [True, False]])
    found = rank_rescaled(rewards, taken, rescaling=12.0)

    def sigmoid(x: float) -> float:
        return float(1 / (1 + np.exp(-x)))

    np.testing.assert_allclose(found[:, 0], [sigmoid(12 * (0.5 - rank / 4)) for rank in (1, 4, 2, 3)])
    np.testing.assert_allclose(found[:3, 1], [sigmoid(12 * (0.5 - rank / 3)) for rank in (3, 1.5, 1.5)])
    assert found[3, 1] == 0


def test_the_discriminator_sees_what_it_leaks() -> None:
    training = _made()
    drawn = training._drawn(60, 3)
    features = training.read(drawn).features[np.arange(60), drawn.lengths]
    torch.testing.assert_close(training._features(drawn), features)
    weights = training._output_layer
    expected = torch.sigmoid(features @ weights["output"] + weights["output bias"]).detach()  # (34)
    np.testing.assert_allclose(training.prob_real(drawn.tokens), expected, rtol=1e-5)


@pytest.mark.parametrize("length", [None, 3])
def test_the_actions_are_scored_as_the_model_scores_sentences(length: int | None) -> None:
    training = _made(length=length)
    drawn = training._real
    found = training.log_probs(drawn, training.read(drawn)).sum(1).detach().numpy()
    whole = np.flatnonzero((drawn.tokens == EOS).any(axis=1) | (length is not None))
    with_unknown = training.log_probs(drawn, training.read(drawn), with_unknown=True).sum(1).detach().numpy()
    np.testing.assert_allclose(with_unknown[whole], training.model.log_prob(_text(training))[whole], atol=1e-5)
    assert (found > with_unknown).all()


@pytest.mark.feature("JJ-12")
def test_each_player_is_moved_by_its_own_loss_alone() -> None:
    training = _made()
    before = {name: tensor.clone() for name, tensor in training.state().items()}
    training._policy_gradient_step("adversarial", 1)
    moved = {name.split("/")[0] for name, old in before.items() if not torch.equal(training.state()[name], old)}
    assert moved == {"manager", "worker"}
    before = {name: tensor.clone() for name, tensor in training.state().items()}
    training._refresh(0, 5)
    moved = {name.split("/")[0] for name, old in before.items() if not torch.equal(training.state()[name], old)}
    assert moved == {"discriminator"}


@pytest.mark.feature("JJ-12")
def test_a_goal_earns_what_the_last_action_it_is_for_leads_to() -> None:
    training = _made()
    drawn = Actions(np.array([[4, 5, 4, EOS], [5, EOS, PAD, PAD]]), np.array([4, 2]))
    reading = training.read(drawn)
    rewards = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.0, 0.0]])
    agreement = goal_agreement(reading.features, reading.goals, torch.tensor([4, 2]), memory=2).detach()
    weights = torch.tensor([[0.2, 0.3, 0.4, 0.4], [0.6, 0.6, 0.0, 0.0]])
    expected = -float((agreement * weights).sum()) / 2  # (38)
    assert float(training.manager_loss(drawn, reading, rewards).detach()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.feature("JJ-12")
def test_a_round_descends_the_losses_of_both_players(monkeypatch: pytest.MonkeyPatch) -> None:
    training = _made()
    learnt: list[list[float]] = []
    monkeypatch.setattr(training, "_learn", lambda *losses: learnt.append([float(loss.detach()) for loss in losses]))
    told = training._policy_gradient_step("adversarial", 1)
    drawn = training._drawn(16, training._key("adversarial", 1, "actions"))
    rewards = training.rewards(drawn, key=training._key("adversarial", 1, "roll-outs"))
    reading = training.read(drawn)
    agreement = goal_agreement(reading.features, reading.goals, torch.from_numpy(drawn.lengths), memory=2).detach()
    intrinsic = intrinsic_rewards(reading.features, reading.goals, memory=2).detach().numpy()
    by_rank = rank_rescaled(rewards, drawn.taken, rescaling=12.0)
    manager, worker = 0.0, 0.0
    log_probs = training.log_probs(drawn, reading).detach().numpy()
    for row, length in enumerate(drawn.lengths):
        for t in range(length):
            manager -= by_rank[row, min(t + 2, length) - 1] * float(agreement[row, t]) / 16  # (38)
            worker -= intrinsic[row, t] * log_probs[row, t] / 16
    assert learnt[0] == pytest.approx([manager, worker], rel=1e-4)
    assert told["intrinsic"] == pytest.approx(intrinsic[drawn.taken].mean(), rel=1e-5)


@pytest.mark.feature("JJ-12")
def test_a_step_of_the_manager_turns_goals_to_where_the_features_went() -> None:
    training = _made(learning_rate=1e-2)
    drawn = training._drawn(40, 2)
    rewards = np.where(drawn.taken, 0.5, 0.0)
    losses = [training.manager_loss(drawn, training.read(drawn), rewards)]
    for _ in range(5):
        training.manager.descend(losses[-1])
        losses.append(training.manager_loss(drawn, training.read(drawn), rewards))
    cosines = [-float(loss.detach()) / 0.5 * 40 / drawn.lengths.sum() for loss in losses]
    assert all(-1 <= cosine <= 1 for cosine in cosines)
    assert cosines[-1] > cosines[0] + 0.02


def test_the_discriminator_learns_who_is_real_and_its_last_layer_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    training, other = (
        _made(discriminator_learning_rate=1e-2, discriminator_epochs=10, discriminator_penalty=0.0),
        _made(discriminator_penalty=0.5),
    )
    first: dict[str, float] = {}
    for name, each in (("without", training), ("with", other)):
        plain = each.discriminator.descend
        monkeypatch.setattr(
            each.discriminator,
            "descend",
            lambda loss, n=name, p=plain: first.setdefault(n, float(loss.detach())) and p(loss),
        )
    squares = sum(float(weight.detach().square().sum()) for weight in other._output_layer.values())
    for each in (training, other):
        each._refresh(0, 5)
    assert first["with"] - first["without"] == pytest.approx(0.25 * squares, rel=1e-3)
    drawn = training._drawn(200, 9)
    assert training.prob_real(training._real.tokens).mean() > training.prob_real(drawn.tokens).mean() + 0.2


def test_what_is_told_of_the_model_is_as_sharp_as_it_shall_be_and_the_rounds_are_not() -> None:
    training = _made(sharpness=20.0, length=3)
    n_draws = 2000
    drawn, told = training._drawn(n_draws, 3).tokens[:, 0], training.sample(n_draws, seed=1).tokens.reshape(-1, 3)[:, 0]
    validated = training.validate()[VALID]
    training.finish(RoundsHistory(), {})
    nothing = Corpus.from_texts([""], vocabulary=training.model.vocabulary)
    sharp = np.exp(training.model.next_log_probs(nothing)[0])
    plain = np.exp(training.model.next_log_probs(nothing, temperature=20.0)[0])
    plain[UNK] = 0  # in the rounds, as real text has none
    assert np.ptp(sharp) > np.ptp(plain) + 0.05
    for tokens, expected in ((told, sharp), (drawn, plain / plain.sum())):
        shares = np.bincount(tokens, minlength=len(expected)) / n_draws
        assert (np.abs(shares - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / n_draws) + 1e-9).all()
    n_tokens = len(_text(training).tokens)
    assert validated == pytest.approx(-training.model.log_prob(_text(training)).sum() / n_tokens)


@pytest.mark.feature("JJ-12")
def test_it_trains_without_collapse_on_a_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    training = _made(cycles=6)
    passes: list[str | int] = []
    plain = training._pass

    def counted(*place: str | int) -> dict[str, float]:
        passes.append(place[0])
        return plain(*place)

    monkeypatch.setattr(training, "_pass", counted)
    history = train_in_rounds(
        training, (Phase("pretraining", 6), Phase("adversarial", 12)), collapse=Collapse("variety", least=0.5)
    )
    assert history.stopped is None
    assert len(history.rounds) == 18
    assert passes.count("adversarial") == 6  # interleaved: every second round
    first, last = history.rounds[0].values, history.rounds[5].values
    assert last["agreement"] > first["agreement"] + 0.1  # (39)
    assert last["mle_loss"] < first["mle_loss"] - 0.2
    assert all(-1 <= each.values["intrinsic"] <= 1 for each in history.rounds[6:])
    said = [each.values[VALID] for each in history.validations]
    assert said[-1] is not None
    assert said[0] is not None
    assert said[-1] < said[0] - 0.2
    drawn = training._drawn(200, 4)
    assert len(np.unique(drawn.tokens, axis=0)) >= 6
    training.finish(RoundsHistory(), {})
    next_probs = np.exp(
        training.model.next_log_probs(Corpus.from_texts(["", "a", "b b"], vocabulary=training.model.vocabulary))
    )
    assert next_probs[:, UNK].max() < 0.02  # real text has none: that is learnt


def test_the_same_seed_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, first, second = (_made() for _ in range(3))
    history = train_in_rounds(whole, PHASES)
    path = tmp_path / "rounds.safetensors"
    train_in_rounds(first, (PHASES[0], Phase("adversarial", 1)), checkpoint=path)
    assert train_in_rounds(second, PHASES, checkpoint=path).rounds == history.rounds
    for name, tensor in whole.state().items():
        assert torch.equal(tensor, second.state()[name]), name
    before = whole.model.log_prob(_text(whole))
    whole.finish(RoundsHistory(), {})
    after = whole.model.log_prob(_text(whole))
    assert not np.array_equal(before, after)
    assert whole.model.record["adversarial"]["kind"] == "leakgan"
    assert whole.validate()[VALID] == pytest.approx(-after.sum() / (len(_text(whole).tokens) + len(_text(whole))))


def test_bad_input_is_refused() -> None:
    model = LeakGanModel(4, max_length=2)
    with pytest.raises(InputError, match="draws at most 2 tokens, but real sentences have up to 3"):
        LeakGanTraining(model, Corpus.from_texts(["a b a"]), recipe=RECIPE)
    with pytest.raises(InputError, match="sentences of 2 tokens, but 1 of 2 have another length, such as 1"):
        LeakGanTraining(LeakGanModel(4, length=2, max_length=2), Corpus.from_texts(["a b", "a"]), recipe=RECIPE)
    bad: tuple[dict[str, Any], ...] = ({"rounds": -1}, {"roll_outs": 0}, {"rescaling": 0.0}, {"batch_size": 1})
    for setting in bad:
        with pytest.raises(OptionError):
            LeakGanRecipe(**setting)
