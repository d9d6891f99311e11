"""The share of unseen words by hand; its jackknife against computing everything anew without each group."""

import math
from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import OptionError
from textassay.metric.base import Shared
from textassay.metric.catalog import parse_metric
from textassay.metric.vocabulary import vocabulary
from textassay.resampling.jackknife import assign_groups, counts_by_group
from textassay.seeding import stream

UNITS = ("tokens", "types")
TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5).map(" ".join), min_size=1, max_size=6)


def _pair(generated: list[str], real: list[str]) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"generated": generated, "real": real})
    return corpora["generated"], corpora["real"]


def _by_hand(generated: list[str], real: list[str], of: str) -> float:
    known = {token for text in real for token in text.split()}
    tokens = [token for text in generated for token in text.split()]
    counted = tokens if of == "tokens" else sorted(set(tokens))
    return sum(token not in known for token in counted) / len(counted) if counted else math.nan


def test_hand_worked_case() -> None:
    generated, real = _pair(["a b x", "x y a", "a"], ["a b c"])
    tokens = vocabulary(generated, real)
    assert tokens.value == 3 / 7
    assert tokens.details == {
        "n_unseen": 3,
        "n_total": 7,
        "most_frequent_unseen": [{"token": "x", "count": 2}, {"token": "y", "count": 1}],
    }
    types = vocabulary(generated, real, of="types")
    assert types.value == 2 / 4
    assert types.details["n_unseen"] == 2


@given(generated=TEXTS, real=TEXTS, seed=st.integers(0, 3))
def test_values_are_those_by_hand_in_any_order(generated: list[str], real: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    hypotheses, references = _pair(generated, real)
    for of in UNITS:
        value = vocabulary(hypotheses, references, of=of).value
        assert value == _by_hand(generated, real, of)
        shuffled = hypotheses.take(rng.permutation(len(hypotheses))), references.take(rng.permutation(len(references)))
        assert vocabulary(*shuffled, of=of).value == value
        assert vocabulary(references, references, of=of).value == 0


def test_most_frequent_are_ten_and_ties_go_by_letters() -> None:
    counts = {f"w{number:02}": 1 + number % 3 for number in range(20)}
    texts = [" ".join([token] * count) for token, count in counts.items()]
    shown = vocabulary(*_pair(texts, ["r"])).details["most_frequent_unseen"]
    expected = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:10]
    assert [(entry["token"], entry["count"]) for entry in shown] == expected


@pytest.mark.parametrize("of", UNITS)
def test_jackknife_is_the_value_without_each_group(of: str) -> None:
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, 121)
    weights /= weights.sum()
    sides = {
        side: [" ".join(map(str, rng.choice(120, size=4, p=weights))) for _ in range(100)]
        for side in ("generated", "real")
    }
    estimate = vocabulary(*_pair(sides["generated"], sides["real"]), of=of)
    assert estimate.evidence is not None
    for side, terms in (("generated", estimate.evidence.generated_terms), ("real", estimate.evidence.real_terms)):
        groups = assign_groups(100, stream(0, "groups", side))
        pseudo = []
        for group in range(50):
            left = {
                name: [text for text, own in zip(texts, groups, strict=True) if name != side or own != group]
                for name, texts in sides.items()
            }
            pseudo.append(50 * estimate.value - 49 * _by_hand(left["generated"], left["real"], of))
        assert terms is not None
        np.testing.assert_allclose(terms - terms.mean(), np.array(pseudo) - np.mean(pseudo), atol=1e-9)


@pytest.mark.slow
def test_intervals_cover_what_the_sample_size_expects() -> None:
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, 401)
    words = np.array([f"w{number}" for number in range(400)])

    def draw() -> list[str]:
        return [" ".join(row) for row in rng.choice(words, size=(150, 6), p=weights / weights.sum())]

    estimates = [vocabulary(*_pair(draw(), draw())) for _ in range(200)]
    values = np.array([estimate.value for estimate in estimates])
    intervals = [estimate.interval for estimate in estimates if estimate.interval is not None]
    assert np.mean([interval.low <= values.mean() <= interval.high for interval in intervals]) >= 0.93
    half_width = np.mean([interval.high - interval.low for interval in intervals]) / 2
    assert 0.95 < half_width / (2 * values.std(ddof=1)) < 1.6


def test_undefined_is_nan_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="is undefined: the generated text has no token"):
        estimate = vocabulary(*_pair(["", ""], ["a", "b"]))
    assert math.isnan(estimate.value)
    assert estimate.interval is None


def test_what_an_estimate_says() -> None:
    generated, real = _pair(["a b", "c"], ["a", "b", "c d"])
    estimate = vocabulary(generated, real, of="types", seed=2)
    assert estimate.metric == "vocabulary(of=types)"
    assert parse_metric("vocabulary").name == "vocabulary(of=tokens)"
    assert (estimate.better, estimate.unit) == ("closer", "fraction")
    assert estimate.sizes == {"n_generated": 2, "n_real": 3, "n_types": 3}
    assert str(estimate.signature).startswith("metric:vocabulary(of=types)|groups:2+3|tok:whitespace|n:2+3|seed:2|")
    with pytest.raises(OptionError, match=r"unknown value of vocabulary\(of\) 'words'.*[Vv]alid: tokens, types"):
        vocabulary(generated, real, of="words")


def test_tokens_and_types_share_their_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    module, calls = import_module("textassay.metric.vocabulary"), []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return counts_by_group(*arguments)

    monkeypatch.setattr(module, "counts_by_group", counted)
    corpora = _pair(["a b", "c"], ["a", "b", "c d"])
    with Shared().used():
        values = [vocabulary(*corpora, of=of).value for of in UNITS]
    assert values == [0, 0]
    assert len(calls) == 2  # one of each side


def test_groups_of_real_text_are_shared_between_generators() -> None:
    rng = np.random.default_rng(3)
    texts = {name: [" ".join(map(str, rng.integers(0, 80, size=5))) for _ in range(60)] for name in "abr"}
    corpora = corpora_from_texts(texts)
    first, second = (Counter(corpora[name].tokens.tolist()).keys() for name in "ab")
    assert first != second
    terms = []
    for name in "ab":
        evidence = vocabulary(corpora[name], corpora["r"], of="types").evidence
        assert evidence is not None
        assert evidence.real_terms is not None
        terms.append(evidence.real_terms)
    assert np.corrcoef(terms[0], terms[1])[0, 1] > 0.5
