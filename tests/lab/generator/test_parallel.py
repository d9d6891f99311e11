"""Parallel text: pairs stay pairs, some are held back."""

from pathlib import Path

import numpy as np
import pytest

from textassay.corpus.text_form import TextForm
from textassay.corpus.texts import read_texts
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay_lab.generator.parallel import ParallelText, held_out_pairs, learn_joint_form


def test_pairs_stay_pairs() -> None:
    form = TextForm.learn(["ein Haus", "a house", "zwei", "two"])
    pairs = ParallelText.from_texts(["ein Haus", "zwei"], ["a house", "two"], form)
    turned = pairs.take(np.array([1, 0]))
    assert list(zip(turned.source.texts, turned.target.texts, strict=True)) == [
        ("zwei", "two"),
        ("ein Haus", "a house"),
    ]
    assert turned.fingerprint != pairs.fingerprint
    swapped = ParallelText(pairs.source, pairs.target.take(np.array([1, 0])))
    assert swapped.fingerprint not in (pairs.fingerprint, turned.fingerprint)


def test_sides_that_do_not_belong_together_are_refused() -> None:
    form, other = TextForm.learn(["a b"]), TextForm.learn(["a c"])
    with pytest.raises(InputError, match="the source has 2 sentences and the translation 1"):
        ParallelText.from_texts(["a", "b"], ["a"], form)
    with pytest.raises(OptionError, match="different vocabularies"):
        ParallelText(form.corpus(["a"]), other.corpus(["a"]))


def test_one_form_writes_both_sides() -> None:
    pytest.importorskip("tokenizers")
    form = learn_joint_form(["das Haus steht"] * 3, ["The House stands"] * 3, size=280, lowercase=True)
    assert form.tokenizer.lowercase
    pairs = ParallelText.from_texts(["Haus ß"], ["house é"], form)
    assert pairs.source.unk_rate == pairs.target.unk_rate == 0
    assert any(len(token) > 2 for token in form.vocabulary.tokens[260:])


@pytest.mark.feature("EB-36")
def test_pairs_are_held_back_before_training(data_dir: Path) -> None:
    folder = data_dir / "multi30k"
    n = len(read_texts(folder / "train.de").texts)
    assert n == len(read_texts(folder / "train.en").texts) == 29_000
    for held, seed in ((3_000, 0), (10_000, 1)):
        kept, out = held_out_pairs(n, held, seed=seed)
        assert (len(kept), len(out)) == (n - held, held)
        assert sorted([*kept.tolist(), *out.tolist()]) == list(range(n)), "none is lost, none in both"
    assert held_out_pairs(n, 3_000, seed=0)[1].tolist() == held_out_pairs(n, 3_000, seed=0)[1].tolist()
    assert held_out_pairs(n, 3_000, seed=0)[1].tolist() != held_out_pairs(n, 3_000, seed=2)[1].tolist()


def test_too_many_are_refused() -> None:
    with pytest.raises(TooFewSentencesError, match="of 10 pairs, 9 cannot be held out"):
        held_out_pairs(10, 9, seed=0)
    with pytest.raises(OptionError, match="at least 0, got -1"):
        held_out_pairs(10, -1, seed=0)
