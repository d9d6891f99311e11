"""The surprisal encoder, and the default encoder, which joins it with latent semantics."""

import numpy as np
import pytest

from made_up import WORDS, sentences, shuffled
from textassay import compare
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import EOS
from textassay.embedding import surprisal as module
from textassay.embedding.encoder import FloatArray
from textassay.embedding.store import DEFAULT_ENCODER, feature_store, resolve_encoder
from textassay.embedding.surprisal import SurprisalEncoder
from textassay.errors import EmptyCorpusError
from textassay.estimate import Estimate
from textassay.execution.threads import workers
from textassay.metric.frechet import fed
from textassay.metric.mauve import mauve
from textassay.metric.mmd import mmd
from textassay.metric.precision_recall import precision, recall
from textassay.ngram.model import NgramModel

CORPORA = corpora_from_texts({"real": sentences(600, 1), "other": [*sentences(200, 2), "", "xyz xyz", "ba"]})


def _by_hand(real: Corpus, text: Corpus) -> list[float]:
    """Return the statistics of one text whose words all occur in the real text, from three models one by one."""
    models = [NgramModel(order).fit(real) for order in (1, 2, 3)]
    word, pair, triple = (-model.token_log_probs(text) for model in models)
    gains = np.sort(pair - word)
    ids = [[2, *tokens, EOS] for tokens in np.split(real.tokens, real.offsets[1:-1])]
    seen = [{tuple(row[i : i + n]) for row in ids for i in range(len(row) - n + 1)} for n in (2, 3)]
    own = [2, *text.tokens, EOS]
    # the first word has no two before it: of it, "<sos> word" is the longest n-gram there is
    unseen = [[tuple(own[max(0, i - n + 1) : i + 1]) not in seen[n - 2] for i in range(1, len(own))] for n in (2, 3)]
    n_words = len(text.tokens)
    return [
        np.log(n_words + 1),
        word.mean(),
        (pair - word).mean(),
        (triple - pair).mean(),
        word.std(),
        (pair - word).std(),
        *(gains[int(np.ceil(share * n_words))] for share in (0.25, 0.75, 1.0)),
        (pair - word)[-1],
        *(float(np.mean(each)) for each in unseen),
        0.0,
        1 - len(set(text.tokens.tolist())) / n_words,
    ]


def test_statistics_are_those_of_the_models_one_by_one() -> None:
    texts = ["a b c", "a b d a b", "b c a", "d a b c"]
    corpora = corpora_from_texts({"real": texts, "text": ["a b a c d"]})
    statistics = module._Models(corpora["real"]).statistics(corpora["text"])[0]
    np.testing.assert_allclose(statistics, _by_hand(corpora["real"], corpora["text"]), atol=1e-12)


def test_vectors_of_new_real_text_are_centred_and_short() -> None:
    fitted = SurprisalEncoder().fit(CORPORA["real"])
    vectors = fitted.encode(
        corpora_from_texts({"new": sentences(2000, 3)})["new"].with_vocabulary(CORPORA["real"].vocabulary)
    )
    assert np.linalg.norm(vectors.mean(axis=0)) < 0.15
    assert np.sqrt((vectors**2).sum(axis=1).mean()) == pytest.approx(0.45, abs=0.1)
    assert np.linalg.norm(fitted.encode(CORPORA["other"]), axis=1).max() < 1


def test_words_that_real_text_lacks_are_all_alike() -> None:
    """So that a generator's vectors do not change with the words of other generators."""
    texts = {"real": sentences(100, 1), "one": ["ba qqq ba", "zzz"]}
    alone = corpora_from_texts(texts)
    beside = corpora_from_texts({"more": ["some other words", "qqq zzz"], **texts})
    vectors = [SurprisalEncoder().fit(each["real"]).encode(each["one"]) for each in (alone, beside)]
    np.testing.assert_array_equal(vectors[0], vectors[1])


@pytest.mark.parametrize("name", ["lm", DEFAULT_ENCODER])
def test_the_same_bits_in_any_order_and_at_any_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = SurprisalEncoder() if name == "lm" else resolve_encoder(name)
    fitted = encoder.fit(CORPORA["real"])
    vectors = fitted.encode(CORPORA["other"])
    order = np.random.default_rng(0).permutation(len(CORPORA["other"]))
    again = fitted.encode(CORPORA["other"].take(order))
    np.testing.assert_allclose(again, vectors[order], atol=1e-6)
    monkeypatch.setattr(module, "_BLOCK", 7)
    with workers(3):
        np.testing.assert_array_equal(encoder.fit(CORPORA["real"]).encode(CORPORA["other"]), vectors)


