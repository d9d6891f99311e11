"""Neural language models: probabilities sum to one, draws follow them, training overfits, seeds and doors."""

import importlib.util
import itertools
import warnings

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.vocabulary import PAD, SOS, UNK, Vocabulary
from textassay.errors import EmptyCorpusError, InputError, MissingExtraError, OptionError
from textassay.execution import parallel_map, workers
from textassay.generator import sampling
from textassay.generator.lstm import LstmModel
from textassay.training.loop import Recipe

torch = pytest.importorskip("torch")

TEN = [
    "the food was good .",
    "the service was slow",
    "i will be back !",
    "",
    "never again",
    "good food , good people and good prices",
    "we waited an hour",
    "slow",
    "they were out of bread again",
    "my dog likes it here",
]
SHORT = Recipe(2, learning_rate=1e-2)
TINY = Vocabulary(["a", "b"])


def small(recipe: Recipe = SHORT, **settings: int | float) -> LstmModel:
    return LstmModel(8, recipe=recipe, batch_size=4, **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tiny() -> LstmModel:
    corpus = Corpus.from_texts(["a b", "b b a", "", "a", "a b b b", "<unk> a"] * 5, vocabulary=TINY)
    return small(Recipe(20, learning_rate=1e-2), layers=2, max_length=6).fit(corpus)


def every_sentence(length: int) -> Corpus:
    texts = [" ".join(words) for n in range(length + 1) for words in itertools.product(("a", "b", "<unk>"), repeat=n)]
    return Corpus.from_texts(texts, vocabulary=TINY)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_probabilities_of_all_sentences_sum_to_one(tiny: LstmModel, temperature: float) -> None:
    """What sentences of up to 4 tokens leave over is the probability of not ending within them."""
    ended = np.exp(tiny.log_prob(every_sentence(4), temperature=temperature)).sum()
    longest = every_sentence(4).take(np.arange(40, 121))
    begun = tiny.token_log_probs(longest, temperature=temperature).reshape(81, 5)
    going = np.exp(begun[:, :4].sum(axis=1)) * (1 - np.exp(begun[:, 4]))
    assert ended + going.sum() == pytest.approx(1, abs=1e-6)
    assert 0 < ended < 1


def test_next_log_probs_agree_with_token_log_probs(tiny: LstmModel) -> None:
    prefixes = every_sentence(2)
    following = tiny.next_log_probs(prefixes)
    np.testing.assert_allclose(np.exp(following).sum(axis=1), 1, rtol=1e-6)
    assert np.all(np.isneginf(following[:, [PAD, SOS]]))
    ends = tiny.token_log_probs(prefixes)[prefixes.offsets[1:] + np.arange(len(prefixes))]
    np.testing.assert_allclose(following[:, 1], ends, atol=1e-5)
    assert tiny.vocabulary is TINY
    longer = Corpus.from_texts([f"{text} <unk>".strip() for text in prefixes.texts], vocabulary=TINY)
    lasts = tiny.token_log_probs(longer)[longer.offsets[1:] + np.arange(len(longer)) - 1]
    np.testing.assert_allclose(following[:, UNK], lasts, atol=1e-5)


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_draws_follow_the_probabilities(tiny: LstmModel, temperature: float) -> None:
    n = 20_000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = tiny.sample(n, seed=3, temperature=temperature)
    space = every_sentence(2)
    expected = n * np.exp(tiny.log_prob(space, temperature=temperature))
    found = np.array([drawn.texts.count(text) for text in space.texts])
    assert np.all(np.abs(found - expected) < 4.5 * np.sqrt(expected) + 1)
    assert drawn.lengths.max() == 6


def test_inversion_hits_what_the_cumulative_sums_say() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (500, 200)).astype(np.float32)
    logits[:, [0, 2, 64, 127, 128, 199]] = -np.inf
    draws = np.append(rng.random(498), [0.0, np.nextafter(1, 0)])
    mass = np.exp(logits.astype(np.float64))
    ends = np.cumsum(mass, axis=1) / mass.sum(axis=1, keepdims=True)
    expected = [np.searchsorted(row, draw, side="right") for row, draw in zip(ends, draws, strict=True)]
    hit = sampling._inverted(torch.from_numpy(logits), torch.from_numpy(draws)).numpy()
    assert np.mean(hit == expected) > 0.99  # rounding may move a draw that falls on a border
    assert np.all(np.isfinite(logits[np.arange(500), hit]))


