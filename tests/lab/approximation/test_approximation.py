"""Algorithm 1 in all its modes, against exact values; texts as rows; intervals."""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, UNK
from textassay.corpus.text_form import TextForm
from textassay.errors import EmptyCorpusError, InputError, OptionError, TooFewSentencesError, UnavailableError
from textassay.ngram.model import NgramModel
from textassay_lab.approximation import steppable
from textassay_lab.approximation.approximation import Approximation, approximate, choose_mode
from textassay_lab.approximation.reference_windows import reference_windows
from textassay_lab.approximation.steppable import (
    SoftmaxStepper,
    as_window_stepper,
    next_token_probs,
    reference_log_probs,
)
from textassay_lab.approximation.token_counts import multinomial_costs, one_hot_costs, second_order_bits, sizes_below
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.next_words import Ends
from textassay_lab.training.recipe import Recipe

from .conftest import Noisy, Uniform


@pytest.mark.feature("LM-01")
def test_a_uniform_generator_costs_log2_of_27(letters: TextForm, gold: Corpus) -> None:
    found = approximate(Uniform(letters.vocabulary), gold, window=31)
    assert found.mode == "onehot"
    assert found.plain is not None
    assert found.corrected is not None
    assert found.n_tokens == 3999
    # to second order the plain value is 0.0094 bits too high; its standard error is 0.003
    assert found.plain.value == pytest.approx(math.log2(27) + 0.0094, abs=0.011)
    assert found.corrected.value == pytest.approx(math.log2(27), abs=0.011)
    assert found.corrected.interval is not None
    assert found.corrected.interval.low < math.log2(27) < found.corrected.interval.high
    assert found.exact is None
    assert found.zero_share == 0


@pytest.mark.feature("LM-01")
@pytest.mark.parametrize("p", [0.03, 0.4])
def test_counts_are_binomial_at_every_number_of_draws(gold: Corpus, p: float) -> None:
    """Mean costs of 4,000 tokens of one probability against sums over SciPy's binomial distribution."""
    text = reference_windows(gold, window=20)
    sizes = [20, 50, 200]
    found = multinomial_costs(text, np.full(text.n_tokens, math.log(p)), sizes, floor=1e-3, seed=0)
    for place, n in enumerate(sizes):
        counts = np.arange(n + 1)
        chances = stats.binom.pmf(counts, n, p)
        costs = {"plain": -np.log2(np.maximum(counts / n, 1e-3)), "zeros": (counts == 0).astype(float)}
        for name, cost in costs.items():
            mean = float(chances @ cost)
            error = math.sqrt(float(chances @ (cost - mean) ** 2) / text.n_tokens)
            assert found[name][place].sum() / text.n_tokens == pytest.approx(mean, abs=4 * error + 1e-9)


@pytest.mark.slow
@pytest.mark.feature("LM-01")
@pytest.mark.parametrize("mode", ["multinomial", "onehot"])
def test_it_nears_the_softmax_from_above_as_n_grows(char_lstm: LstmModel, gold: Corpus, mode: str) -> None:
    n_samples = 20_000 if mode == "multinomial" else 640
    found = approximate(char_lstm, gold, mode=mode, window=20, n_samples=n_samples)
    assert found.exact is not None
    assert found.corrected is not None
    above = [point.plain - found.exact.value for point in found.curve]
    assert all(later < earlier for earlier, later in pairwise(above[::3]))
    if mode == "multinomial":
        assert 0 < above[-1] < 0.01
        assert found.corrected.value == pytest.approx(found.exact.value, abs=0.004)
    # corrected from below, to within what one set of draws leaves to chance
    assert max(point.corrected - found.exact.value for point in found.curve) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("n_samples", [40, 500])
def test_the_expected_difference_is_that_of_many_sets_of_draws(
    char_lstm: LstmModel, gold: Corpus, n_samples: int
) -> None:
    runs = [approximate(char_lstm, gold, window=20, n_samples=n_samples, seed=seed) for seed in range(40)]
    found = np.array([run.plain.value - run.exact.value for run in runs if run.plain and run.exact])
    expected = {run.gap.value for run in runs if run.gap}
    assert len(expected) == 1
    error = found.std(ddof=1) / math.sqrt(len(found))
    assert found.mean() == pytest.approx(expected.pop(), abs=4 * error)
    assert found.mean() > 10 * error


