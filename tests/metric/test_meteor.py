"""METEOR by hand and against NLTK, its synonyms by a small made-up WordNet; Porter's stemmer against NLTK's."""

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import meteor_score, single_meteor_score

from nearest import nearest_references
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import MissingExtraError, OptionError, UnavailableError
from textassay.metric.meteor import meteor, meteor_pairs, stem

WORDS = ["run", "runs", "running", "the", "The", "cat", "cats", "dog"]
STEMS = ["run", "the", "The", "cat", "tomcat", "dog", "hound", "jog"]  # NLTK looks up the synonyms of stems


def _sentences(words: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.lists(st.sampled_from(words), max_size=9).map(" ".join), min_size=1, max_size=5)


PORTER = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
ENDINGS = (
    *("ational", "tional", "enci", "anci", "izer", "abli", "alli", "entli", "eli", "ousli", "ization", "ation", "ator"),
    *("alism", "iveness", "fulness", "ousness", "aliti", "iviti", "biliti", "icate", "ative", "alize", "iciti", "ical"),
    *("ful", "ness", "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "sion"),
    *("tion", "ou", "ism", "ate", "iti", "ous", "ive", "ize", "ed", "ing", "eed", "ies", "sses", "s", "y", "e", "ll"),
)


class _Lemma:
    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name


class _Synset:
    def __init__(self, names: list[str]) -> None:
        self._names = names

    def lemmas(self) -> list[_Lemma]:
        return [_Lemma(name) for name in self._names]


class _WordNet:
    """Two synsets, one of them with words joined by an underscore, as WordNet has them."""

    def __init__(self, *synsets: list[str]) -> None:
        self._synsets = synsets

    def synsets(self, word: str) -> list[_Synset]:
        return [_Synset(names) for names in self._synsets if word in names]


NO_SYNONYMS = _WordNet()
SYNONYMS = _WordNet(["cat", "tomcat", "big_cat"], ["run", "jog"], ["dog", "hound", "cat"])


def _pair(generated: list[str], real: list[str]) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"generated": generated, "real": real})
    return corpora["generated"], corpora["real"]


@pytest.mark.feature("JJ-31")
def test_hand_worked_sentences() -> None:
    # equal: one run of 3 words, 1 - 0.5 / 27
    assert meteor(*_pair(["the cat sat"], ["the cat sat"])).value == pytest.approx(1 - 0.5 / 27)
    # P = 2/2, R = 2/4, in one run: 10 P R / (R + 9 P) x (1 - 0.5 / 8)
    assert meteor(*_pair(["the cat"], ["the cat sat here"])).value == pytest.approx(10 * 0.5 / 9.5 * (1 - 0.5 / 8))
    # two runs of two words
    assert meteor(*_pair(["cat the"], ["the cat"])).value == pytest.approx(0.5)
    # stems match where words do not, and case does not matter
    assert meteor(*_pair(["Running cats"], ["runs cat"])).value == pytest.approx(1 - 0.5 / 8)
    assert meteor(*_pair(["dog", ""], ["cat"])).value == 0
    # the best reference counts
    assert meteor(*_pair(["the cat sat"], ["the cat", "the cat sat"])).value == pytest.approx(1 - 0.5 / 27)


@pytest.mark.feature("JJ-31")
@given(generated=_sentences(WORDS), real=_sentences(WORDS))
def test_pairs_are_those_of_nltk(generated: list[str], real: list[str]) -> None:
    _check_pairs(generated, real, NO_SYNONYMS)


@pytest.mark.feature("JJ-31")
@given(generated=_sentences(STEMS), real=_sentences(STEMS))
def test_pairs_with_synonyms_are_those_of_nltk(generated: list[str], real: list[str]) -> None:
    _check_pairs(generated, real, SYNONYMS)


@pytest.mark.feature("JJ-31")
def test_synonyms_are_those_of_words_not_of_stems() -> None:
    hypotheses, references = _pair(["a running cat", "cats"], ["feline", "jogging"])
    wordnet = _WordNet(["cat", "feline"], ["cats", "musical"], ["running", "jogging"])
    scores = meteor_pairs(hypotheses, references, np.array([[0, 1], [0, 1]]), wordnet=wordnet)
    assert (scores > 0).tolist() == [[True, True], [False, False]]


