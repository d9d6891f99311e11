"""The names of `textassay` itself: metrics as functions, and whole tasks in one call, from whatever texts come in."""

import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import textassay as ta
from made_up import sentences
from textassay.errors import InputError, UnavailableError
from textassay.metric.catalog import CATALOG, parse_metric
from textassay_lab.meta_evaluation.known_truth_pairs import PAIR_NAMES

pytestmark = pytest.mark.usefixtures("stand_in_model")
REAL = sentences(120, 1)
GENERATED = sentences(100, 2, shift=0.3)
TRAIN = sentences(100, 3)
SHARED = {"seed", "independent", "text"}


def _function(name: str) -> Any:
    return getattr(ta, name.replace("-", "_"))


def _asked(name: str) -> dict[str, Any]:
    asked: dict[str, Any] = {"train": TRAIN} if "train" in CATALOG[name].needs else {}
    return asked | ({"folds": 2, "effort": "quick"} if name == "dd" else {})


def test_what_is_listed_is_public() -> None:
    assert [name for name in dir(ta) if not name.startswith("__")] == sorted(ta.__all__)


def test_the_help_of_compare_names_types() -> None:
    text = str(inspect.signature(ta.compare))
    assert "npt.ArrayLike" in text
    assert "numpy._typing" not in text


@pytest.mark.parametrize("name", CATALOG)
def test_the_parameters_of_a_metric_are_its_settings(name: str) -> None:
    parameters = inspect.signature(_function(name)).parameters
    assert list(parameters)[:2] == ["generated", "real"]
    assert (parameters["real"].default is None) == (not CATALOG[name].looks_at_real)
    declared = CATALOG[name].parameters
    named = {key: parameter.default for key, parameter in list(parameters.items())[2:] if key not in SHARED}
    assert named == {"level": 0.95} | {key: parameter.default for key, parameter in declared.items()}
    assert parameters["seed"].default == 0
    assert parameters["independent"].default is False


@pytest.mark.parametrize("name", [name for name in CATALOG if name not in ("conditional-dd", "huse")])
def test_every_metric_takes_lists_by_place_or_by_name(name: str) -> None:
    estimate = _function(name)(GENERATED, REAL, **_asked(name))
    assert estimate == _function(name)(generated=GENERATED, real=REAL, **_asked(name))
    settings = _asked(name)
    corpora = ta.corpora_from_texts({"generated": GENERATED, "real": REAL, "train": TRAIN})
    settings |= {"train": corpora["train"]} if "train" in settings else {}
    measured = ta.measure(parse_metric(name, **settings), corpora["generated"], corpora["real"])
    assert estimate.value == pytest.approx(measured.value)
    assert estimate.signature == measured.signature


@pytest.mark.parametrize("name", [name for name, entry in CATALOG.items() if not entry.looks_at_real])
def test_a_metric_that_does_not_look_at_real_text_does_without(name: str) -> None:
    alone = _function(name)(GENERATED, **_asked(name))
    assert alone.value == pytest.approx(_function(name)(GENERATED, REAL, **_asked(name)).value)
    assert "n_real" not in alone.sizes
    assert "|n:100|" in str(alone.signature)


def test_huse_takes_ratings_and_log_probs() -> None:
    rng = np.random.default_rng(0)
    of_generated, of_real = rng.normal(-20, 3, 100), rng.normal(-30, 3, 120)
    rated = rng.random(100), rng.random(120)
    alone = ta.huse(GENERATED, REAL, log_probs=(of_generated, of_real), ratings=rated)
    beside: dict[str, Any] = {"log_probs": {"g": (of_generated, of_real)}, "ratings": {"g": rated}}
    compared = ta.compare({"g": GENERATED}, REAL, metrics=["huse"], explain=False, **beside).result("g", "huse")
    assert compared.estimate is not None
    assert alone.value == compared.estimate.value
    with pytest.raises(InputError, match="log_probs must be 100 finite numbers"):
        ta.huse(GENERATED, REAL, log_probs=(of_real, of_generated), ratings=rated)


def test_huse_says_what_it_needs() -> None:
    with pytest.raises(UnavailableError, match="log-prob"):
        ta.huse(GENERATED, REAL)


def test_texts_come_as_lists_columns_tables_paths_and_corpora(tmp_path: Path) -> None:
    path = tmp_path / "real.txt"
    path.write_text("".join(f"{text}\n" for text in REAL), encoding="utf-8")
    forms = [
        tuple(REAL),
        pd.Series(REAL),
        pd.DataFrame({"text": REAL}),
        pa.array(REAL),
        path,
        str(path),
        ta.read_texts(path),
        ta.Corpus.from_texts(REAL),
    ]
    values = [ta.bleu(GENERATED, form, order=2) for form in forms]
    assert all(value == values[0] for value in values)
    compared = ta.compare({"g": GENERATED}, path, metrics=["bleu(order=2)"])
    assert compared.real.name == "real.txt"
    estimate = compared.result("g", "bleu(order=2)").estimate
    assert estimate is not None
    assert estimate.value == values[0].value


