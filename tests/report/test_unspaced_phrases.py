"""Phrases of scripts without spaces are written, and marked in texts, as the language writes them."""

import pytest

from textassay.comparison.digest import phrase_of
from textassay.report.document import Document, Section, TextEntry, Texts
from textassay.report.page import to_html


def test_a_phrase_is_written_without_spaces_between_letters() -> None:
    assert phrase_of("<sos> 我 们 在") == "我们在"
    assert phrase_of("กิ น the end <eos>") == "กิน the end"


@pytest.mark.parametrize(
    ("text", "phrase", "marked"),
    [
        ("今天我们在家", "我们", "今天<mark>我们</mark>在家"),
        ("ไปกินข้าว", "กิน", "ไป<mark>กิน</mark>ข้าว"),
        ("then the end", "the", "then <mark>the</mark> end"),
    ],
)
def test_a_phrase_is_marked_inside_words_where_the_script_has_no_spaces(text: str, phrase: str, marked: str) -> None:
    entry = TextEntry(text=text, score=0.5, group="a")
    texts = Texts("texts", (entry,), (phrase,), score="s")
    page = to_html(Document("t", ("a",), sections=(Section("s", (texts,)),), version="0"))
    assert marked in page
