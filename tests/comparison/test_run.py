"""The whole comparison: what it contains, that it repeats, resumes and grows, and that known orders are found."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import sentences, shuffled
from textassay.comparison.comparison import FLOOR, TRAIN, Comparison
from textassay.comparison.run import compare
from textassay.corpus.corpus import Corpus
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.estimate import Estimate
from textassay.inspection.finding import HELDOUT
from textassay.metric import discrepancy
from textassay.metric.discrepancy import dd

REAL = sentences(600, 1)
GENERATED = {
    "close": sentences(600, 2, shift=0.1),
    "far": sentences(600, 3, shift=0.9),
    "shuffled": shuffled(sentences(600, 4), 0),
}
FAST = ["dd", "bleu(order=2)", "self-bleu(order=2)", "length"]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(GENERATED, REAL, real_heldout=sentences(500, 8), seed=1, effort="quick", explain=False)


def test_every_cell_is_there(comparison: Comparison) -> None:
    rows = [FLOOR, HELDOUT, *GENERATED]
    assert [(r.generator, r.metric) for r in comparison.results] == [
        (row, metric) for metric in comparison.metrics for row in rows
    ]
    assert all(result.estimate is not None for result in comparison.results)
    assert all((result.matched is None) == (result.generator == FLOOR) for result in comparison.results)
    assert len(comparison.pairs) == 3 * len(comparison.metrics)
    assert len(comparison.ranks) == 3 * len(comparison.metrics)


def test_sizes_are_those_promised(comparison: Comparison) -> None:
    for metric in comparison.metrics:
        floor = comparison.result(FLOOR, metric).estimate
        cell = comparison.result("far", metric)
        assert floor is not None
        assert cell.estimate is not None
        assert cell.matched is not None
        assert cell.estimate.sizes["n_generated"] == 600
        assert floor.sizes["n_generated"] == cell.matched.sizes["n_generated"] == 300


def test_the_known_order_is_found_and_the_floor_is_near_zero(comparison: Comparison) -> None:
    ranks = {rank.generator: (rank.low, rank.high) for rank in comparison.ranks if rank.metric == "dd"}
    assert ranks["close"] == (1, 1)
    floor = comparison.result(FLOOR, "dd").estimate
    assert floor is not None
    assert floor.interval is not None
    assert floor.interval.low < 0.05
    pair = next(pair for pair in comparison.pairs if (pair.metric, pair.a, pair.b) == ("dd", "close", "far"))
    assert pair.difference is not None
    assert pair.high is not None
    assert pair.high < 0
    # Shuffled words keep every word: only the order gives them away.
    vocabulary = comparison.result("shuffled", "vocabulary(of=tokens)").estimate
    assert vocabulary is not None
    assert vocabulary.value < 0.01


def test_the_document_has_the_keys_of_the_contract_and_round_trips(comparison: Comparison) -> None:
    document = comparison.to_dict()
    text = json.dumps(document, allow_nan=False)
    for key in ("version", "real", "results", "pairs", "ranks", "findings", "warnings"):
        assert key in document
    for key in ("generator", "metric", "value", "low", "high", "better", "signature", "details"):
        assert key in document["results"][0]
    assert set(document["pairs"][0]) == {"metric", "a", "b", "difference", "low", "high", "p", "p_adjusted"}
    assert Comparison.from_dict(json.loads(text)).to_dict() == json.loads(text)


@pytest.mark.slow
@pytest.mark.feature("A-11")
def test_same_seed_gives_the_same_document_at_any_number_of_workers() -> None:
    def run(workers: int, seed: int) -> dict[str, Any]:
        generated = {name: GENERATED[name][:200] for name in ("close", "shuffled")}
        return compare(generated, REAL[:200], metrics=FAST, folds=3, seed=seed, workers=workers).to_dict()

    found = run(1, 0)
    assert found == run(2, 0)
    assert found != run(1, 1)


def test_a_comparison_resumes_and_grows_without_computing_again(tmp_path: Path) -> None:
    real, generated = REAL[:200], {name: texts[:200] for name, texts in GENERATED.items()}
    settings: dict[str, Any] = {"folds": 2, "effort": "quick"}

    def run(generators: list[str], metrics: list[str]) -> Comparison:
        chosen = {name: generated[name] for name in generators}
        return compare(chosen, real, metrics=metrics, out=tmp_path, **settings)

    kept = tmp_path / "estimates"
    first = run(["close"], ["length"])
    written = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    grown = run(["close", "far"], FAST)
    assert {file: file.stat().st_mtime_ns for file in written} == written
    assert grown.result("close", "length") == first.result("close", "length")
    fresh = compare({name: generated[name] for name in ("close", "far")}, real, metrics=FAST, **settings)
    assert grown.to_dict() == fresh.to_dict()


def test_default_metrics_that_need_more_sentences_are_null_with_a_reason() -> None:
    comparison = compare({"few": GENERATED["far"][:8]}, REAL[:8])
    result = comparison.result("few", "dd")
    assert result.estimate is None
    assert result.error is not None
    assert result.error == "dd needs at least 50 texts a side, the generated corpus has 8"
    assert comparison.result("few", "bleu(order=2)").estimate is not None
    document = comparison.to_dict()
    cell = next(c for c in document["results"] if (c["generator"], c["metric"]) == ("few", "dd"))
    assert cell["value"] is None
    assert cell["error"] == result.error
    with pytest.raises(TooFewSentencesError):
        compare({"few": GENERATED["far"][:8]}, REAL[:8], metrics=["dd"])


@pytest.mark.parametrize("folds", [5, 3])
def test_a_heldout_file_that_differs_is_called_out(folds: int) -> None:
    heldout = sentences(600, 7, shift=0.8)
    settings: dict[str, Any] = {"metrics": ["dd"], "folds": folds, "effort": "quick", "explain": False}
    comparison = compare({"far": GENERATED["far"]}, REAL, real_heldout=heldout, **settings)
    assert any("held-out real text itself differs" in warning for warning in comparison.warnings)


def test_a_heldout_file_of_the_same_text_is_not_called_out(comparison: Comparison) -> None:
    assert not any("held-out" in warning for warning in comparison.warnings)


def test_training_text_of_another_source_is_called_out() -> None:
    train = sentences(900, 7, shift=0.8)
    comparison = compare(
        {"far": GENERATED["far"]}, REAL, train=train, metrics=["dd", "memorization"], effort="quick", explain=False
    )
    row = comparison.result(TRAIN, "dd")
    assert row.estimate is not None
    assert row.matched is not None
    assert row.estimate.sizes["n_generated"] == len(REAL)
    assert row.estimate.details["drawn_from"] == 900
    assert row.matched.sizes["n_generated"] == len(REAL) // 2
    assert row.floor == comparison.result(FLOOR, "dd").estimate
    assert any(warning.startswith("the training text itself differs from the real") for warning in comparison.warnings)
    assert comparison.result(TRAIN, "memorization").estimate is None
    assert "memorization searches for copies" in str(comparison.result(TRAIN, "memorization").error)
    assert comparison.generators == ("far",)
    assert not comparison.pairs
    assert [rank.generator for rank in comparison.ranks if rank.metric == "dd"] == ["far"]
    seeds = [
        compare({"far": GENERATED["far"]}, REAL, train=train, metrics=["length"], seed=seed).result(TRAIN, "length")
        for seed in (0, 1)
    ]
    assert float(seeds[0].estimate or math.nan) != float(seeds[1].estimate or math.nan)  # another part is drawn


def test_training_text_of_the_same_source_is_not_called_out() -> None:
    comparison = compare(
        {"far": GENERATED["far"]}, REAL, train=sentences(500, 8), metrics=["dd", "mmd"], effort="quick", explain=False
    )
    row = comparison.result(TRAIN, "dd").estimate
    assert row is not None
    assert row.sizes["n_generated"] == 500
    assert "drawn_from" not in row.details
    assert not any("training text" in warning for warning in comparison.warnings)


def test_training_text_that_is_the_real_text_is_refused() -> None:
    with pytest.raises(InputError, match=r"\(train\) is the real text itself.*have not seen"):
        compare({"far": GENERATED["far"]}, REAL, train=REAL, metrics=["length"])


def test_features_of_the_training_text_may_be_left_out() -> None:
    rng = np.random.default_rng(0)
    train = sentences(80, 5)
    features = {"real": rng.normal(size=(len(REAL), 3)), "far": rng.normal(size=(len(GENERATED["far"]), 3))}
    more = {**features, "train": rng.normal(size=(len(train), 3))}
    for given, known in ((features, False), (more, True)):
        comparison = compare({"far": GENERATED["far"]}, REAL, train=train, features=given, metrics=["fed"])
        assert (comparison.result(TRAIN, "fed(encoder=given)").estimate is not None) == known
    with pytest.raises(OptionError, match="unknown name in --features 'train'"):
        compare({"far": GENERATED["far"]}, REAL, features=more, metrics=["fed"])


def test_a_generator_smaller_than_the_floor_is_ranked_beside_real_text_of_its_size() -> None:
    generated = {"small": sentences(60, 6), "large": GENERATED["far"]}
    comparison = compare(generated, REAL, metrics=["distinct-n(order=1)"])
    assert any("small has 60 texts" in warning for warning in comparison.warnings)
    metric = "distinct-n(order=1)"
    small, large = comparison.result("small", metric), comparison.result("large", metric)
    assert small.floor is not None
    assert small.matched is not None
    assert small.floor.sizes["n_generated"] == small.matched.sizes["n_generated"] == 60
    assert large.floor == comparison.result(FLOOR, metric).estimate
    # Few sentences repeat few words: without its own floor the small sample would look far from real text.
    assert abs(float(small.matched) - float(small.floor)) < 0.05 < float(small.matched) - float(large.floor or 0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"generated": {}}, OptionError, "must name at least one generator"),
        ({"generated": {"(real)": REAL}}, OptionError, "must not be named"),
        ({"generated": {"(real) of 300 sentences": REAL}}, OptionError, "must not be named"),
        ({"generated": {"a": REAL}}, InputError, "is the real text itself"),
        ({"generated": {"a": ["one"]}}, TooFewSentencesError, "at least 2"),
        ({"generated": {"a": []}}, InputError, "a"),
        ({"generated": {"a": "a string"}}, InputError, "a"),
        ({"level": 1.0}, OptionError, "level"),
        ({"seed": -1}, OptionError, "seed"),
        ({"folds": 0}, OptionError, "folds"),
        ({"max_tokens": 0}, OptionError, "max_tokens"),
        ({"workers": 0}, OptionError, "workers"),
        ({"metrics": []}, OptionError, "no metric"),
        ({"tokenizer": "word"}, OptionError, "did you mean words"),
    ],
)
def test_wrong_settings_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    settings: dict[str, Any] = {"generated": {"close": GENERATED["close"]}, "metrics": ["length"], **arguments}
    with pytest.raises(error, match=message):
        compare(real=REAL, **settings)


def test_kinds_of_arguments_are_checked() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"generated": [REAL]}, r"generated\[0\] must be a str, got list"),
        ({"generated": {1: REAL}}, "got 1"),
        ({"generated": GENERATED, "metrics": "dd"}, r"such as \['dd'\]"),
        ({"generated": GENERATED, "seed": 1.5}, "seed must be a whole number of at least 0, got 1.5"),
        ({"generated": GENERATED, "folds": None}, "folds must be a whole number"),
    ]
    for arguments, message in wrong:
        with pytest.raises((InputError, OptionError), match=message):
            compare(real=REAL, **{"metrics": ["length"], **arguments})


def test_a_seed_of_numpy_is_written_as_a_number() -> None:
    int_like: Any = np.int64(3)
    comparison = compare({"far": GENERATED["far"]}, REAL, metrics=["length"], seed=int_like)
    assert json.loads(json.dumps(comparison.to_dict()))["seed"] == 3
    assert repr(comparison) == "<Comparison of far with real by length>"


def test_normalising_and_cutting_apply_to_both_sides() -> None:
    loud = [text.upper().replace(" .", ".") for text in GENERATED["close"]]
    settings: dict[str, Any] = {"metrics": ["dd"], "folds": 2, "effort": "quick", "explain": False}
    plain = compare({"loud": loud}, REAL, **settings)
    repaired = compare({"loud": loud}, REAL, normalize=True, max_tokens=6, **settings)
    worse, better = (float(c.result("loud", "dd(folds=2)").estimate or math.nan) for c in (plain, repaired))
    assert worse > 0.95
    assert better < 0.4
    lengths = compare({"far": GENERATED["far"]}, REAL, metrics=["length"], max_tokens=1).result("far", "length")
    assert float(lengths.estimate or math.nan) == 0.0


def test_held_out_text_without_inputs_is_a_null_even_where_the_metric_was_named() -> None:
    rng = np.random.default_rng(0)
    of_real, of_far = rng.normal(-20, 3, len(REAL)), rng.normal(-30, 3, len(GENERATED["far"]))
    beside = {"far": (of_far, of_real)}
    comparison = compare(
        {"far": GENERATED["far"]},
        REAL,
        real_heldout=sentences(500, 5),
        metrics=["huse"],
        log_probs=beside,
        ratings=beside,
        explain=False,
    )
    assert comparison.result("far", "huse").estimate is not None
    heldout = comparison.result(HELDOUT, "huse")
    assert heldout.estimate is None
    assert "log-prob" in str(heldout.error)


def test_the_explanation_and_dd_are_one_piece_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    generated = {"far": GENERATED["far"]}
    plain = compare(generated, REAL, metrics=["dd"], folds=2, effort="quick", explain=False)
    sizes = []
    fit = discrepancy._cross_fits

    def counted(generated: Corpus, real: Corpus, *settings: Any) -> Any:
        sizes.append((len(real), len(generated)))
        return fit(generated, real, *settings)

    monkeypatch.setattr(discrepancy, "_cross_fits", counted)
    explained = compare(generated, REAL, metrics=["dd"], folds=2, effort="quick")
    assert sizes.count((600, 600)) == 1
    assert explained.results == plain.results
    assert explained.explanations[0].value == float(explained.result("far", "dd(folds=2)").estimate or math.nan)


def test_an_undefined_value_has_its_reason() -> None:
    comparison = compare({"one": ["a", "b"] * 30}, ["a", "b", "c"] * 20, metrics=["distinct-n(order=2)"])
    document = comparison.to_dict()["results"]
    assert [result["value"] for result in document] == [None, None]
    assert all("no generated sentence has 2 tokens" in result["error"] for result in document)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"paper": True, "folds": 3}, "paper has one split"),
        ({"encoder": "lsa", "features": {"real": [[1.0]], "one": [[1.0]]}}, "cannot be combined"),
        ({"effort": "slow"}, "unknown effort"),
    ],
)
def test_settings_that_exclude_each_other(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        compare({"one": ["b"]}, ["a"], metrics=["length"], **settings)


def test_text_that_dd_learns_from_and_is_not_tested_on(tmp_path: Path) -> None:
    texts = sentences(600, seed=7)
    real, more, generated = texts[:300], texts[300:], sentences(300, seed=8)
    settings: dict[str, Any] = {"metrics": ["dd"], "effort": "quick", "folds": 2, "seed": 1}
    found = compare({"model": generated}, real, fit_real=more, out=tmp_path, **settings)
    estimates = {row.generator: row.estimate for row in found.results if row.estimate is not None}
    assert set(estimates) == {FLOOR, "model"}
    assert all("fit_real:300-" in str(estimate.signature) for estimate in estimates.values())
    own = dd(generated, real, fit_real=more, effort="quick", folds=2, seed=1)
    assert estimates["model"].value == own.value == found.explanations[0].value
    assert own.value != dd(generated, real, effort="quick", folds=2, seed=1).value
    (tmp_path / "results.json").write_text(json.dumps(found.to_dict()))
    with pytest.raises(InputError, match=r"results for other settings \(with --fit-real before, now without\)"):
        compare({"model": generated}, real, out=tmp_path, **settings)
    again = compare({"model": generated}, real, fit_real=more, out=tmp_path, **settings)
    assert [row.estimate and row.estimate.value for row in again.results] == [
        row.estimate and row.estimate.value for row in found.results
    ]


def test_real_text_that_is_tested_may_not_be_learnt_from() -> None:
    texts = sentences(600, seed=7)
    with pytest.raises(InputError, match=r"real texts .* occur in the text of --fit-real"):
        compare({"model": sentences(300, seed=8)}, texts[:300], fit_real=texts[100:], metrics=["length"])


def _estimate(found: Comparison, name: str) -> Estimate:
    estimate = found.result(name, "dd").estimate
    assert estimate is not None
    return estimate


def test_dd_learns_from_the_training_text_of_the_generators() -> None:
    texts = sentences(900, seed=7)
    real, train, generated = texts[:300], texts[300:], texts[300:500] + sentences(100, seed=9)
    settings: dict[str, Any] = {"effort": "quick", "folds": 2, "seed": 1}
    found = compare({"model": generated}, real, train=train, metrics=["dd"], **settings)
    own = dd(generated, real, trained_on=train, **settings)
    assert _estimate(found, "model").value == own.value == found.explanations[0].value
    assert own.value > dd(generated, real, **settings).value
    assert "trained_on:" in str(_estimate(found, "model").signature)
    assert "trained_on:" in str(_estimate(found, FLOOR).signature)
    assert "trained_on:" not in str(_estimate(found, TRAIN).signature)


def test_dd_does_not_learn_from_training_text_in_which_real_text_stands() -> None:
    texts = sentences(900, seed=7)
    real, generated = texts[:300], sentences(300, seed=8)
    settings: dict[str, Any] = {"effort": "quick", "folds": 2, "seed": 1}
    found = compare({"model": generated}, real, train=texts[200:], metrics=["dd"], explain=False, **settings)
    assert "trained_on" not in str(_estimate(found, "model").signature)
    assert _estimate(found, "model").value == dd(generated, real, **settings).value
    assert "dd did not learn from the training text, since too many real texts occur in it" in found.warnings
