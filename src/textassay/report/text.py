"""How numbers and texts are written for people: decimals as uncertainty carries them, nothing that could steer a page.

Stored files (JSON, CSV) keep full precision and never come here.
"""

import math
import re
import statistics
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from textassay.estimate import Estimate, Interval

MISSING = "n/a"
NOT_VALID = "not valid"
_MOST_DECIMALS = 6
_HUGE = 1e12  # from here on in powers of ten, such as an e-value
_ONE_SIDED = 0.1
# Unicode's embeddings, overrides and isolates, by which a text turns the order of what follows.
_DIRECTIONS = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
_ROUNDING = 1e-12  # an interval no wider than this is one of constants, and its width that of floating point


def decimals(value: float, half_width: float | None) -> int:
    """Return how many decimals to show.

    `half_width`: none, 0 or NaN where there is none.
    """
    size = abs(value) if math.isfinite(value) else 1.0
    least = 3 if size < 10 else max(0, 3 - math.floor(math.log10(size)))
    if half_width is None or not math.isfinite(half_width) or half_width <= 0:
        return least
    return min(_MOST_DECIMALS, max(least, -math.floor(math.log10(half_width))))


def places_for(estimates: Iterable[Estimate | None]) -> int:
    """Return the decimals that suit a column of estimates: those of its median value and median half-width."""
    known = [estimate for estimate in estimates if estimate is not None and math.isfinite(estimate.value)]
    if not known:
        return 3
    widths = [width for width in map(half_width, known) if width is not None and width > _ROUNDING]
    return decimals(
        statistics.median(abs(estimate.value) for estimate in known), statistics.median(widths) if widths else None
    )


def half_width(estimate: Estimate) -> float | None:
    """Return the longer arm of the interval around the value, none where there is no finite interval."""
    if estimate.interval is None:
        return None
    arm = max(estimate.value - estimate.interval.low, estimate.interval.high - estimate.value)
    return arm if math.isfinite(arm) else None


def number(value: float | None, places: int, *, sign: bool = False) -> str:
    """Return `value` with `places` decimals, never "-0.000"; "n/a" for none, NaN and infinity."""
    if value is None or not math.isfinite(value):
        return MISSING
    if abs(value) >= _HUGE:
        return f"{value:+.2e}" if sign else f"{value:.2e}"
    text = f"{value:+,.{places}f}" if sign else f"{value:,.{places}f}"
    return f"{0:.{places}f}" if not text.strip("+-0.,") else text


def interval(bounds: Interval | None, places: int) -> str:
    """Return "[low, high]", or an empty text where there is no interval."""
    return "" if bounds is None else span(bounds.low, bounds.high, places)


def span(low: float | None, high: float | None, places: int) -> str:
    """Return "[low, high]", or an empty text where there are no such numbers."""
    return "" if low is None else f"[{number(low, places)}, {number(high, places)}]"


def ends(bounds: Interval | None) -> tuple[float | None, float | None]:
    """Return the ends of an interval, none where there is none."""
    return (None, None) if bounds is None else (bounds.low, bounds.high)


def rank_range(low: int | None, high: int | None) -> str:
    """Return "1" or "1-3", empty where there is no rank."""
    if low is None:
        return ""
    return str(low) if low == high else f"{low}-{high}"


def is_one_sided(below: float, above: float) -> bool:
    """Return whether an interval with these arms lies on one side of its value only, as at the end of a range."""
    return max(below, above) > _ROUNDING and min(below, above) < _ONE_SIDED * max(below, above)


def value_and_half_width(estimate: Estimate, places: int) -> tuple[str, str]:
    """Return the value and its uncertainty: half the interval, or the interval itself where it is one-sided."""
    value = number(estimate.value, places)
    width = half_width(estimate)
    if width is None or estimate.interval is None:
        return value, ""
    if width <= _ROUNDING:
        width = 0.0
    if is_one_sided(estimate.value - estimate.interval.low, estimate.interval.high - estimate.value):
        return value, interval(estimate.interval, places)
    unseen = 0 < width < 0.5 * 10.0**-places
    return value, "±" + (f"<{10.0**-places:.{places}f}" if unseen else number(width, places))


