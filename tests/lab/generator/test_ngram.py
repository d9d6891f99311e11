"""The n-gram language model as a whole: probabilities over sentences, draws, seeds, and what it refuses."""

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import EOS, UNK
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay.execution.threads import workers
from textassay.ngram import model as ngram_model
from textassay.ngram.language_model import LanguageModel
from textassay.ngram.model import NgramModel

TEXTS = ["the cat sat", "the dog sat down", "a cat ran", "the dog ran", "a dog sat", "cats run", "the cat ran down"] * 3


def _fitted(order: int, texts: list[str] = TEXTS, max_length: int = 200) -> NgramModel:
    return NgramModel(order, max_length=max_length).fit(corpora_from_texts({"train": texts})["train"])


def _other(model: NgramModel, texts: list[str]) -> Corpus:
    """Return `texts` with a vocabulary of their own."""
    return corpora_from_texts({"other": texts})["other"]


@pytest.mark.parametrize("order", [1, 2, 3, 6])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_probabilities_of_all_sentences_sum_to_one(order: int, temperature: float) -> None:
    model = _fitted(order, ["a b", "b a a", "b", "a b b", "a"])
    alphabet, longest = ("a", "b", "<unk>"), 4
    ended = [" ".join(words) for length in range(longest + 1) for words in product(alphabet, repeat=length)]
    mass = np.exp(model.log_prob(_other(model, ended), temperature=temperature)).sum()
    begun = _other(model, [" ".join(words) for words in product(alphabet, repeat=longest + 1)])
    scores = model.token_log_probs(begun, temperature=temperature).reshape(len(begun), longest + 2)
    unfinished = np.exp(scores[:, :-1].sum(axis=1)).sum()
    assert 0 < unfinished < 1
    assert mass + unfinished == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_sentence_token_and_next_probabilities_agree(temperature: float) -> None:
    model = _fitted(3)
    corpus = _other(model, ["the cat sat", "", "a zebra ran", "down"])
    tokens = model.token_log_probs(corpus, temperature=temperature)
    assert tokens.shape == (len(corpus.tokens) + len(corpus),)
    ends = corpus.offsets + np.arange(5)
    sums = [tokens[begin:end].sum() for begin, end in pairwise(ends)]
    assert model.log_prob(corpus, temperature=temperature) == pytest.approx(sums)
    prefixes = _other(model, ["", "a", "a zebra", "a zebra ran"])
    expected = model.next_log_probs(prefixes, temperature=temperature)
    follows = [*model.train.vocabulary.encode(["a", "zebra", "ran"]), EOS]
    assert follows[1] == UNK
    assert tokens[ends[2] : ends[3]] == pytest.approx(expected[np.arange(4), follows])


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("temperature", [1.0, 0.7, 1.5])
def test_draws_follow_the_probabilities(order: int, temperature: float) -> None:
    model = _fitted(order)
    sample = model.sample(20_000, seed=1, temperature=temperature)
    log_probs = model.log_prob(sample, temperature=temperature)
    texts, first, counts = np.unique(sample.texts, return_index=True, return_counts=True)
    expected = len(sample) * np.exp(log_probs[first])
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    predicted = np.append(expected[common], len(sample) - expected[common].sum())
    assert len(observed) > 10
    assert chisquare(observed, predicted).pvalue > 1e-3
    assert len(texts) > 10


def test_a_sample_does_not_depend_on_how_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    model = _fitted(3)
    whole = model.sample(200, seed=5, temperature=0.9)
    assert model.sample(40, seed=5, temperature=0.9).texts == whole.texts[:40]
    scores = model.log_prob(whole)
    monkeypatch.setattr(ngram_model, "_BLOCK", 7)
    with workers(3):
        assert model.sample(200, seed=5, temperature=0.9).texts == whole.texts
        np.testing.assert_array_equal(model.log_prob(whole), scores)
    assert _fitted(3).sample(200, seed=5, temperature=0.9).texts == whole.texts
    assert model.sample(200, seed=6, temperature=0.9).texts != whole.texts


def test_models_draw_independently_from_one_seed() -> None:
    # Equal probabilities from the same uniforms would give the same sentences in each place.
    first, second = _fitted(3, TEXTS), _fitted(3, TEXTS[::-1])
    same = np.mean(
        [a == b for a, b in zip(first.sample(2000, seed=0).texts, second.sample(2000, seed=0).texts, strict=True)]
    )
    probs = np.unique(first.sample(2000, seed=1).texts, return_counts=True)[1] / 2000
    assert same < 2 * (probs**2).sum()


def test_samples_are_corpora_like_the_training_corpus() -> None:
    model = _fitted(2)
    sample = model.sample(50, seed=0)
    assert sample.vocabulary is model.train.vocabulary
    assert sample.tokenizer == model.train.tokenizer
    assert [" ".join(sample.sentence(number)) for number in range(50)] == list(sample.texts)
    chars = NgramModel(3).fit(corpora_from_texts({"train": ["abc", "b a"]}, tokenizer="chars")["train"])
    drawn = chars.sample(20, seed=0)
    assert ["".join(drawn.sentence(number)) for number in range(20)] == list(drawn.texts)


