"""A corpus that comes with every Python: the sentences in the docstrings of the standard library.

Source files are parsed, never imported. Only prose is kept: no tests, doctests, signatures, tables, indented code,
field lists or markup. As in the corpora of the literature, single spaces separate words and punctuation marks.
"""

import ast
import os
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

_SKIPPED_FOLDERS = {
    "dist-packages",
    "idle_test",
    "lib2to3",
    "pydoc_data",
    "site-packages",
    "test",
    "tests",
    "turtledemo",
}
_MIN_TOKENS, _MAX_TOKENS = 4, 40
_MIN_WORD_SHARE = 0.65  # of the tokens; with fewer words it is code or a table
_MIN_WORD_SHARE_LOWER = 0.8  # the same for a sentence that begins in lower case
_BULLET = re.compile(r"(?:[-*+\u2022]|--|o|\(?[0-9a-zA-Z]{1,2}[.)])\s+")
_DOCTEST = re.compile(r">>>|\.\.\.(?:\s|$)")
_NO_PROSE = re.compile(r"^\S+ (?:-|--|:) | :$|[][{}<>=*|@$#^~`\\\x00-\x1f]")  # an entry of a list of definitions; code
_MARKUP = (
    (re.compile(r"^\s*(?:Args|Example|Internal|NOTE|Note|Raises|Returns|See|Warning)\s*:+\s+"), ""),
    (re.compile(r":[\w:+-]+:`[~!]?([^`<]*?)(?:\s*<[^`>]*>)?`"), r"\1"),  # :class:`Name`
    (re.compile(r"``([^`]*)``|`([^`']*)[`']_{0,2}"), r"\1\2"),  # ``code``, `name` and `name'
    (re.compile(r"(?<![\w*])\*{1,2}([A-Za-z_][\w ]*)\*{1,2}(?![\w*])"), r"\1"),  # *name*, **word**
    (re.compile(r"(?<![\w'])'([\w.]+(?:\(\))?)'(?![\w'])"), r"\1"),  # 'name'
    (re.compile(r"\s+-{1,3}\s+"), " - "),
    (re.compile(r"\s+"), " "),
)
_ABBREVIATIONS = "".join(
    rf"(?<!\b{name}\.)" for name in ("e\\.g", "i\\.e", "etc", "vs", "cf", "resp", "[A-Z]", "No", "Sec")
)
_SENTENCE_END = re.compile(rf"(?<=[.!?]){_ABBREVIATIONS}(?<!\.\.)\s+(?=[\"'(]?[A-Z])")
_TOKEN = re.compile(r"(?:e\.g|i\.e|etc|vs|cf|resp)\.(?!\w)|\w+(?:[.'/-]\w+)*(?:\(\))?|\.\.\.|--|[^\w\s]")
_WORD = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*")
_ENDS = (".", "!", "?")


def docstring_sentences() -> list[str]:
    """Return the distinct sentences in the docstrings of the standard library, by module name, then by position."""
    root = Path(sysconfig.get_path("stdlib"))
    sentences: dict[str, None] = {}
    for path in sorted(_source_files(root), key=lambda path: path.relative_to(root).with_suffix("").parts):
        for docstring in _docstrings(_parsed(path)):
            sentences.update(dict.fromkeys(_sentences(docstring)))
    return list(sentences)


def _source_files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS]
        for name in files:
            if name.endswith(".py") and not name.startswith("_sysconfigdata"):
                yield Path(folder, name)


def _parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a source file, an empty one if it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return ast.Module([], [])


def _docstrings(node: ast.AST) -> Iterator[str]:
    """Yield the docstrings at and below `node`, a module or statement, in order."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield ast.get_docstring(node) or ""
    for part in ("body", "handlers", "orelse", "finalbody"):
        statements = getattr(node, part, ())
        for statement in statements if isinstance(statements, list) else ():
            yield from _docstrings(statement)


def _sentences(docstring: str) -> Iterator[str]:
    for number, paragraph in enumerate(_paragraphs(docstring)):
        text = paragraph
        for pattern, replacement in _MARKUP:
            text = pattern.sub(replacement, text)
        for sentence in _SENTENCE_END.split(text.strip()):
            tokens = _TOKEN.findall(sentence)
            if _is_sentence(tokens, is_summary=number == 0):
                yield " ".join(tokens)


def _paragraphs(docstring: str) -> Iterator[str]:
    """Yield each paragraph and each list item on one line, without doctests."""
    for block in re.split(r"\n\s*\n", docstring):
        if _DOCTEST.search(block):
            continue
        text: list[str] = []
        for line in map(str.strip, block.splitlines()):
            bullet = _BULLET.match(line)
            if bullet and text:
                yield " ".join(text)
                text = []
            text.append(line[bullet.end() :] if bullet else line)
        yield " ".join(text)


def _is_sentence(tokens: list[str], *, is_summary: bool) -> bool:
    """Return whether `tokens` look like a sentence by length, start, end and share of words."""
    if (
        not _MIN_TOKENS <= len(tokens) <= _MAX_TOKENS
        or not tokens[0][0].isalpha()
        or _NO_PROSE.search(" ".join(tokens))
    ):
        return False
    if not tokens[-1].endswith(_ENDS) and not (is_summary and tokens[-1].isalpha()):
        return False
    n_words = sum(_WORD.fullmatch(token) is not None for token in tokens)
    return n_words >= (_MIN_WORD_SHARE if tokens[0][0].isupper() else _MIN_WORD_SHARE_LOWER) * len(tokens)
