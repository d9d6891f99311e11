"""Time of the main job: `textassay compare` of three generators with 10,000 real sentences, everything by default.

    python benchmarks/main_job.py [--against CHECKOUT] [--rounds 5] [--texts 10000] [--workers 2]

Sentences are drawn from 6-gram (real) and 1-, 3- and 5-gram models of Python's docstrings. Printed, as Markdown: wall
and processor seconds (minimum and median of the rounds), how many processors were busy on average, and the peak of
memory; of documents `of_documents.py` prints these. With ``--against``, another checkout of the project
runs in turn with this one, first the one, then the other: the ratios of pairs show a change of a few per cent on a
machine whose speed drifts, and the last line says whether both wrote the same results. Not for Windows: processor
seconds come from `os.wait4`.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from textassay.corpus.corpus import Corpus
from textassay.corpus.docstrings import docstring_sentences
from textassay.ngram.model import NgramModel

ORDERS = (1, 3, 5)


@dataclass(frozen=True)
class Run:
    """What one comparison took."""

    wall: float  # seconds
    cpu: float
    peak: float  # GB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, default=None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    checkouts = [Path(__file__).parents[1], *([] if options.against is None else [options.against])]
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        inputs = write_texts(folder, options.texts)
        command = ["compare", "--quiet", "--workers", str(options.workers), *inputs]
        for checkout in checkouts:  # kernels are compiled once a checkout
            run(checkout, command, folder / "warm")
        runs: list[list[Run]] = [[] for _ in checkouts]
        for _ in range(options.rounds):
            for number, checkout in enumerate(checkouts):
                runs[number].append(run(checkout, command, folder / f"out-{number}"))
        print("| checkout | wall s, least | median | processor s, least | median | processors busy | GB |")
        print("|---|---|---|---|---|---|---|")
        for name, taken in zip(("this", "against"), runs, strict=False):
            print(f"| {name} | {row(taken)} |")
        if options.against is not None:
            print(f"\n{ratios(*runs)}")
            results = [(folder / f"out-{number}" / "results.csv").read_bytes() for number in (0, 1)]
            print(f"Tables of results: {'the same' if results[0] == results[1] else 'they differ'}.")


def write_texts(folder: Path, n_texts: int) -> list[str]:
    """Write the texts into `folder`; return the arguments of `compare` that name them."""
    text = Corpus.from_texts(docstring_sentences())
    arguments: list[str] = []
    for order in (max(ORDERS) + 1, *ORDERS):
        drawn = NgramModel(order).fit(text).sample(n_texts, seed=order)
        file = folder / f"{order}-gram.txt"
        file.write_text("".join(line + "\n" for line in drawn.texts), encoding="utf-8")
        arguments += [f"{order}-gram={file}"] if arguments else ["--real", str(file)]
    return arguments


def run(checkout: Path, command: Sequence[str], out: Path) -> Run:
    """Run `textassay` of a checkout with results in `out`, made anew."""
    for file in sorted(out.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    arguments = [sys.executable, "-m", "textassay", *command, "--out", str(out)]
    begin = time.perf_counter()
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"compare of {checkout} failed")
    return Run(time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20)


def row(runs: Sequence[Run]) -> str:
    """Return the cells of a checkout."""
    walls, cpus = [one.wall for one in runs], [one.cpu for one in runs]
    busy = median(one.cpu / one.wall for one in runs)
    numbers = f"{min(walls):.1f} | {median(walls):.1f} | {min(cpus):.1f} | {median(cpus):.1f} | {busy:.2f}"
    return f"{numbers} | {max(one.peak for one in runs):.2f}"


def ratios(these: Sequence[Run], others: Sequence[Run]) -> str:
    """Return the ratios of pairs, this checkout's to the other's."""
    parts = []
    for name in ("wall", "cpu"):
        each = sorted(getattr(one, name) / getattr(other, name) for one, other in zip(these, others, strict=True))
        parts.append(f"{name} {median(each):.3f} ({each[0]:.3f} to {each[-1]:.3f})")
    return f"Ratios of pairs, this to the other: {', '.join(parts)}."


if __name__ == "__main__":
    main()