def test_a_single_text_is_no_path() -> None:
    with pytest.raises(InputError, match=r"^generated: expected many texts, got one str; put it in a list$"):
        ta.bleu("the cat sat", REAL)
    with pytest.raises(InputError, match=r"no file missing\.txt"):
        ta.bleu("missing.txt", REAL)


def test_all_texts_are_prepared_alike() -> None:
    loud = [text.upper() for text in REAL]
    assert ta.vocabulary(loud, REAL).value > 0.8
    assert ta.vocabulary(loud, REAL, lowercase=True).value == 0
    assert ta.vocabulary(loud, REAL, normalize=True).value == 0
    assert ta.length([f"{text} x" for text in REAL], REAL, max_tokens=1).value == 0
    assert math.isfinite(ta.bleu(REAL, REAL[1:], tokenizer="chars"))


def test_what_was_read_can_be_looped_over(tmp_path: Path) -> None:
    path = tmp_path / "real.txt"
    path.write_text("a b\nc\n", encoding="utf-8")
    file = ta.read_texts(path)
    assert list(file) == ["a b", "c"]
    assert (file[0], file[1:]) == ("a b", ("c",))
    assert list(ta.Corpus.from_texts(["a b", "c"])) == ["a b", "c"]


def test_inspection_takes_texts() -> None:
    findings = ta.inspect({"loud": [text.upper() for text in GENERATED]}, REAL, heldout=sentences(120, 5))
    assert "loud" in {finding.generator for finding in findings}
    assert [
        f for f in ta.inspect({"loud": [t.upper() for t in REAL[:90]]}, REAL, lowercase=True) if "case" in f.kind
    ] == []


def test_an_explanation_takes_texts() -> None:
    explanation = ta.explain(GENERATED, REAL, name="g", effort="quick", folds=2, halvings=1)
    assert explanation.generator == "g"


def test_a_plan_takes_texts_or_a_comparison() -> None:
    asked: dict[str, Any] = {"margins": [0.05], "folds": 2}
    planned = ta.plan({"g": GENERATED}, REAL, effort="quick", **asked)
    assert planned.pilot is not None
    compared = ta.compare({"g": GENERATED}, REAL, metrics=["dd"], effort="quick", folds=2, explain=False)
    assert ta.plan(pilot=compared, **asked).dd == pytest.approx(planned.dd)
    with pytest.raises(ta.TextassayError, match="both sides"):
        ta.plan({"g": GENERATED})


def test_models_are_asked_in_one_call() -> None:
    ngram = ta.generators.Ngram(order=3).fit(TRAIN, sentences(40, 8))
    other = ta.generators.Ngram(order=1, like=ngram).fit(GENERATED, sentences(40, 8))
    apart = ta.discrepancy(ngram, other, n=200)
    assert 0 < apart.truth.value < 1
    assert ta.discrepancy(ngram, ngram, n=200).truth.value == pytest.approx(0, abs=1e-9)
    text = ta.approximate(ngram, REAL, n_samples=20)
    assert text.to_dict()["mode"] == "multinomial"
    found = ta.exposure_bias(ngram, REAL, oracle=other, n_samples=50, bleu_runs=2, oracle_runs=1, prefixes=["model"])
    assert list(found.bleu) == ["model"]


@pytest.mark.feature("DD-01")
def test_distributions_that_can_be_listed_have_an_exact_discrepancy(tmp_path: Path) -> None:
    real, generated = {"a a": 0.5, "a b": 0.3, "b": 0.2}, {"a a": 0.1, "b": 0.3, "b b": 0.6}
    assert ta.exact_discrepancy(real, generated) == pytest.approx(0.7)
    assert ta.exact_discrepancy(pd.Series(generated), pd.Series(real)) == pytest.approx(0.7)
    assert ta.exact_discrepancy([0.5, 0.3, 0.2, 0.0], np.array([0.1, 0.0, 0.3, 0.6])) == pytest.approx(0.7)
    ngram = ta.generators.Ngram(order=2, max_length=4).fit(["a b", "b b a", "a", "b a"] * 9, ["a a b"] * 4)
    other = ta.generators.Ngram(order=1, max_length=6).fit(["a c", "c a a", "a"] * 9, ["a a c"] * 4)
    ngram.save_pretrained(tmp_path)
    exact = ta.exact_discrepancy(tmp_path, other)
    drawn = ta.discrepancy(ngram, other, n=4000).truth
    assert drawn.interval.low - 0.01 < exact < drawn.interval.high + 0.01
    assert ta.exact_discrepancy(other, ngram) == pytest.approx(exact, abs=1e-12)
    assert 0 < ta.exact_discrepancy(ngram, other, max_length=2) < exact
    assert ta.exact_discrepancy(ngram, ngram) == 0


