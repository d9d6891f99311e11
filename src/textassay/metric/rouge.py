"""ROUGE: what generated sentences share with the nearest real texts, as words, pairs of words or in order.

Source: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004; ROUGE-L of several references as
caption-evaluation packages compute it, with beta 1.2; as a score of generators: Garbacea, Carton, Yan, Mei, "Judge the
Judges", EMNLP 2019.
Departs from them: TF-IDF vectors decide what is near (`nearest_references`); there is an interval; words are the
corpus's tokens, neither stemmed nor left out.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus import Corpus
from textassay.embedding import Encoder
from textassay.errors import OptionError
from textassay.metric.base import Computed, declare_metric
from textassay.metric.overlap import Equal, RowsOf, best_rows, overlap
from textassay.ngram import match_pairs

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_KINDS = ("1", "2", "l")


def _check(settings: Mapping[str, Any]) -> None:
    if not 0 < settings["beta"] < math.inf:
        raise OptionError(f"beta must be above 0, got {settings['beta']}")


@declare_metric(
    "rouge",
    "mean ROUGE of each generated sentence against the ten real ones nearest to it",
    better="higher",
    bounds=(0, 1),
    only_named=True,
    cost="quadratic",
    family="nearest",
    shown=("kind",),
    ranges={"references": (1, None)},
    check=_check,
)
def rouge(
    generated: Corpus,
    real: Corpus,
    *,
    kind: Literal["1", "2", "l"] = "l",
    beta: float = 1.2,
    references: int = 10,
    nearest: str | Encoder = "tf-idf",
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
    found = overlap(generated, real, _rows, beta, near=(references, nearest, equal, seed))
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
    lengths: npt.NDArray[np.int32] = _longest_common(
        hypotheses.tokens, hypotheses.offsets, references.tokens, references.offsets, pairs
    )
    return lengths


def _rows(hypotheses: Corpus, references: Corpus, pairs: IntArray, beta: float) -> RowsOf:
    """Return what makes the scores of all kinds."""
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
    best_of = best_rows(table)

    def rows_of(sentences: IntArray, columns: IntArray) -> FloatArray:
        best = best_of(sentences, columns)
        best[:, 2] = f_measure(best[:, 2], best[:, 3], beta)
        return best[:, :3]

    return rows_of


@njit(cache=True, nogil=True)
def _longest_common(tokens, offsets, their_tokens, their_offsets, pairs):  # type: ignore[no-untyped-def]
    found = np.zeros(pairs.shape, dtype=np.int32)
    longest = 0
    for reference in range(len(their_offsets) - 1):
        longest = max(longest, their_offsets[reference + 1] - their_offsets[reference])
    row = np.zeros(longest + 1, dtype=np.int32)
    for sentence in range(len(pairs)):
        for number in range(pairs.shape[1]):
            reference = pairs[sentence, number]
            if reference < 0:
                continue
            start, end = their_offsets[reference], their_offsets[reference + 1]
            row[: end - start + 1] = 0
            for position in range(offsets[sentence], offsets[sentence + 1]):
                token, before = tokens[position], np.int32(0)
                for place in range(end - start):
                    above = row[place + 1]
                    if their_tokens[start + place] == token:
                        row[place + 1] = before + 1
                    elif row[place] > above:
                        row[place + 1] = row[place]
                    before = above
            found[sentence, number] = row[end - start]
    return found
