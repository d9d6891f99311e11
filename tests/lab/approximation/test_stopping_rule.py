"""The stopping rule: by hand, its slope, where it stops, and the true error that it does not see."""

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.errors import OptionError
from textassay_lab.approximation.approximation import approximate
from textassay_lab.approximation.reference_windows import reference_windows
from textassay_lab.approximation.steppable import SoftmaxStepper
from textassay_lab.approximation.stopping_rule import check_samples, log_slope, rule_curve, rule_of_draws
from textassay_lab.approximation.token_counts import Mode
from textassay_lab.generator.lstm_model import LstmModel

from .conftest import Noisy, Uniform


def test_by_hand() -> None:
    drawn = np.array([[0, 1, 0, 0, 2, 2]], dtype=np.int32)
    # shares after 2, 4, 6 draws: (1/2, 1/2, 0), (3/4, 1/4, 0), (1/2, 1/6, 1/3)
    found = rule_of_draws(drawn, 3, alpha=2, probs=np.array([[0.5, 0.25, 0.25]]))
    assert found[0] == pytest.approx([0, 1 / 4, 1 / 3])
    assert found[1] == pytest.approx([1 / 4, 1 / 4, 1 / 12])


@pytest.mark.feature("LM-05")
def test_slopes_and_where_the_rule_stops(char_lstm: LstmModel, gold: Corpus) -> None:
    text = reference_windows(gold, window=20)
    curve = rule_curve(char_lstm, text, 2500, mode="multinomial", seed=0)
    assert curve.sizes[:2] == (20, 30)
    assert curve.n_rows == 64
    assert curve.n_positions == 1280
    assert curve.errors is not None
    assert curve.error_slope is not None
    assert curve.slope == pytest.approx(-1, abs=0.03)
    assert curve.error_slope == pytest.approx(-0.5, abs=0.03)
    assert curve.stops_at is not None
    assert 1000 < curve.stops_at < 2100  # about 1,600
    assert curve.stops_at == pytest.approx(curve.spread * 10 / 1e-3, rel=0.05)
    # there, the true error is many times what the rule asks for
    at = curve.sizes.index(curve.stops_at)
    assert curve.errors[at] > 5 * curve.gamma


def test_passes_give_the_curve_of_the_short_cut(char_lstm: LstmModel, gold: Corpus) -> None:
    text = reference_windows(gold, window=20)
    short = rule_curve(char_lstm, text, 200, mode="multinomial", seed=0)
    passes = rule_curve(SoftmaxStepper(char_lstm, ends="excluded"), text, 200, mode="onehot", seed=0, n_rows=20)
    assert passes.errors is None
    assert passes.spread == pytest.approx(short.spread, rel=0.1)


def test_soft_means_change_less(letters: TextForm, gold: Corpus) -> None:
    text = reference_windows(gold, window=7)
    generator = Noisy(letters.vocabulary)
    modes: tuple[Mode, ...] = ("soft", "onehot")
    soft, hard = (rule_curve(generator, text, 300, mode=mode, seed=0, n_rows=8) for mode in modes)
    assert soft.slope == pytest.approx(-1, abs=0.1)
    assert soft.spread < hard.spread / 2


def test_it_is_part_of_an_approximation_when_asked_for(letters: TextForm, gold: Corpus) -> None:
    found = approximate(Uniform(letters.vocabulary), gold, window=20, n_samples=40, rule=True)
    assert found.rule is not None
    assert found.rule.stops_at is None
    told = found.to_dict()["rule"]
    assert told["sizes"] == [20, 30, 40]
    assert told["slope"] == pytest.approx(-1, abs=0.4)
    assert told["error_slope"] is None


def test_numbers_out_of_range(char_lstm: LstmModel, gold: Corpus) -> None:
    with pytest.raises(OptionError, match="samples must be at least 20"):
        check_samples(19)
    with pytest.raises(OptionError, match="alpha must be at least 1"):
        check_samples(19, alpha=0)
    with pytest.raises(OptionError, match="n_rows must be at least 1"):
        rule_curve(char_lstm, reference_windows(gold, window=20), 20, mode="multinomial", n_rows=0, seed=0)
    assert np.isnan(log_slope((20,), (1.0,)))
    assert log_slope((10, 100), (1.0, 0.1)) == pytest.approx(-1)
