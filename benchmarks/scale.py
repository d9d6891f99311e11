"""Time and memory of each stage of a comparison by number of texts.

    python benchmarks/scale.py REAL GENERATED [--sizes 10000 30000 100000] [--stages bleu "dd quick"]

REAL and GENERATED are files of one sentence a line, or of one document a line (.jsonl, as `of_documents.py --keep`
writes them), with as many lines as the largest size. Each stage runs in a process of its own on the first lines of
both, with two threads. Printed, as Markdown: processor seconds, wall seconds, and the megabytes that the stage takes
beyond the texts it measures. Linux only: the peak of memory comes from /proc. On a busy machine wall seconds are taken
to be no more than the processor seconds of the main thread, which takes part in all work, or half of all.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

WORKERS = 2
OF_VECTORS = ("fed", "mmd", "mauve", "neighbours")  # families that share the vectors of the stage "encoder"
EFFORTS = ("quick", "default")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path)
    parser.add_argument("generated", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=(10_000, 30_000, 100_000))
    parser.add_argument("--stages", nargs="*", default=None)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # a process for one stage
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.stages[0], options.real, options.generated)))
        return
    stages = options.stages or [*every_stage()]
    print("| stage | texts a side | tokens | processor s | wall s | MB |\n|---|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        for size in options.sizes:
            files = [head(file, size, Path(folder)) for file in (options.real, options.generated)]
            for stage in stages:
                point = in_own_process(stage, *files)
                cells = f"{point['tokens']:,} | {point['cpu']:.1f} | {point['wall']:.1f} | {point['megabytes']:.0f}"
                print(f"| {stage} | {size:,} | {cells} |", flush=True)


def every_stage() -> list[str]:
    """Return the names of all stages: the family of each default metric, of dd and explanations with their effort.

    Those with a prior, such as "dd quick prior", have to be named.
    """
    from textassay.metric.catalog import default_metrics, parse_metrics

    families = dict.fromkeys(metric.declaration.family for metric in parse_metrics(default_metrics()))
    with_effort = [f"{stage} {effort}" for stage in ("dd", "explanation") for effort in EFFORTS]
    return ["reading", "inspection", "encoder", *(family for family in families if family != "dd"), *with_effort]


def head(file: Path, size: int, folder: Path) -> Path:
    """Return a file of the first `size` lines."""
    shorter = folder / f"{size}-{file.name}"
    with file.open("rb") as lines, shorter.open("wb") as kept:
        written = sum(1 for _, line in zip(range(size), lines, strict=False) if kept.write(line))
    if written < size:
        raise SystemExit(f"{file} has {written} lines, fewer than {size}")
    return shorter


def in_own_process(stage: str, real: Path, generated: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, str(real), str(generated), "--one", "--stages", stage]
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result


def measured(stage: str, real: Path, generated: Path) -> dict[str, Any]:
    """Return texts and tokens of both sides, seconds and megabytes of one stage."""
    from textassay.comparison.explain import explain
    from textassay.comparison.learning_curve import judge
    from textassay.comparison.measure import EstimateStore, Task, measure_cells
    from textassay.corpus.corpus import corpora_from_texts
    from textassay.corpus.structure import unit_of
    from textassay.embedding.store import DEFAULT_ENCODER, feature_store, features, fit_encoder
    from textassay.execution.threads import workers
    from textassay.inspection.dependence import Examined
    from textassay.inspection.inspection import inspect
    from textassay.metric.base import check_effort
    from textassay.metric.catalog import default_metrics, parse_metrics
    from textassay.metric.frechet import fed
    from textassay.settings import Measuring

    name, *kinds = stage.split()
    effort = check_effort(kinds[0] if kinds else "default")
    prior = "english" if "prior" in kinds else None
    files = {"real": real, "generated": generated}
    warm_up(prior)
    with workers(WORKERS), feature_store(None), EstimateStore(None) as store:
        before = Start()
        corpora = corpora_from_texts(files)
        full = None
        if name == "explanation":
            metric = Measuring(effort=effort, prior=prior).of_dd()
            full = judge(corpora["real"], corpora["generated"], metric, seed=0)
        unit = unit_of(corpora["real"])
        if name in OF_VECTORS:
            fed(corpora["generated"], corpora["real"])  # so that the vectors are there
        if name != "reading":
            before = Start()
        if name == "inspection":
            inspect({"generated": corpora["generated"]}, corpora["real"])
        elif name == "encoder":
            encoder = fit_encoder(DEFAULT_ENCODER, corpora["real"])
            for corpus in corpora.values():
                features(encoder, corpus)
        elif name == "explanation":
            explain(corpora["generated"], corpora["real"], effort=effort, prior=prior, full=full)
        elif name != "reading":
            metrics = parse_metrics(default_metrics(unit=unit), effort=effort, prior=prior, unit=unit)
            metrics = [metric for metric in metrics if metric.declaration.family == name]
            task = Task("generated", Examined.of(corpora["generated"], corpora["real"]))
            measure_cells(metrics, [task], seed=0, store=store, strict=True, version="")
        spent = before.spent()
    return {
        "tokens": sum(len(corpus.tokens) for corpus in corpora.values()),
        **spent,
    }


def warm_up(prior: Any) -> None:
    """Load and compile what all stages share, so that small sizes do not pay for it."""
    import textassay as ta

    texts = [[f"{word} {number % 7} {number}" for number in range(200)] for word in ("a", "b")]
    ta.compare({"generated": texts[0]}, texts[1], explain=True, effort="quick", prior=prior)


class Start:
    """Clocks and memory before a stage; the kernel's record of the peak begins anew."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")
        self.memory = status("VmRSS")
        self.cpu, self.alone, self.wall = time.process_time(), time.thread_time(), time.perf_counter()

    def spent(self) -> dict[str, float]:
        """Return processor and wall seconds, and the peak of memory beyond that of the beginning in megabytes."""
        cpu, alone = time.process_time() - self.cpu, time.thread_time() - self.alone
        return {
            "cpu": round(cpu, 2),
            "wall": round(min(time.perf_counter() - self.wall, max(alone, cpu / WORKERS)), 2),
            "megabytes": round((status("VmHWM") - self.memory) / 1024),
        }


def status(name: str) -> int:
    """Return a number of kilobytes that the kernel says of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main()
