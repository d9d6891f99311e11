"""Seconds of a monitor's reading by part, beside the seconds of an epoch of the language model that it watches.

    python benchmarks/monitoring.py DATA [--sentences 6400] [--model lstm] [--preset paper] [--precision bfloat16]

DATA holds `yelp/`. The model (words, vocabulary 5,000) is trained on the first sentences; the epoch is what all of them
would take at that rate. A reading draws n sentences and measures them against n of the validation text. The second
number is processor seconds, which other work on the machine disturbs less. Prints tables in Markdown.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from textassay.corpus.text_form import TextForm
from textassay.corpus.texts import read_texts
from textassay.execution.threads import default_workers, workers
from textassay_lab.generator.catalog import make_generator, presets_of
from textassay_lab.monitoring.monitor import METRICS, TextMonitor
from textassay_lab.training.recipe import Recipe

SIZES = (1000, 5000)
REPEATS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sentences", type=int, default=6400, help="to train on (default 6400)")
    parser.add_argument("--model", default="lstm")
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--precision", default="float32")
    arguments = parser.parse_args()
    texts = read_texts(arguments.data / "yelp" / "train.txt").texts
    form = TextForm.learn(texts, max_size=5000)
    valid = form.corpus(read_texts(arguments.data / "yelp" / "valid.txt").texts)
    recipe: Recipe = presets_of(arguments.model)[arguments.preset]["recipe"]
    recipe = replace(recipe, max_epochs=1, precision=arguments.precision)
    with workers(default_workers()):
        train = form.corpus(texts[: arguments.sentences])
        make_generator(arguments.model, preset=arguments.preset, recipe=recipe).fit(
            train.take(np.arange(256))
        )  # warms up
        begin = clocks()
        model: Any = make_generator(arguments.model, preset=arguments.preset, recipe=recipe).fit(train)
        rate = (len(train.tokens) + len(train)) / since(begin)[0]
        everything = form.corpus(texts)
        epoch = (len(everything.tokens) + len(everything)) / rate
        print(f"{model.name}, {arguments.precision}: {rate:,.0f} tokens a second, an epoch of {len(texts):,} sentences "
              f"takes {epoch:.0f} s")  # fmt: skip
        parts = ["draw", *(name.split("(")[0] for name in METRICS.split(","))]
        print(f"| sentences drawn | {' | '.join(parts)} | all | processor | share of the epoch | preparing once |")
        print("|---" * (len(parts) + 5) + "|")
        for n in SIZES:
            begin = clocks()
            monitor = TextMonitor(valid, n=n)
            once = since(begin)[0]
            taken = []
            for step in range(REPEATS):
                begin = clocks()
                reading = monitor.measure(lambda n, seed: model.sample(n, seed=seed), step)
                taken.append((*since(begin), reading.seconds))
            wall, processor, seconds = min(taken, key=lambda times: times[0])
            shown = " | ".join(f"{seconds[part]:.2f} s" for part in parts)
            print(f"| {n:,} | {shown} | {wall:.2f} s | {processor:.2f} s | {wall / epoch:.2%} | {once:.2f} s |")


def clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def since(begin: tuple[float, float]) -> tuple[float, float]:
    """Return wall and processor seconds."""
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


if __name__ == "__main__":
    main()
