"""Time the Fréchet distance and mmd on given features, the first against SciPy's root of a product, in one run.

    python benchmarks/frechet.py [--sentences 10000] [--dimensions 384] [--workers 2]

Features are drawn from two Gaussians with a spectrum like that of sentence vectors. Prints a table in Markdown; times
are the best of several after a first run. "value" goes from two arrays to the distance; "prepared" is the time a
generator adds to a comparison, where the real side is known: value, interval, bias and limit of many sentences.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import sqrtm

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.execution.threads import workers
from textassay.metric.base import Metric, Shared
from textassay.metric.catalog import parse_metric
from textassay.metric.frechet import frechet, moments, root

Array = npt.NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    generated, real = _features(options.sentences, options.dimensions)
    expected, found = _by_scipy(generated, real), _by_own(generated, real)
    print(f"relative difference from SciPy: {abs(found / expected - 1):.1e}\n")
    whole = _corpora(generated, real)
    half = _corpora(generated[: options.sentences // 2], real[: options.sentences // 2])
    print(f"| {options.sentences:,} sentences a side, {options.dimensions} dimensions | seconds |")
    print("|---|---|")
    with workers(options.workers):
        peer = _best(lambda: _by_scipy(generated, real))
        own = _best(lambda: _by_own(generated, real))
        rows = {
            "SciPy: two np.cov and sqrtm": peer,
            f"fed, value ({peer / own:.1f} times as fast)": own,
            "fed, prepared": _prepared(parse_metric("fed(encoder=given)"), *whole),
            "mmd, prepared": _prepared(parse_metric("mmd(encoder=given)"), *whole),
            "mmd, prepared, half as many": _prepared(parse_metric("mmd(encoder=given)"), *half),
        }
    for name, seconds in rows.items():
        print(f"| {name} | {seconds:.3f} |")


def _by_own(generated: Array, real: Array) -> float:
    of_real = moments(real)
    return sum(frechet(moments(generated), of_real, root(of_real.covariance).matrix))


def _features(n: int, n_dimensions: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    lengths = np.arange(1, n_dimensions + 1) ** -0.5
    real = rng.normal(size=(n, n_dimensions)) * lengths
    generated = 0.95 * rng.normal(size=(n, n_dimensions)) * lengths[rng.permutation(n_dimensions)] + 0.01
    return generated.astype(np.float32), real.astype(np.float32)


def _by_scipy(generated: Array, real: Array) -> float:
    (mean, covariance), (real_mean, real_covariance) = (
        (side.mean(axis=0, dtype=np.float64), np.cov(side, rowvar=False, dtype=np.float64))
        for side in (generated, real)
    )
    root = sqrtm(covariance @ real_covariance).real
    return float(np.sum((mean - real_mean) ** 2) + np.trace(covariance + real_covariance - 2 * root))


def _corpora(generated: Array, real: Array) -> tuple[Corpus, Corpus]:
    texts = {name: [str(row) for row in range(len(real))] for name in ("generated", "real")}
    made = corpora_from_texts(texts)
    return tuple(  # type: ignore[return-value]
        replace(made[name], columns={"features": rows}) for name, rows in (("generated", generated), ("real", real))
    )


def _prepared(metric: Metric, generated: Corpus, real: Corpus) -> float:
    shared = Shared()
    with shared.used():
        metric.estimate(generated, real)

        def again() -> object:
            shared.forget(generated)
            return metric.estimate(generated, real)

        return _best(again)


def _best(function: Callable[[], Any], n_runs: int = 5) -> float:
    function()
    times = []
    for _ in range(n_runs):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
