"""LaTeX: every cell is there, every name is plain text, every row has its columns, every table fits its page."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_up_comparisons import HOSTILE, MANY_METRICS, REVIEWS, make_comparison
from textassay.comparison.comparison import Comparison
from textassay.comparison.digest import Digest
from textassay.comparison.document import comparison_latex
from textassay.report.document import Document, Section
from textassay.report.latex import escape_latex, to_latex
from textassay.report.table import Table
from textassay.report.text import number

ODD = ("[a] & $b$", "* 50 % #1_{x}^2 ~ \\textbf{", "--\"quoted\" 'x' `y` <z> |")
COMMANDS = {
    "approx", "begin", "bottomrule", "caption", "centering", "char", "cmidrule", "dots", "downarrow", "end",
    "footnotesize", "label", "midrule", "multicolumn", "pm", "scriptsize", "setlength", "small", "tabcolsep",
    "textasciicircum", "textasciitilde", "textbackslash", "textbar", "textbf", "textendash", "textgreater", "textit",
    "textless", "toprule", "uparrow", "vspace",
}  # fmt: skip


def _check(source: str) -> list[tuple[int, list[list[str]]]]:
    """Check braces, environments, mathematics and commands; return each table's columns and its rows of cells."""
    assert source.startswith("% Made by")
    source = source.split("\n", 1)[1]
    assert set(re.findall(r"\\([a-zA-Z]+)", source)) <= COMMANDS
    tokens = re.findall(r"\\[a-zA-Z]+|\\.|.", source, flags=re.DOTALL)
    depth, in_math = 0, False
    for token in tokens:
        depth += (token == "{") - (token == "}")
        in_math ^= token == "$"
        assert depth >= 0
        assert not (token == "\n" and in_math), "mathematics ends in its line"
        assert token not in ("#", "%", "~", "\0"), "unescaped"
        assert token not in ("_", "^"), "not in mathematics either"
    assert depth == 0
    assert not in_math
    open_environments: list[str] = []
    for step, name in re.findall(r"\\(begin|end)\{(\w+)\}", source):
        if step == "begin":
            open_environments.append(name)
        else:
            assert open_environments.pop() == name
    assert open_environments == []
    tables = []
    for columns, body in re.findall(
        r"\\begin\{tabular\}\{@\{\}l([lr]*)@\{\}\}(.*?)\\end\{tabular\}", source, re.DOTALL
    ):
        rows = []
        for line in body.split("\n"):
            if line.endswith(r"\\"):
                cells = re.split(r"(?<!\\)&", line.removesuffix(r"\\"))
                spans = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", line))
                assert len(cells) + spans == len(columns) + 1
                assert not line.lstrip().startswith(("[", "*")), "would belong to the line break before it"
                rows.append([cell.strip() for cell in cells])
            else:
                assert re.fullmatch(r"|\\(top|mid|bottom)rule|(\\cmidrule\(lr\)\{\d+-\d+\})+", line)
        tables.append((len(columns), rows))
    return tables


def test_every_value_stands_in_a_table_with_sizes_and_settings() -> None:
    comparison = make_comparison(("a", "b", "c"), metrics=MANY_METRICS, heldout=True)
    source = comparison_latex(comparison, everything=True)
    tables = _check(source)
    text = source.replace("$-$", "-")
    digest = Digest(comparison)
    for result in comparison.results:
        for estimate in (None if result.ranked_by == "matched_value" else result.estimate, result.matched):
            assert result.estimate is not None
            if estimate is not None:
                assert number(estimate.value, digest.places(result.metric)) in text
    captions = re.findall(r"\\caption\{(.*)\}", source)
    assert len(captions) == len(tables) == source.count(r"\begin{table}")
    (main, *_) = [caption for caption in captions if "by the main metrics" in caption]
    assert "10,000 generated texts each, 10,000 real ones (real.txt), 95 \\% intervals, seed 0" in main
    assert "textassay 0.1.0" in main
    assert "(real): one half of the real text against the other (5,000 a side)" in main
    assert len(set(re.findall(r"\\label\{(.*)\}", source))) == len(tables)


def test_a_table_in_parts_explains_itself_once() -> None:
    columns = ("name", *(f"a long name of column {n}" for n in range(5)))
    table = Table.of("wide", columns, [("a", *(["1.234"] * 5))], title="Wide", notes=("What it means.",))
    source = to_latex(Document("t", sections=(Section("", (table,)),)))
    captions = re.findall(r"\\caption\{(.*)\}", source)
    assert captions == ["Wide. What it means.", *["Wide (continued)."] * (len(captions) - 1)]
    assert len(captions) > 1


