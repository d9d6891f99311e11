"""What inspection found, as a report of its own and as a section of others."""

from collections.abc import Sequence
from importlib.metadata import version

from textassay.inspection.finding import Finding
from textassay.report.document import Document, Paragraph, Part, Section, Terms, section
from textassay.report.text import count, counted, join_words

_NOTHING = "No trivial differences were found."
_TITLE = "Warnings and notes"


def inspection_document(findings: Sequence[Finding] | Finding) -> Document:
    """Return findings, or one, as a report."""
    findings = [findings] if isinstance(findings, Finding) else findings
    answer = []
    for severity in ("warning", "note"):
        kinds = [finding.kind for finding in findings if finding.severity == severity]
        if kinds:
            answer.append(f"{counted(len(kinds), severity)}: {join_words(sorted(set(kinds)))}.")
    return Document(
        "Trivial differences between the texts",
        tuple(answer) or (_NOTHING,),
        sections=inspection_sections(findings),
        version=version("textassay"),
    )


def inspection_sections(findings: Sequence[Finding], *, brief_notes: bool = False) -> tuple[Section, ...]:
    """Return the section of findings, warnings first, those of one kind together; none where there is no finding.

    With `brief_notes`, examples of notes and what to do stand in a part of their own for those who look for it.
    """
    if not findings:
        return ()
    parts: list[Part] = []
    notes: list[Part] = []
    for group in group_findings(findings):
        first, *others = group
        if first.severity == "note" and brief_notes:
            also = f" Also {', '.join(map(_also, others))}." if others else ""
            parts.append(Paragraph(f"note {first.generator}: {first.message}{also}", "item"))
            notes += _in_full(group)
        else:
            parts += _in_full(group)
    if notes:
        parts.append(Paragraph("textassay inspect shows examples of the notes, with remedies.", "note"))
        parts.append(section("Examples of the notes, with remedies", *notes, extra=True))
    return (Section(_TITLE, tuple(parts)),)


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
    kind = "warning" if first.severity == "warning" else "item"
    line = Paragraph(f"{first.severity} {first.generator}: {first.message}", kind)  # type: ignore[arg-type]
    return [line, Terms((*terms, ("do", first.remedy)))]


def _also(finding: Finding) -> str:
    """Return whose text shows the same, and in how many of its sentences."""
    of = "" if finding.count_generated == finding.n_generated else f" of {count(finding.n_generated)}"
    return f"{finding.generator} ({count(finding.count_generated)}{of})"
