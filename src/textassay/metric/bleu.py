"""BLEU: how much of each generated text occurs in the real text, averaged over the generated texts.

Source: Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation", ACL 2002; as a score of
generators (every real sentence is a reference of every generated one): Zhu et al., "Texygen", SIGIR 2018.
Departs from the first: sentence scores are averaged instead of counts, and smoothed (see `sentence_bleu`).
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, TextOptions, Texts
from textassay.errors import check_range
from textassay.estimate import Better, Estimate, Evidence
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.metric.sentence_bleu import MAX_ORDER, SentenceScores, length_details, score_sentences
from textassay.ngram import match_references
from textassay.resampling import assign_groups, cluster_terms, jackknife_terms, terms_interval
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def bleu(
    generated: Texts, real: Texts, *, order: int = 5, level: float = 0.95, seed: int = 0, **text: Unpack[TextOptions]
) -> Estimate:
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
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides which references form a jackknife group.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Fraction in [0, 1], higher is better: 1 where every generated sentence of at least `order` tokens also stands
        in the real text. It rises with the number of references. Details: `brevity_share`, the share of sentences
        shorter than the closest reference; `mean_length` and `mean_closest_length`, in tokens; `short_share`, the share
        of sentences with fewer than `order` tokens.

    Raises
    ------
    EmptyCorpusError
        If a side has no sentence.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    ``BP exp(mean over n of log p_n)`` with p_n the clipped matches of order n over ``max(1, length - n + 1)``, a zero
    numerator replaced by 0.1, and BP = ``min(1, exp(1 - r / length))`` with r the reference length closest to the
    sentence's (of two, the shorter). The interval joins the spread of the sentences' scores and that of the references,
    the latter by leaving out each of 50 groups of them; it errs on the wide side (see `self_bleu`).
    """
    return measure(Bleu(order=order, level=level), generated, real, seed=seed, **text)


@dataclass(frozen=True)
class Bleu:
    """Mean sentence BLEU of one order as a `Metric`; all orders share what is computed."""

    order: int = MAX_ORDER
    level: float = 0.95

    def __post_init__(self) -> None:
        check_range("order", self.order, 1, MAX_ORDER)
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric with its order."""
        return f"bleu(order={self.order})"

    @property
    def better(self) -> Better:
        """More overlap with real text is better."""
        return "higher"

    @property
    def shares(self) -> Hashable:
        """All orders share."""
        return ("bleu",)

    def prepare(self, real: Corpus) -> Corpus:
        """Return the references as they are."""
        return real

    def statistics(self, state: Corpus, generated: Corpus, *, seed: int) -> "_Statistics":
        """Return the scores of all orders, with and without each group of references."""
        check_corpora(generated, state, metric="bleu")
        groups = assign_groups(len(state), stream(seed, "groups", "real"), units=state.groups)
        matches = match_references(generated, state, max_order=MAX_ORDER, groups=groups)
        scores = score_sentences(generated, matches, state.lengths, groups)
        return _Statistics(
            generated=generated,
            real=state,
            seed=seed,
            scores=scores,
            without=scores.values.mean(axis=0) + scores.changes / len(generated),
            group_sizes=np.bincount(groups),
        )

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the mean score of one order."""
        generated, real = statistics.generated, statistics.real
        scores = statistics.scores.values[:, self.order - 1].copy()
        value = math.fsum(scores) / len(scores)
        generated_terms = cluster_terms(scores, generated.groups)
        real_terms = jackknife_terms(value, statistics.without[:, self.order - 1], statistics.group_sizes)
        n_groups = len(statistics.group_sizes)
        interval = terms_interval(
            value,
            [generated_terms, real_terms],
            level=self.level,
            method=f"t: variance over generated sentences, jackknife over {n_groups} groups of references",
            low=0.0,
            high=1.0,
        )
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="fraction",
            better=self.better,
            sizes={"n_generated": len(generated), "n_real": len(real), "n_references": len(real)},
            signature=make_signature(
                self.name,
                generated,
                real,
                seed=statistics.seed,
                smooth="method1",
                refs="all",
                groups=n_groups,
            ),
            details=length_details(generated, statistics.scores.closest, self.order),
            evidence=None if interval is None else Evidence(real_terms, generated_terms, generated_scores=scores),
        )


@dataclass(frozen=True)
class _Statistics:
    """Scores of all orders; `without` is the mean score without each group of references, shape (G, MAX_ORDER)."""

    generated: Corpus
    real: Corpus
    seed: int
    scores: SentenceScores
    without: FloatArray
    group_sizes: IntArray
