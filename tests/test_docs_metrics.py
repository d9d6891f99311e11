"""Every metric has a page that says what it measures, when it misleads, what it costs and where it comes from."""

import re
from pathlib import Path

import pytest

from metric_table import PAGE, page
from textassay.metric.catalog import CATALOG, GROUPS

PAGES = Path(__file__).resolve().parents[1] / "docs" / "metrics"
HEADINGS = ["What it measures", "When it misleads", "Cost", "Source"]
IMAGE = re.compile(r"!\[([^\]]+)\]\(([^)]+)\)")
MOST_BYTES = 40_000
WITH_PAGE = [name for name in CATALOG if name not in GROUPS["detectors"]]  # which have a section instead


@pytest.mark.parametrize("name", WITH_PAGE)
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


def test_the_table_of_all_metrics_is_read_from_their_declarations() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run python tests/support/metric_table.py --write"


def test_no_page_or_picture_is_left_over() -> None:
    pages = {page.stem for page in PAGES.glob("*.md")}
    assert pages == {*WITH_PAGE, "index"}
    named = {
        Path(target).name
        for page in PAGES.glob("*.md")
        for _, target in IMAGE.findall(page.read_text(encoding="utf-8"))
    }
    assert named == {picture.name for picture in (PAGES / "images").iterdir()}
