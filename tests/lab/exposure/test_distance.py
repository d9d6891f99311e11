"""Distances of next-word distributions: by hand, against naive sums, at their edges; nothing large is kept."""

import math
import tracemalloc
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from exposure_runs import exact_cgd
from next_word_table import NextWordTable, example_one, random_table
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, UNK, Vocabulary
from textassay.errors import InputError, OptionError
from textassay.execution.threads import workers
from textassay.ngram.language_model import LanguageModel
from textassay.ngram.model import NgramModel
from textassay_lab.exposure.distance import COLUMNS, DISTANCES, next_word_distances, row_distances, tensor_distances
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.next_words import Ends, as_corpus
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.prefixes import data_prefixes, random_prefixes
from textassay_lab.training.recipe import Recipe

FloatArray = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def text() -> Corpus:
    rng = np.random.default_rng(0)
    return Corpus.from_texts([" ".join(rng.choice(list("abcdefgh"), rng.integers(2, 12))) for _ in range(400)])


@pytest.fixture(scope="module")
def models(text: Corpus) -> dict[str, LanguageModel]:
    once = Recipe(max_epochs=1)
    return {
        "small": LstmModel(6, recipe=once, seed=1).fit(text),
        "large": LstmModel(12, recipe=once, seed=2).fit(text),
        "bigram": NgramModel(2).fit(text),
        "trigram": NgramModel(3).fit(text),
        "unigram": PositionUnigram().fit(text),
    }


def _naive(p: FloatArray, q: FloatArray) -> dict[str, float]:
    middle = (p + q) / 2
    divergence = [float(np.sum(side[side > 0] * np.log(side[side > 0] / middle[side > 0]))) for side in (p, q)]
    return {
        "tv": float(np.abs(p - q).sum() / 2),
        "js": sum(divergence) / 2,
        "greedy": float(p.argmax() != q.argmax()),
        "kl": float(np.sum(q[q > 0] * (np.log(q[q > 0]) - np.log(p[q > 0])))),
    }


@pytest.mark.feature("EB-01")
def test_distances_by_hand() -> None:
    rows = np.log([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    found = row_distances(rows[[0, 0, 0, 1]], rows[[1, 0, 2, 1]])
    by_name = dict(zip(COLUMNS, found.T, strict=True))
    assert by_name["tv"] == pytest.approx([0.4, 0.0, 0.7, 0.0], abs=1e-15)
    assert by_name["js"][0] == pytest.approx(0.1017492, abs=5e-8)
    assert by_name["js"][0] / math.log(2) == pytest.approx(0.1467931, abs=5e-8)
    assert by_name["js"][[1, 3]] == pytest.approx(0.0, abs=1e-15)
    assert by_name["greedy"].tolist() == [0.0, 0.0, 1.0, 0.0]  # of equals the lowest id wins
    assert by_name["ties"].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert by_name["kl"][0] == pytest.approx(0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(0.5 / 0.1))


@pytest.mark.feature("EB-01")
def test_bounds_symmetry_and_zero_on_equal() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=(2, 300, 40)) * rng.choice([0.1, 3, 30], (1, 300, 1))
    there, back, same = row_distances(one, other), row_distances(other, one), row_distances(one, one + 5)
    symmetric = [COLUMNS.index(name) for name in ("tv", "js", "greedy")]
    assert there[:, symmetric] == pytest.approx(back[:, symmetric], abs=1e-12)
    assert same[:, :4] == pytest.approx(0.0, abs=1e-12)
    assert ((there[:, 0] >= 0) & (there[:, 0] <= 1) & (there[:, 1] >= 0) & (there[:, 1] <= math.log(2))).all()
    apart = row_distances(np.array([[0.0, -np.inf]]), np.array([[-np.inf, 0.0]]))[0]
    assert apart[:4] == pytest.approx([1.0, math.log(2), 1.0, math.inf])


def test_float32_is_near_float64_where_words_are_many_unlikely_or_impossible() -> None:
    rng = np.random.default_rng(4)
    one = (rng.normal(size=(60, 3001)) * rng.choice([0.01, 2, 8, 40], (60, 1))).astype(np.float32)
    other = (one + rng.normal(size=one.shape) * 0.3).astype(np.float32)
    one[5, 17], other[6, 18] = -np.inf, -np.inf
    one[7, 19] = other[7, 19] = -np.inf
    fast, exact = row_distances(one, other), row_distances(one.astype(np.float64), other.astype(np.float64))
    assert math.isinf(exact[5, 3])
    assert math.isinf(fast[5, 3])
    finite = np.isfinite(exact)
    assert np.abs(fast[finite] - exact[finite]).max() < 1e-6
    assert row_distances(one, other, first=3) == pytest.approx(row_distances(one[:, 3:].copy(), other[:, 3:].copy()))
    assert np.isnan(row_distances(np.full((1, 4), -np.inf), np.zeros((1, 4)))).all()
    assert np.isnan(row_distances(np.array([[0, np.nan]], np.float32), np.zeros((1, 2), np.float32))).all()


def test_tensors_give_what_arrays_give() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(5)
    one, other = (rng.normal(size=(2, 40, 200)) * 3).astype(np.float32)
    one[:20] = one[:20].round()
    one[3, 4] = -np.inf
    one[4, 5] = other[4, 5] = -np.inf
    one[5, :100] = other[5, 100:] = -np.inf  # nothing in common
    one[6] = -np.inf  # nothing can come
    other[7] = one[7]
    found, expected = tensor_distances(torch.from_numpy(one), torch.from_numpy(other)), row_distances(one, other)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6, nan_ok=True)
    assert found[5, :2] == pytest.approx([1.0, math.log(2)], abs=1e-7)
    assert (found[5, :2] <= [1.0, math.log(2)]).all()
    assert np.isnan(found[6]).all()
    assert found[7, :4].tolist() == [0, 0, 0, 0]


