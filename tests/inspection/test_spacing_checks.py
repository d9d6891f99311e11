"""The inspection finds words that no space parts."""

import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.inspection.finding import Finding
from textassay.inspection.inspection import inspect
from unspaced import LATIN, chains, sentences, words

N = 60
ENGLISH = sentences(words(LATIN, 100, 2, 9), " ", N)
CHINESE = chains(N, seed=1)
KINDS = ("unspaced-text", "characters", "word-spacing")


def found(real: list[str], generated: list[str], tokenizer: str) -> list[Finding]:
    corpora: dict[str, Corpus] = corpora_from_texts(
        {"real": real, "generated": generated}, tokenizer=resolve_tokenizer(tokenizer)
    )
    findings = inspect({"g": corpora["generated"]}, corpora["real"])
    return [finding for finding in findings if finding.kind in KINDS]


@pytest.mark.parametrize("tokenizer", ["whitespace", "words", "13a"])
def test_a_tokenizer_that_splits_at_spaces_is_a_warning(tokenizer: str) -> None:
    (finding,) = found(CHINESE, chains(N, seed=2), tokenizer)
    assert (finding.kind, finding.severity, finding.generator) == ("unspaced-text", "warning", "(real)")
    assert (finding.count_real, finding.n_real) == (N, N)
    assert f"{tokenizer} turns whole texts or phrases into single tokens" in finding.message
    assert finding.example_real == CHINESE[0]
    assert "--tokenizer mixed" in finding.remedy


def test_characters_are_a_note() -> None:
    (finding,) = found(CHINESE, chains(N, seed=2), "chars")
    assert (finding.kind, finding.severity, finding.generator) == ("characters", "note", "(real)")
    assert "60 of 60 texts (100.0 %) have no spaces between words: tokens are characters" in finding.message


def test_a_few_unspaced_texts_are_a_note_and_fewer_are_nothing() -> None:
    few = CHINESE[:6] + ENGLISH[6:]
    assert [(one.kind, one.severity, one.count_real) for one in found(few, few[::-1] + ENGLISH[:1], "whitespace")] == [
        ("unspaced-text", "note", 6)
    ]
    assert found(CHINESE[:1] + ENGLISH[1:], ENGLISH, "whitespace") == []


def test_one_token_texts_that_stand_once_are_a_warning_and_labels_are_not() -> None:
    (finding,) = found(words(LATIN, N, 5, 9), words(LATIN, N, 5, 9, seed=1), "whitespace")
    assert "are one token each, and most of these tokens occur only once" in finding.message
    assert found(["yes", "no"] * 30, ["no", "no", "yes"] * 20, "whitespace") == []


@pytest.mark.parametrize("tokenizer", ["whitespace", "chars"])
def test_spaces_on_one_side_only_are_a_warning(tokenizer: str) -> None:
    split = [" ".join(line[at : at + 2] for at in range(0, len(line), 2)) for line in chains(N, seed=2)]
    findings = {finding.kind: finding for finding in found(CHINESE, split, tokenizer)}
    spacing = findings["word-spacing"]
    assert (spacing.severity, spacing.count_generated, spacing.count_real) == ("warning", 0, N)
    assert found(ENGLISH, CHINESE, "whitespace")[0].kind == "word-spacing"


@pytest.mark.parametrize("tokenizer", ["whitespace", "chars"])
def test_spaced_text_has_nothing_of_it(tokenizer: str) -> None:
    assert found(ENGLISH, ENGLISH[::-1], tokenizer) == []
