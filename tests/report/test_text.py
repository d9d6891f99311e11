"""The terminal report: it fits, it marks, it explains what is missing, and nothing in the texts steers the terminal."""

import io
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from made_up_comparisons import HOSTILE, MANY_METRICS, REVIEWS, make_comparison, make_findings
from textassay.comparison.comparison import Comparison
from textassay.comparison.digest import Digest
from textassay.comparison.document import comparison_document, screen_document
from textassay.comparison.metric_kinds import main_metrics
from textassay.estimate import Estimate
from textassay.inspection.document import inspection_document
from textassay.inspection.finding import Findings
from textassay.report.table import Cell, Table, as_is, text_cell
from textassay.report.terminal import print_document, print_part
from textassay.report.text import clause, number


def _render(
    comparison: Comparison, width: int = 80, *, encoding: str = "utf-8", terminal: bool = False, whole: bool = True
) -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    console = Console(file=file, width=width, force_terminal=terminal)
    if whole:
        print_document(comparison_document(comparison), console, everything=False)
    else:
        print_document(screen_document(comparison, where="--all", console=console), console)
    file.flush()
    return raw.getvalue().decode(encoding)


def _width(text: str) -> int:
    """Return the width of the widest line but for the command, which is to be copied."""
    return max(cell_len(line) for line in text.splitlines() if "textassay compare" not in line)


@pytest.mark.parametrize("generators", [("trigram", "5-gram", "shuffler"), REVIEWS, ("only",)])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_fits_the_width_and_shows_every_number(generators: tuple[str, ...], width: int) -> None:
    comparison = make_comparison(generators, heldout=True, findings=make_findings((*generators, *generators)))
    text = _render(comparison, width)
    assert _width(text) <= width
    for result in comparison.results:
        assert result.estimate is not None
        if result.ranked_by != "matched_value":
            assert f"{result.estimate.value:.3f}".replace("-0.000", "0.000") in text
        if result.matched is not None:
            assert f"{result.matched.value:.3f}" in text


@pytest.mark.parametrize("width", [80, 100, 120])
def test_many_metrics_fit_the_width_and_are_all_there(width: int) -> None:
    comparison = make_comparison(REVIEWS, metrics=MANY_METRICS, explained=True)
    text = _render(comparison, width)
    assert _width(text) <= width
    digest = Digest(comparison)
    for result in comparison.results:
        assert number(digest.value(result.generator, result.metric), digest.places(result.metric)) in text
    assert "lm-score and reverse-lm-score in nats per token" in " ".join(text.split())


def test_the_answer_comes_first() -> None:
    generators = ("trigram", "5-gram")
    text = _render(make_comparison(generators, findings=make_findings(generators)))
    parts = [
        "trigram is closest",
        "real.txt: 10,000 texts",
        "· warning trigram",
        "· note 5-gram",
        "the main metrics",
        "dd, lower",
        "order=4",
        "pairs and ranks",
        "to repeat the comparison",
    ]
    places = [text.lower().index(part.lower()) for part in parts]
    assert places == sorted(places)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize(
    ("generators", "lines"), [(("only",), 30), (("trigram", "5-gram", "shuffler"), 40), (REVIEWS, 60)]
)
def test_a_comparison_fits_one_screen(generators: tuple[str, ...], lines: int, width: int) -> None:
    findings = make_findings((*generators, *generators)) * 3
    comparison = make_comparison(generators, metrics=MANY_METRICS, findings=findings, explained=True)
    text = _render(comparison, width, whole=False)
    assert _width(text) <= width
    assert len(text.splitlines()) <= lines * (1 if width >= 80 else 1.5)
    whole = _render(comparison, width)
    for metric in ("dd", "bleu(order=5)"):
        for generator in generators:
            result = comparison.result(generator, metric)
            shown = result.estimate if metric == "dd" else result.matched  # dd: guessing is 0 at any size
            assert shown is not None
            assert f"{shown.value:.3f}" in text
    assert " ".join(text.split())[:60] == " ".join(whole.split())[:60]  # the same answer, first
    assert "All 27 metrics" in " ".join(text.split())
    assert "· note " not in text


