"""Counts of parts of a text: each row has the chances of its own tokens, whichever part it is in."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.encoding import UNK, Vocabulary
from textassay.corpus.text_form import TextForm
from textassay_lab.approximation import token_counts
from textassay_lab.approximation.reference_windows import reference_windows
from textassay_lab.approximation.token_counts import multinomial_costs, one_hot_costs


class Known:
    """Draws the gold token in windows that begin with an ``a`` nine times of ten, elsewhere once in five."""

    name = "known"
    draws_ends = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def step_after(self, windows: npt.NDArray[np.int64], *, seed: int) -> npt.NDArray[np.int64]:
        hit = np.random.default_rng(seed).random(windows.shape) < np.where(windows[:, :1] == UNK + 1, 0.9, 0.2)
        return np.where(hit, windows, windows + 1)


@pytest.mark.feature("LM-02")
@pytest.mark.parametrize("mode", ["multinomial", "onehot"])
def test_rows_of_later_parts_have_their_own_chances(
    letters: TextForm, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(token_counts, "_POSITIONS", 24)  # six rows of four to a part, the last of two
    text = reference_windows(letters.corpus(["abcd" * 7 + "bbcd" * 7]), window=4)
    chances = np.repeat([0.9, 0.2], 28)
    sizes, floor = [1000, 4000], 1e-20
    if mode == "multinomial":
        found = multinomial_costs(text, np.log(chances), sizes, floor=floor, seed=0)
    else:
        found = one_hot_costs(Known(letters.vocabulary), text, sizes, floor=floor, seed=0)
    expected = -np.log2(chances).reshape(14, 4).sum(axis=1)
    assert found["plain"].shape == (2, 14)
    for of_size in found["plain"]:
        np.testing.assert_allclose(of_size, expected, rtol=0.15)


@pytest.mark.feature("LM-03")
def test_only_what_was_never_drawn_costs_the_floor_and_is_counted(letters: TextForm) -> None:
    class Rising(Known):
        def step_after(self, windows: npt.NDArray[np.int64], *, seed: int) -> npt.NDArray[np.int64]:
            place = np.arange(len(windows))[:, None]  # a token at position t is drawn in the first t passes
            return np.where(place < np.arange(windows.shape[1]), windows, windows + 1)

    text = reference_windows(letters.corpus(["abcd"]), window=4)
    found = one_hot_costs(Rising(letters.vocabulary), text, [20], floor=1e-20, seed=0)
    assert found["zeros"].tolist() == [[1]]
    by_hand = -math.log2(1e-20) + math.log2(20) + math.log2(10) + math.log2(20 / 3)
    assert found["plain"][0, 0] == pytest.approx(by_hand)
