"""Generators that answer to contexts: that they do, until late, through a gate, and what they look at."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError, OptionError
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.conditional_model import Att2SeqModel, C2sModel, ContextModel, GatedC2sModel
from textassay_lab.generator.contexts import OTHER, with_contexts
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.training.recipe import Recipe

torch = pytest.importorskip("torch")

ATTRIBUTES = {"mood": [OTHER, "good", "bad"], "noise": [OTHER, "x", "y", "z"]}
MODELS = (C2sModel, GatedC2sModel, Att2SeqModel)


def toy(n: int = 600, seed: int = 0) -> Corpus:
    """Return sentences of random words: of bad mood "c" or "d", of good, rarer, "a" or "b"; noise says nothing."""
    rng = np.random.default_rng(seed)
    mood, noise = (rng.random(n) < 0.65).astype(int), rng.integers(3, size=n)
    words, lengths = np.array(["a", "b", "c", "d"]), rng.geometric(1 / 8, size=n)
    texts = [" ".join(words[2 * m + rng.integers(2, size=k)]) for m, k in zip(mood, lengths, strict=True)]
    return known(
        Corpus.from_texts(texts, vocabulary=Corpus.from_texts(["a b c d"]).vocabulary),
        [("good", "bad")[m] for m in mood],
        [("x", "y", "z")[k] for k in noise],
    )


def known(corpus: Corpus, mood: list[str], noise: list[str]) -> Corpus:
    return with_contexts(corpus, {"mood": mood, "noise": noise}, ATTRIBUTES)


def fitted(kind: type[ContextModel], train: Corpus, valid: Corpus | None = None, *, epochs: int = 4) -> Any:
    recipe = Recipe(epochs, learning_rate=2e-2, schedule="linear")
    model = kind(16, dropout=0.0, context_width=4, attributes=ATTRIBUTES, batch_size=50, recipe=recipe)
    return model.fit(train, valid)


@pytest.fixture(scope="module")
def models() -> dict[type[ContextModel], Any]:
    return {kind: fitted(kind, toy()) for kind in MODELS}


def per_sentence(model: Any, corpus: Corpus) -> float:
    return float(model.log_prob(corpus).mean())


@pytest.mark.feature("JJ-05")
@pytest.mark.parametrize("kind", MODELS)
def test_what_a_context_says_is_learnt(models: dict[type[ContextModel], Any], kind: type[ContextModel]) -> None:
    valid = toy(200, seed=1)
    unconditional = LstmModel(16, dropout=0.0, batch_size=50, recipe=Recipe(4, learning_rate=2e-2, schedule="linear"))
    free = per_sentence(unconditional.fit(toy()), valid)
    found = per_sentence(models[kind], valid)
    # whoever knows the mood saves nearly a bit on each sentence; each word costs one bit all the same
    assert free + 0.6 * np.log(2) < found < -valid.lengths.mean() * np.log(2)


@pytest.mark.feature("JJ-05")
@pytest.mark.parametrize("kind", MODELS)
def test_another_context_gives_other_sentences(models: dict[type[ContextModel], Any], kind: type[ContextModel]) -> None:
    asked = Corpus.from_texts([""] * 40)
    for mood, words in (("good", "ab"), ("bad", "cd")):
        drawn = models[kind].sample(40, seed=3, context=known(asked, [mood] * 40, ["x"] * 40))
        spoken = [word for text in drawn.texts for word in text.split()]
        assert np.mean([word in words for word in spoken]) > 0.9
        one = models[kind].sample(40, seed=3, context=known(asked, [mood] * 40, ["x"] * 40).take(np.array([0])))
        assert one.texts == drawn.texts
    both = models[kind].sample(40, seed=3, context=known(asked, ["good", "bad"] * 20, ["x"] * 40))
    spoken = [(word, ("ab", "cd")[place % 2]) for place, text in enumerate(both.texts) for word in text.split()]
    assert np.mean([word in words for word, words in spoken]) > 0.9


def test_without_a_context_moods_are_as_in_training(models: dict[type[ContextModel], Any]) -> None:
    train = toy()
    drawn = models[GatedC2sModel].sample(600, seed=0)
    good, found = (np.mean([text[:1] in ("a", "b") for text in corpus.texts]) for corpus in (train, drawn))
    assert abs(good - found) < 4 * np.sqrt(0.25 / 600)
    assert drawn.texts[:5] == models[GatedC2sModel].sample(5, seed=0).texts


@pytest.mark.feature("JJ-06")
def test_the_gate_is_between_open_and_closed(models: dict[type[ContextModel], Any]) -> None:
    gates = watched(models[GatedC2sModel], "gate")
    assert ((gates > 0) & (gates < 1)).all()
    assert gates.std() > 0.01


@pytest.mark.feature("JJ-06")
def test_with_the_gate_closed_it_is_c2s_to_the_bit(models: dict[type[ContextModel], Any]) -> None:
    gated, valid = models[GatedC2sModel], toy(50, seed=1)
    arrays = gated.arrays()
    closed = GatedC2sModel(**{**gated.settings, "recipe": gated.recipe})
    shut = {**arrays, "gate_layer.bias": np.full_like(arrays["gate_layer.bias"], -np.inf)}
    plain = C2sModel(**{**gated.settings, "recipe": gated.recipe})
    of_c2s = {name: array for name, array in arrays.items() if not name.startswith(("gate", "skip"))}
    for model, weights in ((closed, shut), (plain, of_c2s)):
        model.restore(weights, vocabulary=gated.vocabulary, tokenizer=gated.tokenizer, record=gated.record)
    assert (closed.token_log_probs(valid) == plain.token_log_probs(valid)).all()
    assert (gated.token_log_probs(valid) != plain.token_log_probs(valid)).any()


@pytest.mark.feature("JJ-06")
def test_what_a_context_says_lasts_longer_with_a_gate() -> None:
    """The mood decides the last word only, behind an "e", after many that say nothing of it."""

    def late(n: int, seed: int) -> Corpus:
        rng = np.random.default_rng(seed)
        mood, words = rng.integers(2, size=n), np.array(["a", "b"])
        texts = [" ".join([*words[rng.integers(2, size=30)], "e", "cd"[m]]) for m in mood]
        corpus = Corpus.from_texts(texts, vocabulary=Corpus.from_texts(["a b c d e"]).vocabulary)
        return known(corpus, [("good", "bad")[m] for m in mood], ["x"] * n)

    train, valid = late(300, 0), late(60, 1)
    costs = {}
    for kind in (C2sModel, GatedC2sModel):
        told = fitted(kind, train, epochs=20).token_log_probs(valid).reshape(60, -1)
        costs[kind] = -told[:, -2].mean()
    assert costs[GatedC2sModel] < 0.3 * np.log(2)
    assert costs[C2sModel] > 2 * costs[GatedC2sModel]


@pytest.mark.feature("JJ-07")
def test_attention_sums_to_one_and_moves_to_what_matters(models: dict[type[ContextModel], Any]) -> None:
    shares = watched(models[Att2SeqModel], "attention")
    assert shares.shape[2] == 2
    np.testing.assert_allclose(shares.sum(2), 1.0, atol=1e-6)
    began = fitted(Att2SeqModel, toy(), epochs=1)
    assert shares[..., 0].mean() > 0.6
    assert shares[..., 0].mean() > watched(began, "attention")[..., 0].mean()


def watched(model: Any, what: str) -> npt.NDArray[np.float64]:
    """Return what the gate or the attention is at each place of sentences."""
    corpus, found = toy(50, seed=1), []
    kind = type(model.module)
    original = getattr(kind, what)

    def kept(*arguments: Any) -> Any:
        found.append(original(*arguments))
        return found[-1]

    setattr(kind, what, kept)
    try:
        model.log_prob(corpus)
    finally:
        setattr(kind, what, original)
    return np.asarray(torch.cat(found).double().numpy())


@pytest.mark.parametrize("kind", MODELS)
def test_draws_follow_the_probabilities_that_are_scored(
    models: dict[type[ContextModel], Any], kind: type[ContextModel]
) -> None:
    asked = known(Corpus.from_texts([""] * 2000), ["good"] * 2000, ["y"] * 2000)
    drawn = models[kind].sample(2000, seed=5, context=asked, prefix=Corpus.from_texts(["a"]))
    start = known(Corpus.from_texts(["a"], vocabulary=models[kind].vocabulary), ["good"], ["y"])
    expected = np.exp(models[kind].next_log_probs(start)[0])
    second = [text.split()[1] if " " in text else "<eos>" for text in drawn.texts]
    for token, probability in zip(models[kind].vocabulary.tokens, expected, strict=True):
        assert abs(second.count(token) / 2000 - probability) < 4.5 * np.sqrt(probability / 2000) + 1e-3


@pytest.mark.parametrize("kind", MODELS)
def test_what_lacks_a_context_is_refused(models: dict[type[ContextModel], Any], kind: type[ContextModel]) -> None:
    with pytest.raises(InputError, match="given their contexts, but the corpus has none"):
        models[kind].log_prob(Corpus.from_texts(["a"]))
    with pytest.raises(InputError, match="is conditional: it needs contexts"):
        models[kind].next_vectors(np.array([[4, 5]]))
    with pytest.raises(OptionError, match="1 or 3"):
        models[kind].sample(3, seed=0, context=toy(2))
    with pytest.raises(OptionError, match="it needs attributes"):
        kind(8).fit(toy(10))


@pytest.mark.parametrize("name", ["att2seq", "c2s", "gc2s"])
def test_presets(name: str) -> None:
    for preset in ("paper", "small", "tiny"):
        made = make_generator(name, preset=preset, attributes=ATTRIBUTES)
        assert isinstance(made, ContextModel)
        assert made.name.startswith(f"{name}(width=")
        if preset == "paper":
            continue
        alone = make_generator("lstm", preset=preset)  # beside which they are read
        assert isinstance(alone, LstmModel)
        own = ("attributes", "context_width", "length")
        assert made.settings.items() >= {key: told for key, told in alone.settings.items() if key not in own}.items()
