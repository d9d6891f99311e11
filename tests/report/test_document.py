"""The folder of results: what is in it, that it is all there or as before, and that it is the same every time."""

import csv
import errno
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up_comparisons import (
    FEW_METRICS,
    HOSTILE,
    METRICS,
    METRICS_OF_ALL_FIGURES,
    REVIEWS,
    N,
    make_comparison,
    make_findings,
    make_texts,
)
from textassay.comparison.comparison import FLOOR, Comparison
from textassay.comparison.document import read_comparison, to_json, write_report
from textassay.corpus.csv_files import plain_cell
from textassay.errors import InputError, OutputError

GENERATORS = ("trigram", "5-gram", "shuffler")


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} stands in the document")


def test_json_keeps_the_contract_and_holds_no_nan() -> None:
    comparison = make_comparison(GENERATORS, missing=True, findings=make_findings(GENERATORS))
    document = json.loads(to_json(comparison), parse_constant=_refuse)
    assert {"version", "real", "results", "pairs", "ranks", "findings", "warnings"} <= set(document)
    keys = {"generator", "metric", "value", "low", "high", "better", "signature", "details"}
    assert all(keys <= set(result) for result in document["results"])
    assert {result["generator"] for result in document["results"]} == {FLOOR, *GENERATORS}
    keys = {"metric", "a", "b", "difference", "low", "high", "p", "p_adjusted"}
    assert all(keys == set(pair) for pair in document["pairs"])
    missing = [result for result in document["results"] if result["value"] is None]
    assert {(result["generator"], result["metric"]) for result in missing} >= {("shuffler", "length")}
    assert all(result["error"] for result in missing if result["signature"] is None)


def test_comparison_round_trips_through_the_folder(tmp_path: Path) -> None:
    comparison = make_comparison(GENERATORS, findings=make_findings(GENERATORS))
    write_report(comparison, tmp_path, texts=make_texts(GENERATORS))
    again = read_comparison(tmp_path)
    assert again == comparison
    assert Comparison.from_dict(comparison.to_dict()) == comparison


