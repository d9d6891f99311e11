"""A prior of the language: what its columns say, who reads them, and what dd makes of them."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import textassay as ta
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.catalog import Seen, make_family
from textassay.discriminator.family import BLEND, FamilyDiscriminator
from textassay.errors import MissingExtraError, OptionError
from textassay.metric.catalog import parse_metric
from textassay.metric.discrepancy import dd
from textassay.prior.catalog import check_prior, with_prior

ENGLISH = import_module("textassay.prior.english")
N = 600
WORDS = [f"w{number}" for number in range(N)]


@pytest.fixture
def small_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for the packages: words of equal frequency, of which each is followed by the next two only."""
    places = {word: place for place, word in enumerate(WORDS)}
    pairs = np.sort([place * N + (place + step) % N for place in range(N) for step in (1, 2)])
    counts = np.full(N, np.log(1e7))
    english = ENGLISH._English(
        places, counts - np.log(N * 1e7), counts, pairs, np.full(2 * N, np.log(5e6)), lambda word: 4.2
    )
    monkeypatch.setattr(ENGLISH, "_english", lambda: english)
    monkeypatch.setattr("textassay.prior.catalog.find_spec", lambda name: SimpleNamespace())


def column(*texts: str) -> Any:
    return with_prior(corpora_from_texts({"texts": list(texts)})["texts"], "english").columns["prior"]


@pytest.mark.usefixtures("small_counts")
def test_pairs_of_words_counted_by_hand() -> None:
    used, unused = np.log(5e6 / 1e7 * N), np.log(1e7 / N / 1e4)
    text = column("w1 w2 w4 w9 . w10 zzz w3")[0]  # two pairs that are used, one that never is; a mark, and no such word
    assert text[:3] == pytest.approx([2 * used, unused, unused**2])
    assert text[3:9].tolist() == [0, 0, 0, 0, 2, 0]
    assert text[-2:] == pytest.approx([2 * used / 8, unused / 8])


@pytest.mark.usefixtures("small_counts")
def test_a_mark_at_a_word_parts_a_pair_and_case_does_not_matter() -> None:
    assert column("w1, w2")[0, 0] == 0
    assert column("W1 w2.")[0, 0] == column("w1 w2")[0, 0] > 0


@pytest.mark.usefixtures("small_counts")
def test_a_text_is_described_without_a_look_at_others() -> None:
    texts = ["w1 w2 w2 w1 w2 .", "", "W5 w9 !", "don't, w3"]
    together = column(*texts)
    assert np.isfinite(together).all()
    for place, text in enumerate(texts):
        if text:
            assert np.array_equal(column(text)[0], together[place])


def test_an_unknown_prior_and_a_missing_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="unknown prior 'klingon'; valid: auto, english, pretrained:NAME, smollm2"):
        check_prior("klingon")
    monkeypatch.setattr("textassay.prior.catalog.find_spec", lambda name: None)
    out = tmp_path / "out"
    with pytest.raises(MissingExtraError, match=r"a prior of English needs the 'prior' extra"):
        ta.compare({"g": ["a b"] * 50}, ["b a"] * 50, prior="english", metrics=["dd"], out=out)
    assert not list(out.glob("*"))
    with pytest.raises(OptionError, match="paper has no prior"):
        ta.compare({"g": ["a b"] * 50}, ["b a"] * 50, prior="english", paper=True)


def worlds(n: int, share: float) -> tuple[Corpus, Corpus]:
    """Return real text of pairs that are used, and text in which a share of the pairs is anything."""
    rng = np.random.default_rng(0)

    def text(share: float) -> str:
        word, line = int(rng.integers(N)), []
        for _ in range(8):
            line.append(WORDS[word])
            word = int(rng.integers(N)) if rng.random() < share else (word + int(rng.integers(1, 3))) % N
        return " ".join(line)

    corpora = corpora_from_texts({"real": [text(0.3) for _ in range(n)], "generated": [text(share) for _ in range(n)]})
    return corpora["real"], corpora["generated"]


@pytest.mark.usefixtures("small_counts")
@pytest.mark.parametrize("effort", ["quick", "default"])
def test_dd_of_little_text_finds_more_with_a_prior(effort: Any) -> None:
    real, generated = worlds(150, 0.5)
    without, with_it = dd(generated, real, effort=effort), dd(generated, real, effort=effort, prior="english")
    assert "prior:english" in str(with_it.signature)
    assert "prior" not in str(without.signature)
    assert with_it.value > without.value + 0.05


@pytest.mark.slow
@pytest.mark.usefixtures("small_counts")
def test_equal_text_stays_at_0() -> None:
    values = []
    for seed in range(4):
        real, generated = worlds(100 + seed, 0.3)
        values.append(dd(generated, real, effort="default", prior="english", seed=seed).value)
    assert abs(np.mean(values)) < 0.1


@pytest.mark.usefixtures("small_counts")
def test_a_discriminator_that_knows_no_prior_is_as_before() -> None:
    real, generated = worlds(100, 0.5)
    estimates = [dd(generated, real, discriminator="naive-bayes", prior=prior) for prior in (None, "english")]
    assert estimates[0].signature == estimates[1].signature
    assert estimates[0].value == estimates[1].value


def test_with_a_prior_the_blend_is_preferred() -> None:
    family = make_family("default", Seen(prior="english"))
    assert isinstance(family, FamilyDiscriminator)
    assert family.prefer == BLEND
    assert [member.name for member in family.members] == ["stack", "boosted-trees"]


def test_results_with_and_without_a_prior_are_kept_apart() -> None:
    assert parse_metric("dd").key != parse_metric("dd", prior="english").key


@pytest.mark.usefixtures("small_counts")
def test_a_comparison_uses_it_for_dd_and_says_so() -> None:
    real, generated = worlds(120, 0.6)
    comparison = ta.compare({"g": generated}, real, metrics=["dd", "bleu"], prior="english", effort="quick")
    signatures = {row.metric[:4]: str(row.estimate.signature) for row in comparison.results if row.estimate}
    assert "prior:english" in signatures["dd"]
    assert "prior" not in signatures["bleu"]
    assert comparison.settings["prior"] == "english"
    (explanation,) = comparison.explanations
    (row,) = (row for row in comparison.results if row.metric == "dd" and row.generator == "g")
    assert row.estimate is not None
    assert explanation.value == row.estimate.value  # the learning curve ends at dd


@pytest.mark.skipif(find_spec("wordsegment") is None or find_spec("wordfreq") is None, reason="needs the extra prior")
def test_english_joins_words_that_are_used() -> None:
    english, shuffled = column("the cat sat on the mat and looked at me .", "mat on the at sat cat and me looked the .")
    assert english[0] > shuffled[0]
    assert english[1] < shuffled[1]
