"""Whether dd's statements hold at any ratio of real to generated text, and with text that it only learns from.

    python benchmarks/ratios.py [--draws 300] [--settings 1:1 1:50]

Sentences are drawn from 3-gram models of Python's docstrings. Two tables are printed, as Markdown. Equal generators:
the mean of dd, the share of 95 % intervals that hold 0 and that lie above it, of |z| above 1.96, of certified bounds
above 0, and the p-value of a Kolmogorov-Smirnov test that p-values are uniform. Unequal generators (one learnt a tenth
of the text, or draws at temperature 0.8, of 3-grams or of single words), a tenth as many draws: the share of the truth,
and certified bounds and intervals above the truth. In brackets: what chance allows, at 99 %.
"""

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from textassay.corpus.corpus import Corpus
from textassay.corpus.docstrings import docstring_sentences
from textassay.metric.discrepancy import dd
from textassay.ngram.model import NgramModel
from textassay_lab.generator.scored import AtTemperature
from textassay_lab.meta_evaluation.known_truth_pairs import KnownTruthPair

_OTHER = 10**6  # added to a seed for a draw of its own


@dataclass(frozen=True)
class Setting:
    """How much text of each kind."""

    n_real: int
    n_generated: int
    n_fit_real: int = 0
    n_trained_on: int = 0


SETTINGS: Mapping[str, Setting] = {
    "1:1": Setting(300, 300),
    "1:5": Setting(300, 1500),
    "1:50": Setting(100, 5000),
    "5:1": Setting(1500, 300),
    "1:1, fit_real": Setting(300, 300, n_fit_real=1200),
    "5:1, fit_real": Setting(500, 100, n_fit_real=2000),
    "1:1, trained_on": Setting(300, 300, n_trained_on=600),
    "1:5, fit_real and trained_on": Setting(300, 1500, n_fit_real=1200, n_trained_on=600),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS), choices=list(SETTINGS))
    options = parser.parse_args()
    text = Corpus.from_texts(docstring_sentences()[:20_000])
    real, words = model(3, text), model(1, text)
    tenth = text.take(np.arange(len(text) // 10))
    n = options.draws
    most = {chance: int(stats.binom.ppf(0.99, n, chance)) for chance in (0.025, 0.05)}
    least = int(stats.binom.ppf(0.01, n, 0.95))
    print(f"| equal | real + generated | mean dd | hold 0 (from {least}) | above 0 (to {most[0.025]}) | "
          f"z beyond 1.96 (to {most[0.05]}) | bounds above 0 (to {most[0.05]}) | KS p | CPU s a dd |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.settings:
        print_equal(name, SETTINGS[name], drawn(KnownTruthPair("equal", "", "", real, real), SETTINGS[name], n))
    n = options.draws // 10
    print(f"\n| unequal | truth | share of it | bounds above it (to {stats.binom.ppf(0.99, n, 0.05):.0f}) | "
          "intervals above it |")  # fmt: skip
    print("|---|---|---|---|---|")
    for pair in (
        KnownTruthPair("a tenth of the text", "", "", real, model(3, tenth), train=tenth),
        KnownTruthPair("temperature 0.8", "", "", real, AtTemperature(real, 0.8)),
        KnownTruthPair("temperature 0.8, single words", "", "", words, AtTemperature(words, 0.8)),
    ):
        truth = pair.truth(20_000, seed=0)
        for name in options.settings:
            runs = drawn(pair, SETTINGS[name], n)
            bounds, above = (int((runs[key] > truth.interval.high).sum()) for key in ("bound", "low"))
            share = runs["value"].mean() / truth.value
            print(f"| {pair.name}, {name} | {truth.value:.3f} | {share:.2f} | {bounds} | {above} |", flush=True)


def model(order: int, text: Corpus) -> NgramModel:
    return NgramModel(order, max_length=500).fit(text)


def drawn(pair: KnownTruthPair, setting: Setting, n: int) -> dict[str, np.ndarray]:
    """Return what dd says of `n` draws."""
    rows = []
    for seed in range(n):
        real, generated = pair.sample(setting.n_real, n_generated=setting.n_generated, seed=seed)
        more: dict[str, Any] = {}
        if setting.n_fit_real:
            more["fit_real"] = pair.more_real(setting.n_fit_real, seed=seed)
        if setting.n_trained_on:
            more["trained_on"] = pair.train or pair.more_real(setting.n_trained_on, seed=_OTHER + seed)
        begun = time.process_time()
        estimate = dd(generated, real, effort="quick", seed=seed, **more)
        assert estimate.interval is not None
        rows.append(
            {
                "value": estimate.value,
                "low": estimate.interval.low,
                "high": estimate.interval.high,
                "z": estimate.value / max(estimate.details["se_sampling"], 1e-9),
                "bound": estimate.details["certified_bound"]["value"],
                "p": estimate.details["p_value"],
                "seconds": time.process_time() - begun,
            }
        )
    return {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}


def print_equal(name: str, setting: Setting, runs: Mapping[str, np.ndarray]) -> None:
    hold = int(((runs["low"] <= 0) & (runs["high"] >= 0)).sum())
    above, beyond = int((runs["low"] > 0).sum()), int((np.abs(runs["z"]) > 1.96).sum())
    bounds, uniform = int((runs["bound"] > 0).sum()), stats.kstest(runs["p"], "uniform").pvalue
    print(
        f"| {name} | {setting.n_real:,} + {setting.n_generated:,} | {runs['value'].mean():+.4f} | {hold} | {above} | "
        f"{beyond} | {bounds} | {uniform:.2f} | {runs['seconds'].mean():.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
