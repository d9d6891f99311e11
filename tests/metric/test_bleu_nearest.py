"""BLEU against nearest texts: against caption evaluation and by hand; intervals against computing anew; coverage."""

import math
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from pycocoevalcap.bleu.bleu_scorer import BleuScorer

from made_up import sentences, shuffled
from nearest import nearest_references
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError, OptionError, UnavailableError
from textassay.metric.base import Shared, measure
from textassay.metric.bleu import self_bleu
from textassay.metric.bleu_nearest import bleu_nearest, bleu_train
from textassay.metric.catalog import parse_metric
from textassay.metric.overlap import overlap
from textassay.resampling.jackknife import assign_groups, jackknife_terms
from textassay.seeding import stream
from textassay_lab.human.mechanical_turk import read_mechanical_turk

FloatArray = npt.NDArray[np.float64]
SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join), min_size=1, max_size=7)
BLEU = import_module("textassay.metric.bleu_nearest")
NEAREST = ["bleu-nearest(order=4)", "bleu-nearest(order=2)", "rouge(kind=l)", "rouge(kind=1)", "meteor", "cider-d"]


def _pair(generated: list[str], real: list[str]) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"generated": generated, "real": real})
    return corpora["generated"], corpora["real"]


def _references(generated: Corpus, real: Corpus, k: int) -> list[list[str]]:
    return [[real.texts[place] for place in row if place >= 0] for row in nearest_references(generated, real, k=k)]


def _caption_bleu(hypotheses: list[str], references: list[list[str]]) -> list[float]:
    scorer = BleuScorer(n=4)
    for hypothesis, theirs in zip(hypotheses, references, strict=True):
        scorer += (hypothesis, theirs)
    return [float(value) for value in scorer.compute_score(option="closest", verbose=0)[0]]


def test_hand_worked_corpus() -> None:
    # the cat sat: 3/3, 2/2 with its nearest; a dog ran off: 2/4 and 0/3; no penalty: lengths 3 + 4, closest 3 + 3
    generated, real = _pair(["the cat sat", "a dog ran off"], ["the cat sat", "dog a barks"])
    assert bleu_nearest(generated, real, order=1, references=1).value == pytest.approx(5 / 7)
    assert bleu_nearest(generated, real, order=2, references=1).value == pytest.approx(math.sqrt(5 / 7 * 2 / 5))
    # both references serve each sentence: lengths 3 and 3 again, 3 is closest to 4
    assert bleu_nearest(generated, real, order=1, references=9).value == pytest.approx(5 / 7)
    # too short: closest lengths 3 + 3, tokens 2 + 2
    generated, real = _pair(["the cat", "dog a"], ["the cat sat", "dog a barks"])
    assert bleu_nearest(generated, real, order=2, references=1).value == pytest.approx(math.exp(1 - 6 / 4))


@pytest.mark.feature("JJ-33")
@given(generated=SENTENCES, real=SENTENCES)
def test_values_are_those_of_caption_evaluation_and_scores_those_of_nltk(generated: list[str], real: list[str]) -> None:
    hypotheses, pool = _pair(generated, real)
    texts = _references(hypotheses, pool, 3)
    expected = _caption_bleu(generated, texts)
    for order in range(1, 5):
        if not any(generated):
            assert bleu_nearest(hypotheses, pool, order=order, references=3).value == 0
            continue
        if not any(len(text.split()) >= order for text in generated):
            with pytest.warns(RuntimeWarning, match=f"undefined: no sentence has {order} tokens"):
                assert math.isnan(bleu_nearest(hypotheses, pool, order=order, references=3).value)
            continue
        computed = bleu_nearest.declaration.compute(hypotheses, pool, order=order, references=3)
        value = computed.value
        assert value == pytest.approx(expected[order - 1], rel=1e-7, abs=0 if value else 1e-3)  # they never give 0
        scores = [
            sentence_bleu(
                [reference.split() for reference in theirs],
                text.split(),
                weights=(1 / order,) * order,
                smoothing_function=SmoothingFunction().method1,
            )
            for theirs, text in zip(texts, generated, strict=True)
        ]
        np.testing.assert_allclose(computed.generated_scores, scores, rtol=0, atol=1e-12)


