"""The study of real text at a small size: the discrepancy of its networks falls as they get more training text."""

from itertools import pairwise
from pathlib import Path

import pytest

from made_up import sentences
from textassay.execution.threads import workers
from textassay_lab.papers.dd.experiment import DD_PAPER, split_text
from textassay_lab.papers.dd.results import DdStudy
from textassay_lab.papers.paper import Network

FAMILIES = ("LSTM", "GPT-2")
SCALE = DD_PAPER.scales["tiny"].but(
    name="small", n_train=1000, n_class=100, n_valid=100, n_test=150, unseen=False, min_count=1,
    fractions=(0.2, 1.0), networks=dict.fromkeys(FAMILIES, Network("tiny", {"max_epochs": 3})),
)  # fmt: skip


@pytest.mark.feature("DD-20")
def test_dd_falls_with_training_size_in_both_families(tmp_path: Path) -> None:
    """By the paper's classifier, beyond the errors, from a fifth of the text to all of it."""
    study = DdStudy("dd-real", split_text(sentences(1400, 1), None, None, SCALE), SCALE, tmp_path)
    with workers(1):
        study.compute(["cnn"])
    found = {stage.name: estimate for stage in study.all_stages() if stage.kind == "cnn"
             for estimate in study.done(stage).result.values()}  # fmt: skip
    assert len(found) == len(FAMILIES) * len(SCALE.fractions)
    for family in FAMILIES:
        rows = [found[f"{family}_{fraction:.1f}"] for fraction in SCALE.fractions]
        for less, more in pairwise(rows):
            assert more["low"] < more["high"] < less["low"] < less["high"] < 1, (family, rows)
