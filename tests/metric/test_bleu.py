"""BLEU against NLTK and hand-worked cases; its jackknife against computing everything anew without each group."""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError, OptionError
from textassay.execution.threads import workers
from textassay.metric.base import measure
from textassay.metric.bleu import bleu, closest_lengths, score_sentences
from textassay.ngram.matches import match_references
from textassay.resampling.jackknife import assign_groups, jackknife_terms
from textassay.seeding import stream
from unspaced import chains

SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join), min_size=1, max_size=7)


def _pair(
    generated: list[str], real: list[str], units: dict[str, npt.NDArray[np.int64]] | None = None
) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"generated": generated, "real": real}, groups=units)
    return corpora["generated"], corpora["real"]


def _nltk(hypothesis: str, references: list[str], order: int) -> float:
    return float(
        sentence_bleu(
            [reference.split() for reference in references],
            hypothesis.split(),
            weights=(1 / order,) * order,
            smoothing_function=SmoothingFunction().method1,
        )
    )


def _scores(generated: Corpus, real: Corpus, order: int) -> npt.NDArray[np.float64]:
    """Return the score of each sentence; twice as many references leave scores as they are, and give an interval."""
    hypotheses, references = (corpus.take(np.tile(np.arange(len(corpus)), 2)) for corpus in (generated, real))
    evidence = bleu(hypotheses, references, order=order, independent=True).evidence
    assert evidence is not None
    assert evidence.generated_scores is not None
    return evidence.generated_scores[: len(generated)]


def _random_texts(n: int, *, seed: int, n_types: int = 12, longest: int = 9) -> list[str]:
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, n_types + 1)
    return [
        " ".join(f"w{token}" for token in rng.choice(n_types, size=rng.integers(0, longest), p=weights / weights.sum()))
        for _ in range(n)
    ]


@pytest.mark.feature("A-07")
def test_hand_worked_sentence() -> None:
    # the cat sat on mat: unigrams 5/5, bigrams (the cat, cat sat, sat on) 3/4, trigrams 2/3, r = 6 or 4: 4 is as close
    # to 5 as 6 and shorter, so there is no penalty
    generated, real = _pair(["the cat sat on mat"], ["the cat sat on the mat", "a mat lay there"])
    assert bleu(generated, real, order=1).value == pytest.approx(1.0)
    assert bleu(generated, real, order=2).value == pytest.approx(math.sqrt(3 / 4))
    assert bleu(generated, real, order=3).value == pytest.approx((3 / 4 * 2 / 3) ** (1 / 3))
    # without the shorter reference, BP = exp(1 - 6/5); the repeated word is clipped at the largest count
    generated, real = _pair(["the the the cat sat"], ["the cat sat on the mat"])
    assert bleu(generated, real, order=1).value == pytest.approx(4 / 5 * math.exp(1 - 6 / 5))
    # method 1: no bigram matches, 0.1 of 1
    generated, real = _pair(["b a"], ["a b"])
    assert bleu(generated, real, order=2).value == pytest.approx(math.sqrt(0.1))


@pytest.mark.feature("A-07")
@given(generated=SENTENCES, real=SENTENCES)
def test_scores_are_those_of_nltk(generated: list[str], real: list[str]) -> None:
    hypotheses, references = _pair(generated, real)
    for order in range(1, 6):
        expected = [_nltk(text, real, order) for text in generated]
        np.testing.assert_allclose(_scores(hypotheses, references, order), expected, rtol=0, atol=1e-12)


@pytest.mark.feature("A-07")
@pytest.mark.parametrize(
    ("hypothesis", "references"),
    [
        ("", ["a b c"]),
        ("a", ["a b c", "b"]),
        ("a", ["b"]),
        ("a a a a a a", ["a a b a", "a a a b"]),
        ("a b c", ["a b", "a b c d"]),
        ("a b c", ["a b c d", "a b"]),
        ("a b c d", ["a"]),
        ("a b", [""]),
        ("x a y b z", ["a b", "b a x y z q"]),
    ],
)
def test_edge_cases_are_those_of_nltk(hypothesis: str, references: list[str]) -> None:
    generated, real = _pair([hypothesis], references)
    for order in range(1, 6):
        assert _scores(generated, real, order)[0] == pytest.approx(_nltk(hypothesis, references, order), abs=1e-12)


