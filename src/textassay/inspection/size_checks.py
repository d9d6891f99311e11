"""Checks of how much there is: sentences on each side, empty ones, lengths, and text cut at a length."""

import math

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.inspection.finding import Finding, own_finding
from textassay.inspection.surface import Mask, Pair, severity

_FEW, _VERY_FEW = 1000, 200
_UNEQUAL = 10
_EMPTY_NOTE, _EMPTY_WARNING = 0.001, 0.02
_CUT_NOTE, _CUT_WARNING = 0.02, 0.1
_MIN_AT_EDGE, _MIN_SHARE_AT_EDGE = 10, 0.002
_LENGTH_NOTE, _LENGTH_WARNING = 0.1, 0.3
_CHANCE = 1e-4


def few_sentences(corpus: Corpus, name: str) -> Finding | None:
    """Return a finding where `corpus` has too few sentences for firm answers."""
    n_sentences = len(corpus)
    if n_sentences >= _FEW:
        return None
    return own_finding(
        "small-sample",
        "warning" if n_sentences < _VERY_FEW else "note",
        name,
        f"Few sentences: {n_sentences}; intervals are wide and small differences cannot be seen.",
        n_sentences,
        n_sentences,
        None,
        f"Give at least {_FEW} sentences a side; 10,000 give a Distributional Discrepancy to about 0.01.",
    )


def unequal_samples(pair: Pair) -> Finding | None:
    """Return a finding where one side has more than ten times as many sentences as the other."""
    n_generated, n_real = len(pair.generated), len(pair.real)
    if max(n_generated, n_real) <= _UNEQUAL * min(n_generated, n_real):
        return None
    sizes = n_generated, n_real
    return pair.plain_finding(
        "unequal-samples",
        "note",
        f"Very unequal samples: {n_generated} generated against {n_real} real sentences; the smaller side sets the "
        "precision, and metrics that depend on sample size differ for that reason alone.",
        sizes,
        sizes,
        (None, None),
        "Give both sides about as many sentences, or compare generators of equal sizes with one another.",
    )


def empty_sentences(pair: Pair) -> Finding | None:
    """Return a finding where generated sentences are empty, or where only the real ones are."""
    everything = _everything(pair)
    contrast = pair.contrast((~pair.generated.filled, ~pair.real.filled), everything)
    how_bad = severity(contrast.gap, note=_EMPTY_NOTE, warning=_EMPTY_WARNING)
    if how_bad is None and not contrast.counts[0]:
        return None
    return pair.plain_finding(
        "empty-sentences",
        how_bad or "note",
        f"Empty sentences: {contrast}.",
        contrast.counts,
        contrast.sizes,
        (None, None),
        "They count as sentences: remove them from both files if they are stray blank lines.",
    )


def outer_space(pair: Pair) -> Finding | None:
    """Return a finding where space around or inside sentences differs and the tokeniser lets metrics see it."""
    if pair.real.words is pair.real.corpus:
        return None
    contrast = pair.contrast((spaced(pair.generated.corpus), spaced(pair.real.corpus)))
    how_bad = severity(contrast.gap, note=_CUT_NOTE, warning=_CUT_WARNING)
    if how_bad is None:
        return None
    return pair.finding(
        "whitespace",
        how_bad,
        f"Space differs: {contrast} begin or end with a space, or have two in a row.",
        contrast,
        "Use --normalize, which leaves single spaces on both sides.",
    )


def length(pair: Pair) -> Finding | None:
    """Return a finding where sentences of one side are much longer."""
    sides = [side.corpus.lengths for side in pair.sides]
    sizes = [len(side) * side.weight for side in pair.sides]
    top = int(max(sides[0].max(), sides[1].max())) + 1
    below = [np.cumsum(np.bincount(lengths, minlength=top)) / len(lengths) for lengths in sides]
    at = int(np.argmax(np.abs(below[0] - below[1])))
    margin = math.sqrt(-math.log(_CHANCE / 2) / 2 * (sizes[0] + sizes[1]) / (sizes[0] * sizes[1]))
    how_bad = severity(max(abs(below[0][at] - below[1][at]) - margin, 0.0), note=_LENGTH_NOTE, warning=_LENGTH_WARNING)
    if how_bad is None:
        return None
    contrast = pair.contrast((sides[0] > at, sides[1] > at), _everything(pair))
    return pair.finding(
        "length",
        how_bad,
        f"Lengths differ: {sides[0].mean():.1f} tokens in a generated sentence on average, {sides[1].mean():.1f} in a "
        f"real one; {contrast} have more than {at}.",
        contrast,
        "Check that both sides were prepared and split into sentences alike; if so, it is the generator's own doing.",
    )


def cut_length(pair: Pair) -> tuple[Finding, int | None] | None:
    """Return a finding where one side stops sharply at a length that the other side passes.

    The finding, and the length in tokens (none where the cut is one in characters); None without a finding.
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
    """Return which side is cut (0 generated, 1 real), at what length, and the lengths; None where neither is.

    A side is cut where its longest sentences are many, as the tail of a distribution never is, and where the other
    side has more sentences beyond that length than luck allows.
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
    how_bad = severity(beyond.gap, note=_CUT_NOTE, warning=_CUT_WARNING)
    remedy = (
        f"Use --max-tokens {edge}, which cuts both sides alike, or prepare both sides with the same limit."
        if unit == "tokens"
        else "Prepare both sides with the same limit, or generate without one."
    )
    return pair.plain_finding(
        "cut-length",
        how_bad or "note",
        f"The {side} text is cut at {edge} {unit}: {counts[cut]} of its sentences have exactly that many and none has "
        f"more, while {beyond.counts[1 - cut]} of {beyond.sizes[1 - cut]} {other} sentences have more.",
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
    """Return which sentences begin or end with a space or have two in a row, shape (N,)."""
    return np.array([text != text.strip() or "  " in text for text in corpus.texts], dtype=np.bool_)