def _check_pairs(generated: list[str], real: list[str], wordnet: _WordNet) -> None:
    hypotheses, references = _pair(generated, real)
    pairs = np.tile(np.arange(len(real)), (len(generated), 1))
    expected = [
        [single_meteor_score(other.split(), text.split(), stemmer=PORTER, wordnet=wordnet) for other in real]
        for text in generated
    ]
    scores = meteor_pairs(hypotheses, references, pairs, wordnet=wordnet)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
    assert (meteor_pairs(hypotheses, references, pairs - len(real)) == 0).all()


@pytest.mark.feature("JJ-31")
def test_news_scores_are_those_of_nltk(data_dir: Path) -> None:
    lines = (data_dir / "emnlp_news" / "test.txt").read_text(encoding="utf-8").splitlines()
    generated, real = _pair(lines[:40], lines[100:600])
    estimate = meteor(generated, real)
    expected = [
        meteor_score([lines[100 + place].split() for place in row], text.split(), stemmer=PORTER, wordnet=NO_SYNONYMS)
        for text, row in zip(generated.texts, nearest_references(generated, real, k=10), strict=True)
    ]
    assert estimate.value == pytest.approx(np.mean(expected), abs=1e-12)
    assert estimate.evidence is not None
    assert estimate.evidence.generated_scores is not None
    np.testing.assert_allclose(estimate.evidence.generated_scores, expected, rtol=0, atol=1e-12)
    assert "match:exact+stem|" in str(estimate.signature)


@pytest.mark.feature("JJ-31")
def test_synonyms_need_their_data(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost:
        def ensure_loaded(self) -> None:
            raise LookupError("not here")

    generated, real = _pair(["the cat sat"], ["the feline sat"])
    monkeypatch.setitem(sys.modules, "nltk.corpus", SimpleNamespace(wordnet=Lost()))
    with pytest.raises(UnavailableError, match=r"nltk\.downloader wordnet"):
        meteor(generated, real, synonyms="wordnet")
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    with pytest.raises(MissingExtraError, match="wordnet"):
        meteor(generated, real, synonyms="wordnet")
    with pytest.raises(OptionError, match=r"unknown value of meteor\(synonyms\) 'yes'"):
        meteor(generated, real, synonyms="yes")


@pytest.mark.feature("JJ-31")
def test_synonyms_show_in_name_and_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reader(_WordNet):
        def get_version(self) -> str:
            return "3.0"

    monkeypatch.setattr(import_module("textassay.metric.meteor"), "_wordnet", lambda: Reader(["cat", "feline"]))
    generated, real = _pair(["the cat sat", "a dog"], ["the feline sat", "a fish"])
    with_synonyms = meteor(generated, real, synonyms="wordnet")
    assert with_synonyms.value > meteor(generated, real).value
    assert with_synonyms.metric == "meteor(synonyms=wordnet)"
    assert "match:exact+stem+wordnet3.0|" in str(with_synonyms.signature)


@given(
    st.text("aeiouybcdlstwxz'", max_size=5),
    st.lists(st.sampled_from(ENDINGS), max_size=2).map("".join),
)
def test_stems_are_those_of_nltk(start: str, ending: str) -> None:
    assert stem(start + ending) == PORTER.stem(start + ending)


def test_words_of_one_or_two_letters_have_no_ending() -> None:
    assert [stem(word) for word in ("is", "As", "us", "by", "a", "ties", "apology")] == [
        *("is", "as", "us", "by", "a", "ti", "apolog"),
    ]


def test_stems_of_news_words_are_those_of_nltk(data_dir: Path) -> None:
    words = set((data_dir / "emnlp_news" / "valid.txt").read_text(encoding="utf-8").split())
    assert len(words) > 5000
    assert {word: stem(word) for word in words} == {word: PORTER.stem(word) for word in words}
