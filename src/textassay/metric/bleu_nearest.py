"""BLEU against the nearest real texts, or the nearest training texts: one number for all generated sentences together.

Source: Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation", ACL 2002, with the reference
length that is closest, as caption-evaluation packages compute it; as a score of generators, with the ten nearest texts
as references, and as a sign of memorisation, with those of the training text: Garbacea, Carton, Yan, Mei, "Judge the
Judges", EMNLP 2019.
Departs from them: TF-IDF vectors decide what is near (see `overlap`); there is an interval; sentence scores,
which are evidence and no part of the value, are smoothed as in `bleu`.
"""

import math
from dataclasses import replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.fields import Between
from textassay.metric.base import Computed, Counted, EncoderName, TrainText, declare_metric
from textassay.metric.bleu import MAX_ORDER, Order, closest_lengths
from textassay.metric.kernels_words import count_rows
from textassay.metric.overlap import Equal, Overlap, References, RowsOf, check_references, overlap
from textassay.ngram.index import NgramIndex
from textassay.ngram.matches import match_each_other, match_references

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_EPSILON = 0.1  # stands for a precision's zero numerator in sentence scores
_LENGTH, _CLOSEST = -2, -1  # columns of a row; before them matches and n-grams of each order


@declare_metric(
    "bleu-nearest",
    "BLEU of the generated text, each sentence against the ten real ones nearest to it",
    better="higher",
    bounds=(0, 1),
    only_named=True,
    cost="quadratic",
    family="nearest",
    check=check_references,
)
def bleu_nearest(
    generated: Corpus,
    real: Corpus,
    *,
    order: Order = 4,
    references: Annotated[References, Between(1)] = 10,
    nearest: EncoderName = "tf-idf",
    equal: Equal = "keep",
    seed: int = 0,
) -> Computed:
    """Return the BLEU of all generated sentences together, each against the real texts nearest to it.

    Parameters
    ----------
    generated
        The hypotheses. One shorter than `order` adds no n-gram of that order.
    real
        Where references come from. The same `Corpus` on both sides: no sentence is a reference of itself.
    order
        Longest n-grams, in tokens, from 1 to 5; all orders up to it weigh the same.
    references
        Real texts for each sentence, at least 1; all where there are fewer. ``all``: every real text, in time linear in
        the tokens; `nearest` then says nothing, and `equal` must be ``keep``.
    nearest
        What nearness is measured by: ``tf-idf``, or an encoder's name, a model's folder, or an `Encoder`.
    equal
        Whether real texts that are equal to a sentence may be its references, ``keep`` or ``drop``.
    seed
        Decides which references form a jackknife group.

    Returns
    -------
    Estimate
        Fraction in [0, 1], higher is better; 0, without an interval, where no n-gram of some order matches or all
        sentences are empty; NaN, with a warning, where there are tokens, but no sentence has `order`. It rises with the
        number of real texts. Details: `length_ratio`, generated tokens over those of the closest references, below 1
        where there is a brevity penalty; `n_matches`, clipped matches of `order` tokens: with a handful of them the
        interval is too narrow.

    Notes
    -----
    ``BP exp(mean over n of log(C_n / G_n))`` with C_n the clipped matches and G_n the n-grams of all sentences, and
    BP = ``min(1, exp(1 - R / L))`` with L all tokens and R the sum of the reference lengths closest to each sentence's
    (of two, the shorter). The interval joins the spread of the sentences, by the value's derivatives, and that of the
    references, by leaving out each of 50 groups of them, where the next nearest ones take the place of those left out.
    """
    found = overlap(generated, real, _rows, near=(references, nearest, equal, seed), rows_of_all=_rows_of_all)
    return _of_order(found, order)


@declare_metric(
    "bleu-train",
    "BLEU of the generated text, each sentence against the ten training sentences nearest to it",
    bounds=(0, 1),
    looks_at_real=False,
    size_sensitive=False,
    needs=("train",),
    only_named=True,
    cost="quadratic",
)
def bleu_train(
    generated: Corpus,
    real: Corpus,
    *,
    train: TrainText = None,
    order: Order = 4,
    references: Counted = 10,
    nearest: EncoderName = "tf-idf",
    equal: Equal = "keep",
) -> Computed:
    """Return `bleu_nearest` with references from the text the generator was trained on.

    Parameters and notes as for `bleu_nearest`. `real` is not looked at; what real text scores against the same training
    text is what this value is compared to: closer to that is better, more says that text was learnt by heart. The
    interval takes the training text as given. Without it, `UnavailableError`.
    """
    assert train is not None  # the declaration needs it
    found = overlap(generated, train, _rows, near=(references, nearest, equal, None))
    return _of_order(found, order, train=train.fingerprint[:8])


