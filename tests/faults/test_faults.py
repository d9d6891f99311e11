"""The scripts of this folder, a few moments each; `README.md` says how to run them in full."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, tmpfs and namespaces"),
]


def _run(script: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, HERE / script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("kill.py", "--fork", "--times", "4", "ngram", "stress", "compare"),
        ("kill.py", "--times", "2", "--signal", "INT", "ngram"),
        ("kill.py", "--fork", "--times", "3", "--signal", "TERM", "ngram", "bench"),
        ("surroundings.py", "--fork", "--times", "2", "ngram", "stress"),
        ("store.py", "--fork", "--times", "4", "ngram", "stress"),
        ("writers.py", "--fork", "--times", "1", "compare"),
        ("memory.py", "--fork", "--times", "3", "ngram"),
    ],
    ids=" ".join,
)
def test_a_few_moments(arguments: tuple[str, ...]) -> None:
    rows = _run(*arguments).splitlines()[2:]
    assert rows
    assert all(row.split(" | ")[-1] == "0 |" for row in rows)  # nothing is wrong


def test_a_node_or_the_command_is_killed_on_a_cluster() -> None:
    pytest.importorskip("ray")
    rows = _run("cluster.py", "--texts", "300", "--options=--effort quick").splitlines()[2:]
    assert len(rows) == 5
    assert all(row.endswith("| 0 |") for row in rows)


@pytest.mark.parametrize("arguments", [("disk.py",), ("disk.py", "--read-only")], ids=" ".join)
def test_a_disk_of_its_own(arguments: tuple[str, ...]) -> None:
    if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine lets nobody mount a disk")
    assert _run(*arguments, "--fork", "--times", "2", "ngram")
