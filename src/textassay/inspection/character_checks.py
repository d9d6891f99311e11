"""The checks of characters: differences that a reader hardly sees and a metric does, and scripts.

What a check names, the check of the alphabet leaves out.
"""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.structure import look_like_documents
from textassay.inspection.finding import OWN_SHARE, Finding, Severity, own_finding
from textassay.inspection.surface import (
    NO_SCRIPT,
    NOTE,
    Characters,
    Contrast,
    Mask,
    Pair,
    Sign,
    Surface,
    excerpt,
    script_of,
    severity_of,
)

_NOTE, _WARNING = 0.005, 0.05  # as for marks of preprocessing: one character gives a text away
_STYLE_CHANGE = 0.1  # of the texts with quotes, as for glued punctuation
_LONE_RETURN = re.compile(r"\r(?!\n)")
_N_NAMED = 3
_N_SCRIPTS = 4
_LEAST_SHARE = 0.005  # of the texts of a side, for a script to be listed


@dataclass(frozen=True)
class _Check:
    """One sign: the kind of its finding, its message, and what to do."""

    sign: Sign
    kind: str
    message: str  # with the contrast, and the characters that show it
    remedy: str


_CHECKS = (
    _Check(
        Sign.DECOMPOSED,
        "composition",
        "Accented letters are written differently: {contrast} have letters that are not in the Unicode form NFC, with "
        "{characters}.",
        "Use --normalize, or write both sides in the form NFC: the words look the same, but are different tokens.",
    ),
    _Check(
        Sign.FORM,
        "character-forms",
        "Character forms differ: {contrast} have full-width, half-width or styled characters, such as {characters}.",
        "Use --normalize, which writes the ordinary forms on both sides.",
    ),
    _Check(
        Sign.INVISIBLE,
        "invisible-characters",
        "Invisible characters differ: {contrast} have some, such as {characters}.",
        "Use --normalize, which removes them on both sides.",
    ),
    _Check(
        Sign.ALIKE,
        "mixed-script-words",
        "Words with letters of two scripts that look alike: {contrast} have some, with {characters}.",
        "Write each word in the letters of one script: these words look like others, but are different tokens.",
    ),
)
_QUOTES = _Check(
    Sign.CURLY,
    "quotes",
    "Quotes are curly on one side and straight on the other: of the texts with quotes or apostrophes, {contrast} have "
    "curly ones.",
    "Use --normalize, which straightens quotes on both sides.",
)
_RETURNS = _Check(
    Sign.RETURN,
    "carriage-returns",
    "Carriage returns stand inside texts: {contrast} have a \\r without \\n, which ends no text: line ends of old "
    "Macs, so that several texts became one, or strays.",
    "Write \\n for each \\r that ends a text (tr '\\r' '\\n' < FILE > NEW), and a space for each that does not.",
)
_WINDOWS = _Check(
    Sign.RETURN,
    "carriage-returns",
    "Line ends inside texts differ: {contrast} have those of Windows (\\r\\n).",
    "Write line ends as \\n on both sides; --normalize turns them into spaces.",
)
_BREAKS = _Check(
    Sign.BREAK,
    "line-breaks",
    "Line breaks differ: {contrast} have a line break, inside or at an end.",
    "Treat line breaks alike on both sides. JSON lines and folders of text files keep them; --normalize turns them "
    "into spaces.",
)
_SPACES = _Check(
    Sign.SPACE,
    "special-spaces",
    "White space differs: {contrast} have special spaces, such as {characters}.",
    "Use --normalize, which leaves ordinary spaces on both sides.",
)


def sees_space(corpus: Corpus) -> bool:
    """Return whether white space is in tokens, so that metrics see it."""
    return corpus.tokenizer.split("+")[0] == "chars" or corpus.tokenizer.startswith(("bpe-", "hf-"))


