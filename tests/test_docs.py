"""Every block of the documentation runs, in order, or says why not.

All blocks of a page run in one folder with small texts, those of ``python`` in one namespace. In blocks of ``console``,
lines that start with ``$`` must succeed; they call textassay, or pipe a file into it with cat. Blocks of ``yaml`` whose
first line names a file are written there. After ``<!-- output -->`` stands what the block before it prints, up to its
digits; every other block stands after ``<!-- not run: REASON -->``.
"""

import io
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import textassay
from endpoint_server import KEY, serving
from made_up import sentences, shuffled
from textassay.cli.main import main, make_app
from textassay_lab.adversarial.cot import CoT
from textassay_lab.adversarial.leakgan import LeakGan
from textassay_lab.adversarial.rankgan import RankGan
from textassay_lab.adversarial.scratchgan import ScratchGan
from textassay_lab.adversarial.seqgan import SeqGan
from textassay_lab.adversarial.wgan import Wgan
from textassay_lab.meta_evaluation import bench

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
COMPARE = ["compare", "--real", "real.txt", "lstm=lstm.txt", "trigram=trigram.txt", "--out"]  # how many pages begin
SLOW = ("docs/adversarial.md", "docs/audit.md", "docs/drawing.md")  # 3 seconds each and more; tests/cli runs the same
BLOCK = re.compile(r"^(?:<!-- ([^\n]+) -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _blocks(page: Path) -> list[tuple[str, str]]:
    return [(kind, code) for _, kind, code in BLOCK.findall(page.read_text(encoding="utf-8"))]


def _pages_with(*kinds: str) -> list[Path]:
    return [page for page in PAGES if any(kind in kinds for kind, _ in _blocks(page))]


def _name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder with the files that examples name."""
    made = {
        "real": sentences(200, 1),
        "heldout": sentences(200, 2),
        "train": sentences(200, 3),
        "trigram": sentences(200, 4, shift=0.3),
        "lstm": shuffled(sentences(200, 5), 0),
    }
    for name, lines in made.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let an endpoint of this machine stand where examples name none."""
    with serving(models=("gpt-4o-mini", "text-embedding-3-small")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield


@pytest.fixture
def short_rounds() -> Iterator[None]:
    """Shorten what a round does in the presets `tiny`: `tests/cli` trains with them as they are."""
    changes: list[tuple[Any, dict[str, Any]]] = [
        (SeqGan.presets, {"pretraining_rounds": 1, "negatives": 100, "roll_outs": 1, "validation_samples": 100}),
        (RankGan.presets, {"pretraining_rounds": 1, "negatives": 100, "roll_outs": 1, "validation_samples": 100}),
        (LeakGan.presets, {"cycles": 1, "negatives": 100, "roll_outs": 1}),
        (Wgan.presets, {"iterations": 1}),
        (CoT.presets, {"iterations": 5, "validation_samples": 100}),
        (ScratchGan.presets, {"iterations": 5, "validation_samples": 100}),
    ]
    recipes = [(presets["tiny"][1], change) for presets, change in changes]
    before = [{name: getattr(recipe, name) for name in change} for recipe, change in recipes]
    for recipe, change in recipes:
        vars(recipe).update(change)  # the recipes are frozen
    yield
    for (recipe, _), values in zip(recipes, before, strict=True):
        vars(recipe).update(values)


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test looks of an audit by fewer resamples, and estimate the truth of a bench's worlds from 2,000 draws."""
    monkeypatch.setattr("textassay.audit.run.N_RESAMPLES", 999)
    monkeypatch.setattr("textassay.audit.run._FEWEST_FOR_DD", 10_000)
    truth = bench._truth
    monkeypatch.setattr(bench, "_truth", lambda pair, n, seed: truth(pair, min(n, 2000), seed))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the folders of comparisons are kept: a page that begins with the same one resumes it."""
    return tmp_path_factory.mktemp("folders")


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave figures empty: tests of the report draw all kinds, here they would take half of the time."""
    monkeypatch.setattr("textassay.report.drawing.draw_svg", lambda figure: '<svg viewBox="0 0 1 1"></svg>')


@pytest.mark.usefixtures("short_rounds", "few_draws", "no_figures", "endpoint")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=_name(page), marks=[pytest.mark.slow] * (_name(page) in SLOW))
        for page in _pages_with("python", "console")
    ],
)
def test_blocks_run_in_order(
    page: Path, texts: Path, folders: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace: dict[str, object] = {}
    capsys.readouterr()
    for mark, kind, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if mark == "output":
            printed = _masked(capsys.readouterr().out)
            assert _masked(code) in printed, f"{_name(page)} shows\n{code}\nand the block before it prints\n{printed}"
        elif mark:
            continue
        elif kind == "python":
            exec(compile(code, _name(page), "exec"), namespace)
        elif kind == "console":
            for line in code.splitlines():
                _run(line, folders, monkeypatch)
        elif named := re.match(r"# (\S+\.yaml)\n", code):
            (texts / named[1]).write_text(code, encoding="utf-8")


def _masked(text: str) -> str:
    """Return a text without digits and spaces at ends of lines: what machines may differ in."""
    return "\n".join(re.sub(r"\d+", "#", line).rstrip() for line in text.splitlines())


def _run(line: str, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert line.startswith("$ "), f"'{line}' is no command: show what is printed after <!-- output -->"
    *before, command = line[2:].split(" | ")
    piped = b"".join(Path(name).read_bytes() for step in before for name in step.split()[1:])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
    program, *arguments = shlex.split(command)
    assert program == "textassay"
    estimates, kept = Path(arguments[-1]) / "estimates", folders / "estimates"
    begins = arguments[:-1] == COMPARE and not estimates.exists()
    if begins and kept.exists():
        shutil.copytree(kept, estimates)
    assert main(arguments) == 0, line
    if begins:
        shutil.copytree(estimates, kept, dirs_exist_ok=True)


def test_every_block_runs_or_says_why_not() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for mark, kind, code in BLOCK.findall(text):
            is_run = not mark and (kind in ("python", "console") or re.match(r"# \S+\.yaml\n", code))
            said = mark == "output" or re.fullmatch(r"not run: \S.+", mark)
            assert is_run or said, f"{_name(page)} does not say why it does not run\n{code}"
        assert text.count("\n```") == 2 * len(BLOCK.findall(text)), f"{_name(page)} has a block without a language"


def test_no_page_mentions_an_unknown_option() -> None:
    known = {"--help", "--debug", "--version", "--install-completion", "--show-completion"}
    waiting: list[Any] = [get_command(make_app())]
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        for parameter in command.params:
            known |= {*parameter.opts, *parameter.secondary_opts}
    known |= {"--constraint", "--no-build-isolation", "--no-deps", "--upgrade"}  # of pip
    known |= {"--nproc-per-node", "--no-python"}  # of torchrun
    known |= {"--head", "--address"}  # of ray start
    known |= {"--textassay-real"}  # of pytest, by the plugin
    for script in (REPOSITORY / "benchmarks").glob("*.py"):
        known |= set(re.findall(r'add_argument\("(--[a-z-]+)"', script.read_text(encoding="utf-8")))
    for page in PAGES:
        used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text(encoding="utf-8")))
        assert used <= known, f"{_name(page)}: {sorted(used - known)}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (REPOSITORY / "docs").rglob("*.md"):
        assert f": {page.relative_to(REPOSITORY / 'docs')}\n" in navigation


def test_pages_import_textassay_alone() -> None:
    """Only those who write their own tokens, contexts or adversarial training need more."""
    for page in PAGES:
        code = "".join(code for kind, code in _blocks(page) if kind in ("python", "py"))
        deeper = set(re.findall(r"from (textassay[\w.]*\.\w+) import", code))
        allowed = ("textassay.testing", "textassay.corpus.", "textassay_lab.adversarial.")
        assert all(module.startswith(allowed) for module in deeper), f"{_name(page)} imports {deeper}"


def test_the_page_of_the_interface_lists_all_of_it() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    listed = {name.partition(".")[2] for name in re.findall(r"^::: (\S+)", pages, re.M)}
    faces = {"generators", "discriminators"}
    errors = {"FindingWarning", "TextassayError"}
    names = {name for name in textassay.__all__ if name not in faces | errors}
    names |= {f"{face}.{name}" for face in faces for name in getattr(textassay, face).__all__}
    assert names <= listed
