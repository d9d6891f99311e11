"""The rooms of the package: who may import whom, and what every module must have. `docs/architecture.md` says why."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from coverage_list import listed_features, marked_features

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCE = REPOSITORY / "src" / "textassay"

# Each imports only from those before it. `textassay` itself (`__init__`) hands out public names lazily.
ROOMS = (
    "errors",
    "estimate",
    "seeding",
    "execution",
    "resampling",
    "corpus",
    "inspection",
    "ngram",
    "embedding",
    "training",
    "generator",
    "network",
    "continuation",
    "translation",
    "model_store",
    "discriminator",
    "adversarial",
    "metric",
    "exposure",
    "approximation",
    "comparison",
    "human",
    "meta_evaluation",
    "monitoring",
    "report",
    "study",
    "cli",
    "__main__",
)
VAGUE = {"utils", "util", "helpers", "helper", "misc", "common", "tools"}
# What a distribution is imported as, where that differs from its name.
IMPORTED_AS = {
    "huggingface-hub": "huggingface_hub",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "sentence-transformers": "sentence_transformers",
    "xgboost-cpu": "xgboost",
}

MODULES = sorted(SOURCE.rglob("*.py"))
STUDY_MODULES = sorted((SOURCE / "study").rglob("*.py"))
NAMED_MODULES = [pytest.param(path, id=str(path.relative_to(SOURCE))) for path in MODULES]


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(module: str) -> str:
    """Return the room of a dotted module name; the package itself has none."""
    return module.split(".")[1] if "." in module else ""


def _imports(nodes: Iterator[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            yield str(node.module)


def _foreign(nodes: Iterator[ast.AST]) -> Iterator[str]:
    """Yield the packages imported from outside, those of the standard library left out."""
    for module in _imports(nodes):
        package = module.split(".")[0]
        if package != "textassay" and package not in sys.stdlib_module_names:
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


def _top_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what runs when the module is imported: not the bodies of functions, nor what is for type checkers."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        waiting.extend(ast.iter_child_nodes(node))


@pytest.mark.parametrize("path", NAMED_MODULES)
def test_a_room_imports_only_from_rooms_before_it(path: Path) -> None:
    room = _room(_dotted(path))
    if not room:
        return
    for module in _imports(ast.walk(_tree(path))):
        if module == "textassay" or module.startswith("textassay."):
            other = _room(module)
            assert other in ROOMS, f"{module} is in no room"
            assert ROOMS.index(other) <= ROOMS.index(room), f"{room} may not import {module}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {
        _dotted(path): {module for module in _imports(_top_level(_tree(path))) if module.startswith("textassay.")}
        for path in MODULES
        if path != SOURCE / "__init__.py"
    }
    list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(SOURCE))) for path in STUDY_MODULES])
def test_a_study_reads_of_others_only_what_all_share(path: Path) -> None:
    study = path.parent.name
    for module in _imports(ast.walk(_tree(path))):
        if module.startswith("textassay.study.") and (SOURCE / "study" / module.split(".")[2]).is_dir():
            allowed = {study, "judges"} if study == "generators" else {study}
            assert module.split(".")[2] in allowed, f"{module}: move what both need into study/"


@pytest.mark.parametrize("path", NAMED_MODULES)
def test_what_is_imported_at_the_top_is_a_core_dependency(path: Path) -> None:
    for package in _foreign(_top_level(_tree(path))):
        assert package in _declared(with_extras=False), f"{package} belongs to an extra"


@pytest.mark.parametrize("path", NAMED_MODULES)
def test_what_is_imported_anywhere_is_declared(path: Path) -> None:
    for package in _foreign(ast.walk(_tree(path))):
        assert package in _declared(with_extras=True), f"{package} is in nobody's dependencies"


def test_what_a_test_imports_is_installed_for_tests() -> None:
    tests = REPOSITORY / "tests"
    ours = {path.stem for path in (tests / "support").glob("*.py")}
    allowed = _declared(with_extras=True, with_dev=True) | ours | {"_pytest"}
    apart = {tests / "metric" / "make_rouge_golden.py"}  # runs in an environment of its own
    for path in set(tests.rglob("*.py")) - apart:
        nodes = (node for node in ast.walk(_tree(path)) if not (isinstance(node, ast.ImportFrom) and node.level))
        missing = set(_foreign(nodes)) - allowed
        assert not missing, f"{path} imports {missing}, which `make test` installs by chance if at all"


@pytest.mark.parametrize("path", NAMED_MODULES)
def test_every_module_has_a_docstring_and_a_name_that_says_something(path: Path) -> None:
    assert not VAGUE & set(path.relative_to(SOURCE).with_suffix("").parts)
    text = path.read_text(encoding="utf-8")
    if text.strip() or path.name != "__init__.py":
        assert ast.get_docstring(_tree(path)), "no module docstring"


def test_the_architecture_page_lists_the_rooms_in_this_order() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1].removesuffix("/").removesuffix(".py") for line in page.splitlines() if line[:3] == "| `"]
    present = {_room(_dotted(path)) for path in MODULES} - {"", "__main__"}
    assert [room for room in ROOMS if room in present] == [row for row in rows if row in present]


def test_feature_marks_are_on_the_coverage_list() -> None:
    assert len(listed_features()) == 137
    unknown = set(marked_features()) - set(listed_features())
    assert not unknown
