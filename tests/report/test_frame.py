"""Every public result becomes a data frame in full precision, with the columns that the page of integrations names."""

import math
import re
import sys
from pathlib import Path
from typing import Any

import narwhals as nw
import pytest

from made_up_comparisons import make_comparison, make_explanation, make_findings
from textassay.comparison.planning import plan
from textassay.display import Displayed, Library
from textassay.errors import InputError, OptionError
from textassay.estimate import Estimate, Interval, Signature
from textassay.inspection.finding import Findings
from textassay.report.show import document

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
ESTIMATE = Estimate(
    "bleu(order=4)", 0.1 + 0.2, Interval(0.2, 0.4, 0.95, "t"), "fraction", "higher", {"n_generated": 10}, Signature({})
)
RESULTS: dict[str, Displayed] = {
    "Comparison": make_comparison(("a", "b")),
    "Estimate": ESTIMATE,
    "Explanation": make_explanation("a"),
    "Findings": Findings(make_findings(("a", "b"))),
    "Plan": plan(),
}


@pytest.mark.parametrize("name", RESULTS)
def test_columns_are_those_that_the_page_names(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` \|.*\| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    named = re.findall(r"`(\w+)`", row)
    libraries: tuple[Library, ...] = ("pandas", "polars", "pyarrow")
    first, *others = (nw.from_native(RESULTS[name].to_frame(library)) for library in libraries)
    assert first.columns == named
    for other in others:
        assert other.columns == named
        pairs = zip(first.to_dict(as_series=False).values(), other.to_dict(as_series=False).values(), strict=True)
        assert all(_plain(ours) == _plain(theirs) for ours, theirs in pairs)


def _plain(values: list[Any]) -> list[Any]:
    return [None if value is None or value != value else value for value in values]


MISSING = {"pandas": "'textassay.pandas.'", "polars": "polars", "pyarrow": "'textassay.parquet.'"}


def test_a_library_that_is_unknown_or_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="Valid: pandas, polars, pyarrow"):
        ESTIMATE.to_frame("panda")  # type: ignore[call-overload]
    for library, install in MISSING.items():
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=f"to_frame.'{library}'.* needs .*pip install {install}$"):
            ESTIMATE.to_frame(library)  # type: ignore[call-overload]


def test_an_estimate_is_one_row_in_full_precision() -> None:
    frame = ESTIMATE.to_frame()
    assert frame.loc[0, "value"] == 0.1 + 0.2
    assert (frame.loc[0, "low"], frame.loc[0, "n_generated"], frame.loc[0, "metric"]) == (0.2, 10, "bleu(order=4)")
    undefined = Estimate("dd", math.nan, None, "fraction", "lower", {}, Signature({})).to_frame()
    assert undefined[["value", "low", "high", "level"]].isna().all(axis=None)
    assert undefined["value"].dtype == float


def test_an_explanation_is_a_row_for_each_phrase_of_either_side() -> None:
    explanation = make_explanation("a")
    frame = explanation.to_frame()
    assert list(frame[frame["side"] == "generated"]["ngram"]) == [one.ngram for one in explanation.overused]
    assert list(frame[frame["side"] == "real"]["share_real"]) == [one.share_real for one in explanation.more_real]


def test_findings_are_a_row_each_and_none_is_no_row() -> None:
    findings = make_findings(("a", "b"))
    assert list(Findings(findings).to_frame()["kind"]) == [one.kind for one in findings]
    assert len(findings[0].to_frame()) == 1
    assert list(Findings().to_frame().columns) == list(findings[0].to_frame().columns)


def test_a_report_gives_the_table_of_its_csv_file() -> None:
    comparison = make_comparison(("a", "b"))
    frame = document(comparison).to_frame()
    assert len(frame) == len(comparison.results)
    assert {"matched_low", "rank_high"} <= set(frame.columns)
    with pytest.raises(InputError, match="has no table of numbers"):
        document(plan()).to_frame()
