"""Folds where the question is a text: equal texts, whoever wrote them, share a fold.

`textassay.discriminator.cross_fitting` asks about distributions, of which equal texts are legitimate draws. A judge of
single texts that saw the same text in training has only to remember it: a generator with 111 different texts among 150
would be found out by its copies.
"""

import heapq
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay.inspection.grouping import connected

IntArray = npt.NDArray[np.int64]


def text_clusters(corpora: Sequence[Corpus]) -> list[IntArray]:
    """Return which texts belong together: those of equal tokens, and those of one group (`Corpus.groups`).

    For each corpus the cluster of each text, shape (N,), numbered from 0 over all corpora.
    """
    if any(corpus.vocabulary is not corpora[0].vocabulary for corpus in corpora):
        raise OptionError("the corpora have different vocabularies; make them with one corpora_from_texts")
    known: dict[bytes, int] = {}
    numbers = []
    for corpus in corpora:
        tokens, ends = corpus.tokens.tobytes(), (corpus.offsets * corpus.tokens.itemsize).tolist()
        numbers += [known.setdefault(tokens[ends[k] : ends[k + 1]], len(known)) for k in range(len(corpus))]
    clusters = np.array(numbers, dtype=np.int64)
    bounds = np.cumsum([len(corpus) for corpus in corpora])[:-1]
    if any(corpus.groups is not None for corpus in corpora):
        clusters = _joined(clusters, [corpus.groups for corpus in corpora], bounds)
    return np.split(clusters, bounds)


def stratified_folds(strata: Sequence[IntArray], n_folds: int, rng: np.random.Generator) -> list[IntArray]:
    """Return the fold, 0 to n_folds - 1, of each text: a cluster has one fold, a stratum is spread over all folds.

    For each stratum the folds, shape (N,). Its clusters that no stratum before it has are dealt out from large to
    small, in random order where equal, each to the fold where the stratum is smallest.
    """
    if n_folds < 2:
        raise OptionError(f"folds must be at least 2, got {n_folds}")
    fold_of = np.full(max((int(stratum.max()) + 1 for stratum in strata if len(stratum)), default=0), -1)
    for stratum in strata:
        names, sizes = np.unique(stratum, return_counts=True)
        known = fold_of[names] >= 0
        loads = np.bincount(fold_of[names[known]], weights=sizes[known], minlength=n_folds)
        order = rng.permutation(n_folds).tolist()
        heap = [(int(loads[fold]), place, fold) for place, fold in enumerate(order)]
        heapq.heapify(heap)
        new, new_sizes = names[~known], sizes[~known]
        shuffled = rng.permutation(len(new))
        for number in shuffled[np.argsort(-new_sizes[shuffled], kind="stable")].tolist():
            size, place, fold = heap[0]
            fold_of[new[number]] = fold
            heapq.heapreplace(heap, (size + int(new_sizes[number]), place, fold))
    return [fold_of[stratum] for stratum in strata]


def _joined(clusters: IntArray, groups: Sequence[IntArray | None], bounds: IntArray) -> IntArray:
    """Return clusters that hold all texts which texts or groups connect; a corpus without groups adds none."""
    n = int(clusters.max()) + 1
    edges = [
        np.stack([of_corpus, named])
        for of_corpus, named in zip(np.split(clusters, bounds), groups, strict=True)
        if named is not None
    ]
    texts, named = np.concatenate(edges, axis=1)
    nodes = n + np.unique(named, return_inverse=True)[1].reshape(-1)
    return connected([np.stack([texts, nodes])], int(nodes.max(initial=n - 1)) + 1)[clusters]
