"""Neural worlds: what they are, and that their probabilities are those of what is drawn."""

from typing import Literal

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.errors import TooFewSentencesError
from textassay_lab.meta_evaluation.neural_pairs import NETWORKS, neural_pairs
from textassay_lab.training.recipe import Recipe

pytest.importorskip("torch")


@pytest.mark.parametrize("network", NETWORKS)
def test_worlds_are_known_and_their_draws_repeat(network: Literal["lstm", "gpt2"]) -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["a", "b", "c", "d", "e"], rng.integers(1, 5))) for _ in range(300)]
    recipe = Recipe(4, learning_rate=1e-2)
    made = neural_pairs(Corpus.from_texts(texts), 0, network=network, width=16, recipe=recipe)
    names = ["quarter", "narrow", "temperature-0.8", "order-3", "learnt"]
    assert [world.name for world in made] == [f"{network}-{name}" for name in names]
    assert {world.kind for world in made} == {network}
    assert [len(world.train or ()) for world in made] == [75, 300, 300, 300, 300]
    assert made[-1].train is not None
    assert made[-1].train.texts != made[1].train.texts  # type: ignore[union-attr]
    for world in made:
        truth = world.truth(800, seed=0)
        assert 0.02 < truth.value < 0.9
        assert truth.disagreement < 4.5
        assert world.p is made[0].p
    real, generated = made[0].sample(50, seed=1)
    assert real.texts == made[0].sample(80, seed=1)[0].texts[:50]
    assert real.texts != generated.texts
    with pytest.raises(TooFewSentencesError, match="at least 20 texts, got 3"):
        neural_pairs(Corpus.from_texts(texts[:3]), 0)
