"""Checks of style: case, attached or separate punctuation, final punctuation."""

import numpy as np

from textassay.inspection.finding import Finding
from textassay.inspection.surface import Contrast, Mask, Pair, Surface, severity_of
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
    """Return a finding if case differs: lower, upper, or no capital at the start."""
    lettered = _both(pair, Trait.LETTER)
    mostly = pair.generated.mostly_upper, pair.real.mostly_upper
    initial = _begins(pair, Trait.INITIAL_UPPER)
    ways = (
        ("are mostly in capitals", pair.contrast(mostly, lettered)),
        ("have a capital letter", pair.contrast(_both(pair, Trait.UPPER), lettered)),
        ("begin with a capital letter", pair.contrast(initial, _begins(pair, Trait.LETTER))),
    )
    for number, (what, contrast) in enumerate(ways):
        severity = severity_of(contrast.gap, note=_NOTE, warning=_WARNING)
        if severity is None:
            continue
        remedy = "Use --lowercase, which makes both sides lower-case, or prepare both sides the same way."
        if number and _same_share(pair, Trait.UPPER):
            severity = "note"
            remedy = (
                "Nothing to repair: capitals are as frequent but in other places, which is how the generator writes; "
                "--lowercase leaves them out of the comparison."
            )
        message = f"Case differs: {contrast} {what}."
        return pair.finding("case", severity, message, contrast, remedy, spots=(Trait.UPPER, Trait.UPPER))
    return None


def glued_punctuation(pair: Pair) -> Finding | None:
    """Return a finding if punctuation is attached to words on one side and separate on the other.

    A kind of mark counts if, among the texts that have it, the attached form is much more frequent on one side, and if
    this concerns enough of all texts to move a metric.
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
    severity = severity_of(overall.gap, note=_NOTE, warning=_WARNING)
    return pair.finding(
        "glued-punctuation",
        severity or "note",
        f"Punctuation is attached to words on one side and separate on the other: of the texts with {what}, "
        f"{among} have it attached{also}.",
        among,
        "Use --normalize, which splits punctuation off on both sides, or --tokenizer words.",
        spots=(glued, split) if overall.gap > 0 else (split, glued),
    )


def final_punctuation(pair: Pair, shorter_than: int | None) -> Finding | None:
    """Return a finding if the texts of one side lack final punctuation."""
    stop = Trait.STOP | Trait.STOP_GLUED
    among = _shorter(pair.generated, shorter_than), _shorter(pair.real, shorter_than)
    lacks = (pair.generated.last & int(stop)) == 0, (pair.real.last & int(stop)) == 0
    contrast = pair.contrast(lacks, among)
    severity = severity_of(contrast.gap, note=_NOTE, warning=_WARNING)
    if severity is None:
        return None
    remedy = "Keep final punctuation on both sides, or remove it on both."
    if _same_share(pair, stop):
        severity = "note"
        remedy = "Nothing to repair: the marks are as frequent but in other places, which is how the generator writes."
    message = f"Final punctuation differs: {contrast} end without it."
    return pair.finding("missing-final-punctuation", severity, message, contrast, remedy)


def _both(pair: Pair, traits: Trait) -> tuple[Mask, Mask]:
    return pair.generated.shows(traits), pair.real.shows(traits)


def _begins(pair: Pair, traits: Trait) -> tuple[Mask, Mask]:
    """Return which texts of each side begin with a token that has any of `traits`."""
    return (pair.generated.first & int(traits)) != 0, (pair.real.first & int(traits)) != 0


def _shorter(side: Surface, length: int | None) -> Mask:
    return side.filled if length is None else side.filled & (side.corpus.lengths < length)


def _with_mark(side: Surface, glued: Trait, split: Trait) -> tuple[Mask, Mask]:
    """Return which texts have the mark attached and which separate; of full stops only the final one counts."""
    if glued is Trait.STOP_GLUED:
        return (side.last & int(glued)) != 0, (side.last & int(split)) != 0
    return side.shows(glued), side.shows(split)


def _same_share(pair: Pair, traits: Trait) -> bool:
    """Return whether about as many tokens have `traits` on both sides."""
    shares = []
    for side in pair.sides:
        counts = np.bincount(side.words.tokens, minlength=len(side.traits))
        shares.append(int(counts[(side.traits & int(traits)) != 0].sum()) / max(len(side.words.tokens), 1))
    return min(shares) > _SAME_SHARE * max(shares)
