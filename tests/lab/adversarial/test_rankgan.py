"""RankGAN: ranks against sums by hand, the ranker's loss and gradient, rewards, resuming, the verdict of an oracle."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay.execution.threads import workers
from textassay_lab.adversarial.generator_training import ORACLE
from textassay_lab.adversarial.rankgan import RankGan, RankGanRecipe
from textassay_lab.adversarial.rankgan_training import RankGanTraining, features, log_rank_of, log_ranks, ranker_loss
from textassay_lab.adversarial.rounds import Phase, train_in_rounds
from textassay_lab.adversarial.seqgan import FILTERS
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.random_lstm import RandomLstm
from textassay_lab.training.recipe import Recipe

TEXTS = ["a b", "a", "b b a", "", "a a b", "b"] * 10
RECIPE = RankGanRecipe(
    rounds=3,
    pretraining_rounds=2,
    refreshes=1,
    discriminator_epochs=1,
    negatives=40,
    adversarial_batch_size=16,
    roll_outs=2,
    discriminator_width=4,
    discriminator_filters={1: 6, 2: 6},
    validation_samples=50,
    references=5,
    gamma=3.0,
)
PHASES = (Phase("discriminator", 2, validated=False), Phase("adversarial", 3))


def _fitted(**recipe: Any) -> RankGanTraining:
    train = Corpus.from_texts(TEXTS)
    model = LstmModel(4, dropout=0.2, max_length=3, recipe=Recipe(max_epochs=2, learning_rate=2e-2), batch_size=16)
    model.fit(train, train)
    return RankGanTraining(model, train, train, recipe=RankGanRecipe(**{**RECIPE.__dict__, **recipe}))


def _vectors(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.feature("JJ-11")
@pytest.mark.parametrize("gamma", [0.0, 0.7, 1.0, 30.0, 2000.0])
def test_a_rank_is_the_mean_over_references_of_a_softmax_over_the_comparison_set_and_the_sentence(gamma: float) -> None:
    ranked, references, compared = _vectors(3, 4, seed=1), _vectors(5, 4, seed=2), _vectors(6, 4, seed=3)
    log_rank, log_rest = log_ranks(ranked, references, compared, gamma=gamma)
    for row, sentence in enumerate(ranked.numpy()):
        probs = []
        for reference in references.numpy():
            alphas = np.array(
                [
                    each @ reference / np.linalg.norm(each) / np.linalg.norm(reference)
                    for each in (sentence, *compared.numpy())
                ]
            )
            weights = np.exp(gamma * (alphas - alphas.max()))
            probs.append(weights[0] / weights.sum())
        assert float(log_rank[row].exp()) == pytest.approx(np.mean(probs), abs=1e-12)
        assert float(log_rest[row].exp()) == pytest.approx(1 - np.mean(probs), abs=1e-12)
    assert torch.isfinite(log_rank).all()


@pytest.mark.feature("JJ-11")
def test_the_ranks_of_a_set_sum_to_one() -> None:
    together, references = _vectors(7, 4, seed=1), _vectors(5, 4, seed=2)
    ranks = [
        log_ranks(together[[one]], references, together[[other for other in range(7) if other != one]], gamma=4.0)[0]
        for one in range(7)
    ]
    assert float(torch.cat(ranks).exp().sum()) == pytest.approx(1, abs=1e-12)
    assert float(torch.cat(ranks).exp().std()) > 0.01


@pytest.mark.feature("JJ-11")
def test_the_length_of_features_does_not_matter_and_without_gamma_all_are_equal() -> None:
    ranked, references, compared = _vectors(3, 4, seed=1), _vectors(5, 4, seed=2), _vectors(6, 4, seed=3)
    plain = torch.stack(log_ranks(ranked, references, compared, gamma=2.0))
    scales = [torch.rand(n, 1, generator=torch.Generator().manual_seed(n)).double() * 9 + 0.1 for n in (3, 5, 6)]
    scaled = log_ranks(ranked * scales[0], references * scales[1], compared * scales[2], gamma=2.0)
    torch.testing.assert_close(torch.stack(scaled), plain)
    uniform, _ = log_ranks(ranked, references, compared, gamma=0.0)
    torch.testing.assert_close(uniform.exp(), torch.full((3,), 1 / 7, dtype=torch.float64))


@pytest.mark.feature("JJ-11")
def test_the_loss_of_the_ranker_is_the_one_of_its_definition() -> None:
    training = _fitted(discriminator_dropout=0.0)
    rows = training._real.tokens
    real, drawn, references = rows[:4], training._drawn(5, 1).tokens, rows[10:13]
    rng = torch.Generator().manual_seed(0)
    loss = ranker_loss(training.judge, real, drawn, references, rng, gamma=3.0)
    ranks_of_real = log_rank_of(training.judge, real, references, drawn, gamma=3.0)
    ranks_of_drawn = log_rank_of(training.judge, drawn, references, real, gamma=3.0)
    expected = -ranks_of_real.mean() - np.log1p(-np.exp(ranks_of_drawn)).mean()
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)
    gradients = torch.autograd.grad(loss, list(training.discriminator.weights.values()))
    assert all(float(gradient.abs().max()) > 0 for gradient in gradients)


@pytest.mark.feature("JJ-11")
def test_the_last_action_earns_the_logarithm_of_the_rank_beside_human_sentences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    training = _fitted()
    draw, asked = training._references, []

    def told(rng: np.random.Generator, beside: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        asked.append((beside, draw(rng, beside)))
        return asked[-1][1]

    monkeypatch.setattr(training, "_references", told)
    drawn = training._drawn(20, 3)
    rewards = training.rewards(drawn, key=9)
    compared, references = asked[0]
    assert (len(compared), len(references)) == (8, 5)
    assert not set(compared) & set(references)
    y_drawn, y_references, y_compared = (
        features(training.judge, rows).detach().double()
        for rows in (drawn.tokens, training._real.tokens[references], training._real.tokens[compared])
    )
    expected, _ = log_ranks(y_drawn, y_references, y_compared, gamma=3.0)
    np.testing.assert_allclose(rewards[np.arange(20), drawn.lengths - 1], expected, rtol=1e-5)
    assert (rewards[drawn.taken] < 0).all()
    with workers(2):
        np.testing.assert_array_equal(training.rewards(drawn, key=9), rewards)


@pytest.mark.feature("JJ-11")
def test_the_ranker_learns_from_the_batch_beside_references_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    training, asked = _fitted(discriminator_dropout=0.3), []
    draw = training._references

    def told(rng: np.random.Generator, beside: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        asked.append(draw(rng, beside))
        return asked[-1]

    def loss(*given: Any, **settings: Any) -> torch.Tensor:
        real, drawn, references = given[1:4]
        np.testing.assert_array_equal(real, training._real.tokens[:8])
        np.testing.assert_array_equal(drawn, others)
        np.testing.assert_array_equal(references, training._real.tokens[asked[-1]])
        assert settings == {"gamma": 3.0}
        assert training.judge.dropout == 0.3
        return torch.zeros(())

    others = training._drawn(8, 2).tokens
    monkeypatch.setattr(training, "_references", told)
    monkeypatch.setattr("textassay_lab.adversarial.rankgan_training.ranker_loss", loss)
    for seed in range(20):
        training._discriminator_loss(np.arange(8), others, torch.Generator().manual_seed(seed))
        assert len(asked[-1]) == 5
        assert asked[-1].min() >= 8  # no sentence of the batch
    assert len({tuple(each) for each in asked}) == 20
    few = draw(np.random.default_rng(0), np.arange(57))
    assert sorted(few) == [57, 58, 59]
    assert len(draw(np.random.default_rng(0), np.arange(60))) == 5  # there are no others


@pytest.mark.feature("JJ-11")
def test_the_ranker_learns_to_rank_real_sentences_higher() -> None:
    training = _fitted(discriminator_epochs=3, discriminator_learning_rate=2e-2, discriminator_dropout=0.0)
    before = _lead(training)
    losses = [each.values["judge_loss"] for each in train_in_rounds(training, [Phase("discriminator", 10)]).rounds]
    assert losses[-1] < losses[0]
    assert _lead(training) > max(before, 0) + 0.05


def _lead(training: RankGanTraining) -> float:
    """Return by how much the rank of real sentences is above that of drawn ones, as logarithms."""
    judged = training._scorer(4)
    return float(judged(training._real.tokens).mean() - judged(training._drawn(300, 1).tokens).mean())


def test_a_killed_training_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, first, second = (_fitted(roll_out_averaging=0.5) for _ in range(3))
    history = train_in_rounds(whole, PHASES)
    path = tmp_path / "rounds.safetensors"
    train_in_rounds(first, (PHASES[0], Phase("adversarial", 1)), checkpoint=path)
    assert train_in_rounds(second, PHASES, checkpoint=path).rounds == history.rounds
    for name, tensor in whole.state().items():
        assert torch.equal(tensor, second.state()[name]), name
    assert not any("head" in name for name in whole.state() if name.startswith("discriminator/"))


@pytest.mark.slow
def test_an_oracle_finds_the_draws_not_much_worse_after_the_rounds() -> None:
    oracle = RandomLstm(40, length=6, width=8, seed=1)
    train = oracle.sample(600, seed=2)
    recipe = Recipe(max_epochs=12, learning_rate=2e-2)
    model = LstmModel(16, length=6, max_length=6, dropout=0.0, recipe=recipe, batch_size=64).fit(train)
    asked = {
        **RECIPE.__dict__,
        "validation_samples": 2000,
        "negatives": 200,
        "adversarial_batch_size": 64,
        "adversarial_learning_rate": 1e-2,
    }
    asked |= {
        "discriminator_learning_rate": 1e-3,
        "discriminator_filters": {1: 20, 2: 20, 3: 20},
        "discriminator_width": 16,
        "roll_outs": 4,
    }
    training = RankGanTraining(model, train, recipe=RankGanRecipe(**asked), oracle=oracle)
    history = train_in_rounds(training, (Phase("discriminator", 3, validated=False), Phase("adversarial", 15)))
    before, after = (history.validations[at].values[ORACLE] for at in (0, -1))
    assert before is not None
    assert after is not None
    assert after < before * 1.02


def test_bad_settings_are_refused_and_the_presets_are_whole() -> None:
    bad: tuple[dict[str, Any], ...] = (
        {"gamma": 0.0},
        {"gamma": float("inf")},
        {"references": 0},
        {"roll_outs": 0},
    )
    for setting in bad:
        with pytest.raises(OptionError):
            RankGanRecipe(**setting)
    assert RankGan.presets["paper"][1] == RankGanRecipe(
        references=4, discriminator_filters={**FILTERS, 30: 160, 40: 160}
    )
