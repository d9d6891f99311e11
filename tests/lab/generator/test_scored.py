"""A model at a temperature draws and scores at that temperature."""

import numpy as np
import pytest

from tabled import corpus_of, draws_fit
from textassay.errors import OptionError
from textassay.ngram.model import NgramModel
from textassay_lab.generator.scored import AtTemperature

TRAIN = corpus_of(["a b", "b a a", "b", "a b b", "a", ""] * 3)


def test_a_temperature_is_passed_on() -> None:
    model = NgramModel(2).fit(TRAIN)
    cool = AtTemperature(model, 0.6)
    assert cool.name == "ngram(order=2) at temperature 0.6"
    sample = cool.sample(50, seed=1)
    assert sample.texts == model.sample(50, seed=1, temperature=0.6).texts
    np.testing.assert_array_equal(cool.log_prob(sample), model.log_prob(sample, temperature=0.6))
    assert not np.allclose(cool.log_prob(sample), model.log_prob(sample))
    assert draws_fit(cool)
    with pytest.raises(OptionError, match="temperature must be above 0, got 0"):
        AtTemperature(model, 0)
