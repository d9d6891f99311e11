"""Findings, for kinds of results that are no documents yet."""

from collections.abc import Sequence

from rich.console import Console

from textassay.inspection import Finding
from textassay.report.inspection import group_findings, inspection_sections
from textassay.report.markdown import escaped
from textassay.report.number import count
from textassay.report.terminal import print_part


def render_findings(findings: Sequence[Finding], console: Console, *, brief_notes: bool = False) -> None:
    """Print findings."""
    for section in inspection_sections(findings, brief_notes=brief_notes):
        print_part(section, console, everything=False)


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Return findings as a Markdown list."""
    lines = []
    for first, *others in group_findings(findings):
        lines.append(f"- **{first.severity}** {escaped(first.generator)}: {escaped(first.message)}")
        also = [f"{escaped(other.generator)} ({count(other.count_generated)})" for other in others]
        lines += [f"    - also: {', '.join(also)}"] if also else []
        lines.append(f"    - do: {escaped(first.remedy)}")
    return lines
