"""What all neural language models promise: probabilities that sum to one, draws that follow them, training, doors."""

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import PAD, SOS, UNK, Vocabulary
from textassay.errors import EmptyCorpusError, InputError, MissingExtraError, OptionError
from textassay.execution.threads import parallel_map, workers
from textassay.ngram.language_model import likelihood
from textassay_lab.generator import scoring
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.network import NetworkLanguageModel

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*samples were cut")

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
TINY = Vocabulary(["a", "b"])
KINDS = ["lstm", "gpt2", "transformer-xl"]
LONGEST = 5


def made(kind: str, **settings: Any) -> NetworkLanguageModel:
    """Return a small network; two layers of width 8 unless told otherwise."""
    own: dict[str, Any] = {"lstm": {}, "gpt2": {"heads": 2}, "transformer-xl": {"heads": 2, "memory": 0}}[kind]
    defaults = {"width": 8, "layers": 2, "batch_size": 4, "max_epochs": 2, "learning_rate": 1e-2, "warmup_steps": 0}
    model = make_generator(kind, preset="tiny", **{**own, **defaults, **settings})
    assert isinstance(model, NetworkLanguageModel)
    return model


@pytest.fixture(scope="module", params=KINDS)
def tiny(request: pytest.FixtureRequest) -> NetworkLanguageModel:
    corpus = Corpus.from_texts(["a b", "b b a", "", "a", "a b b b", "<unk> a b a b"] * 5, vocabulary=TINY)
    return made(request.param, max_epochs=20, max_length=LONGEST).fit(corpus)


def every_sentence(length: int) -> Corpus:
    texts = [" ".join(words) for n in range(length + 1) for words in itertools.product(("a", "b", "<unk>"), repeat=n)]
    return Corpus.from_texts(texts, vocabulary=TINY)


@pytest.mark.feature("A-05")
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_probabilities_of_all_sentences_sum_to_one(tiny: NetworkLanguageModel, temperature: float) -> None:
    """What sentences of up to 4 tokens leave over is the probability of not ending within them."""
    ended = np.exp(tiny.log_prob(every_sentence(4), temperature=temperature)).sum()
    longest = every_sentence(4).take(np.arange(40, 121))
    begun = tiny.token_log_probs(longest, temperature=temperature).reshape(81, 5)
    going = np.exp(begun[:, :4].sum(axis=1)) * (1 - np.exp(begun[:, 4]))
    assert ended + going.sum() == pytest.approx(1, abs=1e-6)
    assert 0 < ended < 1
    if tiny.kind == "gpt2":  # it can read no more, so that the end is certain after five tokens
        everything = every_sentence(LONGEST)
        assert np.exp(tiny.log_prob(everything, temperature=temperature)).sum() == pytest.approx(1, abs=1e-6)
        full = everything.take(np.flatnonzero(everything.lengths == LONGEST)[:3])
        np.testing.assert_array_equal(np.exp(tiny.next_log_probs(full))[:, 1], 1.0)


@pytest.mark.feature("A-03", "A-05")
@pytest.mark.parametrize("temperature", [1.0, 1.7])
def test_sentences_are_sums_of_steps(tiny: NetworkLanguageModel, temperature: float) -> None:
    """One token at a time, by `next_log_probs`; and as the samples draw, by `step`."""
    sentences = every_sentence(3)
    expected = np.zeros(len(sentences))
    for number in range(len(sentences)):
        ids = [*sentences.tokens[sentences.offsets[number] : sentences.offsets[number + 1]], 1]
        for length, token in enumerate(ids):
            words = TINY.decode(ids[:length])
            following = tiny.next_log_probs(
                Corpus.from_texts([" ".join(words)], vocabulary=TINY), temperature=temperature
            )
            assert np.exp(following).sum() == pytest.approx(1, abs=1e-9)
            assert np.all(np.isneginf(following[:, [PAD, SOS]]))
            expected[number] += following[0, token]
    np.testing.assert_allclose(tiny.log_prob(sentences, temperature=temperature), expected, atol=2e-5)
    network = tiny.module
    state = network.begin(1)
    with torch.no_grad():
        for position, token in enumerate([SOS, 4, UNK, 5]):
            vector, state = network.step(state, torch.tensor([token]), position)
        logits = network.logits(vector, temperature).double()
    stepped = torch.log_softmax(logits, 1).numpy()
    prefix = Corpus.from_texts(["a <unk> b"], vocabulary=TINY)
    np.testing.assert_allclose(np.exp(stepped), np.exp(tiny.next_log_probs(prefix, temperature=temperature)), atol=1e-6)


