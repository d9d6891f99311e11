"""The coverage list: print the ids of `features.txt` that no test proves.

A test proves an id where it carries ``@pytest.mark.feature("ID")``. The tests are parsed, not run, so this needs
nothing but Python.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def listed_features(path: Path = TESTS / "features.txt") -> dict[str, str]:
    """Return id to short name, in the order of the list."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return dict(line.split(" ", 1) for line in lines)


def marked_features(folder: Path = TESTS) -> dict[str, list[str]]:
    """Return id to the files of the tests that carry it."""
    marked: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name in _marks(ast.parse(text)) if "mark.feature(" in text else ():
            marked.setdefault(name, []).append(str(path.relative_to(folder)))
    return marked


def _marks(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if ast.unparse(node.func) == "pytest.mark.feature":
            yield from (str(argument.value) for argument in node.args if isinstance(argument, ast.Constant))


def main() -> None:
    """Print each id without a test and its name; say on standard error how many there are."""
    listed, marked = listed_features(), marked_features()
    missing = [name for name in listed if name not in marked]
    for name in missing:
        print(name, listed[name])
    print(f"{len(missing)} of {len(listed)} have no test", file=sys.stderr)


if __name__ == "__main__":
    main()
