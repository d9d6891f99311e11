"""What the stages of trained networks share: names of runs."""

from textassay_lab.papers.training import numbered


def test_runs_after_the_first_are_numbered() -> None:
    assert [numbered("LSTM", run) for run in range(3)] == ["LSTM", "LSTM again 1", "LSTM again 2"]
