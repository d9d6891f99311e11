"""EB-bleu: by hand, with a model that does not look at prefixes, and what it refuses."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import sentences
from next_word_table import NextWordTable
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, Vocabulary
from textassay.errors import OptionError, TooFewSentencesError
from textassay.metric.bleu import bleu
from textassay.ngram.model import NgramModel
from textassay_lab.exposure.bleu import (
    BleuRun,
    NotForTranslationError,
    continuation_scores,
    eb_bleu,
    eb_bleu_of_runs,
    measure_bleu_run,
)
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.prefixes import unseen_halves


def _text(n: int, *, seed: int = 0, length: int = 12) -> Corpus:
    """Return sentences in which each word follows from the one before."""
    rng = np.random.default_rng(seed)
    step = rng.integers(0, 3, (n, length)).cumsum(axis=1)
    words = (rng.integers(0, 20, (n, 1)) + step) % 20
    return Corpus.from_texts([" ".join(f"w{word}" for word in row) for row in words])


def _run(data: list[float], model: list[float], error: float) -> BleuRun:
    scores = {"data": np.array(data), "model": np.array(model)}
    return BleuRun((5, 10), scores, {kind: np.full(2, error) for kind in scores}, 100, 100)


def test_scores_are_those_of_bleu_over_the_continuations_alone() -> None:
    vocabulary = Vocabulary("abcdef")
    rng = np.random.default_rng(1)
    rows, references = rng.integers(4, 10, (2, 30, 7))
    rows[3, 4:] = EOS
    texts = [[" ".join(vocabulary.decode(row[row != EOS])) for row in side] for side in (rows, references)]
    corpora = [Corpus.from_texts(side, vocabulary=vocabulary) for side in texts]
    expected = bleu(*corpora, order=3)
    scores = continuation_scores(rows, references, vocabulary)
    assert scores.mean() == pytest.approx(expected.value, abs=1e-12)
    # a b c against a b d: 2 of 3 words, 1 of 2 pairs, no triple (0.1 of 1)
    by_hand = continuation_scores(np.array([[4, 5, 6]]), np.array([[4, 5, 7]]), vocabulary)
    assert by_hand[0] == pytest.approx((2 / 3 * 1 / 2 * 0.1) ** (1 / 3))


@pytest.mark.feature("EB-04")
@pytest.mark.feature("EB-35")
def test_a_model_that_ignores_prefixes_has_eb_bleu_of_one() -> None:
    text = _text(20_000)
    train, unseen = unseen_halves(text, seed=0)
    model = PositionUnigram().fit(train)
    for position in (0, 7):  # its tables are the words of the positions
        words = train.tokens.reshape(-1, 12)[:, position]
        counts = np.bincount(words, minlength=len(text.vocabulary))[4:]
        prefix = train.take(np.arange(1))
        prefix = Corpus(
            prefix.tokens[:position], np.array([0, position]), text.vocabulary, ("",), tokenizer="whitespace"
        )
        found = np.exp(model.next_log_probs(prefix))[0, 4:]
        assert found == pytest.approx((counts + 10 / 20) / (len(words) + 10), abs=2e-3)
    found_bias = eb_bleu(model, unseen, lengths=[1, 4, 8], sentence_length=12, n=1000, n_runs=24)
    assert found_bias.values == pytest.approx(1.0, abs=0.03)
    assert found_bias.average_interval is not None
    assert found_bias.average_interval.low < 1 < found_bias.average_interval.high
    assert found_bias.sd / found_bias.sd_sentences == pytest.approx(1.0, abs=0.5)


@pytest.mark.slow
@pytest.mark.feature("EB-16")
def test_of_real_news_a_trigram_is_within_the_bounds_of_the_acceptance(data_dir: Path) -> None:
    lines = (data_dir / "emnlp_news" / "valid.txt").read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if len(line.split()) >= 18]
    unseen = Corpus.from_texts(texts[5000:7000])
    model = NgramModel(3).fit(Corpus.from_texts(texts[:5000], vocabulary=unseen.vocabulary))
    found = eb_bleu(model, unseen, lengths=(5,), sentence_length=18, n=1000, n_runs=2)
    assert found.n_sentences == 1000
    assert np.all((found.values > 0.97) & (found.values < 1.06)), found.values


@pytest.mark.feature("EB-04")
def test_own_and_shuffled_beginnings_make_a_model_with_exposure_bias_worse() -> None:
    train, unseen = unseen_halves(_text(3000), seed=0)
    model = NgramModel(3).fit(train)
    found = eb_bleu(model, unseen, lengths=[2, 6], sentence_length=12, n=600, n_runs=3, prefixes="shuffled")
    assert (found.values > 1).all()
    assert found.n_sentences == found.n_references == 600
    assert found.values == pytest.approx((found.runs).mean(axis=0))
    json.dumps(found.to_dict(), allow_nan=False)
    own = eb_bleu(model, unseen, lengths=[2, 6], sentence_length=12, n=600, n_runs=3)
    assert own.values == pytest.approx(1.0, abs=0.1)
    assert own.data == pytest.approx(found.data, abs=1e-12)  # the same draws


@pytest.mark.feature("EB-04")
def test_the_value_is_the_mean_of_the_ratios_of_the_runs() -> None:
    runs = [_run([0.4, 0.3], [0.2, 0.3], 0.01), _run([0.6, 0.3], [0.6, 0.2], 0.02)]
    again = [BleuRun.from_dict(json.loads(json.dumps(run.to_dict()))) for run in runs]
    found = eb_bleu_of_runs(again)
    assert found.values == pytest.approx([1.5, 1.25])
    assert found.sd == pytest.approx([math.sqrt(0.5), math.sqrt(0.125)])
    assert found.data_sd[0] == pytest.approx(0.2 / math.sqrt(2))
    assert found.average == pytest.approx(1.375)
    one = eb_bleu_of_runs(runs[:1])
    assert np.isnan(one.sd).all()
    error = 2 * math.sqrt((0.01 / 0.4) ** 2 + (0.01 / 0.2) ** 2)
    assert one.sd_sentences[0] == pytest.approx(error)
    interval = one.intervals[0]
    assert interval is not None
    assert interval.high - interval.low == pytest.approx(2 * 1.959964 * error)


@pytest.mark.feature("EB-04")
def test_half_of_the_long_sentences_give_prefixes_and_others_references() -> None:
    words = [f"w{number}" for number in range(101)]
    text = Corpus.from_texts([*(" ".join([word] * 12) for word in words), "short"])
    model = NextWordTable(text.vocabulary, lambda prefix: {prefix[-1]: 1.0})  # goes on as it was begun
    asked: list[tuple[list[int], list[int]]] = []

    def score(rows: np.ndarray, references: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
        assert rows.shape == references.shape == (50, 4)
        asked.append((rows[:, 0].tolist(), references[:, 0].tolist()))
        return np.ones(len(rows))

    run = measure_bleu_run(model, text, kinds=["shuffled"], lengths=[8], sentence_length=12, n=10_000, score=score)
    assert run.n_sentences == run.n_references == 50
    for begun, references in asked:
        assert len({*begun, *references}) == 100, "no sentence is there twice, none on both sides"


def test_prefixes_and_references_are_of_different_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = np.repeat(np.arange(6), 5)
    lines = [" ".join(f"d{document}w{k}" for k in range(8)) for document in documents]
    text = Corpus.from_texts(lines, groups=documents)
    of_word = np.array([int(word[1]) if word.startswith("d") else -1 for word in text.vocabulary.tokens])
    prefixes, references = [], []

    def continue_with_itself(model: object, rows: np.ndarray, n: int, **settings: object) -> np.ndarray:
        prefixes.append(rows)
        return np.concatenate([rows, rows[:, :1].repeat(n, axis=1)], axis=1)

    def score(continuations: np.ndarray, others: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
        references.append(others)
        return np.ones(len(continuations))

    monkeypatch.setattr("textassay_lab.exposure.bleu.continue_prefixes", continue_with_itself)
    for seed in range(3):
        prefixes.clear()
        references.clear()
        run = measure_bleu_run(
            PositionUnigram().fit(text), text, kinds=["shuffled"], lengths=[4], sentence_length=8, n=100, seed=seed,
            score=score,
        )  # fmt: skip
        assert run.n_sentences == len(prefixes[0]) == len(references[0]) == 15
        assert not set(of_word[prefixes[0]].ravel()) & set(of_word[references[0]].ravel())
    with pytest.raises(TooFewSentencesError, match="all texts are in one group"):
        measure_bleu_run(
            PositionUnigram().fit(text), text.take(np.arange(5)), kinds=[], lengths=[4], sentence_length=8, n=100
        )


def test_ends_are_absorbed_on_both_sides() -> None:
    rng = np.random.default_rng(3)
    text = Corpus.from_texts([" ".join(rng.choice(list("abc"), rng.integers(3, 12))) for _ in range(600)])
    found = eb_bleu(
        NgramModel(2).fit(text), text, lengths=[2, 4], sentence_length=10, n=1000, n_runs=3, ends="absorbing"
    )
    assert found.values == pytest.approx(1.0, abs=0.15)
    assert found.n_sentences == int((text.lengths > 4).sum()) // 2


@pytest.mark.feature("EB-32")
def test_models_that_answer_a_source_are_refused_with_the_reason() -> None:
    class Translator(NgramModel):
        needs_source = True

    text = _text(50)
    with pytest.raises(NotForTranslationError, match=r"A prefix of the reference reveals the rest of it.* use EB-C"):
        eb_bleu(Translator(2).fit(text), text, lengths=[2], sentence_length=8)


def test_bad_settings() -> None:
    text = _text(30)
    model = NgramModel(2).fit(text)
    with pytest.raises(OptionError, match="at least 3 tokens to be scored: a prefix of 8 of 10 tokens leaves 2"):
        eb_bleu(model, text, lengths=[5, 8], sentence_length=10)
    with pytest.raises(TooFewSentencesError, match="0 of 30 sentences have 40 tokens"):
        eb_bleu(model, text, lengths=[5], sentence_length=40)
    with pytest.raises(OptionError, match="n_runs"):
        eb_bleu(model, text, lengths=[5], sentence_length=10, n_runs=0)
    with pytest.raises(OptionError, match="different vocabularies"):
        eb_bleu(model, Corpus.from_texts(["a b c d e f"] * 9), lengths=[1], sentence_length=6)


def test_kinds_measured_one_after_another_are_those_measured_together() -> None:
    text = Corpus.from_texts(sentences(300, 1))
    model = NgramModel(2).fit(Corpus.from_texts(sentences(300, 2), vocabulary=text.vocabulary))
    settings: dict[str, Any] = {"lengths": [1, 2], "sentence_length": 6, "n": 60, "seed": 4}
    together = measure_bleu_run(model, text, kinds=["model", "shuffled"], **settings)
    for kind in ("data", "model", "shuffled"):
        alone = measure_bleu_run(model, text, kinds=[kind], with_data=False, **settings)
        assert list(alone.scores) == [kind]
        assert np.array_equal(alone.scores[kind], together.scores[kind])
        assert np.array_equal(alone.errors[kind], together.errors[kind])
