"""Findings as a report and as a section of others."""

import io

from rich.console import Console

from made_up_comparisons import make_findings
from textassay.inspection.document import inspection_document, inspection_sections
from textassay.report.document import Document
from textassay.report.terminal import print_document


def _printed(document: Document, *, everything: bool = True) -> str:
    file = io.StringIO()
    print_document(document, Console(file=file, width=80), everything=everything)
    return " ".join(file.getvalue().split())


def test_findings_stand_warnings_first_with_examples_and_what_to_do() -> None:
    shown = _printed(inspection_document(make_findings(("a", "b"))))
    assert "2 warnings: glued punctuation. 1 note: repeated sentences." in shown
    assert "9,120 of 10,000" in shown
    assert "also b (9,110 of 10,000)" in shown
    assert shown.index("warning a:") < shown.index("note b:")
    assert "do Repair both sides alike" in shown


def test_nothing_found_is_said() -> None:
    assert _printed(inspection_document(())) == "No trivial differences were found."
    assert inspection_sections(()) == ()


def test_examples_and_what_to_do_about_notes_stand_apart() -> None:
    document = Document("", sections=inspection_sections(make_findings(("a", "b")), brief=True))
    brief = _printed(document, everything=False)
    assert "Also b (9,110 of 10,000). Repair both sides alike" in brief
    assert "Nothing needs doing" not in brief
    assert "Nothing needs doing" in _printed(document)
