"""What the stages of trained networks share: names of runs, and the seconds of a processor over killed runs."""

from pathlib import Path

import pytest

from textassay_lab.papers.network_stages import numbered, processor_seconds


def test_runs_after_the_first_are_numbered() -> None:
    assert [numbered("LSTM", run) for run in range(3)] == ["LSTM", "LSTM again 1", "LSTM again 2"]


def test_processor_seconds_go_on_where_a_killed_run_was(tmp_path: Path) -> None:
    (tmp_path / "seconds.json").write_text("100.0")
    with processor_seconds(tmp_path) as seconds:
        assert 100 <= seconds() < 101
    told = seconds()
    sum(range(10**6))
    assert seconds() == told  # it is over
    assert not list(tmp_path.iterdir())
    (tmp_path / "seconds.json").write_text("100.")  # half written
    with pytest.raises(KeyError), processor_seconds(tmp_path):
        raise KeyError
    assert (tmp_path / "seconds.json").exists()
