"""Trackers, each with its real library and without a network: what was logged is read back from what it wrote."""

import struct
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from textassay.errors import MissingLibraryError, OptionError, TrackingError
from textassay.tracking import keys_of, open_tracker, opened

VALUES = {"dd/a": 0.25, "dd/a.low": 0.1 + 0.2}
SETTINGS = {f"signature.dd/{k}": f"metric:dd|seed:{k}" for k in range(150)}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text("<b>the page</b>", encoding="utf-8")
    return path


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return MLflow, whose store is a folder: a database would want two packages more."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    library = import_module("mlflow")
    yield library
    library.end_run()


def _log(named: str, page: Path) -> Any:
    with opened(named) as run:
        run.settings(SETTINGS)
        run.values(VALUES)
        run.values({"dd/a": 0.5}, step=7)
        run.page("# A summary", [page])
    return run


def test_mlflow_gets_metrics_parameters_and_artifacts_of_a_run_of_its_own(mlflow: Any, page: Path) -> None:
    run = _log("mlflow:reviews", page)
    client = mlflow.MlflowClient()
    kept = client.get_run(run.run_id)
    assert kept.info.status == "FINISHED"
    assert client.get_experiment(kept.info.experiment_id).name == "reviews"
    assert kept.data.metrics == {"dd/a": 0.5, "dd/a.low": 0.1 + 0.2}
    assert [(one.step, one.value) for one in client.get_metric_history(run.run_id, "dd/a")] == [(0, 0.25), (7, 0.5)]
    assert kept.data.params == {f"textassay.{key}": value for key, value in SETTINGS.items()}
    assert kept.data.tags["mlflow.note.content"] == "# A summary"
    assert [one.path for one in client.list_artifacts(run.run_id, "textassay")] == ["textassay/report.html"]
    assert mlflow.active_run() is None
    with pytest.raises(TrackingError, match="cannot log to mlflow: MlflowException"), opened("mlflow") as failing:
        failing.values({"not : a % name": 1.0})
    broken: Any = failing
    assert client.get_run(broken.run_id).info.status == "FAILED"


def test_mlflow_uses_the_run_that_is_open_and_leaves_it_open(mlflow: Any, page: Path) -> None:
    with mlflow.start_run() as mine:
        for _ in range(2):  # parameters of a run cannot be changed
            assert _log("mlflow", page).run_id == mine.info.run_id
        kept = mlflow.MlflowClient().get_run(mine.info.run_id)
        assert kept.info.status == "RUNNING"
        assert kept.data.tags["textassay.signature.dd/149"] == "metric:dd|seed:149"


def test_wandb_keeps_everything_offline(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    wandb = import_module("wandb")
    run = _log("wandb:reviews", page).run
    assert wandb.run is None
    wandb.teardown()  # what writes the files is a process of its own, and may do so after the run ends
    assert run.project == "reviews"
    records = list(_wandb_records(next(tmp_path.glob("wandb/offline-run-*/*.wandb"))))
    history = [{_key(item): item.value_json for item in one.history.item} for one in records if one.history.item]
    assert [(row["dd/a"], row["textassay/step"]) for row in history if "dd/a" in row] == [("0.5", "7")], history
    summary: dict[str, str] = {}
    configured = ""
    for one in records:
        summary |= {_key(item): item.value_json for item in one.summary.update}
        configured += "".join(item.value_json for item in one.config.update)
        configured += "".join(item.value_json for item in one.run.config.update)
    assert summary["dd/a.low"] == repr(0.1 + 0.2)
    assert "metric:dd|seed:149" in configured
    assert any("report.html" in str(one.artifact) for one in records)
    pages = tmp_path.glob("wandb/offline-run-*/files/media/html/**/*.html")
    assert any("the page" in path.read_text(encoding="utf-8") for path in pages)


def _key(item: Any) -> str:
    return str(item.key or "/".join(item.nested_key))


def _wandb_records(path: Path) -> Iterator[Any]:
    """Yield what a run wrote: blocks of 32 KiB of records with a check sum, a length and the place of the part."""
    record = import_module("wandb.proto.wandb_internal_pb2").Record
    data, place, whole = path.read_bytes(), 7, b""
    while place + 7 <= len(data):
        room = 32768 - place % 32768
        if room < 7:
            place += room
            continue
        length, kind = struct.unpack("<HB", data[place + 4 : place + 7])
        if kind == 0:
            place += room
            continue
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield record.FromString(whole)
            whole = b""


def test_tensorboard_gets_scalars_and_texts(page: Path, tmp_path: Path) -> None:
    run = _log(f"tensorboard:{tmp_path / 'events'}", page)
    assert run.folder == tmp_path / "events" / "textassay-1"
    assert open_tracker(f"tensorboard:{tmp_path / 'events'}").folder.name == "textassay-2"  # type: ignore[attr-defined]
    (file,) = run.folder.iterdir()
    scalars, texts = {}, {}
    for event in _events(file):
        for value in event.summary.value:
            if value.WhichOneof("value") == "simple_value":
                scalars[value.tag, event.step] = value.simple_value
            else:
                texts[value.tag.removesuffix("/text_summary")] = value.tensor.string_val[0].decode()
    assert scalars == {("dd/a", 0): 0.25, ("dd/a", 7): 0.5, ("dd/a.low", 0): pytest.approx(0.3)}
    assert texts["textassay/summary"] == "# A summary"
    assert "| signature.dd/149 | `metric:dd|seed:149` |" in texts["textassay/settings"].replace("\\|", "|")


def _events(file: Path) -> Iterator[Any]:
    """Yield what a file of events holds: records of a length, the message, and two check sums."""
    event = import_module("tensorboardX.proto.event_pb2").Event
    data, place = file.read_bytes(), 0
    while place < len(data):
        (length,) = struct.unpack("<Q", data[place : place + 8])
        yield event.FromString(data[place + 12 : place + 12 + length])
        place += 16 + length


def test_what_is_missing_or_unknown_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="unknown tracker 'mlfow': did you mean mlflow"):
        open_tracker("mlfow")
    monkeypatch.setattr("textassay.tracking.tracker.find_spec", lambda name: None)
    with pytest.raises(MissingLibraryError, match=r"^logging to wandb needs .* pip install wandb$"):
        open_tracker("wandb:reviews")
    with pytest.raises(OptionError, match="a tracker is one of mlflow, tensorboard, wandb, got int"):
        open_tracker(3)  # type: ignore[arg-type]


def test_no_two_names_share_a_key() -> None:
    keys = keys_of(["bleu(order=4)", "a b", "a-b", "(real)", "real", "../x", "名前"])
    assert list(keys.values()) == ["bleu-order-4", "a-b", "a-b-2", "real", "real-2", "x", "名前"]
