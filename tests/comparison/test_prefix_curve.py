"""The prefix curve: where a generator begins to differ, lengths that are exact, and bands that hold one half."""

from collections.abc import Callable

import numpy as np
import pytest

from made_up import sentences
from textassay.comparison.explain import explain
from textassay.comparison.explanation import Explanation, LengthBin, PrefixPoint
from textassay.comparison.prefix_curve import first_tokens, half_length, prefix_curve, prefix_lengths
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.logistic import GRID, LogisticDiscriminator
from textassay.errors import TooFewSentencesError
from textassay.metric.discrepancy import dd


def _corpora(real: list[str], generated: list[str], **settings: str) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"real": real, "generated": generated}, **settings)  # type: ignore[arg-type]
    return corpora["real"], corpora["generated"]


def _words(n: int, seed: int, change: Callable[[np.ndarray], None] | None = None, length: int = 14) -> list[str]:
    words = np.random.default_rng(seed).integers(0, 12, (n, length))
    if change is not None:
        change(words)
    return [" ".join(f"w{word}" for word in row) for row in words.tolist()]


def test_a_generator_that_differs_from_the_fifth_token_on_is_found_out_there() -> None:
    def change(words: np.ndarray) -> None:
        words[:, 4:] = words[:, 4:] % 4

    found = prefix_curve(*_corpora(_words(500, 0), _words(500, 1, change)))
    by_length = {point.n_tokens: point for point in found.points}
    assert list(by_length) == [1, 2, 3, 5, 8, 12]
    assert all(by_length[k].low < 0.05 for k in (1, 2, 3))
    # Of one uniform word out of 12, of which the generator uses 4, the total variation is 2/3; of four, it is 80/81.
    assert by_length[5].value == pytest.approx(2 / 3, abs=0.07)
    assert by_length[8].value > 0.88
    assert found.half_length is not None
    assert found.half_low is not None
    assert found.half_high is not None
    assert 3 < found.half_low < found.half_length < found.half_high < 5.5


def test_identical_sides_never_reach_one_half() -> None:
    found = prefix_curve(*_corpora(sentences(500, 1), sentences(500, 2)))
    assert all(abs(point.value) < 0.2 and point.low < 0.05 for point in found.points)
    assert (found.half_length, found.half_low, found.half_high) == (None, None, None)


def test_what_is_told_by_the_first_token_is_found_within_it() -> None:
    found = prefix_curve(*_corpora(_words(200, 0), [f"x {text}" for text in _words(200, 1)]))
    assert all(point.value == 1 for point in found.points)
    assert found.half_length == pytest.approx(0.5)
    assert found.half_low is not None
    assert found.half_high is not None
    assert 0.4 < found.half_low <= 0.5 <= found.half_high < 0.6


def test_a_point_is_dd_of_cut_sentences_on_the_partition_of_dd() -> None:
    real, generated = _corpora(sentences(300, 1), sentences(250, 2, shift=0.6))
    found = prefix_curve(real, generated, seed=5)
    cut = corpora_from_texts(
        {
            name: [" ".join(text.split()[:3]) for text in corpus.texts]
            for name, corpus in (("real", real), ("generated", generated))
        }
    )
    judge = LogisticDiscriminator(grid={"binary": GRID["binary"]})
    estimate = dd(cut["generated"], cut["real"], discriminator=judge, seed=5)
    (point,) = [point for point in found.points if point.n_tokens == 3]
    assert estimate.interval is not None
    assert (point.value, point.low, point.high) == pytest.approx(
        (estimate.value, estimate.interval.low, estimate.interval.high), abs=0.02
    )


def test_short_sentences_stay_whole_and_where_they_end_counts() -> None:
    def few_words(words: np.ndarray) -> None:
        words %= 3

    def words(n: int, seed: int, length: int) -> list[str]:
        return _words(n, seed, few_words, length)

    found = prefix_curve(*_corpora(words(400, 0, 6), [*words(240, 1, 6), *words(160, 2, 2)]))
    by_length = {point.n_tokens: point for point in found.points}
    assert list(by_length) == [1, 2, 3, 5]
    assert max(by_length[1].low, by_length[2].low) < 0.02  # two words of six look like two words
    assert by_length[3].low > 0.15  # those that end after two are seen to end


