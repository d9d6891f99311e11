"""Tokenisers: from a text to its tokens.

Source of ``13a``: the rules of NIST's mteval-v13a.pl, used by the WMT shared tasks; equal to sacreBLEU's tokeniser of
that name.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from textassay.corpus.spacing import AUTO
from textassay.errors import OptionError, unknown_name

Tokenizer = Callable[[str], Sequence[str]]

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))  # in this order: &amp;lt; ends as <
_RULES_13A = (
    (re.compile(r"([!-&(-+/:-@\[-`{-~])"), r" \1 "),  # all ASCII punctuation but ' , - .
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def tokenize_words(text: str) -> list[str]:
    """Return words and single punctuation marks.

    A word is a run of letters, digits, underscores and combining marks, with apostrophes and hyphens inside it
    (``don't``, ``well-known``), or one of the four special tokens (``<unk>``).
    """
    return _space_words([text])[0].split()


def tokenize_13a(text: str) -> list[str]:
    """Return the tokens of mteval-v13a: ASCII punctuation is split off, but not ``.`` and ``,`` between digits."""
    return _space_13a([text])[0].split()


def _space_words(texts: Sequence[str]) -> list[str]:
    """Return `texts` with spaces between the tokens of each."""
    joined = "\n".join([text.replace("\n", " ") for text in texts])
    has_marks = not joined.isascii() and any(map(_is_mark, set(joined)))
    return _punctuation(has_marks).sub(r" \g<0> ", joined).split("\n")


def _is_mark(character: str) -> bool:
    """Return whether a character continues a word without being a letter: a combining mark or a joiner."""
    return unicodedata.category(character).startswith("M") or character in "\u200c\u200d"


@cache
def _punctuation(has_marks: bool) -> re.Pattern[str]:
    r"""Return the pattern of a special token or of a punctuation mark outside words.

    Python's `\w` excludes combining marks, so decomposed accents and Indic vowel signs would break words. The pattern
    with them is slow and used only if there are any.
    """
    marks = "".join(filter(_is_mark, map(chr, range(sys.maxunicode + 1)))) if has_marks else ""
    letter = rf"[\w{marks}]"
    special, inside = r"(?<=<)(?:pad|eos|sos|unk)>", r"['\u2019-]"
    return re.compile(rf"[^\w\s{marks}](?:{special}|(?<!{letter}{inside})|(?!{letter}))")


def _space_13a(texts: Sequence[str]) -> list[str]:
    """Return `texts` with spaces between the tokens of each and, as in mteval, at both ends."""
    lines = [text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ") for text in texts]
    joined = " " + " \n ".join(lines) + " "
    for entity, character in _ENTITIES:
        joined = joined.replace(entity, character)
    for pattern, replacement in _RULES_13A:
        joined = pattern.sub(replacement, joined)
    return joined.split("\n")


TOKENIZERS: dict[str, Tokenizer] = {
    "13a": tokenize_13a,
    "chars": list,
    "whitespace": str.split,
    "words": tokenize_words,
}
# the same tokenisers for many texts at once; the result is split at white space
SPACERS: dict[Tokenizer, Callable[[Sequence[str]], list[str]]] = {
    tokenize_13a: _space_13a,
    tokenize_words: _space_words,
}


@runtime_checkable
class SubwordTokenizer(Protocol):
    """A tokeniser with a fixed list of tokens, which encodes many texts at once."""

    @property
    def name(self) -> str:
        """The name in signatures; ``bpe-...`` if tokens are written in `BYTE_LETTERS`."""
        ...

    @property
    def types(self) -> Sequence[str]:
        """All tokens, in the order of their ids."""
        ...

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one text."""
        ...

    def encode(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the ids of all tokens, shape (T,), and the number of tokens of each text, shape (N,)."""
        ...


def _byte_letters() -> tuple[str, ...]:
    """Return a printable character for each byte: the byte itself if printable, else the next from U+0100 on."""
    itself = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)) - set(itself))
    letters = {byte: chr(byte) for byte in itself} | {byte: chr(0x100 + rank) for rank, byte in enumerate(others)}
    return tuple(letters[byte] for byte in range(256))


# Printable letters for bytes (a space is Ġ). Source: the code of Radford et al., "Language Models are Unsupervised
# Multitask Learners", 2019.
BYTE_LETTERS = _byte_letters()
_BYTES = {letter: bytes([byte]) for byte, letter in enumerate(BYTE_LETTERS)}
_TO_LATIN = {ord(letter): byte for byte, letter in enumerate(BYTE_LETTERS)}


def join_tokens(tokenizer: str, tokens: Sequence[str]) -> str:
    """Return the text of some tokens: words joined by spaces, characters by nothing, byte tokens decoded.

    Bytes that are not UTF-8, which only a model can sample, become U+FFFD.
    """
    name = tokenizer.split("+")[0]
    if name.startswith("bpe-"):
        letters = "".join(tokens)
        try:
            data = letters.translate(_TO_LATIN).encode("latin-1")
        except UnicodeEncodeError:  # a special token of some pretrained model
            data = b"".join(_BYTES.get(letter) or letter.encode() for letter in letters)
        return data.decode("utf-8", "replace")
    if name.startswith("hf-"):
        raise OptionError(f"tokens of {name} can be joined only by the pretrained model of this tokenizer")
    return ("" if name == "chars" else " ").join(tokens)


@dataclass(frozen=True)
class NamedTokenizer:
    """A tokeniser with its name in signatures."""

    name: str
    function: Tokenizer
    lowercase: bool

    def __call__(self, text: str) -> Sequence[str]:
        """Return the tokens of one text."""
        return self.function(text.lower() if self.lowercase else text)


def resolve_tokenizer(tokenizer: str | Tokenizer, *, lowercase: bool = False) -> NamedTokenizer:
    """Return a tokeniser, given by its name in `TOKENIZERS` or as a callable, with its name in signatures.

    That is the callable's qualified name, ``<lambda>`` for a lambda, or the `name` of a `SubwordTokenizer`.
    """
    if isinstance(tokenizer, NamedTokenizer):
        lower = lowercase and not tokenizer.lowercase
        return NamedTokenizer(f"{tokenizer.name}+lower", tokenizer.function, True) if lower else tokenizer
    if callable(tokenizer):
        name, function = _name(tokenizer), tokenizer
    elif tokenizer in TOKENIZERS:
        name, function = tokenizer, TOKENIZERS[tokenizer]
    else:
        raise unknown_name("tokenizer", tokenizer, TOKENIZERS)
    return NamedTokenizer(f"{name}+lower" if lowercase else name, function, lowercase)


def check_tokenizer(name: str) -> None:
    """Raise an OptionError unless `name` is ``auto`` or in `TOKENIZERS`."""
    if name != AUTO and name not in TOKENIZERS:
        raise unknown_name("tokenizer", name, (AUTO, *TOKENIZERS))


def _name(function: Tokenizer) -> str:
    """Return the name of a subword tokeniser, or the qualified name of a callable."""
    if isinstance(function, SubwordTokenizer):
        return function.name
    if getattr(function, "__name__", "") == "<lambda>":
        return "<lambda>"
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return name if module in (None, "builtins", "__main__") else f"{module}.{name}"
