"""Samples from outside: what a command gives, and every way in which it can go wrong."""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError, OptionError
from textassay.source import external
from textassay.source.external import ExternalCommand

PREFIX = Corpus.from_texts(["a"])


def python(code: str) -> str:
    """Return the shell command that runs `code`."""
    return f"{sys.executable} -c '{code}' {{n}} {{seed}}"


def error(command: str, **settings: Any) -> str:
    with pytest.raises(InputError) as caught:
        ExternalCommand(command, **settings).sample(2, seed=0)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def as_json(*keys: str) -> str:
    """Return the command that prints a line with an "a" for each key."""
    return "; ".join(f"""echo '{{"{key}": "a"}}'""" for key in keys)


def alive(pid: int) -> bool:
    """Return whether a process runs; one that ended and that nobody has waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def gone(path: Path) -> bool:
    """Return whether the process whose number stands in a file ends within five seconds."""
    pid, deadline = int(path.read_text()), time.monotonic() + 5
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


@pytest.mark.feature("JJ-08")
def test_what_it_does_not_know_is_refused() -> None:
    generator = ExternalCommand("echo a")
    for settings in ({"temperature": 0.5}, {"top_k": 1}, {"top_p": 0.5}, {"prefix": PREFIX}, {"context": PREFIX}):
        with pytest.raises(OptionError, match=next(iter(settings))):
            generator.sample(1, seed=0, **settings)
    with pytest.raises(OptionError, match="n must be at least 1"):
        generator.sample(0, seed=0)
    with pytest.raises(OptionError, match="seed must be at least 0"):
        generator.sample(1, seed=-1)
    with pytest.raises(OptionError, match="cannot be fitted"):
        generator.fit(PREFIX)


@pytest.mark.feature("JJ-08")
def test_a_command_is_told_how_many_and_the_seed() -> None:
    command = python(
        'import sys; n, seed = map(int, sys.argv[1:]); print(*[f"{seed} {k}" for k in range(n)], sep=chr(10))'
    )
    generator = ExternalCommand(command)
    assert list(generator.sample(3, seed=7).texts) == ["7 0", "7 1", "7 2"]
    assert generator.name.startswith(f"command({sys.executable} -c")


def test_lines_end_as_in_files_and_the_last_needs_no_end() -> None:
    assert list(ExternalCommand(r"printf 'a\r\n\n\302\205 \303\251'").sample(3, seed=0).texts) == ["a", "", "\x85 \xe9"]
    assert list(ExternalCommand("echo").sample(1, seed=0).texts) == [""]
    json_lines = """printf '{"a": {"b": "x\\\\ny"}}\\n{"a": {"b": "z"}, "c": 1}\\n'"""
    assert list(ExternalCommand(json_lines, column="a.b").sample(2, seed=0).texts) == ["x\ny", "z"]


def test_much_output_on_both_streams_is_no_deadlock() -> None:
    code = """import sys
for k in range(20000): print(k, "w" * 50); print("m" * 100, file=sys.stderr)"""
    assert len(ExternalCommand(python(code)).sample(20000, seed=0)) == 20000


@pytest.mark.feature("JJ-08")
def test_what_a_command_does_wrong_is_one_line() -> None:
    assert "printed 1 of 2 sentences; it ended with status 0" in error("echo a")
    assert error("echo a; echo first >&2; echo last >&2; echo >&2; exit 3").endswith(
        "failed after 1 of 2 sentences; it ended with status 3: last"
    )
    assert "failed after 2 of 2 sentences; it ended with status 1" in error("echo a; echo b; exit 1")
    assert "printed more than 2 sentences" in error("yes")
    assert "printed more than 2 sentences" in error("printf 'a\\nb\\nc'")
    assert "status 127" in error("no-such-command-anywhere")
    assert "line 2 is not UTF-8 (byte 2)" in error(r"printf 'a\nb\377\n'")
    assert "line 2 is not a JSON object with 'text'" in error(
        """printf '{"text": "a"}\\n{"txt": "a"}\\n'""", column="text"
    )
    assert "line 1 is not a JSON object with 'text'" in error("printf '[1]\\n{'", column="text")
    assert "'text' in line 1 must be a string, got 1" in error(
        """printf '{"text": 1}\\n{"text": "a"}\\n'""", column="text"
    )
    for settings, message in (({"command": " "}, "empty"), ({"command": "a", "timeout": 0}, "timeout must be above 0")):
        with pytest.raises(OptionError, match=message):
            ExternalCommand(**settings)


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "_GRACE", 0.2)
    child = tmp_path / "child"
    began = time.monotonic()
    message = error(f"echo a; sleep 60 & echo $! > {child}; wait", timeout=0.3)
    assert "took longer than 0.3 seconds and printed 1 of 2" in message
    assert time.monotonic() - began < 10
    assert gone(child)
    # one that does not listen, and one that has closed its streams
    deaf = tmp_path / "deaf"
    assert "took longer" in error(f"trap '' TERM; echo $$ > {deaf}; exec >&- 2>&-; sleep 60", timeout=0.3)
    assert gone(deaf)


def test_nothing_is_left_after_more_lines_than_asked_for_or_after_success(tmp_path: Path) -> None:
    child = tmp_path / "child"
    error(f"sleep 60 & echo $! > {child}; yes")
    assert gone(child)
    ExternalCommand(f"sleep 60 >&- 2>&- & echo $! > {child}; echo a").sample(1, seed=0)
    assert gone(child)


def test_an_interrupt_ends_the_command(tmp_path: Path) -> None:
    child = tmp_path / "child"

    main = threading.get_ident()

    def interrupt() -> None:
        while not (child.exists() and child.read_text().strip()):
            time.sleep(0.01)
        time.sleep(0.2)  # on a busy machine the child may be there before `Popen` returns
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        ExternalCommand(f"sleep 60 & echo $! > {child}; wait").sample(1, seed=0)
    thread.join()
    assert gone(child)
