"""Seconds of each metric alone, for 10,000 generated and as many real sentences, interval included.

    python benchmarks/metrics.py [DATA] [--sentences 10000] [--workers 2]

DATA holds `emnlp_news/`; the test text is real, the validation text is taken for generated. Without DATA both are drawn
from a trigram model of Python's docstrings. Prints a table in Markdown, the best of three runs after a first one on
little text, so that compiled code is there. "Alone": from encoded corpora to the estimate, with nothing kept from other
metrics. "Kept": the same where sentence vectors, or nearest references, are there already, as they are after the first
metric that uses them. Metrics of one line share their work.
"""

import argparse
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.docstrings import docstring_sentences
from textassay.corpus.texts import read_texts
from textassay.embedding.store import DEFAULT_ENCODER, feature_store, features, fit_encoder
from textassay.execution.threads import default_workers, workers
from textassay.metric.base import Shared
from textassay.metric.catalog import parse_metric
from textassay.ngram.model import NgramModel
from textassay.seeding import stream

LINES = (
    ("dd",),
    ("bleu(order=2)", "bleu(order=3)", "bleu(order=4)", "bleu(order=5)"),
    ("self-bleu(order=2)", "self-bleu(order=3)", "self-bleu(order=4)", "self-bleu(order=5)"),
    ("distinct-n(order=1)", "distinct-n(order=2)", "distinct-n(order=3)"),
    ("length",),
    ("vocabulary(of=tokens)", "vocabulary(of=types)"),
    ("fed",),
    ("mmd",),
    ("mauve",),
    ("precision", "recall", "density", "coverage"),
    ("lm-score",),
    ("reverse-lm-score",),
    ("compression-ratio",),
    ("zipf",),
    ("memorization",),
    ("bleu-nearest(order=4)",),
    ("rouge(kind=1)", "rouge(kind=2)", "rouge(kind=l)"),
    ("meteor",),
    ("cider",),
    ("cider-d",),
    ("bleu-train(order=4)",),
    ("huse",),
)
EMBEDDING = {"fed", "mmd", "mauve", "precision", "bleu-nearest(order=4)", "rouge(kind=1)", "meteor", "cider", "cider-d"}
N_RUNS = 3
N_WARM = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=default_workers())
    options = parser.parse_args()
    corpora = corpora_from_texts(texts_of(options.data, options.sentences))
    generated, real, train = (with_columns(corpora[name]) for name in ("generated", "real", "train"))
    print(f"{len(generated):,} generated and {len(real):,} real sentences, {options.workers} threads\n")
    print("| metric | alone | kept |\n|---|---|---|")
    with workers(options.workers):
        for names in LINES:
            few, few_real = (corpus.take(np.arange(min(N_WARM, len(corpus)))) for corpus in (generated, real))
            measure_once(names, few, few_real, train)
            alone = best(names, generated, real, train, kept=False)
            kept = f"{best(names, generated, real, train, kept=True):.2g} s" if names[0] in EMBEDDING else ""
            print(f"| {', '.join(f'`{name}`' for name in names)} | {alone:.2g} s | {kept} |", flush=True)


def texts_of(data: Path | None, n: int) -> dict[str, Sequence[str]]:
    """Return generated, real and training sentences; the training text of the news is its real and generated halves."""
    generated: Sequence[str]
    real: Sequence[str]
    if data is not None:
        generated, real = (read_texts(data / f"emnlp_news/{part}.txt").texts[:n] for part in ("valid", "test"))
    else:
        trigram = NgramModel(3).fit(Corpus.from_texts(docstring_sentences()))
        generated, real = (trigram.sample(n, seed=seed).texts for seed in (0, 1))
    return {"generated": generated, "real": real, "train": [*generated[: n // 2], *real[n // 2 :]]}


def with_columns(corpus: Corpus) -> Corpus:
    """Return the corpus with ratings and log-probabilities made up for HUSE."""
    rng = stream(0, "metrics", corpus.fingerprint)
    columns = {
        "log_probs/made-up": -corpus.lengths * rng.normal(5, 0.5, len(corpus)),
        "ratings/made-up": rng.integers(20, 101, len(corpus)) / 20,
    }
    return Corpus(
        corpus.tokens, corpus.offsets, corpus.vocabulary, corpus.texts, tokenizer=corpus.tokenizer, columns=columns
    )


def best(names: Sequence[str], generated: Corpus, real: Corpus, train: Corpus, *, kept: bool) -> float:
    """Return the seconds of the quickest run, each with an empty store of sentence vectors unless `kept`."""
    times = []
    with feature_store() if kept else nullcontext():
        if kept:
            encoder = fit_encoder(DEFAULT_ENCODER, real)
            for corpus in (real, generated):
                features(encoder, corpus)
            measure_once(names, generated, real, train)
        for _ in range(N_RUNS):
            with nullcontext() if kept else feature_store():
                start = time.perf_counter()
                measure_once(names, generated, real, train)
                times.append(time.perf_counter() - start)
    return min(times)


def measure_once(names: Sequence[str], generated: Corpus, real: Corpus, train: Corpus) -> None:
    """Measure metrics that share their work, as a comparison does; new ones, which have kept nothing."""
    metrics = [parse_metric(name, train=train) for name in names]
    with Shared().used():
        for metric in metrics:
            metric.estimate(generated, real)


if __name__ == "__main__":
    main()
