"""Checks of traces of preprocessing: unknown words, masked numbers, special tokens, foreign characters."""

import unicodedata

import numpy as np
import numpy.typing as npt

from textassay.inspection.finding import Finding, Severity
from textassay.inspection.surface import Contrast, Mask, Pair, Surface, gap, severity_of
from textassay.inspection.token_traits import Trait

_NOTE, _WARNING = 0.005, 0.05
_DIGITS_NOTE, _DIGITS_WARNING = 0.02, 0.1
_RARER = 0.1
_OWN_SHARE = 0.01
_MIN_OCCURRENCES = 10
_N_NAMED = 6

_ARTEFACTS = {
    Trait.ENTITY: "escaped characters such as &apos;",
    Trait.JOINER: "joiners such as @-@",
    Trait.SUBWORD: "marks of subword tokenisers",
    Trait.MOJIBAKE: "wrongly decoded characters",
    Trait.TREEBANK: "treebank brackets or quotes such as -LRB-",
}
_NAMED_ELSEWHERE = Trait.UNKNOWN | Trait.MASK | Trait.SPECIAL | Trait.WEAK_MASK | Trait.NUMBER_GLUED
for _trait in _ARTEFACTS:
    _NAMED_ELSEWHERE |= _trait


def unknown_tokens(pair: Pair) -> Finding | None:
    """Return a finding if tokens such as ``<unk>`` replace rare words more often on one side."""
    return _marker(
        pair,
        Trait.UNKNOWN,
        "unknown-tokens",
        "have a token that replaces an unknown word",
        "Give both sides the same vocabulary: replace rare words by the same token on both sides, or on neither.",
    )


def masked_digits(pair: Pair) -> Finding | None:
    """Return a finding if numbers are masked (``_num_``, ``N``, ``##``, ``000``) more often on one side.

    The last three also occur in ordinary text: they count only if the other side has more plain digits.
    """
    weak = pair.traits(Trait.WEAK_MASK).gap * pair.traits(Trait.DIGIT).gap < 0
    for trait in (Trait.MASK, Trait.WEAK_MASK) if weak else (Trait.MASK,):
        finding = _marker(
            pair,
            trait,
            "masked-digits",
            "have a masked number",
            "Mask numbers on both sides in the same way, or on neither.",
        )
        if finding is not None:
            return finding
    return None


def digits(pair: Pair) -> Finding | None:
    """Return a finding if one side has almost no digits and the other does."""
    contrast = pair.traits(Trait.DIGIT)
    severity = severity_of(contrast.gap, note=_DIGITS_NOTE, warning=_DIGITS_WARNING)
    shares = sorted(count / max(size, 1) for count, size in zip(contrast.counts, contrast.sizes, strict=True))
    if severity is None or shares[0] > _RARER * shares[1]:
        return None
    return pair.finding(
        "digits",
        severity,
        f"Numbers are written differently: {contrast} have a digit from 1 to 9.",
        contrast,
        "Write numbers the same way on both sides: as digits, as words or as one mask.",
        spots=(Trait.DIGIT, Trait.DIGIT),
    )


def special_tokens(pair: Pair) -> Finding | None:
    """Return a finding if tokens such as ``</s>`` or ``[PAD]`` were left in, on one side or on both."""
    finding = _marker(
        pair,
        Trait.SPECIAL,
        "special-tokens",
        "have a special token left in",
        "Strip special tokens from both sides: they are not part of the text.",
    )
    contrast = pair.traits(Trait.SPECIAL)
    shares = [count / max(size, 1) for count, size in zip(contrast.counts, contrast.sizes, strict=True)]
    if finding is not None or min(shares) < _OWN_SHARE:
        return finding
    return pair.finding(
        "special-tokens",
        "note",
        f"Both sides have special tokens left in: {contrast}.",
        contrast,
        "Strip them from both sides: shared tokens make n-gram overlap look better than it is.",
        spots=(Trait.SPECIAL, Trait.SPECIAL),
    )


