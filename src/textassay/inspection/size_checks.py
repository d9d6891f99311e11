"""Checks of sizes: number of texts on each side, empty texts, lengths, and texts cut at a fixed length."""

import math

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.inspection.finding import Finding, own_finding
from textassay.inspection.surface import Mask, Pair, severity_of

_FEW, _VERY_FEW = 1000, 200
_UNEQUAL = 10
_EMPTY_NOTE, _EMPTY_WARNING = 0.001, 0.02
_CUT_NOTE, _CUT_WARNING = 0.02, 0.1
_MIN_AT_EDGE, _MIN_SHARE_AT_EDGE = 10, 0.002
_LENGTH_NOTE, _LENGTH_WARNING = 0.1, 0.3
_CHANCE = 1e-4


def few_sentences(corpus: Corpus, name: str) -> Finding | None:
    """Return a finding if `corpus` has too few texts for precise estimates."""
    n_sentences = len(corpus)
    if n_sentences >= _FEW:
        return None
    return own_finding(
        "small-sample",
        "warning" if n_sentences < _VERY_FEW else "note",
        name,
        f"Few texts: {n_sentences}; intervals are wide and small differences cannot be seen.",
        n_sentences,
        n_sentences,
        None,
        f"Give at least {_FEW} texts per side; with 10,000 a Distributional Discrepancy is precise to about 0.01.",
    )


def unequal_samples(pair: Pair) -> Finding | None:
    """Return a finding if one side has more than ten times as many texts as the other."""
    n_generated, n_real = len(pair.generated), len(pair.real)
    if max(n_generated, n_real) <= _UNEQUAL * min(n_generated, n_real):
        return None
    sizes = n_generated, n_real
    return pair.plain_finding(
        "unequal-samples",
        "note",
        f"Very unequal samples: {n_generated} generated and {n_real} real texts; the smaller side limits the "
        "precision, and metrics that depend on sample size differ for that reason alone.",
        sizes,
        sizes,
        (None, None),
        "Give about as many texts on both sides, or compare generators with equal numbers of texts.",
    )


def empty_sentences(pair: Pair) -> Finding | None:
    """Return a finding if generated texts are empty, or only real ones are."""
    everything = _everything(pair)
    contrast = pair.contrast((~pair.generated.filled, ~pair.real.filled), everything)
    severity = severity_of(contrast.gap, note=_EMPTY_NOTE, warning=_EMPTY_WARNING)
    if severity is None and not contrast.counts[0]:
        return None
    return pair.plain_finding(
        "empty-sentences",
        severity or "note",
        f"Empty texts: {contrast}.",
        contrast.counts,
        contrast.sizes,
        (None, None),
        "They count as texts: remove them from both files if they are stray blank lines.",
    )


def outer_space(pair: Pair) -> Finding | None:
    """Return a finding if white space in texts differs and the tokeniser lets metrics see it."""
    if pair.real.words is pair.real.corpus:
        return None
    contrast = pair.contrast((spaced(pair.generated.corpus), spaced(pair.real.corpus)))
    severity = severity_of(contrast.gap, note=_CUT_NOTE, warning=_CUT_WARNING)
    if severity is None:
        return None
    return pair.finding(
        "whitespace",
        severity,
        f"White space differs: {contrast} begin or end with a space, or have two in a row.",
        contrast,
        "Use --normalize, which leaves single spaces on both sides.",
    )


def length(pair: Pair) -> Finding | None:
    """Return a finding if the texts of one side are much longer."""
    sides = [side.corpus.lengths for side in pair.sides]
    sizes = [len(side) * side.weight for side in pair.sides]
    top = int(max(sides[0].max(), sides[1].max())) + 1
    below = [np.cumsum(np.bincount(lengths, minlength=top)) / len(lengths) for lengths in sides]
    at = int(np.argmax(np.abs(below[0] - below[1])))
    margin = math.sqrt(-math.log(_CHANCE / 2) / 2 * (sizes[0] + sizes[1]) / (sizes[0] * sizes[1]))
    severity = severity_of(
        max(abs(below[0][at] - below[1][at]) - margin, 0.0), note=_LENGTH_NOTE, warning=_LENGTH_WARNING
    )
    if severity is None:
        return None
    contrast = pair.contrast((sides[0] > at, sides[1] > at), _everything(pair))
    return pair.finding(
        "length",
        severity,
        f"Lengths differ: generated texts have {sides[0].mean():.1f} tokens on average, real ones "
        f"{sides[1].mean():.1f}; {contrast} have more than {at}.",
        contrast,
        "Check that both sides were prepared and split into texts the same way; if so, it is how the generator writes.",
    )