def test_the_main_table_takes_one_metric_of_each_kind() -> None:
    assert main_metrics(list(MANY_METRICS), "dd") == (
        "dd", "bleu(order=5)", "self-bleu(order=5)", "fed", "lm-score"
    )  # fmt: skip
    assert main_metrics(["length", "bleu(order=2)", "bleu(order=4)", "rouge", "huse"], "length") == (
        "length", "huse", "bleu(order=4)", "rouge"
    )  # fmt: skip
    wide = _render(make_comparison(metrics=MANY_METRICS), 120, whole=False)
    assert [name for name in ("dd", "bleu", "self-bleu", "fed", "lm-score") if f"{name} " not in wide] == []
    assert "mauve" not in wide


def test_warnings_of_metrics_that_are_not_shown_are_left_to_the_whole_report() -> None:
    warnings = ("mauve of a stands on few clusters", "dd of a understates", "texts of b are odd")
    comparison = replace(make_comparison(("a", "b"), metrics=MANY_METRICS), warnings=warnings)
    screen = _render(comparison, whole=False)
    assert [warning in screen for warning in warnings] == [False, True, True]
    assert all(warning in _render(comparison) for warning in warnings)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_warnings_take_a_line_each_and_what_is_left_out_is_counted(width: int) -> None:
    long = f"texts of a are odd: {'very ' * 80}odd; give other ones"
    findings = make_findings(("a", "b"))
    comparison = replace(make_comparison(("a", "b"), findings=findings), warnings=(long,))
    screen = _render(comparison, width, whole=False)
    lines = screen.split("Warnings, which may explain this\n")[1].split("\n\n")[0].splitlines()
    assert lines[0].rstrip() == "  · glued punctuation: a 91 % and b 91 %; real text 0.1 %"
    assert [line.lstrip()[0] for line in lines] == ["·"] * len(lines)
    assert lines[-1].rstrip().startswith("  · texts of a are odd")
    assert "and what to do about warnings: --all" in " ".join(screen.split())
    whole = " ".join(_render(comparison, width).split())
    assert long in whole
    assert findings[1].remedy in whole
    kinds = tuple(replace(findings[1], kind=f"kind-{n}", message=f"problem {n}") for n in range(5))
    told = " ".join(_render(replace(comparison, findings=kinds), width, whole=False).split())
    assert "and what to do about warnings, 2 more warnings: --all" in told
    many = tuple(replace(findings[1], generator=f"g{n}") for n in range(9))
    told = _render(replace(comparison, findings=many), 120, whole=False)
    assert "glued punctuation: g0 91 %, g1 91 %, g2 91 %, g3 91 % and 5 more; real text 0.1 %" in told


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (99, "the sides differ (a 2; b 3), which moves dd, bleu; give as many"),
        (45, "the sides differ (a 2; b 3)"),
        (26, "the sides differ"),
        (12, "the sides …"),
    ],
)
def test_a_sentence_is_cut_where_a_clause_ends(width: int, shown: str) -> None:
    assert clause("the sides differ (a 2; b 3), which moves dd, bleu; give as many", width) == shown


def test_sentences_of_the_answer_that_do_not_fit_are_counted() -> None:
    names = tuple(f"a generator with a rather long name, number {n}" for n in range(12))
    comparison = make_comparison(names)
    results = tuple(
        replace(one, estimate=replace(one.estimate, details={**one.estimate.details, "p_value": 0.5}))
        if one.metric == "dd" and one.estimate is not None else one
        for one in comparison.results
    )  # fmt: skip
    told = " ".join(_render(replace(comparison, results=results), whole=False).split())
    assert re.search(r"All 15 metrics, pairs and notes, \d+ more sentences? of the answer: --all", told)


