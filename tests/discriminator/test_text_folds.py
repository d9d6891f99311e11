"""Folds by text: equal texts and groups stay together, every writer is spread."""

import numpy as np
import pytest

from textassay.corpus.corpus import corpora_from_texts
from textassay.discriminator.text_folds import stratified_folds, text_clusters
from textassay.errors import OptionError


def test_equal_texts_share_a_cluster_whoever_wrote_them() -> None:
    found = corpora_from_texts({"real": ["a b", "c", "a  b", ""], "one": ["c", "ab", "b a"], "two": ["", "c"]})
    real, one, two = text_clusters(list(found.values()))
    assert real[0] == real[2] != real[1]
    assert one[0] == real[1] == two[1]
    assert two[0] == real[3]
    assert len({*real.tolist(), *one.tolist(), *two.tolist()}) == 5
    assert sorted({*real.tolist(), *one.tolist(), *two.tolist()}) == list(range(5))


def test_groups_join_texts() -> None:
    """Group 7 holds a and b, text b stands in group 8 of the other side, too: all one cluster."""
    found = corpora_from_texts(
        {"real": ["a", "b", "c"], "one": ["b", "d", "e"]},
        groups={"real": np.array([7, 7, 9]), "one": np.array([8, 8, -3])},
    )
    real, one = text_clusters(list(found.values()))
    assert real[0] == real[1] == one[0] == one[1]
    assert len({real[0], real[2], one[2]}) == 3


def test_vocabularies_must_be_one() -> None:
    found = [corpora_from_texts({"text": [text]})["text"] for text in "ab"]
    with pytest.raises(OptionError, match="different vocabularies"):
        text_clusters(found)


def test_every_cluster_has_one_fold_and_every_writer_is_spread() -> None:
    rng = np.random.default_rng(0)
    strata = [np.arange(100), np.concatenate([np.arange(10), 100 + np.arange(40)]), 200 + rng.integers(0, 5, 60)]
    folds = stratified_folds(strata, 5, np.random.default_rng(1))
    fold_of: dict[int, int] = {}
    for stratum, dealt in zip(strata, folds, strict=True):
        for cluster, fold in zip(stratum.tolist(), dealt.tolist(), strict=True):
            assert fold_of.setdefault(cluster, fold) == fold
    assert np.bincount(folds[0]).tolist() == [20] * 5
    assert np.bincount(folds[1], minlength=5).tolist() == [10] * 5  # shared texts count where they are
    assert sorted(np.bincount(folds[2], minlength=5)) == sorted(np.unique(strata[2], return_counts=True)[1])


def test_the_seed_decides_and_few_texts_meet_any_fold() -> None:
    few = [np.array([0])]
    met = {int(stratified_folds(few, 5, np.random.default_rng(seed))[0][0]) for seed in range(60)}
    assert met == set(range(5))
    one, other = (stratified_folds([np.arange(50)], 5, np.random.default_rng(3))[0] for _ in range(2))
    assert np.array_equal(one, other)
    with pytest.raises(OptionError, match="folds must be at least 2, got 1"):
        stratified_folds(few, 1, np.random.default_rng(0))
    assert stratified_folds([np.arange(0)], 2, np.random.default_rng(0))[0].shape == (0,)