def p_value(p: float | None) -> str:
    """Return a p-value in at most three decimals, "<0.001" below that, "n/a" for none."""
    if p is None or not math.isfinite(p):
        return MISSING
    if p < 0.001:
        return "<0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def shown_p(details: Mapping[str, Any]) -> str:
    """Return the p-value among an estimate's details; empty where there is none.

    Where no permutation was as far out as the true labels, p is at most the least that so many can give.
    """
    p, n = details.get("p_value"), details.get("n_permutations")
    if p is None:
        return ""
    least = None if n is None else 1 / (n + 1)
    return p_value(p) if least is None or p > least * (1 + 1e-9) else f"<={least:.2g}"


def count(n: int) -> str:
    """Return a whole number with thousands marked by commas."""
    return f"{n:,}"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: "1 page", "2 pages"."""
    return f"{count(n)} {noun}{'s' * (n != 1)}"


def level(share: float) -> str:
    """Return a share as percent: 0.95 is "95 %"."""
    return f"{100 * share:.6g} %"


def join_words(words: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def join_few(words: Sequence[str], most: int = 4) -> str:
    """Return the words as `join_words` does, of more than `most` the first ones and how many more there are."""
    more = [f"{len(words) - most} more"] if len(words) > most else []
    return join_words([*words[:most], *more])


def printable(text: str) -> str:
    """Return `text` with what could steer a terminal or reorder a page replaced: controls, line breaks, directions."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _steers(character) else character for character in text)


def shorten(text: str, width: int) -> str:
    """Return `text` in at most `width` characters, cut in the middle: both ends of a text tell something."""
    if len(text) <= width:
        return text
    tail = (width - 3) // 3
    return f"{text[: width - 3 - tail].rstrip()} … {text[len(text) - tail :].lstrip()}"


def clause(text: str, width: int) -> str:
    """Return the beginning of a sentence in at most `width` characters: up to its last end of a clause, or word."""
    if len(text) <= width:
        return text
    starts = [text[: match.start()] for match in re.finditer(r"[;:.] | \(|(?<=\)), ", text[: width + 2])]
    whole = [start for start in starts if width // 3 < len(start) <= width and start.count("(") == start.count(")")]
    return whole[-1] if whole else f"{text[: width - 2].rsplit(' ', 1)[0]} …"


def excerpt(text: str, width: int, phrases: Sequence[str] = ()) -> str:
    """Return `text` in at most `width` characters, cut at spaces around the first of `phrases` that it holds.

    Without one, as `shorten` does. Line breaks become the sign of a return.
    """
    text = re.sub(r"\s*\n\s*", " \u23ce ", text.strip("\n"))
    if len(text) <= width:
        return text
    for phrase in phrases:
        match = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) if phrase else None
        if match is not None and len(phrase) <= width - 4:
            return _window(text, match.start(), match.end(), width)
    return shorten(text, width)


def slug(text: str) -> str:
    """Return `text` in lower-case letters, digits and hyphens, at most 60 of them, for file names and ids."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "unnamed"


def _steers(character: str) -> bool:
    if character.isprintable():
        return False
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTIONS


def _window(text: str, begin: int, end: int, width: int) -> str:
    """Return `text` from about `begin` to `end` and as much around it as `width` allows, whole words where they fit."""
    room = (width - 4 - (end - begin)) // 2
    start = max(0, min(begin - room, len(text) - width + 2))
    stop = min(len(text), start + width - (2 if start == 0 else 4))
    if start:
        space = text.find(" ", start, begin)
        start = begin if space < 0 else space + 1
    if stop < len(text):
        space = text.rfind(" ", end, stop + 1)
        stop = end if space < 0 else space
    return "… " * (start > 0) + text[start:stop] + " …" * (stop < len(text))
