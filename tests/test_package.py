"""The package as a whole: quick to import, light, complete when built."""

import inspect
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import textassay

REPOSITORY = Path(__file__).resolve().parents[1]
HEAVY = ("jinja2", "matplotlib", "numpy", "pandas", "scipy", "sklearn", "statsmodels", "torch", "typer")
PRINT_LOADED = "import sys, textassay; print('\\n'.join(sys.modules))"


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)


def _import_seconds() -> float:
    """Return how long importing textassay takes beyond starting Python."""
    times = _python("-X", "importtime", "-c", "import textassay").stderr
    return int(next(line.split("|")[1] for line in times.splitlines() if line.endswith("| textassay"))) / 1e6


def test_importing_is_quick_and_loads_nothing_heavy() -> None:
    loaded = set(_python("-c", PRINT_LOADED).stdout.split())
    assert not loaded & set(HEAVY)
    assert any(_import_seconds() < 0.3 for _ in range(3))


def test_comparing_by_what_is_counted_and_printing_it_loads_no_classifier_and_draws_nothing() -> None:
    code = (
        "import textassay;"
        "made = textassay.compare({'a': ['x y', 'y z'] * 20}, ['x y', 'z x'] * 20, metrics=['bleu'], explain=False);"
        "assert 'bleu' in str(made);"
    )
    loaded = set(_python("-c", code + PRINT_LOADED).stdout.split())
    assert not loaded & {
        "matplotlib",
        "pandas",
        "sklearn",
        "torch",
        "textassay.discriminator",
        "textassay_lab.generator",
    }


def test_importing_leaves_the_process_as_it_was() -> None:
    code = (
        "import logging, os, warnings;"
        "before = (dict(os.environ), list(warnings.filters), list(logging.root.handlers));"
        "import textassay;"
        "assert before == (dict(os.environ), list(warnings.filters), list(logging.root.handlers))"
    )
    _python("-c", code)


def test_public_names_are_there_and_have_a_home() -> None:
    for name in textassay.__all__:
        value = getattr(textassay, name)
        assert getattr(value, "__module__", value.__name__).startswith(("textassay.", "textassay_lab."))
        assert name in dir(textassay)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        textassay.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_public_names_and_their_methods_are_explained() -> None:
    faces = (textassay, textassay.generators, textassay.discriminators)
    things = {name: getattr(face, name) for face in faces for name in face.__all__}
    for name, thing in things.items():
        members = vars(thing) if inspect.isclass(thing) else {}
        public = {key: each for key, each in members.items() if not key.startswith("_") and inspect.isfunction(each)}
        assert [key for key, each in {name: thing, **public}.items() if not inspect.getdoc(each)] == []


def test_one_version_everywhere() -> None:
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert version("textassay") == declared == textassay.__version__
    assert f"\nversion: {declared}\n" in (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {declared}" in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")


def test_everything_installed_for_tests_is_pinned() -> None:
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[\w.!+-]+", pin) for pin in pins)
    pinned = {re.sub(r"[-_.]+", "-", pin.split("==")[0]).lower() for pin in pins}
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [
        *project["dependencies"],
        *extras["boosting"],
        *extras["dev"],
        *extras["human"],
        *extras["parquet"],
        *extras["prior"],
        "torch",
    ]
    assert {re.split(r"[>\[]", requirement)[0].lower() for requirement in needed} <= pinned


@pytest.mark.slow
def test_the_wheel_holds_what_is_needed_at_run_time(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(REPOSITORY)],
        check=True,
        capture_output=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    source = REPOSITORY / "src"
    needed = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.suffix in {".py", ".pyi", ".typed", ".j2", ".css", ".js", ".svg", ".yaml"}
    }
    assert needed <= inside
    assert not any("__pycache__" in name or name.startswith("tests/") for name in inside)


def test_make_installs_wheels_only_in_one_way() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    (install,) = re.findall(r"^INSTALL := (.*)$", makefile, re.M)
    assert "--only-binary :all:" in install
    assert "--constraint constraints.txt" in install
    assert len(re.findall(r"(?<!uv )pip install", makefile)) == 1  # uv has its own, for the lowest versions
    tools = re.findall(r"^BUILD_TOOLS := (.*)$", makefile, re.M)[0].split()
    backend = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert {requirement.split(">")[0] for requirement in backend} <= set(tools)
