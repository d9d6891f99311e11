"""Time BLEU and self-BLEU from Python strings to the scores of orders 1 to 5, against NLTK and fast-bleu in one run.

    python benchmarks/bleu.py DATA [--sentences 10000] [--workers 2]

DATA holds `emnlp_news/` and `yelp/`. Prints a table in Markdown; times are the best of five after a first run that
compiles. NLTK needs about a second a sentence, so it is timed on five sentences and the rest is reckoned. fast-bleu is
optional and left out where it is not installed.
"""

import argparse
import ctypes
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.execution.threads import workers
from textassay.metric.base import MetricFunction, Shared
from textassay.metric.bleu import bleu, self_bleu

ORDERS = range(1, 6)
WEIGHTS = [(1 / order,) * order for order in ORDERS]
N_CHECKED = 300
N_TIMED_NLTK = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    generated, real = (
        (options.data / "emnlp_news" / name).read_text(encoding="utf-8").splitlines()[: options.sentences]
        for name in ("valid.txt", "test.txt")
    )
    _check(generated[:N_CHECKED], real[:N_CHECKED])
    rows = []
    for name, score in (("BLEU", _bleu), ("self-BLEU", _self_bleu)):
        with workers(1):
            one = _best(partial(score, generated, real))
        with workers(options.workers):
            several = _best(partial(score, generated, real))
        peers = {"fast-bleu": _fast_bleu(name, generated, real), "NLTK": _nltk(name, generated, real)}
        rows.append((f"{name} of {len(generated):,} news sentences", one, several, peers))
    print(f"| from strings to all orders | 1 core | {options.workers} cores | fast-bleu | NLTK |")
    print("|---|---|---|---|---|")
    for name, one, several, peers in rows:
        cells = ["not installed" if peer is None else f"{peer:.1f} s ({peer / one:,.0f}x)" for peer in peers.values()]
        print(f"| {name} | {one:.3f} s | {several:.3f} s | {' | '.join(cells)} |")
    _large(options.data, options.workers)


def _bleu(generated: list[str], real: list[str]) -> Any:
    corpora = corpora_from_texts({"generated": generated, "real": real})
    return _all_orders(bleu, corpora["generated"], corpora["real"])


def _self_bleu(generated: list[str], real: list[str]) -> Any:
    corpora = corpora_from_texts({"generated": generated})
    return _all_orders(self_bleu, corpora["generated"], corpora["generated"])


def _all_orders(metric: MetricFunction, generated: Corpus, real: Corpus) -> Any:
    with Shared().used():
        estimates = [metric(generated, real, order=order) for order in ORDERS]
    scores = [estimate.evidence.generated_scores for estimate in estimates if estimate.evidence is not None]
    return np.column_stack([of_order for of_order in scores if of_order is not None]), estimates


def _best(function: Callable[[], Any], n_runs: int = 5) -> float:
    function()
    times = []
    for _ in range(n_runs):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def _nltk_scores(hypothesis: str, references: list[list[str]]) -> list[float]:
    smooth = SmoothingFunction().method1
    return [float(score) for score in sentence_bleu(references, hypothesis.split(), WEIGHTS, smooth)]


def _check(generated: list[str], real: list[str]) -> None:
    """Compare every score with NLTK's, odd sentences included."""
    generated = [*generated, "", "the", "the the the the", real[0], " ".join(real[1].split()[:3])]
    references = [text.split() for text in real]
    expected = [_nltk_scores(text, references) for text in generated]
    found, _ = _bleu(generated, real)
    print(f"largest difference from NLTK over {len(generated)} sentences: {np.abs(found - expected).max():.1e}")
    expected = [
        _nltk_scores(text, [other.split() for place, other in enumerate(generated) if place != index])
        for index, text in enumerate(generated)
    ]
    found, _ = _self_bleu(generated, real)
    print(f"and for self-BLEU: {np.abs(found - expected).max():.1e}\n")


def _nltk(name: str, generated: list[str], real: list[str]) -> float:
    references = [text.split() for text in (real if name == "BLEU" else generated[N_TIMED_NLTK:])]
    start = time.perf_counter()
    for text in generated[:N_TIMED_NLTK]:
        _nltk_scores(text, references)
    return (time.perf_counter() - start) / N_TIMED_NLTK * len(generated)


def _fast_bleu(name: str, generated: list[str], real: list[str]) -> float | None:
    try:
        import fast_bleu
    except ImportError:
        return None
    weights = {order: weight for order, weight in zip(ORDERS, WEIGHTS, strict=True) if order > 1}
    start = time.perf_counter()
    hypotheses = [text.split() for text in generated]
    if name == "BLEU":
        fast_bleu.BLEU([text.split() for text in real], weights).get_score(hypotheses)
    else:
        fast_bleu.SelfBLEU(hypotheses, weights).get_score()
    return time.perf_counter() - start


def _large(data: Path, n_workers: int) -> None:
    """Print time and memory of self-BLEU over all Yelp sentences, from token ids."""
    lines = [
        line
        for part in ("train", "valid", "test")
        for line in (data / "yelp" / f"{part}.txt").read_text(encoding="utf-8").splitlines()
    ]
    corpus = corpora_from_texts({"text": lines})["text"]
    score = partial(_all_orders, self_bleu, corpus, corpus)
    with workers(n_workers):
        before = _peak_memory(reset=True)
        score()
        after = _peak_memory(reset=False)
        several = _best(score, 3)
    with workers(1):
        one = _best(score, 3)
    memory = "unknown memory" if before is None or after is None else f"{(after - before) / 2**20:.0f} MB"
    print(
        f"\nself-BLEU of {len(corpus):,} review sentences ({len(corpus.tokens):,} tokens), all orders with intervals, "
        f"from token ids: {one:.2f} s on one core, {several:.2f} s on {n_workers}, {memory} beyond the text"
    )


def _peak_memory(*, reset: bool) -> int | None:
    """Return the most memory this process has held since the last reset, in bytes; none where that is not known."""
    try:
        if reset:
            ctypes.CDLL(None).malloc_trim(0)  # give back what building the corpus needed
            Path("/proc/self/clear_refs").write_text("5")
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    except (OSError, AttributeError):
        pass
    return None


if __name__ == "__main__":
    main()
