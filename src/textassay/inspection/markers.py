r"""What programs left in texts: markers such as ``<newline>``, ``__eou__`` or ``@@``, and token ids in place of words.

A marker is looked for in the texts as they are measured, so that one which --normalize removed is not reported. Each is
reported with its counts on both sides, also where both have it: shared markers make overlap look better than it is.
"""

import re
from dataclasses import dataclass

import numpy as np

from textassay.corpus.packed_texts import PackedTexts
from textassay.inspection.finding import Finding, own_finding
from textassay.inspection.surface import Mask, Pair, Surface, excerpt, severity_of

_NOTE, _WARNING = 0.005, 0.05  # shares of texts, as for other marks of preprocessing
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?", re.IGNORECASE)
_NUMBERS = 0.95  # of the tokens, from which they are ids
_PADDED = 0.2  # of the texts end in one id twice


@dataclass(frozen=True)
class Marker:
    """One marker: what it looks like, and the command that takes it out of a file of lines."""

    name: str
    sign: str  # without which no text has it
    pattern: re.Pattern[str]
    remedy: str


def _marker(name: str, sign: str, pattern: str, remedy: str) -> Marker:
    return Marker(name, sign, re.compile(pattern, re.IGNORECASE), remedy)


_MARKERS = (
    _marker("<newline>", "<", r"<\s?(?:newline|nl|lf|n)\s?>", "sed -E 's/ *<(newline|nl|lf|n)> */ /g'"),
    _marker("__eou__", "__", r"__eo[uts]__", "sed -E 's/ *__eo[uts]__ */ /g' (or a line end for the space)"),
    _marker("<q>", "<", r"<\s?/?(?:q|t|sep|eou|eot)\s?>", "sed -E 's/ *<[/]?(q|t|sep|eou|eot)> */ /g'"),
    _marker("<think>", "<", r"<\s?/?\s?think(?:ing)?\s?>", "sed -E 's:<think(ing)?>.*</think(ing)?> *::'"),
    _marker("<br />", "<", r"<\s?/?(?:br|p|div|span|i|b|em|strong)\s?/?\s?>", "sed -E 's/<[^>]*>/ /g'"),
    _marker(r"\n (two characters)", "\\", r"\\[nr](?!(?:u|ot|e|eq|abla|i|m|ewline|ho|ight\w*)\b)",
            r"sed -E 's/\\[nr]/ /g'"),
    _marker("@@ (byte pairs)", "@@", r"@@(?:\s|$)", "sed -E 's/@@( |$)//g'"),
    _marker("## (word pieces)", "##", r"(?:^|\s)##[^\W\d_]", "sed 's/ ##//g'"),
    _marker("\u0120 (byte pairs of GPT-2)", "\u0120", "\u0120", "sed 's/ //g; s/\u0120/ /g'"),
    _marker("\u2581 (SentencePiece)", "\u2581", "\u2581", "sed 's/ //g; s/\u2581/ /g'"),
    _marker("@-@ (joiners of Moses)", "@", r"@[-,.:/]@", "sed -E 's/ @([-,.:/])@ /\\1/g'"),
    _marker("&amp; (HTML entities)", "&", r"&(?:[a-z]{2,8}|#x?[0-9a-f]{1,6});",
            "python -c 'import sys, html; print(html.unescape(sys.stdin.read()), end=\"\")'"),
)  # fmt: skip


def marker_findings(pair: Pair) -> list[Finding]:
    """Return a finding for each marker that enough texts of either side have."""
    findings = []
    for marker in _MARKERS:
        shown = _having(pair.generated, marker), _having(pair.real, marker)
        contrast = pair.contrast(shown)
        shares = [count / max(size, 1) for count, size in zip(contrast.counts, contrast.sizes, strict=True)]
        if max(shares) < _NOTE:
            continue
        severity = severity_of(contrast.gap, note=_NOTE, warning=_WARNING) or "note"
        examples = [_example(side, mask, marker) for side, mask in zip(pair.sides, shown, strict=True)]
        findings.append(
            pair.plain_finding(
                "markers", severity, f"Markers remain in the texts: {contrast} have {marker.name}.", contrast.counts,
                contrast.sizes, (examples[0], examples[1]), _remedy(marker, "both sides"),
            )
        )  # fmt: skip
    return findings


def own_markers(side: Surface, name: str) -> list[Finding]:
    """Return a finding for each marker that enough texts of one side have."""
    findings = []
    for marker in _MARKERS:
        shown = _having(side, marker)
        n = int(np.count_nonzero(shown))
        if n and n >= _NOTE * len(side):
            message = f"Markers remain: {n:,} of {len(side):,} texts ({100 * n / len(side):.1f} %) have {marker.name}."
            example = _example(side, shown, marker)
            findings.append(
                own_finding("markers", "note", name, message, n, len(side), example, _remedy(marker, "all sides"))
            )
    return findings


def token_ids(side: Surface, name: str) -> Finding | None:
    """Return a finding if the texts of a side are numbers, as token ids are, and whether they are padded."""
    tokens, words = side.words.tokens, side.words.vocabulary.tokens
    counts = np.bincount(tokens, minlength=len(words))
    n_numbers = sum(n for n, word in zip(counts.tolist(), words, strict=True) if n and _NUMBER.fullmatch(word))
    if n_numbers < max(1, _NUMBERS * len(tokens)):
        return None
    long = np.flatnonzero(side.words.lengths > 1)
    ends = side.words.offsets[long + 1] - 1
    twice = tokens[ends] == tokens[ends - 1]
    last, counts = np.unique(tokens[ends[twice]], return_counts=True)
    n_padded = int(counts.max(initial=0))
    if n_padded < _PADDED * len(side):
        return own_finding(
            "token-ids", "note", name, "Texts are numbers, like token ids.", len(side), len(side),
            excerpt(side.corpus.texts[0]), (
                "Decode them with the tokenizer that made them (tokenizer.decode(ids)), unless the vocabulary is "
                "synthetic."
            ),
        )  # fmt: skip
    pad = side.words.vocabulary.tokens[int(last[np.argmax(counts)])]
    return own_finding(
        "token-ids", "warning", name,
        f"Texts are token ids, padding {pad}: {n_padded:,} of {len(side):,} end in it twice, and it counts as text.",
        n_padded, len(side), excerpt(side.corpus.texts[int(long[np.argmax(twice)])]),
        f"Remove the padding on both sides, for example with sed -E 's/( {pad})+$//' FILE > NEW, or decode the ids "
        "with the tokenizer that made them.",
    )  # fmt: skip


def _remedy(marker: Marker, sides: str) -> str:
    return f"Remove them on {sides}, for example with {marker.remedy} < FILE > NEW; they are not text."


def _having(side: Surface, marker: Marker) -> Mask:
    """Return which texts have a marker; those of a block without its sign are not read."""
    shown = np.zeros(len(side), dtype=np.bool_)
    start, sign = 0, marker.sign.encode()
    for block in PackedTexts.of(side.corpus.texts).blocks():
        if sign in block.data.tobytes():
            for place, text in enumerate(block, start=start):
                shown[place] = marker.sign in text and marker.pattern.search(text) is not None
        start += len(block)
    return shown


def _example(side: Surface, shown: Mask, marker: Marker) -> str | None:
    if not shown.any():
        return None
    text = side.corpus.texts[int(np.argmax(shown))]
    match = marker.pattern.search(text)
    return excerpt(text, None if match is None else match[0])
