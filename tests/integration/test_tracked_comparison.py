"""What a tracker gets of a comparison: every number, what it depends on, the report."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from made_up_comparisons import MANY_METRICS, make_comparison
from textassay.errors import TrackingError
from textassay.integration import log_comparison


class Kept:
    """A tracker that keeps what it gets."""

    def __init__(self) -> None:
        self.numbers: dict[str, float] = {}
        self.told: dict[str, str] = {}
        self.summary = ""
        self.files: dict[str, str] = {}
        self.ends: list[bool] = []

    def values(self, values: Mapping[str, float], *, step: int | None = None) -> None:
        assert step is None
        self.numbers |= values

    def settings(self, settings: Mapping[str, str]) -> None:
        self.told |= settings

    def page(self, summary: str, files: Sequence[Path]) -> None:
        self.summary, self.files = summary, {path.name: path.read_text(encoding="utf-8") for path in files}

    def close(self, *, failed: bool = False) -> None:
        self.ends.append(failed)


@pytest.fixture(autouse=True)
def _no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay.report.drawing.draw_svg", lambda figure: '<svg viewBox="0 0 1 1"></svg>')


def test_every_number_setting_and_signature_is_logged_with_the_report() -> None:
    comparison, kept = make_comparison(("a", "a b", "a-b"), metrics=MANY_METRICS), Kept()
    comparison.log(kept)
    n_defined = 0
    for result in comparison.results:
        estimate = result.estimate
        if estimate is None or not math.isfinite(estimate.value) or result.generator != "a":
            continue
        n_defined += 1
        key = f"{result.metric.replace('(', '-').replace('=', '-').replace(')', '').replace(',', '-')}/a"
        assert kept.numbers[key] == estimate.value
        if estimate.interval is not None:
            assert kept.numbers[f"{key}.low"] == estimate.interval.low
        assert kept.told[f"signature.{key}"] == str(estimate.signature)
    assert n_defined > 3
    assert {"dd/a-b", "dd/a-b-2", "dd/real"} <= set(kept.numbers)
    assert kept.numbers["n_real"] == comparison.real.n_sentences
    assert all(map(math.isfinite, kept.numbers.values()))
    assert kept.told["verdict.a"] == comparison.verdict("a")
    assert kept.told["real.fingerprint"] == comparison.real.fingerprint
    assert set(kept.files) == {"report.html", "results.json", "results.csv"}
    assert kept.files["report.html"].startswith("<!doctype html>")
    assert kept.summary == comparison.to_markdown(short=True).replace("### ", "# ", 1).replace("#### ", "## ")
    assert kept.ends == [False]


def test_what_has_no_value_is_told_and_a_failure_ends_the_run() -> None:
    comparison = make_comparison(("a",))
    first = next(one for one in comparison.results if one.generator == "a")
    results = tuple(replace(one, estimate=None, error="no") if one is first else one for one in comparison.results)
    kept = Kept()
    log_comparison(replace(comparison, results=results), kept)
    assert [key for key, value in kept.told.items() if value == "no"] == [f"undefined.{first.metric}/a"]

    class Full(Kept):
        def values(self, values: Mapping[str, float], *, step: int | None = None) -> None:
            raise OSError("no space left")

    broken = Full()
    with pytest.raises(TrackingError, match=r"^cannot log to Full: OSError: no space left$"):
        log_comparison(comparison, broken)
    assert broken.ends == [True]
