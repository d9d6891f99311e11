"""What stopping early does to dd: equal generators, drawn from by the rule of ``compare`` and in fixed numbers.

    python benchmarks/stopping.py TEXT [--sentences 300] [--runs 200]

TEXT is a file of one sentence a line. Real and generated text are draws from one trigram model of it, so that dd should
be 0 on average, and its 95 % interval should hold 0 in 95 of 100 runs. dd is measured at the effort ``quick``.
"""

import argparse
import time
from collections import Counter
from pathlib import Path

import numpy as np

import textassay as ta

TIMES = 5  # the default budget


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    n = options.sentences
    generator = ta.generators.Ngram(order=3).fit(options.text)
    values: dict[str, list[tuple[float, bool]]] = {"by the rule": [], "as many as real": [], f"{TIMES} times": []}
    sizes: Counter[int] = Counter()
    for run in range(options.runs):
        real = generator.sample(n, seed=10_000_000 + run)
        how = {"metrics": ["dd"], "effort": "quick", "explain": False, "own_log_probs": False, "seed": run}
        comparison = ta.compare({"equal": generator}, real, **how)  # type: ignore[arg-type]
        assert comparison.texts is not None
        by_rule = comparison.texts["equal"]
        sizes[len(by_rule) // n] += 1
        many = generator.sample(TIMES * n, seed=20_000_000 + run)
        for name, texts in zip(values, (by_rule, many[:n], many), strict=True):
            estimate = ta.dd(list(texts), real, effort="quick", seed=run)
            assert estimate.interval is not None
            values[name].append((estimate.value, estimate.interval.low <= 0 <= estimate.interval.high))
    print(f"{options.runs} runs of {n} real texts; by the rule, so many times as many were drawn: {dict(sizes)}")
    for name, found in values.items():
        dds, holds = np.array([value for value, _ in found]), np.mean([inside for _, inside in found])
        error = dds.std() / len(dds) ** 0.5
        print(f"{name}: mean dd {dds.mean():+.4f} ± {error:.4f}, sd {dds.std():.3f}, intervals hold 0 in {holds:.1%}")
    print(f"{time.process_time():.0f} processor seconds")


if __name__ == "__main__":
    main()
