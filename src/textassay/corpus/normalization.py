"""Normalisation, which makes differently prepared texts comparable.

`normalize` first splits off every punctuation mark, so that attached and separate marks become the same, and then joins
contractions, decimal numbers and ellipses: ``don't``, ``do n't`` and ``don ' t`` all become ``don't``.

Unicode compatibility forms: Unicode Standard Annex 15 (NFKC).
"""

import html
import re
import unicodedata

_MAX_PASSES = 10
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_UNIFIED: dict[int, str | None] = {
    ord(character): "'" for character in "\u2018\u2019\u201a\u201b\u2032\u00b4\u0060\u02bc"
}
_UNIFIED |= {ord(character): '"' for character in "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"}
_UNIFIED |= {ord(character): "-" for character in "\u2010\u2011\u2012\u2013\u2212"}
_UNIFIED |= {ord(character): "--" for character in "\u2014\u2015"}
# soft hyphen, zero-width characters, fillers, variation selectors, direction of writing, notes between the lines
_UNIFIED |= {
    ord(character): None for character in "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\ufeff"
}
_UNIFIED |= dict.fromkeys(
    (*range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10), *range(0xFFF9, 0xFFFC))
)
_UNIFIED |= {code: None for code in _CONTROLS if not chr(code).isspace()}
# joiners and non-joiners after letters that never join: Latin, Greek, Cyrillic, Hebrew, Thai, Lao, kana, Han, Hangul
_IDLE_JOINER = re.compile(
    "(?<=[0-9A-Za-z\u00c0-\u052f\u05d0-\u05ea\u0e01-\u0eff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3])[\u200c\u200d]+"
)
_JOINERS = re.compile(r"@([-,.:/])@")
_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}
_BRACKET = re.compile("|".join(_BRACKETS))
_QUOTES = re.compile("``|''")

# A piece is a special marker, a run without space and punctuation, or one punctuation mark. Marks are ASCII punctuation
# except the underscore, Latin-1 marks, general punctuation, arrows to miscellaneous symbols, CJK punctuation, emoji.
_MARKS = (
    r"!-/:-@\[-\^`{-~\u00a1-\u00a9\u00ab-\u00b1\u00b4-\u00b9\u00bb-\u00bf\u00d7\u00f7\u2010-\u206f\u2190-\u2bff"
    r"\u3001-\u303f\U0001f000-\U0001faff"
)
_PIECE = re.compile(
    rf"<\|[a-z0-9_]+\|>|</?[a-z][a-z0-9_]*>|\[(?:unk|num|pad|cls|sep|mask|bos|eos|sos)\]|[^\s{_MARKS}]+|(?!\s)[{_MARKS}]"
)

_NEGATION = re.compile(r"(?<=[^\W\d_]) n ' t(?= |$)")
_CONTRACTION = re.compile(r"(?<=[^\W\d_]) ' (?=(?:s|t|re|ve|ll|d|m)(?: |$))")
_DECIMAL = re.compile(r"(?<=\d) \. (?=\d)")
_THOUSANDS = re.compile(r"(?<=\d) , (?=\d{3}(?!\d))")
_RUN = re.compile(r"(?<=\.) (?=\.)|(?<=-) (?=-)")


def normalize(text: str) -> str:
    """Return `text` in lower case, with separate punctuation, unified characters and single spaces.

    Typographic quotes, dashes and ellipses, full-width forms, escapes such as ``&apos;``, treebank brackets and quotes
    and ``@-@`` joiners become plain ASCII; letters and their marks are composed; characters that nobody sees
    (zero-width ones, soft hyphens, marks of direction, variation selectors) are removed. Contractions (``don't``),
    numbers with decimal points or thousands commas, and markers such as ``<unk>`` stay one token. Normalising twice
    changes nothing.

    >>> normalize("They don\u2019t pay $1,600\u2026")
    "they don't pay $ 1,600 ..."
    >>> normalize("They do n't pay $ 1 , 600 ...")
    "they don't pay $ 1,600 ..."
    """
    if text.isascii() and text.isprintable() and "&" not in text:
        return _respace(_plain(text.lower()))
    for _ in range(_MAX_PASSES):
        before = text
        text = _respace(_plain(_unify(text)))
        if text == before:
            break
    return text


def _unify(text: str) -> str:
    """Return `text` unescaped, in compatibility form, with ASCII for typographic characters, in lower case."""
    for _ in range(_MAX_PASSES):
        before, text = text, _ENTITY.sub(lambda match: html.unescape(match[0]), text)
        if text == before:
            break
    plain = _IDLE_JOINER.sub("", unicodedata.normalize("NFKC", text).translate(_UNIFIED))
    return unicodedata.normalize("NFKC", plain.lower())


def _plain(text: str) -> str:
    """Return lower-case `text` without the markers of tokenisers."""
    if "@" in text:
        text = _JOINERS.sub(r"\1", text)
    if "b-" in text:
        text = _BRACKET.sub(lambda match: _BRACKETS[match[0]], text)
    if "``" in text or "''" in text:
        text = _QUOTES.sub('"', text)
    return text.replace("`", "'")


def _respace(text: str) -> str:
    """Return `text` with all marks split off, then contractions, numbers and ellipses joined."""
    text = " ".join(_PIECE.findall(text))
    if "'" in text:
        text = _CONTRACTION.sub("'", _NEGATION.sub("n ' t", text))
    if " . " in text:
        text = _RUN.sub("", _DECIMAL.sub(".", text))
    if " , " in text:
        text = _THOUSANDS.sub(",", text)
    return _RUN.sub("", text) if "- -" in text else text
