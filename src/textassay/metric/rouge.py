"""ROUGE: what generated sentences share with the nearest real texts, as words, pairs of words or in order.

Source: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004; ROUGE-L of several references as
caption-evaluation packages compute it, with beta 1.2; as a score of generators: Garbacea, Carton, Yan, Mei, "Judge the
Judges", EMNLP 2019.
Departs from them: TF-IDF vectors decide what is near (see `overlap`); there is an interval; words are the
corpus's tokens, neither stemmed nor left out.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay.execution.threads import parallel_map
from textassay.fields import Between
from textassay.metric.base import Computed, EncoderName, Setting, declare_metric
from textassay.metric.kernels_words import longest_subsequences
from textassay.metric.overlap import Equal, References, RowsOf, best_rows, check_references, overlap
from textassay.ngram.nearest import match_pairs

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_KINDS = ("1", "2", "l")
_BLOCK = 256  # sentences whose pairs with all references of a group are held at once


def _check(settings: Mapping[str, Any]) -> None:
    if not 0 < settings["beta"] < math.inf:
        raise OptionError(f"beta must be above 0, got {settings['beta']}")
    check_references(settings)


@declare_metric(
    "rouge",
    "mean ROUGE of each generated sentence against the ten real ones nearest to it",
    better="higher",
    bounds=(0, 1),
    only_named=True,
    cost="quadratic",
    family="nearest",
    check=_check,
)
def rouge(
    generated: Corpus,
    real: Corpus,
    *,
    kind: Annotated[Literal["1", "2", "l"], Setting(is_shown=True)] = "l",
    beta: float = 1.2,
    references: Annotated[References, Between(1)] = 10,
    nearest: EncoderName = "tf-idf",
    equal: Equal = "keep",
    seed: int = 0,
) -> Computed:
    """Return the mean ROUGE of generated sentences, each against the real texts nearest to it.

    Parameters
    ----------
    generated
        The hypotheses; an empty one scores 0, as does one shorter than the n-grams that are counted.
    real
        Where references come from. The same `Corpus` on both sides: no sentence is a reference of itself.
    kind
        ``1`` or ``2``: shared words or pairs of words; ``l``: the longest common subsequence.
    beta
        How many times as much recall counts as precision in ``l``, above 0; 1 is the plain F. ``1`` and ``2`` have 1.
    references, nearest, equal, seed
        As for `bleu_nearest`.

    Returns
    -------
    Estimate
        Fraction in [0, 1], higher is better; 1 where every sentence is a reference of itself. It rises with the number
        of real texts.

    Notes
    -----
    With several references, ``l`` joins the best precision and the best recall, whichever references have them; ``1``
    and ``2`` take the reference with the best F. ``F = (1 + beta^2) P R / (R + beta^2 P)``. The interval is that of
    `bleu_nearest`, with the scores of the sentences themselves.
    """
    near = (references, nearest, equal, seed)
    found = overlap(generated, real, _rows, beta, near=near, rows_of_all=_rows_of_all)
    settings = {"beta": f"{beta:g}", "best": "sides"} if kind == "l" else {"beta": "1", "best": "f"}
    return found.mean(_KINDS.index(kind), **settings)


def f_measure(precision: FloatArray, recall: FloatArray, beta: float) -> FloatArray:
    """Return the weighted harmonic mean of precision and recall, in [0, 1]; 0 where one of them is."""
    below = recall + beta**2 * precision
    both = (1 + beta**2) * precision * recall
    return np.divide(both, below, out=np.zeros_like(both), where=both > 0)


def longest_common(hypotheses: Corpus, references: Corpus, pairs: IntArray) -> npt.NDArray[np.int32]:
    """Return the tokens of the longest common subsequence of each pair.

    `pairs`: numbers of the references of each hypothesis, shape (N, k).

    Shape (N, k), int32; 0 where there is no reference.
    """
    lengths: npt.NDArray[np.int32] = longest_subsequences(
        hypotheses.tokens, hypotheses.offsets, references.tokens, references.offsets, pairs, len(hypotheses.vocabulary)
    )
    return lengths


def _rows(hypotheses: Corpus, references: Corpus, pairs: IntArray, beta: float) -> RowsOf:
    """Return what makes the scores of all kinds."""
    best_of = best_rows(_pair_scores(hypotheses, references, pairs))

    def rows_of(sentences: IntArray, columns: IntArray) -> FloatArray:
        return _joined(best_of(sentences, columns), beta)

    return rows_of


def _rows_of_all(
    hypotheses: Corpus, references: Corpus, groups: IntArray, is_self: bool, beta: float
) -> tuple[FloatArray, FloatArray]:
    """Return the rows with every reference, and what their sum gains without each group of references."""
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]

    def measure_block(start: int) -> tuple[FloatArray, FloatArray]:
        block = np.arange(start, min(start + _BLOCK, len(hypotheses)))
        sentences = hypotheses.take(block)
        best = np.empty((len(members), len(block), 4))  # by the references of each group
        for group, places in enumerate(members):
            pairs = np.tile(places, (len(block), 1))
            if is_self:
                pairs[pairs == block[:, None]] = -1
            best[group] = _pair_scores(sentences, references, pairs).max(axis=1)
        rows, changes = _joined(best.max(axis=0), beta), np.empty((len(members), 3))
        for group in range(len(members)):
            without = _joined(np.delete(best, group, axis=0).max(axis=0, initial=0.0), beta)
            counted = groups[block] != group if is_self else slice(None)
            changes[group] = (without - rows)[counted].sum(axis=0)
        return rows, changes

    blocks = parallel_map(measure_block, range(0, len(hypotheses), _BLOCK))
    return np.concatenate([rows for rows, _ in blocks]), np.sum([changes for _, changes in blocks], axis=0)


def _joined(best: FloatArray, beta: float) -> FloatArray:
    """Return the scores of the three kinds from the best of each column of `_pair_scores`, shape (n, 3)."""
    return np.column_stack([best[:, :2], f_measure(best[:, 2], best[:, 3], beta)])


def _pair_scores(hypotheses: Corpus, references: Corpus, pairs: IntArray) -> FloatArray:
    """Return F of words and of pairs of words, then precision and recall of the longest subsequence, (N, k, 4)."""
    lengths = hypotheses.lengths[:, None]
    their_lengths = references.lengths[pairs]
    matches = match_pairs(hypotheses, references, pairs, max_order=2)
    common = longest_common(hypotheses, references, pairs)
    table = np.empty((*pairs.shape, 4))
    for order in range(2):
        precision, recall = (matches[..., order] / np.maximum(side - order, 1) for side in (lengths, their_lengths))
        table[..., order] = f_measure(precision, recall, 1.0)
    table[..., 2] = common / np.maximum(lengths, 1)
    table[..., 3] = common / np.maximum(their_lengths, 1)
    return table