def character_checks(pair: Pair) -> tuple[list[Finding], frozenset[int]]:
    """Return the findings about characters, and the code points that they explain."""
    findings: list[Finding] = []
    explained: set[int] = set()
    for check in _CHECKS:
        contrast = _contrast(pair, check.sign)
        _add(pair, check, contrast, severity_of(contrast.gap, note=_NOTE, warning=_WARNING), findings, explained)
    contrast, overall = _contrast(pair, Sign.CURLY, Sign.CURLY | Sign.STRAIGHT), _contrast(pair, Sign.CURLY)
    if abs(contrast.gap) >= _STYLE_CHANGE and contrast.gap * overall.gap > 0 and abs(overall.gap) >= NOTE:
        _add(pair, _QUOTES, contrast, severity_of(overall.gap), findings, explained)
        explained |= {ord("'"), ord('"')}
    lone = lone_returns(pair.generated), lone_returns(pair.real)
    windows = tuple(side.characters.shows(Sign.RETURN) & ~mask for side, mask in zip(pair.sides, lone, strict=True))
    is_shown = sees_space(pair.real.corpus)
    for check, contrast, is_seen in (
        (_RETURNS, pair.contrast(lone), True),
        (_WINDOWS, pair.contrast((windows[0], windows[1])), is_shown),
        (_BREAKS, _contrast(pair, Sign.BREAK), is_shown or look_like_documents(pair.real.corpus.texts)),
        (_SPACES, _contrast(pair, Sign.SPACE), is_shown),
    ):
        severity = severity_of(contrast.gap, note=_NOTE, warning=_WARNING)
        if severity is not None and not is_seen:
            severity = "note"  # tokens do not show it; encoders of texts do
        if check is _RETURNS and contrast.gap < 0:
            severity = None  # the real text's own finding
        _add(pair, check, contrast, severity, findings, explained)
    by_script = scripts(pair)
    if by_script is not None:
        findings.append(by_script[0])
    return findings, frozenset(explained | (by_script[1] if by_script is not None else set()))


def lone_returns(side: Surface) -> Mask:
    """Return which texts have a carriage return that belongs to no line end, shape (N,)."""
    mask = np.zeros(len(side), dtype=np.bool_)
    for place in np.flatnonzero(side.characters.shows(Sign.RETURN)).tolist():
        mask[place] = _LONE_RETURN.search(side.corpus.texts[place]) is not None
    return mask


def own_returns(side: Surface, name: str) -> Finding | None:
    """Return a finding if texts of one side have carriage returns that belong to no line end."""
    lone = lone_returns(side)
    n_lone = int(np.count_nonzero(lone))
    if not n_lone or n_lone < OWN_SHARE * len(side):
        return None
    share = f"{n_lone:,} of {len(side):,} texts ({100 * n_lone / len(side):.1f} %)"
    example = excerpt(side.corpus.texts[int(np.argmax(lone))], "\r")
    message = _RETURNS.message.format(contrast=share)
    severity = severity_of(n_lone / len(side), note=OWN_SHARE, warning=_WARNING)
    return own_finding(_RETURNS.kind, severity or "note", name, message, n_lone, len(side), example, _RETURNS.remedy)


def scripts(pair: Pair) -> tuple[Finding, set[int]] | None:
    """Return a finding if texts are in other scripts on one side, and the letters of the scripts that differ."""
    sides = pair.generated.characters, pair.real.characters
    names = dict.fromkeys((*sides[0].names, *sides[1].names))
    among = sides[0].scripts > 0, sides[1].scripts > 0
    contrasts = {
        name: pair.contrast((sides[0].mostly(name), sides[1].mostly(name)), among)
        for name in names
        if name != NO_SCRIPT
    }
    if not contrasts:
        return None
    worst = max(contrasts, key=lambda name: abs(contrasts[name].gap))
    severity = severity_of(contrasts[worst].gap)
    if severity is None:
        return None
    shares = "; ".join(
        f"{name}: {_shares(side, mask)}" for name, side, mask in zip(("generated", "real"), sides, among, strict=True)
    )
    finding = pair.finding(
        "scripts",
        severity,
        f"Texts are in different scripts: {contrasts[worst]} are mostly {worst} ({shares}).",
        contrasts[worst],
        "Compare texts in the same language: choose the same languages on both sides, or measure each one separately.",
    )
    differing = {name for name, contrast in contrasts.items() if severity_of(contrast.gap, note=_NOTE) is not None}
    if "Japanese" in differing:
        differing.add("Han")
    used = {int(code) for side in pair.sides for code in _codes(side)}
    return finding, {code for code in used if script_of(chr(code)) in differing}


