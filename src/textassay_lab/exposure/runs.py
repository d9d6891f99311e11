"""One run of a measurement after prefixes of one kind, reduced to sums, and intervals over several runs.

A run keeps the mean distance at each length, the covariances of the means, and the means of 100 resamplings: a few
thousand numbers for 100,000 sequences, from which every value and interval is computed.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, equation (3), sections 4.2, 4.3.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError, TooFewSentencesError, unknown_name
from textassay.estimate import Interval
from textassay.execution.threads import one_blas_thread
from textassay.ngram.language_model import LanguageModel
from textassay.resampling.jackknife import terms_interval
from textassay.seeding import stream
from textassay_lab.exposure.distance import DISTANCES, next_word_distances
from textassay_lab.generator.next_words import Ends, model_vocabulary
from textassay_lab.generator.prefixes import (
    chosen_sentences,
    corrupted,
    first_tokens_of,
    model_prefixes,
    random_prefixes,
    shuffled,
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

KINDS = ("data", "model", "shuffled", "random", "corrupted:RATE")
N_RESAMPLES = 100


@dataclass(frozen=True)
class PrefixRun:
    """Distances in one run after prefixes of one kind."""

    prefixes: str  # Their kind, such as ``corrupted:0.1``
    lengths: tuple[int, ...]  # Tokens of the prefixes, K numbers
    # Sequences, and units of resampling: sequences, or groups of overlapping ones
    n_sequences: int
    n_units: int
    means: Mapping[str, FloatArray]  # The CGD by name of the distance, shapes (K,)
    covariances: Mapping[str, FloatArray]  # Of the means, shapes (K, K); NaN where there is one unit
    resampled: Mapping[str, FloatArray]  # Means of each resampling, shapes (n_resamples, K)
    ties: FloatArray  # Share of sequences where several words were equally likeliest, shape (K,)

    def at(self, lengths: Sequence[int]) -> "PrefixRun":
        """Return the run at these lengths alone."""
        places = [self.lengths.index(length) for length in lengths]
        return PrefixRun(
            self.prefixes,
            tuple(lengths),
            self.n_sequences,
            self.n_units,
            {name: values[places] for name, values in self.means.items()},
            {name: values[np.ix_(places, places)] for name, values in self.covariances.items()},
            {name: values[:, places] for name, values in self.resampled.items()},
            self.ties[places],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict without loss of precision."""
        tables = {
            part: {name: values.tolist() for name, values in getattr(self, part).items()}
            for part in ("means", "covariances", "resampled")
        }
        return {
            "prefixes": self.prefixes,
            "lengths": list(self.lengths),
            "n_sequences": self.n_sequences,
            "n_units": self.n_units,
            **tables,
            "ties": self.ties.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PrefixRun":
        """Return the run that `to_dict` gave as `data`."""
        tables = {
            part: {name: np.asarray(values, dtype=np.float64) for name, values in data[part].items()}
            for part in ("means", "covariances", "resampled")
        }
        return cls(
            data["prefixes"],
            tuple(data["lengths"]),
            data["n_sequences"],
            data["n_units"],
            **tables,
            ties=np.asarray(data["ties"], dtype=np.float64),
        )


def measure_run(
    model: LanguageModel,
    oracle: LanguageModel,
    prefixes: str,
    lengths: Sequence[int],
    n: int,
    *,
    text: Corpus | None = None,
    ends: Ends = "excluded",
    batch_size: int = 256,
    seed: int = 0,
) -> PrefixRun:
    """Return the distances of the model's next words from the oracle's after `n` prefixes of one kind.

    `prefixes`: ``data`` (drawn by the oracle, or from `text`), ``shuffled`` (those, with the words of each prefix in
    random order), ``model``, ``random``, or ``corrupted:RATE`` (of the model, words replaced at that rate). Kinds draw
    independently, but ``shuffled`` and ``corrupted`` change the sequences that ``data`` and ``model`` draw from the
    same
    seed.
    """
    kind, rate = parse_kind(prefixes)
    if n < 1 or not lengths or min(lengths) < 0:
        raise OptionError(f"n must be at least 1 and lengths at least 0, got {n} and {list(lengths)}")
    longest, n_types = max(lengths), len(model_vocabulary(model))

    def seed_for(purpose: str) -> int:
        return int(stream(seed, "exposure", purpose).integers(2**62))

    units = None
    if kind in ("data", "shuffled") and text is not None:
        row_numbers = chosen_sentences(text, longest, n, seed=seed_for("data"), ends=ends)
        rows = first_tokens_of(text, row_numbers, longest)
        units = None if text.groups is None else text.groups[row_numbers]
    elif kind in ("data", "shuffled"):
        rows = _own_ids(model, oracle, model_prefixes(oracle, longest, n, seed=seed_for("data"), ends=ends))
    elif kind == "random":
        rows = random_prefixes(n_types, longest, n, seed=seed_for("random"))
    else:
        rows = model_prefixes(model, longest, n, seed=seed_for("model"), ends=ends)
    if kind == "corrupted":
        rows = corrupted(rows, rate, n_types, seed=seed_for("corrupted"))
    if kind == "shuffled":  # each prefix is shuffled within itself, so each length is read separately
        parts = [
            next_word_distances(
                model,
                oracle,
                shuffled(rows[:, :length], seed=seed_for("shuffled")),
                [length],
                batch_size=batch_size,
                ends=ends,
            )
            for length in lengths
        ]
        distances = {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
    else:
        distances = next_word_distances(model, oracle, rows, lengths, batch_size=batch_size, ends=ends)
    return summarised(distances, prefixes, lengths, units=units, seed=seed_for(f"resampling {prefixes}"))


def summarised(
    distances: Mapping[str, FloatArray],
    prefixes: str,
    lengths: Sequence[int],
    *,
    units: IntArray | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> PrefixRun:
    """Return a run from distances, by name, shapes (N, K).

    `units`: the unit of each sequence, shape (N,); sequences of one unit (overlapping blocks) are resampled together.
    """
    n = len(next(iter(distances.values())))
    if n == 0:
        raise TooFewSentencesError("distances need at least 1 sequence, got 0")
    members = np.arange(n) if units is None else np.unique(units, return_inverse=True)[1].reshape(-1)
    n_units = int(members.max()) + 1
    sizes = np.bincount(members).astype(np.float64)
    rng = stream(seed, "resamplings")
    draws = [np.bincount(rng.integers(0, n_units, n_units), minlength=n_units) for _ in range(n_resamples)]
    weights = np.stack(draws).astype(np.float64)
    means: dict[str, FloatArray] = {}
    covariances: dict[str, FloatArray] = {}
    resampled: dict[str, FloatArray] = {}
    for name in DISTANCES:
        values = distances[name]
        sums = values
        if units is not None:
            sums = np.stack([np.bincount(members, column, n_units) for column in values.T], axis=1)
        means[name] = values.mean(axis=0)
        with np.errstate(invalid="ignore"), one_blas_thread():
            deviations = sums - sizes[:, None] * means[name]  # a mean over units of unequal sizes is a ratio of sums
            resampled[name] = weights @ sums / (weights @ sizes)[:, None]
            scale = n_units / (n_units - 1) if n_units > 1 else np.nan
            covariances[name] = deviations.T @ deviations * scale / n**2
    return PrefixRun(
        prefixes, tuple(lengths), n, n_units, means, covariances, resampled, distances["ties"].mean(axis=0)
    )  # fmt: skip


def parse_kind(prefixes: str) -> tuple[str, float]:
    """Return the kind of prefixes and its corruption rate (0 for other kinds)."""
    kind, _, rate = prefixes.partition(":")
    if kind not in [name.partition(":")[0] for name in KINDS] or bool(rate) != (kind == "corrupted"):
        raise unknown_name("kind of prefixes", prefixes, KINDS)
    try:
        value = float(rate or 0)
    except ValueError:
        raise unknown_name("kind of prefixes", prefixes, KINDS) from None
    if not 0 <= value <= 1:
        raise OptionError(f"the corruption rate must be in [0, 1], got {rate}")
    return kind, value


def _own_ids(model: LanguageModel, oracle: LanguageModel, rows: IntArray) -> IntArray:
    """Return the oracle's sequences as ids of the model's vocabulary."""
    own, other = model_vocabulary(model), model_vocabulary(oracle)
    if own is other or own.tokens == other.tokens:
        return rows
    return own.encode(other.tokens).astype(np.int64)[rows]


def run_interval(
    values: FloatArray, error: float, *, units: str, level: float, low: float = -math.inf
) -> Interval | None:
    """Return Student's interval of the mean over runs, or the normal interval of a single run from its standard error.

    `values`: one number a run, shape (R,). `units`: what a run consists of, such as ``sentences``. None where a value,
    or the error of a single run, is not finite.
    """
    if len(values) > 1:
        return terms_interval(
            float(values.mean()), [values], level=level, method=f"t: over {len(values)} runs", low=low
        )
    value = float(values[0])
    half = float(stats.norm.ppf((1 + level) / 2)) * error
    if not math.isfinite(value + half):
        return None
    return Interval(max(low, value - half), value + half, level, f"normal: delta method over the {units} of one run")


def sd_of_runs(table: FloatArray) -> FloatArray:
    """Return the standard deviation over runs, shape (K,), of a table (R, K); NaN for one run."""
    return table.std(axis=0, ddof=1) if len(table) > 1 else np.full(table.shape[1], np.nan)