def _of_order(found: Overlap, order: int, **settings: object) -> Computed:
    rows = found.rows
    sums = rows.sum(axis=0)
    computed = found.computed(
        lambda sums, _: _value(sums, order),
        lambda value: _terms(rows, order, value),
        _scores(rows, order),
        **{"reflen": "closest", "smooth": "none", **settings},
    )
    return replace(
        computed,
        undefined=f"no sentence has {order} tokens" if math.isnan(computed.value) else None,
        details={
            "length_ratio": float(sums[_LENGTH] / sums[_CLOSEST]) if sums[_CLOSEST] else math.nan,
            "n_matches": int(sums[order - 1]),
        },
    )


def _value(sums: FloatArray, order: int) -> float:
    """Return the BLEU of a sum of rows; NaN where there are tokens, but no sentence has `order`."""
    matches, ngrams = sums[:order], sums[MAX_ORDER : MAX_ORDER + order]
    if sums[_LENGTH] == 0:
        return 0.0  # an empty sentence scores 0, as in the other metrics of overlap
    if (ngrams == 0).any():
        return math.nan
    if (matches == 0).any():
        return 0.0
    log_brevity = min(0.0, 1.0 - float(sums[_CLOSEST] / sums[_LENGTH]))
    return math.exp(log_brevity + float(np.mean(np.log(matches) - np.log(ngrams))))


def _terms(rows: FloatArray, order: int, value: float) -> FloatArray:
    """Return the derivatives of the value by the weight of each sentence, moved to have mean `value`."""
    if not value > 0:
        return np.full(len(rows), math.nan)
    sums = rows.sum(axis=0)
    shares = rows / np.where(sums > 0, sums, 1)
    pull = (shares[:, :order] - shares[:, MAX_ORDER : MAX_ORDER + order]).mean(axis=1)
    if sums[_LENGTH] < sums[_CLOSEST]:
        pull += sums[_CLOSEST] / sums[_LENGTH] * (shares[:, _LENGTH] - shares[:, _CLOSEST])
    return np.asarray(value * (1 + len(rows) * pull), dtype=np.float64)


def _scores(rows: FloatArray, order: int) -> FloatArray:
    """Return one score a sentence, smoothed."""
    matches, ngrams = rows[:, :order], rows[:, MAX_ORDER : MAX_ORDER + order]
    log_precisions = np.log(np.where(matches > 0, matches, _EPSILON)) - np.log(np.maximum(ngrams, 1))
    log_brevity = np.minimum(0.0, 1.0 - rows[:, _CLOSEST] / np.maximum(rows[:, _LENGTH], 1))
    return np.where(matches[:, 0] > 0, np.exp(log_brevity + log_precisions.mean(axis=1)), 0.0)


def _rows(hypotheses: Corpus, references: Corpus, pairs: IntArray) -> RowsOf:
    index = NgramIndex.build([hypotheses], max_order=MAX_ORDER)
    ids, their_ids = index.all_ids(hypotheses), index.all_ids(references)

    def rows_of(sentences: IntArray, columns: IntArray) -> FloatArray:
        chosen = np.where(columns >= 0, pairs[sentences[:, None], columns], -1)
        rows: FloatArray = count_rows(
            sentences, chosen, ids, hypotheses.offsets, their_ids, references.offsets, max(index.sizes)
        )
        return rows

    return rows_of


def _rows_of_all(
    hypotheses: Corpus, references: Corpus, groups: IntArray, is_self: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the rows with every reference, and what their sum gains without each group of references."""
    if is_self:
        matches = match_each_other(hypotheses, max_order=MAX_ORDER, groups=groups)
    else:
        matches = match_references(hypotheses, references, max_order=MAX_ORDER, groups=groups)
    marks, n_groups = matches.marks, int(groups.max()) + 1
    lengths, members = np.unique(hypotheses.lengths, return_inverse=True)
    closest = closest_lengths(lengths, references.lengths, groups, leave_one_out=is_self)  # (G + 1, n_lengths)
    sums = np.concatenate([np.zeros((1, MAX_ORDER), dtype=np.int64), np.cumsum(marks > 0, axis=0)])
    rows = np.zeros((len(hypotheses), 2 * MAX_ORDER + 2))
    rows[:, :MAX_ORDER] = np.diff(sums[hypotheses.offsets], axis=0)
    rows[:, MAX_ORDER:_LENGTH] = np.maximum(hypotheses.lengths[:, None] - np.arange(MAX_ORDER), 0)
    rows[:, _LENGTH], rows[:, _CLOSEST] = hypotheses.lengths, closest[-1, members]
    changes = np.zeros((n_groups, rows.shape[1]))
    for order, column in enumerate(marks.T):
        changes[:, order] = -np.bincount(column, minlength=n_groups + 2)[2 : n_groups + 2]
    own = np.zeros((n_groups, len(lengths)))  # texts of a length that are left out with their group
    if is_self:
        np.add.at(own, (groups, members), 1)
    changes[:, _CLOSEST] = ((closest[:-1] - closest[-1]) * (np.bincount(members) - own)).sum(axis=1)
    return rows, changes
