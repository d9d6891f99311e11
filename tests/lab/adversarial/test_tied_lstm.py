"""The LSTM with one table of word vectors: a language model like the others, saved and read again."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.errors import OptionError
from textassay_lab.adversarial.scratchgan_training import TiedLstm
from textassay_lab.generator.saved import load_model, save_model
from textassay_lab.training.recipe import Recipe

torch = pytest.importorskip("torch")

TEXT = Corpus.from_texts(["a b", "b a a", "a", "b"] * 10)


def _fitted(**settings: int) -> TiedLstm:
    model = TiedLstm(
        8, embedding_width=3, fixed_width=2, dropout=0.0, recipe=Recipe(max_epochs=3, learning_rate=1e-2), **settings
    )
    return model.fit(TEXT)


def test_probabilities_of_all_sentences_sum_to_one_and_follow_the_steps() -> None:
    texts = [f"{first} {second}" for first, second in product("ab", repeat=2)]
    corpus = Corpus.from_texts(texts)
    recipe = Recipe(max_epochs=60, learning_rate=3e-2)
    model = TiedLstm(8, embedding_width=3, fixed_width=2, dropout=0.0, length=2, max_length=2, recipe=recipe)
    model.fit(corpus)
    total = np.exp(model.log_prob(corpus)).sum()
    assert 0.9 < total <= 1 + 1e-6  # the rest is <unk>
    ends = _fitted()
    prefixes = Corpus.from_texts(["", "a", "b a"])
    assert np.exp(ends.next_log_probs(prefixes)).sum(axis=1) == pytest.approx(np.ones(3))


def test_it_is_saved_and_read_and_says_what_it_is(tmp_path: Path) -> None:
    model = _fitted(layers=2)
    assert model.name == "tied-lstm(width=8, layers=2, dimension=3, fixed=2)"
    assert model.weights["layers.0.weight_ih"].shape == (32, 5)
    save_model(model, tmp_path / "kept", form=TextForm(resolve_tokenizer("whitespace"), TEXT.vocabulary))
    again = load_model(tmp_path / "kept").model
    assert isinstance(again, TiedLstm)
    assert again.settings == model.settings
    assert (again.log_prob(TEXT) == model.log_prob(TEXT)).all()
    with pytest.raises(OptionError, match="embedding_width must be at least 1, got 0"):
        TiedLstm(embedding_width=0)
    with pytest.raises(OptionError, match="fixed_width must be at least 0, got -1"):
        TiedLstm(fixed_width=-1)
