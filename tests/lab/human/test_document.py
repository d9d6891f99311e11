"""The report of an analysis: the numbers it was given, safe to print, in files that can be read again."""

import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from rich.console import Console

from made_up_judgements import few_raters, from_table, simulate
from textassay.report.files import document_files
from textassay.report.markdown import to_markdown
from textassay.report.terminal import print_document
from textassay.storage import write_files
from textassay_lab.human.analysis import HumanAnalysis, analyse
from textassay_lab.human.document import analysis_document
from textassay_lab.human.judgements import Comment, Item, Judgements

STUDY = simulate(np.random.default_rng(0), generators={"(real)": 1.5, "lstm": 0.5, "gan": -1.5})
RATINGS = from_table(
    {"a": ("g", (3, 5)), "b": ("h", (1, 2)), "c": (None, (5, 4)), "d": ("g", (2, 2)), "e": ("h", (1, 1))},
    scale="number",
)


def _text(analysis: HumanAnalysis) -> str:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    print_document(analysis_document(analysis), console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_report_has_the_numbers() -> None:
    found = analyse(STUDY)
    text = _text(found)
    for verdict in found.verdicts:
        for share in verdict.rates:
            assert share is not None
            assert f"{100 * share.value:.2f}" in text
        for row in verdict.generators:
            assert f"{100 * row.share.value:.2f}" in text
    assert text.index("lstm") < text.index("gan")  # the better one first
    assert f"{found.agreement[0].value:.4f}" in text
    assert "None is suspicious" in text


def test_few_raters_are_told_to_be_why_and_who_the_answer_is_of() -> None:
    few = analyse(few_raters(np.random.default_rng(1), 3, {"(real)": -1.2, "a": 0.6, "b": -0.4, "c": 0.3}))
    pairs = [*few.by_judgement.pairs, *few.by_judgement.from_real]
    (open_pairs,) = [[pair for pair in pairs if pair in few.by_judgement.of_these_raters(0.95)]]
    assert open_pairs
    for pair in open_pairs:
        assert pair.these_raters is not None
        assert pair.these_raters.p_adjusted < 0.05 <= pair.p_adjusted
        assert pair.low < pair.these_raters.low < pair.these_raters.high < pair.high
    text = " ".join(_text(few).split())
    assert "Intervals and p of raters like these 3; H2: of these 3 alone" in text
    assert "3 raters are few: intervals, ranks and p-values are for raters like them" in text
    assert f"these differ, too: {open_pairs[0].a} and {open_pairs[0].b.replace('(real)', 'real text')} (p " in text
    assert "may be as good to raters like these 3, who are few." in text
    assert " page" not in text
    document = few.to_dict()
    assert "n_pages" not in document["sizes"]
    assert set(document["h1"]["pairs"][0]["these_raters"]) == {"low", "high", "p", "p_adjusted"}
    assert document["h2"]["pairs"][0]["these_raters"] is None  # H2 is of these raters

    many = analyse(few_raters(np.random.default_rng(1), 25, {"(real)": -1.2, "a": 1.0, "b": -0.4, "c": 1.5}))
    assert not many.by_judgement.of_these_raters(0.95)
    assert "raters are few" not in _text(many)


def test_every_kind_of_analysis_can_be_shown() -> None:
    for judgements in (
        RATINGS,
        from_table({"a": ("g", (1,))}),
        from_table({"a": (None, (1, 0)), "b": (None, (1, 1))}),
        from_table({"a": (None, (1, 1)), "b": ("g", (1, 1))}, comments=[Comment("a", "r0", "vague")]),
    ):
        assert "Judgements" in _text(analyse(judgements))
        assert "Judgements" in to_markdown(analysis_document(analyse(judgements)))
    assert "n/a" in _text(analyse(from_table({"a": (None, (1, 1)), "b": ("g", (1, 1))})))
    assert "Mean ratings" in _text(analyse(RATINGS))


def test_ratings_are_never_told_in_per_cent() -> None:
    rows = {str(n): (None if n % 2 else "g", (3.0, 1.0 + n % 5)) for n in range(12)}
    analysis = analyse(from_table(rows, scale="number"))
    text = _text(analysis)
    assert analysis.raters[0].flags == ("one answer",)
    (row,) = (line for line in text.splitlines() if "answered 3 to all" in line)
    assert row.split()[-6:] == ["12", "3.00", "3", "to", "3", "n/a"]
    assert "numbers from 1 to 5" in text
    assert "%" not in text.replace("95 %", "")
    assert "votes" not in text.lower()
    files = document_files(analysis_document(analysis))
    assert (
        str(files["raters.csv"]).splitlines()[0]
        == "rater,n,mean_rating,lowest,highest,correlation,seconds,flags,reasons"
    )
    assert str(files["items.csv"]).splitlines()[0] == "item,generator,n,mean_rating,variance,text"


def test_texts_and_names_cannot_steer_a_terminal() -> None:
    items = (Item("a\x1b[31m", "1", "evil \x1b]0;title\x07 text", "g\x1b[2J"), Item("b", "2", "x", None))
    judgements = Judgements(
        items, ("r\x1b[1m", "s"), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([1.0, 1, 0, 1]),
        "real-or-fake", notes=("left out: \x1b[5m (1)",),
    )  # fmt: skip
    assert "\x1b" not in _text(analyse(judgements))


def test_figures_name_everything_and_are_the_same_twice() -> None:
    found = analyse(STUDY)
    first, second = analysis_document(found).figures, analysis_document(found).figures
    assert [one.name for one in first] == ["accuracy", "generators"]
    assert [one.svg for one in first] == [one.svg for one in second]
    texts = ["".join(element.itertext()) for element in ElementTree.fromstring(first[1].svg).iter()]
    for name in ("lstm", "gan", "real text"):
        assert name in texts
    assert found.by_judgement.accuracy is not None
    assert f"all texts {100 * found.by_judgement.accuracy.value:.1f}, " in first[0].description
    assert [one.name for one in analysis_document(analyse(RATINGS)).figures] == ["generators"]
    assert analysis_document(analyse(from_table({"a": (None, (1, 0))}))).figures[0].name == "accuracy"


def test_files_can_be_read_again(tmp_path: Path) -> None:
    found = analyse(STUDY)
    files = document_files(analysis_document(found), stem="analysis")
    assert set(files) == {
        *("analysis.md", "analysis.html", "analysis.tex", "items.csv", "disputed.csv", "raters.csv"),
        *("figures/accuracy.svg", "figures/generators.svg"),
    }
    write_files(tmp_path / "out", files)
    with (tmp_path / "out" / "items.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    votes = STUDY.votes()
    assert [row["item"] for row in rows] == [item.id for item in STUDY.items]
    assert [float(row["share_real"]) for row in rows] == (votes[:, 1] / votes.sum(axis=1)).tolist()
    with (tmp_path / "out" / "raters.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(STUDY.raters)
