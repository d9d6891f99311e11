"""Discriminative evaluators: the seven on toys, early stopping, no text judged by who saw it, two kinds of judges."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import expit
from scipy.stats import kendalltau

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Discriminator, Pair, balanced_cross_entropy
from textassay.discriminator.catalog import make_discriminator
from textassay.discriminator.ngram_classifiers import NaiveBayesDiscriminator, RandomForestDiscriminator
from textassay.errors import OptionError, TooFewSentencesError
from textassay.execution.threads import workers
from textassay_lab.generator.module import begun
from textassay_lab.human.mechanical_turk import read_mechanical_turk
from textassay_lab.judges.cnn import CnnDiscriminator
from textassay_lab.judges.meta_evaluator import Balance, Parts, meta_evaluate, meta_evaluate_parts
from textassay_lab.judges.random_search import EVALUATORS
from textassay_lab.judges.recurrent import RecurrentDiscriminator
from textassay_lab.training.recipe import Recipe

SHORT = Recipe(8, patience=2, learning_rate=1e-2)
NETWORKS: Mapping[str, Callable[[Recipe], Discriminator]] = {
    "cnn": lambda recipe: CnnDiscriminator(recipe, batch_size=32),
    "cnn-lstm": lambda recipe: RecurrentDiscriminator(
        convolution=True, pooling=2, width=16, recipe=recipe, batch_size=32
    ),
    "lstm": lambda recipe: RecurrentDiscriminator(width=16, recipe=recipe, batch_size=32),
}


def tiny(name: str) -> Discriminator:
    """Return an evaluator that fits within a second."""
    if name in NETWORKS:
        pytest.importorskip("torch")
        return NETWORKS[name](SHORT)
    if name == "xgboost":
        pytest.importorskip("xgboost")
    return RandomForestDiscriminator(n_trees=50) if name == "random-forest" else make_discriminator(name)


def filler(n: int, seed: int, extra: str = "") -> list[str]:
    """Return different texts of seven words, one of them `extra`."""
    rng = np.random.default_rng(seed)
    words = rng.choice([f"w{number}" for number in range(40)], (n, 6)).astype(object)
    return [" ".join(np.insert(row, rng.integers(7), extra) if extra else row) for row in words]


def shifted(n: int, share: float, seed: int) -> list[str]:
    """Return texts of ten words, `share` of them from the first half of eighty."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 40, (n, 10)) + 40 * (rng.random((n, 10)) >= share)
    return [" ".join(f"w{number}" for number in row) for row in rows]


class Remembers:
    """Calls generated what stood in the generated training text, and real all else."""

    name = "remembers"
    features = "whole texts"

    def __init__(self) -> None:
        self.chosen: Mapping[str, Any] = {}
        self.known: set[str] = set()
        self.parts: list[Corpus] = []

    def fit(self, train: Pair, valid: Pair) -> Self:
        fitted = type(self)()
        fitted.parts = [*train, *valid]
        fitted.known = {text for corpus in (train[1], valid[1]) for text in corpus.texts}
        fitted.chosen = {"sizes": [len(corpus) for corpus in fitted.parts]}
        return fitted

    def prob_real(self, corpus: Corpus) -> npt.NDArray[np.float64]:
        for part in self.parts:
            assert not set(part.texts) & set(corpus.texts)
            assert part.groups is not None
            assert corpus.groups is not None
            assert not set(part.groups.tolist()) & set(corpus.groups.tolist())
        return np.array([text not in self.known for text in corpus.texts], dtype=np.float64)


@pytest.mark.feature("JJ-24", "JJ-25")
@pytest.mark.parametrize("name", EVALUATORS)
def test_what_is_separable_is_told_apart(name: str) -> None:
    sides = {"real": filler(300, 0, "good"), "one": filler(150, 1, "bad"), "two": filler(150, 2, "worse")}
    found = corpora_from_texts(sides)
    result = meta_evaluate(tiny(name), found.pop("real"), found, folds=2)
    assert result.all.value > 0.95
    assert min(result.real.value, *(one.value for one in result.by_generator.values())) > 0.9