@pytest.mark.feature("LM-15")
def test_the_bias_to_second_order_stands_beside_the_whole_one(char_lstm: LstmModel, gold: Corpus) -> None:
    found = approximate(char_lstm, gold, window=20, n_samples=100_000)
    text = reference_windows(gold, window=20)
    probs = np.exp(reference_log_probs(char_lstm, text.rows, ends="excluded").reshape(-1))
    assert found.second_order is not None
    assert found.gap is not None
    assert found.second_order.value == pytest.approx(second_order_bits(probs, 100_000).mean())
    frequent = approximate(char_lstm, gold, window=20, n_samples=10_000_000)
    assert frequent.second_order is not None
    assert frequent.gap is not None
    assert frequent.second_order.value == pytest.approx(found.second_order.value / 100)
    assert frequent.second_order.value == pytest.approx(frequent.gap.value, rel=0.05)
    assert approximate(char_lstm, gold, mode="exact", window=20).second_order is None


@pytest.mark.feature("LM-02")
def test_the_short_cut_has_the_distribution_of_n_passes(char_lstm: LstmModel, gold: Corpus) -> None:
    text = reference_windows(gold, window=20)
    gold_scores = reference_log_probs(char_lstm, text.rows, ends="excluded").reshape(-1)
    stepper = SoftmaxStepper(char_lstm, ends="excluded")
    n, rows = 12, text.rows[:3]
    tiled = np.tile(rows, (n * 400, 1))
    passes = (stepper.step_after(tiled, seed=1) == tiled).reshape(400, n, -1).sum(axis=1)  # (repeats, positions)
    short = np.random.default_rng(0).binomial(n, np.exp(gold_scores[: rows.size]), (400, rows.size))
    p_values = []
    for position in range(rows.size):
        table = np.stack([np.bincount(side[:, position], minlength=n + 1) for side in (passes, short)])
        table = table[:, table.sum(axis=0) > 0]
        p_values.append(stats.chi2_contingency(table).pvalue if table.shape[1] > 1 else 1.0)
    assert min(p_values) > 0.001 / rows.size
    assert np.mean(np.asarray(p_values) < 0.05) < 0.2
    # and the bits that come of both are the same, on average
    sizes = sizes_below(40, 20)
    short_cuts = [multinomial_costs(text, gold_scores, sizes, floor=1e-20, seed=seed) for seed in range(6)]
    in_passes = [one_hot_costs(stepper, text, sizes, floor=1e-20, seed=seed) for seed in range(6)]
    one, other = ([found["plain"][-1].sum() for found in side] for side in (short_cuts, in_passes))
    assert stats.ttest_ind(one, other).pvalue > 0.01


