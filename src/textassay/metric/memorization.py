"""Memorization: how much of generated text was copied from the text that the generator was trained on.

Source: the BLEU of generated sentences against their nearest training sentences is that of Garbacea, Carton, Yan, Mei,
"Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for Online Review Generation", EMNLP 2019.
Departs from it: nearest are the sentences that share the longest runs of tokens, found exactly, instead of those with
the nearest vectors; the best of them counts; and it stands beside the share of sentences that are copies, the value.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, TextOptions, Texts
from textassay.errors import EmptyCorpusError, OptionError, UnavailableError
from textassay.estimate import Better, Estimate, Evidence, Interval
from textassay.inspection import occurs_in, sentence_keys
from textassay.metric.base import check_corpora, check_level, make_signature, measure, prepare_sides
from textassay.ngram import Nearest, SuffixArray, match_pairs
from textassay.resampling import clopper_pearson, cluster_terms, terms_interval

FloatArray = npt.NDArray[np.float64]

_ORDER = 4
_EPSILON = 0.1  # stands for a precision's zero numerator, as in `sentence_bleu`
_N_CANDIDATES = 20
_N_EXAMPLES = 5


def memorization(
    generated: Texts,
    real: Texts = None,
    *,
    train: Texts = None,
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the share of generated sentences that stand, token by token, in the training text.

    Parameters
    ----------
    generated
        At least one sentence.
    real
        Not looked at, and may be left out; what real text scores against the same training text is what this value is
        compared to: short sentences are written twice without being copied.
    train
        The sentences the generator was trained on, sharing the vocabulary; it cannot do without.
    level
        Of the confidence interval, in (0, 1).
    seed
        Nothing is drawn; it stands in the signature as it does for every metric.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Fraction in [0, 1]; the interval takes the training text as given. Details: `median_shared` and `max_shared`,
        tokens of the longest n-gram that a sentence shares with a training sentence; `median_shared_part`, the same as
        a fraction of the sentence's own tokens; `longest`, different sentences with the longest (`text`, `n_shared`);
        `nearest_bleu`, the mean over generated sentences of the best BLEU-4 against any of 20 training sentences with
        which it shares the longest n-grams (see `textassay.ngram.nearest`); `n_train`.

    Raises
    ------
    EmptyCorpusError
        If a side, or the training text, has no sentence.
    UnavailableError
        If there is no training text.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.
    """
    generated, real, others = prepare_sides(generated, real, {"train": train}, **text)
    return measure(Memorization(others["train"], level), generated, real, seed=seed)


@dataclass(frozen=True)
class Memorization:
    """Share of sentences copied from the training text as a `Metric`."""

    train: Corpus | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric's name."""
        return "memorization"

    @property
    def better(self) -> Better:
        """Real text repeats the training text, too."""
        return "closer"

    @property
    def shares(self) -> Hashable:
        """What the training text is decides everything."""
        return ("memorization", None if self.train is None else self.train.fingerprint)

    @cached_property
    def _suffixes(self) -> SuffixArray:
        assert self.train is not None
        return SuffixArray.build(self.train)

    def prepare(self, real: Corpus) -> Corpus:
        """Return the real text, of which only the size enters the signature; raise without training text."""
        if self.train is None:
            raise UnavailableError("memorization needs the training text: give --train FILE")
        if len(self.train) == 0:
            raise EmptyCorpusError("memorization: the training text has no sentence")
        return real

    def statistics(self, state: Corpus, generated: Corpus, *, seed: int) -> "_Statistics":
        """Return which sentences are copies, what they share, and their BLEU against the nearest."""
        check_corpora(generated, state, metric="memorization")
        train = self.train
        assert train is not None
        if train.vocabulary is not generated.vocabulary:
            raise OptionError(
                "memorization: the training text has another vocabulary; make all with corpora_from_texts"
            )
        copied = occurs_in(sentence_keys(generated), sentence_keys(train))
        nearest = self._suffixes.nearest(generated, n_candidates=_N_CANDIDATES)
        bleu = np.where(copied, 1.0, _best_bleu(generated, train, nearest))
        return _Statistics(generated, state, train, seed, copied.astype(np.float64), nearest, bleu)

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the share of copies."""
        generated, real, copied = statistics.generated, statistics.real, statistics.copied
        shared = statistics.nearest.lengths
        value = float(copied.mean())
        terms = cluster_terms(copied, generated.groups)
        interval: Interval | None
        if generated.groups is None:
            low, high = (
                clopper_pearson(int(copied.sum()), len(copied), alpha=(1 - self.level) / 2, side=side)
                for side in ("lower", "upper")
            )
            interval = Interval(low, high, self.level, "clopper-pearson: generated sentences, training text as given")
        else:
            method = "t: groups of generated sentences, training text as given"
            interval = terms_interval(value, [terms], level=self.level, method=method, low=0.0, high=1.0)
        longest = {generated.texts[index]: int(shared[index]) for index in np.argsort(-shared, kind="stable").tolist()}
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="fraction",
            better=self.better,
            sizes={"n_generated": len(generated), "n_real": len(real), "n_train": len(statistics.train)},
            signature=make_signature(
                self.name, generated, real, seed=statistics.seed, train=statistics.train.fingerprint[:8], bleu=_ORDER
            ),
            details={
                "median_shared": float(np.median(shared)),
                "max_shared": int(shared.max()),
                "median_shared_part": float(np.median(shared / np.maximum(generated.lengths, 1))),
                "longest": [
                    {"text": text, "n_shared": n_shared} for text, n_shared in list(longest.items())[:_N_EXAMPLES]
                ],
                "nearest_bleu": float(statistics.bleu.mean()),
                "n_train": len(statistics.train),
            },
            evidence=Evidence(None, terms, None, statistics.bleu),
        )


@dataclass(frozen=True)
class _Statistics:
    """Whether each sentence is a copy (0 or 1), what it shares, and its best BLEU; shapes (N,)."""

    generated: Corpus
    real: Corpus
    train: Corpus
    seed: int
    copied: FloatArray
    nearest: Nearest
    bleu: FloatArray


def _best_bleu(generated: Corpus, train: Corpus, nearest: Nearest) -> FloatArray:
    """Return the best BLEU of each sentence against any of its nearest training sentences, smoothed; shape (N,)."""
    matches = match_pairs(generated, train, nearest.sentences, max_order=_ORDER)  # (N, candidates, order)
    lengths = np.maximum(generated.lengths, 1)[:, None]
    totals = np.maximum(lengths - np.arange(_ORDER), 1)[:, None, :]
    log_precisions = np.log(np.where(matches == 0, _EPSILON, matches)) - np.log(totals)
    brevity = np.minimum(0.0, 1.0 - train.lengths[nearest.sentences] / lengths)
    scores = np.exp(brevity + log_precisions.mean(axis=-1))
    scores[matches[..., 0] == 0] = 0.0
    best: FloatArray = scores.max(axis=1)
    return best
