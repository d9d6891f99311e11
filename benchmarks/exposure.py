"""Time of EB-C (two LSTMs of width 512, 20 prefix lengths) and of EB-bleu's scores (six lengths).

    python benchmarks/exposure.py [--sequences 2048] [--precision bfloat16] [--vocabulary 6000] [--device cpu]

The weights are random: they cost what trained ones cost. Each time is given by the clock and in processor seconds of
all threads together; the last line scales EB-C to 100,000 sequences from the model and as many from the oracle,
EB-bleu to 10 runs of 10,000 against 10,000. With another device the networks compute there; BLEU never does.
"""

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from textassay.corpus.encoding import Vocabulary
from textassay.execution.threads import device, workers
from textassay_lab.exposure.bleu import continuation_scores
from textassay_lab.exposure.distance import next_word_distances
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.prefixes import model_prefixes

LENGTH = 20
RECORD: dict[str, Any] = {"history": {"epochs": [], "readings": [], "precision": "float32"}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=2048)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="bfloat16")
    parser.add_argument("--vocabulary", type=int, default=6000)
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    with workers(2), device(asked.device):
        drawing, reading = _eb_c(asked.sequences, asked.precision, asked.vocabulary)
        scores = _eb_bleu(asked.sequences, asked.vocabulary)
    of_words, of_bleu = 2 * 100_000 / asked.sequences, 20 * 10_000 / asked.sequences
    print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    print(
        f"scaled: EB-C of 100,000 + 100,000 sequences {reading.times(of_words)}, drawing them "
        f"{drawing.times(of_words)}; scores of EB-bleu {scores.times(of_bleu)}"
    )


class Seconds(NamedTuple):
    """By the clock, and of all threads of the processor together."""

    clock: float
    processor: float

    def __str__(self) -> str:
        return f"{self.clock:.2f} s ({self.processor:.2f} s of processors)"

    def times(self, factor: float) -> str:
        """Return so many times this, as text."""
        return f"{self.clock * factor:.0f} s ({self.processor * factor:.0f} s of processors)"


def _eb_c(n: int, precision: str, n_types: int) -> tuple[Seconds, Seconds]:
    """Return the time of drawing n sequences, and of reading them with two models."""
    vocabulary = Vocabulary(f"w{number}" for number in range(n_types - 4))
    model, oracle = (_model(seed, vocabulary, precision) for seed in (1, 2))
    model_prefixes(model, 2, 600, seed=1)  # compiles and warms up
    next_word_distances(model, oracle, np.full((600, 2), 9), [0, 2])
    rows, drawing = _timed(lambda: model_prefixes(model, LENGTH, n, seed=0))
    found, reading = _timed(lambda: next_word_distances(model, oracle, rows, range(LENGTH)))
    print(f"{n} sequences of {LENGTH}, {precision}: drawn in {drawing}, two models read them in {reading}")
    print(", ".join(f"{name} {values.mean():.4f}" for name, values in found.items()))
    return drawing, reading


def _model(seed: int, vocabulary: Vocabulary, precision: str) -> LstmModel:
    rng = np.random.default_rng(seed)
    model = LstmModel(512)
    shapes = model.shapes(len(vocabulary), LENGTH)
    spread = {"words": 0.1, "output": 0.3}
    weights = {
        name: (rng.normal(size=shape) * spread.get(name, 0.05)).astype(np.float32) for name, shape in shapes.items()
    }
    model.restore(weights, vocabulary=vocabulary, tokenizer="whitespace", record=RECORD)
    model.precision = precision
    return model


def _eb_bleu(n: int, n_types: int) -> Seconds:
    """Return the time of scoring n continuations against n at six prefix lengths."""
    rng = np.random.default_rng(0)
    vocabulary = Vocabulary(f"w{number}" for number in range(n_types - 4))
    words = np.minimum(rng.zipf(1.3, (2 * n, 50)) + 3, n_types - 1)
    continuation_scores(words[:9], words[9:18], vocabulary)  # compiles

    def score_all() -> None:
        for length in (5, 10, 15, 20, 25, 30):
            continuation_scores(words[:n, length:], words[n:, length:], vocabulary)

    _, spent = _timed(score_all)
    print(f"{n} continuations against {n}, six lengths, sentences of 50: {spent}")
    return spent


def _timed(work: Callable[[], Any]) -> tuple[Any, Seconds]:
    """Return what `work` gives, arrays in main memory, and the time it took."""
    start = time.perf_counter(), time.process_time()
    found = work()
    return found, Seconds(time.perf_counter() - start[0], time.process_time() - start[1])


if __name__ == "__main__":
    main()
