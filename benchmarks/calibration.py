"""How often two equal generators come out different by dd, with and without the factor on its variance.

    python benchmarks/calibration.py [--runs 300]

Real text and two generators that share one distribution are drawn anew in each run, from word chains made up here.
Prints a table in Markdown: how much larger the true variance of the difference between the two is than the one that is
reckoned, and how many differences are called significant at 5 %.
"""

import argparse

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from textassay.corpus.corpus import corpora_from_texts
from textassay.execution.threads import default_workers, workers
from textassay.metric.discrepancy import dd

N_WORDS = 60
FACTOR = 1.64  # that of dd under cross-fitting
SIZES = (300, 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    runs = parser.parse_args().runs
    print("| sentences a side | mean dd | variance: true over plain | over x1.64 | significant: plain | x1.64 |")
    print("|---|---|---|---|---|---|")
    with workers(default_workers()):
        for size in SIZES:
            values, differences, variances = (
                np.array(column) for column in zip(*(one_run(size, run) for run in range(runs)), strict=True)
            )
            cells = [f"{values.mean():.3f}"]
            cells += [f"{np.var(differences, ddof=1) / variances.mean() * factor:.2f}" for factor in (FACTOR, 1)]
            cells += [f"{significant(differences, variances / factor):.1%}" for factor in (FACTOR, 1)]
            print(f"| {size} | {' | '.join(cells)} |")


def one_run(size: int, seed: int) -> tuple[float, float, float]:
    """Return the first generator's dd, the difference between the two, and its reckoned variance."""
    corpora = corpora_from_texts(
        {
            "real": chains(size, 3 * seed, 0.0),
            "first": chains(size, 3 * seed + 1, 0.3),
            "second": chains(size, 3 * seed + 2, 0.3),
        }
    )
    first, second = (
        dd(corpora[name], corpora["real"], discriminator="logistic", seed=seed) for name in ("first", "second")
    )
    assert first.evidence is not None
    assert second.evidence is not None
    samples = [
        first.evidence.real_terms - second.evidence.real_terms,  # type: ignore[operator]
        first.evidence.generated_terms,
        second.evidence.generated_terms,
    ]
    variance = sum(float(np.var(terms, ddof=1)) / len(terms) for terms in samples if terms is not None)
    return first.value, first.value - second.value, variance


def chains(n: int, seed: int, shift: float) -> list[str]:
    """Return `n` sentences in which each word decides how likely the next ones are; `shift` moves how likely."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, N_WORDS + 1)
    weights = (1 - shift) * weights + shift * weights[::-1]
    follows = np.random.default_rng(0).permuted(np.tile(np.arange(N_WORDS), (N_WORDS, 1)), axis=1)
    texts = []
    for _ in range(n):
        words = [0]
        for rank in rng.choice(N_WORDS, 3 + rng.poisson(4), p=weights / weights.sum()):
            words.append(int(follows[words[-1], rank]))
        texts.append(" ".join(f"w{word}" for word in words[1:]))
    return texts


def significant(differences: npt.NDArray[np.float64], variances: npt.NDArray[np.float64]) -> float:
    """Return the share of differences that are significant at 5 %, two-sided."""
    return float(np.mean(2 * norm.sf(np.abs(differences) / np.sqrt(variances)) < 0.05))


if __name__ == "__main__":
    main()
