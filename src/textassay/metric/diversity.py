"""Distinct-n: how rarely a corpus repeats its n-grams; the lexical diversity of the papers.

Source: Li et al., "A Diversity-Promoting Objective Function for Neural Conversation Models", NAACL 2016.
Departs from it: divides by the number of n-grams, not of tokens, so that every order can reach 1.
"""

import math
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, TextOptions, Texts
from textassay.errors import check_range
from textassay.estimate import Better, Estimate, Evidence
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.ngram import NgramIndex
from textassay.resampling import assign_groups, jackknife_terms, sole_groups, terms_interval
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

_USUAL_ORDER = 3  # orders up to this one are computed together


def distinct_n(
    generated: Texts,
    real: Texts = None,
    *,
    order: int = 2,
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the fraction of n-grams in generated text that differ from one another.

    Parameters
    ----------
    generated
        A sentence shorter than `order` adds no n-gram.
    real
        Not looked at, and may be left out; real text has a distinct-n of its own, to which this value is compared.
    order
        Tokens in an n-gram, at least 1.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides which sentences form a jackknife group.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Fraction in (0, 1], higher is more varied; NaN, with a warning, where no sentence has `order` tokens. It falls
        as a corpus grows: compare corpora of equal size. Details: `n_distinct`, `n_ngrams`.

    Raises
    ------
    EmptyCorpusError
        If a side has no sentence.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    The interval comes from leaving out each of 50 groups of sentences; it errs on the wide side, since the jackknife
    takes an n-gram that stands in one group only for one that a new sample would lose (see `self_bleu`).
    """
    return measure(DistinctN(order=order, level=level), generated, real, seed=seed, **text)


@dataclass(frozen=True)
class DistinctN:
    """Distinct-n of one order as a `Metric`; the usual orders share what is computed."""

    order: int = 2
    level: float = 0.95

    def __post_init__(self) -> None:
        check_range("order", self.order, 1)
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric with its order."""
        return f"distinct-n(order={self.order})"

    @property
    def better(self) -> Better:
        """Neither more nor less varied than real text."""
        return "closer"

    @property
    def shares(self) -> Hashable:
        """All orders up to 3 share."""
        return ("distinct-n", self._max_order)

    @property
    def _max_order(self) -> int:
        return max(self.order, _USUAL_ORDER)

    def prepare(self, real: Corpus) -> Corpus:
        """Return the real text, of which only the size enters the signature."""
        return real

    def statistics(self, state: Corpus, generated: Corpus, *, seed: int) -> "_Statistics":
        """Return the numbers of n-grams and of distinct ones, in all and in each group only."""
        check_corpora(generated, state, metric="distinct-n")
        groups = assign_groups(len(generated), stream(seed, "groups", "generated"), units=generated.groups)
        group_sizes = np.bincount(groups)
        group_of_token = np.repeat(groups, generated.lengths)
        index = NgramIndex.build([generated], max_order=self._max_order)
        n_ngrams, n_sole = [], []
        for ids, size in zip(index.all_ids(generated), index.sizes, strict=True):
            in_index = ids >= 0
            sole = sole_groups(ids[in_index], group_of_token[in_index], size)
            n_ngrams.append(np.bincount(group_of_token[in_index], minlength=len(group_sizes)))
            n_sole.append(np.bincount(sole[sole >= 0], minlength=len(group_sizes)))
        return _Statistics(
            generated, state, seed, np.array(index.sizes), np.array(n_ngrams), np.array(n_sole), group_sizes
        )

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return distinct-n of one order."""
        generated, real = statistics.generated, statistics.real
        n_distinct = int(statistics.n_distinct[self.order - 1])
        in_groups = statistics.n_ngrams[self.order - 1]
        n_ngrams = int(in_groups.sum())
        value, terms = math.nan, None
        if n_ngrams == 0:
            warnings.warn(
                f"{self.name} is undefined: no generated sentence has {self.order} tokens", RuntimeWarning, stacklevel=2
            )
        else:
            value = n_distinct / n_ngrams
            left = n_ngrams - in_groups
            without = (n_distinct - statistics.n_sole[self.order - 1]) / np.where(left == 0, np.nan, left)
            terms = jackknife_terms(value, without, statistics.group_sizes)
        n_groups = len(statistics.group_sizes)
        interval = terms_interval(
            value,
            [terms],
            level=self.level,
            method=f"t: jackknife over {n_groups} groups of generated sentences",
            low=0.0,
            high=1.0,
        )
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="fraction",
            better=self.better,
            sizes={"n_generated": len(generated), "n_real": len(real), "n_ngrams": n_ngrams},
            signature=make_signature(self.name, generated, real, seed=statistics.seed, per="n-gram", groups=n_groups),
            details={"n_distinct": n_distinct, "n_ngrams": n_ngrams},
            evidence=None if interval is None else Evidence(None, terms),
        )


@dataclass(frozen=True)
class _Statistics:
    """Distinct n-grams of each order; n-grams in each group, and distinct ones in it alone, shapes (max_order, G)."""

    generated: Corpus
    real: Corpus
    seed: int
    n_distinct: IntArray
    n_ngrams: IntArray
    n_sole: IntArray
    group_sizes: IntArray
