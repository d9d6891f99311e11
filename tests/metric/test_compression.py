"""Compression ratio against gzip itself, its invariance, and an interval that covers."""

import gzip

import numpy as np
import pytest

from made_up import sentences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.metric.compression import compression_ratio
from textassay.resampling.jackknife import jackknife_terms


def test_it_is_what_gzip_makes_of_the_sorted_sentences() -> None:
    texts = sentences(500, 1)
    corpus = Corpus.from_texts(texts)
    data = "".join(f"{text}\n" for text in sorted(texts)).encode()
    estimate = compression_ratio(corpus, corpus)
    assert estimate.details["n_bytes"] == len(data)
    assert estimate.details["n_bytes_compressed"] == len(gzip.compress(data, 6))
    assert estimate.value == len(data) / len(gzip.compress(data, 6))


def test_tokens_are_compressed_not_the_text_as_read() -> None:
    plain, odd = (Corpus.from_texts(texts, lowercase=True) for texts in (["a b", "c d"], ["A  b", "C\td"]))
    assert compression_ratio(plain, plain).details == compression_ratio(odd, odd).details


def test_repeats_far_apart_count_as_much_as_neighbours() -> None:
    """Each half is larger than gzip's window, so in the order of the file its repetition would go unseen."""
    half = sentences(3000, 1)
    assert len("\n".join(half)) > 2 * 32768
    twice, once = half + half, half + sentences(3000, 2)
    corpora = corpora_from_texts({"twice": twice, "once": once})
    repeated, fresh = (compression_ratio(corpora[name], corpora["once"]).value for name in ("twice", "once"))
    in_order = [len("\n".join(texts)) / len(gzip.compress("\n".join(texts).encode())) for texts in (twice, once)]
    assert in_order[0] == pytest.approx(in_order[1], rel=0.02)
    assert repeated > 1.5 * fresh


def test_sentences_of_one_document_are_left_out_together() -> None:
    texts = sentences(60, 3)
    documents = np.arange(60) // 10
    corpus = Corpus.from_texts(texts, groups=documents)
    estimate = compression_ratio(corpus, corpus)

    def plainly(kept: list[str]) -> float:
        data = "".join(f"{text}\n" for text in sorted(kept)).encode()
        return len(data) / len(gzip.compress(data, 6))

    without = [plainly([text for text, own in zip(texts, documents, strict=True) if own != left]) for left in range(6)]
    assert estimate.evidence is not None
    assert estimate.evidence.generated_terms is not None
    terms = jackknife_terms(estimate.value, np.array(without), np.full(6, 10))
    assert terms is not None
    assert np.sort(estimate.evidence.generated_terms) == pytest.approx(np.sort(terms))


def test_no_token_is_undefined() -> None:
    corpus = Corpus.from_texts(["", ""])
    with pytest.warns(RuntimeWarning, match="undefined"):
        estimate = compression_ratio(corpus, corpus)
    assert np.isnan(estimate.value)
    assert estimate.interval is None


def test_the_interval_covers_the_mean_over_samples() -> None:
    """Of 60 samples of one size, about 57 have the mean of all in their 95 % interval."""
    estimates = []
    for seed in range(60):
        corpus = Corpus.from_texts(sentences(200, seed))
        estimates.append(compression_ratio(corpus, corpus))
    mean = np.mean([estimate.value for estimate in estimates])
    covered = [
        estimate.interval.low <= mean <= estimate.interval.high
        for estimate in estimates
        if estimate.interval is not None
    ]
    assert len(covered) == 60
    assert np.mean(covered) >= 0.88
    spread = np.std([estimate.value for estimate in estimates], ddof=1)
    widths = [e.interval.high - e.interval.low for e in estimates if e.interval is not None]
    assert 0.7 < np.mean(widths) / (2 * 2.09 * spread) < 1.6
