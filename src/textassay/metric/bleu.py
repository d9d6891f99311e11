"""BLEU: how much of each generated text occurs in the real text, averaged over the generated texts.

Source: Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation", ACL 2002; as a score of
generators (every real sentence is a reference of every generated one): Zhu et al., "Texygen", SIGIR 2018.
Departs from the first: sentence scores are averaged instead of counts, and smoothed (see `sentence_bleu`).
"""

import math

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.metric.base import Computed, declare_metric
from textassay.metric.sentence_bleu import MAX_ORDER, SentenceScores, length_details, score_sentences
from textassay.metric.sharing import compute_once
from textassay.ngram.matches import match_references
from textassay.resampling.jackknife import assign_groups, jackknife_terms, text_terms
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]


@declare_metric(
    "bleu",
    "mean BLEU of each generated sentence against all real sentences",
    better="higher",
    bounds=(0, 1),
    shown=("order",),
    ranges={"order": (1, MAX_ORDER)},
)
def bleu(generated: Corpus, real: Corpus, *, order: int = MAX_ORDER, seed: int = 0) -> Computed:
    """Return the mean BLEU of generated sentences, each against all real sentences.

    Parameters
    ----------
    generated
        The hypotheses. One shorter than `order` has smoothed precisions; an empty one, or one without a token of the
        real text, scores 0.
    real
        The references.
    order
        Longest n-grams, in tokens, from 1 to 5; all orders up to it weigh the same.
    seed
        Decides which references form a jackknife group.

    Returns
    -------
    Estimate
        Fraction in [0, 1], higher is better: 1 where every generated sentence of at least `order` tokens also stands
        in the real text. It rises with the number of references. Details: `brevity_share`, the share of sentences
        shorter than the closest reference; `mean_length` and `mean_closest_length`, in tokens; `short_share`, the share
        of sentences with fewer than `order` tokens.

    Notes
    -----
    ``BP exp(mean over n of log p_n)`` with p_n the clipped matches of order n over ``max(1, length - n + 1)``, a zero
    numerator replaced by 0.1, and BP = ``min(1, exp(1 - r / length))`` with r the reference length closest to the
    sentence's (of two, the shorter). The interval joins the spread of the sentences' scores and that of the references,
    the latter by leaving out each of 50 groups of them; it errs on the wide side (see `self_bleu`).
    """
    scores, groups = compute_once(_all_orders, generated, real, seed)
    sizes = np.bincount(groups)
    of_order = scores.values[:, order - 1].copy()
    value = math.fsum(of_order) / len(of_order)
    without = scores.values.mean(axis=0) + scores.changes / len(generated)  # each group of references, (G, MAX_ORDER)
    return Computed(
        value,
        terms={
            "generated": text_terms(of_order, generated.groups),
            "real": jackknife_terms(value, without[:, order - 1], sizes),
        },
        method=f"t: variance over generated sentences, jackknife over {len(sizes)} groups of references",
        sizes={"n_references": len(real)},
        settings={"smooth": "method1", "refs": "all", "groups": len(sizes)},
        details=length_details(generated, scores.closest, order),
        generated_scores=of_order,
    )


def _all_orders(generated: Corpus, real: Corpus, seed: int) -> tuple[SentenceScores, IntArray]:
    """Return the scores of all orders, and the jackknife group of each reference."""
    groups = assign_groups(len(real), stream(seed, "groups", "real"), units=real.groups)
    matches = match_references(generated, real, max_order=MAX_ORDER, groups=groups)
    return score_sentences(generated, matches, real.lengths, groups), groups
