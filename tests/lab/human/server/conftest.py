"""Studies that are served without a network."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from served_study import Site, make_next_word, make_study, serve_study


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Two pages, two judges each, one page a participant, an hour's time."""
    pytest.importorskip("fastapi")
    yield from serve_study(tmp_path, make_study(), first_answer_limit=3600.0)


@pytest.fixture
def open_site(tmp_path: Path) -> Iterator[Site]:
    """The same, but a participant may judge five pages."""
    pytest.importorskip("fastapi")
    yield from serve_study(tmp_path, make_study(), pages_per_participant=5)


@pytest.fixture
def next_word_site(tmp_path: Path) -> Iterator[Site]:
    """The next-word task."""
    pytest.importorskip("fastapi")
    yield from serve_study(tmp_path, make_next_word())
