"""A generator's training text as a third side: what its columns say, and what a classifier makes of them."""

import gc
import weakref
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import textassay as ta
from textassay.corpus.corpus import corpora_from_texts
from textassay.discriminator.training_text import TrainingText
from textassay.errors import InputError
from textassay.metric.catalog import parse_metric
from textassay.metric.discrepancy import dd
from textassay.ngram.backoff import with_ends
from textassay.ngram.kneser_ney import fit_kneser_ney
from textassay.ngram.model import NgramModel

TRAIN = ["a b c d e f g", "a b c", "x y"]


def described(*texts: str) -> list[list[float]]:
    corpora = corpora_from_texts({"train": TRAIN, "texts": list(texts)})
    column = TrainingText.fit(corpora["train"]).described(corpora["texts"]).columns["training_text"]
    rows: list[list[float]] = np.round(column, 9).tolist()
    return rows


def absent(text: str, longest: int = 6) -> list[int]:
    """Count n-grams that do not occur in the training text, the slow way; then the longest run of known ends."""
    known = {
        tuple(padded[start : start + n])
        for line in TRAIN
        for padded in [["<s>", *line.split(), "</s>"]]
        for n in range(1, longest + 1)
        for start in range(len(padded))
    }
    padded = ["<s>", *text.split(), "</s>"]
    counts = [
        sum(tuple(padded[end - n + 1 : end + 1]) not in known for end in range(1, len(padded)) if end >= n - 1)
        for n in range(2, longest + 1)
    ]
    run = best = 0
    for end in range(1, len(padded)):
        first = max(0, end - longest + 1)
        run = run + 1 if tuple(padded[first : end + 1]) in known else 0
        best = max(best, run)
    return [*counts, best]


@pytest.mark.parametrize("text", ["a b c", "a b c d e f g", "x b c d", "q", "y x y x", "c d e f g", "a"])
def test_what_is_new_counted_by_hand(text: str) -> None:
    assert described(text)[0][4:] == absent(text)


def test_log_probabilities_are_those_of_kneser_ney_models() -> None:
    corpora = corpora_from_texts({"train": TRAIN, "texts": ["a b x", "d e f g"]})
    found = TrainingText.fit(corpora["train"]).described(corpora["texts"]).columns["training_text"]
    train, texts = corpora["train"], corpora["texts"]
    for column, order in enumerate((1, 2, 3, 5)):
        model, _ = fit_kneser_ney(train.tokens, train.offsets, order=order, n_types=len(train.vocabulary) + 1)
        tokens, offsets = with_ends(texts.tokens, texts.offsets)
        scores = model.token_log_probs(tokens, offsets, model.plain)
        expected = [scores[start:stop].sum() for start, stop in pairwise(offsets)]
        assert found[:, column] == pytest.approx(expected)


def test_words_that_no_model_draws_have_a_finite_price() -> None:
    assert np.isfinite(described("a <pad> b", "<sos>", "<eos> a", "<unk>", "")).all()


def test_words_of_other_texts_change_nothing() -> None:
    rows = described("a b x", "d e q")
    assert described("a b x", "d e q", "z r s t", "<unk> <pad>")[:2] == rows
    corpora = corpora_from_texts({"other": ["g q x", "c b a"], "train": TRAIN, "texts": ["a b x", "d e q"]})
    found = TrainingText.fit(corpora["train"]).described(corpora["texts"]).columns["training_text"]
    assert np.round(found, 9).tolist() == rows


def test_models_are_fitted_once_and_go_with_their_text() -> None:
    corpora = corpora_from_texts({"train": TRAIN, "again": TRAIN})
    kept = weakref.ref(TrainingText.of(corpora["train"]))
    assert TrainingText.of(corpora["train"]) is kept()
    assert TrainingText.of(corpora["again"]) is not kept()
    del corpora
    gc.collect()
    assert kept() is None


def worlds(n: int) -> dict[str, list[str]]:
    """Return real text, a generator that learnt from little text, that text, and more real text."""
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(300)]
    chain = rng.dirichlet(np.full(300, 0.02), size=300)

    def text(length: int) -> str:
        word, line = int(rng.integers(300)), []
        for _ in range(length):
            line.append(words[word])
            word = int(rng.choice(300, p=chain[word]))
        return " ".join(line)

    lines = [text(8) for _ in range(3 * n + 300)]
    train = lines[3 * n :]
    model = NgramModel(2).fit(corpora_from_texts({"train": train})["train"])
    generated = list(model.sample(n, seed=1).texts)
    return {
        "real": lines[:n],
        "more": lines[n : 2 * n],
        "second": lines[2 * n : 3 * n],
        "train": train,
        "generated": generated,
    }


def test_more_is_found_with_more_real_text_and_with_the_training_text() -> None:
    texts = worlds(600)
    plain = dd(texts["generated"], texts["real"], effort="quick")
    more = dd(texts["generated"], texts["real"], effort="quick", fit_real=texts["more"])
    third = dd(texts["generated"], texts["real"], effort="quick", trained_on=texts["train"])
    assert plain.value < more.value
    assert plain.value + 0.02 < third.value
    assert more.sizes["n_real_tested"] == third.sizes["n_real_tested"] == 600
    assert "fit_real:600-" in str(more.signature)
    assert "trained_on:" in str(third.signature)
    assert "trained_on:" not in str(plain.signature)


def test_real_text_is_no_more_told_from_real_text_than_before() -> None:
    texts = worlds(600)
    null = dd(texts["second"], texts["real"], effort="quick", fit_real=texts["more"], trained_on=texts["train"])
    assert null.interval is not None
    assert null.interval.low <= 0 <= null.interval.high


def test_settings_of_a_name_stay_as_they_are() -> None:
    corpora = corpora_from_texts({"train": TRAIN})
    assert parse_metric("dd", trained_on=corpora["train"]).name == "dd"


def test_text_that_is_tested_is_not_learnt_from() -> None:
    with pytest.raises(InputError, match="fit_real is the real text itself"):
        ta.dd(["a b", "c d"] * 40, ["a b", "c e"] * 40, fit_real=["a b", "c e"] * 40)


def test_log_probabilities_that_the_text_to_learn_from_lacks() -> None:
    """More real text counts beside log-probabilities, whether it has some of its own or none."""
    texts = worlds(600)
    corpora = corpora_from_texts({name: texts[name] for name in ("real", "generated", "more", "train")})
    model = NgramModel(2).fit(corpora["train"])
    scored = {
        name: replace(corpus, columns={"log_probs/model": np.maximum(model.log_prob(corpus), -500)})
        for name, corpus in corpora.items()
    }
    pair = scored["generated"], scored["real"]
    none, without, given = (
        dd(*pair, effort="quick", fit_real=more) for more in (None, corpora["more"], scored["more"])
    )
    assert {estimate.details["log_probs"] for estimate in (none, without, given)} == {"model"}
    assert none.value < min(without.value, given.value)
    assert abs(without.value - given.value) < 0.03
    alone = dd(corpora["generated"], corpora["real"], effort="quick", fit_real=corpora["more"])
    assert alone.value < without.value


def test_the_models_of_a_text_serve_another_vocabulary() -> None:
    first = corpora_from_texts({"train": TRAIN})["train"]
    fitted = TrainingText.of(first)
    corpora = corpora_from_texts({"texts": ["q a b z", "x y x y", "<unk> g"], "train": TRAIN})
    again = TrainingText.of(corpora["train"])
    assert again.models is fitted.models
    column, expected = (
        one.described(corpora["texts"]).columns["training_text"] for one in (again, TrainingText.fit(corpora["train"]))
    )
    assert np.array_equal(column, expected)