@pytest.mark.parametrize("tokenizer", ["whitespace", "chars"])
def test_sentences_are_cut_exactly(tokenizer: str) -> None:
    texts = ["a b c d", "", "e f", "g"]
    corpus = Corpus.from_texts(texts, tokenizer=tokenizer, groups=np.array([0, 0, 1, 2]))
    cut = first_tokens(corpus, 2)
    assert cut.lengths.tolist() == [min(2, length) for length in corpus.lengths]
    assert [cut.sentence(row) for row in range(4)] == [corpus.sentence(row)[:2] for row in range(4)]
    assert list(cut.texts) == [corpus.separator.join(corpus.sentence(row)[:2]) for row in range(4)]
    assert cut.groups is not None
    assert cut.groups.tolist() == [0, 0, 1, 2]
    assert cut.vocabulary is corpus.vocabulary
    assert Corpus.from_texts(cut.texts, tokenizer=tokenizer).lengths.tolist() == cut.lengths.tolist()


def test_lengths_go_as_far_as_half_of_both_sides() -> None:
    def lengths(real: list[int], generated: list[int]) -> tuple[int, ...]:
        return prefix_lengths(*_corpora([" ".join("x" * n) for n in real], [" ".join("x" * n) for n in generated]))

    assert lengths([30, 30, 1], [40, 18]) == (1, 2, 3, 5, 8, 12, 18, 27)
    assert lengths([30, 2, 2], [40, 18]) == (1, 2)
    assert lengths([0, 0, 5], [7]) == ()
    assert lengths([1], [100]) == (1,)


def test_half_lengths_worked_out_by_hand() -> None:
    def points(*rows: tuple[int, float, float, float]) -> list[PrefixPoint]:
        return [PrefixPoint(*row) for row in rows]

    assert half_length(points((1, 0.25, 0.0, 0.5), (2, 0.75, 0.5, 1.0))) == (1.5, 1.0, 2.0)
    assert half_length(points((2, 1.0, 1.0, 1.0))) == (1.0, 1.0, 1.0)
    assert half_length(points((1, 0.1, 0.0, 0.2), (3, 0.4, 0.2, 0.6))) == (None, 2.5, None)
    assert half_length(points((1, 0.5, 0.4, 0.6), (3, 0.4, 0.3, 0.5), (5, 0.8, 0.7, 0.9)))[::2] == (1.0, 4.0)
    assert half_length([]) == (None, None, None)


def test_an_explanation_has_the_curve_and_the_lengths_at_which_dd_reaches_one_half() -> None:
    real, generated = _corpora(sentences(200, 1), sentences(200, 3, shift=0.6))
    found = explain(generated, real, halvings=1, seed=2)
    curve = prefix_curve(real, generated, seed=2)
    assert found.prefixes == curve.points
    assert (found.half_length, found.half_low, found.half_high) == (
        curve.half_length,
        curve.half_low,
        curve.half_high,
    )
    assert Explanation.from_dict(found.to_dict()) == found
    bins = (
        LengthBin(1, 4, 9, 9, None, None, None),
        LengthBin(5, 8, 90, 90, 0.4, 0.3, 0.5),
        LengthBin(9, 12, 90, 90, 0.5, 0.4, 0.6),
        LengthBin(13, 20, 90, 90, 0.7, 0.6, 0.8),
    )
    fields = {**found.to_dict(), "lengths": [vars(part) for part in bins]}
    assert Explanation.from_dict(fields).half_bin == bins[2]
    assert Explanation.from_dict({**fields, "lengths": []}).half_bin is None


def test_too_little_text_is_refused() -> None:
    with pytest.raises(TooFewSentencesError, match="at least 50 texts a side"):
        prefix_curve(*_corpora(sentences(40, 1), sentences(60, 2)))


def test_groups_widen_the_bands() -> None:
    texts = {"real": [text for text in sentences(60, 1) for _ in range(5)], "generated": sentences(300, 2, shift=0.4)}
    groups = {"real": np.repeat(np.arange(60), 5), "generated": 100 + np.arange(300)}
    plain = corpora_from_texts(texts)
    grouped = corpora_from_texts(texts, groups=groups)
    narrow = prefix_curve(plain["real"], plain["generated"]).points[2]
    wide = prefix_curve(grouped["real"], grouped["generated"]).points[2]
    assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)