@pytest.mark.feature("JJ-44")
@given(generated=SENTENCES, real=SENTENCES)
def test_corpus_bleu_against_all_references_is_that_of_sacrebleu(generated: list[str], real: list[str]) -> None:
    generated = [*generated, "a b c d"]
    pair = _pair(generated, real)
    for order in range(1, 5):
        peer = sacrebleu.BLEU(tokenize="none", smooth_method="none", max_ngram_order=order, force=True)
        expected = peer.corpus_score(generated, [[text] * len(generated) for text in real]).score / 100
        assert bleu_nearest(*pair, order=order, references="all").value == pytest.approx(expected, abs=1e-12)


@pytest.mark.feature("JJ-44")
def test_corpus_bleu_of_reviews_against_all_references_is_that_of_sacrebleu(data_dir: Path) -> None:
    items = read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv").items
    generated = [item.text for item in items if item.generator == "WordRNN07"]
    real = [item.text for item in items if item.generator is None][:60]
    peer = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True)
    expected = peer.corpus_score(generated, [[text] * len(generated) for text in real]).score / 100
    value = bleu_nearest(*_pair(generated, real), references="all").value
    assert value == pytest.approx(expected, abs=1e-12)
    assert 0.1 < value < 0.6


@pytest.mark.feature("JJ-33")
def test_news_values_are_those_of_caption_evaluation(data_dir: Path) -> None:
    lines = (data_dir / "emnlp_news" / "test.txt").read_text(encoding="utf-8").splitlines()
    generated, real = _pair(lines[:150], lines[150:1500])
    expected = _caption_bleu(list(generated.texts), _references(generated, real, 10))
    values = [bleu_nearest(generated, real, order=order).value for order in range(1, 5)]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)


@pytest.mark.feature("JJ-33")
def test_text_that_is_nearer_to_real_text_scores_higher() -> None:
    real, same = sentences(600, 1), sentences(300, 2)
    values = [
        bleu_nearest(*_pair(text, real)).value
        for text in (real[:300], same, sentences(300, 2, shift=0.5), shuffled(same, 0))
    ]
    assert values[0] == pytest.approx(1.0)
    assert values == sorted(values, reverse=True)
    assert min(-np.diff(values)) > 0.015
    corpus = Corpus.from_texts(real)
    assert bleu_nearest(corpus, corpus).value < 0.95  # no sentence is its own reference


@pytest.mark.feature("JJ-35")
def test_copies_of_the_training_text_and_repeats_score_one() -> None:
    corpora = corpora_from_texts({"real": sentences(300, 1), "train": sentences(300, 2), "new": sentences(300, 3)})
    real, train = corpora["real"], corpora["train"]
    copied = bleu_train(train, real, train=train.take(np.arange(300)))
    new, floor = (bleu_train(corpora[name], real, train=train) for name in ("new", "real"))
    assert copied.value == pytest.approx(1.0)
    assert new.interval is not None
    assert floor.interval is not None
    assert new.interval.low < floor.value < new.interval.high < 0.95
    assert copied.better == "closer"
    assert new.evidence is not None
    assert new.evidence.real_terms is None  # the training text is taken as given
    assert "references as given" in new.interval.method
    # references come from the training text, whatever the real text is
    assert bleu_train(corpora["new"], corpora["new"], train=train).value == new.value
    assert new.value == pytest.approx(bleu_nearest(corpora["new"], train).value, abs=1e-15)
    repeated = Corpus.from_texts(["ba ben bir bolo but .", "da den dir dolo dut ."] * 40)
    assert self_bleu(repeated, repeated, order=4).value == 1.0