def test_a_network_off_the_processor_is_compared_with_counts(
    models: dict[str, LanguageModel], text: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of a GPU, its kind of device told of tensors that are here."""
    prefixes = data_prefixes(text, 3, 50, seed=0)
    pairs = [("small", "large"), ("small", "bigram")]
    here = [next_word_distances(models[one], models[other], prefixes, [0, 3]) for one, other in pairs]
    used = []

    def told(model: Any, oracle: Any) -> FloatArray:
        used.append(len(model))
        return tensor_distances(model, oracle)

    class Elsewhere:
        type = "cuda"

    monkeypatch.setattr("textassay_lab.exposure.distance.training_device", Elsewhere)
    monkeypatch.setattr("textassay_lab.exposure.distance.tensor_distances", told)
    there = [next_word_distances(models[one], models[other], prefixes, [0, 3]) for one, other in pairs]
    assert used == [50, 50], "the networks alone are compared there, all rows at once"
    for found, expected in zip(there, here, strict=True):
        assert all(found[name] == pytest.approx(expected[name], abs=1e-6) for name in expected)


@pytest.mark.feature("EB-14")
@pytest.mark.parametrize("ends", ["excluded", "absorbing"])
@pytest.mark.parametrize(
    ("one", "other", "error"),
    [("trigram", "bigram", 1e-10), ("bigram", "unigram", 1e-10), ("small", "bigram", 1e-7), ("small", "large", 1e-6)],
)
def test_all_lengths_in_one_reading_equal_one_prefix_at_a_time(
    ends: Ends, one: str, other: str, error: float, models: dict[str, LanguageModel], text: Corpus
) -> None:
    lengths = [0, 1, 3, 4]
    prefixes = data_prefixes(text, 4, 40, seed=0, ends=ends)
    found = next_word_distances(models[one], models[other], prefixes, lengths, ends=ends, batch_size=7)
    for row in range(len(prefixes)):
        for place, length in enumerate(lengths):
            begin = prefixes[row : row + 1, :length]
            expected = {str(name): 0.0 for name in DISTANCES}
            if not (begin == EOS).any():
                prefix = as_corpus(begin, text.vocabulary)
                p, q = (np.exp(models[name].next_log_probs(prefix)[0]) for name in (one, other))
                if ends == "excluded":
                    p[EOS] = q[EOS] = 0.0
                expected = _naive(p / p.sum(), q / q.sum())
            for name in DISTANCES:
                assert found[name][row, place] == pytest.approx(expected[name], abs=error)
    again = next_word_distances(models[one], models[other], prefixes, lengths, ends=ends, batch_size=40)
    assert all(again[name] == pytest.approx(found[name], abs=1e-6) for name in again)


def test_workers_change_nothing_but_rounding(models: dict[str, LanguageModel], text: Corpus) -> None:
    prefixes = data_prefixes(text, 3, 100, seed=0)
    with workers(1):
        one = next_word_distances(models["small"], models["large"], prefixes, [0, 3], batch_size=16)
    with workers(3):
        three = next_word_distances(models["small"], models["large"], prefixes, [0, 3], batch_size=16)
    with workers(1):
        again = next_word_distances(models["small"], models["large"], prefixes, [0, 3], batch_size=16)
    assert all(np.array_equal(one[name], again[name]) for name in one)
    assert all(one[name] == pytest.approx(three[name], abs=1e-6) for name in one)


@pytest.mark.feature("EB-14")
def test_memory_does_not_grow_with_the_table_of_probabilities() -> None:
    vocabulary = Vocabulary([f"w{number}" for number in range(2000)])
    flat = dict.fromkeys(vocabulary.tokens[4:], 1 / 2000)
    model = NextWordTable(vocabulary, lambda prefix: flat)
    model.reach = 0  # type: ignore[attr-defined]  # what it says does not depend on the prefix
    prefixes = random_prefixes(len(vocabulary), 2, 8_000, seed=0)
    tracemalloc.start()
    next_word_distances(model, model, prefixes, [2])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 45e6  # all rows of one model at once would be 8,000 x 2,000 x 8 = 128 MB


def test_a_model_is_asked_once_for_what_does_not_depend_on_the_prefix() -> None:
    model, data = example_one()
    prefixes = random_prefixes(6, 1, 1000, seed=0)
    prefixes[prefixes == UNK] = UNK + 1
    next_word_distances(model, data, prefixes, [0, 1], batch_size=1000)
    assert model.n_asked == 3  # the empty prefix, A, B


def test_vocabularies_in_another_order_are_matched_and_others_refused(text: Corpus) -> None:
    mixed = text.with_vocabulary(Vocabulary(sorted(text.vocabulary.tokens[4:], reverse=True)))
    one, same, other = NgramModel(2).fit(text), NgramModel(3).fit(text), NgramModel(3).fit(mixed)
    prefixes = data_prefixes(text, 2, 20, seed=0)
    found, expected = (next_word_distances(one, oracle, prefixes, [0, 1, 2]) for oracle in (other, same))
    assert all(found[name] == pytest.approx(expected[name], abs=1e-12) for name in DISTANCES)
    few = NgramModel(2).fit(text.with_vocabulary(Vocabulary("abc")))
    with pytest.raises(OptionError, match="different vocabularies"):
        next_word_distances(one, few, prefixes, [1])


def test_bad_input_is_one_clear_line(models: dict[str, LanguageModel], text: Corpus) -> None:
    one, other = models["trigram"], models["bigram"]
    prefixes = data_prefixes(text, 2, 5, seed=0)
    with pytest.raises(OptionError, match="from 0 to 2"):
        next_word_distances(one, other, prefixes, [3])
    with pytest.raises(InputError, match="ids from 0"):
        next_word_distances(one, other, prefixes + 100, [1])
    with pytest.raises(InputError, match="ends='absorbing'"):
        next_word_distances(one, other, np.array([[5, EOS]]), [1])
    model, data = example_one()
    with pytest.raises(InputError, match="after 2 tokens nothing but the end can follow in 3 of 3"):
        next_word_distances(model, data, np.full((3, 2), 4), [1, 2])


@pytest.mark.feature("EB-34")
def test_cross_entropy_less_entropy_is_the_divergence_that_mle_minimises() -> None:
    vocabulary = Vocabulary(["x", "y", "z"])
    data, model = (random_table(vocabulary, seed=seed) for seed in (1, 2))
    scores = {}
    for name, writer in (("data", data), ("model", model)):
        rows: list[tuple[str, ...]] = [()]
        table: dict[tuple[str, ...], float] = {(): 0.0}
        for _ in range(4):
            rows = [(*row, word) for row in rows for word in "xyz"]
            table |= {row: table[row[:-1]] + math.log(writer.chances(row[:-1])[row[-1]]) for row in rows}
        scores[name] = np.array([table[row] for row in rows])
    chances = np.exp(scores["data"])
    cross_entropy, entropy = -chances @ scores["model"], -chances @ scores["data"]
    divergence = chances @ (scores["data"] - scores["model"])
    assert cross_entropy - entropy == pytest.approx(divergence, abs=1e-12)
    word_by_word = exact_cgd(model, data, data, range(4))["kl"].sum()
    assert word_by_word == pytest.approx(divergence, abs=1e-12)
