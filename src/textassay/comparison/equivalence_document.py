"""Verdicts on equivalence for people and for programs: lines of a screen, a table, JUnit's XML."""

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from textassay.comparison.comparison import Comparison, Equivalence
from textassay.comparison.digest import Digest
from textassay.comparison.verdicts import rounded
from textassay.report.document import Section, notes, section
from textassay.report.table import Cell, Column, Table, Tone, as_is, text_cell
from textassay.report.text import count, decimals, level, number

_TITLE = "Within the margin of real text?"
_ORDER = ("FAIL", "INCONCLUSIVE", "PASS")
_TONES: dict[str, Tone] = {"PASS": "good", "FAIL": "bad", "INCONCLUSIVE": "weak"}
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def verdict_text(one: Equivalence) -> str:
    """Return in words what a verdict says: the value, its limit beside the margin, and for which judge."""
    places, margin = _places(one), f"{one.margin:g}"
    if one.for_any_judge:
        said = f"{one.metric} {number(one.value, places)}, at least {number(one.certified, places)}"
        return f"{said} > {margin} for any classifier"
    if one.value is None or one.low is None or one.high is None:
        return f"{one.metric} is inconclusive: {one.reason}"
    low, high = number(one.low, places), number(one.high, places)
    if not one.judge:
        said = f"{one.metric} {number(one.value, places, sign=True)} [{low}, {high}] from real text"
        if one.verdict != "INCONCLUSIVE":
            return f"{said}, {'inside' if one.verdict == 'PASS' else 'beyond'} ±{margin}"
        return f"{said}, margin ±{margin}: {_what_would_decide(one)}"
    said = f"{one.metric} {number(one.value, places)}"
    of = f"for {one.judge}" + ("" if one.n is None else f" of {count(one.n)} texts")
    if one.verdict == "FAIL":
        return f"{said}, at least {low} > {margin} {of}"
    if one.verdict == "PASS":
        return f"{said}, at most {high} < {margin} {of}"
    return f"{said} [{low}, {high}], margin {margin}: {_what_would_decide(one)}"


def equivalence_section(digest: Digest, *, most: int | None = None) -> Section:
    """Return a row a verdict, and what they are relative to; nothing where none was asked.

    Of more than `most`, those that pass are left out first.
    """
    found = digest.comparison.equivalence
    if not found:
        return section("")
    n_more = 0 if most is None else max(0, len(found) - most)
    shown = sorted(found, key=lambda one: _ORDER.index(one.verdict))[:most] if n_more else found
    table = Table.of_items("equivalence", shown, [
        ("generator", "generator", text_cell),
        (Column("verdict", numeric=False), lambda one: Cell(one.verdict, one.verdict, tone=_TONES[one.verdict]), as_is),
        (Column("why", numeric=False), verdict_text, text_cell),
    ])  # fmt: skip
    return section(
        _TITLE, table, *notes(f"and {n_more} more; those that fail come first" * bool(n_more), _note(digest))
    )


def junit_xml(comparison: Comparison) -> str:
    """Return the verdicts as JUnit's XML: a case a verdict, a failure for FAIL, skipped for INCONCLUSIVE."""
    found = comparison.equivalence
    counts = {
        "tests": len(found),
        "failures": sum(one.verdict == "FAIL" for one in found),
        "errors": 0,
        "skipped": sum(one.verdict == "INCONCLUSIVE" for one in found),
    }
    suite = ElementTree.Element("testsuite", {"name": "textassay", **{name: str(n) for name, n in counts.items()}})
    for one in found:
        case = ElementTree.SubElement(suite, "testcase", {
            "classname": _xml(f"equivalence of {one.generator}"),
            "name": _xml(f"{one.metric} within {one.margin:g}"),
            "time": "0",
        })  # fmt: skip
        message = _xml(f"{one.generator}: {verdict_text(one)}")
        if one.verdict == "FAIL":
            ElementTree.SubElement(case, "failure", {"message": message, "type": "FAIL"})
        elif one.verdict == "INCONCLUSIVE":
            ElementTree.SubElement(case, "skipped", {"message": message})
        else:
            ElementTree.SubElement(case, "system-out").text = message
    suites = ElementTree.Element("testsuites", {name: str(n) for name, n in counts.items()})
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def names_by_verdict(found: Iterable[Equivalence]) -> str:
    """Return which generators fail or are inconclusive, by metric; empty where all pass."""
    by_verdict: dict[str, list[str]] = {"FAIL": [], "INCONCLUSIVE": []}
    for one in found:
        if one.verdict in by_verdict:
            by_verdict[one.verdict].append(f"{one.generator} ({one.metric})")
    return "; ".join(f"{verdict} {', '.join(names)}" for verdict, names in by_verdict.items() if names)


def _what_would_decide(one: Equivalence) -> str:
    if one.reason:
        return one.reason
    if one.needed is None or one.n is None:
        return "no number of texts would decide: the estimate is at the margin"
    return f"about {rounded(one.needed - one.n):,} more texts a side would decide"


def _note(digest: Digest) -> str:
    found, share = digest.comparison.equivalence, level(digest.comparison.level)
    several = f", all {len(found)} verdicts together" if len(found) > 1 else ""
    relative = (
        " PASS is relative to the named classifier and its number of texts: a better classifier may find a difference."
    )
    return f"Limits at {share}{several}.{relative * any(one.judge and one.verdict == 'PASS' for one in found)}"


def _places(one: Equivalence) -> int:
    width = None if one.low is None or one.high is None else (one.high - one.low) / 2
    return decimals(one.value or 0.0, width)


def _xml(text: str) -> str:
    """Return a text without the characters that XML has none of."""
    return _NOT_XML.sub("?", text)
