"""What bounds of the total variation, e-values and the plug-in give for scores whose distribution is known.

    python benchmarks/bounds.py [--runs 100]

Scores are made up: two normal distributions some way apart, or equal ones of which a small part of one side or of both
has moved away. The first table holds the mean bound at 95 %, by what textassay does and by alternatives that it leaves
out; all but the area under the curve are exact. The second table counts false bounds of fixed rules over 1,000 redraws
of the test part. The third holds e-values against a permutation test, the fourth the plug-in's bias. All in Markdown.
"""

import argparse
import math
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import norm, rankdata
from sklearn.linear_model import LogisticRegression

from textassay.discriminator.base import choose_threshold
from textassay.discriminator.cross_fitting import plug_in
from textassay.resampling.bounds import BoundRule, choose_bound
from textassay.resampling.e_value import e_value
from textassay.resampling.permutation import permutation_p_value
from textassay.resampling.proportions import clopper_pearson

FloatArray = npt.NDArray[np.float64]
Scores = tuple[FloatArray, FloatArray]
Draw = Callable[[np.random.Generator, int], Scores]

ALPHA = 0.05
SIZES = ((4000, 2000), (200, 100))  # tested and validating sentences a side
N_THRESHOLDS = 8  # of the scan over a few


def shifted(distance: float, offset: float = 0.0) -> Draw:
    return lambda rng, n: (
        expit(offset + rng.normal(distance / 2, 1, n)),
        expit(offset + rng.normal(-distance / 2, 1, n)),
    )


def moved(share: float, *, both: bool = False) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> Scores:
        real, generated = rng.normal(0, 1, (2, n))
        generated[rng.random(n) < share] -= 8
        real[rng.random(n) < share * both] += 8
        return expit(real), expit(generated)

    return draw


def variation(distance: float) -> float:
    return float(2 * norm.cdf(distance / 2) - 1)


WORLDS: dict[str, tuple[Draw, float]] = {
    "identical": (shifted(0), 0.0),
    "3 % of one side moved": (moved(0.03), 0.03),
    "3 % of both sides moved": (moved(0.03, both=True), 0.03),
    "10 % of one side moved": (moved(0.1), 0.1),
    "0.1 apart": (shifted(0.1), variation(0.1)),
    "0.3 apart": (shifted(0.3), variation(0.3)),
    "1 apart": (shifted(1), variation(1)),
    "0.5 apart, off the middle": (shifted(0.5, 1.5), variation(0.5)),
    "6 apart": (shifted(6), variation(6)),
}


def ours(valid: Scores, test: Scores) -> float:
    usual = choose_threshold(*valid)
    rule = choose_bound(*valid, n_real=len(test[0]), n_generated=len(test[1]), alpha=ALPHA, usual=usual)
    return rule.bound(*test, alpha=ALPHA).value


def usual_threshold(valid: Scores, test: Scores) -> float:
    return BoundRule(choose_threshold(*valid)).bound(*test, alpha=ALPHA).value


def two_limits(valid: Scores, test: Scores) -> float:
    limit = choose_threshold(*valid)
    called_real = [int((side > limit).sum()) for side in test]
    low = clopper_pearson(called_real[0], len(test[0]), alpha=ALPHA / 2, side="lower")
    high = clopper_pearson(called_real[1], len(test[1]), alpha=ALPHA / 2, side="upper")
    return max(0.0, low - high)


def area(valid: Scores, test: Scores) -> float:
    """DeLong's lower limit of the area under the curve, put into 1 - sqrt(2 (1 - A)): asymptotic."""
    n_real, n_generated = map(len, test)
    ranks = rankdata(np.concatenate(test))
    real = (ranks[:n_real] - rankdata(test[0])) / n_generated
    generated = 1 - (ranks[n_real:] - rankdata(test[1])) / n_real
    error = math.sqrt(real.var(ddof=1) / n_real + generated.var(ddof=1) / n_generated)
    low = real.mean() - float(norm.isf(ALPHA)) * error
    return float(max(0.0, 1 - math.sqrt(2 * max(0.0, 1 - low))))


def jensen_shannon(valid: Scores, test: Scores) -> float:
    """Empirical Bernstein limit of the clipped cross-entropy's divergence in bits; scores calibrated on validation."""
    odds = [
        [np.log(np.clip(side, 1e-9, 1 - 1e-9) / np.clip(1 - side, 1e-9, 1)) for side in pair] for pair in (valid, test)
    ]
    model = LogisticRegression(C=100).fit(
        np.concatenate(odds[0])[:, None], np.repeat([1, 0], [len(side) for side in valid])
    )
    real, generated = (np.clip(model.predict_proba(side[:, None])[:, 1], 0.003, 0.997) for side in odds[1])
    n = min(len(real), len(generated))
    gains = (np.log2(2 * real[:n]) + np.log2(2 * (1 - generated[:n]))) / 2
    width = math.log2(0.997 / 0.003)
    log_term = math.log(2 / ALPHA)
    low = gains.mean() - math.sqrt(2 * gains.var(ddof=1) * log_term / n) - 7 * width * log_term / (3 * (n - 1))
    return float(max(0.0, low))


