"""Structure of documents: what is counted, and which texts are documents."""

import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.structure import STRUCTURES, check_unit, count_structures, text_kind, unit_of
from textassay.errors import OptionError

DOCUMENT = """\
# Title

Certainly! Here is **a list**, see [this](https://example.org):

- one `item`
* two
1. first
2) second

Setext
======

= Wiki heading =
> quoted
| a | b |
    indented
```python
- no item, but code:
```
- one `item` \U0001f600
What else?
"""
COUNTED = {
    "lines": 17,
    "paragraphs": 5,
    "bulleted items": 3,
    "numbered items": 2,
    "headings": 3,
    "code blocks": 1,
    "table rows": 1,
    "quoted lines": 1,
    "indented lines": 1,
    "lines that end in a colon": 1,
    "repeated lines": 0,
    "bold phrases": 1,
    "links": 2,
    "code in lines": 2,
    "emoji": 1,
    "exclamation marks": 1,
    "question marks": 1,
}


def test_counts_of_a_document_worked_out_by_hand() -> None:
    """Lines inside a block of code are no items, and white space around a text counts nothing."""
    counts = count_structures([DOCUMENT, "\n\n" + DOCUMENT, "", "- a\n- a\n\n- b"])
    assert dict(zip(STRUCTURES, counts[0].tolist(), strict=True)) == COUNTED
    assert counts[1].tolist() == counts[0].tolist()
    assert not counts[2].any()
    last = dict(zip(STRUCTURES, counts[3].tolist(), strict=True))
    assert (last["lines"], last["paragraphs"], last["bulleted items"], last["repeated lines"]) == (3, 2, 3, 1)


@pytest.mark.parametrize(
    ("texts", "unit"),
    [
        (["a b c"] * 9, "sentence"),
        (["a b c\n", " a b c"] * 9, "sentence"),  # a break at the end is none inside
        (["a b\nc"] * 2 + ["a b c"] * 8, "document"),
        (["a b\nc"] + ["a b c"] * 8, "sentence"),
        (["word " * 200] * 5, "document"),
        (["word " * 200] * 2 + ["a"] * 3, "sentence"),
        (["\u00e4" * 600] * 5, "sentence"),  # characters, not bytes
    ],
)
def test_documents_are_recognised(texts: list[str], unit: str) -> None:
    """By line breaks inside a fifth of the texts, or by 1,000 characters of half of them."""
    corpus = Corpus.from_texts(texts, tokenizer="whitespace")
    assert unit_of(corpus) == unit_of(corpus, "auto") == unit
    assert [unit_of(corpus, each) for each in ("sentence", "document")] == ["sentence", "document"]


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("It rains.", True),
        ("Does it rain?  ", True),
        ('"It rains!"', True),
        ("rain, then sun", True),
        ("It rains .", False),
        ("Mr. Smith of the U.S. saw rain , then sun .", False),
        ("it rains", False),
        ("\u4e0b\u96e8\u3002", False),
    ],
)
def test_raw_sentences_have_marks_that_stick_to_words(text: str, raw: bool) -> None:
    for n, there in ((1, raw), (5, raw), (6, False)):
        corpus = Corpus.from_texts([text, *["it rains"] * (n - 1)])
        assert (text_kind(corpus, "sentence") == "raw sentence") == there
    assert text_kind(Corpus.from_texts([text]), "document") == "document"


def test_units_that_cannot_be() -> None:
    """An unknown unit, and documents whose line breaks were lost."""
    with pytest.raises(OptionError, match="unknown unit 'page'; valid: auto, document, sentence"):
        check_unit("page")
    from textassay.corpus.corpus import truncate

    cut = truncate(Corpus.from_texts(["a b\nc d\ne"] * 3, tokenizer="whitespace"), 3)
    assert unit_of(cut) == "sentence"
    with pytest.raises(OptionError, match="max_tokens"):
        unit_of(cut, "document")
