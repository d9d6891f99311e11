"""Exposure bias of RankGAN and ScratchGAN against a random LSTM, all of whose probabilities are known, beside MLE's.

The world is M_32^rand of He et al. with 50 words and sentences of 10 tokens: there EB-C of maximum likelihood is 1.04
to 1.08 after two epochs, where the paper has 1.01 to 1.02, and differences show within minutes. Each seed gives another
oracle, another text and other trainings; settings were chosen on seeds 1 and 2, which are not among those tested.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from scipy.special import rel_entr

from exposure_runs import measure_runs
from textassay.corpus.corpus import Corpus
from textassay.execution.threads import workers
from textassay.ngram.language_model import LanguageModel
from textassay_lab.adversarial.rankgan import RankGanRecipe
from textassay_lab.adversarial.rankgan_training import RankGanTraining
from textassay_lab.adversarial.rounds import Phase, RoundsHistory, train_in_rounds
from textassay_lab.adversarial.scratchgan import ScratchGanRecipe
from textassay_lab.adversarial.scratchgan_training import ScratchGanTraining, TiedLstm
from textassay_lab.exposure.bias import eb_c
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.random_lstm import RandomLstm
from textassay_lab.training.backend import single_threaded
from textassay_lab.training.recipe import Recipe

WORDS, LENGTH, WIDTH = 50, 10, 32
N_SEQUENCES = 20_000
MLE = Recipe(max_epochs=2, learning_rate=1e-2, schedule="linear", max_norm=5.0)
RANKGAN = RankGanRecipe(
    pretraining_rounds=40,
    rounds=40,
    refreshes=1,
    discriminator_epochs=1,
    negatives=1000,
    adversarial_batch_size=128,
    roll_outs=1,
    roll_out_averaging=0.0,
    gamma=20.0,
    adversarial_learning_rate=1e-3,
    discriminator_learning_rate=3e-3,
    discriminator_width=16,
    discriminator_filters={1: 20, 2: 60, 3: 40},
    discriminator_dropout=0.0,
)
SCRATCHGAN = ScratchGanRecipe(
    rounds=1,
    iterations=300,
    batch_size=128,
    learning_rate=3e-3,
    discriminator_learning_rate=5e-3,
    discriminator_embedding_width=16,
    discriminator_width=32,
)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Sum in one order wherever the tests run."""
    with workers(1), single_threaded():
        yield


def _bias(model: LanguageModel, oracle: LanguageModel, seed: int) -> float:
    """Return EB-C by Jensen-Shannon, mean over all lengths; the same draws of the oracle for the same seed."""
    runs = measure_runs(model, oracle, ("data", "model"), range(1, LENGTH), N_SEQUENCES, n_runs=1, seed=seed)
    return eb_c(runs["data"], runs["model"], "js").average


@pytest.mark.feature("EB-21")
def test_in_a_world_that_can_be_enumerated_rankgan_lies_between_one_and_maximum_likelihood() -> None:
    """Sentences of 5 out of 5 words: EB-C and what draws cost the oracle are sums over all texts, without sampling.

    The same tests over seeds as at full size, below; settings were chosen on seeds 40 to 45. Seven seeds, 30 to 36,
    were too few on one processor (p .08); these twelve were first run afterwards, with sentences of 7 tokens
    and 1000 negatives.
    """
    recipe = replace(RANKGAN, pretraining_rounds=6, rounds=3, negatives=500)
    found = []
    for seed in range(60, 72):
        oracle = RandomLstm(5, length=5, width=WIDTH, seed=seed)
        train = oracle.sample(2000, seed=seed)
        model = LstmModel(WIDTH, dropout=0.0, length=5, max_length=5, recipe=MLE, batch_size=64, seed=seed).fit(train)
        training = RankGanTraining(model, train, recipe=recipe, seed=seed)
        before = _exact_bias_and_cost(model, oracle, 5, 5)
        train_in_rounds(
            training, (Phase("discriminator", recipe.pretraining_rounds), Phase("adversarial", recipe.rounds))
        )
        training.finish(RoundsHistory(), {})
        found.append((*before, *_exact_bias_and_cost(model, oracle, 5, 5)))
    _check_rankgan(np.array(found))


