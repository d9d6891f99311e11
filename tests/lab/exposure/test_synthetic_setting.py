"""The synthetic setting: a small LSTM that learnt from a random one has the exposure bias that figures 2 and 3 show."""

from itertools import pairwise

import pytest

from exposure_runs import measure_runs
from textassay_lab.exposure.bias import cgd_curve, eb_c
from textassay_lab.exposure.distance import DISTANCES
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.random_lstm import RandomLstm


@pytest.mark.slow
@pytest.mark.feature("EB-18", "EB-19")
def test_errors_grow_a_little_after_own_words_and_more_after_corrupted_ones() -> None:
    oracle = RandomLstm(seed=3)
    train, valid = (oracle.sample(n, seed=seed) for n, seed in ((20_000, 0), (1000, 1)))
    model = make_generator("lstm", preset="exposure-32", max_epochs=8, max_length=20).fit(train, valid)
    kinds = ("data", "model", "corrupted:0.1", "corrupted:0.3")
    runs = measure_runs(model, oracle, kinds, range(1, 20), 3000, n_runs=3, seed=5)
    for distance in DISTANCES[:3]:
        rate = eb_c(runs["data"], runs["model"], distance)
        assert rate.average_interval is not None
        assert 1 < rate.average_interval.low < rate.average_interval.high < 1.1, (distance, rate.values)
        if distance != "greedy":  # a mean of zeros and ones: too rough for a trend
            assert rate.values[-4:].mean() > rate.values[:2].mean(), (distance, rate.values)
    curves = [cgd_curve(runs[kind], "tv").average_interval for kind in kinds]
    for better, worse in pairwise(curves):
        assert better is not None
        assert worse is not None
        assert better.high < worse.low