@pytest.mark.feature("A-07", "A-08")
def test_news_scores_are_those_of_nltk(data_dir: Path) -> None:
    lines = (data_dir / "emnlp_news" / "test.txt").read_text(encoding="utf-8").splitlines()
    hypotheses = [*lines[:18], "", "the", "the the the the the", " ".join(lines[20].split()[:4])]
    references = lines[100:400]
    generated, real = _pair(hypotheses, references)
    for order in (2, 5):
        expected = [_nltk(text, references, order) for text in hypotheses]
        np.testing.assert_allclose(_scores(generated, real, order), expected, rtol=0, atol=1e-12)
        assert bleu(generated, real, order=order).value == pytest.approx(np.mean(expected), abs=1e-12)


@pytest.mark.feature("A-08", "DD-26")
def test_copies_of_references_score_one() -> None:
    real = [text for text in _random_texts(300, seed=0) if len(text.split()) >= 5]
    generated, corpus = _pair([real[3], real[5]] * 50, real)
    for order in range(1, 6):
        assert bleu(generated, corpus, order=order).value == 1.0


@pytest.mark.feature("A-08")
def test_more_overlap_scores_higher() -> None:
    reference = "a b c d e f g h i j"
    kept = [" ".join([*reference.split()[:n], *(f"x{place}" for place in range(10 - n))]) for n in range(11)]
    generated, real = _pair(kept, [reference])
    for order in range(1, 6):
        scores = _scores(generated, real, order)
        assert scores[0] == 0
        assert scores[10] == 1
        assert (np.diff(scores) > 0).all()


@pytest.mark.feature("A-08")
@given(generated=SENTENCES, real=SENTENCES, more=SENTENCES)
def test_further_references_never_lower_matches(generated: list[str], real: list[str], more: list[str]) -> None:
    corpora = corpora_from_texts({"generated": generated, "few": real, "many": real + more})
    groups = np.zeros(len(corpora["many"]), dtype=np.int64)
    few, many = (
        score_sentences(
            corpora["generated"],
            match_references(corpora["generated"], corpora[name], max_order=5, groups=groups[: len(corpora[name])]),
            corpora[name].lengths,
            groups[: len(corpora[name])],
        )
        for name in ("few", "many")
    )
    same_length = few.closest == many.closest
    assert (many.values[same_length] >= few.values[same_length] - 1e-12).all()


