"""The rooms of the package: who may import whom, and what every module must have. `docs/architecture.md` says why."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from coverage_list import listed_features, marked_features

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCE = REPOSITORY / "src"
CORE, LABORATORY = PACKAGES = ("textassay", "textassay_lab")
VAGUE = {"utils", "util", "helpers", "helper", "misc", "common", "tools"}
# What a distribution is imported as, where that differs from its name.
IMPORTED_AS = {
    "huggingface-hub": "huggingface_hub",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "sentence-transformers": "sentence_transformers",
    "xgboost-cpu": "xgboost",
}

LOADED_BY = {"textassay.testing.plugin": "pytest"}  # which is there then

MODULES = sorted(path for package in PACKAGES for path in (SOURCE / package).rglob("*.py"))


@dataclass(frozen=True)
class Module:
    """What the tests ask of a module."""

    docstring: str | None
    imports: tuple[str, ...]  # anywhere in it
    imports_at_the_top: tuple[str, ...]  # when it is imported itself


@cache  # each module is parsed once
def _module(path: Path) -> Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return Module(ast.get_docstring(tree), tuple(_imports(_statements(tree))), tuple(_imports(_top_level(tree))))


def _dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(module: str) -> str:
    """Return the room of a dotted module name; the package itself has none."""
    return module.split(".")[1] if "." in module else ""


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + str(node.module)


def _foreign(imports: Iterable[str]) -> Iterator[str]:
    """Yield the packages imported from outside, those of the standard library left out."""
    for module in imports:
        package = module.split(".")[0]
        if package not in PACKAGES and package not in sys.stdlib_module_names:
            yield package


def _declared(*, with_extras: bool, with_dev: bool = False) -> set[str]:
    """Return the packages that the core brings along; with those of all extras for users, or of `dev`, too."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = list(project["dependencies"])
    if with_extras:
        extras = project["optional-dependencies"]
        requirements += [requirement for name in extras if with_dev or name != "dev" for requirement in extras[name]]
    names = {requirement.split(">")[0].split("[")[0] for requirement in requirements}
    return {IMPORTED_AS.get(name, name) for name in names}


def _statements(tree: ast.Module, left_out: Callable[[ast.AST], bool] = lambda node: False) -> Iterator[ast.AST]:
    """Yield all statements, but for those inside of what is left out; imports are never parts of expressions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field in () if left_out(node) else ("body", "orelse", "handlers", "finalbody", "cases"):
            waiting.extend(getattr(node, field, ()))


def _top_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what runs when the module is imported: not the bodies of functions, nor what is for type checkers."""

    def runs_later(node: ast.AST) -> bool:
        if isinstance(node, ast.If):
            return "TYPE_CHECKING" in ast.unparse(node.test)
        return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)

    return _statements(tree, runs_later)


def test_rooms_import_only_from_rooms_before_them() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {
        _dotted(path): {module for module in _module(path).imports_at_the_top if module.startswith("textassay")}
        for path in MODULES
        if path != SOURCE / CORE / "__init__.py"
    }
    list(TopologicalSorter(graph).static_order())


def test_what_is_imported_at_the_top_is_a_core_dependency() -> None:
    core = _declared(with_extras=False)
    imported = {(_dotted(path), package) for path in MODULES for package in _foreign(_module(path).imports_at_the_top)}
    imported -= set(LOADED_BY.items())
    others = {(module, package) for module, package in imported if package not in core}
    wrong = [one for one in others if one[1] != "torch" or not one[0].startswith(LABORATORY)]
    assert not wrong, "belongs to an extra"


def test_what_is_imported_anywhere_is_declared() -> None:
    declared = _declared(with_extras=True)
    imported = {(_dotted(path), package) for path in MODULES for package in _foreign(_module(path).imports)}
    imported -= set(LOADED_BY.items())
    assert {(module, package) for module, package in imported if package not in declared} == set()


def test_what_a_test_imports_is_installed_for_tests() -> None:
    tests = REPOSITORY / "tests"
    ours = {path.stem for folder in ("support", "faults", "fuzz") for path in (tests / folder).glob("*.py")}
    allowed = _declared(with_extras=True, with_dev=True) | ours | {"_pytest", "atheris"}  # the last one if it is there
    apart = {tests / "metric" / "make_rouge_golden.py"}  # runs in an environment of its own
    for path in set(tests.rglob("*.py")) - apart:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = (node for node in _statements(tree) if not (isinstance(node, ast.ImportFrom) and node.level))
        missing = set(_foreign(_imports(nodes))) - allowed
        assert not missing, f"{path} imports {missing}, which `make test` installs by chance if at all"


def test_every_module_has_a_docstring_and_a_name_that_says_something() -> None:
    names = {path.relative_to(SOURCE) for path in MODULES}
    assert not [name for name in names if VAGUE & set(name.with_suffix("").parts)]
    # An empty `__init__.py` needs none.
    to_read = [path for path in MODULES if path.name != "__init__.py" or path.read_text(encoding="utf-8").strip()]
    assert not [path for path in to_read if not _module(path).docstring]


def test_the_architecture_page_lists_the_rooms_in_this_order() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1].removesuffix("/").removesuffix(".py") for line in page.splitlines() if line[:3] == "| `"]
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [contract["layers"] for contract in contracts["contracts"] if contract["type"] == "layers"]
    assert [*reversed(layers[0]), *reversed(layers[1])] == rows


def test_feature_marks_are_on_the_coverage_list() -> None:
    assert len(listed_features()) == 137
    unknown = set(marked_features()) - set(listed_features())
    assert not unknown
