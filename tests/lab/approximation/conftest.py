"""Small generators and texts for tests of the approximation."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK, Vocabulary
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.ngram.model import NgramModel
from textassay.seeding import stream
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.training.recipe import Recipe

LETTERS = "abcdefghijklmnopqrstuvwxyz "


class Uniform:
    """Draws each of the ordinary tokens with the same probability: the simplest `SteppableGenerator`."""

    name = "uniform"
    draws_ends = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def step(self, prefixes: npt.NDArray[np.int64], *, seed: int) -> npt.NDArray[np.int64]:
        return stream(seed, "uniform").integers(UNK + 1, len(self.vocabulary), len(prefixes))


class Noisy:
    """A `NoiseDriven` generator: a noise number a row decides how much it likes what came before.

    It emits ``softmax(z x likes)`` with z from N(0, 1), and steps by drawing from that.
    """

    name = "noisy"
    draws_ends = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        rng = np.random.default_rng(0)
        self.likes = rng.normal(size=(len(vocabulary), len(vocabulary)))

    def soft_after(self, windows: npt.NDArray[np.int64], *, seed: int) -> npt.NDArray[np.float64]:
        noise = stream(seed, "noise").standard_normal(len(windows))
        before = np.concatenate((np.zeros((len(windows), 1), dtype=np.int64), windows[:, :-1]), axis=1)
        return self.shown(noise, before)

    def shown(self, noise: npt.NDArray[np.float64], before: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        logits = noise[:, None, None] * self.likes[before]
        logits[:, :, : UNK + 1] = -np.inf
        chances = np.exp(logits)
        return np.asarray(chances / chances.sum(axis=2, keepdims=True))

    def step_after(self, windows: npt.NDArray[np.int64], *, seed: int) -> npt.NDArray[np.int64]:
        bounds = np.cumsum(self.soft_after(windows, seed=seed), axis=2)
        draws = stream(seed, "draws").random(windows.shape) * bounds[:, :, -1]
        return np.asarray((bounds <= draws[:, :, None]).sum(axis=2))


@pytest.fixture(scope="session")
def letters() -> TextForm:
    """Return the form of text8: 26 letters and the space."""
    return TextForm(resolve_tokenizer("chars"), Vocabulary(LETTERS))


@pytest.fixture(scope="session")
def running() -> Callable[[int, int], str]:
    """Return the function that makes so many characters of running text, with a seed."""

    def make(n: int, seed: int) -> str:
        spelling = np.random.default_rng(0)
        words = ["".join(spelling.choice(list("etaoinshrd"), spelling.integers(2, 6))) for _ in range(40)]
        return " ".join(np.random.default_rng(seed).choice(words, n))[:n]

    return make


@pytest.fixture(scope="session")
def char_lstm(letters: TextForm, running: Callable[[int, int], str]) -> LstmModel:
    """Return a small character LSTM, trained a little on windows of 20 characters."""
    text = running(6000, 0)
    train = letters.corpus([text[start : start + 20] for start in range(0, 6000, 20)])
    model = LstmModel(16, dropout=0.0, batch_size=32, recipe=Recipe(max_epochs=4, learning_rate=2e-2), seed=0)
    return model.fit(train)


@pytest.fixture(scope="session")
def char_ngram(letters: TextForm, running: Callable[[int, int], str]) -> NgramModel:
    """Return a character trigram model of sentences."""
    text = running(6000, 0)
    return NgramModel(3).fit(letters.corpus([text[start : start + 20] for start in range(0, 6000, 20)]))


@pytest.fixture(scope="session")
def gold(letters: TextForm, running: Callable[[int, int], str]) -> Corpus:
    """Return 4,003 characters of other text, as one sentence."""
    return letters.corpus([running(4003, 1)])
