"""Stages: what is computed when, what is found again, what a killed run leaves."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from textassay.errors import InputError, OutputError
from textassay.execution.threads import workers
from textassay_lab.papers.stages import Stage, Stages, Work


def chain(calls: list[str], *, factor: int = 2, kind: str = "double") -> list[Stage]:
    """Return one number, and two stages that build on it; `calls` tells which ran."""

    def number(work: Work) -> int:
        calls.append("number")
        (work.folder / "number.txt").write_text("21")
        return 21

    first = Stage("number", "n", {}, number)

    def times(by: int) -> Any:
        def run(work: Work) -> int:
            calls.append(f"times {by}")
            return by * int((work.inputs[first].folder / "number.txt").read_text())

        return run

    return [
        first,
        Stage(kind, "n", {"by": factor}, times(factor), (first,)),
        Stage("triple", "n", {"by": 3}, times(3), (first,)),
    ]


def results(folder: Path, targets: list[Stage]) -> list[Any]:
    stages = Stages(folder)
    return [None if (done := stages.done(stage)) is None else done.result for stage in targets]


@pytest.mark.parametrize("n_workers", [1, 2])
def test_what_is_there_is_not_computed_again(tmp_path: Path, n_workers: int) -> None:
    calls: list[str] = []
    targets = chain(calls)
    with workers(n_workers):
        assert Stages(tmp_path).compute(targets) == 3
        assert sorted(calls) == ["number", "times 2", "times 3"]
        assert Stages(tmp_path).compute(chain(calls)) == 0
    assert len(calls) == 3
    assert results(tmp_path, targets) == [21, 42, 63]


def test_another_setting_computes_only_what_depends_on_it(tmp_path: Path) -> None:
    calls: list[str] = []
    Stages(tmp_path).compute(chain(calls))
    calls.clear()
    changed = chain(calls, factor=5)
    assert Stages(tmp_path).compute(changed) == 1
    assert calls == ["times 5"]
    assert results(tmp_path, changed) == [21, 105, 63]


def test_a_key_holds_all_that_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def stage(kind: str = "k", name: str = "n", by: int = 2, base: int = 1) -> Stage:
        first = Stage("first", "n", {"base": base}, lambda work: None)
        return Stage(kind, name, {"by": by}, lambda work: None, (first,))

    stages = [stage(), stage(kind="other"), stage(name="m"), stage(by=3), stage(base=2)]
    keys = [each.key for each in stages]
    assert len(set(keys)) == len(keys)
    assert stage().key == keys[0]
    monkeypatch.setattr("textassay_lab.papers.stages.version", lambda package: "9.9")
    assert stage().key not in keys


def test_what_a_target_does_not_need_is_not_computed(tmp_path: Path) -> None:
    calls: list[str] = []
    targets = chain(calls)
    Stages(tmp_path).compute(targets[2:])
    assert calls == ["number", "times 3"]
    for path in Stages(tmp_path).folder_of(targets[0]).iterdir():
        path.unlink()
    assert Stages(tmp_path).compute(targets[2:]) == 0, "its own result is there"
    assert Stages(tmp_path).compute(targets[1:]) == 2, "this one builds on the file that is gone"


def test_a_damaged_file_is_computed_again(tmp_path: Path) -> None:
    calls: list[str] = []
    targets = chain(calls)
    Stages(tmp_path).compute(targets)
    folder = Stages(tmp_path).folder_of(targets[0])
    (folder / "number.txt").write_text("")
    assert results(tmp_path, targets)[0] is None
    (folder / "number.txt").write_text("21")
    (folder / "stage.json").write_text("{")
    assert results(tmp_path, targets)[0] is None
    assert Stages(tmp_path).compute(targets[:1]) == 1


def test_an_error_leaves_what_is_done_and_the_stage_goes_on_where_it_was(tmp_path: Path) -> None:
    calls: list[str] = []
    first = chain(calls)[0]

    def fragile(work: Work) -> int:
        kept = work.folder / "half.txt"
        if not kept.exists():
            kept.write_text("half")
            raise InputError("stopped")
        return len(kept.read_text())

    last = Stage("fragile", "n", {}, fragile, (first,))
    with pytest.raises(InputError, match="stopped"):
        Stages(tmp_path).compute([last])
    assert results(tmp_path, [first, last]) == [21, None]
    assert Stages(tmp_path).compute([last]) == 1
    assert calls == ["number"]
    assert results(tmp_path, [last]) == [4]


def test_warnings_stay_with_their_stage(tmp_path: Path) -> None:
    def warner(text: str) -> Stage:
        def run(work: Work) -> None:
            for _ in range(2):
                warnings.warn(text, UserWarning, stacklevel=1)
                time.sleep(0.01)

        return Stage("warn", text, {}, run)

    targets = [warner(text) for text in ("one", "two", "three")]
    with workers(3):
        Stages(tmp_path).compute(targets)
    told = [done.warnings for stage in targets if (done := Stages(tmp_path).done(stage)) is not None]
    assert told == [("one",), ("two",), ("three",)]


def test_levels_follow_one_another_and_progress_counts(tmp_path: Path) -> None:
    lines: list[tuple[str, int, int]] = []
    Stages(tmp_path, lambda *line: lines.append(line)).compute(chain([]))
    assert lines[0] == ("number n", 0, 3)
    assert lines[-1] == ("done", 3, 3)
    assert [done for _, done, _ in lines] == sorted(done for _, done, _ in lines)


def test_a_folder_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="choose another --out"):
        Stages(tmp_path / "file").compute(chain([]))


def test_a_killed_run_leaves_its_finished_stages(tmp_path: Path) -> None:
    program = f"""
import time
from pathlib import Path
from textassay_lab.papers.stages import Stage, Stages
first = Stage("first", "n", {{}}, lambda work: 1)
def slow(work):
    (work.folder / "begun").write_text("")
    time.sleep(60)
Stages(Path({str(tmp_path)!r})).compute([Stage("second", "n", {{}}, slow, (first,))])
"""
    process = subprocess.Popen([sys.executable, "-c", program], env=dict(os.environ))
    limit = time.monotonic() + 60
    while not list(tmp_path.glob("*/begun")):
        assert time.monotonic() < limit
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    first = Stage("first", "n", {}, lambda work: 2)
    second = Stage("second", "n", {}, lambda work: 2, (first,))
    assert results(tmp_path, [first, second]) == [1, None]
    assert Stages(tmp_path).compute([second]) == 1


def test_a_stage_is_a_document(tmp_path: Path) -> None:
    stage = chain([])[0]
    stages = Stages(tmp_path)
    stages.compute([stage])
    document = json.loads((stages.folder_of(stage) / "stage.json").read_text())
    assert document["key"] == stage.key
    assert document["files"] == {"number.txt": 2}
    assert document["seconds"] >= 0
