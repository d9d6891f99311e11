"""The published numbers on GANs as language models, cell by cell, as the specification has them."""

import math
from importlib.resources import files

import pytest

from textassay_lab.papers.gan_as_lm.experiment import APPROXIMATE, EXACT, GAN_PAPER, MLE, SEQGAN, UNIFORM, WGAN
from textassay_lab.papers.gan_as_lm.findings import N_TYPES, STOPS
from textassay_lab.papers.paper import PublishedTable

TABLE_1, FIGURE_2 = GAN_PAPER.tables["table 1"], GAN_PAPER.tables["figure 2"]
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
    assert round(math.log2(N_TYPES), 2) == TABLE_1.column(EXACT)[UNIFORM]


@pytest.mark.feature("LM-13")
def test_each_row_of_the_literature_has_its_source() -> None:
    text = files("textassay_lab.papers.gan_as_lm").joinpath("paper.yaml").read_text(encoding="utf-8")
    told = " ".join(text.replace("\n#", "").split())
    assert len({*TABLE_1.rows} - {MLE, SEQGAN, WGAN, UNIFORM}) == 6
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
    stops = GAN_PAPER.tables["stopping rule"].column(STOPS)
    assert tuple(stops) == FIGURE_2.columns
    assert list(stops.values()) == [1580, 1600]
    assert GAN_PAPER.tables["bound"].values == ((round(4_297_078, -5),),)
