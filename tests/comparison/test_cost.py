"""What a comparison is said to cost: read off measured points, for as many runs as `compare` makes."""

import json
from importlib import import_module
from typing import Any

import pytest

from made_up import sentences
from textassay.comparison import Cost, Stage, compare, cost
from textassay.metric import Metric
from textassay.report import cost_document

MODULE = import_module("textassay.comparison.cost")
REAL, GENERATED, FEWER = sentences(400, 1), sentences(400, 2), sentences(100, 3)


def _point(texts: int, cpu: float, wall: float, megabytes: float) -> dict[str, float]:
    return {"texts": texts, "tokens": 10 * texts, "cpu": cpu, "wall": wall, "megabytes": megabytes}


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[dict[str, float]]]:
    """Invented points of stages, on a machine as fast as the measured one."""
    stages: dict[str, list[dict[str, float]]] = {}
    monkeypatch.setattr(MODULE, "_measured", lambda: {"probe_seconds": 1.0, "stages": stages})
    monkeypatch.setattr(MODULE, "probe", lambda: 1.0)
    return stages


def _stage(found: Cost, name: str) -> Stage:
    return next(stage for stage in found.stages if stage.name == name)


def test_between_points_a_power_of_size_is_found_and_beyond_them_it_goes_on(points: dict[str, Any]) -> None:
    points["fed"] = [_point(100, 1, 1, 10), _point(400, 8, 8, 40)]  # seconds rise as texts to the power 1.5
    inside = _stage(cost({"g": GENERATED[:100]}, REAL[:100], metrics=["fed"]), "fed")
    assert inside.seconds == pytest.approx(2**1.5 + 1 + 1)  # 200 texts; the two halves beside it are below the least
    assert inside.megabytes == pytest.approx(20)
    assert not inside.extrapolated
    beyond = _stage(cost({"g": GENERATED}, REAL, metrics=["fed"]), "fed")
    assert beyond.seconds == pytest.approx(8**1.5 + 2 * 4**1.5)
    assert beyond.extrapolated


def test_beyond_the_largest_point_time_rises_at_least_in_proportion(points: dict[str, Any]) -> None:
    points["fed"] = [_point(10, 1, 1, 1), _point(100, 1, 1, 1)]
    assert _stage(cost({"g": GENERATED}, REAL, metrics=["fed"]), "fed").seconds == pytest.approx(8 + 4 + 4)


def test_more_threads_shorten_what_ran_on_two(points: dict[str, Any]) -> None:
    points["reading"] = [_point(1, 8, 8, 1)]
    points["inspection"] = [_point(1, 8, 5, 1)]  # 2 s alone, 6 s shared by two
    one, four = (cost({"g": GENERATED}, REAL, metrics=["length"], workers=n) for n in (1, 4))
    size = sum(len(text.split()) for text in (*REAL, *GENERATED)) / 10
    assert [_stage(one, name).wall for name in ("reading", "inspection")] == pytest.approx([8 * size, 8 * size])
    assert [_stage(four, name).wall for name in ("reading", "inspection")] == pytest.approx([8 * size, 3.5 * size])


def test_a_slower_machine_takes_longer(points: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    points["fed"] = [_point(800, 3, 3, 1)]
    usual = cost({"g": GENERATED}, REAL, metrics=["fed"])
    monkeypatch.setattr(MODULE, "probe", lambda: 2.0)
    assert cost({"g": GENERATED}, REAL, metrics=["fed"]).seconds == pytest.approx(2 * usual.seconds)


def test_every_run_that_compare_makes_is_counted(points: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[tuple[int, int]] = []
    estimate = Metric.estimate

    def counting(metric: Metric, generated: Any, real: Any, *, seed: int = 0) -> Any:
        measured.append((len(generated), len(real)))
        return estimate(metric, generated, real, seed=seed)

    monkeypatch.setattr(Metric, "estimate", counting)
    texts = {"g": GENERATED, "few": FEWER}
    others: dict[str, Any] = {"real_heldout": sentences(300, 5), "train": sentences(900, 6)}
    compare(texts, REAL, metrics=["length"], **others)
    points["length"] = [_point(1, 1, 1, 1)]
    found = cost(texts, REAL, metrics=["length"], **others)
    assert _stage(found, "length").runs == len(measured)


def test_stages_that_were_never_measured_are_named(points: dict[str, Any]) -> None:
    points["length"] = [_point(100, 1, 1, 1)]
    found = cost({"g": GENERATED}, REAL, metrics=["length", "fed"])
    assert _stage(found, "fed").seconds is None
    text = " ".join(str(found).split())
    assert "Nothing is known of reading, inspection, encoder, fed" in text
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["stages"][-1]["seconds"] is None


def test_documents_have_points_of_their_own_and_no_bleu(points: dict[str, Any]) -> None:
    points.update({"length": [_point(1, 1, 1, 1)], "length documents": [{**_point(20, 2, 2, 1), "tokens": 300}]})
    documents = [f"# Item\n\n- it is {number}\n" for number in range(100)]  # 6 tokens each
    found = cost({"g": documents}, documents)
    n_tokens = 1200 + 600 + 600  # two of the three at the size of halves
    assert _stage(found, "length").seconds == pytest.approx(n_tokens / 300 * 2)
    assert not any("bleu" in stage.name for stage in found.stages)
    as_sentences = cost({"g": documents}, documents, metrics=["length"], unit="sentence")
    assert _stage(as_sentences, "length").seconds == pytest.approx(n_tokens / 10)


def test_explanations_are_counted_where_compare_makes_them(points: dict[str, Any]) -> None:
    names = [stage.name for stage in cost({"g": GENERATED}, REAL, metrics=["dd"]).stages]
    assert "explanations" in names
    for metrics, explain in ((["length"], True), (["dd"], False)):
        found = cost({"g": GENERATED}, REAL, metrics=metrics, explain=explain)
        assert "explanations" not in [stage.name for stage in found.stages]


def test_the_costs_of_every_default_metric_were_measured() -> None:
    for effort in ("quick", "default"):
        found = cost({"g": GENERATED}, REAL, effort=effort)
        assert [stage.name for stage in found.stages if stage.seconds is None] == []
        of_documents = {key for key in MODULE._measured()["stages"] if key.endswith(" documents")}
        kept = {"reading", "inspection", "encoder", "dd " + effort, "explanation " + effort, "compression-ratio"}
        assert {f"{key} documents" for key in kept} <= of_documents
        assert "of memory" in cost_document(found).answer[0]