def alphabet(pair: Pair) -> Finding | None:
    """Return a finding if one side has characters or tokeniser marks that the other lacks.

    Letters are compared without case; ASCII letters and digits, markers such as ``<unk>`` and numbers such as ``1,600``
    have checks of their own. A side lacks a character if it is less than a tenth as frequent there.
    """
    only: list[Mask] = []
    names: list[list[str]] = []
    words = _compared(pair.real)
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    types = np.repeat(np.arange(len(words)), [len(word) for word in words])
    counts = [_occurrences(side, codes, types) for side in pair.sides]
    for here, there, sign in ((0, 1, 1), (1, 0, -1)):
        lacking = _lacking(counts[here], counts[there])
        chosen = np.zeros(len(words), dtype=np.bool_)
        chosen[types[np.isin(codes, lacking)]] = True
        artefacts = []
        for trait, name in _ARTEFACTS.items():
            if sign * pair.traits(trait).gap >= _NOTE:
                chosen |= (pair.real.traits & int(trait)) != 0
                artefacts.append(name)
        only.append(chosen)
        names.append(artefacts + [_character_name(code) for code in lacking])
    contrasts = [pair.contrast((_has(pair.generated, chosen), _has(pair.real, chosen))) for chosen in only]
    worst = int(abs(contrasts[1].gap) > abs(contrasts[0].gap))
    severity: Severity | None = severity_of(contrasts[worst].gap, note=_NOTE, warning=_WARNING)
    if severity is None or (contrasts[worst].gap > 0) != (worst == 0):
        return None
    side, other = ("generated", "real") if worst == 0 else ("real", "generated")
    listed = ", ".join(names[worst][:_N_NAMED]) + (" and others" if len(names[worst]) > _N_NAMED else "")
    return pair.finding(
        "alphabet",
        severity,
        f"The {side} text has what the {other} text lacks: {contrasts[worst]} have one or more of: {listed}.",
        contrasts[worst],
        "Use --normalize, which unifies quotes, dashes, escapes and character widths; prepare anything else "
        "the same way on both sides.",
        spots=(only[worst], only[worst]),
    )


def _marker(pair: Pair, trait: Trait, kind: str, what: str, remedy: str) -> Finding | None:
    contrast: Contrast = pair.traits(trait)
    severity = severity_of(contrast.gap, note=_NOTE, warning=_WARNING)
    if severity is None:
        return None
    return pair.finding(kind, severity, f"{contrast} {what}.", contrast, remedy, spots=(trait, trait))


def _compared(side: Surface) -> list[str]:
    """Return the tokens of the vocabulary in lower case; those that other checks report are empty strings."""
    ordinary = (side.traits & int(_NAMED_ELSEWHERE)) == 0
    return [
        token.lower() if compared else ""
        for token, compared in zip(side.words.vocabulary.tokens, ordinary.tolist(), strict=True)
    ]


def _occurrences(side: Surface, codes: npt.NDArray[np.uint32], types: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the number of occurrences of each character, shape (0x110000,)."""
    n_tokens = np.bincount(side.words.tokens, minlength=len(side.traits))
    return np.bincount(codes, weights=n_tokens[types], minlength=0x110000).astype(np.float64)


def _lacking(here: npt.NDArray[np.float64], there: npt.NDArray[np.float64]) -> list[int]:
    """Return the characters frequent in `here` that `there` lacks, most frequent first."""
    n_here, n_there = int(here.sum()), int(there.sum())
    if not n_here or not n_there:
        return []
    candidates = np.flatnonzero((here >= _MIN_OCCURRENCES) & (_RARER * here / n_here > there / n_there))
    lacking = [
        code
        for code in candidates.tolist()
        if not (chr(code).isascii() and (chr(code).isalnum() or chr(code) in ".!?"))
        and gap(int(here[code]), n_here, int(there[code]), n_there) > 0
    ]
    return sorted(lacking, key=lambda code: -here[code])


def _has(side: Surface, types: Mask) -> Mask:
    """Return which texts have a token of `types`, shape (N,)."""
    mask = np.zeros(len(side), dtype=np.bool_)
    filled = np.flatnonzero(side.words.lengths)
    if len(filled):
        mask[filled] = np.logical_or.reduceat(types[side.words.tokens], side.words.offsets[filled])
    return mask


def _character_name(code: int) -> str:
    character = chr(code)
    name = unicodedata.name(character, f"U+{code:04X}")
    return f"{character} ({name.lower()})" if character.isprintable() else name.lower()
