"""n-grams that separate: planted ones are found, related ones are folded, luck is seldom called a finding."""

import numpy as np

from made_up import sentences
from textassay.comparison.discriminative_ngrams import NgramLists, find_discriminative_ngrams
from textassay.corpus.corpus import corpora_from_texts
from textassay.resampling.proportions import fisher_p_values


def _find(real: list[str], generated: list[str], top: int = 20) -> NgramLists:
    corpora = corpora_from_texts({"real": real, "generated": generated})
    return find_discriminative_ngrams(corpora["real"], corpora["generated"], level=0.95, top=top)


def _plant(texts: list[str], phrase: str, every: int) -> list[str]:
    return [f"{text} {phrase}" if row % every == 0 else text for row, text in enumerate(texts)]


def test_a_planted_phrase_is_listed_once_with_its_counts() -> None:
    found = _find(sentences(400, 1), _plant(sentences(600, 2), "so to say", 6))
    assert len(found.more_generated) == 1, found.more_generated
    phrase = found.more_generated[0]
    assert set(phrase.ngram.split()) <= {".", "so", "to", "say", "<eos>"}
    assert (phrase.n_real, phrase.n_generated) == (0, 100)
    assert (phrase.share_real, phrase.share_generated) == (0, 100 / 600)
    assert phrase.order == len(phrase.ngram.split())
    assert phrase.p_adjusted < 1e-6
    # What the phrase takes away is listed on the other side: a full stop at the end.
    assert [giveaway.ngram for giveaway in found.more_real] == [". <eos>"]


def test_a_longer_ngram_that_tells_more_is_listed_beside_the_shorter() -> None:
    rng = np.random.default_rng(0)
    # "x" is somewhat more frequent, and "x y" instead of "x z" far more, in generated text.
    real = ["a x z b" if u < 0.4 else "a z y b" for u in rng.random(1000)]
    generated = [("a x y b" if u < 0.4 else "a x z b") if u < 0.6 else "a z y b" for u in rng.random(1000)]
    listed = [giveaway.ngram for giveaway in _find(real, generated).more_generated]
    assert any("x y" in ngram for ngram in listed)
    assert "x" not in listed  # with "x y" known, "x" alone is less frequent than in real text
    # The same without the difference in order: one n-gram tells all.
    generated = ["a x z b" if u < 0.6 else "a z y b" for u in rng.random(1000)]
    assert len(_find(real, generated).more_generated) == 1


def test_beginnings_and_ends_count() -> None:
    words = sentences(500, 1)
    found = _find(words, [text.removesuffix(" .") for text in sentences(500, 2)])
    assert found.more_real[0].ngram in (".", ". <eos>")
    found = _find(words, [f"{words[0].split()[0]} {text}" for text in sentences(500, 2)])
    assert "<sos>" in found.more_generated[0].ngram


def test_luck_is_seldom_a_finding() -> None:
    """Under the null hypothesis every discovery is false, so the rate bounds how often there is any."""
    runs = [_find(sentences(300, 2 * run), sentences(300, 2 * run + 1)) for run in range(50)]
    assert min(run.n_tested for run in runs) > 100
    any_found = sum(bool(run.more_generated or run.more_real) for run in runs)
    assert any_found <= 7  # of 50; more has a probability of 0.4 % where 5 % is true


def test_false_discoveries_beside_true_ones() -> None:
    """Words 0-19 differ, words 20-119 do not; among what is significant few are of the others."""
    rng = np.random.default_rng(0)
    false, all_found = 0, 0
    for _ in range(20):
        weights = np.ones(120)
        weights[:10] *= 2.5
        weights[10:20] /= 2.5
        weights[:20] *= 40 / weights[:20].sum() * 0.5  # the others keep their frequency
        base = np.ones(120)
        base[:20] *= 40 / 20 * 0.5
        real, generated = (
            [" ".join(map(str, row)) for row in rng.choice(120, (800, 5), p=part / part.sum())]
            for part in (base, weights)
        )
        found = _find(real, generated, top=10_000)
        singles = [giveaway for giveaway in (*found.more_generated, *found.more_real) if giveaway.order == 1]
        false += sum(int(giveaway.ngram) >= 20 for giveaway in singles)
        all_found += len(singles)
    assert all_found > 150
    assert false / all_found < 0.08


def test_nothing_to_test_and_nothing_to_list() -> None:
    assert _find(["a b"] * 3, ["c d"] * 3) == NgramLists((), (), 0)
    found = _find(sentences(300, 1), sentences(300, 2, shift=0.9), top=0)
    assert found.n_tested > 100
    assert found.more_generated == found.more_real == ()
    assert len(_find(sentences(300, 1), sentences(300, 2, shift=0.9), top=3).more_real) == 3


def test_boilerplate_is_a_whole_phrase_and_never_left_out() -> None:
    ending = " I hope this helps ! Let me know ."
    answers = [text + ending * (row % 5 > 0) for row, text in enumerate(sentences(600, 2))]
    found = _find(sentences(400, 1), answers)
    (phrase,) = found.boilerplate
    assert phrase.ngram == "I hope this helps ! Let me know . <eos>"
    assert (phrase.n_real, phrase.n_generated, phrase.share_generated) == (0, 480, 0.8)
    assert phrase.order == 10
    # Two phrases of about the same texts both stand there; one that is rare, or of real text, too, does not.
    both = [f"As I said , {text} I hope this helps !" for text in sentences(600, 2)]
    assert [phrase.ngram for phrase in _find(sentences(400, 1), both).boilerplate] == [
        "<sos> As I said ,", "I hope this helps ! <eos>"
    ]  # fmt: skip
    assert _find(sentences(400, 1), _plant(sentences(600, 2), "so to say", 40)).boilerplate == ()
    assert _find(_plant(sentences(400, 1), "so to say", 3), _plant(sentences(600, 2), "so to say", 1)).boilerplate == ()


def test_the_p_value_of_a_phrase_is_that_of_the_counts_beside_it() -> None:
    real = _plant(sentences(400, 1), "so to say", 40)  # the beginning alone
    found = _find(real, _plant(sentences(600, 2), "so to say again and again", 3))
    (phrase,) = found.boilerplate
    assert phrase.ngram.endswith("so to say again and again <eos>")
    assert (phrase.n_real, phrase.n_generated) == (0, 200)
    own = fisher_p_values(np.array([0]), 400, np.array([200]), 600)[0]
    assert own <= phrase.p_adjusted <= own * (found.n_tested + 1)