def test_training_text_is_needed() -> None:
    generated, real = _pair(["a b"], ["a b"])
    with pytest.raises(UnavailableError, match="give --train FILE"):
        bleu_train(generated, real)
    with pytest.raises(EmptyCorpusError, match="no sentence"):
        bleu_train(generated, real, train=real.take(np.zeros(0, dtype=np.int64)))
    apart = bleu_train.declaration.with_settings(train=Corpus.from_texts(["a"]))
    with pytest.raises(OptionError, match="vocabular"):
        apart.estimate(generated, real)


def _parts(name: str) -> tuple[Any, ...]:
    """Return what makes the rows of a metric, its arguments, what all blocks need, and the value of a sum of rows."""
    module = import_module(f"textassay.metric.{name.split('(')[0].split('-d')[0].replace('-', '_')}")
    together = module._weights_of_real if name == "cider-d" else None
    args: tuple[object, ...] = {"rouge": (1.2,), "meteor": ("none",), "cider-d": (True,)}.get(name.split("(")[0], ())
    column = {"rouge(kind=l)": 2}.get(name, 0)
    if name.startswith("bleu"):
        return module._rows, args, together, lambda sums, _: BLEU._value(sums, int(name[-2]))
    return module._rows, args, together, lambda sums, n: sums[column] / n


@pytest.mark.feature("JJ-44")
@pytest.mark.parametrize("name", ["bleu-nearest(order=4)", "rouge(kind=l)"])
@pytest.mark.parametrize("itself", [False, True])
def test_all_references_are_as_many_nearest_as_there_are(name: str, itself: bool) -> None:
    generated, real = _pair([*sentences(60, 1), "ba", "da den"], sentences(130, 2))
    generated = real if itself else generated
    rows_of, args, _, _ = _parts(name)
    of_all = import_module(rows_of.__module__)._rows_of_all
    found, expected = (
        overlap(generated, real, rows_of, *args, near=(k, "tf-idf", "keep", 3), rows_of_all=of_all)
        for k in ("all", len(real))
    )
    np.testing.assert_allclose(found.rows, expected.rows, atol=1e-12)
    np.testing.assert_allclose(found.changes, expected.changes, atol=1e-9)
    assert found.group_sizes.tolist() == expected.group_sizes.tolist()
    assert found.references == len(real) - itself


def test_all_references_in_words() -> None:
    metric = parse_metric("bleu-nearest(references=all)")
    assert metric.name == "bleu-nearest(order=4,references=all)"
    assert "refs:all" in str(measure(metric, ["a b c d e"], ["a b c d", "e"]).signature)
    for words, message in (
        ("bleu-nearest(references=some)", "must be of type int, got 'some'"),
        ("rouge(references=0)", "references must be at least 1, got 0"),
        ("rouge(references=all,equal=drop)", "equal=drop needs a number of references, got references=all"),
        ("meteor(references=all)", "must be of type int"),
    ):
        with pytest.raises(OptionError, match=message):
            parse_metric(words)
    with pytest.raises(OptionError, match=r"references must be a whole number, got 1\.5"):
        bleu_nearest(["a"], ["a"], references=1.5)


