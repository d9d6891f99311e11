"""The findings: true of the published values, and each verdict given where made-up values call for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from published_dd import FAMILIES, published_agreements, published_measured
from textassay_lab.meta_evaluation.rank_agreement import MetricValues, TauDistribution
from textassay_lab.papers.dd.experiment import DD, EXACT
from textassay_lab.papers.dd.findings import Measured, agreements, check_findings
from textassay_lab.papers.reproduction import CheckedFinding

REAL, SYNTHETIC = published_measured()
UNSURE = "not separated at this size"


def _check(*measured: Measured, taus: Sequence[TauDistribution] | None = None) -> dict[tuple[str, str], CheckedFinding]:
    found = [tau for one in measured for tau in agreements(one, n_draws=2000)] if taus is None else taus
    return {(finding.id, finding.about): finding for finding in check_findings(measured, found)}


def _with(measured: Measured, label: str, changes: Mapping[str, float], *, error: float) -> Measured:
    """Return `measured` with other values of one metric, and errors of `error`."""
    (old,) = measured.values[label]
    values = np.array([changes.get(n, v) for n, v in zip(old.generators, old.values, strict=True)])
    new = replace(old, values=values, own=np.full(len(values), error**2))
    return replace(measured, values={**measured.values, label: [new]})


@pytest.mark.feature("DD-21")
def test_every_finding_is_true_of_the_published_values() -> None:
    found = _check(REAL, SYNTHETIC, taus=published_agreements())
    assert {finding.id for finding in found.values()} == {*(f"F{n}" for n in range(1, 12)), "I3"}
    assert {key: finding.verdict for key, finding in found.items()} == dict.fromkeys(found, "holds")
    assert found["F9", "DD, synthetic text"].numbers["Pearson"] == pytest.approx(0.924, abs=5e-4)
    assert found["F7", "FED, synthetic text"].numbers["range"] == pytest.approx(0.006)
    assert found["F7", "FED, synthetic text"].numbers["generators that tie in three decimals"] == 8


@pytest.mark.feature("DD-22")
def test_ties_and_range_of_fed_are_those_of_our_values() -> None:
    names = SYNTHETIC.values["FED"][0].generators
    ours = dict(zip(names, (0.1, 0.1004, 0.2, 0.2, 0.2001, 0.3, 0.4, 0.5, 0.6, 0.75), strict=True))
    found = _check(_with(SYNTHETIC, "FED", ours, error=0.0))["F7", "FED, synthetic text"]
    assert found.verdict == "holds"
    assert found.numbers["range"] == pytest.approx(0.65)
    assert found.numbers["generators that tie in three decimals"] == 5
    apart = dict(zip(names, np.linspace(0.1, 0.9, 10).tolist(), strict=True))
    found = _check(_with(SYNTHETIC, "FED", apart, error=1e-6))["F7", "FED, synthetic text"]
    assert (found.verdict, found.numbers["generators that tie in three decimals"]) == ("does not hold", 0)


def test_what_was_not_measured_is_left_out() -> None:
    found = _check(SYNTHETIC)
    assert found["F1", "DD, synthetic text"].verdict == "holds"
    ids = {finding.id for finding in found.values()}
    assert {"F1", "F4"} <= ids
    assert not {"F2", "F6", "F10", "F11"} & ids


@pytest.mark.parametrize(
    ("changes", "error", "verdict"),
    [({}, 0.0005, "holds"), ({}, 0.01, UNSURE), ({"LSTM_0.6": 0.45}, 0.01, "does not hold"),
     ({"LSTM_0.6": 0.412}, 0.0, "does not hold"), ({"LSTM_0.6": 0.413}, 0.01, UNSURE)],
)  # fmt: skip
def test_less_training_text_means_a_higher_dd(changes: Mapping[str, float], error: float, verdict: str) -> None:
    found = _check(_with(REAL, DD, changes, error=error))
    assert found["F10", "DD, real text"].verdict == verdict
    assert found["F2", "DD, real text"].verdict == verdict
    step = found["F10", "DD, real text"].numbers
    assert step["LSTM_0.4 - LSTM_0.6"] == pytest.approx(0.412 - changes.get("LSTM_0.6", 0.393))


@pytest.mark.parametrize(
    ("changes", "error", "exact_error", "verdict"),
    [({}, 0.0001, 0.0001, "holds"), ({}, 0.007, 0.0001, UNSURE), ({}, 0.0001, 0.004, UNSURE),
     ({"LSTM_0.2": 0.3}, 0.007, 0.0001, "does not hold"), ({"LSTM_0.8": 0.25}, 0.007, 0.004, UNSURE)],
)  # fmt: skip
def test_the_order_of_the_exact_discrepancy(
    changes: Mapping[str, float], error: float, exact_error: float, verdict: str
) -> None:
    made = _with(_with(SYNTHETIC, DD, changes, error=error), EXACT, {}, error=exact_error)
    assert _check(made)["F1", "DD, synthetic text"].verdict == verdict


@pytest.mark.parametrize(
    ("fed", "error", "verdict"),
    [
        ({}, 0.0, "holds"),  # as published, ties
        ({name: 0.9 - i / 100 for i, name in enumerate(SYNTHETIC.values[EXACT][0].generators)}, 0.0, "holds"),
        ({name: 0.9 - i / 100 for i, name in enumerate(SYNTHETIC.values[EXACT][0].generators)}, 0.01, UNSURE),
    ],
)
def test_no_other_metric_has_a_higher_tau(fed: Mapping[str, float], error: float, verdict: str) -> None:
    made = _with(_with(SYNTHETIC, "FED", fed, error=error), DD, {}, error=error)
    assert _check(made)["F4", "DD, synthetic text".replace("synthetic", "real and synthetic")].verdict == verdict


def test_a_better_rival_is_found() -> None:
    perfect = {name: 0.9 - i / 100 for i, name in enumerate(SYNTHETIC.values[EXACT][0].generators)}
    made = _with(_with(SYNTHETIC, "FED", perfect, error=0.001), DD, {"GPT-2_1.0": 0.5}, error=0.001)
    found = _check(made)
    assert found["F4", "DD, real and synthetic text"].verdict == "does not hold"
    assert found["F7", "FED, synthetic text"].verdict == "does not hold"  # ten values, all told apart
    assert _check(_with(SYNTHETIC, "FED", perfect, error=0.01))["F7", "FED, synthetic text"].verdict == UNSURE


@pytest.mark.parametrize(
    ("gpt", "error", "verdict"), [(0.446, 0.002, "holds"), (0.48, 0.01, UNSURE), (0.55, 0.01, "does not hold")]
)
def test_families_at_equal_training_text(gpt: float, error: float, verdict: str) -> None:
    found = _check(_with(REAL, DD, {"GPT-2_0.2": gpt}, error=error))
    assert found["F8", "DD, real text"].verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [(0.99, "holds"), (1.1, "does not hold")])
def test_no_classifier_finds_more_than_there_is(value: float, verdict: str) -> None:
    made = _with(SYNTHETIC, DD, {"LSTM_0.4": value}, error=0.01)
    assert _check(made)["I3", "DD, synthetic text"].verdict == verdict


def test_half_of_the_exact_discrepancy() -> None:
    assert _check(_with(SYNTHETIC, DD, {}, error=1e-4))["F9", "DD, synthetic text"].verdict == "holds"
    assert _check(_with(SYNTHETIC, DD, {}, error=0.03))["F9", "DD, synthetic text"].verdict == UNSURE
    more = {
        name: value + 0.2 for name, value in zip(FAMILIES["LSTM"], (0.442, 0.359, 0.314, 0.289, 0.256), strict=True)
    }
    assert _check(_with(SYNTHETIC, DD, more, error=0.001))["F9", "DD, synthetic text"].verdict == "does not hold"


def _bleu(label: str, lstm: Sequence[float], gpt: Sequence[float], *, error: float) -> Measured:
    values = dict(zip((*FAMILIES["LSTM"], *FAMILIES["GPT-2"]), (*lstm, *gpt), strict=True))
    exact = MetricValues.exact(label, "higher", values)
    made = replace(exact, own=np.full(10, error**2))
    return replace(REAL, values={DD: REAL.values[DD], label: [made]})


def test_bleu_that_orders_generators_contradicts_the_paper() -> None:
    rising, level = (1, 2, 3, 4, 5), (3, 1, 5, 2, 4)
    for lstm, error, verdict in ((rising, 0.01, "does not hold"), (level, 0.01, "holds"), (level, 1.0, UNSURE)):
        found = _check(_bleu("BLEU-5", lstm, rising, error=error))
        assert found["F6", "BLEU-5, real text"].verdict == verdict
    for lstm, error, verdict in ((rising, 0.01, "does not hold"), (level, 0.01, "holds"), (rising, 0.4, UNSURE)):
        found = _check(_bleu("BLEU-2", lstm, rising[::-1], error=error))
        assert found["F11", "real text"].verdict == verdict


def test_the_language_model_ties_for_gpt_only() -> None:
    rising, other = (5, 4, 3, 2, 1), (1, 3, 2, 5, 4)
    for lstm, gpt, error, verdict in (
        (other, rising, 0.01, "holds"),
        (rising, rising, 0.01, "does not hold"),
        (other, other, 0.01, "does not hold"),
        (other, rising, 1.0, UNSURE),
    ):
        made = _bleu("LM score", lstm, gpt, error=error)
        (run,) = made.values["LM score"]
        lower = replace(made, values={**made.values, "LM score": [replace(run, better="lower")]})
        assert _check(lower)["F5", "DD, real and synthetic text"].verdict == verdict


def test_a_metric_without_some_generators_is_compared_on_those_it_has() -> None:
    (old,) = REAL.values[DD]
    fewer = replace(REAL, values={DD: [old.select(old.generators[1:6])]})
    taus = agreements(fewer, n_draws=10)
    assert [(tau.metric, tau.group, tau.value) for tau in taus] == [(DD, "4 LSTM", 1.0)]
