"""How the next token is chosen: inversion, temperature, top-k and top-p, each against another way to compute it."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chisquare

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.errors import OptionError
from textassay_lab.generator import sampling
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.network import NetworkLanguageModel
from textassay_lab.generator.sampling import Choice

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*samples were cut")

Array = npt.NDArray[np.float64]
LETTERS = Vocabulary(list("abcdef"))
TEXTS = ["a b c", "a b d", "b a", "c c a b", "", "f e d", "a", "e a b"] * 4


@pytest.fixture(scope="module", params=["lstm", "gpt2"])
def model(request: pytest.FixtureRequest) -> NetworkLanguageModel:
    found = make_generator(request.param, preset="tiny", max_epochs=5, width=8, max_length=7)
    assert isinstance(found, NetworkLanguageModel)
    return found.fit(Corpus.from_texts(TEXTS, vocabulary=LETTERS))


def kept(probs: Array, top_k: int | None, top_p: float | None) -> Array:
    """Return a distribution cut to its likeliest outcomes, one at a time, by the definition."""
    order = sorted(range(len(probs)), key=lambda token: (-probs[token], token))[:top_k]
    total = sum(probs[token] for token in order)
    chosen: list[int] = []
    while top_p is not None and sum(probs[token] for token in chosen) < top_p * total:
        chosen.append(order[len(chosen)])
    cut = np.zeros(len(probs))
    cut[chosen or order] = probs[chosen or order]
    return np.asarray(cut / cut.sum())


@pytest.mark.feature("A-04")
@pytest.mark.parametrize(
    ("top_k", "top_p"),
    [(None, None), (1, None), (5, None), (400, None), (None, 0.5), (None, 0.99), (7, 0.8), (3, 1e-9)],
)
def test_each_choice_has_the_share_of_draws_that_its_definition_says(top_k: int | None, top_p: float | None) -> None:
    """Draws on a grid stand for the distribution itself: every token gets its probability to within a grid step."""
    rng = np.random.default_rng(0)
    n_types, n_draws = 300, 5_000
    for spread in (0.5, 3.0):
        row = rng.normal(0, spread, n_types).astype(np.float32)
        row[[0, 2]] = -np.inf
        row[10:14] = row[20]  # equal ones
        probs = np.exp(row.astype(np.float64))
        expected = kept(probs / probs.sum(), top_k, top_p)
        logits = torch.from_numpy(np.tile(row, (n_draws, 1)))
        draws = torch.from_numpy((np.arange(n_draws) + 0.5) / n_draws)
        chosen = Choice(top_k=top_k, top_p=top_p).tokens(logits, draws).numpy()
        found = np.bincount(chosen, minlength=n_types) / n_draws
        np.testing.assert_allclose(found, expected, atol=1.5 / n_draws)
        assert np.all((found > 0) <= (expected > 0))


def test_inversion_hits_what_the_cumulative_sums_say() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (500, 200)).astype(np.float32)
    logits[:, [0, 2, 64, 127, 128, 199]] = -np.inf
    draws = np.append(rng.random(498), [0.0, np.nextafter(1, 0)])
    mass = np.exp(logits.astype(np.float64))
    ends = np.cumsum(mass, axis=1) / mass.sum(axis=1, keepdims=True)
    expected = [np.searchsorted(row, draw, side="right") for row, draw in zip(ends, draws, strict=True)]
    hit = sampling.inverted(torch.from_numpy(logits), torch.from_numpy(draws)).numpy()
    assert np.mean(hit == expected) > 0.99  # rounding may move a draw that falls on a border
    assert np.all(np.isfinite(logits[np.arange(500), hit]))


@pytest.mark.feature("A-04")
@pytest.mark.parametrize("temperature", [1.0, 0.5, 1.6])
def test_first_tokens_are_as_frequent_as_the_softmax_says(model: NetworkLanguageModel, temperature: float) -> None:
    n = 8_000
    nothing = Corpus.from_texts([""], vocabulary=LETTERS)
    plain = model.next_log_probs(nothing)[0]
    expected = np.exp(plain / temperature)
    expected = n * expected / expected.sum()
    drawn = model.sample(n, seed=1, temperature=temperature)
    first = np.where(drawn.lengths > 0, np.append(drawn.tokens, 0)[drawn.offsets[:-1]], 1)
    found = np.bincount(first, minlength=len(LETTERS))
    assert found[[0, 2]].sum() == 0
    possible = expected > 0
    assert chisquare(found[possible], expected[possible]).pvalue > 1e-3


@pytest.mark.feature("A-04")
def test_cold_draws_are_greedy(model: NetworkLanguageModel) -> None:
    prefixes = Corpus.from_texts(["", "a", "b", "c", "a b", "f e"], vocabulary=LETTERS)
    greedy = model.sample(6, seed=0, top_k=1, prefix=prefixes)
    assert greedy.texts == model.sample(6, seed=5, top_p=1e-9, prefix=prefixes).texts
    for temperature in (1e-4, 1e-300):
        assert greedy.texts == model.sample(6, seed=9, temperature=temperature, prefix=prefixes).texts
    for text, prefix in zip(greedy.texts, prefixes.texts, strict=True):
        words = prefix.split()
        while len(words) < 7:
            following = model.next_log_probs(Corpus.from_texts([" ".join(words)], vocabulary=LETTERS))[0]
            if following.argmax() == 1:
                break
            words.append(LETTERS.tokens[int(following.argmax())])
        assert text.split() == words


def test_draws_do_not_depend_on_who_ends_when(model: NetworkLanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = model.sample(700, seed=3)
    monkeypatch.setattr(sampling, "_CROWDED", 0.0)  # sentences that have ended stay in the network
    assert model.sample(700, seed=3).texts == drawn.texts


def test_settings_out_of_range(model: NetworkLanguageModel) -> None:
    with pytest.raises(OptionError, match="top_k must be at least 1, got 0"):
        model.sample(1, seed=0, top_k=0)
    for top_p in (0.0, 1.5, float("nan")):
        with pytest.raises(OptionError, match=r"top_p must be above 0 and at most 1, got"):
            model.sample(1, seed=0, top_p=top_p)
    for name in ("ngram", "position-unigram"):
        counted = make_generator(name).fit(Corpus.from_texts(TEXTS, vocabulary=LETTERS))
        with pytest.raises(OptionError, match=r"^\S+ takes no top_k$"):
            counted.sample(1, seed=0, top_k=3)
        with pytest.raises(OptionError, match=r"^\S+ takes no top_p$"):
            counted.sample(1, seed=0, top_p=0.5)


def test_sentences_that_fill_up_the_rows_change_no_draw(
    model: NetworkLanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = model.sample(700, seed=3, temperature=1.3)
    monkeypatch.setattr(sampling, "rows_to_add", lambda n, weight: -n % 64)
    filled = model.sample(700, seed=3, temperature=1.3)
    np.testing.assert_array_equal(filled.tokens, plain.tokens)
    np.testing.assert_array_equal(filled.offsets, plain.offsets)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_products_of_bfloat16_meet_few_shapes(
    model: NetworkLanguageModel, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    """Compiled code is kept for each on a CPU: drawing would fill gigabytes with it."""
    n_rows: set[int] = set()
    linear, network = torch.nn.functional.linear, type(model.module)
    step = network.step

    def counted(vectors: Any, matrix: Any, bias: Any = None) -> Any:
        if vectors.ndim == 2:
            n_rows.add(len(vectors))
        return linear(vectors, matrix, bias)

    def counted_step(self: Any, state: Any, tokens: Any, position: int) -> Any:
        n_rows.add(len(tokens))
        return step(self, state, tokens, position)

    monkeypatch.setattr(torch.nn.functional, "linear", counted)
    monkeypatch.setattr(network, "step", counted_step)
    monkeypatch.setattr(model, "precision", precision)
    drawn = model.sample(700, seed=3)
    model.log_prob(drawn)
    assert any(n % 64 for n in n_rows) == (precision == "float32")
    assert len(drawn) == 700
