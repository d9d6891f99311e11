"""Every metric has a page that says what it measures, when it misleads, what it costs and where it comes from."""

import re
from pathlib import Path

import pytest

from textassay.metric import CATALOG

PAGES = Path(__file__).resolve().parents[1] / "docs" / "metrics"
HEADINGS = ["What it measures", "When it misleads", "Cost", "Source"]
IMAGE = re.compile(r"!\[([^\]]+)\]\(([^)]+)\)")
MOST_BYTES = 40_000


def _first_table() -> str:
    return (PAGES / "index.md").read_text(encoding="utf-8").split("\n## ")[0]


@pytest.mark.parametrize("name", CATALOG)
def test_page(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {name}: ")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    assert 25 <= len(text.splitlines()) <= 60
    misleads = text.split("## When it misleads")[1].split("## Cost")[0]
    images = IMAGE.findall(misleads)
    assert images, "no picture of where it misleads"
    for told, target in images:
        assert len(told) > 20
        picture = (PAGES / target).read_bytes()
        assert len(picture) < MOST_BYTES
        assert b"#ffffff" in picture  # its own background, for dark pages


def test_index_lists_every_metric() -> None:
    text = _first_table()
    listed = re.findall(r"^\| \[([\w-]+)\]\(([\w-]+)\.md\) \|", text, re.MULTILINE)
    assert all(name == target for name, target in listed)
    assert sorted(name for name, _ in listed) == sorted(CATALOG)


def test_index_gives_the_direction_of_each_metric() -> None:
    text = _first_table()
    rows = re.findall(r"^\| \[([\w-]+)\]\S+ \| [^|]+ \| ([^|]+) \|", text, re.MULTILINE)
    directions = {"lower": "lower", "higher": "higher", "as real text": "closer"}
    assert {name: directions[best.strip()] for name, best in rows} == {
        name: entry.make().better for name, entry in CATALOG.items()
    }


def test_no_page_or_picture_is_left_over() -> None:
    pages = {page.stem for page in PAGES.glob("*.md")}
    assert pages == {*CATALOG, "index"}
    named = {
        Path(target).name
        for page in PAGES.glob("*.md")
        for _, target in IMAGE.findall(page.read_text(encoding="utf-8"))
    }
    assert named == {picture.name for picture in (PAGES / "images").iterdir()}
