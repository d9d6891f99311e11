"""Self-BLEU: how much generated sentences repeat one another.

Source: Zhu et al., "Texygen: A Benchmarking Platform for Text Generation Models", SIGIR 2018.
Departs from common implementations: every other sentence is a reference, none is sampled, and a sentence is never a
reference of itself (by its number; an equal sentence elsewhere is one). Smoothing and lengths are those of `bleu`.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, TextOptions, Texts
from textassay.errors import TooFewSentencesError, check_range
from textassay.estimate import Better, Estimate, Evidence
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.metric.sentence_bleu import MAX_ORDER, SentenceScores, length_details, score_sentences
from textassay.ngram import match_each_other
from textassay.resampling import assign_groups, jackknife_terms, terms_interval
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def self_bleu(
    generated: Texts,
    real: Texts = None,
    *,
    order: int = 5,
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the mean BLEU of generated sentences, each against all other generated sentences.

    Parameters
    ----------
    generated
        At least two sentences.
    real
        Not looked at, and may be left out; real text has a self-BLEU of its own, to which this value is compared.
    order
        Longest n-grams, in tokens, from 1 to 5.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides which sentences form a jackknife group.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Fraction in [0, 1]; 1 where every sentence of at least `order` tokens stands in the corpus twice. It rises with
        the number of sentences: compare corpora of equal size. Details as in `bleu`.

    Raises
    ------
    EmptyCorpusError
        If a side has no sentence.
    TooFewSentencesError
        If there is one generated sentence.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    The interval comes from leaving out each of 50 groups of sentences, as sentences and as references. Where sentences
    matter to one another the jackknife errs on the wide side (Efron and Stein, "The Jackknife Estimate of Variance",
    Annals of Statistics 1981): by 10 to 30 % on 300 to 2,000 review sentences.
    """
    return measure(SelfBleu(order=order, level=level), generated, real, seed=seed, **text)


@dataclass(frozen=True)
class SelfBleu:
    """Self-BLEU of one order as a `Metric`; all orders share what is computed."""

    order: int = MAX_ORDER
    level: float = 0.95

    def __post_init__(self) -> None:
        check_range("order", self.order, 1, MAX_ORDER)
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric with its order."""
        return f"self-bleu(order={self.order})"

    @property
    def better(self) -> Better:
        """Neither more nor less repetition than in real text."""
        return "closer"

    @property
    def shares(self) -> Hashable:
        """All orders share."""
        return ("self-bleu",)

    def prepare(self, real: Corpus) -> Corpus:
        """Return the real text, of which only the size enters the signature."""
        return real

    def statistics(self, state: Corpus, generated: Corpus, *, seed: int) -> "_Statistics":
        """Return the scores of all orders, with and without each group of sentences."""
        check_corpora(generated, state, metric="self-bleu")
        if len(generated) < 2:
            raise TooFewSentencesError("self-bleu needs at least 2 sentences, the generated corpus has 1")
        groups = assign_groups(len(generated), stream(seed, "groups", "generated"), units=generated.groups)
        sizes = np.bincount(groups)
        matches = match_each_other(generated, max_order=MAX_ORDER, groups=groups)
        scores = score_sentences(generated, matches, generated.lengths, groups, leave_one_out=True)
        own_sums = np.stack([np.bincount(groups, weights=column) for column in scores.values.T], axis=1)
        n_left = len(generated) - sizes
        # One sentence alone has no reference: without that group there is no self-BLEU.
        without = scores.values.sum(axis=0) - own_sums + scores.changes
        without = without / np.where(n_left < 2, np.nan, n_left)[:, np.newaxis]
        return _Statistics(generated, state, seed, scores, without, sizes)

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the mean score of one order."""
        generated, real = statistics.generated, statistics.real
        scores = statistics.scores.values[:, self.order - 1].copy()
        value = math.fsum(scores) / len(scores)
        terms = jackknife_terms(value, statistics.without[:, self.order - 1], statistics.group_sizes)
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
            sizes={"n_generated": len(generated), "n_real": len(real), "n_references": len(generated) - 1},
            signature=make_signature(
                self.name,
                generated,
                real,
                seed=statistics.seed,
                smooth="method1",
                refs="others",
                groups=n_groups,
            ),
            details=length_details(generated, statistics.scores.closest, self.order),
            evidence=None if interval is None else Evidence(None, terms, generated_scores=scores),
        )


@dataclass(frozen=True)
class _Statistics:
    """Scores of all orders; `without` is self-BLEU without each group of sentences, shape (G, MAX_ORDER)."""

    generated: Corpus
    real: Corpus
    seed: int
    scores: SentenceScores
    without: FloatArray
    group_sizes: IntArray
