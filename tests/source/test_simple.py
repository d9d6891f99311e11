"""The word shuffler and the copier draw what they say, by their seeds, and refuse what they cannot do."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError, InputError, OptionError, TooFewSentencesError
from textassay.ngram.language_model import Generator
from textassay.source.simple import Copier, WordShuffler


def _train(texts: list[str]) -> Corpus:
    return corpora_from_texts({"train": texts})["train"]


TRAIN = _train([f"w{number} x{number} y z" for number in range(200)] + ["", "one"])


def test_shuffled_sentences_keep_their_words() -> None:
    sample = WordShuffler().fit(TRAIN).sample(500, seed=3)
    bags = {tuple(sorted(text.split())) for text in TRAIN.texts}
    assert all(tuple(sorted(text.split())) in bags for text in sample.texts)
    assert set(sample.texts) - set(TRAIN.texts)
    assert sample.vocabulary is TRAIN.vocabulary
    assert [" ".join(sample.sentence(number)) for number in range(500)] == list(sample.texts)


def test_every_order_of_words_is_as_likely() -> None:
    counts = Counter(WordShuffler().fit(_train(["a b c"])).sample(6000, seed=0).texts)
    assert len(counts) == 6
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_the_copier_draws_its_sentences_evenly() -> None:
    sample = Copier(20).fit(TRAIN).sample(6000, seed=0)
    counts = Counter(sample.texts)
    assert len(counts) == 20
    assert set(counts) <= set(TRAIN.texts)
    assert chisquare(list(counts.values())).pvalue > 1e-3
    assert set(Copier(20, seed=1).fit(TRAIN).sample(6000, seed=0).texts) != set(counts)


@pytest.mark.parametrize("generator", [WordShuffler(), Copier(50)])
def test_seeds_do_as_promised(generator: Generator) -> None:
    generator.fit(TRAIN)
    sample = generator.sample(300, seed=7)
    assert sample.texts == generator.sample(300, seed=7).texts
    assert sample.texts[:20] == generator.sample(20, seed=7).texts
    assert sample.texts != generator.sample(300, seed=8).texts
    np.testing.assert_array_equal(sample.lengths, [len(text.split()) for text in sample.texts])


@pytest.mark.parametrize("generator", [WordShuffler(), Copier(2)])
def test_refusals(generator: Generator) -> None:
    with pytest.raises(InputError, match="is not fitted: call fit first"):
        type(generator)().sample(1, seed=0)
    with pytest.raises(EmptyCorpusError, match="the training corpus has no sentence"):
        generator.fit(_train([]))
    generator.fit(TRAIN)
    with pytest.raises(OptionError, match="n must be at least 1, got 0"):
        generator.sample(0, seed=0)
    with pytest.raises(OptionError, match=r"supports temperature 1 only, got 0\.5"):
        generator.sample(1, seed=0, temperature=0.5)
    with pytest.raises(OptionError, match="takes no prefix"):
        generator.sample(1, seed=0, prefix=TRAIN)
    with pytest.raises(OptionError, match="takes no context"):
        generator.sample(1, seed=0, context=TRAIN)
    with pytest.raises(OptionError, match="seed must be at least 0, got -1"):
        generator.sample(1, seed=-1)


def test_the_copier_needs_enough_sentences() -> None:
    with pytest.raises(
        TooFewSentencesError, match=r"^copier\(n_sentences=3\) needs at least 3 training sentences, got 2$"
    ):
        Copier(3).fit(_train(["a", "b"]))
    with pytest.raises(OptionError, match="n_sentences must be at least 1, got 0"):
        Copier(0)
