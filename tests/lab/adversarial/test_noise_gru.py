"""The generator that is driven by noise: its steps, what it draws, what it says after gold text, saving."""

from pathlib import Path

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.corpus.text_form import TextForm
from textassay.errors import InputError, OptionError
from textassay.execution.threads import workers
from textassay_lab.adversarial.noise_gru import NoiseGru
from textassay_lab.adversarial.wgan import Feeds
from textassay_lab.approximation.steppable import as_window_stepper, emits_distributions, has_softmax
from textassay_lab.generator.saved import load_generator, load_model, save_model

torch = pytest.importorskip("torch")

FORM = TextForm.learn(["a b c a b", "c a b", "b"])
N_TYPES = len(FORM.vocabulary)


def generator(*, width: int = 6, length: int = 5, feeds: Feeds = "argmax", ends: bool = True) -> NoiseGru:
    model = NoiseGru(width, length=length, noise=2.0, feeds=feeds, ends=ends)
    rng = torch.Generator().manual_seed(3)
    shapes = model.shapes(N_TYPES)
    arrays = {name: torch.randn(shape, generator=rng).numpy() for name, shape in shapes.items()}
    model.restore(arrays, vocabulary=FORM.vocabulary, tokenizer=FORM.tokenizer.name, record={})
    return model


def by_hand(model: NoiseGru, noise: np.ndarray, read: list[int]) -> np.ndarray:
    """Return the probabilities after `<sos>` and each token of `read`, in float64, step by step."""
    weights = {name: weight.numpy().astype(np.float64) for name, weight in model.weights.items()}
    width, state, found = model.width, noise.astype(np.float64), []
    for token in [SOS, *read]:
        given = weights["cell.input.weight"] @ weights["words.weight"][token] + weights["cell.input.bias"]
        kept = weights["cell.state.weight"] @ state + weights["cell.state.bias"]
        reset = 1 / (1 + np.exp(-(given + kept)[:width]))
        keep = 1 / (1 + np.exp(-(given + kept)[width : 2 * width]))
        new = np.tanh(given[2 * width :] + reset * kept[2 * width :])
        state = (1 - keep) * new + keep * state
        logits = weights["head.weight"] @ state + weights["head.bias"]
        logits[[PAD, SOS] if model.ends else [PAD, SOS, EOS]] = -np.inf
        found.append(np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum())
    return np.array(found)


@pytest.mark.parametrize("ends", [True, False])
def test_after_reference_text_it_is_what_the_equations_say(ends: bool) -> None:
    model = generator(ends=ends)
    windows = np.array([[4, 5, 6], [6, 6, 4]])
    found = model.soft_after(windows, seed=5)
    noise = model._noise(2, model.module, 5, "gold", 0).numpy()
    for row in range(2):
        np.testing.assert_allclose(found[row], by_hand(model, noise[row], windows[row, :-1].tolist()), atol=1e-5)
    assert (model.step_after(windows, seed=5) == found.argmax(2)).all()
    assert (found[:, :, [PAD, SOS]] == 0).all()
    assert model.draws_ends is ends
    assert bool(found[:, :, EOS].max() > 0) is ends


def test_drawn_freely_it_reads_what_it_chose() -> None:
    model = generator(ends=False)
    rows = model.draw_rows(3, 5, seed=1)
    key_of = model.draw_rows(2, 5, seed=1)
    assert (rows[:2] == key_of).all()
    corpus = model.sample(3, seed=1)
    assert corpus.lengths.tolist() == [5, 5, 5]
    assert (corpus.tokens.reshape(3, 5) == rows).all()
    network, noise = model.module, torch.randn(4, 6, generator=torch.Generator().manual_seed(2))
    nothing = torch.zeros(4, 0, dtype=torch.int64), torch.zeros(4, dtype=torch.int64)
    for soft in (False, True):
        drawn = network.drawn(noise, 4, *nothing, soft=soft)
        if soft:
            assert (drawn == network.free(noise, 4).argmax(2)).all()
        else:
            assert (drawn == network.forced(drawn, noise).argmax(2)).all()


