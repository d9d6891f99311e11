"""The structure of documents: whether texts are documents at all, and the lines, lists and headings of each.

A tokeniser drops line breaks, so all this is read from the texts as they are. What Markdown means is not parsed: a line
is an item of a list, a heading or a row of a table by how it begins.
"""

import re
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.packed_texts import PackedTexts
from textassay.errors import OptionError, unknown_name

IntArray = npt.NDArray[np.int64]
TextUnit = Literal["sentence", "document"]
TextKind = Literal["sentence", "raw sentence", "document"]

AUTO_UNIT = "auto"
UNITS = (AUTO_UNIT, *get_args(TextUnit))
_BROKEN_SHARE = 0.2  # of the texts: so many have a line break inside
_LONG = 1000  # characters of the median text
_RAW_SHARE = 0.2  # of the texts: so many have a mark at the end of a word; under .004 of tokenised text, .97 of raw
# By its mark first: a text has fewer marks than letters
_MARK_AT_WORD = re.compile(r"(?:[,;:](?=\s)|[.!?](?=[\"')\u201d\u2019]*\s*\Z))(?<=[^\W\d_].)")

# What is counted in each text, by name; lines are those with something in them
STRUCTURES = (
    "lines",
    "paragraphs",
    "bulleted items",
    "numbered items",
    "headings",
    "code blocks",
    "table rows",
    "quoted lines",
    "indented lines",
    "lines that end in a colon",
    "repeated lines",
    "bold phrases",
    "links",
    "code in lines",
    "emoji",
    "exclamation marks",
    "question marks",
)
_PLACES = {name: place for place, name in enumerate(STRUCTURES)}
_BULLETS = frozenset("-*+\u2022\u2013\u25cf\u25aa")
_NUMBERED = re.compile(r"\d{1,3}[.)]\s")
_HEADING = re.compile(r"#{1,6}\s|(=+) .* \1\s*$")
_UNDERLINE = re.compile(r"(=|-|~){3,}\s*$")
_EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_FENCES = ("```", "~~~")


def check_unit(unit: str) -> None:
    if unit not in UNITS:
        raise unknown_name("unit", unit, UNITS)


def unit_of(corpus: Corpus, unit: str | None = None) -> TextUnit:
    """Return whether the texts are documents: as `unit` says, or as they look, where it is None or ``auto``.

    They look so where a fifth of them have a line break inside, or half have 1,000 characters. Of texts that were cut
    after some tokens, line breaks are lost: they count as sentences.
    """
    check_unit(unit or AUTO_UNIT)
    if unit == "document" and is_cut(corpus):
        raise OptionError("unit document needs line breaks, which max_tokens removes: leave one of them out")
    if unit in get_args(TextUnit):
        return "document" if unit == "document" else "sentence"
    return "document" if not is_cut(corpus) and look_like_documents(corpus.texts) else "sentence"


def text_kind(corpus: Corpus, unit: TextUnit) -> TextKind:
    """Return what texts of a unit are: of sentences, whether marks stick to words, as in text that no tool tokenised.

    They do where a fifth of the texts have a comma, colon or semicolon after a letter, or end in a letter and a mark.
    """
    if unit == "document":
        return "document"
    n_raw = sum(_MARK_AT_WORD.search(text) is not None for text in corpus.texts)
    return "raw sentence" if n_raw >= _RAW_SHARE * max(len(corpus), 1) else "sentence"


def is_cut(corpus: Corpus) -> bool:
    """Return whether texts were cut after some tokens."""
    return "+max-tokens=" in corpus.tokenizer


def look_like_documents(texts: Sequence[str]) -> bool:
    """Return whether enough of `texts` have line breaks inside, or are long."""
    packed = PackedTexts.of(texts)
    if len(packed) == 0:
        return False
    if int(np.median(packed.lengths)) >= _LONG and np.median(packed.n_characters) >= _LONG:
        return True
    n_broken = 0
    for block in packed.blocks():
        places = np.flatnonzero(block.data == ord("\n"))
        for number in np.unique(np.searchsorted(block.stops, places, side="right")).tolist():
            n_broken += "\n" in block[number].strip()
    return n_broken >= _BROKEN_SHARE * len(packed)


def count_structures(texts: Sequence[str]) -> IntArray:
    """Return how often each of `STRUCTURES` is in each text, shape (N, len(STRUCTURES))."""
    counts = np.zeros((len(texts), len(STRUCTURES)), dtype=np.int64)
    for number, text in enumerate(texts):
        for name, count in _counts(text).items():
            counts[number, _PLACES[name]] = count
    return counts


def _counts(text: str) -> dict[str, int]:
    found = dict.fromkeys(STRUCTURES, 0)
    lines: set[str] = set()
    after_blank, inside_code, before = True, False, ""
    for line in text.split("\n"):
        bare = line.strip()
        if not bare:
            after_blank = True
            continue
        found["lines"] += 1
        found["paragraphs"] += after_blank
        found["repeated lines"] += bare in lines
        lines.add(bare)
        if bare.startswith(_FENCES):
            inside_code = not inside_code
            found["code blocks"] += inside_code
        elif not inside_code:
            first = bare[0]
            found["indented lines"] += line.startswith(("    ", "\t"))
            found["lines that end in a colon"] += bare.endswith(":")
            if first in _BULLETS and bare[1:2].isspace():
                found["bulleted items"] += 1
            elif first.isdigit() and _NUMBERED.match(bare):
                found["numbered items"] += 1
            elif first in "#=" and _HEADING.match(bare):
                found["headings"] += 1
            elif first == "|":
                found["table rows"] += 1
            elif first == ">":
                found["quoted lines"] += 1
            elif before and not after_blank and first in "=-~" and _UNDERLINE.match(bare):
                found["headings"] += 1
        after_blank, before = False, bare
    found["bold phrases"] = (text.count("**") + text.count("__")) // 2
    found["links"] = text.count("](") + text.count("://")
    found["code in lines"] = max(0, text.count("`") - 3 * text.count("```")) // 2
    found["emoji"] = 0 if text.isascii() else len(_EMOJI.findall(text))
    found["exclamation marks"] = text.count("!")
    found["question marks"] = text.count("?")
    return found
