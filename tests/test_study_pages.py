"""The pages of studies: what stands below their mark is made by a command, and quotes no text."""

import json
from pathlib import Path

import pytest

from study_page import MARK, QUOTING, page

PAGES = sorted(path for path in (Path(__file__).parents[1] / "docs" / "studies").glob("*.md") if path.stem != "index")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_has_one_mark_and_quotes_no_text(path: Path) -> None:
    text = path.read_text()
    assert text.count(MARK) == 1
    assert not any(f"## {title}" in text for title in QUOTING)


def test_below_the_mark_stands_the_report_without_sections_that_quote(tmp_path: Path) -> None:
    document = {"settings": {"version": "1.2.3", "seed": 4}, "seconds": {"train": 60.0, "eb-c": 3.0}}
    (tmp_path / "study.json").write_text(json.dumps(document))
    (tmp_path / "study.md").write_text(
        "# A study\n\nThe answer.\n\n## Tables\n\n![t](figures/one.svg)\n\n"
        "## Samples: LSTM\n\nquoted\n\n## Notes\n\n- note\n"
    )
    made = page(f"above\n{MARK}\nformer results\n", tmp_path, "textassay study x --workers 2", "x")
    assert made.startswith(f"above\n{MARK}\n\n## The run\n")
    assert "of version 1.2.3 on " in made
    assert "with seed 4. Its stages took 63 seconds together, up to 2 at a time, on" in made
    assert "together, one after the other, on" in page(MARK, tmp_path, "textassay study x --workers 1", "x")
    assert "The answer." in made
    assert "![t](images/x/one.svg)" in made
    assert "- note" in made
    assert "quoted" not in made
    assert "former" not in made
