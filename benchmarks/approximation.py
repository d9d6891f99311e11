"""Algorithm 1 in processor seconds: ``python benchmarks/approximation.py``.

Networks with random weights, so that nothing has to be trained: what is timed does not depend on what was learnt. An
LSTM by the multinomial short cut over 100,000 positions, by its own passes over 100 (what the short cut saves); a GRU
driven by noise, one-hot and soft, over 1,000 positions. N = 2,000. ``--coverage`` instead asks how often intervals of
bits per character hold the mean over many texts, whose words change from stretch to stretch; ``--real FOLDER`` trains
an LSTM on the first 400,000 characters of ``train.txt`` and measures it on ``test.txt`` at several windows.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.execution.threads import default_workers, workers
from textassay_lab.adversarial.noise_gru import NoiseGru
from textassay_lab.approximation.approximation import Approximation, approximate
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.prefixes import blocks
from textassay_lab.generator.running_text import read_running_text
from textassay_lab.training.recipe import Recipe

LETTERS = " abcdefghijklmnopqrstuvwxyz"
N_SAMPLES = 2_000


def characters(n: int, form: TextForm) -> Corpus:
    """Return `n` characters of running text, drawn from a Zipf distribution."""
    draws = np.random.default_rng(0).zipf(1.3, n) % len(LETTERS)
    return form.corpus(["".join(np.array(list(LETTERS))[draws])])


def lstm(width: int, form: TextForm) -> LstmModel:
    """Return an LSTM with the weights that a training begins with."""
    model = LstmModel(width, dropout=0.0)
    module = model.begun(len(form.vocabulary), 0, torch.Generator().manual_seed(0))
    model.take(module, vocabulary=form.vocabulary, tokenizer=form.tokenizer.name, record={})
    return model


def noise_gru(width: int, form: TextForm) -> NoiseGru:
    """Return a GRU driven by noise, with the weights that a training begins with."""
    model = NoiseGru(width, length=32, ends=False)
    module = model.begun(len(form.vocabulary), 0, torch.Generator().manual_seed(0))
    model.take(module, vocabulary=form.vocabulary, tokenizer=form.tokenizer.name, record={})
    return model


def row(what: str, run: Callable[[], Approximation]) -> None:
    """Print one line of the table."""
    clock, processor = time.perf_counter(), time.process_time()
    found = run()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    print(f"| {what} | {found.mode} | {found.n_tokens:,} | {clock:.1f} | {processor:.1f} |", flush=True)


def coverage(n_texts: int, n_characters: int) -> None:
    """Print how often intervals hold what they are for, over texts that a character model draws."""
    form = TextForm(resolve_tokenizer("chars"), Vocabulary(LETTERS))
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list(LETTERS[1:]), rng.integers(2, 8))) for _ in range(300)]
    weights = 1 / np.arange(1, 301)

    def text(seed: int, n: int) -> Corpus:
        """Return text whose words lean to one half of the vocabulary or the other for a while."""
        draws = np.random.default_rng(seed)
        found: list[str] = []
        while sum(map(len, found)) + len(found) < n:
            topic = np.where(np.arange(300) % 2 == draws.integers(2), 3.0, 1.0) * weights
            found += draws.choice(words, 40, p=topic / topic.sum()).tolist()
        return form.corpus([" ".join(found)[:n]])

    train = text(10_000, 40_000)
    model = make_generator("ngram", order=4).fit(
        form.corpus([train.texts[0][at : at + 200] for at in range(0, 40_000, 200)])
    )
    runs = [approximate(model, text(seed, n_characters), window=20, seed=seed) for seed in range(n_texts)]
    for name in ("plain", "corrected", "exact", "gap"):
        values = [getattr(run, name) for run in runs]
        truth = float(np.mean([value.value for value in values]))
        held = [value.interval.low <= truth <= value.interval.high for value in values]
        print(f"| {name} | {truth:.4f} | {np.mean(held):.3f} |", flush=True)


def real(folder: Path, width: int) -> None:
    """Print what the test text costs under an LSTM, approximately, corrected and exactly."""
    text = read_running_text(folder / "train.txt")[:400_000]
    form = TextForm.learn([text], tokenizer="chars")
    recipe = Recipe(max_epochs=3, learning_rate=5e-3, schedule="linear", max_norm=5.0)
    model = LstmModel(width, dropout=0.0, batch_size=32, recipe=recipe).fit(blocks(form.corpus([text]), 50))
    test = form.corpus([read_running_text(folder / "test.txt")])
    settings = ((7, 0, 2000), (7, 50, 2000), (50, 0, 200), (50, 0, 2000), (50, 0, 20_000), (1000, 0, 2000))
    for window, context, n_samples in settings:
        found = approximate(model, test, window=window, context=context, n_samples=n_samples)
        costs = [bits for bits in (found.plain, found.corrected, found.exact) if bits is not None]
        told = " | ".join(f"{bits.value:.3f}" for bits in costs)
        print(f"| {window} | {context} | {n_samples:,} | {told} | {100 * found.zero_share:.2f} % |", flush=True)
    rule = approximate(model, test, window=50, rule=True).rule
    if rule is not None and rule.errors is not None and rule.stops_at is not None:
        error = rule.errors[rule.sizes.index(rule.stops_at)]
        print(f"rule: stops at {rule.stops_at:,}, c = {rule.spread:.3f}, slope {rule.slope:.2f}; ", end="")
        print(f"true error there {error:.4f}, slope {rule.error_slope:.2f}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--real", type=Path, metavar="FOLDER")
    parser.add_argument("--texts", type=int, default=300)
    arguments = parser.parse_args()
    if arguments.coverage:
        print("| quantity | mean over texts | share of 95 % intervals that hold it |\n|---|---:|---:|")
        coverage(arguments.texts, 20_000)
        return
    if arguments.real is not None:
        print("| window | context | N | approximate | corrected | exact | never drawn |")
        print("|---:|---:|---:|---:|---:|---:|---:|")
        with workers(default_workers()):
            real(arguments.real, arguments.width)
        return
    form = TextForm(resolve_tokenizer("chars"), Vocabulary(LETTERS))
    print("| generator | mode | positions | seconds | processor seconds |\n|---|---|---:|---:|---:|")
    with workers(default_workers()):
        model, noisy = lstm(arguments.width, form), noise_gru(arguments.width, form)
        many, some, few = (characters(n, form) for n in (100_000, 1_001, 100))
        row(f"LSTM of {arguments.width}", lambda: approximate(model, many, window=100, n_samples=N_SAMPLES))
        row(f"LSTM of {arguments.width}", lambda: approximate(model, few, mode="onehot", window=20))
        for mode in ("onehot", "soft"):
            row(f"noise GRU of {arguments.width}", lambda how=mode: approximate(noisy, some, mode=how, window=7))  # type: ignore[misc]


if __name__ == "__main__":
    main()
