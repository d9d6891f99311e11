"""The docstring corpus: many distinct sentences that read like sentences, the same every time, nothing imported."""

import inspect
import json
import subprocess
import sys

import pytest

from textassay.corpus import docstrings

PAGE = """Return the name(s) of what is given.

    The *second* sentence, e.g. this one, spans
    two lines.  It's followed by `another`!  See :class:`~pkg.Thing` and
    ``code`` for more of it.

    >>> Not.a_sentence()
    This Is No Sentence Either.

    - The first item of a list.
    - The second item reads: like this.

    ============  =========
    Header One    Header Two
    ============  =========

    name -- A definition is left out here.
    :param x: A field is left out as well.
    x = f(y) is code and left out.
    Too short.
    """


@pytest.fixture(scope="module")
def elsewhere() -> tuple[list[str], set[str]]:
    """Return the sentences that another process finds, and the modules it has loaded by then."""
    script = "import json, sys, textassay.corpus.docstrings as d; found = d.docstring_sentences();"
    script += "loaded = list(sys.modules); print(json.dumps([found, loaded]))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found, loaded = json.loads(result.stdout)
    return found, set(loaded)


@pytest.fixture(scope="module")
def sentences(elsewhere: tuple[list[str], set[str]]) -> list[str]:
    return elsewhere[0]


def test_there_are_many_and_all_are_distinct(sentences: list[str]) -> None:
    assert len(sentences) > 5000  # distributions may leave out tkinter, idlelib or distutils
    assert len(set(sentences)) == len(sentences)
    assert all(4 <= len(sentence.split(" ")) <= 40 for sentence in sentences)


def test_they_are_tokenised_and_free_of_code(sentences: list[str]) -> None:
    assert all(" ".join(sentence.split()) == sentence for sentence in sentences)
    assert not [sentence for sentence in sentences if any(sign in sentence for sign in (">>>", "``", " = ", "{", "\\"))]
    ended = [sentence for sentence in sentences if sentence.endswith((" .", " !", " ?", "etc."))]
    assert len(ended) > 0.9 * len(sentences)
    assert not [sentence for sentence in sentences if sentence[:1].isspace() or not sentence[0].isalpha()]


def test_words_and_marks_are_parted(sentences: list[str]) -> None:
    glued = [
        sentence
        for sentence in sentences
        if any(token.endswith((",", ";")) for token in sentence.split() if len(token) > 1)
    ]
    assert not glued


def test_they_come_by_module_name(sentences: list[str]) -> None:
    first = next(number for number, sentence in enumerate(sentences) if "Abstract Base Classes" in sentence)
    assert first < len(sentences) // 10  # the modules _collections_abc and abc come early


def test_one_docstring_by_hand() -> None:
    assert list(docstrings._sentences(inspect.cleandoc(PAGE))) == [
        "Return the name ( s ) of what is given .",
        "The second sentence , e.g. this one , spans two lines .",
        "It's followed by another !",
        "See pkg.Thing and code for more of it .",
        "The first item of a list .",
        "The second item reads : like this .",
    ]


def test_a_byte_that_no_text_file_has_is_left_out() -> None:
    assert list(docstrings._sentences("Pad the input with \0 up to four bytes.")) == []


def test_no_documented_module_is_imported(elsewhere: tuple[list[str], set[str]]) -> None:
    loaded = elsewhere[1]
    assert "textassay.corpus.docstrings" in loaded
    assert not loaded & {"antigravity", "cmd", "distutils", "idlelib", "mailbox", "pdb", "this", "tkinter", "turtle"}