@pytest.mark.parametrize("tokenizer", ["whitespace", "chars"])
@pytest.mark.parametrize("texts", [[""], ["a"], ["a b c"] * 5, ["one", "two", "three"], ["", "b"]])
def test_tiny_texts(texts: list[str], tokenizer: str) -> None:
    corpora = corpora_from_texts({"real": texts, "other": ["b a", "x", ""], "none": []}, tokenizer=tokenizer)
    for encoder in (SurprisalEncoder(), resolve_encoder(DEFAULT_ENCODER)):
        fitted = encoder.fit(corpora["real"])
        for corpus in corpora.values():
            vectors = fitted.encode(corpus)
            assert len(vectors) == len(corpus)
            assert np.isfinite(vectors).all()


def test_no_text_is_refused() -> None:
    with pytest.raises(EmptyCorpusError):
        SurprisalEncoder().fit(Corpus.from_texts([]))


def test_settings_and_keys() -> None:
    fitted = resolve_encoder(DEFAULT_ENCODER).fit(CORPORA["real"])
    assert fitted.settings["encoder"] == f"lsa+lm:{fitted.key[:8]}"
    assert fitted.settings["fold-encoder"] == "lsa-plain(128)+lm"
    assert fitted.settings["lm-orders"] == "1+2+3"
    assert fitted.key != resolve_encoder("lsa").fit(CORPORA["real"]).key
    assert SurprisalEncoder().fit(CORPORA["real"]).key != SurprisalEncoder().fit(CORPORA["other"]).key


def _damaged(share: float, n: int) -> tuple[list[str], list[str]]:
    """Return real text, and other text of which a share of the sentences have their words in random order."""
    real, other = sentences(n, 1), sentences(n, 2)
    changed = round(share * n)
    return real, [*shuffled(other[:changed], 3), *other[changed:]]


def _unspaced(texts: list[str]) -> list[str]:
    """Return the texts with a character for each word."""
    character = {word: chr(0x4E00 + number) for number, word in enumerate([*WORDS, "."])}
    return ["".join(character[word] for word in text.split()) for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["whitespace", "chars"])
def test_shuffled_words_are_seen_by_every_metric_of_vectors(tokenizer: str) -> None:
    curves: dict[str, list[float]] = {}
    with feature_store():
        for share in (0.0, 0.2, 0.5, 1.0):
            real, generated = _damaged(share, 500)
            if tokenizer == "chars":
                real, generated = _unspaced(real), _unspaced(generated)
            for metric in (fed, mmd, mauve, precision, recall):
                estimate: Estimate = metric(generated, real, tokenizer=tokenizer)
                curves.setdefault(metric.__name__, []).append(estimate.value)
    assert np.all(np.diff(curves["fed"]) > 0), curves
    assert np.all(np.diff(curves["mmd"]) > 0), curves
    assert np.all(np.diff(curves["mauve"]) < 0), curves
    assert np.all(np.diff(curves["precision"]) <= 0), curves
    assert curves["precision"][-1] < curves["precision"][0], curves
    assert curves["recall"][-1] < curves["recall"][0] - 0.1, curves
    assert curves["mauve"][-1] < 0.6 < 0.85 < curves["mauve"][0], curves


def test_bags_of_words_hardly_see_them() -> None:
    real, generated = _damaged(1.0, 500)
    assert mauve(generated, real, encoder="lsa").value > 0.6


@pytest.mark.parametrize("n", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_two_samples_of_one_text_score_the_floor(n: int) -> None:
    """Over many draws, neither side is favoured: what one scores among the other is what it scores among it."""
    values: dict[str, list[float]] = {}
    p_values = []
    for seed in range(12):
        texts = sentences(2 * n, 100 + seed)
        with feature_store():
            estimates: dict[str, Estimate] = {
                metric.__name__: metric(texts[:n], texts[n:]) for metric in (mmd, mauve, precision, recall)
            }
        p_values.append(estimates["mmd"].details["p_value"])
        for name, estimate in estimates.items():
            values.setdefault(name, []).append(estimate.value)
    difference = np.array(values["precision"]) - np.array(values["recall"])
    assert abs(difference.mean()) < 3 * difference.std(ddof=1) / np.sqrt(len(difference)) + 0.002
    assert np.mean(values["mauve"]) > 0.9
    assert abs(np.mean(values["mmd"])) < 3 * np.std(values["mmd"], ddof=1) / np.sqrt(12)
    assert np.mean(np.array(p_values) < 0.2) < 0.55


def test_neither_other_generators_nor_the_order_of_its_texts_change_a_generators_numbers() -> None:
    real, one, other = sentences(300, 1), shuffled(sentences(300, 2), 3), sentences(150, 4, shift=0.5)
    metrics = ["fed", "mmd", "mauve", "precision", "recall"]

    def values(**generated: list[str]) -> FloatArray:
        results = compare(generated, real, metrics=metrics).results
        return np.array([result.estimate.value for result in results if result.generator == "one" and result.estimate])

    alone = values(one=one)
    assert len(alone) == len(metrics)
    np.testing.assert_array_equal(values(more=["other words", *other], one=one), alone)
    np.testing.assert_allclose(values(one=one[::-1]), alone, atol=1e-6)
