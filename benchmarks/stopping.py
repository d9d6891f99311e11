"""What stopping early does to dd: equal generators, drawn from by the rule of ``compare`` and in fixed numbers.

    python benchmarks/stopping.py MODEL [--sentences 300] [--runs 140] [--times 20] [--log-probs]

MODEL is a folder that ``textassay train`` wrote. Real and generated text are draws from it, so that dd should be 0 on
average, and its 95 % interval should hold 0 in 95 of 100 runs. dd is measured at the effort ``quick``, for the decision
as for the result; with ``--log-probs`` it knows the log-probabilities of the model, both times. ``--times``: the
budget, so many times the real texts. The rule draws five times as many in any case where that is little; the last row
is the rule without that.
"""

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from textassay.comparison import TIMES_REAL, Budget, Drawing, Judgement, Score, judge
from textassay.corpus import corpora_from_texts
from textassay.execution import workers
from textassay.generators import from_pretrained

NAME = "g"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--runs", type=int, default=140)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--log-probs", action="store_true")
    options = parser.parse_args()
    n, most = options.sentences, options.times * options.sentences
    model = from_pretrained(options.model)
    names = ("by the rule", "as many as real", f"{TIMES_REAL} times", "by the rule, from as many as real")
    values: dict[str, list[tuple[float, bool]]] = {name: [] for name in names}
    sizes: dict[str, Counter[int]] = {name: Counter() for name in names}
    with workers(1):
        for run in range(options.runs):
            real = model.sample(n, seed=10_000_000 + run)
            measure = partial(dd_of, real, run)
            score = Score({NAME: model}, real) if options.log_probs else None
            by_rule = drawn(model, n, most, run, measure, score)
            with patch("textassay.comparison.drawing.LITTLE", 0):
                from_few = drawn(model, n, most, run, measure, score)
                many = drawn(model, TIMES_REAL * n, TIMES_REAL * n, run, None, None)
            for name, texts in zip(names, (by_rule, many[:n], many, from_few), strict=True):
                estimate = measure(NAME, texts, None if score is None else score(NAME, texts, None)).estimate
                assert estimate.interval is not None
                sizes[name][len(texts) // n] += 1
                values[name].append((estimate.value, estimate.interval.low <= 0 <= estimate.interval.high))
    print(f"{options.runs} runs of {n} real texts, budget {options.times} times as many")
    for name, found in values.items():
        dds, holds = np.array([value for value, _ in found]), np.mean([inside for _, inside in found])
        error = dds.std() / len(dds) ** 0.5
        print(
            f"{name}: mean dd {dds.mean():+.4f} ± {error:.4f}, sd {dds.std():.3f}, intervals hold 0 in {holds:.1%}; "
            f"times as many: {dict(sorted(sizes[name].items()))}"
        )
    print(f"{time.process_time():.0f} processor seconds")


def dd_of(real: Sequence[str], seed: int, name: str, texts: Sequence[str], log_probs: Any) -> Judgement:
    corpora = corpora_from_texts({"(real)": real, name: texts})
    sides = [corpora["(real)"], corpora[name]]
    if log_probs is not None:
        columns = zip(sides, reversed(log_probs), strict=True)
        sides = [replace(side, columns={f"log_probs/{name}": column}) for side, column in columns]
    return judge(sides[0], sides[1], effort="quick", folds=5, level=0.95, seed=seed)


def drawn(model: Any, n: int, most: int, seed: int, judge: Any, score: Score | None) -> Sequence[str]:
    """Return what is drawn beside `n` real texts; without a `judge`, as many."""
    drawing = Drawing(
        {NAME: model}, named={NAME: model}, n_real=n, real_groups=None, budget=Budget(most, None), least=50,
        level=0.95, seed=seed, folder=None, judge=judge, progress=None, score=score,
    )  # fmt: skip
    return drawing.draw()[NAME][1]


if __name__ == "__main__":
    main()
