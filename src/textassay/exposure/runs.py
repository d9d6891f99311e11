"""One run of a measurement after prefixes of one kind: draw them, read them, keep sums instead of sequences.

What is kept of N sequences is the mean distance at each length, how the means vary together, and the means of 100
resamplings; a run of 100,000 sequences becomes a few thousand numbers, from which every value and interval is made.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, equation (3), sections 4.2, 4.3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.continuation import (
    chosen_sentences,
    corrupted,
    first_tokens_of,
    model_prefixes,
    random_prefixes,
    shuffled,
)
from textassay.corpus import Corpus
from textassay.errors import OptionError, TooFewSentencesError, unknown_name
from textassay.execution import one_blas_thread
from textassay.exposure.distance import DISTANCES, next_word_distances
from textassay.generator import Ends, LanguageModel, model_vocabulary
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

KINDS = ("data", "model", "shuffled", "random", "corrupted:RATE")
N_RESAMPLES = 100


@dataclass(frozen=True)
class PrefixRun:
    """What one run found after prefixes of one kind."""

    prefixes: str  # Their kind, such as ``corrupted:0.1``
    lengths: tuple[int, ...]  # Tokens of the prefixes, K numbers
    # Sequences, and how many of what they were resampled in: themselves, or groups of overlapping ones
    n_sequences: int
    n_units: int
    means: Mapping[str, FloatArray]  # The CGD by name of the distance, shapes (K,)
    covariances: Mapping[str, FloatArray]  # Of the means, shapes (K, K); NaN where there is one unit
    resampled: Mapping[str, FloatArray]  # Means of each resampling, shapes (n_resamples, K)
    ties: FloatArray  # Share of sequences where several words were likeliest, shape (K,)

    def at(self, lengths: Sequence[int]) -> "PrefixRun":
        """Return the part of these lengths, each one of `lengths`."""
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
        """Return all as JSON-ready values; exact."""
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
    """Return how far the model's next words are from the oracle's after `n` prefixes of one kind.

    `prefixes`: ``data`` (drawn by the oracle, or from `text`), ``shuffled`` (those, the words of each prefix in random
    order), ``model``, ``random``, or ``corrupted:RATE`` (of the model, words replaced at that rate); `seed`: of this
    run. Different kinds draw independently, but the damaged kinds damage the sequences that ``data`` and ``model`` draw
    from the same seed.
    """
    kind, rate = parse_kind(prefixes)
    if n < 1 or not lengths or min(lengths) < 0:
        raise OptionError(f"n must be at least 1 and lengths at least 0, got {n} and {list(lengths)}")
    longest, n_types = max(lengths), len(model_vocabulary(model))

    def of(purpose: str) -> int:
        return int(stream(seed, "exposure", purpose).integers(2**62))

    units = None
    if kind in ("data", "shuffled") and text is not None:
        chosen = chosen_sentences(text, longest, n, seed=of("data"), ends=ends)
        rows = first_tokens_of(text, chosen, longest)
        units = None if text.groups is None else text.groups[chosen]
    elif kind in ("data", "shuffled"):
        rows = _own_ids(model, oracle, model_prefixes(oracle, longest, n, seed=of("data"), ends=ends))
    elif kind == "random":
        rows = random_prefixes(n_types, longest, n, seed=of("random"))
    else:
        rows = model_prefixes(model, longest, n, seed=of("model"), ends=ends)
    if kind == "corrupted":
        rows = corrupted(rows, rate, n_types, seed=of("corrupted"))
    if kind == "shuffled":  # the words of each prefix change places among themselves: each length is read by itself
        parts = [
            next_word_distances(
                model,
                oracle,
                shuffled(rows[:, :length], seed=of("shuffled")),
                [length],
                batch_size=batch_size,
                ends=ends,
            )
            for length in lengths
        ]
        found = {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
    else:
        found = next_word_distances(model, oracle, rows, lengths, batch_size=batch_size, ends=ends)
    return summarised(found, prefixes, lengths, units=units, seed=of(f"resampling {prefixes}"))


def summarised(
    distances: Mapping[str, FloatArray],
    prefixes: str,
    lengths: Sequence[int],
    *,
    units: IntArray | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> PrefixRun:
    """Return the run of these distances.

    `distances`: name to values, shapes (N, K); `units`: unit of each sequence, shape (N,): sequences of a unit
    (overlapping blocks) are resampled together.
    """
    n = len(next(iter(distances.values())))
    if n == 0:
        raise TooFewSentencesError("there is no sequence to measure")
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
            deviations = sums - sizes[:, None] * means[name]  # a mean over units of unlike sizes is a ratio of sums
            resampled[name] = weights @ sums / (weights @ sizes)[:, None]
            scale = n_units / (n_units - 1) if n_units > 1 else np.nan
            covariances[name] = deviations.T @ deviations * scale / n**2
    return PrefixRun(
        prefixes, tuple(lengths), n, n_units, means, covariances, resampled, distances["ties"].mean(axis=0)
    )  # fmt: skip


def parse_kind(prefixes: str) -> tuple[str, float]:
    """Return the kind of prefixes that a name stands for and its rate of corruption (0 for other kinds)."""
    kind, _, rate = prefixes.partition(":")
    if kind not in [name.partition(":")[0] for name in KINDS] or bool(rate) != (kind == "corrupted"):
        raise unknown_name("kind of prefixes", prefixes, KINDS)
    try:
        found = float(rate or 0)
    except ValueError:
        raise unknown_name("kind of prefixes", prefixes, KINDS) from None
    if not 0 <= found <= 1:
        raise OptionError(f"a rate of corruption must be at least 0 and at most 1, got {rate}")
    return kind, found


def _own_ids(model: LanguageModel, oracle: LanguageModel, rows: IntArray) -> IntArray:
    """Return what the oracle drew as ids of the model's vocabulary."""
    own, other = model_vocabulary(model), model_vocabulary(oracle)
    if own is other or own.tokens == other.tokens:
        return rows
    return own.encode(other.tokens).astype(np.int64)[rows]
