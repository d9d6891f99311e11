"""ROUGE by hand, against caption evaluation (L, several references) and against values of rouge-score 0.1.2.

`make_rouge_golden.py` made those in `rouge_golden.json`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocoevalcap.rouge.rouge import Rouge as CaptionRouge

from nearest import nearest_references
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import OptionError
from textassay.metric.base import Shared
from textassay.metric.catalog import parse_metric
from textassay.metric.rouge import f_measure, longest_common, rouge

GOLDEN = json.loads(Path(__file__).with_name("rouge_golden.json").read_text(encoding="utf-8"))
SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join), min_size=1, max_size=6)


def _pair(generated: list[str], real: list[str]) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"generated": generated, "real": real})
    return corpora["generated"], corpora["real"]


def _scores(generated: Corpus, real: Corpus, **settings: Any) -> npt.NDArray[np.float64]:
    scores: npt.NDArray[np.float64] = rouge.declaration.compute(generated, real, **settings).generated_scores
    return scores


def _by_caption_evaluation(generated: Corpus, real: Corpus, k: int) -> list[float]:
    rows = nearest_references(generated, real, k=k)
    return [
        CaptionRouge().calc_score([text], [real.texts[place] for place in row if place >= 0]) if text else 0.0
        for text, row in zip(generated.texts, rows, strict=True)
    ]


@pytest.mark.feature("JJ-30")
def test_hand_worked_sentence() -> None:
    # police killed the gunman / police kill the gunman: in order police, the, gunman: P = R = 3/4
    generated, real = _pair(["police kill the gunman"], ["police killed the gunman", "the gunman police killed now"])
    assert rouge(generated, real, references=1).value == pytest.approx(3 / 4)
    # the second shares police, the, gunman, too, but only "the gunman" in order: the best P and R are of the first
    assert rouge(generated, real).value == pytest.approx(3 / 4)
    assert rouge(generated, real, kind="1").value == pytest.approx(3 / 4)
    assert rouge(generated, real, kind="2", references=1).value == pytest.approx(1 / 3)
    # best P from one reference (2/2), best R from the other (1/1): F = 1
    generated, real = _pair(["a b"], ["a b c d", "a"])
    assert rouge(generated, real).value == pytest.approx(1.0)
    # beta 1.2, P = 1, R = 1/2: 2.44 / (2 x 1.94)
    assert rouge(*_pair(["a b"], ["a b c d"])).value == pytest.approx(2.44 * 0.5 / (0.5 + 1.44))
    assert rouge(*_pair(["a b"], ["a b c d"]), beta=1).value == pytest.approx(2 / 3)


@pytest.mark.feature("JJ-30")
@given(generated=SENTENCES, real=SENTENCES)
def test_l_is_that_of_caption_evaluation(generated: list[str], real: list[str]) -> None:
    real = [text or "d" for text in real]  # an empty text is one empty word there
    pair = _pair(generated, real)
    np.testing.assert_allclose(_scores(*pair, references=3), _by_caption_evaluation(*pair, 3), atol=1e-12)


@pytest.mark.feature("JJ-30")
@pytest.mark.parametrize("group", range(len(GOLDEN["groups"])))
def test_one_and_two_and_the_plain_l_are_those_of_rouge_score(group: int) -> None:
    golden = GOLDEN["groups"][group]
    pair = _pair(golden["hypotheses"], golden["references"])
    k = len(golden["references"])
    settings: dict[str, dict[str, Any]] = {
        "rouge1": {"kind": "1", "references": k},
        "rouge2": {"kind": "2", "references": k},
        "rougeL": {"beta": 1, "references": 1},
    }
    for name in golden.keys() - {"hypotheses", "references"}:
        np.testing.assert_allclose(_scores(*pair, **settings[name]), golden[name], atol=1e-12, err_msg=name)


@pytest.mark.feature("JJ-44")
@pytest.mark.parametrize("references", [1, 2, 5])
def test_scores_against_all_references_are_those_of_rouge_score(references: int) -> None:
    golden = [group for group in GOLDEN["groups"] if len(group["references"]) == references]
    for group in golden:
        pair = _pair(group["hypotheses"], group["references"])
        for kind in "12":
            ours = _scores(*pair, kind=kind, references="all")
            np.testing.assert_allclose(ours, group[f"rouge{kind}"], atol=1e-12)
        if references == 1:  # of several, precision and recall may be those of two references: as caption evaluation
            np.testing.assert_allclose(_scores(*pair, beta=1, references="all"), group["rougeL"], atol=1e-12)
    assert len(golden) > 5


@pytest.mark.feature("JJ-44")
@given(generated=SENTENCES, real=SENTENCES)
def test_l_against_all_references_is_that_of_caption_evaluation(generated: list[str], real: list[str]) -> None:
    real = [text or "d" for text in real]  # an empty text is one empty word there
    expected = [CaptionRouge().calc_score([text], real) if text else 0.0 for text in generated]
    np.testing.assert_allclose(_scores(*_pair(generated, real), references="all"), expected, atol=1e-12)


def test_golden_values_are_of_the_stated_version_and_many() -> None:
    assert GOLDEN["made_by"] == "rouge-score 0.1.2"
    by_name = {
        name: [v for group in GOLDEN["groups"] for v in group.get(name, [])] for name in ("rouge1", "rouge2", "rougeL")
    }
    assert {name: len(values) for name, values in by_name.items()} == {"rouge1": 296, "rouge2": 296, "rougeL": 152}
    for values in by_name.values():
        assert sum(0 < value < 1 for value in values) > 60


@pytest.mark.feature("JJ-30")
def test_news_scores_are_those_of_caption_evaluation(data_dir: Path) -> None:
    lines = (data_dir / "emnlp_news" / "test.txt").read_text(encoding="utf-8").splitlines()
    pair = _pair(lines[:40], lines[100:600])
    np.testing.assert_allclose(_scores(*pair), _by_caption_evaluation(*pair, 10), atol=1e-12)


def test_longest_common_subsequence_by_the_textbook() -> None:
    hypotheses, references = _pair(["a b c b d a b", "x", ""], ["b d c a b a", "a b c b d a b"])
    pairs = np.array([[0, 1, -1], [0, 1, 1], [1, -1, 0]])
    assert longest_common(hypotheses, references, pairs).tolist() == [[4, 7, 0], [0, 0, 0], [0, 0, 0]]


def _common_by_table(first: list[str], second: list[str]) -> int:
    row = [0] * (len(second) + 1)
    for token in first:
        before = 0
        for place, other in enumerate(second, start=1):
            before, row[place] = row[place], before + 1 if token == other else max(row[place], row[place - 1])
    return row[-1]


def test_longest_common_subsequence_of_long_texts_is_that_of_the_table() -> None:
    rng = np.random.default_rng(0)
    texts = [rng.choice(list("abcdef"), n).tolist() for n in (1, 63, 64, 65, 127, 128, 129, 200, 300)]
    corpus, other = _pair([" ".join(text) for text in texts], [" ".join(text) for text in texts[::-1]])
    pairs = np.tile(np.arange(len(texts)), (len(texts), 1))
    expected = [[_common_by_table(one, two) for two in texts[::-1]] for one in texts]
    assert longest_common(corpus, other, pairs).tolist() == expected


def test_f_measure_is_zero_where_a_part_is() -> None:
    values = f_measure(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.0, 1.0]), 1.2)
    assert values.tolist() == [0.0, 0.0, pytest.approx(1.0)]


def test_kinds_share_their_work_and_settings_show() -> None:
    generated, real = _pair(["a b c", "b c d"], ["a b", "c d b"])
    assert parse_metric("rouge(beta=2,kind=l)").name == "rouge(kind=l,beta=2)"
    assert parse_metric("rouge(kind=l,beta=1.2)").name == "rouge(kind=l)"
    shared = Shared()
    with shared.used():
        rouge(generated, real)
        n_kept = len(shared._entries)
        rouge(generated, real, kind="1")
        assert len(shared._entries) == n_kept
        rouge(generated, real, beta=1)
        assert len(shared._entries) == n_kept + 1
    estimate = rouge(generated, real, kind="2")
    assert estimate.metric == "rouge(kind=2)"
    assert "beta:1|best:f" in str(estimate.signature)
    with pytest.raises(OptionError, match=r"unknown value of rouge\(kind\) '3'"):
        rouge(generated, real, kind="3")
    with pytest.raises(OptionError, match="beta must be"):
        rouge(generated, real, beta=0)