@pytest.mark.feature("JJ-24", "JJ-25")
@pytest.mark.parametrize("name", EVALUATORS)
def test_random_labels_are_not(name: str) -> None:
    texts = filler(400, 3)
    found = corpora_from_texts({"real": texts[:200], "one": texts[200:300], "two": texts[300:]})
    result = meta_evaluate(tiny(name), found.pop("real"), found, folds=2)
    assert abs(result.all.value - 0.5) < 4 * np.sqrt(1.64 * 0.25 / 400)
    assert result.all.interval.low < 0.5 < result.all.interval.high


@pytest.mark.feature("JJ-25")
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_networks_stop_early_and_keep_their_best_epoch(name: str) -> None:
    """Nothing can be learnt: each stops `patience` epochs after its best, and what judges is that epoch's network."""
    pytest.importorskip("torch")
    texts = filler(240, 4)
    found = corpora_from_texts({"a": texts[:80], "b": texts[80:160], "c": texts[160:200], "d": texts[200:]})
    judge = NETWORKS[name](Recipe(40, patience=3, learning_rate=1e-2)).fit(
        (found["a"], found["b"]), (found["c"], found["d"])
    )
    chosen = judge.chosen
    assert chosen["converged"]
    assert chosen["epochs"] == chosen["best_epoch"] + 3 < 40
    scores = judge.prob_real(found["c"]), judge.prob_real(found["d"])
    if "valid_cross_entropies" in chosen:
        losses = chosen["valid_cross_entropies"]
        assert int(np.argmin(losses)) + 1 == chosen["best_epoch"]
        assert balanced_cross_entropy(*scores) == pytest.approx(min(losses), abs=1e-6)
    else:
        assert int(np.argmax(chosen["valid_accuracies"])) + 1 == chosen["best_epoch"]


def test_pooling_between_convolution_and_lstm() -> None:
    """Against the layers written out, for sentences whose last pool is full, half full, or all there is."""
    torch = pytest.importorskip("torch")
    found = corpora_from_texts({"real": ["a b c d e f g"] * 4, "g": ["a b c d e f"] * 4, "odd": ["a b", "a", ""]})
    pair = (found["real"], found["g"])
    judge = RecurrentDiscriminator(convolution=True, pooling=3, width=8, recipe=Recipe(1), min_sentences=1)
    encoder = judge.encoded(pair, pair)[0]
    network = begun(lambda: judge.new_network(encoder), torch.Generator().manual_seed(0)).requires_grad_(False)
    arrays = {name: weight.numpy().astype(np.float64) for name, weight in network.named_parameters()}
    sentences = Corpus.concatenate([found["real"].take(np.arange(1)), found["g"].take(np.arange(1)), found["odd"]])
    odds = network(encoder.encode(sentences))
    for row, corpus in enumerate(sentences.take(np.array([row])) for row in range(5)):
        words = encoder.encode(corpus).words[: len(corpus.tokens) + 1]  # with its end
        padded = np.pad(arrays["words.weight"][words], ((1, 1), (0, 0)))
        windows = [np.einsum("fdw,wd->f", arrays["filters.weight"], padded[k : k + 3]) for k in range(len(words))]
        found_ = np.maximum(0, np.array(windows) + arrays["filters.bias"])
        hidden, memory, outputs = np.zeros(8), np.zeros(8), []
        for k in range(0, len(words), 3):
            gates = (
                arrays["lstm.weight_ih"] @ found_[k : k + 3].max(0)
                + arrays["lstm.weight_hh"] @ hidden
                + arrays["lstm.bias"]
            )
            let_in, keep, new, let_out = np.split(gates, 4)
            memory = expit(keep) * memory + expit(let_in) * np.tanh(new)
            hidden = expit(let_out) * np.tanh(memory)
            outputs.append(hidden)
        judged = np.concatenate([np.mean(outputs, 0), np.max(outputs, 0), outputs[-1]])
        assert float(odds[row]) == pytest.approx((arrays["head.weight"] @ judged)[0], abs=1e-6)


def test_settings_of_recurrent_judges() -> None:
    pytest.importorskip("torch")
    judge = RecurrentDiscriminator(convolution=True, pooling=3)
    assert "maximum of 3" in judge.features
    with pytest.raises(OptionError, match="pooling must be at least 1, and 1 without convolution, got 2"):
        RecurrentDiscriminator(pooling=2)
    with pytest.raises(OptionError, match=r"dropout in \[0, 1\), got 96 and 1"):
        RecurrentDiscriminator(dropout=1)


