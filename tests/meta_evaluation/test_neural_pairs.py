"""Neural worlds: what they are, and that their probabilities are those of what is drawn."""

import numpy as np
import pytest

from textassay.corpus import Corpus
from textassay.errors import TooFewSentencesError
from textassay.meta_evaluation import neural_pairs
from textassay.training import Recipe

pytest.importorskip("torch")


def test_worlds_are_known_and_their_draws_repeat() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["a", "b", "c", "d", "e"], rng.integers(1, 5))) for _ in range(300)]
    recipe = Recipe(4, learning_rate=1e-2)
    made = neural_pairs(Corpus.from_texts(texts), 0, width=16, recipe=recipe)
    assert [world.name for world in made] == ["lstm-quarter", "lstm-narrow", "lstm-temperature-0.8", "lstm-order-3"]
    assert {world.kind for world in made} == {"lstm"}
    for world in made:
        truth = world.truth(1500, seed=0)
        assert 0.02 < truth.value < 0.9
        assert truth.disagreement < 4.5
        assert world.p is made[0].p
    real, generated = made[0].sample(50, seed=1)
    assert real.texts == made[0].sample(80, seed=1)[0].texts[:50]
    assert real.texts != generated.texts
    with pytest.raises(TooFewSentencesError, match="at least 20 texts, got 3"):
        neural_pairs(Corpus.from_texts(texts[:3]), 0)
