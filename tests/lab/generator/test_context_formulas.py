"""C2S, gC2S and Att2Seq against their formulas, written again in NumPy: two layers, random weights, every token."""

from dataclasses import asdict

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS
from textassay_lab.generator.conditional_model import Att2SeqModel, C2sModel, ContextModel, GatedC2sModel
from textassay_lab.generator.contexts import OTHER, with_contexts
from textassay_lab.training.history import History

pytest.importorskip("torch")

Array = npt.NDArray[np.float64]

ATTRIBUTES = {"mood": [OTHER, "good", "bad"], "place": [OTHER, "x", "y", "z"]}
PLACES = [(1, 3), (2, 0), (0, 2), (2, 1), (1, 0)]  # of the categories of each sentence
TEXT = Corpus.from_texts(["a b c", "", "c", "b b a c a b", "c a"])


def _logistic(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _outputs(weights: dict[str, Array], words: list[int], begun: list[tuple[Array, Array]]) -> list[Array]:
    """Return the output of the last layer after each word: equations (3) of "Judge the Judges", with c' of the step."""
    found, states = [], list(begun)
    for word in words:
        below = weights["embedding.weight"][word]
        for layer, (h, c) in enumerate(states):
            parts = (weights[f"layers.{layer}.weight_{part}"] @ x for part, x in (("ih", below), ("hh", h)))
            i, f, new, o = np.split(sum(parts) + weights[f"layers.{layer}.bias"], 4)
            c = _logistic(f) * c + _logistic(i) * np.tanh(new)
            below = _logistic(o) * np.tanh(c)
            states[layer] = below, c
        found.append(below)
    return found


def _expected(kind: type[ContextModel], weights: dict[str, Array], places: tuple[int, ...], words: list[int]) -> Array:
    """Return the log-probability of every type after <sos> and after each word, shape (L + 1, V)."""
    vectors = [weights[f"attributes.{k}.weight"][place] for k, place in enumerate(places)]
    joined, read = np.concatenate(vectors), [SOS, *words]
    if kind is Att2SeqModel:
        starts = [np.tanh(weights[f"starts.{k}.weight"] @ joined + weights[f"starts.{k}.bias"]) for k in range(2)]
        answers = []
        for h in _outputs(weights, read, [(start, np.zeros_like(start)) for start in starts]):
            by = np.concatenate((weights["attention_output.weight"][0], weights["attention_attribute.weight"][0]))
            scores = np.exp([np.tanh(by @ np.concatenate((h, g))) for g in vectors])
            seen = sum(score * g for score, g in zip(scores / scores.sum(), vectors, strict=True))
            answers.append(np.tanh(weights["mix_attribute.weight"] @ seen + weights["mix_output.weight"] @ h))
    else:
        context = np.tanh(weights["context.weight"] @ joined + weights["context.bias"])
        answers = _outputs(weights, read, [(context, context)] * 2)
        if kind is GatedC2sModel:
            matrix, bias = weights["gate_layer.weight"], weights["gate_layer.bias"]
            gates = [_logistic(matrix @ np.concatenate((h, context)) + bias) for h in answers]
            answers = [h + gate * (weights["skip.weight"] @ context) for h, gate in zip(answers, gates, strict=True)]
    logits = np.array([weights["head.weight"] @ answer + weights["head.bias"] for answer in answers])
    logits[:, [PAD, SOS]] = -np.inf
    return np.asarray(logits - np.log(np.exp(logits).sum(1, keepdims=True)))


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(C2sModel, marks=pytest.mark.feature("JJ-05")),
        pytest.param(GatedC2sModel, marks=pytest.mark.feature("JJ-06")),
        pytest.param(Att2SeqModel, marks=pytest.mark.feature("JJ-07")),
    ],
)
def test_probabilities_are_those_of_the_formulas(kind: type[ContextModel]) -> None:
    model, rng = kind(5, layers=2, dropout=0.3, context_width=4, attributes=ATTRIBUTES), np.random.default_rng(7)
    shapes = model.shapes(len(TEXT.vocabulary), 6)
    weights = {name: rng.uniform(-1.5, 1.5, shape).astype(np.float32) for name, shape in shapes.items()}
    record = {"history": asdict(History()), "contexts": {"numbers": [0], "counts": [1]}}
    model.restore(weights, vocabulary=TEXT.vocabulary, tokenizer=TEXT.tokenizer, record=record)
    told = {
        name: [categories[places[k]] for places in PLACES] for k, (name, categories) in enumerate(ATTRIBUTES.items())
    }
    corpus = with_contexts(TEXT, told, ATTRIBUTES)
    exact = {name: weight.astype(np.float64) for name, weight in weights.items()}
    scored, following = model.token_log_probs(corpus), model.next_log_probs(corpus)
    first = 0
    for row, places in enumerate(PLACES):
        words = TEXT.tokens[TEXT.offsets[row] : TEXT.offsets[row + 1]].tolist()
        expected = _expected(kind, exact, places, words)
        hits = expected[np.arange(len(words) + 1), [*words, EOS]]
        np.testing.assert_allclose(scored[first : first + len(hits)], hits, rtol=0, atol=2e-5)
        np.testing.assert_allclose(following[row], expected[-1], rtol=0, atol=2e-5)
        first += len(hits)
