"""What a gold order says of metrics, in sentences."""

import numpy as np
import pytest

from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.judge_document import verdict_sentences
from textassay_lab.meta_evaluation.judging import judge_evaluators

NAMES = tuple(f"g{place}" for place in range(12))
HINT = "A higher value in {} is read as better: if it is worse, reverse the signs."


@pytest.mark.parametrize(("gold", "sign", "hinted"), [("exact", -1, True), ("exact", 1, False), ("H1", -1, False)])
def test_a_gold_that_all_metrics_contradict_may_be_a_distance(gold: str, sign: int, hinted: bool) -> None:
    """People who judge need no such hint."""
    rng = np.random.default_rng(0)
    quality = np.arange(12.0)
    metrics = [Evaluation(f"m{k}", "higher", NAMES, quality + rng.normal(size=12)) for k in range(3)]
    judging = judge_evaluators(
        [Evaluation(gold, "higher", NAMES, sign * quality)], metrics, n_resamples=100, text_level=False
    )
    (verdict,) = judging.verdicts
    assert bool(verdict.upside_down) == (sign < 0)
    assert (HINT.format(gold) in verdict_sentences(judging, verdict)) == hinted


def test_a_metric_that_contradicts_people_is_no_rival_of_the_best() -> None:
    """Six generators are too few to prove a metric of negative sign worse; still it does not stand among the good."""
    names = NAMES[:6]
    quality = np.arange(6.0)
    near = np.array([0.0, 1.0, 3.0, 2.0, 5.0, 4.0])
    values = {"best": quality, "near": near, "contrary": -near, "even": np.array([2.0, 1.0, 2.0, 1.0, 2.0, 1.5])}
    judging = judge_evaluators(
        [Evaluation("H1", "higher", names, quality)],
        [Evaluation(name, "higher", names, row) for name, row in values.items()],
        n_resamples=100,
        text_level=False,
    )
    (verdict,) = judging.verdicts
    assert {"near", "contrary"} <= {*verdict.may_be_best}
    assert judging.not_separated(verdict) == ("near",)
    assert "contrary" in (*judging.contrary(verdict), *verdict.upside_down)
    told = verdict_sentences(judging, verdict)
    (rivals,) = [sentence for sentence in told if "cannot tell whether these are worse than best" in sentence]
    assert "near" in rivals
    assert "contrary" not in rivals
    (against,) = [sentence for sentence in told if "do not agree with H1" in sentence]
    assert "contrary (-0.73)" in against
