"""The random LSTM: weights of the seed, sentences of one length, exact probabilities; models trained on its samples."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.errors import InputError, OptionError
from textassay.ngram.language_model import likelihood
from textassay.ngram.model import NgramModel
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.random_lstm import RandomLstm
from textassay_lab.generator.saved import load_model, save_model

torch = pytest.importorskip("torch")


@pytest.mark.feature("EB-12")
def test_weights_are_standard_normal_and_of_the_seed() -> None:
    model = RandomLstm(seed=3)
    assert (len(model.vocabulary), model.width, model.length, model.layers) == (5004, 32, 20, 1)
    for name, weight in model.weights.items():
        n = weight.numel()
        assert abs(float(weight.mean())) < 4.5 / np.sqrt(n), name
        assert abs(float(weight.std()) - 1) < 4.5 / np.sqrt(2 * n), name
    again, other = RandomLstm(seed=3), RandomLstm(seed=4)
    assert all(torch.equal(weight, again.weights[name]) for name, weight in model.weights.items())
    assert not torch.equal(model.weights["embedding.weight"], other.weights["embedding.weight"])
    assert model.sample(30, seed=1).texts == again.sample(30, seed=1).texts


@pytest.mark.feature("EB-12")
def test_all_sentences_of_its_length_have_probability_one_together() -> None:
    model = RandomLstm(4, length=3, width=8, seed=1)
    space = [" ".join(words) for words in itertools.product("0123", repeat=3)]
    log_probs = model.log_prob(Corpus.from_texts(space, vocabulary=model.vocabulary))
    assert np.exp(log_probs).sum() == pytest.approx(1, abs=1e-6)
    others = Corpus.from_texts(["", "0 1", "0 1 x", "0 <unk> 1"], vocabulary=model.vocabulary)
    assert np.isneginf(model.log_prob(others)).all()
    n = 20_000
    drawn = model.sample(n, seed=2)
    assert set(drawn.lengths.tolist()) == {3}
    expected = n * np.exp(log_probs)
    found = np.array([drawn.texts.count(text) for text in space])
    assert np.all(np.abs(found - expected) < 4.5 * np.sqrt(expected) + 1)
    entropy = -np.sum(np.exp(log_probs) * log_probs)
    assert -model.log_prob(drawn).mean() == pytest.approx(entropy, abs=4.5 * log_probs.std() / np.sqrt(n) + 0.01)
    following = np.exp(model.next_log_probs(Corpus.from_texts(["0", "0 1 2"], vocabulary=model.vocabulary)))
    np.testing.assert_array_equal(following[0, :4], 0.0)
    assert following[1, 1] == 1.0


def test_it_is_saved_and_made_by_name(tmp_path: Path) -> None:
    model = make_generator("random-lstm", n_words=50, length=6, width=8, seed=2)
    assert isinstance(model, RandomLstm)
    assert model.name == "random-lstm(words=50, length=6, width=8, seed=2)"
    save_model(model, tmp_path, form=model.form)
    loaded = load_model(tmp_path).model
    assert loaded.name == model.name
    drawn = model.sample(20, seed=0)
    np.testing.assert_array_equal(loaded.log_prob(drawn), model.log_prob(drawn))
    with pytest.raises(OptionError, match="unknown preset of random-lstm 'paper'"):
        make_generator("random-lstm", preset="paper")


def test_doors() -> None:
    model = RandomLstm(5, length=4, width=8)
    with pytest.raises(OptionError, match="cannot be fitted: draw from it"):
        model.fit(model.sample(5, seed=0))
    with pytest.raises(InputError, match="reads at most 4 tokens"):
        model.log_prob(Corpus.from_texts(["0 1 2 3 4"], vocabulary=model.vocabulary))
    with pytest.raises(OptionError, match="n_words must be at least 1, got 0"):
        RandomLstm(0)


def perplexity(model: Any, corpus: Corpus) -> float:
    return float(likelihood(model, corpus).perplexity)


@pytest.mark.feature("EB-13")
def test_models_of_samples_are_worse_than_what_drew_them_and_the_small_one_worst() -> None:
    oracle = RandomLstm(60, length=8, width=16, seed=0)
    train, valid, test = (oracle.sample(n, seed=seed) for n, seed in ((2000, 0), (200, 1), (1000, 2)))
    settings: dict[str, Any] = {"max_epochs": 5, "precision": "float32"}
    costs = [perplexity(oracle, test)]
    for preset, width in (("exposure-512", 64), ("exposure-32", 4)):
        model = make_generator("lstm", preset=preset, width=width, **settings).fit(train, valid)
        costs.append(perplexity(model, test))
    assert costs[0] * 1.05 < costs[1]
    assert costs[1] * 1.05 < costs[2]


@pytest.mark.feature("EB-11")
def test_three_layers_of_600_units_learn_what_follows_and_say_their_perplexity() -> None:
    """It falls below that of a table of word frequencies, which is the least that is possible without the context."""
    circle = [str(word) for word in range(10)] * 2
    train, test = (Corpus.from_texts([" ".join(circle[k % 10 :][:5]) for k in range(n)]) for n in (96, 20))
    model: Any = make_generator(
        "lstm", preset="exposure-600", precision="float32", max_epochs=4, learning_rate=2e-3, batch_size=16
    ).fit(train)
    assert model.name == "lstm(width=600, layers=3)"
    shapes = [tuple(weight.shape) for weight in model.module.parameters()]
    assert shapes.count((4 * 600, 600)) == 2 * 3, "input and recurrent weights of four gates, three times"
    assert perplexity(model, test) < 0.8 * perplexity(NgramModel(1).fit(train), test)
    nats = -model.log_prob(test).sum() / (len(test.tokens) + len(test))
    assert perplexity(model, test) == pytest.approx(np.exp(nats), rel=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* samples were cut at 200 tokens:UserWarning")  # one in 1500, on some processors
@pytest.mark.feature("EB-11", "EB-13")
def test_the_papers_sizes_learn_from_samples_of_a_trained_model(data_dir: Path) -> None:
    """P_D is an LSTM-512 of news; LSTM-32 and LSTM-512 are trained on what it draws; the one of 3 x 600 trains too."""
    lines = [line.lower() for line in (data_dir / "emnlp_news" / "valid.txt").read_text("utf-8").splitlines()]
    form = TextForm.learn(lines[:1500], max_size=1000)
    news, valid, test = (form.corpus(part) for part in (lines[:1500], lines[1500:1700], lines[1700:2000]))
    oracle = make_generator("lstm", preset="exposure-512", max_epochs=3).fit(news, valid)
    drawn = [oracle.sample(n, seed=seed) for n, seed in ((1500, 0), (200, 1), (300, 2))]
    models = [
        make_generator("lstm", preset=preset, max_epochs=3).fit(drawn[0], drawn[1])
        for preset in ("exposure-512", "exposure-32")
    ]
    for text in (test, drawn[2]):  # table 7 and reading A6: real test text, and samples of P_D
        costs = [perplexity(model, text) for model in (oracle, *models)]
        assert costs == sorted(costs)
    deep = make_generator("lstm", preset="exposure-600", max_epochs=3).fit(news.take(np.arange(400)), valid)
    assert deep.name == "lstm(width=600, layers=3)"
    assert perplexity(deep, test) < 300
