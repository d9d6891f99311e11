"""Stress: values are those of the metrics, parts are disjoint, bad metrics are called so, and runs go on."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import sentences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.estimate import Better, Estimate
from textassay.execution.threads import workers
from textassay.metric.bleu import bleu
from textassay_lab.meta_evaluation.damage import CONTROL, DAMAGES, prepare_corpora
from textassay_lab.meta_evaluation.stress import Evaluator, Stress, draw_texts, stress

TEXTS = corpora_from_texts({"real": sentences(800, 1), "other": sentences(300, 2, shift=0.8)})
REAL = TEXTS["real"]


def _length(generated: Corpus, reference: Corpus, train: Corpus | None, seed: int) -> float:
    return float(generated.lengths.mean())


def _unknown_share(generated: Corpus, reference: Corpus, train: Corpus | None, seed: int) -> float:
    return generated.unk_rate


def _constant(generated: Corpus, reference: Corpus, train: Corpus | None, seed: int) -> float:
    return 1.0


def _luck(generated: Corpus, reference: Corpus, train: Corpus | None, seed: int) -> float:
    return float(np.random.default_rng(int(generated.fingerprint, 16)).normal())


def _toys(*entries: tuple[str, Better, Any]) -> list[Evaluator]:
    return [Evaluator(name, better, measure) for name, better, measure in entries]


def _run(metrics: Sequence[str] = (), evaluators: Sequence[Evaluator] = (), **settings: Any) -> Stress:
    return stress(
        REAL, metrics=metrics, evaluators=evaluators, **{"n_sentences": 100, "n_draws": 3, "seed": 5, **settings}
    )


def test_toy_metrics_get_the_verdicts_they_deserve() -> None:
    toys = _toys(
        ("unknown", "lower", _unknown_share),
        ("wrong", "higher", _unknown_share),
        ("length", "closer", _length),
        ("constant", "higher", _constant),
        ("luck", "lower", _luck),
    )
    result = _run(evaluators=toys, damages=["unknown-words", "drop-words", "swap-neighbours", CONTROL])
    sees = result.of("unknown", "unknown-words")
    assert (sees.verdict, sees.monotone, sees.smallest) == ("sees", True, 0.1)
    assert sees.tau == pytest.approx(1)
    assert sees.effects == pytest.approx((0.1, 0.2, 0.4, 0.8), abs=0.002)
    assert result.of("wrong", "unknown-words").verdict == "misled"
    assert result.of("length", "drop-words").verdict == "sees"
    assert result.of("length", "drop-words").direction == "down"
    assert {result.of("constant", name).verdict for name in result.damages} == {"blind"}
    assert {result.of("luck", name).verdict for name in result.damages} == {"blind"}
    assert {result.of(name, CONTROL).verdict for name in result.metrics} == {"blind"}
    assert {result.of(name, "swap-neighbours").verdict for name in result.metrics} == {"blind"}
    assert result.of("length", "swap-neighbours").p == 1.0


def test_parts_are_disjoint_and_drawn_anew() -> None:
    numbered = Corpus.from_texts([str(k) for k in range(400)])
    draws = [draw_texts(numbered, {}, ("reference", "clean", "train", "spare"), 100, k, seed=1) for k in range(2)]
    for draw in draws:
        assert sorted(text for part in draw.texts.values() for text in part.texts) == sorted(numbered.texts)
    assert set(draws[0].texts["clean"].texts) != set(draws[1].texts["clean"].texts)
    assert draws[0].seed != draws[1].seed


def test_values_are_those_of_the_metric() -> None:
    result = _run(["bleu(order=2)", "distinct-n(order=1)", "memorization"], damages=["drop-words", "copy-few"])
    ready = prepare_corpora({"real": REAL})["real"]
    draw = draw_texts(ready, {}, ("reference", "clean", "train"), 100, 1, seed=5)
    curve = result.of("bleu(order=2)", "drop-words")
    assert curve.strengths == (0.1, 0.2, 0.4, 0.8)
    for k, strength in enumerate((0.0, *curve.strengths)):
        expected = bleu(draw.damaged("drop-words", strength), draw.texts["reference"], order=2, seed=draw.seed)
        assert curve.values[1, k] == expected.value
    copied = result.of("memorization", "copy-few")
    assert copied.values[:, 0].max() < 0.5 < copied.values[:, 4].min()
    assert (copied.verdict, copied.direction) == ("sees", "up")
    assert curve.noise_source == "interval"


def test_workers_and_keeping_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names, damages = ["bleu(order=2)", "self-bleu(order=2)", "fed"], ["shuffle-words", "collapse"]
    first = _run(names, damages=damages, n_draws=2, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2 * (1 + 2 * 4)
    with workers(2):
        assert _run(names, damages=damages, n_draws=2).to_dict() == first.to_dict()
    measured: list[str] = []
    module = import_module("textassay_lab.meta_evaluation.stress")
    value: Any = module.__dict__["_value"]

    def counted(estimate: Estimate | float) -> Any:
        measured.append(getattr(estimate, "metric", "own"))
        return value(estimate)

    monkeypatch.setattr(module, "_value", counted)
    assert _run(names, damages=damages, n_draws=2, folder=tmp_path).to_dict() == first.to_dict()
    assert measured == []
    own = Evaluator("length", "closer", _length, settings="tokens")
    for settings, n_new in (("tokens", 18), ("tokens", 0), ("other", 18)):
        measured.clear()
        more = _run(names, [replace(own, settings=settings)], damages=damages, n_draws=2, folder=tmp_path)
        assert measured == ["own"] * n_new
        assert np.array_equal(more.of("fed", "collapse").values, first.of("fed", "collapse").values)
    measured.clear()
    _run(names[:1], damages=["shuffle-words", "truncate"], strengths=(0.4,), n_draws=3, folder=tmp_path)
    assert measured == ["bleu(order=2)"] * (2 + 3)  # truncated texts, and those of the third draw


def test_all_damages_that_are_possible_and_why_others_are_not() -> None:
    result = _run(["bleu(order=2)"], n_draws=2, strengths=(0.4,))
    assert result.damages == tuple(name for name in DAMAGES if name not in ("lowercase", "other-text"))
    assert result.left_out == {
        "lowercase": "the text has no upper case",
        "other-text": "there is no text 'other'",
    }
    assert result.texts == {"real": 800}
    shorter = _run(["bleu(order=2)"], n_draws=2, strengths=(0.4,), n_sentences=300)
    assert shorter.left_out[CONTROL] == "the real text is too short for it"
    assert shorter.left_out["copy-train"] == "the real text is too short for it"
    full = stress(
        REAL, train=TEXTS["other"], other=TEXTS["other"], metrics=["bleu(order=2)"], n_draws=2, strengths=(0.4,)
    )
    assert full.n_sentences == 266
    assert set(full.left_out) == {"lowercase"}


def test_by_default_all_metrics_that_can_be_computed() -> None:
    result = stress(REAL, damages=["collapse"], strengths=(0.8,), n_sentences=60, n_draws=2)
    assert "memorization" in result.metrics
    assert "huse" not in result.metrics
    assert "dd" in result.metrics
    assert all(curve.verdict != "unknown" for curve in result.curves)


def test_a_metric_without_a_value_is_left_out_or_refused() -> None:
    def refuses(generated: Corpus, reference: Corpus, train: Corpus | None, seed: int) -> float:
        raise TooFewSentencesError("needs more")

    def sometimes(generated: Corpus, reference: Corpus, train: Corpus | None, seed: int) -> float:
        return float("nan") if generated.unk_rate > 0.3 else 1.0

    toys = _toys(("refuses", "lower", refuses), ("sometimes", "lower", sometimes))
    with pytest.raises(InputError, match="refuses has no value on undamaged text: needs more"):
        _run(evaluators=toys, damages=["unknown-words"])
    result = _run(evaluators=toys[1:], damages=["unknown-words", "drop-words"])
    assert result.of("sometimes", "unknown-words").verdict == "unknown"
    assert result.of("sometimes", "unknown-words").reason == "undefined"
    assert result.of("sometimes", "drop-words").verdict == "blind"
    default = stress(REAL, damages=["drop-words"], strengths=(0.8,), n_sentences=4, n_draws=2)
    assert "mauve" in default.metrics or "mauve" in default.left_out


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"damages": ["drop"]}, "unknown damage 'drop': did you mean drop-words"),
        ({"damages": []}, "at least one damage is needed, each once, got none"),
        ({"damages": ["truncate", "truncate"]}, "at least one damage is needed, each once"),
        ({"strengths": (0.0, 0.5)}, "strengths must be above 0 and at most 1, got 0, 0.5"),
        ({"strengths": ()}, "strengths must be above 0"),
        ({"n_draws": 1}, "draws must be at least 2, got 1"),
        ({"n_sentences": 1}, "sentences must be at least 2, got 1"),
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"metrics": ["blue"]}, "unknown metric 'blue'"),
        ({"metrics": []}, "at least one metric or evaluator is needed"),
        ({"effort": "much"}, "unknown effort 'much'"),
        ({"evaluators": _toys(("a", "lower", _length), ("a", "lower", _length))}, "must be distinct, got 'a' twice"),
    ],
)
def test_mistakes(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        _run(**{"metrics": ["bleu(order=2)"], **settings})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"damages": ["lowercase"]}, "lowercase: the text has no upper case"),
        ({"damages": ["other-text"]}, "other-text: there is no text 'other'"),
        ({"damages": [CONTROL], "n_sentences": 300}, "at least 900 sentences, 3 parts of 300, got 800"),
        ({"n_sentences": 401}, "at least 802 sentences, 2 parts of 401, got 800"),
        ({"train": REAL.take(np.arange(20)), "damages": ["copy-train"]}, "it needs 80 different sentences"),
    ],
)
def test_what_is_impossible(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _run(["bleu(order=2)"], **settings)


@pytest.mark.slow
def test_the_control_is_found_in_five_percent_of_texts_at_most() -> None:
    names = ["bleu(order=3)", "self-bleu(order=3)", "distinct-n(order=2)", "dd", "fed", "reverse-lm-score", "length"]
    found = dict.fromkeys(names, 0)
    n_texts = 60
    for number in range(n_texts):
        text = Corpus.from_texts(sentences(600, 1000 + number))
        result = stress(text, metrics=names, damages=[CONTROL], n_sentences=150, n_draws=4, seed=number)
        for name in names:
            found[name] += result.of(name, CONTROL).verdict != "blind"
    assert sum(found.values()) <= 0.05 * n_texts * len(names) + 2.6 * np.sqrt(0.05 * 0.95 * n_texts * len(names)), found
    assert max(found.values()) <= 9, found