@pytest.mark.parametrize("individual", [False, True])
def test_no_text_is_judged_by_who_saw_it_or_its_copy(individual: bool) -> None:
    """A generator of five texts, forty times each, would be found out by its copies; it is asked about new ones."""
    few = filler(5, 5)
    sides = {"real": filler(100, 6), "few": few * 40, "many": [*filler(99, 7), filler(100, 6)[0]]}
    found = corpora_from_texts(sides)
    result = meta_evaluate(Remembers(), found.pop("real"), found, individual=individual, balance="weights")
    assert result.by_generator["few"].value == 0
    assert (result.by_generator["few"].n_texts, result.by_generator["few"].n_distinct) == (200, 5)
    assert result.real_scores.shape == (2 if individual else 1, 100)
    assert not np.isnan(result.real_scores).any()
    assert not np.isnan(result.generated_scores["many"]).any()
    assert result.real_clusters[0] == result.generated_clusters["many"][-1]
    assert {fold["judge"] for fold in result.chosen} == ({"few", "many"} if individual else {""})
    assert len(result.chosen) == (10 if individual else 5)


@pytest.mark.parametrize(("balance", "expected"), [("equal", 70), ("weights", 210)])
def test_balance(balance: Balance, expected: int) -> None:
    found = corpora_from_texts({"real": filler(300, 8), "g": filler(100, 9)})
    result = meta_evaluate(Remembers(), found["real"], {"g": found["g"]}, balance=balance, seed=1)
    for fold in result.chosen:
        real, generated, *_ = fold["sizes"]
        assert generated == pytest.approx(70, abs=1)
        assert real == pytest.approx(expected, abs=1)
    assert ("drawn" in str(result.signature)) == (balance == "equal")


def test_parts_that_are_given() -> None:
    """All the judge knows is the training text; copies in the test text are told, not moved."""
    texts = {"a": filler(30, 10), "b": filler(30, 11), "c": filler(30, 12)}
    texts["a"][0] = "copied text"
    copies = {"t": [*filler(9, 13), "copied text"], "u": filler(20, 14), "v": [*texts["b"][:6], *filler(4, 15)]}
    found = corpora_from_texts({**texts, **copies, "w": filler(5, 16)})
    real = Parts(found["b"], found["w"], found["u"])
    one, two = Parts(found["a"], found["w"], found["t"]), Parts(found["c"], found["w"], found["v"])

    class Open(Remembers):
        def prob_real(self, corpus: Corpus) -> npt.NDArray[np.float64]:
            return np.array([text not in self.known for text in corpus.texts], dtype=np.float64)

    result = meta_evaluate_parts(Open(), real, {"one": one, "two": two})
    assert result.n_seen == {"one": 1, "two": 6}
    assert result.generated_scores["one"].tolist() == [1.0] * 9 + [0.0]
    assert (result.by_generator["one"].value, result.real.value) == (0.1, 1)
    alone = meta_evaluate_parts(Open(), real, {"one": one, "two": two}, individual=True)
    assert alone.real_scores.shape == (2, 20)
    assert [fold["sizes"] for fold in alone.chosen] == [[30, 30, 5, 5]] * 2
    assert [fold["sizes"] for fold in result.chosen] == [[30, 60, 5, 10]]


def test_the_same_bits_in_any_number_of_threads_and_another_seed_other_folds() -> None:
    found = corpora_from_texts({"real": shifted(120, 0.5, 0), "one": shifted(60, 0.6, 1), "two": shifted(60, 0.7, 2)})
    real = found.pop("real")
    judge = NaiveBayesDiscriminator()
    alone = meta_evaluate(judge, real, found, individual=True)
    with workers(3):
        again = meta_evaluate(judge, real, found, individual=True)
    assert np.array_equal(alone.real_scores, again.real_scores)
    assert all(np.array_equal(alone.generated_scores[name], again.generated_scores[name]) for name in found)
    assert str(alone.signature) == str(again.signature)
    other = meta_evaluate(judge, real, found, individual=True, seed=1)
    assert not np.array_equal(alone.real_scores, other.real_scores)


