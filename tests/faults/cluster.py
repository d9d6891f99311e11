"""Run one comparison on one core, two threads and a Ray cluster of two nodes, of which one dies, or the command itself.

All must end on the ``results.json`` of one core, byte for byte; of two threads, values of fitted models may differ in
the last digits. Needs the extra `ray`.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runs import ROOT, Ended, Process, end, say, table

RESULTS = "results.json"
COMMAND = "compare a=a.txt b=b.txt --real real.txt --quiet"
_SECONDS = 3000  # at most, for one run


def main() -> int:
    """Run the comparison in all these ways and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=2000, help="of each generator and real ones; 2000")
    parser.add_argument("--options", default="", help="more options of compare, such as '--effort quick'")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))
    os.environ |= {
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_gcs_rpc_server_reconnect_timeout_s": "600",
    }
    with tempfile.TemporaryDirectory(prefix="textassay-faults-") as name:
        folder = Path(name)
        _write_texts(folder, options.texts)
        comparison = _Comparison(folder, options.options)
        comparison.run("one core", "taskset -c 0", "--workers 1")
        comparison.run("two threads", "", "--workers 2")
        with _two_nodes(folder) as (address, kill_node):
            there = f"--workers 1 --cluster {address}"
            comparison.run("two nodes", "", there)
            comparison.run("two nodes, the command is killed", "", there, lambda process: process.kill())
            comparison.run("two nodes, one is killed", "", there, lambda process: kill_node())
    print(table(comparison.rows))
    return int(any(row["wrong"] for row in comparison.rows))


class _Comparison:
    """Runs of one comparison, the first of which all others must equal."""

    def __init__(self, folder: Path, options: str) -> None:
        self.rows: list[Mapping[str, object]] = []
        self._folder = folder
        self._options = options
        self._whole = b""
        self._n_kept = 0

    def run(self, name: str, before: str, after: str, fault: Callable[[Process], None] | None = None) -> None:
        """Run it; with `fault`, which comes when half of all estimates are kept, until it ends."""
        out = self._folder / name.replace(" ", "-")
        words = [*before.split(), sys.executable, "-m", "textassay", *f"{COMMAND} {self._options} {after}".split()]
        begin = time.monotonic()
        kept: object = "-"
        process = self._start(words, out)
        if fault is not None:
            while process.poll() is None and _n_kept(out) < self._n_kept / 2:
                time.sleep(0.05)
            kept = f"{_n_kept(out)} of {self._n_kept}"
            is_late = process.poll() is not None
            fault(process)
            ended = end(process, timeout=_SECONDS)
            problem = "it had ended before" if is_late else ""
            if ended.status == -9:
                ended = end(self._start(words, out), timeout=_SECONDS)
        else:
            ended, problem = end(process, timeout=_SECONDS), ""
        problem = problem or _problem(ended, out)
        results = b"" if problem else (out / RESULTS).read_bytes()
        if not self.rows:
            self._whole, self._n_kept = results, _n_kept(out)
        equal = "equal" if results == self._whole else _difference(self._whole, results) if results else "none"
        is_wrong = bool(problem) or (equal != "equal" and "--cluster" in after)
        if problem:
            say(f"  {name}: {problem}")
        seconds = f"{time.monotonic() - begin:.0f}"
        row = {"run": name, "kept when it died": kept, "seconds": seconds, RESULTS: equal, "wrong": int(is_wrong)}
        self.rows.append(row)
        say(table([row]))

    def _start(self, words: list[str], out: Path) -> Process:
        pipe = subprocess.PIPE
        return subprocess.Popen([*words, "--out", str(out)], cwd=self._folder, text=True, stdout=pipe, stderr=pipe)


def _n_kept(out: Path) -> int:
    return sum(path.suffix in (".npz", ".json") for path in (out / "estimates").glob("[!.]*"))


def _problem(ended: Ended, out: Path) -> str:
    if ended.status != 0 or "Traceback" in ended.stderr:
        return f"status {ended.status}: {ended.stderr[-1500:]}"
    return "" if (out / RESULTS).exists() else f"there is no {RESULTS}"


def _difference(ours: bytes, others: bytes) -> str:
    """Return how many numbers of two documents differ, and by how much at most."""
    pairs = list(_leaves(json.loads(ours), json.loads(others)))
    largest = 0.0
    n_different = 0
    for one, other in pairs:
        if one != other:
            n_different += 1
            is_number = isinstance(one, int | float) and isinstance(other, int | float)
            largest = max(largest, abs(one - other) / max(abs(one), abs(other)) if is_number else math.inf)
    return f"{n_different} of {len(pairs)} values differ, by {largest:.1e} at most, relatively"


def _leaves(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """Return the values that stand at the same places of two documents."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from _leaves(one[key], other[key])
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for pair in zip(one, other, strict=True):
            yield from _leaves(*pair)
    else:
        yield one, other


def _write_texts(folder: Path, n_texts: int) -> None:
    from textassay.corpus.docstrings import docstring_sentences

    sentences = [text for text in docstring_sentences() if 3 <= len(text.split()) <= 30]
    if len(sentences) < 3 * n_texts:
        raise SystemExit(f"Python's docstrings have {len(sentences)} sentences: ask for {len(sentences) // 3} texts")
    for number, name in enumerate(("real", "a", "b")):
        part = sentences[number * n_texts : (number + 1) * n_texts]
        (folder / f"{name}.txt").write_text("".join(f"{text}\n" for text in part), encoding="utf-8")


@contextmanager
def _two_nodes(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """Start a cluster of two nodes of one core each; give its address, and what kills one of them."""
    from ray.cluster_utils import Cluster

    place = os.environ["RAY_TMPDIR"] = tempfile.mkdtemp(prefix="ray-")  # a short path, for sockets
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        head = {"num_cpus": 1, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        node = cluster.add_node(num_cpus=1)
    try:
        yield cluster.address, lambda: cluster.remove_node(node, allow_graceful=False)
    finally:
        cluster.shutdown()
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
