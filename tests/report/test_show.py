"""Every public result prints itself, and shows itself in a notebook, with nothing in it that a page would interpret."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape

import textassay
from made_up import sentences
from made_up_comparisons import (
    FEW_METRICS,
    HOSTILE,
    MANY_METRICS,
    REVIEWS,
    make_comparison,
    make_explanation,
    make_findings,
)
from made_up_judgements import simulate
from textassay.comparison.document import read_comparison
from textassay.comparison.planning import plan
from textassay.comparison.run import compare
from textassay.comparison.side_by_side import side_by_side
from textassay.display import Displayed
from textassay.errors import InputError
from textassay.estimate import Estimate, Interval, Signature
from textassay.inspection.finding import Findings
from textassay.leakage.leaks import leaks
from textassay.report.document import Figure, without_extras
from textassay.report.show import document
from textassay_lab.generator.text_likelihood import Quantity, TextLikelihood
from textassay_lab.human.analysis import analyse
from textassay_lab.meta_evaluation.damage import DAMAGES
from textassay_lab.meta_evaluation.damage_curve import DamageCurve
from textassay_lab.meta_evaluation.stress import Stress

FRAGMENT_STYLE = (files("textassay.report") / "templates" / "fragment.css").read_text(encoding="utf-8").strip()
DAMAGE = next(iter(DAMAGES))
ACTIVE_TAGS = {"script", "img", "iframe", "object", "embed", "link", "style", "form", "input", "a", "base", "meta"}
LINES = sentences(200, 1)
RESULTS: dict[str, Callable[[], Displayed]] = {
    "comparison": lambda: make_comparison(
        (HOSTILE[0], "b"), metrics=MANY_METRICS, findings=make_findings((HOSTILE[0], "b")), explained=True
    ),
    "estimate": lambda: Estimate(
        "bleu(order=4)", 0.25, Interval(0.2, 0.3, 0.95, "t"), "fraction", "higher", {"n_generated": 10}, Signature({})
    ),
    "explanation": lambda: make_explanation("lstm"),
    "plan": plan,
    "leaks": lambda: leaks({HOSTILE[0]: [*HOSTILE, *LINES[:90]]}, LINES[90:], train=[*HOSTILE, *LINES[:90]]),
    "finding": lambda: make_findings(("a", "b"))[1],
    "findings": lambda: Findings(make_findings(("a", "b"))),
    "no findings": Findings,
    "likelihood": lambda: TextLikelihood(
        np.full(3, -9.0), 10_000, 1_234_567, 7_654_321, 0.1, *map(_quantity, (16.9, 3.1, 14.2))
    ),
    "stress": lambda: Stress(
        (DamageCurve("dd", "lower", DAMAGE, (0.1, 0.8), np.zeros((2, 3)), effects=(0.1, 0.2), lows=(0.0, 0.1),
                     highs=(0.2, 0.3), verdict="sees", smallest=0.1),),
        ("dd",), (DAMAGE,), (0.1, 0.8), 2000, 5, 0.95, 0, {"real": 10_000},
    ),
    "analysis": lambda: analyse(simulate(np.random.default_rng(0), generators={"(real)": 1.5, "lstm": 0.5})),
}  # fmt: skip


def _quantity(value: float) -> Quantity:
    return Quantity(value, Interval(0.99 * value, 1.01 * value, 0.95, "t"))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.styles: list[str] = []
        self.last = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.last = tag

    def handle_data(self, data: str) -> None:
        if self.last == "style":
            self.styles.append(data.strip())
            self.last = ""
        else:
            self.text += data


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_prints_and_shows_itself(name: str) -> None:
    result = RESULTS[name]()
    text = str(result)
    assert text
    assert text != repr(result)
    assert "\x1b" not in text
    page = _Tags()
    page.feed(result._repr_html_())
    assert page.text.strip()
    assert not page.tags & (ACTIVE_TAGS - {"style"})
    assert page.styles in ([], [FRAGMENT_STYLE])


def test_every_class_of_results_names_the_function_of_its_document() -> None:
    package = Path(textassay.__path__[0])
    named = re.compile(r'^class (\w+)\(Displayed.*document="([\w.]+):(\w+)"', re.MULTILINE)
    for path in package.rglob("*.py"):
        for name, module, function in named.findall(path.read_text(encoding="utf-8")):
            assert callable(getattr(import_module(module), function)), name
            assert module.split(".")[1] in (path.relative_to(package).parts[0], "report"), f"{name}: in its own room"


def test_a_comparison_prints_the_main_table_and_is_short_as_a_value() -> None:
    comparison = make_comparison(REVIEWS, metrics=MANY_METRICS)
    assert "AttentionAC is closest" in " ".join(str(comparison).split())
    assert "self-bleu" in str(comparison)
    assert "save()" in " ".join(str(comparison).split())
    assert repr(comparison) == "<Comparison of 12 generators with real.txt by 27 metrics>"


def test_a_notebook_shows_answer_main_figure_and_table_first_and_every_section_folded() -> None:
    comparison = make_comparison(REVIEWS, metrics=MANY_METRICS, explained=True)
    page = comparison._repr_html_()
    assert len(page.encode()) < 400_000
    assert page.count("<svg") == 1
    answer, figure, main, folded = (
        page.index(text) for text in ("AttentionAC is closest", "<svg", 'id="table-main"', "<details")
    )
    assert answer < figure < main < folded
    for part in without_extras(document(comparison)).sections:
        if any(not isinstance(one, Figure) for one in part.parts):
            assert re.search(rf"<h2>(?:<bdi>)?{re.escape(str(escape(part.title)))}", page), part.title


def test_figures_in_a_notebook_have_colours_of_their_own_and_ids_that_differ() -> None:
    first, second = (
        document(make_comparison(names, metrics=FEW_METRICS))._repr_html_()
        for names in (("alpha", "beta"), ("gamma", "delta"))
    )
    assert "var(--" not in first
    assert 'fill="#ffffff"' in first
    ids = [set(re.findall(r'\bid="(forest-dd-[^"]*)"', page)) for page in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_an_estimate_is_one_line() -> None:
    assert str(RESULTS["estimate"]()) == "bleu(order=4) = 0.250 [0.200, 0.300] (95 %)"


def test_save_writes_every_file_from_python(tmp_path: Path) -> None:
    comparison = compare({"same": sentences(60, 2)}, sentences(120, 1), metrics=["dd"], effort="quick", workers=1)
    written = {path.relative_to(tmp_path / "out").as_posix() for path in comparison.save(tmp_path / "out")}
    assert {"report.html", "results.json", "results.csv", "results.md", "results.tex", "sentences.csv"} <= written
    assert read_comparison(tmp_path / "out") == replace(comparison, results=read_comparison(tmp_path / "out").results)
    markdown = (tmp_path / "out" / "results.md").read_text(encoding="utf-8")
    tables = [line for line in comparison.to_markdown().splitlines() if line.startswith("|")]
    assert [line for line in markdown.splitlines() if line.startswith("|")] == tables
    assert "![dd: same" in markdown
    assert (tmp_path / "out" / "results.tex").read_text(encoding="utf-8") == comparison.to_latex()
    again = read_comparison(tmp_path / "out")
    assert again.texts is None
    assert again.save(tmp_path / "out")


def test_any_result_is_a_document_that_prints_and_saves_itself(tmp_path: Path) -> None:
    comparison = make_comparison(("alpha", "beta"), metrics=FEW_METRICS)
    whole = document(comparison)
    assert "alpha" in str(whole)
    assert "alpha" in whole._repr_html_()
    written = {str(path.relative_to(tmp_path)) for path in whole.save(tmp_path / "page", stem="all")}
    assert {"page/all.md", "page/all.html", "page/all.tex", "page/results.csv", "page/figures/forest-dd.svg"} <= written
    assert str(side_by_side({"a": comparison, "b": comparison})).startswith("By dd, from a to b: ")
    with pytest.raises(InputError, match="no report shows int"):
        document(3)  # type: ignore[arg-type]
