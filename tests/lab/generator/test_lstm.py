"""LSTM language models: their size, their name, cutting, and the step against the equations."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SOS, Vocabulary
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.errors import OptionError
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.parameter_counts import counts_by_shapes
from textassay_lab.generator.saved import load_model, save_model
from textassay_lab.judges.recurrent import RecurrentDiscriminator
from textassay_lab.training.recipe import Recipe

torch = pytest.importorskip("torch")

TINY = Vocabulary(["a", "b"])


def fitted(max_length: int = 6) -> LstmModel:
    corpus = Corpus.from_texts(["a b", "b b a", "", "a", "a b b b", "<unk> a"] * 5, vocabulary=TINY)
    return LstmModel(8, layers=2, recipe=Recipe(2, learning_rate=1e-2), max_length=max_length).fit(corpus)


@pytest.mark.feature("DD-11", "DD-27")
def test_the_papers_lstm_has_ten_million_parameters() -> None:
    model = make_generator("lstm", preset="paper")
    assert isinstance(model, LstmModel)
    assert (model.width, model.layers, model.dropout, model.recipe.max_norm) == (512, 2, 0.5, 10.0)
    counts = counts_by_shapes(model, 5690)
    assert (round(counts.trainable / 1e6, 2), round(counts.with_moments / 1e6, 1)) == (10.03, 30.1)
    began = model.begun(10, 5, torch.Generator().manual_seed(0))
    spread = torch.cat([weight.flatten() for name, weight in began.named_parameters() if "bias" not in name])
    assert 0.0499 < spread.abs().max() <= 0.05


def test_the_kernel_is_called_outside_autocast_where_cudnn_would_compute_in_float16(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inside = []
    kernel = torch.lstm

    def told(*arguments: Any) -> Any:
        inside.append((torch.is_autocast_enabled("cpu"), arguments[0].dtype))
        return kernel(*arguments)

    monkeypatch.setattr(torch, "lstm", told)
    corpus = Corpus.from_texts(["a b", "b b a"] * 5, vocabulary=TINY)
    LstmModel(8, recipe=Recipe(1, precision="bfloat16"), max_length=6).fit(corpus)
    assert (False, torch.bfloat16) in inside
    assert not any(enabled for enabled, _ in inside)


def test_a_step_is_what_the_equations_say() -> None:
    model = fitted()
    weights = {name: weight.numpy().astype(np.float64) for name, weight in model.weights.items()}
    state = [np.zeros(8)] * 4
    for token in (SOS, 4, 5):
        vector = weights["embedding.weight"][token]
        for layer in (0, 1):
            gates = (
                weights[f"layers.{layer}.weight_ih"] @ vector
                + weights[f"layers.{layer}.weight_hh"] @ state[2 * layer]
                + weights[f"layers.{layer}.bias"]
            ).reshape(4, 8)
            entering, forgetting, leaving = (1 / (1 + np.exp(-gates[part])) for part in (0, 1, 3))
            state[2 * layer + 1] = forgetting * state[2 * layer + 1] + entering * np.tanh(gates[2])
            vector = state[2 * layer] = leaving * np.tanh(state[2 * layer + 1])
    logits = weights["head.weight"] @ vector + weights["head.bias"]
    logits[[0, 2]] = -np.inf
    probs = np.exp(logits) / np.exp(logits).sum()
    found = np.exp(model.next_log_probs(Corpus.from_texts(["a b"], vocabulary=TINY)))[0]
    np.testing.assert_allclose(found, probs, atol=1e-6)


def test_the_embedding_may_be_narrower_and_it_is_saved(tmp_path: Path) -> None:
    corpus = Corpus.from_texts(["a b", "b b a"] * 5, vocabulary=TINY)
    model = LstmModel(8, embedding_width=3, recipe=Recipe(1, optimizer="rmsprop", max_value=5.0), max_length=6).fit(
        corpus
    )
    assert model.name == "lstm(width=8, embedding=3)"
    assert model.n_parameters == 6 * 3 + 32 * (3 + 8) + 32 + 6 * 8 + 6
    save_model(model, tmp_path, form=TextForm(resolve_tokenizer("whitespace"), TINY))
    again = load_model(tmp_path).model
    assert isinstance(again, LstmModel)
    assert again.settings == model.settings
    np.testing.assert_array_equal(again.log_prob(corpus), model.log_prob(corpus))


def test_a_gpu_is_told_when_it_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    """CuDNN goes back only through what it was told to be training; on a CPU it makes no difference."""
    told: list[tuple[bool, bool]] = []
    plain = torch.lstm

    def lstm(*arguments: Any) -> Any:
        told.append((arguments[6], torch.is_grad_enabled()))
        return plain(*arguments)

    monkeypatch.setattr(torch, "lstm", lstm)
    corpus = Corpus.from_texts(["a b", "b"] * 5, vocabulary=TINY)
    model = LstmModel(8, recipe=Recipe(1), max_length=6).fit(corpus, corpus)
    assert model.log_prob(corpus).shape == (10,)
    judge = RecurrentDiscriminator(recipe=Recipe(1)).fit((corpus, corpus), (corpus, corpus))
    assert judge.prob_real(corpus).shape == (10,)
    assert set(told) == {(True, True), (False, False)}


def test_long_samples_are_cut() -> None:
    model = fitted()
    with pytest.warns(UserWarning, match=r"^lstm\(width=8, layers=2\): 2 of 2 samples were cut at 6 tokens$"):
        cut = model.sample(2, seed=0, prefix=Corpus.from_texts(["a b a b a b a", "a b a b a b"], vocabulary=TINY))
    assert list(cut.texts) == ["a b a b a b a", "a b a b a b"]


def test_doors() -> None:
    assert LstmModel().name == "lstm(width=128)"
    assert fitted().n_parameters == 6 * 8 * 2 + 6 + 2 * (2 * 32 * 8 + 32)
    with pytest.raises(OptionError, match="width must be at least 1, got 0"):
        LstmModel(0)
    with pytest.raises(OptionError, match=r"init_range must be above 0, got 0"):
        LstmModel(init_range=0.0)
