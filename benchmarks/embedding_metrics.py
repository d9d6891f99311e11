"""Time MAUVE on given vectors against mauve-text in one run, and precision, recall, density and coverage beside it.

    python benchmarks/embedding_metrics.py [--sentences 5000] [--dimensions 256] [--workers 2] [--runs 3]

Vectors are made up: a mixture of 200 Gaussians with decaying variances, generated ones slightly shifted. Prints a table
in Markdown; times are the best of the runs after a first one that compiles, processor seconds those of the same run:
on a busy machine look at these. mauve-text runs k-means five times, as we do, and keeps the best instead of the mean.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.execution.threads import workers
from textassay.metric.base import Shared
from textassay.metric.mauve import mauve
from textassay.metric.precision_recall import coverage, density, precision, recall

Float32Array = npt.NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    names = ("real", "a", "b", "c")
    made = {
        name: _vectors(options.sentences, options.dimensions, seed=seed, shift=0.1 * seed)
        for seed, name in enumerate(names)
    }
    corpora = corpora_from_texts({name: [f"{name} {i}" for i in range(options.sentences)] for name in names})
    corpora = {name: replace(corpus, columns={"features": made[name]}) for name, corpus in corpora.items()}
    real, generated = corpora["real"], [corpora[name] for name in names[1:]]
    print(f"{options.sentences} sentences of {options.dimensions} dimensions a side; {options.workers} workers,")
    print(f"load of the machine {os.getloadavg()[0]:.1f}\n")
    print("| what | seconds | processor seconds | values |\n|---|---|---|---|")
    with workers(options.workers):
        _row("mauve of one generator", lambda: [mauve(generated[0], real, encoder="given").value], options.runs)
        _row(
            "mauve of three generators",
            lambda: [mauve(g, real, encoder="given").value for g in generated],
            options.runs,
        )
        _row("precision, recall, density, coverage", lambda: _neighbourhood(generated[0], real), options.runs)
    try:
        from mauve import compute_mauve  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        print("| mauve-text | not installed | | |")
        return

    def peer() -> list[float]:
        return [float(compute_mauve(p_features=made["real"], q_features=made["a"], verbose=False).mauve)]

    _row("mauve-text, one generator", peer, options.runs)


def _vectors(n: int, dimensions: int, *, seed: int, shift: float) -> Float32Array:
    scales = np.arange(1, dimensions + 1) ** -0.3
    centres = np.random.default_rng(100).standard_normal((200, dimensions)) * scales
    rng = np.random.default_rng(seed)
    rows = centres[rng.integers(0, 200, n)] + rng.standard_normal((n, dimensions)) * scales + shift * centres[0]
    found: Float32Array = rows.astype(np.float32)
    return found


def _neighbourhood(generated: Corpus, real: Corpus) -> list[float]:
    with Shared().used():
        return [metric(generated, real, encoder="given").value for metric in (precision, recall, density, coverage)]


def _row(what: str, function: Callable[[], list[float]], n_runs: int) -> None:
    values = function()
    times = []
    for _ in range(n_runs):
        start = time.perf_counter(), time.process_time()
        function()
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    wall, processor = min(times)
    print(f"| {what} | {wall:.2f} | {processor:.2f} | {', '.join(f'{value:.3f}' for value in values)} |")


if __name__ == "__main__":
    main()
