"""Forced beginnings of translations: whose they are, and that they stand in what comes out."""

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay.errors import InputError, OptionError
from textassay_lab.generator.parallel import PREFIX_MODES, forced_prefixes

REFERENCES = Corpus.from_texts(["a b c d", "a b c e f", "b c d", "d a", "c c c c", "b c d a", ""])


def sentences(corpus: Corpus) -> list[list[str]]:
    return [corpus.sentence(number) for number in range(len(corpus))]


@pytest.mark.feature("EB-31")
def test_prefixes_are_what_their_names_say() -> None:
    assert sentences(forced_prefixes("normal", REFERENCES)) == [[]] * 7
    own = [words[:3] for words in sentences(REFERENCES)]
    assert sentences(forced_prefixes("data3", REFERENCES)) == own
    whole = [words for words in own if len(words) == 3]
    for seed in range(20):
        for words, mine in zip(sentences(forced_prefixes("unrel3", REFERENCES, seed=seed)), own, strict=True):
            assert words in whole
            assert words != mine
        drawn = forced_prefixes("rand3", REFERENCES, seed=seed)
        assert (drawn.lengths == 3).all()
        assert (drawn.tokens > UNK).all()


def test_unrelated_references_are_equally_likely() -> None:
    firsts = [tuple(forced_prefixes("unrel3", REFERENCES, seed=seed).sentence(0)) for seed in range(900)]
    found = {words: firsts.count(words) / 900 for words in set(firsts)}
    assert found == pytest.approx({("b", "c", "d"): 2 / 3, ("c", "c", "c"): 1 / 3}, abs=0.06)


def test_random_words_are_uniform_and_seeded() -> None:
    many = Corpus.from_texts(["a b c d e f g h"] * 4000)
    tokens = forced_prefixes("rand3", many, seed=1).tokens
    counts = np.bincount(tokens, minlength=12)[4:]
    assert ((counts - 1500) ** 2 / 1500).sum() < 24.3  # chi-square, 7 degrees of freedom, p = 0.001
    np.testing.assert_array_equal(tokens, forced_prefixes("rand3", many, seed=1).tokens)
    assert (tokens != forced_prefixes("rand3", many, seed=2).tokens).any()


def test_what_is_refused() -> None:
    with pytest.raises(OptionError, match="unknown prefix mode 'data4': did you mean data3"):
        forced_prefixes("data4", REFERENCES)
    with pytest.raises(OptionError, match="must be at least 1, got 0"):
        forced_prefixes("data3", REFERENCES, length=0)
    alike = Corpus.from_texts(["a b c d", "a b c"])
    with pytest.raises(InputError, match="sentence 1 has no unrelated reference of 3 tokens"):
        forced_prefixes("unrel3", alike)
    assert PREFIX_MODES == ("normal", "data3", "unrel3", "rand3")
