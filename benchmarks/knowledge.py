"""How much of the truth dd finds with more generated text, more real text to learn from, and the training text.

    python benchmarks/knowledge.py TEXT [--sentences 20000] [--seed 100] [--worlds trigram-20k bigram temperature]

TEXT is a file of one sentence a line, of at least 100,000. Real text is drawn from a 5-gram model of it; the generator
is a trigram model of the first 20,000, 40,000 or 100,000 of its sentences, a bigram model of all, or the 5-gram model
at temperature 0.9, so that the truth is known. Printed, as Markdown: dd at effort ``quick`` with its standard error and
processor seconds, from 20,000 real sentences and as many generated ones, 100,000 generated ones, 80,000 more real ones
(``fit_real``), and with what the generator was trained on (``trained_on``). ``--equal DRAWS`` instead compares a 4-gram
model of 40,000 sentences with itself, so many times, 600 sentences a side.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from textassay.corpus import Corpus, corpora_from_texts
from textassay.generator import AtTemperature, NgramModel, ScoredGenerator
from textassay.meta_evaluation import KnownTruthPair
from textassay.metric import dd

N_MORE, N_GENERATED = 80_000, 100_000
WORLDS = ("trigram-20k", "trigram-40k", "trigram-100k", "bigram", "temperature")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--worlds", nargs="*", default=WORLDS, choices=WORLDS)
    parser.add_argument("--equal", type=int, default=None)
    options = parser.parse_args()
    text = corpora_from_texts({"text": options.text})["text"]
    text = text.take(np.random.default_rng(options.seed).permutation(len(text)))
    if options.equal is not None:
        equal(text, options.equal)
        return
    print("| world | truth | same size | 100k generated | and fit_real | trained_on | trained_on, 100k | all |")
    print("|---|---|---|---|---|---|---|---|")
    real_model = model(5, text)
    for world in options.worlds:
        generator, train = generator_of(world, real_model, text)
        cells = measured(KnownTruthPair(world, world, "ngram", real_model, generator), train, options)
        print(f"| {world} | {' | '.join(cells)} |", flush=True)


def model(order: int, text: Corpus) -> NgramModel:
    return NgramModel(order, max_length=5000).fit(text)


def generator_of(world: str, real_model: NgramModel, text: Corpus) -> tuple[ScoredGenerator, Corpus]:
    """Return the generator of a world, and what it was trained on."""
    if world == "temperature":
        return AtTemperature(real_model, 0.9), text
    if world == "bigram":
        return model(2, text), text
    part = text.take(np.arange(1000 * int(world.removeprefix("trigram-").removesuffix("k"))))
    return model(3, part), part


def measured(pair: KnownTruthPair, train: Corpus, options: argparse.Namespace) -> list[str]:
    """Return the truth, and dd from each source of knowledge."""
    real, generated = pair.sample(options.sentences, seed=options.seed)
    more, many = pair.p.sample(N_MORE, seed=options.seed + 999), pair.q.sample(N_GENERATED, seed=options.seed + 77)
    generated, more, many, train = (
        side if side.vocabulary is real.vocabulary else side.with_vocabulary(real.vocabulary)
        for side in (generated, more, many, train)
    )

    def found(generated: Corpus, **untested: Any) -> str:
        begun = time.process_time()
        estimate = dd(generated, real, effort="quick", seed=options.seed, **untested)
        error, seconds = estimate.details["se_sampling"], time.process_time() - begun
        return f"{estimate.value:.3f} ± {error:.3f}, {seconds:.0f} s"

    return [
        f"{pair.truth(20_000, seed=options.seed).value:.3f}",
        found(generated),
        found(many),
        found(many, fit_real=more),
        found(generated, trained_on=train),
        found(many, trained_on=train),
        found(many, trained_on=train, fit_real=more),
    ]


def equal(text: Corpus, draws: int) -> None:
    """Print what dd says of equal generators."""
    one, n = model(4, text.take(np.arange(40_000))), 600
    trained_on = text.take(np.arange(2 * n))
    settings: dict[str, tuple[int, dict[str, Any]]] = {
        "same size": (n, {}),
        "five times as many generated": (5 * n, {}),
        "fit_real": (n, {"fit_real": 4 * n}),
        "trained_on": (n, {"trained_on": trained_on}),
        "all": (5 * n, {"fit_real": 4 * n, "trained_on": trained_on}),
    }
    print("| setting | mean dd | intervals that hold 0 | intervals above 0 |")
    print("|---|---|---|---|")
    for name, (n_generated, untested) in settings.items():
        values, held, above = [], [], []
        for draw in range(draws):
            real, generated = one.sample(n, seed=10 * draw + 1), one.sample(n_generated, seed=10 * draw + 2)
            given = dict(untested)
            if "fit_real" in given:
                given["fit_real"] = one.sample(given["fit_real"], seed=10 * draw + 3)
            estimate = dd(generated, real, effort="quick", seed=draw, **given)
            assert estimate.interval is not None
            values.append(estimate.value)
            held.append(estimate.interval.low <= 0 <= estimate.interval.high)
            above.append(estimate.interval.low > 0)
        print(f"| {name} | {np.mean(values):.4f} | {np.mean(held):.2f} | {np.mean(above):.2f} |", flush=True)


if __name__ == "__main__":
    main()