def test_it_overfits_ten_sentences() -> None:
    corpus = Corpus.from_texts(TEN)
    model = LstmModel(32, recipe=Recipe(300, learning_rate=1e-2), dropout=0, batch_size=10).fit(corpus)
    assert np.all(np.exp(model.log_prob(corpus)) > 0.05)
    assert np.mean([text in TEN for text in model.sample(200, seed=0).texts]) > 0.9
    other = Corpus.from_texts(["zzz was good", "the"])
    same = Corpus.from_texts(["<unk> was good", "the"], vocabulary=corpus.vocabulary)
    np.testing.assert_array_equal(model.log_prob(other), model.log_prob(same))


def test_the_best_epoch_on_validation_text_is_kept() -> None:
    corpus = Corpus.from_texts(TEN)
    valid = Corpus.from_texts(["the food was slow", "we will be back"], vocabulary=corpus.vocabulary)
    kept = LstmModel(16, recipe=Recipe(60, learning_rate=2e-2), dropout=0).fit(corpus, valid)
    last = LstmModel(16, recipe=Recipe(60, learning_rate=2e-2), dropout=0).fit(corpus)
    assert kept.log_prob(valid).mean() > last.log_prob(valid).mean() + 0.5
    assert kept.history.epochs[-1].loss < kept.history.epochs[0].loss / 3


def test_draws_depend_on_seed_and_sentence_number_alone(tiny: LstmModel, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many = tiny.sample(1200, seed=5)
        few = tiny.sample(700, seed=5)
        with workers(2):
            again = tiny.sample(1200, seed=5)
        other = tiny.sample(1200, seed=6)
    assert many.texts[:700] == few.texts
    assert many.texts == again.texts
    assert np.mean(np.array(many.texts) == np.array(other.texts)) < 0.5
    assert np.mean([text == "" for text in many.texts]) == pytest.approx(
        np.exp(tiny.log_prob(every_sentence(0)))[0], abs=0.06
    )


def test_the_same_bits_whatever_the_threads() -> None:
    corpus = Corpus.from_texts(TEN)
    state = torch.get_rng_state()
    alone = small().fit(corpus).log_prob(corpus)
    with workers(2):
        again = parallel_map(lambda _: small().fit(corpus).log_prob(corpus), range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(np.array_equal(alone, other) for other in again)
    assert not np.array_equal(alone, small(seed=1).fit(corpus).log_prob(corpus))


def test_samples_continue_their_prefixes(tiny: LstmModel) -> None:
    prefixes = Corpus.from_texts(["a b", "", "b"] * 100, vocabulary=TINY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = tiny.sample(300, seed=1, prefix=prefixes)
        one = tiny.sample(300, seed=1, prefix=prefixes.take(np.array([2])))
    assert all(text.startswith(prefix) for text, prefix in zip(drawn.texts, prefixes.texts, strict=True))
    ends = np.mean([text == "b" for text in one.texts])
    expected = np.exp(tiny.next_log_probs(prefixes.take(np.array([2]))))[0, 1]
    assert ends == pytest.approx(expected, abs=4.5 * np.sqrt(0.25 / 300))
    with pytest.warns(UserWarning, match="2 of 2 samples were cut at 6 tokens"):
        cut = tiny.sample(2, seed=0, prefix=Corpus.from_texts(["a b a b a b a", "a b a b a b"], vocabulary=TINY))
    assert list(cut.texts) == ["a b a b a b a", "a b a b a b"]


def test_doors(tiny: LstmModel, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.from_texts(TEN)
    assert (tiny.name, LstmModel().name) == ("lstm(width=8, layers=2)", "lstm(width=128)")
    assert tiny.n_parameters == 6 * 8 * 2 + 6 + 2 * (2 * 32 * 8 + 32)
    assert tiny.log_prob(corpus.take(np.arange(0))).shape == (0,)
    with pytest.raises(InputError, match="call fit first"):
        small().sample(1, seed=0)
    with pytest.raises(EmptyCorpusError):
        small().fit(corpus.take(np.arange(0)))
    for settings, message in (
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
    ):
        with pytest.raises(OptionError, match=message):
            LstmModel(**settings)
    with pytest.raises(OptionError, match="temperature must be above 0"):
        tiny.log_prob(corpus, temperature=0)
    with pytest.raises(OptionError, match="prefix must have 1 or 3 sentences, got 2"):
        tiny.sample(3, seed=0, prefix=corpus.take(np.arange(2)))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="the lstm generator needs the 'neural' extra"):
        LstmModel()
