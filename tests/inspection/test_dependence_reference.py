"""Nearest neighbours and what they say of dependence, against every text compared with every other."""

import numpy as np
import pytest

from dependence_reference import cosines_of, reference, token_lists
from layouts import INDEPENDENT, LAYOUTS, layout
from textassay.corpus.corpus import corpora_from_texts
from textassay.inspection.dependence import examine
from textassay.inspection.grouping import Vectors

N = 80
SHUFFLED = [name for name in LAYOUTS if name.endswith(", shuffled")]


@pytest.mark.parametrize("name", [*SHUFFLED, *INDEPENDENT])
def test_neighbours_are_those_of_brute_force(name: str) -> None:
    pair = layout(name, N, 0)
    corpora = corpora_from_texts(
        {"real": pair.real, "generated": pair.generated},
        tokenizer="chars" if name == "without spaces" else "whitespace",
    )
    generated, real = corpora["generated"], corpora["real"]
    cosines = cosines_of(token_lists(generated) + token_lists(real))
    nearest = cosines.max(axis=1)
    vectors = Vectors.of([generated, real])
    places, near = vectors.nearest(3)
    assert near[:, 0] == pytest.approx(np.maximum(nearest, 0), abs=2e-5)
    assert near == pytest.approx(np.maximum(-np.sort(-cosines, axis=1)[:, :3], 0), abs=5e-5)
    rows = np.flatnonzero(places[:, 0] >= 0)
    assert cosines[rows, places[rows, 0]] == pytest.approx(nearest[rows], abs=2e-5)
    n_tied = int(np.count_nonzero(np.sum(cosines > nearest[:, None] - 5e-5, axis=1) > 1))
    plain, found = reference(generated, real), examine(generated, real)
    pairs = np.flatnonzero((places[places[:, 0], 0] == np.arange(len(vectors))) & (places[:, 0] >= 0))
    n_crossing = np.count_nonzero((pairs < len(generated)) & (places[pairs, 0] >= len(generated)))
    assert abs(2 * plain.test.n_pairs - len(pairs)) <= 2 * n_tied
    assert abs(plain.test.n_crossing - n_crossing) <= n_tied
    if len(generated) == len(real):
        assert found.test.overall == pytest.approx(2 * n_crossing / len(pairs))
    if found.is_found and n_tied == 0:
        assert found.groups is not None
        groups = np.concatenate(found.groups).tolist()
        together = set(zip(groups, plain.groups.tolist(), strict=True))
        assert len(together) == max(len(set(groups)), plain.groups.max() + 1)  # the same, fewer or joined


def test_some_groups_are_compared() -> None:
    """Guard the last lines above: without ties, dependence is found in some layouts."""
    pair = layout("beginnings, shuffled", N, 0)
    corpora = corpora_from_texts({"real": pair.real, "generated": pair.generated}, tokenizer="whitespace")
    assert examine(corpora["generated"], corpora["real"]).is_found