def _exact_bias_and_cost(model: LstmModel, oracle: RandomLstm, n_words: int, length: int) -> tuple[float, float]:
    """Return EB-C by Jensen-Shannon, mean over all lengths, and the nats per token of draws under the oracle."""
    words = [str(word) for word in range(n_words)]
    types = [oracle.vocabulary.tokens.index(word) for word in words]
    of_data, of_model = np.ones(1), np.ones(1)  # probability of each prefix of the length
    texts, rates = [""], []
    for _ in range(length):
        prefixes = Corpus.from_texts(texts, vocabulary=oracle.vocabulary)
        data, own = (np.exp(each.next_log_probs(prefixes)) for each in (oracle, model))
        middle = (data + own) / 2
        divergence = (rel_entr(data, middle) + rel_entr(own, middle)).sum(axis=1) / 2
        rates.append((of_model @ divergence) / (of_data @ divergence))
        of_data = (of_data[:, None] * data[:, types]).ravel()
        of_model = (of_model[:, None] * own[:, types]).ravel()
        of_model /= of_model.sum()  # without <unk>, which the model may write
        texts = [f"{text} {word}".strip() for text in texts for word in words]
    assert of_data.sum() == pytest.approx(1, abs=1e-4)
    return float(np.mean(rates[1:])), float(-of_model @ np.log(of_data) / length)


def _check_rankgan(found: npt.NDArray[np.float64]) -> None:
    """Check EB-C and the cost per token before and after the rounds, a row a seed, by one-sided signed-rank tests."""
    mle, cost, rankgan, cost_after = found.T
    assert stats.wilcoxon(cost_after - cost - 0.02, alternative="less").pvalue < 0.05, found
    assert stats.wilcoxon(rankgan - 1, alternative="greater").pvalue < 0.05, found
    assert stats.wilcoxon(rankgan - mle, alternative="less").pvalue < 0.05, found


@pytest.mark.slow
@pytest.mark.feature("EB-21")
def test_rankgan_lowers_exposure_bias_not_below_one_and_the_oracle_finds_its_draws_no_worse() -> None:
    """RankGAN against the very model that it begins with: one-sided, paired signed-rank tests over seeds at 5 %.

    The draws may cost the oracle 0.02 nats per token more than before the rounds, of about 4 (the paper has 8.67, then
    8.55). Rounds that change nothing fail: then no difference is below 0.
    """
    found = []
    for seed in range(20, 32):
        oracle = RandomLstm(WORDS, length=LENGTH, width=WIDTH, seed=seed)
        train = oracle.sample(4000, seed=seed)
        model = LstmModel(
            WIDTH, dropout=0.0, length=LENGTH, max_length=LENGTH, recipe=MLE, batch_size=64, seed=seed
        ).fit(train)
        training = RankGanTraining(model, train, recipe=RANKGAN, seed=seed)
        row = [_bias(model, oracle, seed), -oracle.log_prob(training.sample(N_SEQUENCES, seed=seed)).mean() / LENGTH]
        phases = (Phase("discriminator", RANKGAN.pretraining_rounds), Phase("adversarial", RANKGAN.rounds))
        train_in_rounds(training, phases)
        training.finish(RoundsHistory(), {})
        row += [_bias(model, oracle, seed), -oracle.log_prob(training.sample(N_SEQUENCES, seed=seed)).mean() / LENGTH]
        found.append(row)
    _check_rankgan(np.array(found))


@pytest.mark.slow
@pytest.mark.feature("EB-20")
def test_scratchgan_has_less_exposure_bias_than_maximum_likelihood_of_the_same_network() -> None:
    """In sign: log EB-C of ScratchGAN less that of MLE is below 0, by a one-sided t test over seeds at 5 %.

    Both sides are one network on one text. Before it learns, its EB-C is no lower than that of MLE (1.06 beside 1.05 at
    seed 1); that it has learnt is seen in each seed: to know nothing costs log(50) = 3.91 nats per token.
    """
    found = []
    for seed in range(10, 15):
        oracle = RandomLstm(WORDS, length=LENGTH, width=WIDTH, seed=seed)
        train, held_out = (oracle.sample(n, seed=2 * seed + side) for side, n in enumerate((10_000, 2000)))
        by_mle, scratch = (
            TiedLstm(
                WIDTH,
                embedding_width=16,
                fixed_width=16,
                dropout=0.0,
                length=LENGTH,
                max_length=LENGTH,
                recipe=MLE,
                batch_size=64,
                seed=seed,
            )
            for _ in range(2)
        )
        by_mle.fit(train)
        training = ScratchGanTraining(scratch, train, recipe=SCRATCHGAN, seed=seed)
        with training.lasting:
            history = train_in_rounds(training, training.phases)
        training.finish(history, {})
        cost = -scratch.log_prob(held_out).mean() / LENGTH
        found.append((_bias(by_mle, oracle, seed), _bias(scratch, oracle, seed), cost))
    mle, adversarial, costs = np.array(found).T
    assert (costs < np.log(WORDS) - 0.3).all(), found
    assert stats.ttest_1samp(np.log(adversarial / mle), 0, alternative="less").pvalue < 0.05, found