def test_passes_hold_few_probabilities_at_once_and_draw_the_same(
    char_lstm: LstmModel, gold: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.tile(reference_windows(gold, window=20).rows[:5], (20, 1))
    stepper = SoftmaxStepper(char_lstm, ends="excluded")
    whole = stepper.step_after(rows, seed=1)
    held: list[int] = []

    def counted(model: LstmModel, windows: npt.NDArray[np.int64], *, ends: Ends) -> npt.NDArray[np.float64]:
        found = next_token_probs(model, windows, ends=ends)
        held.append(found.size)
        return found

    monkeypatch.setattr(steppable, "next_token_probs", counted)
    monkeypatch.setattr(steppable, "_NUMBERS", 4000)
    np.testing.assert_array_equal(stepper.step_after(rows, seed=1), whole)
    assert max(held) <= 4000
    assert sum(held) == rows.size * len(char_lstm.vocabulary)


def test_a_model_of_windows_is_not_asked_about_ends(letters: TextForm) -> None:
    train = letters.corpus(["the cat sa", "t on the m"] * 4)
    model = LstmModel(4, length=10, recipe=Recipe(max_epochs=1)).fit(train)
    for mode in ("multinomial", "onehot", "exact"):
        with pytest.raises(OptionError, match="length=10\\) never ends a text"):
            approximate(model, train, mode=mode)
    found = approximate(model, train, window=10, mode="exact").exact
    assert found is not None
    assert found.value == pytest.approx(-model.log_prob(train).sum() / 80 / math.log(2))


@pytest.mark.feature("LM-03")
def test_a_token_never_drawn_costs_the_floor_and_is_told(letters: TextForm, gold: Corpus) -> None:
    class Silent(Uniform):
        def step(self, prefixes: npt.NDArray[np.int64], *, seed: int) -> npt.NDArray[np.int64]:
            return np.full(len(prefixes), UNK + 1)  # always an a

    found = approximate(Silent(letters.vocabulary), gold, window=20, n_samples=20)
    is_a = float(np.mean(reference_windows(gold, window=20).rows == UNK + 1))
    assert 0 < is_a < 1
    assert found.plain is not None
    assert found.zero_share == pytest.approx(1 - is_a)
    assert found.zero_bits == pytest.approx((1 - is_a) * 66.4386, abs=1e-3)
    assert found.plain.value == pytest.approx(found.zero_bits)
    lower = approximate(Silent(letters.vocabulary), gold, window=20, n_samples=20, floor=0.05)
    assert lower.plain is not None
    assert lower.plain.value == pytest.approx((1 - is_a) * -math.log2(0.05))
    assert found.corrected == lower.corrected  # which knows no floor


@pytest.mark.feature("LM-11")
def test_soft_and_one_hot_averages_of_noise(letters: TextForm, gold: Corpus) -> None:
    generator = Noisy(letters.vocabulary)
    text = gold.take(np.array([0]))
    few = letters.corpus([text.texts[0][:210]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)  # the expectation over the noise, by quadrature
    rows = reference_windows(few, window=7).rows
    before = np.concatenate((np.zeros((len(rows), 1), dtype=np.int64), rows[:, :-1]), axis=1)
    shown = np.stack([generator.shown(np.full(len(rows), node), before) for node in nodes])
    mean = np.einsum("k,kbtv->btv", weights / weights.sum(), shown)
    truth = float(-np.log2(np.take_along_axis(mean, rows[:, :, None], axis=2)).mean())
    values: Mapping[str, list[Approximation]] = {
        mode: [approximate(generator, few, mode=mode, window=7, n_samples=320, seed=seed) for seed in range(8)]
        for mode in ("onehot", "soft")
    }
    found = {
        mode: np.array([[run.plain.value, run.corrected.value] for run in runs if run.plain and run.corrected])
        for mode, runs in values.items()
    }
    assert found["soft"][:, 0].var() < found["onehot"][:, 0].var() / 2
    for mode, runs in found.items():
        assert 0 < runs.min() <= runs.max() < 66.44
        error = runs[:, 1].std(ddof=1) / math.sqrt(8)
        assert runs[:, 1].mean() == pytest.approx(truth, abs=4 * error + 0.002), mode
        assert runs[:, 0].mean() > truth  # Jensen
    # with few draws the bias is seen, and most of it is taken off
    quick = [approximate(generator, few, mode="soft", window=7, n_samples=20, seed=seed) for seed in range(40)]
    plain, corrected = (
        np.mean([bits.value for bits in side if bits]) - truth
        for side in ([run.plain for run in quick], [run.corrected for run in quick])
    )
    assert plain > 0.01
    assert abs(corrected) < plain / 2


def test_rows_of_windows_with_context_and_of_sentences(letters: TextForm) -> None:
    corpus = letters.corpus(["abcdefgh", "ijk"])
    ids = {letter: number for number, letter in enumerate(letters.vocabulary.tokens)}

    def of(*words: str) -> list[list[int]]:
        return [[ids[letter] for letter in word] for word in words]

    windows = reference_windows(corpus, window=4)
    assert windows.rows.tolist() == of("abcd", "efgh")
    assert (windows.n_tokens, windows.n_dropped, windows.ends) == (8, 3, "excluded")
    after = reference_windows(corpus, window=4, context=3)
    assert after.rows.tolist() == of("abcdefg", "efghijk")
    assert after.scored.sum(axis=1).tolist() == [4, 4]
    assert (after.n_tokens, after.n_dropped) == (8, 0)
    sentences = reference_windows(corpus)
    assert sentences.rows[0].tolist() == [*of("abcdefgh")[0], EOS]
    assert sentences.rows[1].tolist() == [*of("ijk")[0], *[EOS] * 6]
    assert sentences.sizes.tolist() == [9, 4]
    assert sentences.ends == "absorbing"
    assert sentences.characters_per_token == 1


@pytest.mark.parametrize("kind", ["char_lstm", "char_ngram"])
def test_windows_and_sentences_are_scored_as_the_model_does(
    kind: str, request: pytest.FixtureRequest, letters: TextForm, gold: Corpus
) -> None:
    model = request.getfixturevalue(kind)
    whole = approximate(model, gold, mode="exact", window=9, context=4)
    rows = reference_windows(gold, window=9, context=4).rows
    probs = next_token_probs(model, rows, ends="excluded")
    assert probs[:, :, : EOS + 1].max() == 0
    assert probs.sum(axis=2) == pytest.approx(1)
    by_hand = -np.log2(np.take_along_axis(probs, rows[:, :, None], axis=2)[:, 4:]).mean()
    assert whole.exact is not None
    assert whole.exact.value == pytest.approx(by_hand, rel=1e-5)
    assert (whole.plain, whole.corrected, whole.gap, whole.curve) == (None, None, None, ())
    sentences = letters.corpus([gold.texts[0][:20], gold.texts[0][20:40], gold.texts[0][40:55]])
    found = approximate(model, sentences)
    assert found.exact is not None
    total = -model.log_prob(sentences).sum() / math.log(2)
    assert found.exact.value == pytest.approx(total / (len(sentences.tokens) + 3))
    assert found.per_character(found.exact).value == pytest.approx(total / (sum(map(len, sentences.texts)) + 3))
    # one-hot passes count ends as well
    drawn = approximate(model, sentences, mode="onehot", n_samples=4000)
    assert drawn.corrected is not None
    assert drawn.corrected.value == pytest.approx(found.exact.value, abs=0.15)


def test_context_helps_a_model_that_looks_back(char_ngram: NgramModel, gold: Corpus) -> None:
    without, with_context = (
        approximate(char_ngram, gold, mode="exact", window=2, context=context).exact for context in (0, 4)
    )
    assert without is not None
    assert with_context is not None
    assert with_context.value < without.value - 0.3


def test_the_same_seed_gives_the_same_and_parts_are_found_again(letters: TextForm, gold: Corpus) -> None:
    kept: dict[str, Mapping[str, npt.NDArray[np.float64]]] = {}
    calls = []

    class Keep:
        def load(self, part: str) -> Mapping[str, npt.NDArray[np.float64]] | None:
            return kept.get(part)

        def save(self, part: str, arrays: Mapping[str, npt.NDArray[np.float64]]) -> None:
            kept[part] = arrays

    class Counting(Noisy):
        def step_after(self, windows: npt.NDArray[np.int64], *, seed: int) -> npt.NDArray[np.int64]:
            calls.append(len(windows))
            return super().step_after(windows, seed=seed)

    text = Corpus.concatenate([gold, gold])
    generator = Counting(letters.vocabulary)
    told: list[tuple[str, int, int]] = []
    first = approximate(generator, text, window=40, n_samples=20, keep=Keep(), progress=lambda *step: told.append(step))
    assert len(kept) == 2
    assert told == [("drawing", 0, 2), ("drawing", 1, 2), ("drawing", 2, 2)]
    n_calls = len(calls)
    again = approximate(generator, text, window=40, n_samples=20, keep=Keep())
    assert len(calls) == n_calls
    assert again.to_dict() == first.to_dict()
    kept.popitem()
    assert approximate(generator, text, window=40, n_samples=20, keep=Keep()).to_dict() == first.to_dict()
    assert n_calls < len(calls) < 2 * n_calls
    other = approximate(generator, text, window=40, n_samples=20, seed=1)
    assert other.plain != first.plain


def test_a_generator_of_single_steps_is_asked_position_by_position(letters: TextForm) -> None:
    seen: list[tuple[int, ...]] = []

    class Asked(Uniform):
        def step(self, prefixes: npt.NDArray[np.int64], *, seed: int) -> npt.NDArray[np.int64]:
            seen.append(prefixes.shape)
            return np.asarray(prefixes[:, -1] if prefixes.shape[1] else np.full(len(prefixes), 9))

    windows = np.array([[4, 5, 6], [7, 8, 9]])
    drawn = as_window_stepper(Asked(letters.vocabulary)).step_after(windows, seed=0)
    assert seen == [(2, 0), (2, 1), (2, 2)]
    assert drawn.tolist() == [[9, 4, 5], [9, 7, 8]]  # the last gold token of a window is never shown


@pytest.mark.parametrize(("coupling", "covers"), [(0.0, 0.93), (0.7, 0.88)])
def test_intervals_cover(letters: TextForm, coupling: float, covers: float) -> None:
    """Costs of 600 windows whose neighbours are alike: a first-order chain with mean 0."""
    corpus = letters.corpus(["ab" * 600])
    text = reference_windows(corpus, window=2)
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(500):
        shocks = rng.normal(size=700)
        chain = np.empty(700)
        chain[0] = shocks[0]
        for place in range(1, 700):
            chain[place] = coupling * chain[place - 1] + shocks[place]
        bounds = text.mean(chain[100:], level=0.95).interval
        assert bounds is not None
        hits += bounds.low < 0 < bounds.high
    assert covers < hits / 500 < 0.98


@pytest.mark.parametrize(
    ("settings", "error", "line"),
    [
        ({"window": 5000}, TooFewSentencesError, "has 4,003 tokens, fewer than a window of 5,000"),
        ({"window": 4000, "context": 4}, TooFewSentencesError, "fewer than a window of 4,000 tokens with 4 of context"),
        ({"window": 0}, OptionError, "window must be at least 1 token, got 0"),
        ({"context": 3}, OptionError, "context must be at least 0, and 0 without a window"),
        ({"window": 9, "n_samples": 19}, OptionError, "samples must be at least 20"),
        ({"window": 9, "floor": 0.1}, OptionError, "at most 1 / samples"),
        ({"window": 9, "mode": "hard"}, OptionError, "unknown mode 'hard'"),
        ({"window": 9, "mode": "exact"}, UnavailableError, "needs a generator with a softmax, and noisy has none"),
        ({"window": 9, "level": 1.0}, OptionError, "level"),
        ({"window": 9, "seed": -1}, OptionError, "seed must be at least 0"),
        ({}, OptionError, "noisy never ends a text"),
    ],
)
def test_mistakes(
    letters: TextForm, gold: Corpus, settings: dict[str, object], error: type[Exception], line: str
) -> None:
    with pytest.raises(error, match=line):
        approximate(Noisy(letters.vocabulary), gold, **settings)  # type: ignore[arg-type]


def test_more_mistakes(
    letters: TextForm, gold: Corpus, char_lstm: LstmModel, running: Callable[[int, int], str]
) -> None:
    with pytest.raises(InputError, match="a generator needs step, step_after or token_log_probs"):
        approximate(object(), gold, window=7)
    with pytest.raises(
        UnavailableError,
        match=r"mode 'soft' needs a generator driven by noise, and lstm\(width=16\) is not: use onehot",
    ):
        choose_mode(char_lstm, "soft")
    with pytest.raises(EmptyCorpusError):
        approximate(char_lstm, letters.corpus([]))
    wrong = Uniform(letters.vocabulary)
    wrong.step = lambda prefixes, *, seed: np.zeros(2, dtype=np.int64)  # type: ignore[method-assign]
    with pytest.raises(InputError, match="step must give shape"):
        approximate(wrong, gold, window=7, n_samples=20)
