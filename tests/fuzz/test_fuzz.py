"""Every reader is fuzzed for a second; ``python tests/fuzz/fuzz.py READER --seconds 600`` does it for longer."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_no_reader_is_surprised(tmp_path: Path) -> None:
    script = Path(__file__).with_name("fuzz.py")
    command: list[str | Path] = [sys.executable, script, "--plain", "--seconds", "1", "--found", tmp_path / "found"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 34