def test_prefixes_are_continued() -> None:
    model = _fitted(3)
    prefixes = _other(model, ["the cat", "a", ""] * 400)
    sample = model.sample(1200, seed=2, prefix=prefixes)
    assert all(text.startswith(given) for text, given in zip(sample.texts, prefixes.texts, strict=True))
    follows = [sample.sentence(number)[2:3] or ["<eos>"] for number in range(0, 1200, 3)]
    share = np.mean([word == ["sat"] for word in follows])
    probs = np.exp(model.next_log_probs(_other(model, ["the cat"])))[0]
    p = probs[model.train.vocabulary.encode(["sat"])[0]]
    assert abs(share - p) < 4 * np.sqrt(p * (1 - p) / 400)
    one = model.sample(30, seed=2, prefix=_other(model, ["a dog"]))
    assert all(text.startswith("a dog") for text in one.texts)


def test_a_long_sample_is_cut_with_a_warning() -> None:
    model = _fitted(1, ["a b c d e f g h"] * 5, max_length=4)
    with pytest.warns(UserWarning, match=r"^ngram\(order=1\): \d+ of 60 samples were cut at 4 tokens$"):
        sample = model.sample(60, seed=0)
    assert sample.lengths.max() == 4


def test_unknown_words_and_other_vocabularies() -> None:
    model = _fitted(3)
    known = model.train.take(np.arange(5))
    assert model.log_prob(_other(model, list(known.texts))) == pytest.approx(model.log_prob(known), abs=0)
    scores = model.log_prob(_other(model, ["the wombat sat", "the <unk> sat"]))
    assert np.isfinite(scores).all()
    assert scores[0] == scores[1]
    assert model.log_prob(known.take(np.arange(0))).shape == (0,)


@pytest.mark.parametrize("texts", [[""], ["", ""], ["a"], ["a a a a"]])
@pytest.mark.parametrize("order", [1, 2, 6])
def test_the_smallest_corpora(texts: list[str], order: int) -> None:
    model = _fitted(order, texts, max_length=10_000)
    assert np.isfinite(model.log_prob(model.sample(50, seed=0))).all()


def test_it_is_a_language_model() -> None:
    model: LanguageModel = _fitted(2)
    assert model.name == "ngram(order=2)"


def test_higher_orders_and_modified_discounts_predict_unseen_text_better(data_dir: Path) -> None:
    texts = {
        name: (data_dir / "yelp" / f"{name}.txt").read_text("utf-8").splitlines()[:30_000] for name in ("train", "test")
    }
    corpora = corpora_from_texts(texts)
    kinds = [(1, "modified"), (2, "modified"), (3, "single"), (3, "modified"), (5, "modified")]
    models = [NgramModel(order, discounts=kind).fit(corpora["train"]) for order, kind in kinds]  # type: ignore[arg-type]
    nll = [-model.log_prob(corpora["test"]).sum() for model in models]
    assert nll == sorted(nll, reverse=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": 0}, "order must be between 1 and 100, got 0"),
        ({"discounts": "best"}, "discounts must be modified or single, got best"),
        ({"max_length": 0}, "max_length must be between 1 and 1000000, got 0"),
    ],
)
def test_refuses_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        NgramModel(**settings)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "ngram(order=2): n must be at least 1, got 0"),
        ({"n": 1, "seed": -1}, "seed must be at least 0, got -1"),
        ({"n": 1, "temperature": 0.0}, "ngram(order=2): temperature must be above 0, got 0.0"),
        ({"n": 1, "temperature": float("nan")}, "ngram(order=2): temperature must be above 0, got nan"),
        ({"n": 1, "temperature": 0.01}, "ngram(order=2): temperature must be at least 0.05, got 0.01"),
    ],
)
def test_refuses_to_sample(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        _fitted(2).sample(**{"seed": 0, **settings})
    assert str(caught.value) == message


def test_refuses_corpora() -> None:
    empty = corpora_from_texts({"train": []})["train"]
    with pytest.raises(EmptyCorpusError, match=r"^ngram\(order=3\): the training corpus has no sentence$"):
        NgramModel(3).fit(empty)
    special = corpora_from_texts({"train": ["a b", "a <eos> b"]})["train"]
    with pytest.raises(InputError, match=r"^ngram\(order=3\): training sentence 2 holds the special token '<eos>'"):
        NgramModel(3).fit(special)
    with pytest.raises(InputError, match=r"^ngram\(order=2\): sentence 2 holds the special token '<eos>'"):
        _fitted(2).log_prob(special)
    with pytest.raises(InputError, match="call fit first"):
        NgramModel(3).sample(1, seed=0)
    model = _fitted(2)
    with pytest.raises(OptionError, match="prefix must have 1 or 5 sentences, got 2"):
        model.sample(5, seed=0, prefix=_other(model, ["a", "b"]))
    with pytest.raises(OptionError, match="takes no context"):
        model.sample(1, seed=0, context=model.train)
