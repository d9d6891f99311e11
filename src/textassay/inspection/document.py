"""What inspection found, as a report of its own and as a section of others."""

from collections.abc import Sequence
from importlib.metadata import version

from textassay.inspection.finding import Finding
from textassay.report.document import Document, Paragraph, Part, Section, Terms, section, sections
from textassay.report.text import count, counted, join_few, join_words

_NOTHING = "No trivial differences were found."
_TITLE = "Warnings and notes"


def inspection_document(findings: Sequence[Finding] | Finding) -> Document:
    """Return findings, or one, as a report."""
    findings = [findings] if isinstance(findings, Finding) else findings
    answer = []
    for severity in ("warning", "note"):
        kinds = [finding.kind_in_words for finding in findings if finding.severity == severity]
        if kinds:
            answer.append(f"{counted(len(kinds), severity)}: {join_words(sorted(set(kinds)))}.")
    return Document(
        "Trivial differences between the texts",
        tuple(answer) or (_NOTHING,),
        sections=inspection_sections(findings),
        version=version("textassay"),
    )


def inspection_sections(findings: Sequence[Finding], *, brief: bool = False) -> tuple[Section, ...]:
    """Return the section of findings, warnings first, those of one kind together; none where there is no finding.

    If `brief`, each is a paragraph; examples, and what to do about notes, stand in a part of their own.
    """
    groups = group_findings(findings)
    in_full = [part for group in groups for part in _in_full(group)]
    if not brief or not findings:
        return sections(section(_TITLE, *in_full))
    told = Paragraph("textassay inspect shows examples, with remedies.", "note")
    folded = section("Examples, with remedies", *in_full, extra=True)
    return (section(_TITLE, *map(_brief, groups), told, folded),)


def group_findings(findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], ...]:
    """Return `findings`, those of one kind and remedy together, warnings first."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: finding.severity != "warning"):
        groups.setdefault((finding.severity, finding.kind, finding.remedy), []).append(finding)
    return tuple(tuple(group) for group in groups.values())


def _in_full(group: Sequence[Finding]) -> list[Part]:
    first, *others = group
    terms = [
        (side, example or "(empty)")
        for side, example in (("generated", first.example_generated), ("real", first.example_real))
        if example is not None
    ]
    for generated, real in first.pairs[1:]:
        terms += [("generated", generated or "(empty)"), ("real", real or "(empty)")]
    terms += [("also", ", ".join(map(_also, others)))] if others else []
    return [_paragraph(first), Terms((*terms, ("do", first.remedy)))]


def _brief(group: Sequence[Finding]) -> Paragraph:
    """Return findings of one kind in a paragraph, warnings with what to do."""
    first, *others = group
    also = [f"Also {join_few(list(map(_also, others)))}."] if others else []
    return _paragraph(first, *also, *([first.remedy] if first.severity == "warning" else []))


def _paragraph(finding: Finding, *more: str) -> Paragraph:
    text = " ".join([f"{finding.severity} {finding.generator}: {finding.message}", *more])
    return Paragraph(text, "warning" if finding.severity == "warning" else "item")


def _also(finding: Finding) -> str:
    """Return whose text shows the same, and in how many of its sentences."""
    of = "" if finding.count_generated == finding.n_generated else f" of {count(finding.n_generated)}"
    return f"{finding.generator} ({count(finding.count_generated)}{of})"
