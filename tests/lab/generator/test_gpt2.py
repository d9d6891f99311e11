"""GPT-2 language models: the same numbers as transformers', causality, size, limits."""

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SOS, Vocabulary
from textassay.errors import InputError, OptionError
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.gpt2_model import Gpt2Model
from textassay_lab.generator.parameter_counts import counts_by_shapes
from textassay_lab.training.recipe import Recipe

torch = pytest.importorskip("torch")

WORDS = Vocabulary(list("abcdefgh"))
TEXTS = ["a b c d", "h g f e d c b a", "", "a a b", "e f g h a b c d e f g h a b c d e f g"] * 3  # 19 is the longest


def fitted(**settings: float | None) -> Gpt2Model:
    recipe = Recipe(3, learning_rate=1e-2)
    model = Gpt2Model(16, layers=2, heads=4, recipe=recipe, **settings)  # type: ignore[arg-type]
    return model.fit(Corpus.from_texts(TEXTS, vocabulary=WORDS))


@pytest.fixture(scope="module")
def model() -> Gpt2Model:
    return fitted()


@pytest.mark.feature("DD-10")
def test_the_papers_gpt2_has_89_million_parameters_as_transformers_counts_them() -> None:
    transformers = pytest.importorskip("transformers")
    model = make_generator("gpt2", preset="paper")
    assert isinstance(model, Gpt2Model)
    assert (model.recipe.learning_rate, model.recipe.max_norm, model.dropout) == (2e-5, None, 0.1)
    counts = counts_by_shapes(model, 5690)
    assert (round(counts.trainable / 1e6, 2), round(counts.with_moments / 1e6, 1)) == (89.47, 268.4)
    with torch.device("meta"):  # nothing is allocated
        config = transformers.GPT2Config(vocab_size=5690, n_positions=52)
        peer = transformers.GPT2LMHeadModel(config)
    shapes = {name: tuple(weight.shape) for name, weight in peer.named_parameters()}
    assert model.shapes(5690, 51) == shapes
    assert counts.trainable == sum(weight.numel() for weight in peer.parameters())


@pytest.mark.feature("DD-10")
def test_logits_are_those_of_transformers(model: Gpt2Model) -> None:
    pytest.importorskip("transformers")
    peer = model.as_transformers()
    tokens = torch.from_numpy(np.random.default_rng(0).integers(3, 12, (5, 20)))
    tokens[:, 0] = SOS
    with torch.no_grad():
        ours = model.module(tokens) @ model.weights["transformer.wte.weight"].T
        torch.testing.assert_close(ours, peer(tokens).logits, atol=1e-5, rtol=1e-5)
        state = model.module.begin(5)
        for position in range(20):  # the memory grows beyond what is allocated first
            vectors, state = model.module.step(state, tokens[:, position], position)
            stepped = vectors @ model.weights["transformer.wte.weight"].T
            torch.testing.assert_close(stepped, ours[:, position], atol=1e-5, rtol=1e-5)


@pytest.mark.feature("DD-10")
def test_future_tokens_do_not_change_past_logits(model: Gpt2Model) -> None:
    rng = np.random.default_rng(1)
    tokens = rng.integers(3, 12, (4, 12))
    changed = tokens.copy()
    changed[:, 7:] = rng.integers(3, 12, (4, 5))
    gradients = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for rng_of_dropout in (None, gradients):  # dropout takes another way through the attention
            state = gradients.get_state()
            before = model.module(torch.from_numpy(tokens), rng_of_dropout)
            gradients.set_state(state)
            after = model.module(torch.from_numpy(changed), rng_of_dropout)
            torch.testing.assert_close(before[:, :7], after[:, :7], atol=1e-6, rtol=0)
            assert (before[:, 7:] - after[:, 7:]).abs().amax((0, 2)).min() > 1e-3


def test_sentences_that_do_not_fit_are_named(model: Gpt2Model) -> None:
    assert model.limit == 19
    long = Corpus.from_texts(["a", "a " * 19, "b " * 20], vocabulary=WORDS)
    message = r"^gpt2\(width=16, layers=2, heads=4\) reads at most 19 tokens, but sentence 3 has 20: shorten it"
    message += r", or train with --max-tokens 20 \(positions=21\)$"
    with pytest.raises(InputError, match=message):
        model.log_prob(long)
    with pytest.raises(InputError, match=message):
        model.sample(3, seed=0, prefix=long)
    assert np.isfinite(model.log_prob(long.take(np.arange(2)))).all()
    with pytest.raises(InputError, match="reads at most 7 tokens, but sentence 2 has 8"):
        fitted(positions=8)
    assert fitted(positions=40).limit == 39


def test_samples_are_cut_only_where_they_are_told_to(model: Gpt2Model) -> None:
    assert model.sample(500, seed=0, temperature=3.0).lengths.max() == 19  # no warning: they end there
    with pytest.warns(UserWarning, match="samples were cut at 4 tokens"):
        assert fitted(max_length=4).sample(100, seed=0).lengths.max() == 4


def test_doors() -> None:
    for settings, message in (
        ({"width": 10, "heads": 4}, "width must be a multiple of heads, 4, got 10"),
        ({"heads": 0}, "heads must be at least 1, got 0"),
        ({"positions": 1}, "positions must be at least 2, got 1"),
    ):
        with pytest.raises(OptionError, match=message):
            Gpt2Model(recipe=Recipe(1), **settings)
