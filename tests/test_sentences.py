"""Every sentence that the program can print: short, and in the words of the field."""

import re
from pathlib import Path

import pytest

from sentences import Sentence, all_sentences, code_strings, split

MOST_WORDS = 25
AVOIDED = {  # a pattern: what to write instead
    r"cannot go together": "cannot be combined",
    r"stands? in (the|a) (real|training|held-out)": "occurs in",
    r"(told|tells?) (real|generated) from|(be|is|are|not|barely) told from": "separate, distinguish",
    r"cannot be told|can be told": "inconclusive, can be distinguished",
    r"holds? (no|neither|the same)|holds? a lone": "contains",
    r"goes on from there|the same command goes on": "resumes",
    r"says? (nothing|little|which|who|what|how)": "shows, names, is of little use",
    r"knows? (no|nothing|how)|nobody knows": "has no, is unknown",
    r"by luck|of luck|be luck|luck may|is luck": "chance",
    r"takes? (\w+ )?for quality": "mistakes for quality",
    r"begun with|to begin anew": "started with, to start again",
    r"gives? nothing|gave (no|nothing)|of its own accord": "returned no",
    r"by heart|piles? up|put together|on top of": "memorised, accumulate, structure",
    r"a sentence a line|one a line|a prompt a line": "one per line",
    r"rather the contrary": "but the opposite",
    r"thereof|therein|wherein|whereof|hitherto": "plain words",
}


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return all_sentences()


def test_sentences_have_at_most_25_words(sentences: list[Sentence]) -> None:
    assert len(sentences) > 2000
    assert [one for one in sentences if one.n_words > MOST_WORDS] == []


@pytest.mark.parametrize("words", AVOIDED, ids=AVOIDED.get)
def test_words_of_no_field_are_avoided(sentences: list[Sentence], words: str) -> None:
    found = re.compile(rf"\b({words})\b")
    assert [one for one in sentences if found.search(one.text)] == []


def test_strings_become_sentences() -> None:
    code = (
        'def f(n):\n    """No docstring is printed by a program."""\n'
        '    raise E(f"{n:,} texts are too few: "\n            "give more. Or use fewer folds here.")\n'
        '    re.compile("one two three four five")\n'
        'class C:\n    """Help of a command is printed."""\n    def run(self): pass\n'
    )
    found = sorted((line, text) for line, string in code_strings(code) for text in split(string))
    assert found == [
        (3, "Or use fewer folds here."),
        (3, "{} texts are too few: give more."),
        (6, "Help of a command is printed."),
    ]


def test_a_long_sentence_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f'x = "{"word " * 26}"\ny = "{"word " * 25}"\n')
    assert [one.n_words for one in all_sentences(tmp_path)] == [26, 25]


def test_pages_and_data_files_are_read(sentences: list[Sentence]) -> None:
    assert {one.file.rpartition(".")[2] for one in sentences} == {"js", "py", "yaml", "j2"}
