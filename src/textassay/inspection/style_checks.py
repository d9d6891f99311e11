"""Checks of how text is written: case, glued or split punctuation, the mark at the end."""

import numpy as np

from textassay.inspection.finding import Finding
from textassay.inspection.surface import Contrast, Mask, Pair, Surface, severity
from textassay.inspection.token_traits import Trait

_NOTE, _WARNING = 0.02, 0.1
_STYLE_CHANGE = 0.1
_SAME_SHARE = 0.9

_PUNCTUATION = (
    ("a final mark", Trait.STOP_GLUED, Trait.STOP),
    ("commas", Trait.COMMA_GLUED, Trait.COMMA),
    ("quotes or brackets", Trait.QUOTE_GLUED, Trait.QUOTE),
    ("apostrophes", Trait.APOSTROPHE_GLUED, Trait.APOSTROPHE),
    ("hyphens", Trait.HYPHEN_GLUED, Trait.HYPHEN),
    ("long or decimal numbers", Trait.NUMBER_GLUED, Trait.NUMBER_SPLIT),
)


def case(pair: Pair) -> Finding | None:
    """Return a finding where one side has another case: lower, upper, or no capital at the start."""
    lettered = _both(pair, Trait.LETTER)
    mostly = pair.generated.mostly_upper, pair.real.mostly_upper
    initial = _begins(pair, Trait.INITIAL_UPPER)
    ways = (
        ("are mostly in capitals", pair.contrast(mostly, lettered)),
        ("have a capital letter", pair.contrast(_both(pair, Trait.UPPER), lettered)),
        ("begin with a capital letter", pair.contrast(initial, _begins(pair, Trait.LETTER))),
    )
    for number, (what, contrast) in enumerate(ways):
        how_bad = severity(contrast.gap, note=_NOTE, warning=_WARNING)
        if how_bad is None:
            continue
        remedy = "Use --lowercase, which makes both sides lower-case, or prepare both sides alike."
        if number and _same_share(pair, Trait.UPPER):
            how_bad = "note"
            remedy = (
                "Nothing to repair: capitals are as frequent but stand elsewhere, which is the generator's own doing; "
                "--lowercase leaves them out of the comparison."
            )
        message = f"Case differs: {contrast} {what}."
        return pair.finding("case", how_bad, message, contrast, remedy, spots=(Trait.UPPER, Trait.UPPER))
    return None


def glued_punctuation(pair: Pair) -> Finding | None:
    """Return a finding where marks hang on words on one side and stand alone on the other.

    A kind of mark counts where, among the sentences that have it, the glued form is much more usual on one side, and
    where this concerns enough of all sentences to move a metric.
    """
    differing: list[tuple[str, Contrast, Contrast, Trait, Trait]] = []
    for what, glued, split in _PUNCTUATION:
        masks = [_with_mark(side, glued, split) for side in pair.sides]
        shown = masks[0][0], masks[1][0]
        among = pair.contrast(shown, (masks[0][0] | masks[0][1], masks[1][0] | masks[1][1]))
        overall = pair.contrast(shown)
        if abs(among.gap) >= _STYLE_CHANGE and abs(overall.gap) >= _NOTE and among.gap * overall.gap > 0:
            differing.append((what, among, overall, glued, split))
    if not differing:
        return None
    what, among, overall, glued, split = max(differing, key=lambda item: abs(item[2].gap))
    others = [item[0] for item in differing if item[0] != what]
    also = f" (also {', '.join(others)})" if others else ""
    how_bad = severity(overall.gap, note=_NOTE, warning=_WARNING)
    return pair.finding(
        "glued-punctuation",
        how_bad or "note",
        f"Punctuation hangs on words on one side and stands alone on the other: of the sentences with {what}, "
        f"{among} have it glued{also}.",
        among,
        "Use --normalize, which splits punctuation off on both sides, or --tokenizer words.",
        spots=(glued, split) if overall.gap > 0 else (split, glued),
    )


def final_punctuation(pair: Pair, shorter_than: int | None) -> Finding | None:
    """Return a finding where sentences of one side lack the mark at their end."""
    stop = Trait.STOP | Trait.STOP_GLUED
    among = _shorter(pair.generated, shorter_than), _shorter(pair.real, shorter_than)
    lacks = (pair.generated.last & int(stop)) == 0, (pair.real.last & int(stop)) == 0
    contrast = pair.contrast(lacks, among)
    how_bad = severity(contrast.gap, note=_NOTE, warning=_WARNING)
    if how_bad is None:
        return None
    remedy = "Give both sides their final punctuation, or take it off on both."
    if _same_share(pair, stop):
        how_bad = "note"
        remedy = "Nothing to repair: the marks are as frequent but stand elsewhere, which is the generator's own doing."
    message = f"Final punctuation differs: {contrast} end without it."
    return pair.finding("missing-final-punctuation", how_bad, message, contrast, remedy)


def _both(pair: Pair, traits: Trait) -> tuple[Mask, Mask]:
    return pair.generated.shows(traits), pair.real.shows(traits)


def _begins(pair: Pair, traits: Trait) -> tuple[Mask, Mask]:
    """Return which sentences of each side begin with a token that shows any of `traits`."""
    return (pair.generated.first & int(traits)) != 0, (pair.real.first & int(traits)) != 0


def _shorter(side: Surface, length: int | None) -> Mask:
    return side.filled if length is None else side.filled & (side.corpus.lengths < length)


def _with_mark(side: Surface, glued: Trait, split: Trait) -> tuple[Mask, Mask]:
    """Return which sentences have the mark glued and which have it split; of full stops only the final one counts."""
    if glued is Trait.STOP_GLUED:
        return (side.last & int(glued)) != 0, (side.last & int(split)) != 0
    return side.shows(glued), side.shows(split)


def _same_share(pair: Pair, traits: Trait) -> bool:
    """Return whether about as many tokens show `traits` on both sides."""
    shares = []
    for side in pair.sides:
        counts = np.bincount(side.words.tokens, minlength=len(side.traits))
        shares.append(int(counts[(side.traits & int(traits)) != 0].sum()) / max(len(side.words.tokens), 1))
    return min(shares) > _SAME_SHARE * max(shares)
