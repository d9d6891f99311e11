"""Compression ratio: how many times smaller gzip makes a corpus, a measure of how much it repeats itself.

Source: Shaib et al., "Standardizing the Measurement of Text Diversity: A Tool and a Comparative Analysis of Scores",
arXiv 2403.00553, 2024.
Departs from it: the sentences are sorted first. gzip looks back 32 KB only, so in the order of a file the ratio depends
on which sentences happen to be neighbours (those of one document, say), and a repeat further off is not seen.
"""

import math
import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.tokenizer import join_tokens
from textassay.execution.threads import parallel_map
from textassay.metric.base import MOST_MODELLED, Computed, declare_metric, jackknifed
from textassay.resampling.jackknife import assign_groups
from textassay.seeding import stream

_N_GROUPS = 20
_LEVEL = 6  # the gzip command's own; 9 takes twice as long and makes 1 % less of it
_GZIP = 31  # window of 32 KB with gzip's header and checksum, 18 bytes


@declare_metric(
    "compression-ratio",
    "compression ratio of the generated text under gzip: how much it repeats itself",
    unit="ratio",
    bounds=(0, math.inf),
    looks_at_real=False,
    most=MOST_MODELLED,
    cost="n log n",
)
def compression_ratio(generated: Corpus, real: Corpus, *, seed: int = 0) -> Computed:
    """Return how many times smaller gzip makes generated text.

    Parameters
    ----------
    generated
        Compressed as its tokens, with a space between, a sentence a line, sorted.
    real
        Not looked at, and may be left out; real text has a ratio of its own, to which this value is compared.
    seed
        Decides which sentences form a jackknife group.

    Returns
    -------
    Estimate
        Bytes over bytes compressed, above 0 (below 1 for a few words, whose header is longer than they are), at most
        1032; higher is more repetitive. NaN, with a warning, where there is no token. It grows with the number of
        sentences, and long sentences are compressed further than short ones: compare corpora of equal size, and look
        at their lengths. Details: `n_bytes`, `n_bytes_compressed`.

    Notes
    -----
    The interval comes from leaving out each of 20 groups of sentences.
    """
    groups = assign_groups(
        len(generated), stream(seed, "groups", "compression"), n_groups=_N_GROUPS, units=generated.groups
    )
    lines = _lines(generated)
    order = sorted(range(len(lines)), key=lines.__getitem__)
    lines, group_of_line = [lines[index] for index in order], groups[order]
    n_groups = int(groups.max()) + 1

    def compress(left_out: int) -> tuple[int, int]:
        kept = lines if left_out < 0 else [lines[index] for index in np.flatnonzero(group_of_line != left_out)]
        return _compressed(kept)

    (n_bytes, n_compressed), *without = parallel_map(compress, range(-1, n_groups))
    has_tokens = len(generated.tokens) > 0
    return jackknifed(
        n_bytes / n_compressed if has_tokens else math.nan,
        np.array([left / compressed for left, compressed in without]),
        groups,
        undefined=None if has_tokens else "no generated sentence has a token",
        settings={"by": f"gzip-{_LEVEL}", "order": "sorted", "groups": n_groups},
        details={"n_bytes": n_bytes, "n_bytes_compressed": n_compressed},
    )


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