def test_what_cannot_be_listed_has_no_exact_discrepancy() -> None:
    ngram = ta.generators.Ngram(order=2).fit(TRAIN)
    wrong: list[tuple[Any, Any, dict[str, Any], str]] = [
        ({"a": 0.5}, {"a": 1.0}, {}, "p must hold probabilities that sum to 1, got a sum of 0.5"),
        ([1.0], [0.5, 0.5], {}, "two arrays of one length"),
        ({"a": 1.0}, [1.0], {}, "p and q must be two mappings"),
        ([[1.0]], [1.0], {}, "p must be probabilities by text, an array of them or a generator, got list"),
        ([1.0], ngram, {}, "q must be probabilities by text, an array of them or a generator, got Ngram"),
        ([1.0], [1.0], {"max_length": 3}, "max_length is for generators"),
        (ngram, ngram, {}, "all texts of up to 100 of .* words are more than 1,000,000"),
        (ngram, ngram, {"max_length": 0}, "max_length must be at least 1, got 0"),
    ]
    for p, q, settings, message in wrong:
        with pytest.raises(ta.TextassayError, match=message):
            ta.exact_discrepancy(p, q, **settings)


@pytest.mark.feature("DD-27")
def test_weights_of_networks_are_counted_before_and_after_they_are_fitted() -> None:
    gens = ta.generators
    paper = [ta.parameter_counts(make(preset="paper"), 5690) for make in (gens.Gpt2, gens.Lstm)]
    assert [round(counts.trainable / 1e6, 2) for counts in paper] == [89.47, 10.03]
    assert [round(counts.with_moments / 1e6, 1) for counts in paper] == [268.4, 30.1]
    settings: dict[str, Any] = {"preset": "tiny", "max_epochs": 1}
    for make, how in ((gens.Lstm, {}), (gens.Gpt2, {"longest": 9})):
        counts = ta.parameter_counts(make(**settings), 13, **how)
        fitted = make(**settings).fit(["a b c d e f g h i"] * 20)
        assert ta.parameter_counts(fitted) == counts
    for other in (gens.SeqGan, gens.LeakGan, gens.ScratchGan, gens.Wgan, gens.Translation, gens.TransformerXl):
        assert ta.parameter_counts(other(), 50).trainable > 1000
    cnn = ta.discriminators.NgramNetwork()
    wrong: list[tuple[Any, tuple[int, ...], str]] = [
        (gens.Ngram(), (50,), "Ngram is no network"),
        (gens.External("cat"), (50,), "External is no network"),
        (gens.Lstm(), (), "Lstm is not fitted: give n_types"),
        (gens.Lstm(), (3,), "n_types must be at least 4, got 3"),
        (gens.C2s(), (50,), "call fit first"),
        (fitted, (50,), "leave n_types and longest out"),
        (cnn, (), "NgramNetwork is not fitted, or is no network"),
    ]
    for model, given, message in wrong:
        with pytest.raises(ta.TextassayError, match=message):
            ta.parameter_counts(model, *given)


def test_models_come_as_folders_too(tmp_path: Path) -> None:
    ngram = ta.generators.Ngram(order=2).fit(TRAIN, sentences(40, 8))
    ngram.save_pretrained(tmp_path)
    assert ta.discrepancy(tmp_path, ngram, n=50).truth.value == pytest.approx(0, abs=1e-9)
    with pytest.raises(ta.TextassayError, match="all tokens of the text are unknown to"):
        ta.exposure_bias(tmp_path, ["x y z"] * 20)
    with pytest.raises(ta.TextassayError, match="see text differently"):
        ta.discrepancy(ngram, ta.generators.Ngram(order=2, lowercase=True).fit(TRAIN))


def test_stress_and_bench_take_texts(tmp_path: Path) -> None:
    real = sentences(300, 9)
    asked: dict[str, Any] = {"metrics": ["length"], "damages": ["shuffle-words"], "strengths": [0.5], "n_draws": 2}
    path = tmp_path / "real.txt"
    path.write_text("".join(f"{text}\n" for text in real), encoding="utf-8")
    found = ta.stress(real, n_sentences=50, **asked)
    assert found.metrics == ("length",)
    assert ta.stress(path, n_sentences=50, **asked).to_dict() == found.to_dict()
    run = ta.bench({"made-up": real}, estimators=["length"], worlds=PAIR_NAMES[:1], n_sentences=[60], n_truth=100)
    assert run.cells


def test_metrics_are_judged_by_a_known_order_and_by_a_finished_comparison() -> None:
    generated = {name: sentences(100, 11 + k, shift=0.2 * k) for k, name in enumerate("abc")}
    gold = {"truth": {"a": 3.0, "b": 2.0, "c": 1.0}}
    asked: dict[str, Any] = {"metrics": ["length", "bleu(order=2)"], "seed": 1}
    judging = ta.judge(generated, REAL, gold=gold, discriminators=["naive-bayes"], n_resamples=100, **asked)
    assert {"length", "bleu(order=2)"} <= {row.name for row in judging.evaluations}
    comparison = ta.compare(generated, REAL, explain=False, **asked)
    again = ta.judge(comparison, gold=gold, n_resamples=100, seed=1)
    assert {row.name for row in again.evaluations} <= {row.name for row in judging.evaluations}
    with pytest.raises(ta.TextassayError, match="give ratings or gold"):
        ta.judge(generated, REAL)
    with pytest.raises(ta.TextassayError, match="truth has no value for c"):
        ta.judge(generated, REAL, gold={"truth": {"a": 1.0, "b": 2.0}}, metrics=["length"])
