"""The pages of studies: what stands below their mark is made by a command, quotes no text, and is short."""

import json
from pathlib import Path

import pytest

from study_page import MARK, brief, page

PAGES = sorted(path for path in (Path(__file__).parents[1] / "docs" / "studies").glob("*.md") if path.stem != "index")
MOST_WORDS = 1500  # outside of tables


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_has_one_mark_quotes_no_text_and_is_short(path: Path) -> None:
    text = path.read_text()
    assert text.count(MARK) == 1
    assert "## Samples" not in text
    assert sum(len(line.split()) for line in text.split("\n") if not line.startswith("|")) <= MOST_WORDS


def test_below_the_mark_stand_findings_figures_and_tables_beside_the_papers(tmp_path: Path) -> None:
    document = {"settings": {"version": "1.2.3", "seed": 4}, "seconds": {"train": 60.0, "eb-c": 3.0}}
    (tmp_path / "study.json").write_text(json.dumps(document))
    (tmp_path / "study.md").write_text(
        "# A study\n\nThe answer.\n\n## Figures\n\n![Growth. a 1 at 2](figures/one.svg)\n\n## Tables\n\n"
        "**Table 1. One**\n\n|  | a ours | a paper |\n| --- | --- | --- |\n| x | 1 | 2 |\n\nNot published: b of y.\n\n"
        "**Table 2. Two**\n\n|  | a ours |\n| --- | --- |\n| x | 3 |\n\n"
        "## Samples: LSTM\n\nquoted\n\n"
        "## Notes\n\n- note\n- 3 of 4 samples were cut at 2 tokens\n\n## Settings\n\n- seed: 4\n"
    )
    made = page(f"above\n{MARK}\nformer results\n", tmp_path, "textassay study x --workers 2", "x")
    assert made.startswith(f"above\n{MARK}\n\n## The run\n")
    assert "of version 1.2.3 on " in made
    assert "with seed 4. Its stages took 63 seconds together, up to 2 at a time, on" in made
    assert "together, one after the other, on" in page(MARK, tmp_path, "textassay study x --workers 1", "x")
    for words in ("The answer.", "![Growth](images/x/one.svg)", "- note", "**Table 1. One**"):
        assert words in made
    for words in ("quoted", "former", "Not published", "**Table 2", "samples were cut", "Settings"):
        assert words not in made


def test_findings_tables_and_captions_are_shortened() -> None:
    finding = "| **K1: So it is. Paper: true, in a figure without numbers. Each.** |  |  |"
    head = "|  | 1 ours | 1 paper | r ours | r paper | 2 ours | 2 paper | 3 ours |"
    report = (
        f"## Findings of the paper\n\n| a | b | c |\n{finding}\n"
        "| ours | holds | 4 of 4 parts hold; x 1; y 2; and 2 more |\n"
        "| ours | does not hold | 2 of 3 parts hold; x &amp; y 1; z 2; and 1 more |\n\n"
        f"## Tables\n\n**Table 1. One**\n\n{head}\n| m | 1 ±0.1 (seeds 2) | 2 | 3 | 4 | -5 (seeds 6) | 7 | 8 |\n"
        "| n | 1 |  | 2 |  | 3 |  | 4 |\n\nOurs: here.\n\n"
        "**Table 2. Two**\n\n|  | 1 ours | 1 paper |\n| n | 1 |  |\n\nOurs: here.\n"
    )
    made = brief(report, "x")
    assert "| **K1: So it is. Each.** |  |  |" in made
    assert "| ours | holds | x 1; y 2 |" in made
    assert "| ours | does not hold | 2 of 3 parts hold; x &amp; y 1; z 2 |" in made
    assert "|  | 1 ours | 1 paper | 2 ours | 2 paper |\n| m | 1 ±0.1 | 2 | -5 (6) | 7 |\n\nOurs" in made
    assert made.endswith("| n | 1 |  |")
    assert brief(made, "x") == made
