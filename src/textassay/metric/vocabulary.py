"""Vocabulary: how much of generated text is made of words that the real text does not have.

Source: the out-of-vocabulary rate of speech and language modelling, with the real text as the list of known words. New
words are right in moderation: real text has some that other real text lacks, and that is what to be close to.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.metric.base import Computed, Setting, compute_once, declare_metric
from textassay.resampling.jackknife import assign_groups, counts_by_group, jackknife_terms
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

_N_SHOWN = 10


@declare_metric(
    "vocabulary",
    "share of generated tokens, or of token types, that do not occur in the real text",
    bounds=(0, 1),
    cannot_see=("word order",),
)
def vocabulary(
    generated: Corpus,
    real: Corpus,
    *,
    of: Annotated[Literal["tokens", "types"], Setting(is_shown=True)] = "tokens",
    seed: int = 0,
) -> Computed:
    """Return the share of generated tokens, or of their types, that do not stand in the real text.

    Parameters
    ----------
    generated, real
        At least one sentence each.
    of
        "tokens" counts every token, "types" every different token once.
    seed
        Decides which sentences form a jackknife group.

    Returns
    -------
    Estimate
        Fraction in [0, 1]; NaN, with a warning, where the generated text has no token. The closer to what real text
        scores against other real text, the better. It falls with the number of real sentences; the share of types rises
        with the number of generated ones. Details: `n_unseen`, `n_total`, and `most_frequent_unseen`, up to ten
        {"token", "count"}.

    Notes
    -----
    The interval comes from leaving out each of 50 groups of sentences on either side; it errs on the wide side (see
    `self_bleu`).
    """
    words = compute_once(_count_words, generated, real, seed)
    if of == "tokens":
        counts = words.counts
        lost, lost_unseen, newly_unseen = words.lost[:, 0], words.lost[:, 1], words.known_by[:, 0]
    else:
        counts = np.minimum(words.counts, 1)
        lost, lost_unseen, newly_unseen = words.lost[:, 2], words.lost[:, 3], words.known_by[:, 1]
    n_total, n_unseen = int(counts.sum()), int(counts[words.is_unseen].sum())
    value, terms, real_terms = math.nan, None, None
    if n_total > 0:
        value = n_unseen / n_total
        left = n_total - lost
        without = (n_unseen - lost_unseen) / np.where(left == 0, np.nan, left)
        terms = jackknife_terms(value, without, words.group_sizes)
        real_terms = jackknife_terms(value, (n_unseen + newly_unseen) / n_total, words.real_group_sizes)
    n_groups, n_real_groups = len(words.group_sizes), len(words.real_group_sizes)
    return Computed(
        value,
        terms={"generated": terms, "real": real_terms},
        method=f"t: jackknife over {n_groups} groups of generated and {n_real_groups} of real sentences",
        undefined=None if n_total > 0 else "the generated text has no token",
        sizes={f"n_{of}": n_total},
        settings={"groups": f"{n_groups}+{n_real_groups}"},
        details={
            "n_unseen": n_unseen,
            "n_total": n_total,
            "most_frequent_unseen": _most_frequent(generated, np.where(words.is_unseen, words.counts, 0)),
        },
    )


@dataclass(frozen=True)
class _Words:
    """Counts of generated words, and what is lost with each jackknife group."""

    counts: IntArray  # of each type in generated text, shape (V,)
    is_unseen: npt.NDArray[np.bool_]  # whether real text lacks the type, shape (V,)
    group_sizes: IntArray  # shape (G,)
    lost: IntArray  # with each group: tokens, unseen tokens, types in no other group, unseen ones; shape (G, 4)
    real_group_sizes: IntArray  # shape (n_real_groups,)
    known_by: IntArray  # generated tokens, and types, that stand in no other group of real text, (n_real_groups, 2)


def _count_words(generated: Corpus, real: Corpus, seed: int) -> _Words:
    n_types = len(generated.vocabulary)
    groups, real_groups = (
        assign_groups(len(corpus), stream(seed, "groups", side), units=corpus.groups)
        for corpus, side in ((generated, "generated"), (real, "real"))
    )
    counts, real_counts = (np.bincount(corpus.tokens, minlength=n_types) for corpus in (generated, real))
    is_unseen = real_counts == 0
    lost = []
    for of_group in counts_by_group(generated.tokens, generated.offsets, groups, n_types):
        only_there = (of_group > 0) & (of_group == counts)
        of_types = only_there.sum(), (only_there & is_unseen).sum()
        lost.append((of_group.sum(), of_group[is_unseen].sum(), *of_types))
    known_by = []
    for of_group in counts_by_group(real.tokens, real.offsets, real_groups, n_types):
        only_there = (of_group > 0) & (of_group == real_counts)
        known_by.append((counts[only_there].sum(), (only_there & (counts > 0)).sum()))
    return _Words(counts, is_unseen, np.bincount(groups), np.array(lost), np.bincount(real_groups), np.array(known_by))


def _most_frequent(corpus: Corpus, counts: IntArray) -> list[dict[str, str | int]]:
    """Return the most frequent tokens; equally frequent ones in the order of their letters."""
    present = np.flatnonzero(counts)
    ranked = sorted(
        zip(corpus.vocabulary.decode(present), counts[present].tolist(), strict=True),
        key=lambda pair: (-pair[1], pair[0]),
    )
    return [{"token": token, "count": count} for token, count in ranked[:_N_SHOWN]]
