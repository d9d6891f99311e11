"""Orientation against the published tables, people's evaluations, and what values move by."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from judges_tables import (
    ACCURACY,
    BLEU_OF_TRAINING,
    GENERATORS,
    LEXICAL_DIVERSITY,
    OVERLAP,
    SELF_BLEU,
    SHARE_JUDGED_FAKE,
    TABLE_5,
    TABLE_7,
    TABLE_8,
)
from textassay.corpus.corpus import corpora_from_texts
from textassay.errors import InputError, OptionError
from textassay.estimate import Better
from textassay.metric.base import measure
from textassay.metric.catalog import parse_metric
from textassay_lab.human.judgements import Item, Judgements
from textassay_lab.human.results import read_judgements
from textassay_lab.meta_evaluation.correlations import correlation_matrix
from textassay_lab.meta_evaluation.evaluation import Evaluation, majority_agreement


def _published() -> dict[str, Evaluation]:
    found: dict[str, Evaluation] = {}

    def add(better: Better, values: Mapping[str, Sequence[float]]) -> None:
        found.update({name: Evaluation(name, better, GENERATORS, np.array(row)) for name, row in values.items()})

    add("lower", SHARE_JUDGED_FAKE)
    add("lower", ACCURACY)
    add("higher", OVERLAP)
    add("lower", {"Self-BLEU": SELF_BLEU})
    add("higher", {"lexical diversity": LEXICAL_DIVERSITY, "BLEU G-train": BLEU_OF_TRAINING})
    return found


@pytest.mark.feature("JJ-36")
def test_the_tables_of_correlations_come_out_of_the_published_values() -> None:
    evaluations = _published()
    golds = {"H1": 0, "H2": 3}
    n_cells = 0
    for place, kind in enumerate(("kendall", "spearman", "pearson")):
        matrix = correlation_matrix(list(evaluations.values()), kind)  # type: ignore[arg-type]

        def found(one: str, other: str, matrix: object = matrix) -> float:
            return float(matrix.values[matrix.names.index(one), matrix.names.index(other)])  # type: ignore[attr-defined]

        for gold, start in golds.items():
            for name, both in TABLE_5.items():
                assert found(name, gold) == pytest.approx(both[start + place], abs=1.01e-4), (name, gold, kind)
                n_cells += 1
        for table, other in ((TABLE_7, "Self-BLEU"), (TABLE_8, "BLEU G-train")):
            for name, row in table.items():
                assert found(name, other) == pytest.approx(row[place], abs=1.01e-4), (name, other, kind)
                n_cells += 1
    assert n_cells == 3 * (2 * 9 + 2 * 11)
    # Section 6.4: raw correlation of the columns of table 6, which the orientation of self-BLEU turns round.
    tau = correlation_matrix([evaluations["Self-BLEU"], evaluations["lexical diversity"]])
    assert tau.values[0, 1] == pytest.approx(0.6970, abs=1e-4)


@pytest.mark.feature("JJ-36")
def test_closer_is_the_distance_to_the_floor() -> None:
    found = Evaluation("x", "closer", ("a", "b", "c"), np.array([1.0, 2.5, 4.0]), floor=2.0)
    assert found.goodness.tolist() == [-1.0, -0.5, -2.0]
    assert found.order == ("b", "a", "c")
    assert found.text_goodness is None


def test_people_of_the_published_study(data_dir: Path) -> None:
    judgements = read_judgements(data_dir / "amt_reviews" / "batch_results.csv")
    h1 = Evaluation.of_judgements(judgements)
    h2 = Evaluation.of_judgements(judgements, by="majority", votes=5)
    names = ("WordRNN10", "WordRNN07", "WordRNN05", "SS", "GoogleLM", "AttentionAC", "NoAttentionAC",
             "SkipConnectionsAC", "MLESeqGAN", "SeqGAN", "RankGAN", "LeakGAN")  # fmt: skip
    for found, name in ((h1, "H1"), (h2, "H2")):
        assert 1 - found.select(names).values == pytest.approx(SHARE_JUDGED_FAKE[name], abs=1e-6)
        assert found.name == name
    assert h1.floor == pytest.approx(0.7896, abs=1e-4)
    assert h2.floor == pytest.approx(0.8831, abs=1e-4)
    assert h2.texts is not None
    assert sum(np.isfinite(labels).sum() for labels in h2.texts.values()) == 1770


def _judgements() -> Judgements:
    # a: 1 of 2 and 2 of 2 real; b: 0 of 1; a person's text: 1 of 1; b's second text was not judged.
    items = (Item("1", "p", "x", "a"), Item("2", "p", "y", "a"), Item("3", "p", "z", "b"), Item("4", "p", "w", None),
             Item("5", "p", "v", "b"))  # fmt: skip
    return Judgements(items, ("r", "s"), np.array([0, 0, 1, 1, 2, 3]), np.array([0, 1, 0, 1, 0, 0]),
                      np.array([1.0, 0, 1, 1, 0, 1]), "real-or-fake")  # fmt: skip


def test_shares_and_majorities_by_hand() -> None:
    h1 = Evaluation.of_judgements(_judgements())
    assert h1.values.tolist() == [0.75, 0.0]
    assert h1.floor == 1.0
    assert h1.texts is not None
    assert h1.texts["a"].tolist() == [0.5, 1.0]
    assert np.isnan(h1.texts["b"]).tolist() == [False, True]
    for ties, value in (("fake", 0.5), ("real", 1.0)):
        h2 = Evaluation.of_judgements(_judgements(), by="majority", ties=ties)  # type: ignore[arg-type]
        assert h2.values.tolist() == [value, 0.0]


@pytest.mark.parametrize(("votes", "message"), [(1, "no text of a has 1 judgement"), (2, "no text of b has 2 judge")])
def test_a_generator_without_judged_texts(votes: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Evaluation.of_judgements(_judgements(), votes=votes)


def test_terms_move_a_ratio_as_another_draw_of_texts_does() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 6, 400)
    votes = [rng.random(n) < 0.3 + 0.4 * (i % 2) for i, n in enumerate(counts)]
    items = tuple(Item(str(i), str(i), "t", "a") for i in range(400))
    flat = np.concatenate(votes).astype(np.float64)
    raters = np.concatenate([np.arange(n) for n in counts])
    made = Judgements(items, tuple("rstuvw"), np.repeat(np.arange(400), counts), raters, flat, "real-or-fake")
    found = Evaluation.of_judgements(made)
    assert found.terms is not None
    sums = np.array([v.sum() for v in votes])
    exact, linear = [], []
    for _ in range(300):
        picks = rng.integers(400, size=400)
        exact.append(sums[picks].sum() / counts[picks].sum())
        linear.append(found.values[0] + found.terms["a"][picks].mean() - found.terms["a"].mean())
    assert np.std(linear) == pytest.approx(np.std(exact), rel=0.03)
    assert np.corrcoef(exact, linear)[0, 1] > 0.999


def test_scores_that_run_against_the_value_are_turned() -> None:
    rng = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(30)])
    texts = {
        name: [" ".join(rng.choice(words, 8, p=weights / weights.sum())) for _ in range(120)]
        for name, weights in (("real", np.ones(30)), ("a", np.arange(1, 31.0)), ("b", np.arange(1, 31.0) ** 3))
    }
    corpora = corpora_from_texts(texts)
    metric = parse_metric("dd", effort="quick")
    estimates = {name: measure(metric, corpora[name], corpora["real"]) for name in ("a", "b")}
    raw = estimates["b"].evidence
    assert raw is not None
    assert raw.generated_scores is not None
    found = Evaluation.of_estimates(estimates)
    assert found.text_goodness is not None
    # dd keeps probabilities of being real: more is better, whatever the direction of dd.
    assert np.corrcoef(found.text_goodness["b"], raw.generated_scores)[0, 1] == pytest.approx(1)


def test_means_of_texts_are_their_own_terms() -> None:
    texts = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 5.0])}
    found = Evaluation("m", "lower", ("a", "b"), np.array([1.5, 4.0]), texts)
    assert found.terms is not None
    assert found.goodness_terms is not None
    assert found.goodness_terms["b"].tolist() == [-3.0, -5.0]
    assert Evaluation("m", "lower", ("a", "b"), np.array([1.5, 4.5]), texts).terms is None


def test_closer_is_linear_around_the_value() -> None:
    texts = {"a": np.array([0.0, 2.0]), "b": np.array([4.0, 8.0])}
    found = Evaluation("m", "closer", ("a", "b"), np.array([1.0, 6.0]), texts, 3.0)
    assert found.goodness_terms is not None
    assert found.goodness_terms["a"].tolist() == [-3.0, -1.0]
    assert found.goodness_terms["b"].tolist() == [-1.0, -5.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"better": "neither"}, r"must have a direction \(higher, lower or closer\), got neither"),
        ({"better": "closer"}, "give the floor"),
        ({"values": np.array([1.0, math.nan])}, "m of b is undefined"),
        ({"values": np.array([1.0])}, "one value for each generator"),
        ({"generators": ("a", "a")}, "one value for each generator"),
        ({"texts": {"a": np.ones(2)}}, "for each of its generators or for none"),
    ],
)
def test_bad_evaluations_are_refused(change: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"name": "m", "better": "higher", "generators": ("a", "b"), "values": np.array([1.0, 2])}
    with pytest.raises(InputError, match=message):
        Evaluation(**(given | change))  # type: ignore[arg-type]


def test_select_keeps_the_order_given() -> None:
    found = Evaluation("m", "higher", ("a", "b", "c"), np.array([1.0, 2.0, 3.0])).select(("c", "a"))
    assert found.generators == ("c", "a")
    assert found.values.tolist() == [3.0, 1.0]
    with pytest.raises(OptionError, match="generator of m 'd'"):
        found.select(("d",))


def test_majority_labels_stand_in_for_the_truth() -> None:
    labels = {"a": np.array([1.0, 1.0, 0.0, np.nan]), "b": np.array([0.0, 0.0])}
    majority = Evaluation("H2", "higher", ("a", "b"), np.array([2 / 3, 0.0]), labels)
    found = majority_agreement({"a": [0.1, 0.9, 0.2, 0.9], "b": [0.1, 0.6]}, majority, name="svm")
    assert found.values == pytest.approx([2 / 3, 0.5])
    assert found.goodness == pytest.approx([-2 / 3, -0.5])
    # Right at the threshold a text is called generated, as `MetaEvaluation` counts it.
    at_half = majority_agreement({"a": [0.5] * 4, "b": [0.5] * 2}, majority, name="forest")
    assert at_half.values == pytest.approx([1 / 3, 1.0])
    # A generator whose text people take for real and the classifier does not: by the majority's labels it is good.
    with pytest.raises(InputError, match="3 probabilities for 4 texts of a"):
        majority_agreement({"a": [0.1, 0.9, 0.2], "b": [0.1, 0.6]}, majority, name="svm")