def test_the_size_at_which_values_stand_is_said_beside_them() -> None:
    screen = " ".join(_render(make_comparison(("a", "b")), 120).split())
    assert "values are at the size of (real); values of dd are of all texts, as guessing is 0 at any size" in screen
    assert "(real): one half of the real text against the other (5,000 a side)" in screen
    assert "marks and ranks of ↓ and ↑ go by all texts" in screen
    whole = _render(make_comparison(("a", "b")))
    assert " ".join(whole.split()).count("values are at the size of (real)") > 1
    of_all = make_comparison(("a", "b")).result("a", "bleu(order=4)").estimate
    assert of_all is not None
    assert f"all {of_all.value:.3f}" in whole


def test_why_values_of_all_texts_stand_beside_the_floor_is_true_of_each() -> None:
    comparison = make_comparison(("a", "b"))
    unmoved = tuple(
        replace(one, size_sensitive=False) if one.metric.startswith("bleu") else one for one in comparison.results
    )
    told = " ".join(_render(replace(comparison, results=unmoved), 120).split())
    assert "values of bleu are of all texts, as size does not move them" in told
    alone = tuple(replace(one, matched=None) if one.metric != "dd" else one for one in comparison.results)
    told = " ".join(_render(replace(comparison, results=alone), 120).split())
    assert "values of bleu, self-bleu, length and distinct-n are of all texts, as there are none at the size of" in told


def test_the_screen_says_where_everything_is() -> None:
    assert "All 15 metrics, pairs and notes: --all" in _render(make_comparison(explained=True), whole=False)


def test_pairs_of_very_many_generators_are_counted_and_left_to_the_json_file() -> None:
    names = tuple(f"g{number:02}" for number in range(41))
    comparison = make_comparison(names, metrics={"dd": "lower"})
    told = " ".join(_render(comparison).split())
    assert re.search(r"By dd, \d+ of 820 pairs are separated; all are in results.json, under pairs\.", told)
    listed = " ".join(_render(make_comparison(names[:40], metrics={"dd": "lower"})).split())
    assert re.search(r"By dd, \d+ of 780 pairs are separated\. ", listed)


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [(1.0, 0.996, 1.0, "1.000 ≥0.996"), (0.0, 0.0, 0.02, "0.000 ≤0.020"), (0.999, 0.9, 1.0, "0.999 [0.900, 1.000]")],
)
def test_a_one_sided_interval_is_its_other_end(value: float, low: float, high: float, shown: str) -> None:
    table = Table.of_items("t", [Cell(f"{value:.3f}", value, f"[{low:.3f}, {high:.3f}]")], [
        ("name", lambda _: "a", text_cell), ("dd", lambda one: one, as_is),
    ])  # fmt: skip
    for encoding, wanted in (("utf-8", shown), ("ascii", shown.replace("≥", ">=").replace("≤", "<="))):
        raw = io.BytesIO()
        file = io.TextIOWrapper(raw, encoding=encoding)
        print_part(table, Console(file=file, width=80))
        file.flush()
        assert wanted in raw.getvalue().decode(encoding)


def test_best_is_marked_without_colours_and_not_for_neither() -> None:
    lines = _render(make_comparison(("alpha", "beta")), 200).splitlines()
    marked = [line for line in lines if "*0." in line]
    assert marked
    assert all(line.split()[0] == "alpha" for line in marked)
    assert "* none is significantly better" in "\n".join(lines)
    neither = replace(make_comparison(("a", "b")), metrics=("dd", "vocabulary(of=types)"))
    table = _render(neither).split("of=types")[1].split("±")[0]
    assert "*" not in table


