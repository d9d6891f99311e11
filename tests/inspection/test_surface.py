"""What a sentence shows, and how much of a difference luck does not explain."""

import numpy as np
import pytest
from scipy.stats import norm

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import Vocabulary
from textassay.inspection.surface import Trait, gap, marker_traits, severity_of, surfaces, token_traits
from textassay.resampling.proportions import newcombe_interval

TRAITS = {
    "cat": Trait.LETTER,
    "Cat": Trait.LETTER | Trait.UPPER | Trait.INITIAL_UPPER,
    "cAt": Trait.LETTER | Trait.UPPER,
    "\u00c9t\u00e9": Trait.LETTER | Trait.UPPER | Trait.INITIAL_UPPER,
    ".": Trait.STOP,
    "?!": Trait.STOP,
    ".''": Trait.STOP,
    "end.": Trait.LETTER | Trait.STOP_GLUED,
    'end."': Trait.LETTER | Trait.STOP_GLUED | Trait.QUOTE_GLUED,
    ",": Trait.COMMA,
    "then,": Trait.LETTER | Trait.COMMA_GLUED,
    '"': Trait.QUOTE | Trait.CLOSER,
    "``": Trait.QUOTE | Trait.CLOSER | Trait.TREEBANK,
    "(so": Trait.LETTER | Trait.QUOTE_GLUED,
    "'": Trait.APOSTROPHE | Trait.CLOSER,
    "n't": Trait.LETTER | Trait.APOSTROPHE,
    "'s": Trait.LETTER | Trait.APOSTROPHE,
    "don't": Trait.LETTER | Trait.APOSTROPHE_GLUED,
    "dogs'": Trait.LETTER,
    "-": Trait.HYPHEN,
    "a-b": Trait.LETTER | Trait.HYPHEN_GLUED,
    "1985": Trait.NUMBER | Trait.DIGIT,
    "1,600": Trait.NUMBER_GLUED | Trait.DIGIT,
    "00": Trait.NUMBER | Trait.WEAK_MASK,
    "#.##": Trait.WEAK_MASK,
    "<unk>": Trait.UNKNOWN,
    "[UNK].": Trait.UNKNOWN,
    "__": Trait.UNKNOWN,
    "__init__": Trait.LETTER,
    "chunky": Trait.LETTER,
    "_num_": Trait.MASK,
    "</s>": Trait.SPECIAL,
    "me.<|endoftext|>": Trait.SPECIAL,
    "&apos;s": Trait.LETTER | Trait.ENTITY,
    "@-@": Trait.JOINER | Trait.HYPHEN,
    "##ing": Trait.LETTER | Trait.SUBWORD,
    "\u0120the": Trait.LETTER | Trait.UPPER | Trait.INITIAL_UPPER | Trait.SUBWORD,
    "\u00e2\u20ac\u2122": Trait.LETTER | Trait.MOJIBAKE,
    "-LRB-": Trait.LETTER | Trait.UPPER | Trait.INITIAL_UPPER | Trait.TREEBANK,
    "a\nb": Trait.LETTER,
    "": Trait(0),
}


def test_each_token_shows_its_traits() -> None:
    vocabulary = Vocabulary(TRAITS)
    found = dict(zip(vocabulary.tokens, token_traits(vocabulary).tolist(), strict=True))
    assert {token: Trait(found[token]) for token in TRAITS} == TRAITS


def test_markers_of_a_whole_sentence() -> None:
    assert marker_traits("a plain one , bounded by chunks .") == 0
    assert marker_traits("an <unk> of _num_ &amp; more </s>") == int(
        Trait.UNKNOWN | Trait.MASK | Trait.ENTITY | Trait.SPECIAL
    )


def test_sentences_show_what_their_tokens_show() -> None:
    texts = ["The end .", "", 'so , " he said . "', "1 , 600 dogs", "1", ", 600", "UPPER CASE text"]
    side = surfaces([Corpus.from_texts(texts)])[0]
    assert side.filled.tolist() == [True, False, True, True, True, True, True]
    assert side.shows(Trait.UPPER).tolist() == [True, False, False, False, False, False, True]
    assert side.shows(Trait.NUMBER_SPLIT).tolist() == [False, False, False, True, False, False, False]
    assert ((side.last & int(Trait.STOP)) != 0).tolist() == [True, False, True, False, False, False, False]
    assert ((side.first & int(Trait.INITIAL_UPPER)) != 0).tolist() == [True, False, False, False, False, False, True]
    assert side.mostly_upper.tolist() == [False, False, False, False, False, False, True]


def test_a_tokeniser_of_characters_is_read_in_words() -> None:
    corpora = corpora_from_texts({"a": ["The end."], "b": ["an end ."]}, tokenizer="chars", lowercase=True)
    first, second = surfaces(list(corpora.values()))
    assert first.words.vocabulary is second.words.vocabulary
    assert first.shows(Trait.STOP_GLUED).tolist() == [True]
    assert second.shows(Trait.STOP).tolist() == [True]
    assert not first.shows(Trait.UPPER).any()
    assert first.corpus.lengths.tolist() == [8]


@pytest.mark.parametrize(("a", "n_a", "b", "n_b"), [(60, 100, 5, 80), (990, 1000, 0, 1000), (30, 3000, 200, 2900)])
def test_the_gap_is_the_near_limit_of_newcombes_interval(a: int, n_a: int, b: int, n_b: int) -> None:
    interval = newcombe_interval(a, n_a, b, n_b, level=1 - 2 * norm.sf(4.0))
    near = interval.low if a / n_a > b / n_b else interval.high
    assert gap(a, n_a, b, n_b) == pytest.approx(near, abs=1e-9)
    assert gap(b, n_b, a, n_a) == -gap(a, n_a, b, n_b)


def test_luck_leaves_no_gap() -> None:
    rng = np.random.default_rng(0)
    for share in (0.0, 0.001, 0.02, 0.5, 0.999, 1.0):
        a, b = rng.binomial(1000, share, size=2000), rng.binomial(3000, share, size=2000)
        gaps = [gap(int(x), 1000, int(y), 3000) for x, y in zip(a, b, strict=True)]
        assert np.count_nonzero(gaps) <= 2
    assert gap(1, 1, 0, 1) == 0
    assert gap(0, 0, 5, 10) == 0


def test_severity_looks_at_the_size_alone() -> None:
    assert severity_of(0.01, note=0.02, warning=0.1) is None
    assert severity_of(-0.05, note=0.02, warning=0.1) == "note"
    assert severity_of(-0.1, note=0.02, warning=0.1) == "warning"