def cut_length(pair: Pair) -> tuple[Finding, int | None] | None:
    """Return a finding if the texts of one side are cut at a length that the other side exceeds.

    Also returns the length in tokens (None if the cut is in characters). None without a finding.
    """
    in_tokens = _cut(pair, [side.corpus.lengths for side in pair.sides])
    if in_tokens is not None:
        return _cut_finding(pair, *in_tokens, unit="tokens"), in_tokens[1]
    characters = [np.fromiter(map(len, side.corpus.texts), dtype=np.int64, count=len(side)) for side in pair.sides]
    in_characters = _cut(pair, characters)
    if in_characters is not None:
        return _cut_finding(pair, *in_characters, unit="characters"), None
    return None


def _cut(pair: Pair, lengths: list[npt.NDArray[np.int64]]) -> tuple[int, int, list[npt.NDArray[np.int64]]] | None:
    """Return which side is cut (0 generated, 1 real), at what length, and the lengths; None if neither is.

    A side is cut if many of its texts have the greatest length, unlike the tail of a distribution, and the other side
    has significantly more texts beyond that length.
    """
    for cut in (0, 1):
        edge = int(lengths[cut].max())
        n_at_edge = int(np.count_nonzero(lengths[cut] == edge))
        if edge == 0 or n_at_edge < max(_MIN_AT_EDGE, _MIN_SHARE_AT_EDGE * len(lengths[cut])):
            continue
        beyond = int(np.count_nonzero(lengths[0] > edge)), int(np.count_nonzero(lengths[1] > edge))
        if abs(pair.gap(beyond, (len(lengths[0]), len(lengths[1])))) >= _CUT_NOTE:
            return cut, edge, lengths
    return None


def _cut_finding(pair: Pair, cut: int, edge: int, lengths: list[npt.NDArray[np.int64]], *, unit: str) -> Finding:
    beyond = pair.contrast((lengths[0] > edge, lengths[1] > edge), _everything(pair))
    at_edge = lengths[0] == edge, lengths[1] == edge
    counts = int(np.count_nonzero(at_edge[0])), int(np.count_nonzero(at_edge[1]))
    side, other = ("generated", "real") if cut == 0 else ("real", "generated")
    severity = severity_of(beyond.gap, note=_CUT_NOTE, warning=_CUT_WARNING)
    remedy = (
        f"Use --max-tokens {edge}, which cuts both sides, or prepare both sides with the same limit."
        if unit == "tokens"
        else "Prepare both sides with the same limit, or generate without one."
    )
    return pair.plain_finding(
        "cut-length",
        severity or "note",
        f"The {side} texts are cut at {edge} {unit}: {counts[cut]} of them have exactly that many and none has "
        f"more, while {beyond.counts[1 - cut]} of {beyond.sizes[1 - cut]} {other} texts have more.",
        counts,
        beyond.sizes,
        (
            pair.generated.example(at_edge[0] if cut == 0 else lengths[0] > edge),
            pair.real.example(at_edge[1] if cut == 1 else lengths[1] > edge),
        ),
        remedy,
    )


def _everything(pair: Pair) -> tuple[Mask, Mask]:
    return np.ones(len(pair.generated), dtype=np.bool_), np.ones(len(pair.real), dtype=np.bool_)


def spaced(corpus: Corpus) -> Mask:
    """Return which texts begin or end with a space or have two in a row, shape (N,)."""
    return np.array([text != text.strip() or "  " in text for text in corpus.texts], dtype=np.bool_)
