"""A tiny language model in a folder, and a cache of its own for each test."""

from pathlib import Path

import pytest

from textassay.prior import language_model as reader
from tiny_model import save


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    reader._opened.cache_clear()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the model."""
    pytest.importorskip("transformers")
    return save(tmp_path_factory.mktemp("models") / "tiny")
