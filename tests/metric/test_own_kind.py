"""Intervals of every metric where both sides are draws of one distribution (`benchmarks/own_kind.py` prints more)."""

import warnings
from collections import defaultdict

import numpy as np
import pytest

from textassay.corpus.corpus import corpora_from_texts
from textassay.corpus.docstrings import docstring_sentences
from textassay.embedding.store import feature_store
from textassay.metric.base import Shared
from textassay.metric.catalog import CATALOG, DEFAULT_METRICS, parse_metrics

LEFT_OUT = ("conditional-dd", "huse")  # which need prompts, and people
OF_DISTRIBUTIONS = ("dd", "length", "mmd")  # whose truth is 0; of the others, what such samples score on average
N_DRAWS, N_TEXTS = 120, 300
MOST = {"bleu-train(order=4)": 0.15}  # a few copies of training text hold most of its matches


@pytest.mark.slow
@pytest.mark.usefixtures("stand_in_model")
def test_intervals_miss_no_more_often_than_they_should() -> None:
    population = np.array(docstring_sentences())
    train = population[::40].tolist()
    drawn = defaultdict(list)
    names = [*DEFAULT_METRICS, *(name for name, entry in CATALOG.items() if entry.only_named or entry.needs)]
    for draw in range(N_DRAWS):
        rng = np.random.default_rng(draw)
        sides = {side: rng.choice(population, N_TEXTS).tolist() for side in ("generated", "real")}
        corpora = corpora_from_texts({**sides, "train": train})
        metrics = parse_metrics(
            [name for name in names if name not in LEFT_OUT], train=corpora["train"], effort="quick"
        )
        with feature_store(), Shared().used(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some draws are likelier than others
            for metric in metrics:
                estimate = metric.estimate(corpora["generated"], corpora["real"], seed=draw)
                assert estimate.interval is not None
                drawn[metric.name].append((estimate.interval.low, estimate.value, estimate.interval.high))
    misses = {}
    for name, rows in drawn.items():
        low, value, high = np.array(rows).T
        truth = 0.0 if name in OF_DISTRIBUTIONS else value.mean()
        misses[name] = float(np.mean((low > truth) | (high < truth)))
    assert len(misses) == len({*names} - {*LEFT_OUT})
    assert {name: share for name, share in misses.items() if share > MOST.get(name, 0.1)} == {}
