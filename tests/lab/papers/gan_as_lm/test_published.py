"""The published numbers on GANs as language models, cell by cell, as the specification has them."""

import math

import pytest

from textassay_lab.meta_evaluation.reproduction import PublishedTable
from textassay_lab.papers.gan_as_lm import published as published_gan
from textassay_lab.papers.gan_as_lm.published import (
    APPROXIMATE,
    BOUND_DRAWS,
    EXACT,
    FIGURE_2,
    LITERATURE,
    N_TYPES,
    PUBLISHED_STOPS,
    TABLE_1,
    UNIFORM,
    published_bpc,
)

SPEC = """
mLSTM + dynamic evaluation | 1.19 | -
Large mLSTM + emb + WN + VD | 1.27 | -
Large RHN | 1.27 | -
LayerNorm HM-LSTM | 1.29 | -
BN LSTM | 1.36 | -
Unregularised mLSTM | 1.40 | -
SeqGAN, pre-trained LM only | 1.93 | 2.05
SeqGAN, full adversarial training | 2.06 | 2.25
recurrent GAN without pre-training | - | 3.31
uniform distribution | 4.75 | -
"""
CURVES = """
20 | .1062 | .1078
50 | .0345 | .0352
100 | .0164 | .0170
200 | .00806 | .00826
500 | .00320 | .00323
1000 | .00158 | .00160
1500 | .00106 | .00108
1600 | .000994 | .000986
2000 | .000792 | .000799
"""


def _rows(text: str) -> list[list[str]]:
    return [line.split(" | ") for line in text.strip().splitlines()]


def _numbers(table: PublishedTable) -> list[tuple[float | None, ...]]:
    return [tuple(row) for row in table.values]


@pytest.mark.feature("LM-13")
def test_table_1_cell_by_cell() -> None:
    assert TABLE_1.columns == (EXACT, APPROXIMATE)
    assert list(TABLE_1.rows) == [row[0] for row in _rows(SPEC)]
    assert _numbers(TABLE_1) == [tuple(None if x == "-" else float(x) for x in row[1:]) for row in _rows(SPEC)]
    for row, *cells in _rows(SPEC):
        found = (published_bpc(row, column) for column in TABLE_1.columns)
        assert ["-" if value is None else f"{value:.2f}" for value in found] == cells
    assert round(math.log2(N_TYPES), 2) == published_bpc(UNIFORM, EXACT)


@pytest.mark.feature("LM-13")
def test_each_row_of_the_literature_has_its_source() -> None:
    assert published_gan.__doc__ is not None
    told = " ".join(published_gan.__doc__.split())
    assert len(LITERATURE) == 6
    for source in (
        "2018 (mLSTM with dynamic evaluation)",
        "2016 (both other mLSTMs)",
        "2017 (RHN)",
        "2017 (HM-LSTM)",
        "2017 (BN LSTM)",
    ):
        assert source in told


def test_figure_2_and_the_other_anchors() -> None:
    assert list(FIGURE_2.rows) == [f"N = {row[0]}" for row in _rows(CURVES)]
    assert _numbers(FIGURE_2) == [tuple(map(float, row[1:])) for row in _rows(CURVES)]
    assert tuple(PUBLISHED_STOPS) == FIGURE_2.columns
    assert list(PUBLISHED_STOPS.values()) == [1580, 1600]
    assert round(4_297_078, -5) == BOUND_DRAWS