@pytest.mark.feature("JJ-27")
def test_individual_judges_rank_generators_like_one_judge_of_all() -> None:
    """Eight generators of growing distance: both kinds of judges find the order, and agree."""
    shares = np.linspace(0.5, 0.85, 8)
    sides = {f"g{place}": shifted(300, share, place) for place, share in enumerate(shares)}
    found = corpora_from_texts({"real": shifted(1200, 0.5, 99), **sides})
    real = found.pop("real")
    values = [
        [
            one.value
            for one in meta_evaluate(NaiveBayesDiscriminator(), real, found, individual=kind).by_generator.values()
        ]
        for kind in (False, True)
    ]
    assert kendalltau(*values).statistic > 0.85
    for of_kind in values:
        assert kendalltau(of_kind, shares).statistic > 0.85


@pytest.mark.slow
@pytest.mark.feature("JJ-27")
@pytest.mark.parametrize("name", ["naive-bayes", "svm"])
def test_on_published_reviews_individual_judges_rank_like_one_judge_of_all(name: str, data_dir: Path) -> None:
    """And both unlike people: whom people take for real, n-grams find out."""
    judgements = read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv")
    texts = {
        name or "": [item.text for item in judgements.items if item.generator == name]
        for name in (None, *judgements.generators)
    }
    found = corpora_from_texts(texts)
    real = found.pop("")
    votes, writers = judgements.votes(), np.array([item.generator or "" for item in judgements.items])
    people = [votes[writers == name, 0].sum() / votes[writers == name].sum() for name in found]
    values = [
        [
            one.value
            for one in meta_evaluate(make_discriminator(name), real, found, individual=kind).by_generator.values()
        ]
        for kind in (False, True)
    ]
    assert kendalltau(*values).statistic > 0.7
    assert all(kendalltau(of_kind, people).statistic < -0.3 for of_kind in values)


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.6, 0.8)])
def test_intervals_of_cross_fitted_accuracies_cover(shares: tuple[float, float]) -> None:
    """What is to be covered is the mean true accuracy of the judges of the folds, seen on much more text."""

    class Watched(NaiveBayesDiscriminator):
        def fit(self, train: Pair, valid: Pair) -> Self:
            fitted = super().fit(train, valid)
            right = [fitted.prob_real(found["more real"]) > 0.5]
            right += [fitted.prob_real(found[f"more {name}"]) <= 0.5 for name in ("one", "two")]
            truths.append([float(np.mean(side)) for side in right])
            return fitted

    covered = []
    for run in range(200):
        sides = {"real": (200, 0.5), "one": (100, shares[0]), "two": (100, shares[1])}
        drawn = {name: shifted(n, share, 100 * run + place) for place, (name, (n, share)) in enumerate(sides.items())}
        more = {f"more {name}": shifted(2000, sides[name][1], 100 * run + 50 + k) for k, name in enumerate(sides)}
        found = corpora_from_texts({**drawn, **more})
        truths: list[list[float]] = []
        result = meta_evaluate(Watched(), found["real"], {name: found[name] for name in ("one", "two")}, seed=run)
        real, one, two = np.mean(truths, axis=0)
        aims = [(result.real, real), (result.by_generator["one"], one), (result.generated, (one + two) / 2)]
        aims.append((result.all, (real + (one + two) / 2) / 2))
        covered.append([found_.interval.low <= aim <= found_.interval.high for found_, aim in aims])
    assert np.all(np.mean(covered, axis=0) > 0.92)


def test_doors() -> None:
    found = corpora_from_texts({"real": filler(20, 17), "g": filler(20, 18), "few": ["a", "b"] * 9, "none": []})
    judge = NaiveBayesDiscriminator()
    with pytest.raises(OptionError, match="at least one generator, got none"):
        meta_evaluate(judge, found["real"], {})
    with pytest.raises(OptionError, match="balance must be equal or weights, got even"):
        meta_evaluate(judge, found["real"], {"g": found["g"]}, balance="even")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="level must be between 0 and 1, got 95"):
        meta_evaluate(judge, found["real"], {"g": found["g"]}, level=95)
    with pytest.raises(OptionError, match="folds must be at least 2, got 1"):
        meta_evaluate(judge, found["real"], {"g": found["g"]}, folds=1)
    with pytest.raises(TooFewSentencesError, match="none has no text"):
        meta_evaluate(judge, found["real"], {"none": found["none"]})
    with pytest.raises(TooFewSentencesError, match="'few' or real text must have texts in every part"):
        meta_evaluate(judge, found["real"], {"few": found["few"]}, individual=True)
