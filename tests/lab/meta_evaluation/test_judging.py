"""All of a meta-evaluation on made-up evaluators: who is trusted, who is upside down, what is said and written."""

import json

import numpy as np
import pytest

from textassay.errors import InputError
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.judging import Judging, judge_evaluators

NAMES = tuple(f"g{place}" for place in range(12))


def made_up_judging(*, n_generators: int = 12, n_resamples: int = 300) -> Judging:
    """Return a judging of a good, a noisy, a silent and an upside-down evaluator by people and a known order."""
    rng = np.random.default_rng(0)
    names = NAMES[:n_generators]
    quality = np.linspace(0.2, 0.8, n_generators)
    labels = {g: (rng.random(60) < q).astype(float) for g, q in zip(names, quality, strict=True)}
    people = Evaluation("H1", "higher", names, np.array([x.mean() for x in labels.values()]), labels)
    order = Evaluation("known order", "higher", names, np.arange(n_generators, dtype=np.float64))
    evaluations = []
    for name, slope, noise in (("good", 1.0, 0.1), ("noisy", 0.4, 1.0), ("contrary", -1.0, 0.1)):
        texts = {g: slope * q + noise * rng.normal(size=60) for g, q in zip(names, quality, strict=True)}
        evaluations.append(Evaluation(name, "higher", names, np.array([t.mean() for t in texts.values()]), texts))
    evaluations.append(Evaluation("silent", "lower", names, np.ones(n_generators)))
    return judge_evaluators([people, order], evaluations, n_resamples=n_resamples, left_out={"zipf": "no direction"})


def test_verdicts() -> None:
    judging = made_up_judging()
    for verdict in judging.verdicts:
        assert verdict.order[0] == "good"
        assert verdict.order[-1] == "contrary"
        assert verdict.trusted[0] == "good"
        assert "good" in verdict.not_luck
        assert verdict.upside_down == ("contrary",)
        assert "contrary" not in verdict.may_be_best
        assert verdict.undefined == ("silent",)
    score = next(s for s in judging.pair_scores if (s.gold, s.evaluator) == ("known order", "contrary"))
    pairs = judging.wrong_pairs("known order", "contrary")
    assert len(pairs) == score.n_wrong_separated
    assert [pair.gold_difference for pair in pairs] == sorted((p.gold_difference for p in pairs), reverse=True)
    assert [judging.generators[place] for place in judging.best_first] == list(judging.golds[0].order)
    for verdict in judging.verdicts:
        assert {*verdict.may_be_best, *judging.worse(verdict), *verdict.upside_down} == {*verdict.order}
        assert not {*judging.worse(verdict)} & {*verdict.may_be_best, *verdict.upside_down}
    assert score.n_wrong == score.n_pairs == 66
    assert score.accuracy == 0.0
    assert any("H1 separates" in warning for warning in judging.warnings)
    assert any("no scores of single texts from silent" in warning for warning in judging.warnings)
    assert not any("2/12" in warning for warning in judging.warnings)


@pytest.mark.slow
def test_verdicts_are_at_the_level_of_all_comparisons_together() -> None:
    n_differ = {"best": 0, "luck": 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        gold = Evaluation("gold", "higher", NAMES, np.arange(12.0))
        made = [
            Evaluation(f"m{k}", "higher", NAMES, np.arange(12.0) + spread * rng.normal(size=12))
            for k, spread in enumerate((1, 5, 8, 10, 12))
        ]
        judging = judge_evaluators([gold], made, n_resamples=100, text_level=False)
        (verdict,) = judging.verdicts
        taus = {name: judging.agreement("gold", name) for name in verdict.order}
        first = verdict.order[0]
        p = {
            d.second if d.first == first else d.first: d.p
            for d in judging.differences
            if d.kind == "kendall" and first in (d.first, d.second)
        }
        assert verdict.may_be_best == tuple(n for n in verdict.order if n == first or 4 * p[n] >= 0.05)  # of 4 others
        assert verdict.not_luck == tuple(n for n in verdict.order if taus[n].p_adjusted < 0.05 and taus[n].value > 0)
        n_differ["best"] += any(0.0125 <= value < 0.05 for value in p.values())
        n_differ["luck"] += any(one.p < 0.05 <= one.p_adjusted for one in taus.values())
    assert min(n_differ.values()) > 0  # else the test would not tell


def test_few_generators_are_warned_of() -> None:
    judging = made_up_judging(n_generators=5, n_resamples=100)
    assert any("2/120 = 0.017" in warning for warning in judging.warnings)
    assert min(one.p for one in judging.agreements if one.kind == "kendall" and one.p == one.p) >= 1 / 60 - 1e-12


def test_the_document_is_json_and_the_same_again() -> None:
    document = made_up_judging(n_resamples=100).to_dict()
    text = json.dumps(document, allow_nan=False)
    assert text == json.dumps(made_up_judging(n_resamples=100).to_dict(), allow_nan=False)
    assert {"verdicts", "agreements", "differences", "wrong_pairs", "matrices", "warnings"} <= document.keys()
    assert all(call["verdict"] != "right" for call in document["wrong_pairs"])
    silent = [one for one in document["agreements"] if one["evaluator"] == "silent"]
    assert all(one["value"] is None for one in silent)


def test_texts_are_judged_by_the_first_gold() -> None:
    judging = made_up_judging(n_resamples=100)
    found = {(t.evaluator, t.grouping, t.kind) for t in judging.text_correlations}
    assert len(found) == 3 * 2 * 3
    assert {t.gold for t in judging.text_correlations} == {"H1"}


def test_nothing_to_judge_or_to_judge_by() -> None:
    one = Evaluation("one", "higher", ("a", "b"), np.array([1.0, 2.0]))
    with pytest.raises(InputError, match="at least one gold order"):
        judge_evaluators([], [one])
    with pytest.raises(InputError, match="at least one evaluator"):
        judge_evaluators([one], [])
    with pytest.raises(KeyError, match="no kendall agreement of x"):
        judge_evaluators([one], [Evaluation("m", "higher", ("a", "b"), np.array([1.0, 2.0]))]).agreement("one", "x")