@pytest.mark.parametrize("name", NEAREST)
@pytest.mark.parametrize("itself", [False, True])
def test_the_jackknife_is_that_of_computing_anew_without_each_group(name: str, itself: bool) -> None:
    """Without a group, the next nearest of all references take its place; weights of words stay as they are."""
    generated, real = _pair(sentences(60, 1), sentences(130, 2))
    generated = real if itself else generated
    groups = assign_groups(len(real), stream(3, "groups", "real"))
    everyone = nearest_references(generated, real, k=len(real), exclude_self=itself)
    rows_of, args, together, value_of = _parts(name)
    found = overlap(generated, real, rows_of, *args, near=(10, "tf-idf", "keep", 3), together=together)
    shared = args if together is None else (*args, together(generated, real, everyone))
    without = []
    for group in range(int(groups.max()) + 1):
        chosen = np.array([[place for place in row if place >= 0 and groups[place] != group][:10] for row in everyone])
        of_chosen = rows_of(generated, real, chosen, *shared)
        left = np.flatnonzero(groups != group) if itself else np.arange(len(generated))
        expected = of_chosen(left, np.tile(np.arange(10), (len(left), 1))).sum(axis=0)
        np.testing.assert_allclose(found.rows.sum(axis=0) + found.changes[group], expected, atol=1e-9)
        without.append(value_of(expected, len(left)))
    estimate = measure(parse_metric(name), generated, real, seed=3)
    assert estimate.evidence is not None
    terms = estimate.evidence.generated_terms if itself else estimate.evidence.real_terms
    assert terms == pytest.approx(jackknife_terms(estimate.value, np.array(without), np.bincount(groups)), abs=1e-9)
    assert itself == (estimate.evidence.real_terms is None)  # both sides' spread, or one where both are the same


