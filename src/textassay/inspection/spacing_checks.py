"""Checks of words that no space parts: the tokeniser then sees whole sentences or phrases, or takes characters."""

import numpy as np

from textassay.corpus import SPLIT_AT_SPACES
from textassay.inspection.finding import Finding, excerpt, own_finding
from textassay.inspection.surface import Pair, Surface, severity

CHARACTERS, UNSPACED, SPACING = "characters", "unspaced-text", "word-spacing"

_OWN_NOTE, _OWN_WARNING = 0.02, 0.2
_NOTE, _WARNING = 0.02, 0.1


def unspaced_text(side: Surface, name: str) -> Finding | None:
    """Return a finding where words of one side are not parted by spaces, though the tokeniser splits there.

    Where tokens are characters, it is a note that they are, and why.
    """
    spacing, tokenizer = side.spacing, side.corpus.tokenizer.split("+")[0]
    n_texts = len(side)
    if tokenizer == "chars" and spacing.needs_characters:
        message = (
            f"{_told(spacing.n_lacking, n_texts)} have no spaces between words: tokens are characters, on all sides."
        )
        remedy = "Nothing to repair. To compare words, split both sides into words and name --tokenizer whitespace."
        return own_finding(CHARACTERS, "note", name, message, spacing.n_lacking, n_texts, None, remedy)
    if tokenizer not in SPLIT_AT_SPACES:
        return None
    n_lacking, lacking = spacing.n_lacking, spacing.lacking
    what = f"have no spaces between words, and {tokenizer} makes whole sentences or phrases single tokens"
    if spacing.n_alone > n_lacking:
        n_lacking, lacking = spacing.n_alone, spacing.single
        what = "are one token each, and most of these stand only once"
    how_bad = severity(n_lacking / max(1, spacing.n_filled), note=_OWN_NOTE, warning=_OWN_WARNING)
    if how_bad is None:
        return None
    return own_finding(
        UNSPACED,
        how_bad,
        name,
        f"{_told(n_lacking, n_texts)} {what}: no metric of tokens can see a difference inside them.",
        n_lacking,
        n_texts,
        excerpt(side.corpus.texts[int(np.argmax(lacking))]),
        "Use --tokenizer chars, which compares characters on all sides, or split both sides into words.",
    )


def word_spacing(pair: Pair) -> Finding | None:
    """Return a finding where words are parted by spaces on one side only."""
    contrast = pair.contrast((pair.generated.spacing.unspaced, pair.real.spacing.unspaced))
    how_bad = severity(contrast.gap, note=_NOTE, warning=_WARNING)
    if how_bad is None:
        return None
    return pair.finding(
        SPACING,
        how_bad,
        f"Spaces between words differ: {contrast} have none.",
        contrast,
        "Write both sides alike: with spaces between words, or without.",
    )


def _told(n: int, n_texts: int) -> str:
    return f"{n} of {n_texts} sentences ({100 * n / n_texts:.1f} %)"
