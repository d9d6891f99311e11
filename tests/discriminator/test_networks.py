"""Networks other than the paper's: each learns what is easy, overfits ten sentences, and repeats itself to the bit."""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Discriminator, Pair, balanced_accuracy
from textassay.errors import MissingExtraError, OptionError
from textassay.execution.threads import parallel_map, workers
from textassay_lab.judges.ngram_network import NgramNetworkDiscriminator
from textassay_lab.judges.recurrent import RecurrentDiscriminator
from textassay_lab.judges.transformer import TransformerDiscriminator
from textassay_lab.training.recipe import Recipe

torch = pytest.importorskip("torch")

Make = Callable[..., Any]
SHORT = Recipe(2, learning_rate=3e-3)
KINDS: dict[str, Make] = {
    "lstm": RecurrentDiscriminator,
    "cnn-lstm": lambda **settings: RecurrentDiscriminator(convolution=True, **settings),
    "transformer": TransformerDiscriminator,
    "transformer-pretrained": lambda **settings: TransformerDiscriminator(pretraining=SHORT, **settings),
    "ngram-network": NgramNetworkDiscriminator,
}
EACH = pytest.mark.parametrize("kind", KINDS)


def filler(n: int, seed: int, extra: str) -> list[str]:
    words = np.random.default_rng(seed).choice([f"w{number}" for number in range(40)], (n, 5))
    return [" ".join(np.insert(row.astype(object), index % 5, extra)) for index, row in enumerate(words)]


def pairs(n: int, real: str = "good", generated: str = "bad") -> tuple[Pair, Pair, Pair]:
    """Return training, validation and test pairs of filler with words that say which side it is."""
    corpora = corpora_from_texts({"real": filler(3 * n, 0, real), "generated": filler(3 * n, 1, generated)})
    parts = [np.arange(n) + start for start in (0, n, 2 * n)]
    first, second, third = ((corpora["real"].take(part), corpora["generated"].take(part)) for part in parts)
    return first, second, third


@pytest.mark.slow
@EACH
@pytest.mark.parametrize(
    ("real", "generated"),
    [pytest.param("good", "bad", marks=pytest.mark.slow), ("x y", "y x")],  # who sees the order sees the words
)
def test_what_is_easily_told_apart_is_told_apart(kind: str, real: str, generated: str) -> None:
    train, valid, test = pairs(300, real, generated)
    judge = KINDS[kind](recipe=Recipe(6, learning_rate=5e-3), batch_size=32).fit(train, valid)
    assert balanced_accuracy(judge.prob_real(test[0]), judge.prob_real(test[1])) > 0.98


@pytest.mark.slow
@EACH
def test_it_overfits_ten_sentences(kind: str) -> None:
    texts = filler(10, 5, "the")
    corpora = corpora_from_texts({"real": texts[:5], "generated": texts[5:]})
    pair = (corpora["real"], corpora["generated"])
    settings = {"min_sentences": 1}
    judge = KINDS[kind](recipe=Recipe(100, learning_rate=1e-2), batch_size=10, **settings).fit(pair, pair)
    assert balanced_accuracy(judge.prob_real(pair[0]), judge.prob_real(pair[1])) == 1


@EACH
def test_the_same_bits_in_any_number_of_threads(kind: str) -> None:
    train, valid, test = pairs(60)
    judge: Discriminator = KINDS[kind](recipe=SHORT, batch_size=32)
    state = torch.get_rng_state()
    alone = judge.fit(train, valid).prob_real(test[0])
    with workers(2):
        again = parallel_map(lambda _: judge.fit(train, valid).prob_real(test[0]), range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(np.array_equal(alone, other) for other in again)
    assert not np.array_equal(
        alone, KINDS[kind](recipe=SHORT, batch_size=32, seed=1).fit(train, valid).prob_real(test[0])
    )
    assert judge.chosen == {}


@EACH
def test_any_sentence_gets_a_probability_that_its_neighbours_do_not_change(kind: str) -> None:
    train, valid, _ = pairs(60)
    judge = KINDS[kind](recipe=SHORT, batch_size=32).fit(train, valid)
    strange = Corpus.from_texts(["", "good", "bad", "never seen words", "good " * 500])
    scores = judge.prob_real(strange)
    assert np.all((scores >= 0) & (scores <= 1))
    alone = np.concatenate([judge.prob_real(strange.take(np.array([row]))) for row in range(5)])
    np.testing.assert_allclose(scores, alone, rtol=1e-4)
    assert judge.prob_real(strange.take(np.arange(0))).shape == (0,)
    assert judge.chosen["best_epoch"] <= judge.chosen["epochs"] == 2


@EACH
def test_sides_of_empty_sentences_and_of_different_sizes(kind: str) -> None:
    corpora = corpora_from_texts({"real": [""] * 10, "generated": ["", "a"] * 15})
    pair = (corpora["real"], corpora["generated"])
    judge = KINDS[kind](recipe=Recipe(1)).fit(pair, pair)
    assert np.all(np.isfinite(judge.prob_real(pair[1])))


@EACH
def test_doors(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = KINDS[kind](seed=3)
    assert judge.name == kind
    assert judge.features.endswith("seed 3")
    with pytest.raises(OptionError, match=f"a {kind} discriminator must be fitted"):
        judge.prob_real(Corpus.from_texts(["a"]))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=f"the {kind} discriminator needs the 'neural' extra"):
        KINDS[kind]()
