"""What was read of a file: its kind, its texts and prompts, three examples, and what was left out."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from textassay.corpus.text_file import TextFile
from textassay.inspection.document import inspection_sections
from textassay.inspection.finding import Finding
from textassay.inspection.surface import excerpt
from textassay.report.document import Document, Section, Terms
from textassay.report.text import counted

_N_EXAMPLES = 3


def reading_document(files: Mapping[str, TextFile], findings: Sequence[Finding]) -> Document:
    """Return what was read of each file, and what was found in its texts by themselves."""
    sections = tuple(Section(name, (Terms(tuple(_terms(file))),)) for name, file in files.items())
    answer = tuple(f"{name}: {counted(len(file), 'text')}, read as {file.form}." for name, file in files.items())
    return Document(
        "What was read", answer, (), (*sections, *inspection_sections(findings)), version=version("textassay")
    )


def reading_values(files: Mapping[str, TextFile]) -> dict[str, Any]:
    """Return the same as JSON values."""
    return {
        name: {
            "form": file.form,
            "n_texts": len(file),
            "n_prompts": None if file.prompts is None else len(set(file.prompts)),
            "n_groups": None if file.groups is None else len(np.unique(file.groups)),
            "n_cut_off": None if file.cut_off is None else int(file.cut_off.sum()),
            "examples": [file[place] for place in _examples(file)],
        }
        for name, file in files.items()
    }


def _terms(file: TextFile) -> list[tuple[str, str]]:
    terms = [("texts", f"{len(file):,}, {len(set(file.texts)):,} of them distinct")]
    if file.prompts is not None:
        terms.append(("prompts", f"{len(set(file.prompts))} distinct, such as: {excerpt(file.prompts[0])}"))
    if file.groups is not None:
        terms.append(("groups", str(len(np.unique(file.groups)))))
    if file.cut_off is not None:
        terms.append(("cut off", f"{int(file.cut_off.sum())} by a length limit"))
    if file.ids:
        terms.append(("ids", ", ".join(file.ids)))
    return terms + [(f"text {place + 1}", excerpt(file[place]) or "(empty)") for place in _examples(file)]


def _examples(file: TextFile) -> list[int]:
    """Return the places of the first text, one in the middle and the last."""
    return sorted({int(place) for place in np.linspace(0, len(file) - 1, _N_EXAMPLES)})
