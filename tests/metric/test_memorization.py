"""Memorization: copies, the longest shared n-grams and BLEU against the nearest, by plain search over all pairs."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from made_up import sentences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.texts import read_texts
from textassay.errors import EmptyCorpusError, OptionError, UnavailableError
from textassay.metric.memorization import memorization
from textassay.ngram.nearest import SuffixArray, match_pairs


def _ngrams(tokens: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


def _bleu(hypothesis: list[str], reference: list[str]) -> float:
    """Return BLEU-4 with zero numerators replaced by 0.1, as its definition says."""
    logs = []
    for order in range(1, 5):
        matched = sum((_ngrams(hypothesis, order) & _ngrams(reference, order)).values())
        if order == 1 and matched == 0:
            return 0.0
        logs.append(math.log((matched or 0.1) / max(1, len(hypothesis) - order + 1)))
    return math.exp(min(0, 1 - len(reference) / len(hypothesis)) + sum(logs) / 4)


def _longest(tokens: list[str], train: list[list[str]]) -> int:
    for order in range(len(tokens), 0, -1):
        wanted = set(_ngrams(tokens, order))
        if any(wanted & set(_ngrams(other, order)) for other in train):
            return order
    return 0


TRAIN = ["the cat sat on the mat .", "a dog ran .", "the cat ran on a big mat .", "", "so so so good"]


def test_by_hand() -> None:
    generated = ["a dog ran .", "the cat sat on a big mat .", "unheard of", ""]
    corpora = corpora_from_texts({"train": TRAIN, "generated": generated, "real": ["x y", "a dog ran ."]})
    estimate = memorization(corpora["generated"], corpora["real"], train=corpora["train"])
    assert estimate.value == 2 / 4, "the sentence and the empty one occur in the training text"
    assert estimate.details["max_shared"] == 5, "on a big mat ."
    assert estimate.details["median_shared"] == 2
    assert [example["text"] for example in estimate.details["longest"][:2]] == [generated[1], generated[0]]
    near = max(_bleu(generated[1].split(), text.split()) for text in TRAIN if text)
    assert estimate.details["nearest_bleu"] == pytest.approx((1 + near + 0 + 1) / 4)
    assert estimate.sizes == {"n_generated": 4, "n_real": 2, "n_train": 5}


def test_shared_ngrams_are_the_longest_and_the_nearest_nearly_the_best() -> None:
    texts = {"train": sentences(150, 1), "generated": sentences(60, 2)}
    corpora = corpora_from_texts(texts)
    train = [text.split() for text in texts["train"]]
    nearest = SuffixArray.build(corpora["train"]).nearest(corpora["generated"])
    expected = [_longest(text.split(), train) for text in texts["generated"]]
    assert nearest.lengths.tolist() == expected
    found, best = [], []
    for text, numbers in zip(texts["generated"], nearest.sentences.tolist(), strict=True):
        found.append(max(_bleu(text.split(), train[number]) for number in numbers if number >= 0))
        best.append(max(_bleu(text.split(), other) for other in train))
    copied = [text in texts["train"] for text in texts["generated"]]
    estimate = memorization(corpora["generated"], corpora["generated"], train=corpora["train"])
    assert estimate.details["nearest_bleu"] == pytest.approx(np.where(copied, 1.0, found).mean())
    assert np.mean(found) > 0.95 * np.mean(best)
    assert estimate.value == np.mean(copied)


def test_a_copy_with_one_word_changed_finds_its_original() -> None:
    """Also where most training sentences end alike."""
    originals = [f"{text[:-2]} and the food was great as always ." for text in sentences(400, 1)]
    changed = [" ".join(["never", *text.split()[1:]]) for text in originals]
    corpora = corpora_from_texts({"train": originals, "changed": changed})
    nearest = SuffixArray.build(corpora["train"]).nearest(corpora["changed"])
    scores = [
        max(_bleu(text.split(), originals[number].split()) for number in numbers if number >= 0)
        for text, numbers in zip(changed, nearest.sentences.tolist(), strict=True)
    ]
    original = [_bleu(text.split(), other.split()) for text, other in zip(changed, originals, strict=True)]
    assert np.mean(np.array(scores) >= np.array(original) - 1e-12) > 0.95


def test_matches_of_pairs_are_clipped_counts() -> None:
    corpora = corpora_from_texts({"hypotheses": sentences(40, 1), "references": [*sentences(30, 2), "", "ba ba ba"]})
    pairs = np.random.default_rng(0).integers(-1, 32, size=(40, 5))
    counts = match_pairs(corpora["hypotheses"], corpora["references"], pairs, max_order=3)
    for hypothesis in range(40):
        for column, reference in enumerate(pairs[hypothesis].tolist()):
            for order in range(1, 4):
                own, other = (
                    _ngrams(corpora[name].sentence(number), order)
                    for name, number in (("hypotheses", hypothesis), ("references", max(reference, 0)))
                )
                expected = 0 if reference < 0 else sum((own & other).values())
                assert counts[hypothesis, column, order - 1] == expected


def test_what_it_needs() -> None:
    corpora = corpora_from_texts({"train": TRAIN, "generated": ["a b", "c d"], "nothing": []})
    generated = corpora["generated"]
    with pytest.raises(UnavailableError, match="give --train FILE"):
        memorization(generated, generated)
    with pytest.raises(EmptyCorpusError, match="training text has no sentence"):
        memorization(generated, generated, train=corpora["nothing"])
    with pytest.raises(OptionError, match="another vocabulary"):
        memorization.declaration.with_settings(train=Corpus.from_texts(TRAIN)).estimate(generated, generated)


def test_estimates_are_kept_by_the_training_text() -> None:
    one, two = Corpus.from_texts(["a b"]), Corpus.from_texts(["a c"])
    same = Corpus.from_texts(["a b"])
    first, second, third = (memorization.declaration.with_settings(train=train) for train in (one, two, same))
    assert first.key != second.key
    assert first.key == third.key
    assert first.name == second.name == "memorization"


def test_groups_widen_the_interval() -> None:
    texts = sentences(200, 1)
    copies = np.repeat(np.arange(40) % 2 == 0, 10)
    generated = [text if copy else f"{text} new" for text, copy in zip(texts * 2, copies, strict=True)]
    groups = {"generated": np.repeat(np.arange(40), 10)}
    widths = []
    for given in (None, groups):
        corpora = corpora_from_texts({"train": texts, "generated": generated}, groups=given)
        interval = memorization(corpora["generated"], corpora["generated"], train=corpora["train"]).interval
        assert interval is not None
        widths.append(interval.high - interval.low)
    assert widths[1] > 2 * widths[0]


def test_real_yelp_sentences_stand_in_the_training_text(data_dir: Path) -> None:
    """The data's own description: 13 % of the lines of the test set also stand in the training set."""
    corpora = corpora_from_texts({name: read_texts(data_dir / "yelp" / f"{name}.txt") for name in ("train", "test")})
    estimate = memorization(corpora["test"], corpora["test"], train=corpora["train"])
    train = set(corpora["train"].texts)
    assert estimate.value == np.mean([text in train for text in corpora["test"].texts])
    assert estimate.value == pytest.approx(0.13, abs=0.005)
