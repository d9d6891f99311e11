"""LeakGAN's generator: unit goals, sums of the last goals, the step against the equations, exact probabilities."""

from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import PAD, SOS, Vocabulary
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.errors import OptionError
from textassay_lab.adversarial.leakgan_model import LeakGanModel
from textassay_lab.generator.saved import load_model, save_model
from textassay_lab.training.history import History

torch = pytest.importorskip("torch")

FloatArray = npt.NDArray[np.float64]
TINY = Vocabulary(["a", "b"])
TOKENS = np.array([SOS, 4, 5, 5, 4, 4, 5])


def made(*, memory: int = 3, sharpness: float = 1.0, length: int | None = None, max_length: int = 6) -> LeakGanModel:
    model = LeakGanModel(
        5,
        goal=3,
        memory=memory,
        feature_width=4,
        feature_filters=((1, 3), (3, 2)),
        sharpness=sharpness,
        length=length,
        max_length=max_length,
    )
    network = model.begun(len(TINY), 0, torch.Generator().manual_seed(1))
    arrays = {name: 3 * weight.detach().numpy() for name, weight in network.named_parameters()}
    model.restore(arrays, vocabulary=TINY, tokenizer="whitespace", record={"history": asdict(History())})
    return model


def _lstm(weights: dict[str, FloatArray], name: str, vector: FloatArray, state: list[FloatArray]) -> FloatArray:
    gates = weights[f"{name}.lstm.weight_ih"] @ vector + weights[f"{name}.lstm.weight_hh"] @ state[0]
    gates = gates + weights[f"{name}.lstm.bias"]
    entering, forgetting, leaving = (1 / (1 + np.exp(-gates.reshape(4, -1)[part])) for part in (0, 1, 3))
    state[1] = forgetting * state[1] + entering * np.tanh(gates.reshape(4, -1)[2])
    state[0] = leaving * np.tanh(state[1])
    return state[0]


def _features(weights: dict[str, FloatArray], tokens: npt.NDArray[np.int64]) -> FloatArray:
    """Return the features of a beginning, computed from it alone, padding before it."""
    vectors = weights["features.words.weight"][np.concatenate(([PAD, PAD], tokens))]
    largest = []
    for name in ("features.filters.0.weight", "features.filters.1.weight"):
        for kernel in weights[name]:  # (dimension, window)
            window = kernel.shape[1]
            sums = [(vectors[i - window + 1 : i + 1].T * kernel).sum() for i in range(2, len(vectors))]
            largest.append(max(sums))
    y = np.maximum(np.array(largest) + weights["features.pooled.bias"], 0)
    gate = 1 / (1 + np.exp(-weights["features.gate.weight"] @ y - weights["features.gate.bias"]))
    through = weights["features.highway.weight"] @ y + weights["features.highway.bias"]
    return gate * np.maximum(through, 0) + (1 - gate) * y


@pytest.mark.feature("JJ-12")
def test_the_network_is_what_the_equations_say() -> None:
    model = made(sharpness=1.5)
    weights = {name: weight.numpy().astype(np.float64) for name, weight in model.weights.items()}
    first = weights["worker.first.goal"] / np.linalg.norm(weights["worker.first.goal"])
    goals, manager, worker = [first] * 3, [np.zeros(5)] * 2, [np.zeros(5)] * 2
    expected = []
    for place, token in enumerate(TOKENS):
        managed = _lstm(weights, "manager", _features(weights, TOKENS[: place + 1]), manager)
        goal = weights["manager.goal.weight"] @ managed + weights["manager.goal.bias"]
        goal_sum = weights["worker.goals.weight"] @ np.sum(goals[-3:], axis=0)  # (36): before this token's own
        goals.append(goal / np.linalg.norm(goal))  # (35)
        worked = _lstm(weights, "worker", weights["worker.words.weight"][token], worker)
        matrix = weights["worker.head.weight"].reshape(len(TINY), 6, 3)  # (37): O_t = matrix x (h, 1)
        expected.append(1.5 * np.einsum("vhk,h,k->v", matrix, np.append(worked, 1), goal_sum))
    vectors = model.module(torch.from_numpy(TOKENS)[None])
    np.testing.assert_allclose(vectors[0] @ model.weights["worker.head.weight"].T, expected, atol=2e-5)
    assert np.ptp(expected) > 1


