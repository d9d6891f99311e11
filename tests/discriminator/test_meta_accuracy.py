"""Accuracies of discriminative evaluators: by hand, on the published table, and how often intervals cover."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from textassay.errors import EmptyCorpusError, OptionError
from textassay.estimate import Signature
from textassay_lab.judges.meta_evaluator import MetaEvaluation, accuracy_table, clustered_interval, overall_accuracy

# Table 4 of "Judge the Judges", percent: LSTM, CNN, CNN&LSTM, SVM, RF, NB, XGBoost; Google LM has 1,336 texts in the
# test part, all others 6,500.
PUBLISHED = {
    "Word LSTM 1.0": (48.29, 55.22, 45.68, 50.31, 53.63, 32.77, 48.97),
    "Word LSTM 0.7": (92.58, 93.14, 91.02, 78.69, 81.05, 79.92, 80.49),
    "Word LSTM 0.5": (99.31, 99.35, 99.08, 94.74, 94.29, 96.86, 94.71),
    "Scheduled Sampling": (50.09, 48.77, 43.37, 51.31, 52.88, 20.97, 44.12),
    "Google LM": (84.58, 74.03, 74.85, 78.59, 82.71, 48.28, 82.41),
    "Attention Attribute to Sequence": (90.08, 91.78, 89.94, 74.37, 77.29, 80.02, 71.68),
    "Contexts to Sequences": (100.00, 100.00, 99.97, 100.00, 99.98, 100.00, 99.98),
    "Gated Contexts to Sequences": (98.37, 99.06, 98.38, 96.26, 95.35, 98.63, 93.62),
    "MLE SeqGAN": (41.45, 47.54, 41.91, 52.35, 51.14, 21.83, 43.71),
    "SeqGAN": (50.05, 52.91, 47.35, 56.20, 54.91, 25.60, 48.11),
    "RankGAN": (66.28, 67.23, 59.37, 70.17, 61.94, 35.98, 61.23),
    "LeakGAN": (87.03, 80.28, 79.57, 77.55, 67.74, 46.80, 63.80),
}
ALL = (77.58, 74.72, 75.18, 74.50, 70.31, 70.74, 73.79)
REAL = (80.12, 73.54, 77.99, 75.98, 68.59, 83.53, 79.10)
GENERATED = (75.04, 75.90, 72.38, 73.01, 72.04, 57.95, 68.48)


def evaluation(name: str = "svm", kind: str = "meta", inflation: float = 1.0) -> MetaEvaluation:
    """Return two generators: of a's four texts three are found out, two of them equal; of b's one none."""
    return MetaEvaluation(
        name=name,
        kind=kind,  # type: ignore[arg-type]
        real_scores=np.array([[0.9, 0.6, 0.5, 0.2, 0.7]]),
        generated_scores={"a": np.array([0.1, 0.1, 0.5, 0.8]), "b": np.array([0.51])},
        real_clusters=np.array([0, 1, 2, 3, 4]),
        generated_clusters={"a": np.array([5, 5, 6, 7]), "b": np.array([8])},
        n_seen={"a": 1, "b": 0},
        level=0.95,
        inflation=inflation,
        signature=Signature({"evaluator": name}),
    )


@pytest.mark.feature("JJ-28")
@pytest.mark.parametrize("column", range(7))
def test_the_published_table_is_consistent(column: int) -> None:
    """The rows below the generators follow from them by the numbers of texts, within the rounding of the table."""
    counts = {name: 1336 if name == "Google LM" else 6500 for name in PUBLISHED}
    assert sum(counts.values()) == 72_836
    by_generator = {name: row[column] for name, row in PUBLISHED.items()}
    generated, everything = overall_accuracy(by_generator, counts, REAL[column])
    assert generated == pytest.approx(GENERATED[column], abs=0.01)
    assert everything == pytest.approx(ALL[column], abs=0.01)
    unweighted, _ = overall_accuracy(by_generator, dict.fromkeys(PUBLISHED, 1), REAL[column])
    assert abs(unweighted - GENERATED[column]) > 0.01, "the weights are what makes it hold"


@pytest.mark.feature("JJ-28")
def test_accuracies_by_hand() -> None:
    found = evaluation()
    assert found.generators == ("a", "b")
    assert (found.by_generator["a"].value, found.by_generator["b"].value) == (0.75, 0.0)
    assert (found.real.value, found.generated.value) == (0.6, 0.6)  # a score of exactly 1/2 says generated
    assert found.all.value == pytest.approx(0.6)
    assert (found.by_generator["a"].n_texts, found.by_generator["a"].n_distinct) == (4, 3)
    assert (found.all.n_texts, found.all.n_distinct) == (10, 9)
    assert found.all.interval.low > min(found.real.interval.low, found.generated.interval.low)


@pytest.mark.feature("JJ-28")
def test_the_layout_of_table_4() -> None:
    table = accuracy_table([evaluation(), evaluation("naive-bayes", "individual")])
    assert list(table.index) == ["a", "b", "(all)", "(real)", "(generated)"]
    assert list(table.columns) == ["svm (meta)", "naive-bayes (individual)"]
    assert table["svm (meta)"].tolist() == pytest.approx([0.75, 0, 0.6, 0.6, 0.6])
    frame = evaluation().to_frame()
    assert list(frame.columns) == ["generator", "accuracy", "low", "high", "n_texts", "n_distinct"]
    assert frame["n_texts"].tolist() == [4, 1, 10, 5, 5]
    with pytest.raises(OptionError, match="each once, got svm"):
        accuracy_table([evaluation(), evaluation()])
    with pytest.raises(OptionError, match="got none"):
        accuracy_table([])


def test_individual_judges_of_real_text_are_averaged() -> None:
    scores = np.array([[0.9, 0.9, 0.1], [0.9, 0.1, 0.1]])
    found = MetaEvaluation(
        name="svm", kind="individual", real_scores=scores, generated_scores={"a": np.zeros(2), "b": np.zeros(2)},
        real_clusters=np.arange(3), generated_clusters={"a": np.arange(3, 5), "b": np.arange(5, 7)},
        n_seen={"a": 0, "b": 0}, level=0.9, inflation=1.0, signature=Signature({}),
    )  # fmt: skip
    assert found.real.value == 0.5
    assert (found.real.n_texts, found.real.interval.level) == (3, 0.9)


def test_estimates_for_the_tables_of_metrics() -> None:
    estimate = evaluation().to_estimates()["a"]
    assert (estimate.metric, estimate.value, estimate.better) == ("svm-meta", 0.75, "lower")
    assert estimate.evidence is not None
    assert estimate.evidence.generated_terms is not None
    assert estimate.evidence.generated_terms.tolist() == [1, 1, 1, 0]
    assert estimate.evidence.generated_scores == pytest.approx([0.9, 0.9, 0.5, 0.2])
    assert estimate.details == {"n_seen": 1}


def test_intervals_without_copies_are_wilsons() -> None:
    correct = np.repeat([1.0, 0.0], [30, 10])
    found = clustered_interval(correct, np.arange(40), level=0.9)
    n = 40 * 39 / 40  # the variance of a mean has n - 1
    assert (found.low, found.high) == pytest.approx(proportion_confint(0.75 * n, n, alpha=0.1, method="wilson"))
    for inflation in (1.0, 2.0):
        all_right = clustered_interval(np.ones(40), np.arange(40), level=0.9, inflation=inflation)
        n = 40 / inflation
        assert (all_right.low, all_right.high) == pytest.approx(proportion_confint(n, n, alpha=0.1, method="wilson"))


def test_copies_count_as_one_text() -> None:
    """Every text three times: the interval is that of a third of the texts."""
    correct = np.repeat([1.0, 0.0], [20, 20])
    once = clustered_interval(correct, np.arange(40), level=0.95)
    thrice = clustered_interval(np.repeat(correct, 3), np.repeat(np.arange(40), 3), level=0.95)
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high))
    copies = clustered_interval(np.ones(120), np.repeat(np.arange(40), 3), level=0.95)
    assert copies.low == pytest.approx(clustered_interval(np.ones(40), np.arange(40), level=0.95).low)


def test_intervals_cover_where_texts_are_repeated() -> None:
    """Texts of a judge that is right on 80 %, each repeated 1 to 4 times, 1,500 samples of 60 texts."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(1500):
        times = rng.integers(1, 5, 60)
        found = clustered_interval(
            np.repeat((rng.random(60) < 0.8).astype(np.float64), times), np.repeat(np.arange(60), times), level=0.9
        )
        covered.append(found.low <= 0.8 <= found.high)
    assert np.mean(covered) == pytest.approx(0.9, abs=0.03)


def test_doors() -> None:
    with pytest.raises(EmptyCorpusError, match="at least one text"):
        clustered_interval(np.empty(0), np.empty(0, dtype=np.int64), level=0.95)
    with pytest.raises(OptionError, match="level must be between 0 and 1, got 1"):
        clustered_interval(np.ones(2), np.arange(2), level=1)