@pytest.mark.parametrize(("key", "value"), [("better", "hi-1er"), ("generator", "nobody"), ("metric", "none")])
def test_results_that_were_changed_by_hand_are_refused(tmp_path: Path, key: str, value: str) -> None:
    write_report(make_comparison(GENERATORS, metrics=FEW_METRICS), tmp_path)
    document = json.loads((tmp_path / "results.json").read_text())
    next(result for result in document["results"] if result["generator"] == GENERATORS[0])[key] = value
    (tmp_path / "results.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="is not a comparison written by textassay"):
        read_comparison(tmp_path)


def test_undefined_values_stay_undefined(tmp_path: Path) -> None:
    write_report(make_comparison(GENERATORS, missing=True), tmp_path)
    estimate = read_comparison(tmp_path).result("trigram", "bleu(order=5)").estimate
    assert estimate is not None
    assert math.isnan(estimate.value)


def test_writes_exactly_the_files_of_the_contract(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    paths = write_report(make_comparison(GENERATORS, metrics=FEW_METRICS), out, texts=make_texts(GENERATORS))
    assert sorted(str(path.relative_to(out)) for path in paths) == sorted(_contents(out))
    assert {path.name for path in out.iterdir()} == {
        "results.json",
        "results.csv",
        "results.md",
        "results.tex",
        "sentences.csv",
        "report.html",
        "figures",
    }
    figures = {path.name for path in (out / "figures").iterdir()}
    written = {"forest-dd.svg", "forest-overlap-with-real-text.svg", "scores.svg", "overview.svg", "pairs-dd.svg"}
    assert written | {"ranks.svg"} <= figures


def test_same_comparison_same_bytes(tmp_path: Path, drawings: dict[bytes, str]) -> None:
    for name in ("one", "two"):
        drawings.clear()
        comparison = make_comparison(GENERATORS, metrics=METRICS_OF_ALL_FIGURES, explained=True)
        write_report(comparison, tmp_path / name, texts=make_texts(GENERATORS))
    assert _contents(tmp_path / "one") == _contents(tmp_path / "two")


def test_redraw_keeps_sentences_and_gives_the_same_files(tmp_path: Path) -> None:
    comparison = make_comparison(GENERATORS, metrics=FEW_METRICS)
    write_report(comparison, tmp_path, texts=make_texts(GENERATORS))
    before = _contents(tmp_path)
    write_report(read_comparison(tmp_path), tmp_path)
    assert _contents(tmp_path) == before


def test_redraw_gives_every_kind_of_figure_and_removes_those_that_are_gone(tmp_path: Path) -> None:
    comparison = make_comparison(GENERATORS, metrics=METRICS_OF_ALL_FIGURES, explained=True)
    write_report(comparison, tmp_path)
    before = _contents(tmp_path)
    for kind in ("curve", "forest", "frontier", "lengths", "pairs", "plane", "positions", "prefixes", "ranks", "roc"):
        assert any(name.startswith(f"figures/{kind}") for name in before)
    write_report(read_comparison(tmp_path), tmp_path)
    assert _contents(tmp_path) == before
    write_report(make_comparison(("one",), metrics={"length": "lower"}), tmp_path)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"forest-length.svg"}


def test_sentences_hold_every_text_and_score_exactly(tmp_path: Path) -> None:
    comparison, texts = make_comparison(GENERATORS), make_texts(GENERATORS)
    write_report(comparison, tmp_path, texts=texts)
    with (tmp_path / "sentences.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["generator", "side", "line", "text", "dd", *(f"bleu(order={n})" for n in (2, 3, 4, 5))]
    assert len(rows) == len(GENERATORS) * 2 * N
    evidence = comparison.result("5-gram", "dd").estimate.evidence  # type: ignore[union-attr]
    assert evidence is not None
    for side, scores in (("generated", evidence.generated_scores), ("real", evidence.real_scores)):
        of_side = [row for row in rows if (row["generator"], row["side"]) == ("5-gram", side)]
        assert [plain_cell(row["text"]) for row in of_side] == list(texts["5-gram" if side == "generated" else FLOOR])
        assert [int(row["line"]) for row in of_side] == list(range(1, N + 1))
        np.testing.assert_array_equal([float(row["dd"]) for row in of_side], scores)
    assert {row["bleu(order=2)"] for row in rows if row["side"] == "real"} == {""}


def test_texts_that_do_not_match_the_scores_are_left_out(tmp_path: Path) -> None:
    texts = {**make_texts(GENERATORS), "trigram": ["one"]}
    write_report(make_comparison(GENERATORS, metrics=FEW_METRICS), tmp_path, texts=texts)
    with (tmp_path / "sentences.csv").open(encoding="utf-8", newline="") as file:
        sides = {(row["generator"], row["side"]) for row in csv.DictReader(file)}
    assert ("trigram", "generated") not in sides
    assert ("trigram", "real") in sides


@pytest.mark.parametrize("n_moves", [0, 4, 8])
def test_failure_in_the_middle_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_moves: int
) -> None:
    out = tmp_path / "out"
    write_report(make_comparison(GENERATORS, metrics=FEW_METRICS), out, texts=make_texts(GENERATORS))
    (out / "mine.txt").write_text("not ours")
    before = _contents(out)
    real_replace = Path.replace
    moved = 0

    def replace(self: Path, target: Any) -> Path:
        nonlocal moved
        if "old" not in self.parts and ".writing" in str(self):
            if moved == n_moves:
                raise OSError(errno.ENOSPC, "No space left on device")
            moved += 1
        return real_replace(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(OutputError, match="No space left on device") as caught:
        write_report(
            make_comparison(("other", "names", "here"), metrics=FEW_METRICS), out, texts=make_texts(("other",))
        )
    assert "\n" not in str(caught.value)
    assert _contents(out) == before
    with pytest.raises(OutputError):
        write_report(make_comparison(GENERATORS, metrics=FEW_METRICS), tmp_path / "fresh")
    assert not (tmp_path / "fresh").exists()


def test_a_report_of_another_seed_is_not_replaced(tmp_path: Path) -> None:
    write_report(make_comparison(GENERATORS, metrics=FEW_METRICS), tmp_path)
    before = _contents(tmp_path)
    with pytest.raises(InputError, match="seed 0, now 1"):
        write_report(make_comparison(GENERATORS, seed=1, metrics=FEW_METRICS), tmp_path)
    assert _contents(tmp_path) == before
    (tmp_path / "results.json").unlink()
    write_report(make_comparison(GENERATORS, seed=1, metrics=FEW_METRICS), tmp_path)


def test_figures_of_names_that_are_gone_are_removed_and_others_stay(tmp_path: Path) -> None:
    write_report(make_comparison(("gone", "b"), metrics=FEW_METRICS, explained=True), tmp_path)
    (tmp_path / "figures" / "mine.svg").write_text("mine")
    write_report(make_comparison(("here", "b"), metrics=FEW_METRICS, explained=True), tmp_path)
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"curve-here.svg", "mine.svg"} <= names
    assert "curve-gone.svg" not in names


def test_names_that_differ_in_odd_characters_only_get_files_of_their_own(tmp_path: Path) -> None:
    generators = ("a/b", "a b", "../x", "漢字")
    write_report(make_comparison(generators, metrics=FEW_METRICS, explained=True), tmp_path / "out")
    curves = {path.name for path in (tmp_path / "out" / "figures").glob("curve-*.svg")}
    assert len(curves) == len(generators)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"version": 1}', "\ufeff"])
def test_reading_what_is_no_comparison_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"results\.json is not a comparison") as caught:
        read_comparison(tmp_path)
    assert "\n" not in str(caught.value)


def test_reading_nothing_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"results\.json does not exist: give the folder"):
        read_comparison(tmp_path)


def test_hostile_texts_and_twelve_generators_are_written(tmp_path: Path) -> None:
    write_report(make_comparison(REVIEWS, missing=True), tmp_path, texts=make_texts(REVIEWS))
    assert (tmp_path / "report.html").stat().st_size < 2_500_000
    with (tmp_path / "sentences.csv").open(encoding="utf-8", newline="") as file:
        texts = [plain_cell(row["text"]) for row in csv.DictReader(file)][: len(HOSTILE)]
    assert texts == list(HOSTILE)


def test_metrics_that_nobody_knows_are_shown_like_others(tmp_path: Path) -> None:
    document = make_comparison(GENERATORS).to_dict()
    text = json.dumps(document).replace('"length"', '"new-metric(depth=2)"')
    write_report(Comparison.from_dict(json.loads(text)), tmp_path)
    assert "new-metric" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(METRICS) == len(read_comparison(tmp_path).metrics)