def test_texts_of_a_group_leave_together() -> None:
    generated, real = _pair(sentences(20, 1), sentences(130, 2))
    paired = replace(real, groups=np.arange(130) // 2)
    rows_of, args, together, _ = _parts("rouge(kind=l)")
    sizes = overlap(generated, paired, rows_of, *args, near=(10, "tf-idf", "keep", 0), together=together).group_sizes
    assert (sizes % 2 == 0).all()
    assert sizes.sum() == 130


def test_the_jackknife_where_there_are_fewer_references_than_asked_for() -> None:
    real = corpora_from_texts({"real": sentences(7, 2)})["real"]
    rows_of, args, together, _ = _parts("cider-d")  # a mean over references: one that is not there must not count
    found = overlap(real, real, rows_of, *args, near=(10, "tf-idf", "keep", 3), together=together)
    groups = assign_groups(len(real), stream(3, "groups", "real"))
    everyone = nearest_references(real, real, k=6, exclude_self=True)
    rows = rows_of(real, real, everyone, *args, together(real, real, everyone))
    for group in range(int(groups.max()) + 1):
        left = np.flatnonzero(groups != group)
        columns = np.where(groups[everyone] == group, -1, np.arange(6))[left]
        changed = found.rows.sum(axis=0) + found.changes[group]
        np.testing.assert_allclose(changed, rows(left, columns).sum(axis=0), atol=1e-9)


def test_terms_are_the_derivatives_of_the_value() -> None:
    generated, real = _pair(
        [text[: 4 + 3 * (number % 9)] for number, text in enumerate(sentences(80, 1))], sentences(200, 2)
    )
    estimate = bleu_nearest(generated, real, order=2)
    rows = overlap(generated, real, BLEU._rows, near=(10, "tf-idf", "keep", 0)).rows
    assert estimate.details["length_ratio"] < 1  # so that the penalty counts
    assert estimate.evidence is not None
    assert estimate.evidence.generated_terms is not None
    terms = estimate.evidence.generated_terms
    assert terms.mean() == pytest.approx(estimate.value, abs=1e-12)
    step, sums = 1e-6, rows.sum(axis=0)
    for sentence in range(0, 80, 7):
        moved = BLEU._value(sums + step * rows[sentence], 2)
        slope = (moved - estimate.value) / step
        assert (terms[sentence] - estimate.value) / 80 == pytest.approx(slope, rel=1e-3, abs=1e-7)


def test_no_match_is_0_without_an_interval() -> None:
    corpora = corpora_from_texts({"generated": ["a b c d"] * 30, "real": ["b a d c", "d c b a"] * 10})
    estimate = bleu_nearest(corpora["generated"], corpora["real"])
    assert (estimate.value, estimate.interval, estimate.evidence) == (0.0, None, None)


OF_OVERLAP = [
    *NEAREST,
    "bleu-nearest(references=all)",
    "bleu-train",
    "bleu",
    "rouge(kind=2)",
    "rouge(references=all)",
    "cider",
]


@pytest.mark.parametrize("name", OF_OVERLAP)
def test_empty_texts_score_0(name: str) -> None:
    some, none = sentences(30, 1), [""] * 30
    for generated, real in ((none, some), (some, none), (none, none)):
        corpora = corpora_from_texts({"generated": generated, "real": real})
        estimate = measure(parse_metric(name, train=corpora["real"]), corpora["generated"], corpora["real"])
        assert estimate.value == 0
        assert estimate.interval is None or estimate.interval.low == estimate.interval.high == 0


def test_texts_shorter_than_the_order_are_undefined_beside_empty_ones() -> None:
    with pytest.warns(RuntimeWarning, match="undefined: no sentence has 4 tokens"):
        assert math.isnan(bleu_nearest(*_pair(["a b", ""], ["a b", "c"])).value)


def _counted(function: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def counted(*args: Any) -> Any:
        calls.append(1)
        return function(*args)

    return counted


def test_orders_share_their_work_and_names_say_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = [parse_metric(f"bleu-nearest(order={order})") for order in (2, 4)]
    other = parse_metric("bleu-nearest(order=4,references=5,equal=drop)")
    assert other.name == "bleu-nearest(order=4,references=5,equal=drop)"
    assert len({metric.key for metric in (*metrics, other)}) == 3
    generated, real = _pair(sentences(50, 1), sentences(50, 2))
    both = [measure(metric, generated, real) for metric in metrics]
    searched: list[int] = []
    monkeypatch.setattr(BLEU, "count_rows", _counted(BLEU.count_rows, searched))
    with Shared().used():
        assert [measure(metric, generated, real) for metric in metrics[:1]] == both[:1]
        n_searched = len(searched)
        assert measure(metrics[1], generated, real) == both[1]
        assert len(searched) == n_searched > 0
        assert measure(other, generated, real).value < both[1].value
        assert len(searched) > n_searched
    assert "refs:10|near:tf-idf" in str(both[0].signature)
    with pytest.raises(OptionError, match="references must be at least 1, got 0"):
        parse_metric("rouge(references=0)")


def test_equal_real_texts_can_be_left_out() -> None:
    real = sentences(300, 1)
    generated, pool = _pair(real[:150], real)
    dropped = bleu_nearest(generated, pool, equal="drop").value
    assert dropped < 0.95
    assert bleu_nearest(generated, pool).value == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", NEAREST)
def test_intervals_cover(name: str) -> None:
    """Of real and generated draws of two languages; the truth is the mean over many pairs of the same sizes.

    (Where a handful of n-grams match, BLEU's are too narrow: 0.79 of 80 sentences against 120.)
    """
    metric = parse_metric(name)
    estimates = []
    for draw in range(200):
        estimates.append(measure(metric, *_pair(sentences(200, 1000 + draw, shift=0.2), sentences(300, 5000 + draw))))
    truth = float(np.mean([estimate.value for estimate in estimates]))
    covered = [e.interval is not None and e.interval.low <= truth <= e.interval.high for e in estimates]
    assert np.mean(covered) >= 0.93


@pytest.mark.feature("JJ-33", "JJ-35")
def test_judged_reviews_rank_as_people_rank_them(data_dir: Path) -> None:
    """BLEU against the ten nearest of the 1,800 real reviews: Kendall's tau-b with people is 0.6 at least."""
    from scipy.stats import kendalltau

    judgements = read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv")
    names = np.array([item.generator or "Real" for item in judgements.items])
    makers = ["Real", *judgements.generators]
    corpora = corpora_from_texts(
        {maker: [item.text for item in judgements.items if (item.generator or "Real") == maker] for maker in makers}
    )
    votes = judgements.votes()
    judged_fake = [votes[names == maker, 0].sum() / votes[names == maker].sum() for maker in judgements.generators]
    values = [bleu_nearest(corpora[maker], corpora["Real"]).value for maker in judgements.generators]
    assert kendalltau(values, 1 - np.array(judged_fake)).statistic >= 0.6
