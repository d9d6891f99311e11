"""Columns of documents: against plain Python, and what the stack finds with them."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.structure import STRUCTURES, TextUnit
from textassay.discriminator.base import Part, Pool
from textassay.discriminator.catalog import make_discriminator
from textassay.discriminator.stack import StackDiscriminator
from textassay.discriminator.structure import COLUMN, edges, repeated_shares, sentence_lengths, with_structure
from textassay.estimate import Estimate
from textassay.metric.discrepancy import dd
from textassay.seeding import stream

_UNITS: tuple[TextUnit | None, ...] = (None, "sentence")


def words(n: int, *path: str | int, types: int = 40) -> list[str]:
    rng = stream(0, "documents of tests", *path)
    return [f"w{number}" + ("." if number % 7 == 0 else "") for number in rng.integers(0, types, n).tolist()]


@pytest.fixture(scope="module")
def texts() -> list[list[str]]:
    return [words(n, n, types=types) for n, types in ((0, 9), (1, 9), (2, 9), (5, 3), (64, 8), (201, 30), (200, 900))]


@pytest.fixture(scope="module")
def corpus(texts: list[list[str]]) -> Corpus:
    return Corpus.from_texts([" ".join(text) for text in texts], tokenizer="whitespace")


def test_repetition_is_that_of_plain_python(texts: list[list[str]], corpus: Corpus) -> None:
    """N-grams that lie in one half alone."""
    for column, order in enumerate((1, 3)):
        expected = []
        for text in texts:
            halves = text[: len(text) // 2], text[len(text) // 2 :]
            grams = [[tuple(half[i : i + order]) for i in range(len(half) - order + 1)] for half in halves]
            known = set(grams[0])
            expected.append(sum(gram in known for gram in grams[1]) / max(1, len(grams[1])))
        assert repeated_shares(corpus)[:, column] == pytest.approx(expected)


def test_sentence_lengths_and_quarters_are_those_of_plain_python(texts: list[list[str]], corpus: Corpus) -> None:
    """The rest of a text after its last full stop is a sentence, too."""
    lengths, quarters = [], []
    for text in texts:
        ends = sorted({0, *(place + 1 for place, word in enumerate(text) if word.endswith(".")), len(text)})
        sizes = [last - first for first, last in pairwise(ends)] or [0]
        lengths.append((np.mean(sizes), np.std(sizes)))
        distinct, entropies = [], []
        for quarter in range(4):
            part = text[len(text) * quarter // 4 : len(text) * (quarter + 1) // 4]
            distinct.append(len(set(part)) / max(1, len(part)))
            shares = [count / len(part) for count in Counter(part).values()]
            entropies.append(-sum(share * math.log(share) for share in shares) / math.log(max(2, len(part))))
        quarters.append([*distinct, *entropies])
    assert sentence_lengths(corpus) == pytest.approx(np.array(lengths))
    columns = with_structure(corpus).columns[COLUMN]
    assert columns[:, -10:-2] == pytest.approx(np.array(quarters), abs=1e-12)
    assert np.isfinite(columns).all()
    assert columns.shape == (len(texts), 2 * len(STRUCTURES) + 2 + 12)


def test_edges_are_the_first_and_last_tokens(texts: list[list[str]], corpus: Corpus) -> None:
    """Of a short text all, once."""
    for number, text in enumerate(texts):
        assert edges(corpus).sentence(number) == (text if len(text) <= 6 else text[:3] + text[-3:])


@pytest.fixture(scope="module")
def sides() -> dict[str, list[str]]:
    """Texts of the same words in lines: three quarters of the generated ones have blank lines."""
    made: dict[str, list[str]] = {"real": [], "generated": []}
    for side, texts in made.items():
        for number in range(80):
            text = words(60, side, number, types=500)
            joint = "\n\n" if side == "generated" and number % 4 else "\n"
            texts.append(joint.join(" ".join(text[first : first + 12]) for first in range(0, 60, 12)))
    return made


def test_the_stack_finds_what_only_structure_tells(sides: dict[str, list[str]]) -> None:
    """As documents, recognised by their line breaks, and not as sentences."""
    corpora = corpora_from_texts(sides, tokenizer="whitespace")
    by_unit: dict[TextUnit | None, Estimate] = {
        unit: dd(corpora["generated"], corpora["real"], effort="quick", unit=unit) for unit in _UNITS
    }
    assert by_unit[None].value > 0.4 > 0.25 > by_unit["sentence"].value
    assert "unit:document" in str(by_unit[None].signature)
    assert "unit" not in str(by_unit["sentence"].signature)


def test_a_fitted_stack_describes_new_documents_as_those_of_its_pool(sides: dict[str, list[str]]) -> None:
    """`fit` and `fit_part` of the same documents agree."""
    corpora = corpora_from_texts(sides, tokenizer="whitespace")
    pool = Pool(with_structure(corpora["real"]), with_structure(corpora["generated"]))
    rows = np.arange(80)
    train, valid, test = (Part(pool, (part, part)) for part in (rows[:50], rows[50:65], rows[65:]))
    judge = make_discriminator("stack-documents")
    assert isinstance(judge, StackDiscriminator)
    of_pool = judge.fit_part(train, valid).prob_real_of(test)
    alone = judge.fit(train.corpora, valid.corpora)
    for side, scores in zip(test.corpora, of_pool, strict=True):
        assert alone.prob_real(side) == pytest.approx(scores, abs=1e-6)


@pytest.mark.slow
def test_equal_documents_have_intervals_that_hold_zero() -> None:
    """In about 95 of 100 splits of documents with structure of one kind; three standard errors of 400 splits less."""
    held = 0
    for split in range(400):
        rng = stream(split, "equal documents")
        texts = []
        for number in range(200):
            joints = ("\n- ", "\n\n", " ", "\n## ")
            text = words(120, split, number, types=300)
            parts = [" ".join(text[first : first + 20]) for first in range(0, 120, 20)]
            texts.append("".join(part + joints[rng.integers(0, 4)] for part in parts).strip())
        corpora = corpora_from_texts({"real": texts[:100], "generated": texts[100:]}, tokenizer="whitespace")
        interval = dd(corpora["generated"], corpora["real"], effort="quick", seed=split, unit="document").interval
        assert interval is not None
        held += interval.low <= 0 <= interval.high
    assert held >= 367
