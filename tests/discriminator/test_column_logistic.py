"""A regression over the columns of a language model: what it finds and refuses, and that no single text decides."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.catalog import Seen, make_family
from textassay.discriminator.column_logistic import ColumnLogistic, VectorLogistic
from textassay.discriminator.cross_fitting import cross_fit
from textassay.discriminator.family import FamilyDiscriminator
from textassay.embedding.encoder import VECTORS
from textassay.errors import OptionError, UnavailableError
from textassay.prior.catalog import MODEL_COLUMN


def side(n: int, shift: float, seed: int) -> Corpus:
    """Return texts of one word with three columns, of which the first is shifted."""
    rows = np.random.default_rng(seed).normal((shift, 0.0, 0.0), 1.0, (n, 3))
    corpus = corpora_from_texts({"texts": ["word"] * n})["texts"]
    return replace(corpus, columns={MODEL_COLUMN: rows})


def test_it_finds_what_there_is_to_find() -> None:
    """Two normal distributions a distance of 1 apart: the total variation is 2 Phi(1/2) - 1 = .383."""
    real, generated = side(4_000, 0.5, 0), side(4_000, -0.5, 1)
    generated = replace(generated, vocabulary=real.vocabulary)
    fit = cross_fit(ColumnLogistic(), real, generated, folds=5, seed=0)
    found = sum(float(np.mean(side)) for side in fit.correct()) - 1
    assert found == pytest.approx(2 * norm.cdf(0.5) - 1, abs=0.03)


def test_one_text_far_out_changes_little() -> None:
    train, valid = (side(300, 0.5, 0), side(300, -0.5, 1)), (side(100, 0.5, 2), side(100, -0.5, 3))
    rows = train[1].columns[MODEL_COLUMN].copy()
    rows[0] = 1e6
    spoiled = replace(train[1], columns={MODEL_COLUMN: rows})
    plain, other = (ColumnLogistic().fit(pair, valid).prob_real(valid[0]) for pair in (train, (train[0], spoiled)))
    assert np.corrcoef(plain, other)[0, 1] > 0.9
    assert ColumnLogistic().fit((train[0], spoiled), valid).valid_scores[0].shape == (100,)


def test_vectors_are_read_in_the_same_way() -> None:
    train, valid = (side(300, 0.5, 0), side(300, -0.5, 1)), (side(100, 0.5, 2), side(100, -0.5, 3))
    renamed = [replace(each, columns={VECTORS: each.columns[MODEL_COLUMN]}) for each in (*train, *valid)]
    of_vectors = VectorLogistic(grid=(0.3,)).fit((renamed[0], renamed[1]), (renamed[2], renamed[3]))
    of_model = ColumnLogistic(grid=(0.3,)).fit(train, valid)
    assert np.array_equal(of_vectors.prob_real(renamed[2]), of_model.prob_real(valid[0]))
    with pytest.raises(UnavailableError, match="vectors needs vectors of the texts: give --encoder minilm"):
        of_vectors.prob_real(valid[0])


def test_it_needs_the_columns_and_strengths() -> None:
    bare = corpora_from_texts({"texts": ["a b"] * 20})["texts"]
    with pytest.raises(UnavailableError, match="give --prior smollm2"):
        ColumnLogistic().fit((bare, bare), (bare, bare))
    with pytest.raises(OptionError, match="must be fitted"):
        ColumnLogistic().prob_real(bare)
    with pytest.raises(OptionError, match="grid must hold numbers above 0"):
        ColumnLogistic(grid=(0.0,))


@pytest.mark.parametrize("kind", ["sentence", "raw sentence", "document"])
def test_it_joins_the_family_of_a_language_model_alone(kind: str) -> None:
    for prior, there in ((None, False), ("english", False), ("smollm2", True), ("pretrained:gpt2", True)):
        family = make_family("default", Seen(kind, prior))  # type: ignore[arg-type]
        assert isinstance(family, FamilyDiscriminator)
        assert ("language-model" in [member.name for member in family.members]) == there
        assert (family.prefer == "blend") == (prior is not None or kind != "sentence")