def _contrast(pair: Pair, sign: Sign, among: Sign | None = None) -> Contrast:
    sides = pair.generated.characters, pair.real.characters
    shown: tuple[Mask, Mask] = (sides[0].shows(sign), sides[1].shows(sign))
    return pair.contrast(shown, None if among is None else (sides[0].shows(among), sides[1].shows(among)))


def _add(
    pair: Pair,
    check: _Check,
    contrast: Contrast,
    severity: Severity | None,
    findings: list[Finding],
    explained: set[int],
) -> None:
    if severity is None:
        return
    more = 0 if contrast.gap > 0 else 1
    counts = pair.sides[more].characters.counts[check.sign]
    codes = [code for code, _ in counts.most_common() if not (chr(code).isascii() and chr(code).isalnum())]
    named = [_name(code) for code in codes[:_N_NAMED]]
    listed = ", ".join(named) + (" and others" if len(codes) > _N_NAMED else "")
    examples = [
        _example(side, having, considered & ~having, counts, is_more=number == more)
        for number, (side, having, considered) in enumerate(
            zip(pair.sides, contrast.has_trait, contrast.considered, strict=True)
        )
    ]
    message = check.message.format(contrast=contrast, characters=listed)
    findings.append(
        pair.plain_finding(
            check.kind, severity, message, contrast.counts, contrast.sizes, (examples[0], examples[1]), check.remedy
        )
    )
    explained.update(codes)
    explained.update(ord(form) for code in codes for form in unicodedata.normalize("NFKC", chr(code)))


def _example(side: Surface, having: Mask, others: Mask, codes: dict[int, int], *, is_more: bool) -> str | None:
    """Return an excerpt of a text that has one of `codes`, around it, or of one that does not."""
    candidates = having if is_more else others
    if not candidates.any():
        return None
    text = side.corpus.texts[int(np.argmax(candidates))]
    spot = next((character for character in text if ord(character) in codes), None) if is_more else None
    return excerpt(text, spot)


def _shares(characters: Characters, among: Mask) -> str:
    """Return the scripts of a side with the shares of its texts, the most frequent first."""
    counts = np.bincount(characters.scripts[among], minlength=len(characters.names))
    total = max(1, int(counts.sum()))
    most = sorted(range(len(counts)), key=lambda number: -counts[number])
    listed = [
        f"{characters.names[number]} {100 * counts[number] / total:.1f} %"
        for number in most
        if counts[number] >= max(1, _LEAST_SHARE * total)
    ]
    more = f", {len(listed) - _N_SCRIPTS} more" if len(listed) > _N_SCRIPTS else ""
    return ", ".join(listed[:_N_SCRIPTS]) + more if listed else "no letters"


def _codes(side: Surface) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Return the code points in the vocabulary of a side."""
    letters = "".join(side.words.vocabulary.tokens).lower()
    return np.unique(np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), dtype=np.uint32))


def _name(code: int) -> str:
    character = chr(code)
    name = f"U+{code:04X} {unicodedata.name(character, 'control character').lower()}"
    is_shown = character.isprintable() and not unicodedata.combining(character) and not character.isspace()
    return f"{character} ({name})" if is_shown else name
