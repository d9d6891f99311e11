"""Compression ratio: how many times smaller gzip makes a corpus, a measure of how much it repeats itself.

Source: Shaib et al., "Standardizing the Measurement of Text Diversity: A Tool and a Comparative Analysis of Scores",
arXiv 2403.00553, 2024.
Departs from it: the sentences are sorted first. gzip looks back 32 KB only, so in the order of a file the ratio depends
on which sentences happen to be neighbours (those of one document, say), and a repeat further off is not seen.
"""

import math
import warnings
import zlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, TextOptions, Texts, join_tokens
from textassay.estimate import Better, Estimate, Evidence
from textassay.execution import parallel_map
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.resampling import assign_groups, jackknife_terms, terms_interval
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

_N_GROUPS = 20
_LEVEL = 6  # the gzip command's own; 9 takes twice as long and makes 1 % less of it
_GZIP = 31  # window of 32 KB with gzip's header and checksum, 18 bytes


def compression_ratio(
    generated: Texts, real: Texts = None, *, level: float = 0.95, seed: int = 0, **text: Unpack[TextOptions]
) -> Estimate:
    """Return how many times smaller gzip makes generated text.

    Parameters
    ----------
    generated
        Compressed as its tokens, with a space between, a sentence a line, sorted.
    real
        Not looked at, and may be left out; real text has a ratio of its own, to which this value is compared.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides which sentences form a jackknife group.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Bytes over bytes compressed, above 0 (below 1 for a few words, whose header is longer than they are), at most
        1032; higher is more repetitive. NaN, with a warning, where there is no token. It grows with the number of
        sentences, and long sentences are compressed further than short ones: compare corpora of equal size, and look
        at their lengths. Details: `n_bytes`, `n_bytes_compressed`.

    Raises
    ------
    EmptyCorpusError
        If a side has no sentence.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    The interval comes from leaving out each of 20 groups of sentences.
    """
    return measure(CompressionRatio(level=level), generated, real, seed=seed, **text)


@dataclass(frozen=True)
class CompressionRatio:
    """Compression ratio as a `Metric`."""

    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric's name."""
        return "compression-ratio"

    @property
    def better(self) -> Better:
        """Neither more nor less repetitive than real text."""
        return "closer"

    @property
    def shares(self) -> Hashable:
        """Nothing to share."""
        return ("compression-ratio",)

    def prepare(self, real: Corpus) -> Corpus:
        """Return the real text, of which only the size enters the signature."""
        return real

    def statistics(self, state: Corpus, generated: Corpus, *, seed: int) -> "_Statistics":
        """Return the bytes before and after compression, in all and without each group."""
        check_corpora(generated, state, metric="compression-ratio")
        groups = assign_groups(
            len(generated), stream(seed, "groups", "compression"), n_groups=_N_GROUPS, units=generated.groups
        )
        lines = _lines(generated)
        order = sorted(range(len(lines)), key=lines.__getitem__)
        lines, group_of_line = [lines[index] for index in order], groups[order]
        sizes = np.bincount(groups)

        def compress(left_out: int) -> tuple[int, int]:
            kept = lines if left_out < 0 else [lines[index] for index in np.flatnonzero(group_of_line != left_out)]
            return _compressed(kept)

        counts = np.array(parallel_map(compress, range(-1, len(sizes))), dtype=np.int64)
        return _Statistics(generated, state, seed, counts, sizes)

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the ratio."""
        generated, real = statistics.generated, statistics.real
        n_bytes, n_compressed = (int(count) for count in statistics.counts[0])
        value, terms = math.nan, None
        if len(generated.tokens) == 0:
            warnings.warn(f"{self.name} is undefined: no generated sentence has a token", RuntimeWarning, stacklevel=2)
        else:
            value = n_bytes / n_compressed
            without = statistics.counts[1:, 0] / statistics.counts[1:, 1]
            terms = jackknife_terms(value, without, statistics.group_sizes)
        n_groups = len(statistics.group_sizes)
        interval = terms_interval(
            value,
            [terms],
            level=self.level,
            method=f"t: jackknife over {n_groups} groups of generated sentences",
            low=0.0,
        )
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="ratio",
            better=self.better,
            sizes={"n_generated": len(generated), "n_real": len(real)},
            signature=make_signature(
                self.name, generated, real, seed=statistics.seed, by=f"gzip-{_LEVEL}", order="sorted", groups=n_groups
            ),
            details={"n_bytes": n_bytes, "n_bytes_compressed": n_compressed},
            evidence=None if interval is None else Evidence(None, terms),
        )


@dataclass(frozen=True)
class _Statistics:
    """Bytes and bytes compressed, shape (1 + G, 2): of everything, then without each group."""

    generated: Corpus
    real: Corpus
    seed: int
    counts: IntArray
    group_sizes: IntArray


def _lines(corpus: Corpus) -> list[bytes]:
    """Return the sentences as they are measured, from their tokens; each ends with a line break."""
    words = corpus.vocabulary.tokens
    tokens, offsets = corpus.tokens.tolist(), corpus.offsets.tolist()
    return [
        (join_tokens(corpus.tokenizer, [words[token] for token in tokens[start:end]]) + "\n").encode(
            "utf-8", "surrogatepass"
        )
        for start, end in pairwise(offsets)
    ]


def _compressed(lines: Sequence[bytes]) -> tuple[int, int]:
    data = b"".join(lines)
    return len(data), len(zlib.compress(data, _LEVEL, _GZIP))
