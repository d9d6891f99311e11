"""What stopping early does to dd: equal generators, drawn from by the rule of ``compare`` and in fixed numbers.

    python benchmarks/stopping.py MODEL [--sentences 300] [--runs 140]

MODEL is a folder that ``textassay train`` wrote. Real and generated text are draws from it, so that dd should be 0 on
average, and its 95 % interval should hold 0 in 95 of 100 runs. dd is measured at the effort ``quick``.
"""

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from textassay.comparison import Budget, Drawing, Judgement, judge
from textassay.corpus import corpora_from_texts
from textassay.execution import workers
from textassay.generators import from_pretrained

NAME, TIMES = "g", 5  # the default budget


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--runs", type=int, default=140)
    options = parser.parse_args()
    n = options.sentences
    model = from_pretrained(options.model)
    values: dict[str, list[tuple[float, bool]]] = {"by the rule": [], "as many as real": [], f"{TIMES} times": []}
    sizes: Counter[int] = Counter()
    with workers(1):
        for run in range(options.runs):
            measure = partial(dd_of, model.sample(n, seed=10_000_000 + run), run)
            by_rule = drawn(model, n, TIMES * n, run, lambda _, texts, measure=measure: measure(texts))
            many = drawn(model, TIMES * n, TIMES * n, run, None)
            sizes[len(by_rule) // n] += 1
            for name, texts in zip(values, (by_rule, many[:n], many), strict=True):
                estimate = measure(texts).estimate
                assert estimate.interval is not None
                values[name].append((estimate.value, estimate.interval.low <= 0 <= estimate.interval.high))
    print(f"{options.runs} runs of {n} real texts; by the rule, so many times as many were drawn: {dict(sizes)}")
    for name, found in values.items():
        dds, holds = np.array([value for value, _ in found]), np.mean([inside for _, inside in found])
        error = dds.std() / len(dds) ** 0.5
        print(f"{name}: mean dd {dds.mean():+.4f} ± {error:.4f}, sd {dds.std():.3f}, intervals hold 0 in {holds:.1%}")
    print(f"{time.process_time():.0f} processor seconds")


def dd_of(real: Sequence[str], seed: int, texts: Sequence[str]) -> Judgement:
    corpora = corpora_from_texts({"(real)": real, NAME: texts})
    return judge(corpora["(real)"], corpora[NAME], effort="quick", folds=5, level=0.95, seed=seed)


def drawn(model: Any, n: int, most: int, seed: int, judge: Any) -> Sequence[str]:
    """Return what is drawn beside `n` real texts; without a `judge`, as many."""
    drawing = Drawing(
        {NAME: model}, named={NAME: model}, n_real=n, real_groups=None, budget=Budget(most, None), least=50,
        level=0.95, seed=seed, folder=None, judge=judge, progress=None,
    )  # fmt: skip
    return drawing.draw()[NAME][1]


if __name__ == "__main__":
    main()