@given(generated=SENTENCES, real=SENTENCES, seed=st.integers(0, 5))
def test_order_of_sentences_does_not_matter(generated: list[str], real: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    hypotheses, references = _pair(generated, real)
    for order in range(1, 6):
        value = bleu(hypotheses, references, order=order).value
        assert 0 <= value <= 1
        shuffled = hypotheses.take(rng.permutation(len(hypotheses))), references.take(rng.permutation(len(references)))
        assert bleu(*shuffled, order=order).value == value


def test_threads_do_not_change_a_bit() -> None:
    generated, real = _pair(_random_texts(9000, seed=1), _random_texts(9000, seed=2))
    with workers(1):
        one = bleu(generated, real, order=4)
    with workers(3):
        three = bleu(generated, real, order=4)
    assert one == three
    assert one.evidence is not None
    assert three.evidence is not None
    assert np.array_equal(one.evidence.generated_terms, three.evidence.generated_terms)  # type: ignore[arg-type]
    assert np.array_equal(one.evidence.real_terms, three.evidence.real_terms)  # type: ignore[arg-type]


@pytest.mark.parametrize("documents", [False, True])
def test_jackknife_is_the_score_without_each_group(documents: bool) -> None:
    texts = _random_texts(130, seed=3)
    units = np.random.default_rng(0).integers(0, 60, size=130) if documents else None
    groups = {} if units is None else {"real": units}
    generated, real = _pair(_random_texts(40, seed=4, longest=14), texts, groups)
    assigned = assign_groups(len(real), stream(0, "groups", "real"), units=units)
    n_groups = int(assigned.max()) + 1
    assert n_groups == 50 if not documents else 2 < n_groups <= 50
    moved = 0
    for order in range(1, 6):
        estimate = bleu(generated, real, order=order, independent=True)
        left = [real.take(np.flatnonzero(assigned != group)) for group in range(n_groups)]
        without = np.array([_scores(generated, part, order).mean() for part in left])
        expected = jackknife_terms(estimate.value, without, np.bincount(assigned))
        assert estimate.evidence is not None
        np.testing.assert_allclose(estimate.evidence.real_terms, expected, rtol=0, atol=1e-10)  # type: ignore[arg-type]
        moved += int((np.abs(without - estimate.value) > 1e-12).sum())
    assert moved > 20


@given(generated=SENTENCES, real=SENTENCES.filter(lambda texts: len(texts) > 1))
def test_jackknife_of_single_references(generated: list[str], real: list[str]) -> None:
    hypotheses, references = _pair(generated, real)
    hypotheses = hypotheses.take(np.tile(np.arange(len(hypotheses)), 2))  # one alone has no interval
    assigned = assign_groups(len(real), stream(0, "groups", "real"))
    for order in range(1, 6):
        estimate = bleu(hypotheses, references, order=order)
        without = np.empty(len(real))
        for index in range(len(real)):
            left = references.take(np.flatnonzero(np.arange(len(real)) != index))
            without[assigned[index]] = _scores(hypotheses, left, order).mean()
        expected = jackknife_terms(estimate.value, without, np.ones(len(real), dtype=np.int64))
        assert estimate.evidence is not None
        np.testing.assert_allclose(estimate.evidence.real_terms, expected, rtol=0, atol=1e-10)  # type: ignore[arg-type]


def test_evidence_gives_the_interval_and_is_paired() -> None:
    corpora = corpora_from_texts(
        {
            "a": _random_texts(200, seed=5),
            "b": _random_texts(300, seed=6),
            "real": _random_texts(400, seed=7, n_types=9),
        }
    )
    a, b = (bleu(corpora[name], corpora["real"], order=3, level=0.9) for name in "ab")
    assert a.evidence is not None
    assert b.evidence is not None
    assert a.evidence.real_terms is not None
    assert b.evidence.real_terms is not None
    assert a.evidence.generated_terms is not None
    assert a.evidence.real_terms.shape == b.evidence.real_terms.shape == (50,)
    assert a.evidence.generated_terms.shape == (200,)
    assert np.corrcoef(a.evidence.real_terms, b.evidence.real_terms)[0, 1] > 0.1
    assert a.evidence.generated_terms.mean() == pytest.approx(a.value)
    assert a.evidence.generated_scores is a.evidence.generated_terms
    variance = a.evidence.real_terms.var(ddof=1) / 50 + a.evidence.generated_terms.var(ddof=1) / 200
    assert a.interval is not None
    assert a.interval.level == 0.9
    assert a.interval.high - a.value == pytest.approx(1.65 * math.sqrt(variance), rel=0.03)
    assert a.interval.high - a.value == pytest.approx(a.value - a.interval.low)


def test_sentences_of_one_document_are_not_independent() -> None:
    texts = [text for text in _random_texts(60, seed=8) for _ in range(10)]
    documents = np.repeat(np.arange(60), 10)
    alone, real = _pair(texts, _random_texts(100, seed=9))
    together, same_real = _pair(texts, _random_texts(100, seed=9), {"generated": documents})
    narrow = bleu(alone, real, order=2, independent=True)
    wide = bleu(together, same_real, order=2, independent=True)
    assert narrow.value == wide.value
    assert narrow.interval is not None
    assert wide.interval is not None
    assert wide.evidence is not None
    assert wide.evidence.generated_terms is not None
    assert wide.evidence.generated_terms.shape == (60,)
    assert wide.interval.high - wide.interval.low > 1.5 * (narrow.interval.high - narrow.interval.low)


def test_what_an_estimate_says() -> None:
    generated, real = _pair(["a b c d e f", "a b"], ["a b c", "d e f a b c"])
    estimate = bleu(generated, real, order=4, seed=3)
    assert estimate.metric == "bleu(order=4)"
    assert (estimate.better, estimate.unit) == ("higher", "fraction")
    assert estimate.sizes == {"n_generated": 2, "n_real": 2, "n_references": 2}
    assert str(estimate.signature).startswith("metric:bleu(order=4)|smooth:method1|refs:all|groups:2|tok:whitespace|")
    assert "|seed:3|" in str(estimate.signature)
    assert estimate.details == {
        "brevity_share": 0.5,
        "mean_length": 4.0,
        "mean_closest_length": 4.5,
        "short_share": 0.5,
    }
    assert bleu(generated, real) == measure(bleu, generated, real)


def test_one_sentence_has_no_interval() -> None:
    estimate = bleu(*_pair(["a b c"], ["a b", "c d"]), order=2)
    assert estimate.interval is None
    assert estimate.evidence is None
    assert math.isfinite(estimate.value)
    assert bleu(*_pair(["a b c", "b"], ["a b"]), order=2).interval is None


def test_misuse_is_told() -> None:
    generated, real = _pair(["a"], ["b"])
    stranger = corpora_from_texts({"real": ["b"]})["real"]
    with pytest.raises(OptionError, match="order must be between 1 and 5, got 6"):
        bleu(generated, real, order=6)
    with pytest.raises(OptionError, match="order must be between 1 and 5, got 0"):
        bleu.declaration.with_settings(order=0)
    with pytest.raises(OptionError, match="different vocabularies"):
        bleu.declaration.with_settings().estimate(generated, stranger)
    assert bleu(generated, stranger).value == bleu(["a"], ["b"]).value  # texts are encoded together
    with pytest.raises(EmptyCorpusError, match="the real corpus has no text"):
        bleu(generated, real.take(np.array([], dtype=np.int64)))


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=6, unique=True).map(sorted),
    references=st.lists(st.integers(0, 12), min_size=1, max_size=8),
    leave_one_out=st.booleans(),
)
def test_closest_lengths_by_trying_all(lengths: list[int], references: list[int], leave_one_out: bool) -> None:
    if leave_one_out:
        references = references + lengths
    groups = np.arange(len(references)) % 3
    groups = np.unique(groups, return_inverse=True)[1]
    found = closest_lengths(np.array(lengths), np.array(references), groups, leave_one_out=leave_one_out)
    for row in range(int(groups.max()) + 2):
        for column, length in enumerate(lengths):
            left = [reference for reference, group in zip(references, groups, strict=True) if group != row]
            if leave_one_out:
                if length not in left:
                    continue
                left.remove(length)
            expected = min(left, key=lambda reference: (abs(reference - length), reference), default=0)
            assert found[row, column] == expected


@pytest.mark.parametrize("tokenizer", ["zh", "char"])
def test_chinese_is_scored_as_sacrebleu_scores_it(tokenizer: str) -> None:
    generated, real = chains(30, seed=1, shift=0.5), chains(30, seed=2)
    corpora = corpora_from_texts({"generated": generated, "real": real}, tokenizer="mixed")
    for number in range(30):
        peer = sacrebleu.sentence_bleu(
            generated[number], [real[number]], smooth_method="floor", smooth_value=0.1, tokenize=tokenizer,
            use_effective_order=False,
        )  # fmt: skip
        one = np.array([number])
        ours = _scores(corpora["generated"].take(one), corpora["real"].take(one), 4)
        assert ours[0] == pytest.approx(peer.score / 100)
