"""Runs of every kind of prefixes, and CGD without sampling: the exact expectation over every prefix of a small model.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, equation (3) and example 1.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from textassay.errors import OptionError
from textassay.ngram.language_model import LanguageModel
from textassay_lab.exposure.bias import run_seed
from textassay_lab.exposure.distance import DISTANCES, next_word_distances
from textassay_lab.exposure.runs import PrefixRun, measure_run
from textassay_lab.generator.next_words import Ends, check_ends, model_vocabulary, next_rows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MOST = 1 << 20  # prefixes of one length


def measure_runs(
    model: LanguageModel,
    oracle: LanguageModel,
    kinds: Sequence[str],
    lengths: Sequence[int],
    n: int,
    *,
    n_runs: int = 5,
    seed: int = 0,
    ends: Ends = "excluded",
) -> dict[str, list[PrefixRun]]:
    """Return `n_runs` runs of each kind of prefixes, fresh draws in each; settings as in `measure_run`."""
    return {
        kind: [
            measure_run(model, oracle, kind, lengths, n, ends=ends, seed=run_seed(seed, run)) for run in range(n_runs)
        ]
        for kind in kinds
    }


def exact_cgd(
    model: LanguageModel,
    oracle: LanguageModel,
    writer: LanguageModel,
    lengths: Sequence[int],
    *,
    ends: Ends = "excluded",
) -> dict[str, FloatArray]:
    """Return the expectation of each distance at each length, (K,), over all prefixes that `writer` can write."""
    check_ends(ends)
    if not lengths or min(lengths) < 0:
        raise OptionError(f"lengths must be at least 0, got {list(lengths)}")
    if model_vocabulary(writer).tokens != model_vocabulary(model).tokens:
        raise OptionError(f"{model.name} and {writer.name}, which writes the prefixes, have different vocabularies")
    rows, weights = np.empty((1, 0), dtype=np.int64), np.ones(1)
    expectations: dict[str, FloatArray] = {name: np.empty(len(lengths)) for name in DISTANCES}
    for length in range(max(lengths) + 1):
        for place in np.flatnonzero(np.asarray(lengths) == length):
            distances = next_word_distances(model, oracle, rows, [length], ends=ends)
            for name in expectations:
                expectations[name][place] = weights @ distances[name][:, 0]
        if length < max(lengths):
            rows, weights = _longer(writer, rows, weights, ends)
    return expectations


def _longer(writer: LanguageModel, rows: IntArray, weights: FloatArray, ends: Ends) -> tuple[IntArray, FloatArray]:
    """Return all prefixes with one more token that have a positive probability, and their probabilities."""
    scores, which = next_rows(writer, rows, ends=ends)
    probs = np.exp(scores)[which]
    places, words = np.nonzero(probs > 0)
    if len(places) > _MOST:
        raise OptionError(
            f"at most {_MOST} prefixes can be enumerated, {writer.name} can write {len(places)} of "
            f"{rows.shape[1] + 1} tokens"
        )
    return np.concatenate((rows[places], words[:, None]), axis=1), weights[places] * probs[places, words]
