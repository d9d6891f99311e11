"""Estimates on disk: what goes in comes out, and nothing half-written is ever read."""

import io
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from textassay.comparison import measure
from textassay.comparison.measure import EstimateStore, estimate_key
from textassay.errors import OutputError
from textassay.estimate import Estimate, Evidence, Interval, Signature

ESTIMATE = Estimate(
    metric="toy",
    value=0.1 + 0.2,
    interval=Interval(0.1, math.nan, 0.95, "made up"),
    unit="fraction",
    better="lower",
    sizes={"n_generated": 3},
    signature=Signature({"metric": "toy", "v": "1"}),
    details={"bound": {"value": 1 / 3}},
    evidence=Evidence(None, np.array([0.1, 0.2]), None, np.array([1.0])),
)


def test_round_trip_is_exact(tmp_path: Path) -> None:
    EstimateStore(tmp_path).save("key", ESTIMATE, ("careful",))
    found = EstimateStore(tmp_path).load("key")
    assert found is not None
    estimate, warnings = found
    assert estimate.to_dict() == ESTIMATE.to_dict()
    assert estimate.value == ESTIMATE.value
    assert warnings == ("careful",)
    assert estimate.evidence is not None
    assert estimate.evidence.real_terms is None
    np.testing.assert_array_equal(estimate.evidence.generated_terms, [0.1, 0.2])
    np.testing.assert_array_equal(estimate.evidence.generated_scores, [1.0])


def test_without_a_folder_estimates_are_kept_as_long_as_the_store() -> None:
    store = EstimateStore(None)
    assert store.load("key") is None
    store.save("key", ESTIMATE, ("careful",))
    assert store.load("key") == (ESTIMATE, ("careful",))
    assert EstimateStore(None).load("key") is None


def _zipped_otherwise(content: bytes) -> bytes:
    """Return an archive whose members say that they are compressed in a way that nobody knows."""
    damaged = bytearray(content)
    for place in (content.index(b"PK\3\4") + 8, content.index(b"PK\1\2") + 10):
        damaged[place] = 99
    return bytes(damaged)


def _wide(text: str) -> bytes:
    """Return a text as NumPy keeps it."""
    return text.encode("utf-32-le")


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
    "zeros": lambda content: bytes(len(content)),
    "rubbish": lambda _: b"rubbish" * 100,
    "one digit": lambda content: content.replace(b"0.1", b"0.7").replace(_wide("0.1"), _wide("0.7")),
}


@pytest.mark.parametrize("damage", [*DAMAGES, "zipped otherwise"])
def test_a_damaged_file_counts_as_absent(tmp_path: Path, damage: str) -> None:
    store = EstimateStore(tmp_path)
    store.save("key", ESTIMATE)
    (file,) = tmp_path.iterdir()
    file.write_bytes({**DAMAGES, "zipped otherwise": _zipped_otherwise}[damage](file.read_bytes()))
    assert store.load("key") is None
    store.save("key", ESTIMATE)
    assert store.load("key") is not None


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_a_damaged_document_counts_as_absent(tmp_path: Path, damage: str) -> None:
    store = EstimateStore(tmp_path)
    document = {"value": 0.1, "details": [None, "é", 1e-300]}
    store.save_document("key", document)
    assert store.load_document("key") == document
    (file,) = tmp_path.iterdir()
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    assert store.load_document("key") is None


def test_a_failed_write_leaves_nothing_says_where_and_gives_the_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EstimateStore(tmp_path)

    class OnFullDisk(io.BytesIO):
        def getbuffer(self) -> memoryview:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(measure, "io", SimpleNamespace(BytesIO=OnFullDisk))
    with pytest.warns(UserWarning, match="No space left on device; choose another --out; the run continues"):
        assert store.save("key", ESTIMATE) is ESTIMATE
    assert store.save("other", ESTIMATE) is ESTIMATE  # is not told twice
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(OutputError, match="choose another --out"):
        EstimateStore(tmp_path / "file" / "estimates")


def test_keys_differ_where_any_part_differs() -> None:
    keys = {estimate_key("a", 1), estimate_key("a", 2), estimate_key("a1"), estimate_key("b", 1)}
    assert len(keys) == 4
