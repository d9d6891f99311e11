"""Memorization: how much of generated text was copied from the text that the generator was trained on.

Source: the BLEU of generated sentences against their nearest training sentences is that of Garbacea, Carton, Yan, Mei,
"Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for Online Review Generation", EMNLP 2019.
Departs from it: nearest are the sentences that share the longest runs of tokens, found exactly, instead of those with
the nearest vectors; the best of them counts; and it stands beside the share of sentences that are copies, the value.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.estimate import Interval
from textassay.execution.threads import parallel_map
from textassay.inspection.sentence_keys import occurs_in, sentence_keys
from textassay.metric.base import Computed, TrainText, compute_once, declare_metric
from textassay.ngram.nearest import Nearest, SuffixArray, match_pairs
from textassay.resampling.jackknife import text_terms
from textassay.resampling.proportions import clopper_pearson

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ORDER = 4
_EPSILON = 0.1  # stands for a precision's zero numerator, as in `bleu`
_N_CANDIDATES = 20
_N_EXAMPLES = 5
_BLOCK = 1 << 14  # sentences looked up at once


@declare_metric(
    "memorization",
    "share of generated sentences that occur in the training text",
    bounds=(0, 1),
    looks_at_real=False,
    size_sensitive=False,
    needs=("train",),
    cost="n log n",
)
def memorization(generated: Corpus, real: Corpus, *, train: TrainText = None, level: float = 0.95) -> Computed:
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
    UnavailableError
        If there is no training text.
    EmptyCorpusError
        If the training text has no sentence.
    """
    assert train is not None  # the declaration needs it
    is_copy = occurs_in(sentence_keys(generated), sentence_keys(train))
    suffixes = compute_once(SuffixArray.build, train)
    blocks = parallel_map(
        lambda start: _look_up(generated.take(np.arange(start, min(start + _BLOCK, len(generated)))), train, suffixes),
        range(0, len(generated), _BLOCK),
    )
    n_shared, best = (np.concatenate(part) for part in zip(*blocks, strict=True))
    bleu = np.where(is_copy, 1.0, best)
    interval = None
    if generated.groups is None:
        low, high = (
            clopper_pearson(int(is_copy.sum()), len(is_copy), alpha=(1 - level) / 2, side=side)
            for side in ("lower", "upper")
        )
        interval = Interval(low, high, level, "clopper-pearson: generated sentences, training text as given")
    return Computed(
        float(is_copy.mean()),
        terms={"generated": text_terms(is_copy.astype(np.float64), generated.groups)},
        method="t: groups of generated sentences, training text as given",
        interval=interval,
        sizes={"n_train": len(train)},
        settings={"train": train.fingerprint[:8], "bleu": _ORDER},
        details={
            "median_shared": float(np.median(n_shared)),
            "max_shared": int(n_shared.max()),
            "median_shared_part": float(np.median(n_shared / np.maximum(generated.lengths, 1))),
            "longest": _longest(generated, n_shared),
            "nearest_bleu": float(bleu.mean()),
            "n_train": len(train),
        },
        generated_scores=bleu,
    )


def _longest(generated: Corpus, n_shared: IntArray) -> list[dict[str, Any]]:
    """Return a few different sentences that share the longest n-grams."""
    longest: dict[str, int] = {}
    for index in np.argsort(-n_shared, kind="stable"):
        longest.setdefault(generated.texts[index], int(n_shared[index]))
        if len(longest) == _N_EXAMPLES:
            break
    return [{"text": text, "n_shared": shared} for text, shared in longest.items()]


def _look_up(sentences: Corpus, train: Corpus, suffixes: SuffixArray) -> tuple[IntArray, FloatArray]:
    """Return the tokens of the longest n-gram that each sentence shares, and its best BLEU; shapes (n,)."""
    nearest = suffixes.nearest(sentences, n_candidates=_N_CANDIDATES)
    return nearest.lengths, _best_bleu(sentences, train, nearest)


def _best_bleu(sentences: Corpus, train: Corpus, nearest: Nearest) -> FloatArray:
    """Return the best BLEU of each sentence against any of its nearest training sentences, smoothed; shape (n,)."""
    matches = match_pairs(sentences, train, nearest.sentences, max_order=_ORDER)  # (n, candidates, order)
    lengths = np.maximum(sentences.lengths, 1)[:, None]
    totals = np.maximum(lengths - np.arange(_ORDER), 1)[:, None, :]
    log_numbers = np.log(np.maximum(np.arange(int(lengths.max()) + 1), _EPSILON))
    log_precisions = log_numbers[matches] - log_numbers[totals]
    brevity = np.minimum(0.0, 1.0 - train.lengths[nearest.sentences] / lengths)
    scores = np.exp(brevity + log_precisions.mean(axis=-1))
    scores[matches[..., 0] == 0] = 0.0
    best: FloatArray = scores.max(axis=1)
    return best
