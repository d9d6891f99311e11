"""Distinct-n: how rarely a corpus repeats its n-grams; the lexical diversity of the papers.

Source: Li et al., "A Diversity-Promoting Objective Function for Neural Conversation Models", NAACL 2016.
Departs from it: divides by the number of n-grams, not of tokens, so that every order can reach 1.
"""

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.fields import Between
from textassay.metric.base import Computed, Setting, compute_once, declare_metric, jackknifed
from textassay.ngram.matches import count_distinct
from textassay.resampling.jackknife import assign_groups
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

_USUAL_ORDER = 3  # orders up to this one are computed together


@declare_metric(
    "distinct-n",
    "share of generated n-grams that differ from one another",
    bounds=(0, 1),
    looks_at_real=False,
    cannot_see=("words",),
)
def distinct_n(
    generated: Corpus, real: Corpus, *, order: Annotated[int, Setting(is_shown=True), Between(1)] = 2, seed: int = 0
) -> Computed:
    """Return the fraction of n-grams in generated text that differ from one another.

    Parameters
    ----------
    generated
        A sentence shorter than `order` adds no n-gram.
    real
        Not looked at, and may be left out; real text has a distinct-n of its own, to which this value is compared.
    order
        Tokens in an n-gram, at least 1.
    seed
        Decides which sentences form a jackknife group.

    Returns
    -------
    Estimate
        Fraction in (0, 1], higher is more varied; NaN, with a warning, where no sentence has `order` tokens. It falls
        as a corpus grows: compare corpora of equal size. Details: `n_distinct`, `n_ngrams`.

    Notes
    -----
    The interval comes from leaving out each of 50 groups of sentences; it errs on the wide side, since the jackknife
    takes an n-gram that stands in one group only for one that a new sample would lose (see `self_bleu`).
    """
    n_distinct, n_ngrams, n_sole, groups = compute_once(_all_orders, generated, max(order, _USUAL_ORDER), seed)
    distinct, in_groups = int(n_distinct[order - 1]), n_ngrams[order - 1]
    total = int(in_groups.sum())
    left = total - in_groups
    return jackknifed(
        distinct / total if total else math.nan,
        (distinct - n_sole[order - 1]) / np.where(left == 0, np.nan, left),
        groups,
        undefined=None if total else f"no generated sentence has {order} tokens",
        sizes={"n_ngrams": total},
        settings={"per": "n-gram", "groups": len(in_groups)},
        details={"n_distinct": distinct, "n_ngrams": total},
    )


def _all_orders(generated: Corpus, max_order: int, seed: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return, for each order, distinct n-grams, n-grams in each group, and those in it alone; and the groups.

    Shapes (max_order,), (max_order, G) twice, and (n_generated,).
    """
    groups = assign_groups(len(generated), stream(seed, "groups", "generated"), units=generated.groups)
    n_distinct, n_sole = count_distinct(generated, max_order=max_order, groups=groups)
    of_order = [np.maximum(generated.lengths - shorter, 0) for shorter in range(max_order)]
    n_ngrams = [np.bincount(groups, weights=each, minlength=n_sole.shape[1]) for each in of_order]
    return n_distinct, np.array(n_ngrams).astype(np.int64), n_sole, groups
