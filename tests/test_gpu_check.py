"""`make gpu-check`: it runs on a CPU in a small form, so that it is whole when a GPU is there."""

from pathlib import Path
from runpy import run_path

import pytest
import torch

main = run_path(str(Path(__file__).resolve().parents[1] / "benchmarks" / "gpu_check.py"))["main"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* were cut at:UserWarning")
def test_every_row_of_the_small_form_runs_on_a_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "cpu", "--small"]) == 0
    shown = capsys.readouterr().out
    assert "FAILED" not in shown
    for part in ("| Translation |", "| ScratchGan, float32 |", "tokens/s", "| discriminator | CNN, 200 + 200 texts |"):
        assert part in shown


def test_rows_are_picked_and_printed_as_they_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "cpu", "--small", "--only", "values: LSTM*"]) == 0
    rows = capsys.readouterr().out.splitlines()[4:]
    assert len(rows) == 1
    assert rows[0].startswith("| values | LSTM under autocast |")
    assert "torch.bfloat16" in rows[0]


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main([]) == 2
    assert capsys.readouterr().err == "no GPU here: --device cpu --small tries the script without one\n"
