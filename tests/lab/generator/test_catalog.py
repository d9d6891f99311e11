"""Generators by name: presets, settings, refusals, and the parameter counts of the main paper."""

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay_lab.generator.catalog import make_generator, presets_of
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.module import shaped
from textassay_lab.generator.network import NetworkLanguageModel
from textassay_lab.generator.parameter_counts import ParameterCounts, Shaped, counts_by_shapes
from textassay_lab.judges.networks import CnnNetwork

pytest.importorskip("torch")


TRAINED = ("gpt2", "lstm", "ngram", "position-unigram", "scheduled-sampling", "transformer-xl")


@pytest.mark.parametrize("preset", ["paper", "small", "tiny"])
@pytest.mark.parametrize("name", TRAINED)
def test_all_presets_make_generators(name: str, preset: str) -> None:
    made = make_generator(name, preset=preset, seed=3)
    assert made.name.startswith(f"{name}(")
    if isinstance(made, NetworkLanguageModel):
        assert (made.seed, made.kind) == (3, name)


@pytest.mark.parametrize("name", TRAINED)
def test_the_tiny_ones_are_language_models(name: str) -> None:
    corpus = Corpus.from_texts(["a b c", "b c", "a", "c a b", ""] * 8)
    model = make_generator(name, preset="tiny").fit(corpus)
    sample = model.sample(20, seed=0)
    assert np.isfinite(model.log_prob(sample)).all()
    assert model.token_log_probs(sample).shape == (len(sample.tokens) + 20,)
    np.testing.assert_allclose(np.exp(model.next_log_probs(corpus)).sum(axis=1), 1)


def test_settings_change_the_preset_and_its_recipe() -> None:
    made = make_generator("lstm", preset="paper", width=16, max_epochs=2, precision="bfloat16")
    assert isinstance(made, NetworkLanguageModel)
    assert made.settings["width"] == 16
    assert (made.recipe.max_epochs, made.recipe.precision, made.recipe.max_norm) == (2, "bfloat16", 10.0)
    assert made.settings["recipe"]["max_epochs"] == 2
    assert presets_of("lstm")["paper"]["recipe"].max_epochs == 80
    assert make_generator("ngram", order=4).name == "ngram(order=4)"


def test_unknown_names() -> None:
    with pytest.raises(OptionError, match="unknown generator 'gtp2': did you mean gpt2"):
        make_generator("gtp2")
    with pytest.raises(
        OptionError, match=r"unknown preset of lstm 'huge'; valid: exposure-32, exposure-512, .*, paper"
    ):
        make_generator("lstm", preset="huge")
    with pytest.raises(OptionError, match="unknown setting of ngram 'width'"):
        make_generator("ngram", width=3)
    with pytest.raises(OptionError, match="unknown setting of position-unigram 'max_epochs'"):
        make_generator("position-unigram", max_epochs=3)


@pytest.mark.feature("DD-27")
def test_parameter_counts_are_a_third_of_those_printed_in_the_paper() -> None:
    networks = {name: make_generator(name, preset="paper") for name in ("gpt2", "lstm")}
    counts = {name: counts_by_shapes(made, 5690) for name, made in networks.items() if isinstance(made, Shaped)}
    cnn = shaped(lambda: CnnNetwork(5690, dimension=512, filters={2: 100, 3: 200}, dropout=0.5))
    counts["cnn"] = ParameterCounts(sum(weight.numel() for weight in cnn.parameters()))
    found = {name: (round(c.trainable / 1e6, 2), round(c.with_moments / 1e6, 1)) for name, c in counts.items()}
    assert found == {"gpt2": (89.47, 268.4), "lstm": (10.03, 30.1), "cnn": (3.50, 10.5)}
    with pytest.raises(OptionError, match="n_types must be at least 4 and longest at least 1, got 3 and 51"):
        counts_by_shapes(LstmModel(), 3)
