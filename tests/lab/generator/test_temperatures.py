"""One word LSTM at three temperatures: the colder, the less varied what it draws."""

from itertools import pairwise
from pathlib import Path

import pytest

from textassay.corpus.corpus import Corpus
from textassay.metric.bleu import self_bleu
from textassay.metric.diversity import distinct_n
from textassay_lab.generator.catalog import make_generator

pytest.importorskip("torch")

TEMPERATURES = (1.0, 0.7, 0.5)  # as in Judge the Judges, table 6


@pytest.mark.feature("JJ-03")
def test_diversity_falls_with_the_temperature(data_dir: Path) -> None:
    reviews = (data_dir / "yelp" / "train.txt").read_text(encoding="utf-8").splitlines()[:1500]
    real = Corpus.from_texts(reviews)
    model = make_generator("lstm", preset="tiny", seed=1).fit(real)
    drawn = [model.sample(400, seed=2, temperature=temperature) for temperature in TEMPERATURES]
    for order in (1, 2, 3):
        found = [distinct_n(sample, real, order=order) for sample in drawn]
        for warm, cold in pairwise(found):
            assert cold.interval is not None
            assert warm.interval is not None
            assert cold.interval.high < warm.interval.low
    alike = [self_bleu(sample, real, order=4).value for sample in drawn]
    assert alike[0] + 0.05 < alike[1]
    assert alike[1] + 0.05 < alike[2]
