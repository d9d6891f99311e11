"""Every reader is fuzzed for a second; ``python tests/fuzz/fuzz.py READER --seconds 600`` does it for longer.

A reader with a fault is found out.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")]

_FAULTY = """
import sys, time
import fuzz, readers

def read(path):
    from textassay.errors import InputError

    content = path.read_bytes()
    if b"x" not in content:
        {fault}
    raise InputError("it has an x")

readers.READERS["faulty"] = lambda: readers.Reader("a.txt", read, (b"a lax text",), {{}})
sys.exit(fuzz.main())
"""


def test_no_reader_is_surprised(tmp_path: Path) -> None:
    script = Path(__file__).with_name("fuzz.py")
    command: list[str | Path] = [sys.executable, script, "--plain", "--seconds", "1", "--found", tmp_path / "found"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 36


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("raise ValueError", "ValueError at"),
        ("while True: pass", "takes more than 5 seconds"),
        ("b'1' * (1 << 28)", "takes 2"),
        ("import os; os.abort()", "ends the process with status -6"),
    ],
)
def test_a_reader_with_a_fault_is_found_out(fault: str, says: str, tmp_path: Path) -> None:
    script = tmp_path / "faulty.py"
    script.write_text(_FAULTY.format(fault=fault))
    command: list[str | Path] = [
        sys.executable,
        script,
        "faulty",
        "--plain",
        "--seconds",
        "1",
        "--found",
        tmp_path / "found",
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"): {says}" in done.stderr
    assert b"x" not in (tmp_path / "found" / "faulty-0").read_bytes()