@pytest.mark.feature("LM-10")
def test_its_own_words_are_those_of_gold_history() -> None:
    """With argmax fed back, a free draw and a pass over that very text agree at every place."""
    model = generator(width=12)
    noise = torch.randn(200, 12, generator=torch.Generator().manual_seed(2)) * model.noise
    nothing = torch.zeros(200, 0, dtype=torch.int64), torch.zeros(200, dtype=torch.int64)
    drawn = model.module.drawn(noise, 6, *nothing, soft=False)
    assert (model.module.forced(drawn, noise).argmax(2) == drawn).all()
    assert len(np.unique(drawn.numpy(), axis=0)) > 5


def test_samples_end_and_do_not_depend_on_how_many_there_are_or_on_workers() -> None:
    model = generator()
    few = model.sample(600, seed=4)
    with workers(2):
        many = model.sample(1100, seed=4)
    assert few.texts == many.texts[:600]
    assert few.texts != model.sample(600, seed=5).texts
    assert set(few.lengths.tolist()) > {0, 5}
    assert EOS not in few.tokens


def test_a_prefix_stays() -> None:
    model = generator()
    prefix = FORM.corpus(["a b", "c"])
    texts = model.sample(2, seed=0, prefix=prefix).texts
    assert texts[0].startswith("a b")
    assert texts[1].startswith("c")
    with pytest.raises(InputError, match="draws 5 tokens, but a prefix has 6: shorten it"):
        model.sample(1, seed=0, prefix=FORM.corpus(["a a a a a a"]))


@pytest.mark.feature("LM-11")
def test_both_variants_are_distributions_and_the_soft_one_varies_less() -> None:
    model = generator(width=16)
    windows = np.tile(np.array([[4, 5, 6, 4]]), (4000, 1))
    soft = model.soft_after(windows, seed=8).astype(np.float64)
    onehot = np.eye(N_TYPES)[model.step_after(windows, seed=8)]
    for found in (soft, onehot):
        assert found.min() >= 0
        assert found.max() <= 1
        np.testing.assert_allclose(found.sum(2), 1, atol=1e-5)
    assert (soft.var(0).sum(1) < onehot.var(0).sum(1)).all()
    assert (abs(soft.mean(0) - onehot.mean(0)) > 0.02).any()  # they are two different things, so both have a name


def test_it_is_a_steppable_generator_without_likelihood() -> None:
    model = generator()
    told: object = model
    assert (as_window_stepper(told) is model, emits_distributions(told), has_softmax(told)) == (True, True, False)
    prefixes = np.array([[4, 5], [6, 6]])
    assert (model.step(prefixes, seed=2) == model.step_after(np.array([[4, 5, 4], [6, 6, 4]]), seed=2)[:, 2]).all()
    assert model.step(np.zeros((3, 0), dtype=np.int64), seed=2).shape == (3,)
    with pytest.raises(InputError, match=r"windows must have shape \(B, T\), B and T at least 1, got \(2, 0\)"):
        model.step_after(np.zeros((2, 0), dtype=np.int64), seed=2)


def test_saved_and_read_again_it_draws_the_same(tmp_path: Path) -> None:
    model = generator(feeds="distribution")
    save_model(model, tmp_path, form=FORM)
    again = load_generator(tmp_path).model
    assert isinstance(again, NoiseGru)
    assert again.name == model.name == "noise-gru(width=6, length=5, noise=2, feeds=distribution)"
    assert again.sample(20, seed=1).texts == model.sample(20, seed=1).texts
    with pytest.raises(InputError, match="contains a generator without likelihood"):
        load_model(tmp_path)


def test_what_it_does_not_have_is_refused() -> None:
    model = generator()
    with pytest.raises(OptionError, match=r"supports temperature 1 only, got 0\.5"):
        model.sample(1, seed=0, temperature=0.5)
    with pytest.raises(OptionError, match="is trained against a critic"):
        model.fit(Corpus.from_texts(["a"]))
    with pytest.raises(InputError, match="is not fitted"):
        NoiseGru(4).sample(1, seed=0)
    for settings, message in (
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"noise": 0.0}, "noise must be above 0, got 0"),
        ({"feeds": "gold"}, "feeds must be argmax or distribution, got gold"),
    ):
        with pytest.raises(OptionError, match=message):
            NoiseGru(**settings)