def test_missing_values_have_a_footnote_each_once() -> None:
    comparison = make_comparison(missing=True)
    for whole, n_tables in ((True, 2), (False, 1)):  # the main table and that of the family
        text = _render(comparison, whole=whole)
        assert text.count("n/a: self-bleu needs at least 50 sentences a side, shuffler has 12.") == n_tables
        assert text.count("n/a: bleu of trigram: it is undefined for this text.") == n_tables


def test_no_colour_codes_where_the_console_is_no_terminal() -> None:
    comparison = make_comparison(findings=make_findings(("a", "b")))
    assert "\x1b" not in _render(comparison)
    assert "\x1b[" in _render(comparison, terminal=True)


def test_hostile_names_and_texts_neither_steer_nor_break() -> None:
    comparison = make_comparison(("[bold]x[/bold]\x1b[2J", "y\u202e"), findings=make_findings(("\x1b]0;t\x07", "b")))
    findings = tuple(
        replace(finding, example_generated=text) for finding in comparison.findings[:1] for text in HOSTILE
    )
    text = _render(replace(comparison, findings=findings))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\x07" not in text
    assert "[bold]x[/bold]" in text


def test_ascii_terminals_get_ascii() -> None:
    generators = ("a", "b")
    text = _render(make_comparison(generators), encoding="ascii")
    assert "+-0.012" in text


def test_separated_pairs_are_told_from_others() -> None:
    comparison = make_comparison(("a", "b", "c"))
    pairs = tuple(replace(pair, p_adjusted=0.5) if pair.b == "c" else pair for pair in comparison.pairs)
    text = _render(replace(comparison, pairs=pairs))
    assert "dd: 1 of 3 pairs separated" in text
    assert len(re.findall(r" 0\.50 +no\b", text)) == 2
    many = make_comparison(REVIEWS)
    close = tuple(replace(pair, p_adjusted=0.5) if pair.a == "SS" else pair for pair in many.pairs)
    text = _render(replace(many, pairs=close))
    assert "By dd, 61 of 66 pairs are separated." in text
    rows = text.split("Pairs not separated")[1].split("p is adjusted")[0].splitlines()
    assert sum(line.split()[:1] == ["SS"] for line in rows) == 5
    assert not any("yes" in line for line in rows)


def test_real_text_is_shown_at_the_size_of_a_small_generator() -> None:
    metric = "self-bleu(order=2)"
    comparison = make_comparison(("a", "b"))

    def of_150(estimate: Estimate | None) -> Estimate:
        assert estimate is not None
        return replace(estimate, value=0.1234, interval=None, sizes={"n_generated": 150, "n_real": 5000})

    results = tuple(
        replace(result, floor=of_150(result.estimate)) if (result.generator, result.metric) == ("a", metric) else result
        for result in comparison.results
    )
    shown = _render(replace(comparison, results=results), width=120)
    rows = [line.split() for line in shown.splitlines() if line.strip().startswith("(real) of 150")]
    assert [row[:4] for row in rows] == [["(real)", "of", "150", "0.123"]]
    assert "(real) of fewer texts: beside a generator that has no more" in " ".join(shown.split())


def test_findings_alone_can_be_printed() -> None:
    file = io.StringIO()
    console = Console(file=file, width=80)
    print_document(inspection_document(Findings(make_findings(("a", "b")))), console)
    shown = file.getvalue()
    assert "9,120 of 10,000" in shown
    assert re.search(r"also +b \(9,110 of 10,000\)", shown)
    assert shown.index("warning a") < shown.index("note b")


def test_a_warning_in_a_line_says_what_its_texts_do() -> None:
    finding = next(one for one in make_findings(("a",)) if one.kind == "glued-punctuation")
    told = replace(
        finding, kind="case",
        message="Case differs: 1 of 9 generated (11.1 %) and 9 of 9 real texts (100.0 %) have a capital letter.",
    )  # fmt: skip
    screen = _render(make_comparison(("a", "b"), findings=(told,)), 100, whole=False)
    assert "· case (have a capital letter): a 91 %; real text 0.1 %" in screen