def test_best_is_bold_and_direction_an_arrow() -> None:
    source = comparison_latex(make_comparison(("a", "b")), everything=True)
    (row,) = [line for line in source.split("tab:textassay-overlap")[1].splitlines() if line.startswith("a & ")][:1]
    assert row.count(r"\textbf") == 4
    assert r"\multicolumn{4}{c}{bleu $\uparrow$}" in source
    assert r"dd $\downarrow$" in source
    assert r"self-bleu $\approx$" in source


def test_signs_are_mathematics_and_ranges_dashes() -> None:
    document = make_comparison(("a", "b")).to_dict()
    (floor,) = [result for result in document["results"] if (result["generator"], result["metric"]) == ("(real)", "dd")]
    floor.update(value=-0.015, low=-0.071, high=0.041)
    (first, *_) = [rank for rank in document["ranks"] if rank["metric"] == "dd"]
    first.update(low=1, high=2)
    source = comparison_latex(Comparison.from_dict(document), everything=True)
    _check(source)
    rows = source.split("tab:textassay-dd}")[1].split("\\end{tabular}")[0].splitlines()
    assert any("& $-$0.015 & {[}$-$0.071, 0.041{]} &" in row for row in rows)
    assert any(row.startswith(f"{first['generator']} & ") and "& 1--2 " in row for row in rows)
    assert "$$" not in source


def test_undefined_values_are_said_to_be_and_why() -> None:
    source = comparison_latex(make_comparison(("a", "b_2"), missing=True), everything=True)
    _check(source)
    assert r"n/a: length needs at least 50 sentences a side, b\_2 has 12." in source


@pytest.mark.parametrize("generators", [REVIEWS, ("only",), ("x" * 400, "y" * 400)])
def test_tables_fit_the_text_width(generators: tuple[str, ...]) -> None:
    for n_columns, rows in _check(comparison_latex(make_comparison(generators, metrics=MANY_METRICS), everything=True)):
        plain = [[_printed(cell) for cell in row] for row in rows if "multicolumn" not in "".join(row)]
        widths = [max(len(row[place]) for row in plain) for place in range(n_columns + 1)]
        assert sum(widths) * 4.7 + 8 * n_columns < 480  # letters of 4.7 pt; half the intervals are smaller
        assert len(rows) < 40


def test_nothing_at_all_is_still_latex() -> None:
    document = make_comparison(("a", "b")).to_dict()
    for result in document["results"]:
        result.update(signature=None, matched=None, value=None, error="too few & too {short")
    document["ranks"] = document["pairs"] = []
    assert r"too few \& too \{short" in comparison_latex(Comparison.from_dict(document))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=3, unique=True))
def test_any_name_is_plain_text(names: list[str]) -> None:
    _check(
        comparison_latex(
            make_comparison(tuple(names), metrics={"dd": "lower", "bleu(order=4)": "higher"}, missing=True)
        )
    )


@pytest.mark.parametrize("text", [*HOSTILE, *ODD])
def test_escaped_text_reads_as_it_was(text: str) -> None:
    escaped = escape_latex(text)
    assert "\n" not in escaped
    kept = "".join(character if character.isprintable() or character == "\u200d" else "?" for character in text)
    assert _printed(escaped) == kept


def test_a_tex_compiles_it(tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex")
    source = comparison_latex(
        make_comparison((*ODD, "é ü ß"), metrics=MANY_METRICS, heldout=True, missing=True),
        everything=True,
    )
    page = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n" + source + "\\end{document}\n"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    done = subprocess.run(
        [program, "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
    assert max(wide, default=0) < 12, "tables stay inside the text"


def _printed(source: str) -> str:
    """Return what a cell looks like."""
    names = {"backslash": "\\", "asciitilde": "~", "asciicircum": "^", "less": "<", "greater": ">", "bar": "|"}
    source = re.sub(r"\\text(\w+?)\{\}", lambda found: f"\0{ord(names[found[1]])};", source)
    source = re.sub(r"\{\\char(\d+)\}", r"\0\1;", source)
    source = re.sub(r"\\([&%$#_{}])", lambda found: f"\0{ord(found[1])};", source)
    source = re.sub(r"\\(?:textbf|scriptsize ?)|[{}$]", "", source.replace(r"\pm", "±"))
    return re.sub(r"\0(\d+);", lambda found: chr(int(found[1])), source)
