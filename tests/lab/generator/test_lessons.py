"""What a network is trained on: every token weighs the same, whatever stands in its batch."""

from typing import Any

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.scheduled_sampling_model import ScheduledSamplingModel
from textassay_lab.training.recipe import Recipe

pytest.importorskip("torch")

SHORT, LONG = "a", "a " * 8 + "a"
RECIPE = Recipe(max_epochs=20, learning_rate=4e-3)


@pytest.fixture(scope="module")
def train() -> Corpus:
    return Corpus.from_texts([SHORT, LONG] * 300)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lstm", "scheduled-sampling"])
def test_short_sentences_weigh_no_more_than_their_tokens(train: Corpus, kind: str) -> None:
    settings: dict[str, Any] = {"layers": 1, "width": 16, "dropout": 0.0, "recipe": RECIPE, "batch_size": 16, "seed": 0}
    model = (
        LstmModel(**settings)
        if kind == "lstm"
        else ScheduledSamplingModel(**settings, sampling_schedule="constant(k=0.999)")
    )
    model.fit(train, valid=train)
    ended = np.exp(model.next_log_probs(Corpus.from_texts(["a"]))[0, EOS])
    assert ended == pytest.approx(0.5, abs=0.12)  # every second sentence ends after its first word
    lengths = model.sample(2000, seed=1).lengths
    assert lengths.mean() == pytest.approx(train.lengths.mean(), abs=0.9)
