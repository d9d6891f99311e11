"""Checks of answers of models: refusals, messages of errors in their place, and answers that a limit of length ended.

Refusals and errors are known by how they begin, however the text was split into tokens.
"""

import re

import numpy as np

from textassay.corpus.corpus import CUT_OFF
from textassay.corpus.packed_texts import PackedTexts
from textassay.inspection.finding import Finding, Severity
from textassay.inspection.surface import Mask, Pair, Surface

_WARNING = 0.05  # gap from which a finding is a warning
_N_READ = 200  # characters at the start of a text
_N_SURE = 2  # bytes at the start that decide whether a text is read at all
_APOSTROPHES = str.maketrans("\u2019\u02bc", "''")
_GLUE = re.compile(r" n't\b|n 't\b| ?(') ?| (?=[,.!:])")  # where a tokeniser put spaces that people do not write

_VERBS = (
    r"(assist|help|provide|fulfill?|comply|create|generate|write|answer|discuss|engage|support|share|continue|do that|"
    r"give|offer|produce|participate)"
)
_UNABLE = r"(can't|cannot|can not|am unable to|'m unable to|am not able to|'m not able to|won't|will not)"
_CANNOT = rf"(i ?)?{_UNABLE} {_VERBS}\b"
_REFUSAL = re.compile(
    rf"(i'm|i am|we're|we are) (really |very |so )?sorry,? (but )?{_CANNOT}"
    rf"|(sorry|apologies|my apologies|unfortunately),? (but )?{_CANNOT}"
    rf"|i apologi[sz]e,? (but )?{_CANNOT}"
    rf"|i ?{_UNABLE} {_VERBS}( \w+){{0,3}} (that|this|your|the) (request|question|topic|task|content)"
    r"|as an? (ai|artificial intelligence|large language model|language model)\b"
    r"|(i'm|i am) (just )?an ai\b"
)
_ERROR = re.compile(
    r'\{ ?" ?error" ?:|error code: \d{3}|traceback \(most recent call last\)|rate limit (reached|exceeded)'
    r"|http(/1\.1)? (4|5)\d\d|(openai|anthropic|requests|httpx)\.\w*error|internal server error"
)
_STARTS = ("i ", "i'", "i\u2019", "i\u02bc", "we", "so", "ap", "my", "un", "as", '{"', "{ ", "er", "tr", "ra", "ht",
           "op", "an", "re", "in")  # fmt: skip


def refusals(pair: Pair) -> Finding | None:
    """Return a finding if generated texts decline to answer."""
    return _by_start(
        pair,
        _REFUSAL,
        "refusals",
        "Refusals",
        "begin as a refusal does",
        "Count them apart: they tell the generator at once, whatever its other answers are like.",
    )


def error_messages(pair: Pair) -> Finding | None:
    """Return a finding if generated texts are messages of an endpoint or a program."""
    return _by_start(
        pair,
        _ERROR,
        "error-messages",
        "Errors in place of texts",
        "are the message of an error",
        "Ask again for these answers, or leave them out: they are no text of the generator.",
    )


def cut_off(pair: Pair) -> Finding | None:
    """Return a finding if a limit of length ended generated texts, where their file says so."""
    ended = _cut_off(pair.generated), _cut_off(pair.real)
    if not ended[0].any():
        return None
    contrast = pair.contrast(ended)
    return pair.finding(
        "cut-off-answers",
        "warning" if contrast.gap >= _WARNING else "note",
        f"Cut off: a limit of length ended {contrast} (finish reason).",
        contrast,
        "Ask again with a higher limit, or cut both sides with --max-tokens: a judge sees that the end is missing.",
    )


def _by_start(pair: Pair, pattern: re.Pattern[str], kind: str, title: str, what: str, remedy: str) -> Finding | None:
    shown = _begin(pair.generated, pattern), _begin(pair.real, pattern)
    if not shown[0].any():
        return None
    contrast = pair.contrast(shown)
    severity: Severity = "warning" if contrast.gap >= _WARNING else "note"
    return pair.finding(kind, severity, f"{title}: {contrast} {what}.", contrast, remedy)


def _begin(side: Surface, pattern: re.Pattern[str]) -> Mask:
    """Return which texts begin with `pattern`; most are not read, because their first letters say enough."""
    texts = PackedTexts.of(side.corpus.texts)
    shown = np.zeros(len(texts), dtype=np.bool_)
    places = np.flatnonzero(_may_begin(texts))
    for place, text in zip(places.tolist(), texts.take(places), strict=True):
        start = _GLUE.sub(_unglued, text[:_N_READ].strip().lower().translate(_APOSTROPHES))
        shown[place] = pattern.match(start) is not None
    return shown


def _unglued(match: re.Match[str]) -> str:
    return "n't" if "t" in match[0] else match[1] or ""


def _may_begin(texts: PackedTexts) -> Mask:
    """Return which texts have two first bytes that a pattern may begin with, or begin with white space."""
    long = texts.lengths >= _N_SURE
    pairs = np.zeros((len(texts), _N_SURE), dtype=np.uint8)
    for offset in range(_N_SURE):
        pairs[long, offset] = texts.data[texts.starts[long] + offset]
    is_upper = (pairs >= ord("A")) & (pairs <= ord("Z"))
    codes = np.where(is_upper, pairs + 32, pairs).astype(np.uint16) @ np.array([256, 1], dtype=np.uint16)
    wanted = [start.encode()[0] * 256 + start.encode()[1] for start in _STARTS]
    return np.isin(codes, wanted) | (long & (pairs[:, 0] <= ord(" ")))


def _cut_off(side: Surface) -> Mask:
    column = side.corpus.columns.get(CUT_OFF)
    return np.zeros(len(side), dtype=np.bool_) if column is None else np.asarray(column == 1)