@pytest.mark.feature("A-05")
def test_padding_changes_nothing(tiny: NetworkLanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = every_sentence(4)
    together = tiny.token_log_probs(corpus)
    mixed = np.random.default_rng(0).permutation(len(corpus))
    shuffled = tiny.log_prob(corpus.take(mixed))
    for setting in ("_LOGITS", "_TOGETHER"):  # a token at a time, then a sentence
        monkeypatch.setattr(scoring, setting, 1)
        np.testing.assert_allclose(together, tiny.token_log_probs(corpus), atol=2e-6)
    np.testing.assert_allclose(shuffled, tiny.log_prob(corpus)[mixed], atol=2e-6)


@pytest.mark.feature("A-04")
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_draws_follow_the_probabilities(tiny: NetworkLanguageModel, temperature: float) -> None:
    n = 8_000
    drawn = tiny.sample(n, seed=3, temperature=temperature)
    space = every_sentence(2)
    expected = n * np.exp(tiny.log_prob(space, temperature=temperature))
    found = np.array([drawn.texts.count(text) for text in space.texts])
    assert np.all(np.abs(found - expected) < 4.5 * np.sqrt(expected) + 1)
    assert drawn.lengths.max() == LONGEST


@pytest.mark.slow
@pytest.mark.feature("A-03")
@pytest.mark.parametrize("kind", KINDS)
def test_it_overfits_ten_sentences(kind: str) -> None:
    corpus = Corpus.from_texts(TEN)
    model = made(kind, width=32, layers=1, max_epochs=250, batch_size=10, schedule="constant").fit(corpus)
    assert np.all(np.exp(model.log_prob(corpus)) > 0.05)
    assert np.mean([text in TEN for text in model.sample(200, seed=0).texts]) > 0.9
    other = Corpus.from_texts(["zzz was good", "the"])
    same = Corpus.from_texts(["<unk> was good", "the"], vocabulary=corpus.vocabulary)
    np.testing.assert_array_equal(model.log_prob(other), model.log_prob(same))


@pytest.mark.slow
@pytest.mark.feature("A-03", "DD-11")
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_epoch_on_validation_text_is_kept(kind: str) -> None:
    corpus = Corpus.from_texts(TEN)
    valid = Corpus.from_texts(["the food was slow", "we will be back"], vocabulary=corpus.vocabulary)
    settings = {"width": 16, "layers": 1, "max_epochs": 60, "learning_rate": 2e-2, "schedule": "constant"}
    kept, last = made(kind, **settings).fit(corpus, valid), made(kind, **settings).fit(corpus)
    scores = [epoch.score for epoch in kept.history.epochs]
    assert np.argmax(scores) + 1 == kept.history.best.number < 60
    assert -likelihood(kept, valid).nll_per_token == pytest.approx(max(scores), abs=1e-6)
    assert kept.log_prob(valid).mean() > last.log_prob(valid).mean() + 0.5
    assert max(scores) > scores[0] + 0.1  # the perplexity of validation text falls
    assert kept.history.epochs[-1].loss < kept.history.epochs[0].loss / 3


def test_draws_depend_on_seed_and_sentence_number_alone(tiny: NetworkLanguageModel) -> None:
    many = tiny.sample(1200, seed=5)
    with workers(2):
        again = tiny.sample(1200, seed=5)
    other = tiny.sample(1200, seed=6)
    assert many.texts[:700] == tiny.sample(700, seed=5).texts
    assert many.texts == again.texts
    assert np.mean(np.array(many.texts) == np.array(other.texts)) < 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_whatever_the_threads(kind: str) -> None:
    corpus = Corpus.from_texts(TEN)
    state = torch.get_rng_state()
    alone = made(kind, dropout=0.2).fit(corpus).log_prob(corpus)
    with workers(2):
        again = parallel_map(lambda _: made(kind, dropout=0.2).fit(corpus).log_prob(corpus), range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(np.array_equal(alone, other) for other in again)
    assert not np.array_equal(alone, made(kind, dropout=0.2, seed=1).fit(corpus).log_prob(corpus))


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_training_goes_on_to_the_same_weights(kind: str, tmp_path: Path) -> None:
    corpus = Corpus.from_texts(TEN)
    whole = made(kind, dropout=0.2, max_epochs=3).fit(corpus, corpus).log_prob(corpus)

    def interrupt(step: Any) -> None:
        if step.epoch == 2:
            raise KeyboardInterrupt

    path = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        made(kind, dropout=0.2, max_epochs=3).fit(corpus, corpus, checkpoint=path, progress=interrupt)
    resumed = made(kind, dropout=0.2, max_epochs=3).fit(corpus, corpus, checkpoint=path)
    np.testing.assert_array_equal(resumed.log_prob(corpus), whole)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_monitor_finds_the_model_as_it_is_then(precision: str) -> None:
    corpus = Corpus.from_texts(TEN)
    model = made("lstm", max_epochs=3)
    model.precision = precision
    seen: list[float] = []

    def monitor(step: int) -> float:
        seen.append(float(model.log_prob(corpus).sum()))
        assert len(model.sample(3, seed=0)) == 3
        return seen[-1]

    model.fit(corpus, monitors={"log_prob": monitor})
    assert seen == sorted(set(seen))
    assert len(seen) == 3
    assert seen[-1] == model.log_prob(corpus).sum()


def test_samples_continue_their_prefixes(tiny: NetworkLanguageModel) -> None:
    prefixes = Corpus.from_texts(["a b", "", "b"] * 100, vocabulary=TINY)
    drawn = tiny.sample(300, seed=1, prefix=prefixes)
    one = tiny.sample(300, seed=1, prefix=prefixes.take(np.array([2])))
    assert all(text.startswith(prefix) for text, prefix in zip(drawn.texts, prefixes.texts, strict=True))
    ends = np.mean([text == "b" for text in one.texts])
    expected = np.exp(tiny.next_log_probs(prefixes.take(np.array([2]))))[0, 1]
    assert ends == pytest.approx(expected, abs=4.5 * np.sqrt(0.25 / 300))


def test_bfloat16_is_near_and_says_so(tiny: NetworkLanguageModel) -> None:
    corpus = every_sentence(3)
    exact, name = tiny.log_prob(corpus), tiny.name
    try:
        tiny.precision = "bfloat16"
        assert tiny.name == f"{name[:-1]}, precision=bfloat16)"
        rounded = tiny.log_prob(corpus)
        assert len(tiny.sample(50, seed=0)) == 50
        tiny.precision = "float8"
        with pytest.raises(OptionError, match="precision must be float32 or bfloat16, got float8"):
            tiny.log_prob(corpus)
    finally:
        tiny.precision = "float32"
    assert not np.array_equal(rounded, exact)
    np.testing.assert_allclose(rounded, exact, atol=0.15)


def test_doors(tiny: NetworkLanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.from_texts(TEN)
    nothing = corpus.take(np.arange(0))
    assert tiny.vocabulary is TINY
    assert tiny.log_prob(nothing).shape == (0,)
    fresh = made(tiny.kind)
    with pytest.raises(InputError, match="call fit first"):
        fresh.sample(1, seed=0)
    with pytest.raises(EmptyCorpusError, match="the training corpus has no sentence"):
        fresh.fit(nothing)
    with pytest.raises(EmptyCorpusError, match="the validation corpus has no sentence"):
        fresh.fit(corpus, nothing)
    for settings, message in (
        ({"layers": 0}, "layers must be between 1 and 1000, got 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"max_length": 0}, "max_length must be between 1 and 1000000, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ):
        with pytest.raises(OptionError, match=message):
            made(tiny.kind, **settings)
    with pytest.raises(OptionError, match="temperature must be above 0"):
        tiny.log_prob(corpus, temperature=0)
    with pytest.raises(OptionError, match="prefix must have 1 or 3 sentences, got 2"):
        tiny.sample(3, seed=0, prefix=corpus.take(np.arange(2)))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=f"the {tiny.kind} generator needs the 'neural' extra"):
        made(tiny.kind)
