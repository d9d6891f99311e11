"""Fixtures and settings shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Machines that run tests are slow and shared: no deadline. The same examples every time; `--hypothesis-profile=random`
# looks for new ones.
settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("random", deadline=None, max_examples=500)
settings.load_profile("fixed")

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of real data; skip where it is absent.

    It is named by the environment variable TEXTASSAY_DATA, else it is ``shared/data`` beside the repository.
    """
    named = os.environ.get("TEXTASSAY_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder} (set TEXTASSAY_DATA to its folder)")
    return folder
