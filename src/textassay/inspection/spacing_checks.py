"""Checks of text without spaces between words, for which a tokeniser sees whole phrases or uses characters."""

import numpy as np

from textassay.corpus import SPLIT_AT_SPACES
from textassay.inspection.finding import Finding, excerpt, own_finding
from textassay.inspection.surface import Pair, Surface, severity_of

CHARACTERS, UNSPACED, SPACING = "characters", "unspaced-text", "word-spacing"

_OWN_NOTE, _OWN_WARNING = 0.02, 0.2
_NOTE, _WARNING = 0.02, 0.1


def unspaced_text(side: Surface, name: str) -> Finding | None:
    """Return a finding if words of one side have no spaces between them, but the tokeniser splits at spaces.

    If tokens are characters for this reason, it is a note that says so.
    """
    spacing, tokenizer = side.spacing, side.corpus.tokenizer.split("+")[0]
    n_texts = len(side)
    if tokenizer == "chars" and spacing.needs_characters:
        message = (
            f"{_count_of(spacing.n_lacking, n_texts)} have no spaces between words: tokens are characters on all sides."
        )
        remedy = "Nothing to repair. To compare words, segment both sides into words and use --tokenizer whitespace."
        return own_finding(CHARACTERS, "note", name, message, spacing.n_lacking, n_texts, None, remedy)
    if tokenizer not in SPLIT_AT_SPACES:
        return None
    n_lacking, lacking = spacing.n_lacking, spacing.lacking
    what = f"have no spaces between words, and {tokenizer} makes whole texts or phrases single tokens"
    if spacing.n_alone > n_lacking:
        n_lacking, lacking = spacing.n_alone, spacing.single
        what = "are one token each, and most of these tokens occur only once"
    severity = severity_of(n_lacking / max(1, spacing.n_filled), note=_OWN_NOTE, warning=_OWN_WARNING)
    if severity is None:
        return None
    return own_finding(
        UNSPACED,
        severity,
        name,
        f"{_count_of(n_lacking, n_texts)} {what}: no metric of tokens can see a difference inside them.",
        n_lacking,
        n_texts,
        excerpt(side.corpus.texts[int(np.argmax(lacking))]),
        "Use --tokenizer chars, which compares characters on all sides, or segment both sides into words.",
    )


def word_spacing(pair: Pair) -> Finding | None:
    """Return a finding if only one side has spaces between words."""
    contrast = pair.contrast((pair.generated.spacing.unspaced, pair.real.spacing.unspaced))
    severity = severity_of(contrast.gap, note=_NOTE, warning=_WARNING)
    if severity is None:
        return None
    return pair.finding(
        SPACING,
        severity,
        f"Spaces between words differ: {contrast} have none.",
        contrast,
        "Use spaces between words on both sides, or on neither.",
    )


def _count_of(n: int, n_texts: int) -> str:
    return f"{n} of {n_texts} texts ({100 * n / n_texts:.1f} %)"
