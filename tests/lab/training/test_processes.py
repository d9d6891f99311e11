"""Two processes, started by a launcher, that train one network together: equal weights, resuming, one that dies."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dropout_run
from textassay_lab.training.processes import Processes, is_main, launched

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")

SCRIPT = str(Path(dropout_run.__file__))


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that finds what this one finds, without a GPU."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **more}


def read(path: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(path))


def test_without_a_launcher_nothing_is_shared_and_nothing_loaded() -> None:
    code = "import sys; from textassay_lab.training.processes import launched; assert launched() is None; "
    code += "import textassay_lab.training.loop; assert 'accelerate' not in sys.modules and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert launched() is None
    assert is_main()


def test_each_batch_is_one_processs() -> None:
    """Five batches over two processes: (0, 1), (2, 3), (4, none)."""
    batches = list("abcde")
    shares = [[Processes(rank, 2).share(batches, step) for rank in range(2)] for step in range(3)]
    assert [[place for _, place in step] for step in shares] == [[0, 1], [2, 3], [4, None]]
    assert ["".join(together) for together, _ in (step[0] for step in shares)] == ["ab", "cd", "e"]


@pytest.mark.slow
def test_two_processes_train_as_one_that_averages_their_gradients(tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    task = json.dumps({"folder": str(tmp_path)})
    done = subprocess.run(
        [*launcher, SCRIPT, task], env=environment(), capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for name in ("plain", "dropout", "resumed"):
        first, second = (read(tmp_path / f"{name}-{rank}.safetensors") for rank in range(2))
        assert all(torch.equal(first[key], second[key]) for key in first), name

    weights = dropout_run.started()
    plain = dropout_run.loss_of(weights, 0.0)
    groups = [dropout_run.BATCHES[start : start + 2] for start in (0, 2, 4)]
    dropout_run.run(
        weights,
        batches=lambda epoch: groups,
        loss=lambda group, rng: torch.stack([plain(batch, rng) for batch in group]).mean(),
    )
    found = read(tmp_path / "plain-0.safetensors")
    for name, weight in weights.items():
        assert found[name].numpy() == pytest.approx(weight.detach().numpy(), abs=1e-6)

    whole, resumed = (read(tmp_path / f"{name}-0.safetensors") for name in ("dropout", "resumed"))
    assert all(torch.equal(whole[key], resumed[key]) for key in whole)
    assert not torch.equal(whole["a"], found["a"])
    (said, losses), (said_elsewhere, losses_elsewhere) = (
        json.loads((tmp_path / f"told-{rank}.json").read_text()) for rank in range(2)
    )
    assert sorted(set(said)) == [3, 4]
    assert said_elsewhere == []
    assert losses == losses_elsewhere


@pytest.mark.slow
def test_where_one_process_dies_the_others_end(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    task = json.dumps({"folder": str(tmp_path), "dies": True})
    processes = []
    for rank in range(2):
        env = environment(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
        env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        command = [sys.executable, SCRIPT, task]
        processes.append(subprocess.Popen(command, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    try:
        messages = [process.communicate(timeout=120)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert processes[1].returncode == 9
    assert processes[0].returncode not in (0, 9)
    assert "process 0 lost the other 1: one of them ended" in messages[0].splitlines()[-1]
