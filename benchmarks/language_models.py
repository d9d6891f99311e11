"""Rates of the neural language models, training and sampling: ``python benchmarks/language_models.py``.

Made-up text of 30 tokens a sentence from a vocabulary of 5,000; the LSTM of the main paper (2 x 512) and a GPT-2 of
4 x 256, both through the doors that users have. Prints tokens per second by the clock, and by processor time (as if
nothing else ran), and the share of what a matrix product reaches in the same run. The peer is transformers' own GPT-2,
with the same weights, its optimiser and `generate`.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SOS, UNK, Vocabulary
from textassay.execution.threads import default_workers, workers
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.gpt2_model import Gpt2Model
from textassay_lab.generator.network import NetworkLanguageModel
from textassay_lab.training.backend import threads, training_device

N_TYPES, LENGTH, BATCH = 5_000, 30, 128
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
SETTINGS = {
    "lstm": {"preset": "paper", "max_length": LENGTH},
    "gpt2": {"preset": "small", "positions": LENGTH + 1, "batch_size": BATCH},
}


def made_up(n: int) -> Corpus:
    """Return `n` sentences of words as frequent as in real text."""
    draws = np.random.default_rng(0).zipf(1.2, n * LENGTH) % (N_TYPES - UNK - 1)
    vocabulary = Vocabulary([f"w{number}" for number in range(N_TYPES - UNK - 1)])
    offsets = np.arange(n + 1) * LENGTH
    return Corpus((draws + UNK + 1).astype(np.int32), offsets, vocabulary, ("",) * n, tokenizer="whitespace")


def flops_per_token(model: NetworkLanguageModel) -> float:
    """Return what reading one token and the output layer after it take: two for each weight that multiplies."""
    looked_up = ("words", "transformer.wpe.weight")
    shapes = model.shapes(N_TYPES, LENGTH)
    products = sum(np.prod(shape) for name, shape in shapes.items() if len(shape) == 2 and name not in looked_up)
    attention = 2 * model.layers * model.width * LENGTH / 2 if isinstance(model, Gpt2Model) else 0
    return float(2 * (products + attention))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that `work` takes, by the clock and of all processors together."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - clock, time.process_time() - processor


def peak(precision: str) -> float:
    """Return the operations a second of a product of large matrices: the best of three."""
    size = 2048 if training_device().type == "cpu" else 8192
    left, right = (torch.randn(size, size, dtype=DTYPES[precision], device=training_device()) for _ in range(2))
    with threads():
        left @ right
        return 2 * size**3 / min(timed(lambda: left @ right)[0] for _ in range(3))


def row(what: str, precision: str, n_tokens: int, seconds: tuple[float, float], flops: float, n_workers: int) -> None:
    """Print one line of the table."""
    rate, by_processor = n_tokens / seconds[0], n_tokens * n_workers / seconds[1]
    share = rate * flops / peak(precision)
    print(f"| {what} | {precision} | {rate:,.0f} | {by_processor:,.0f} | {share:.0%} |", flush=True)


def train_peer(model: Gpt2Model, corpus: Corpus, precision: str) -> None:
    """Train transformers' model for as many steps as `corpus` has batches."""
    peer: Any = model.as_transformers().train()
    peer.to(training_device())
    optimizer = torch.optim.Adam(peer.parameters(), lr=1e-4, fused=True)
    tokens = torch.from_numpy(corpus.tokens.reshape(-1, LENGTH).astype(np.int64)).to(training_device())
    inputs = torch.nn.functional.pad(tokens, (1, 0), value=SOS)
    for batch in torch.split(inputs, BATCH):
        with torch.autocast(training_device().type, torch.bfloat16, enabled=precision == "bfloat16"):
            loss = peer(batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(peer.parameters(), 1.0)
        optimizer.step()


def sample_peer(model: Gpt2Model, n: int, precision: str) -> None:
    """Draw `n` sentences, all of `LENGTH` tokens, with transformers' `generate`."""
    peer: Any = model.as_transformers()
    peer.to(training_device(), DTYPES[precision])
    start = torch.full((n, 1), SOS, device=training_device())
    peer.generate(start, do_sample=True, top_k=0, min_new_tokens=LENGTH, max_new_tokens=LENGTH)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=default_workers())
    parser.add_argument("--batches", type=int, default=6, help="training batches of 128 sentences")
    parser.add_argument("--samples", type=int, default=2048)
    parser.add_argument("--no-peer", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    corpus = made_up(BATCH * options.batches)
    n_read = len(corpus.tokens) + len(corpus)
    print(f"{options.workers} workers, {training_device()}, PyTorch {torch.__version__}\n")
    print("| what | precision | tokens/s | by processor time | share of the peak |\n|---|---|---:|---:|---:|")
    with workers(options.workers):
        for kind, settings in SETTINGS.items():
            for precision in DTYPES:
                model = make_generator(kind, **{**settings, "max_epochs": 1, "precision": precision})  # type: ignore[arg-type]
                assert isinstance(model, NetworkLanguageModel)
                flops = flops_per_token(model)
                model.fit(corpus.take(np.arange(BATCH)))  # everything is loaded
                seconds = timed(lambda model=model: model.fit(corpus))  # type: ignore[misc]
                row(f"{model.name}, train", precision, n_read, seconds, 3 * flops, options.workers)
                if isinstance(model, Gpt2Model) and not options.no_peer:
                    with threads():
                        seconds = timed(lambda model=model, precision=precision: train_peer(model, corpus, precision))  # type: ignore[misc]
                    row("transformers, train", precision, n_read, seconds, 3 * flops, options.workers)
                title, model.precision = model.name, precision
                model.sample(8, seed=1)
                drawn: list[Corpus] = []
                n = options.samples
                seconds = timed(lambda model=model, n=n, drawn=drawn: drawn.append(model.sample(n, seed=0)))  # type: ignore[misc]
                n_drawn = len(drawn[0].tokens) + int(np.count_nonzero(drawn[0].lengths < LENGTH))
                row(f"{title}, sample", precision, n_drawn, seconds, flops, options.workers)
                if isinstance(model, Gpt2Model) and not options.no_peer:
                    with threads():
                        seconds = timed(lambda model=model, precision=precision: sample_peer(model, 512, precision))  # type: ignore[misc]
                    row("transformers, sample", precision, 512 * LENGTH, seconds, flops, options.workers)


if __name__ == "__main__":
    main()