@pytest.mark.feature("JJ-12")
def test_goals_have_length_one_and_the_last_ones_are_heeded() -> None:
    model = made(memory=2)
    reading = model.module.reading(torch.from_numpy(TOKENS)[None], model.module.begin(1))
    np.testing.assert_allclose(reading.goals.norm(dim=-1), 1, atol=1e-6)
    np.testing.assert_allclose(reading.goal_sums[:, 2:], reading.goals[:, 1:-1] + reading.goals[:, :-2], atol=1e-6)
    first = model.weights["worker.first.goal"] / model.weights["worker.first.goal"].norm()
    np.testing.assert_allclose(reading.goal_sums[0, 0], 2 * first, atol=1e-6)
    np.testing.assert_allclose(reading.goal_sums[0, 1], first + reading.goals[0, 0], atol=1e-6)


def test_steps_and_pieces_read_as_the_whole_does() -> None:
    network = made().module
    tokens = torch.from_numpy(np.stack([TOKENS, TOKENS[::-1].copy()]))
    whole = network.reading(tokens, network.begin(2))
    begun = network.reading(tokens[:, :3], network.begin(2))
    rest = network.reading(tokens[:, 3:], begun.state)
    np.testing.assert_allclose(rest.vectors, whole.vectors[:, 3:], atol=1e-5)
    state = network.begin(2)
    for place in range(tokens.shape[1]):
        vector, state = network.step(state, tokens[:, place], place)
        np.testing.assert_allclose(vector, whole.vectors[:, place], atol=1e-5)


def test_all_sentences_of_a_length_have_probability_one() -> None:
    model = made(length=3, max_length=3, sharpness=1.5)
    texts = [" ".join(words) for words in product(["a", "b", "<unk>"], repeat=3)]
    everything = Corpus.from_texts(texts, vocabulary=TINY)
    assert np.exp(model.log_prob(everything)).sum() == pytest.approx(1, abs=1e-6)
    probs = np.exp(made().next_log_probs(Corpus.from_texts(["", "a", "b b a"], vocabulary=TINY)))
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    drawn = model.sample(4000, seed=3)
    same = (drawn.tokens.reshape(-1, 1, 3) == everything.tokens.reshape(27, 3)).all(axis=2)
    shares = same.mean(axis=0)
    expected = np.exp(model.log_prob(everything))
    assert (np.abs(shares - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / 4000) + 1e-9).all()


def test_sharpness_is_one_over_the_temperature() -> None:
    prefixes = Corpus.from_texts(["a", "b a"], vocabulary=TINY)
    np.testing.assert_allclose(
        made(sharpness=2.0).next_log_probs(prefixes), made().next_log_probs(prefixes, temperature=0.5), atol=1e-5
    )


def test_it_is_saved_and_read_again(tmp_path: Path) -> None:
    model = made(sharpness=1.5, max_length=9)
    save_model(model, tmp_path, form=TextForm(resolve_tokenizer("whitespace"), TINY))
    again = load_model(tmp_path).model
    corpus = Corpus.from_texts(["a b", "", "b"], vocabulary=TINY)
    np.testing.assert_array_equal(again.log_prob(corpus), model.log_prob(corpus))
    assert again.name == model.name == "leakgan(width=5, goal=3, memory=3, sharpness=1.5)"


def test_bad_settings_are_refused() -> None:
    with pytest.raises(OptionError, match="memory must be between 1 and 1000, got 0"):
        LeakGanModel(memory=0)
    with pytest.raises(OptionError, match="different windows"):
        LeakGanModel(feature_filters=((2, 3), (2, 4)))
    with pytest.raises(OptionError, match="sharpness must be above 0"):
        LeakGanModel(sharpness=0.0)
    with pytest.raises(OptionError, match="is trained against a discriminator"):
        LeakGanModel().fit(Corpus.from_texts(["a"]))
