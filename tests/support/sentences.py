"""List every sentence that the program can print: `python tests/support/sentences.py` prints `file:line  sentence`.

Sentences are strings of at least four words: of the code, of the data files of the papers, of the pages' templates and
of their scripts. Docstrings count only where they are the help of a command. Values that are filled in stand as ``{}``.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml
from jinja2 import Environment

SOURCE = Path(__file__).resolve().parents[2] / "src"

FEWEST_WORDS = 4
_WORD = re.compile(r"\{\}[\w'-]*|[^\W\d_][\w'-]*")
_OTHER_LANGUAGES = re.compile(
    r"\(\?[:!=<P]|\\[bdswWSDr({\[]|\[\^|^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|PRAGMA)\b|^\s*<|[{;]\s*\n|=\"|'>"
    r"|\", [^\"]*\b(19|20)\d\d\b|^\s*Parameters\s*\n\s*-"
)  # regular expressions, SQL, HTML, CSS, LaTeX, the titles of papers, sections of docstrings
_END = re.compile(r"(?<=[.?!])[\"')]*\s+|\n\s*\n")
_TAGS = re.compile(r"</?(?:a|b|i|em|strong|code|kbd|span|abbr)\b[^>]*>")
_QUOTED = re.compile(r'"([^"\n]*)"|`([^`]*)`')
_BLOCKS = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.DOTALL)


class Sentence(NamedTuple):
    """A sentence and where it stands."""

    file: str
    line: int
    text: str

    @property
    def n_words(self) -> int:
        return len(_WORD.findall(self.text))


def all_sentences(root: Path = SOURCE) -> list[Sentence]:
    """Return each distinct sentence once, where it stands first, in the order of files and lines."""
    readers = {".py": code_strings, ".yaml": _yaml_strings, ".j2": _template_strings, ".js": _script_strings}
    first: dict[str, Sentence] = {}
    for path in sorted(root.rglob("*")):
        reader = readers.get(path.suffix)
        for line, string in sorted(reader(path.read_text(encoding="utf-8"))) if reader is not None else ():
            for text in split(string):
                first.setdefault(text, Sentence(str(path.relative_to(root)), line, text))
    return list(first.values())


def split(string: str) -> Iterator[str]:
    """Return the sentences of a string that have enough words; none where it is not plain text."""
    if string.count(" ") < FEWEST_WORDS - 1 or _OTHER_LANGUAGES.search(string):
        return
    for part in _END.split(string):
        text = " ".join(part.split())
        if len(_WORD.findall(text)) >= FEWEST_WORDS:
            yield text


def code_strings(code: str) -> Iterator[tuple[int, str]]:
    """Return line and text of each string in `code` that is not a docstring; of the docstrings the help of commands."""
    nodes: list[ast.AST] = [ast.parse(code)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values),
            )
            nodes += [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        elif isinstance(node, ast.Call) and _is_of_regular_expressions(node):
            nodes += node.args[1:]
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            if isinstance(node, ast.ClassDef) and _is_command(node):
                yield node.lineno, ast.get_docstring(node) or ""
            nodes += ast.iter_child_nodes(node)


def _is_of_regular_expressions(call: ast.Call) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"


def _is_command(node: ast.ClassDef) -> bool:
    return any(isinstance(part, ast.FunctionDef) and part.name == "run" for part in node.body)


def _yaml_strings(document: str) -> Iterator[tuple[int, str]]:
    for event in yaml.parse(document, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.ScalarEvent) and event.start_mark is not None:
            for line in event.value.split("\n") if " | " in event.value else [event.value]:
                if " | " not in line:
                    yield event.start_mark.line + 1, line


def _script_strings(source: str) -> Iterator[tuple[int, str]]:
    for found in _QUOTED.finditer(source):
        text = re.sub(r"\$\{[^}]*\}", "{}", found[1] or found[2] or "")
        yield source.count("\n", 0, found.start()) + 1, text


def _template_strings(template: str) -> Iterator[tuple[int, str]]:
    """Return the text of a page between its tags, where what is filled in stands as ``{}``."""
    text = ""
    for _, kind, value in Environment(keep_trailing_newline=True).lex(template):
        text += "{}" if kind == "variable_begin" else value if kind == "data" else ""
    for part in _BLOCKS.split(_TAGS.sub("", text)):
        yield template[: template.find(part.strip()[:20])].count("\n") + 1, part


def main() -> None:
    for sentence in all_sentences():
        print(f"{sentence.file}:{sentence.line}  {sentence.text}")


if __name__ == "__main__":
    main()
