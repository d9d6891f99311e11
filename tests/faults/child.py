"""Run ``textassay`` with a fault: ``python child.py FAULT.json ARGUMENT...``.

The faults, each in effect only if named in FAULT.json:

- ``die_at``: the process kills itself before the n-th change of a file under ``--out``
- ``count``: the number of such changes is written to this file at the end
- ``jump``: from the n-th such change on, `time.time` is so many seconds off: ``[n, seconds]``
- ``remove_at``: before the n-th such change the folder of ``--out`` is removed
- ``memory``: bytes of address space that the command may take beyond what it takes once everything is imported
"""

import itertools
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

# Modules whose results tell how long something took: their clock stands still, so that results can be compared.
TIMED = ("textassay_lab.meta_evaluation.bench", "textassay_lab.papers.stages")
_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}
_WRITING = os.O_WRONLY | os.O_RDWR


class _StoppedClock:
    """Stands for the module `time`."""

    @staticmethod
    def perf_counter() -> float:
        return 0.0

    process_time = time = monotonic = perf_counter


def run(fault: dict[str, Any], arguments: list[str]) -> int:
    """Arm the fault, run the command and return its status."""
    out = Path(arguments[arguments.index("--out") + 1]).absolute()
    counted = _on_changes(fault, out)
    from textassay.cli.main import main as textassay

    _prepare(arguments[0])
    if "memory" in fault:
        _limit_memory(fault["memory"])
    sys.argv = ["textassay", *arguments]
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return textassay()
    finally:
        if "count" in fault:
            Path(fault["count"]).write_text(str(counted[0]), encoding="ascii")


def _prepare(command: str) -> None:
    """Stop the clocks of `TIMED` that the command uses; give studies a scale of seconds."""
    from importlib import import_module

    if command in ("bench", "study"):
        module = next(name for name in TIMED if command in name)
        import_module(module).time = _StoppedClock  # type: ignore[attr-defined]
    if command == "study":
        from textassay_lab.papers.dd.experiment import DD_PAPER
        from textassay_lab.papers.paper import Network

        tiny = Network("tiny")
        DD_PAPER.scales["micro"] = DD_PAPER.scales["tiny"].but(
            name="micro", n_train=120, n_drawn_train=100, n_valid=12, n_test=30, n_class=40, fractions=(0.5, 1.0),
            networks={"LSTM": tiny, "GPT-2": tiny}, original=tiny, min_count=1,
        )  # fmt: skip


def _on_changes(fault: dict[str, Any], out: Path) -> list[int]:
    """Do what is to be done at one of the changes of files under `out`; return the place where they are counted."""
    number = itertools.count(1)
    counted = [0]
    real_time = time.time

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CHANGES and not (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
        ):
            return
        if not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100  (Path raises events of its own)
        if path != str(out) and not path.startswith(f"{out}{os.sep}"):
            return
        counted[0] = n = next(number)
        if n == fault.get("die_at"):
            os.kill(os.getpid(), signal.SIGKILL)
        if n == fault.get("remove_at"):
            shutil.rmtree(out, ignore_errors=True)
        if "jump" in fault and n == fault["jump"][0]:
            time.time = lambda: real_time() + fault["jump"][1]

    if fault.keys() & {"die_at", "remove_at", "jump", "count"}:
        sys.addaudithook(hook)
    return counted


def _limit_memory(n_bytes: int) -> None:
    """Limit the address space to what is taken now and `n_bytes` more."""
    import resource

    taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (taken + n_bytes, taken + n_bytes))


if __name__ == "__main__":
    sys.exit(run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.argv[2:]))
