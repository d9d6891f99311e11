"""The notebook of examples, run anew: ``python tests/support/notebook.py --write`` keeps what its cells show."""

import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "first_look.ipynb"


def kept() -> Any:
    """Return the notebook as it is kept."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed() -> Any:
    """Return the notebook with what its cells show now, without progress."""
    notebook = kept()
    nbclient.NotebookClient(notebook, timeout=300, record_timing=False).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def shown(notebook: Any) -> list[str]:
    """Return what people read of each output: what is printed, HTML, or a drawing."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    data = [output.get("data", {}) for output in outputs]
    return [output.get("text") or one.get("image/svg+xml") or one.get("text/html", "")
            for output, one in zip(outputs, data, strict=True)]  # fmt: skip


if __name__ == "__main__":
    made = executed()
    if "--write" in sys.argv:
        nbformat.write(made, NOTEBOOK)
    print("\n".join(shown(made)))