def band(valid: Scores, test: Scores) -> float:
    """Largest difference of the two distribution functions less both bands of Dvoretzky, Kiefer, Wolfowitz, Massart."""
    at = np.concatenate(test)
    below = [np.searchsorted(np.sort(side), at, side="right") / len(side) for side in test]
    margin = math.sqrt(math.log(2 / ALPHA) / 2) * sum(1 / math.sqrt(len(side)) for side in test)
    return float(max(0.0, (below[1] - below[0]).max() - margin))


def few_thresholds(valid: Scores, test: Scores) -> float:
    limits = np.quantile(np.concatenate(valid), (np.arange(N_THRESHOLDS) + 0.5) / N_THRESHOLDS)
    return max(BoundRule(float(limit)).bound(*test, alpha=ALPHA / N_THRESHOLDS).value for limit in limits)


BOUNDS: dict[str, Callable[[Scores, Scores], float]] = {
    "textassay": ours,
    "accuracy's threshold": usual_threshold,
    "two limits": two_limits,
    "area": area,
    "Jensen-Shannon": jensen_shannon,
    "scan, band": band,
    f"scan, {N_THRESHOLDS}": few_thresholds,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    for n_test, n_valid in SIZES:
        print(f"\nMean bound, {n_test} tested and {n_valid} validating sentences a side, {runs} runs\n")
        table(("scores", "true", *BOUNDS), bound_rows(n_test, n_valid, runs))
    print("\nFalse bounds of 1,000 redraws of 200 sentences a side, the rule fixed\n")
    table(("scores", "false"), false_rows())
    print(f"\nFound at 5 %, 200 sentences a side, {runs} runs\n")
    table(("scores", "e-value of 20", "permutation test"), e_rows(runs))
    print(f"\nPlug-in of identical pairs, {runs} runs\n")
    table(("tested a side", "dd, threshold 1/2", "plug-in"), plug_in_rows(runs))


def bound_rows(n_test: int, n_valid: int, runs: int) -> Iterable[tuple[str, ...]]:
    for name, (draw, truth) in WORLDS.items():
        rng = np.random.default_rng(0)
        pairs = [(draw(rng, n_valid), draw(rng, n_test)) for _ in range(runs)]
        means = [float(np.mean([bound(*pair) for pair in pairs])) for bound in BOUNDS.values()]
        yield name, f"{truth:.4f}", *(f"{mean:.4f}" for mean in means)


def false_rows() -> Iterable[tuple[str, ...]]:
    for name, (draw, truth) in WORLDS.items():
        rng = np.random.default_rng(1)
        rule = choose_bound(*draw(rng, 100), n_real=200, n_generated=200, alpha=ALPHA)
        yield name, str(sum(rule.bound(*draw(rng, 200), alpha=ALPHA).value > truth for _ in range(1000)))


def e_rows(runs: int) -> Iterable[tuple[str, ...]]:
    for distance in (0.0, 0.1, 0.2, 0.3, 0.5):
        rng = np.random.default_rng(2)
        found = np.zeros(2)
        for _ in range(runs):
            steep = distance or 0.3  # of the log-odds; where nothing differs, the classifier believes something does
            real, generated = (expit(steep * rng.normal(sign * distance / 2, 1, 200)) for sign in (1, -1))
            p = permutation_p_value(real, generated, rng=rng, n_resamples=199)
            found += (e_value(real, generated, rng=rng) >= 1 / ALPHA, p <= ALPHA)
        yield f"{distance:g} apart", *(f"{share:.0%}" for share in found / runs)


def plug_in_rows(runs: int) -> Iterable[tuple[str, ...]]:
    for n in (200, 1000, 4000, 10_000):
        rng = np.random.default_rng(3)
        pairs = [(rng.random(n), rng.random(n)) for _ in range(runs)]
        accuracy = np.mean([np.mean(real > 0.5) - np.mean(generated > 0.5) for real, generated in pairs])
        yield f"{n:,}", f"{accuracy:.3f}", f"{np.mean([plug_in(*pair, rng=rng) for pair in pairs]):.3f}"


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    print(f"| {' | '.join(header)} |")
    print("|" + "---|" * len(header))
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
