"""Findings of the study of generators, on the printed values and on values made up so that each verdict is known."""

from dataclasses import replace

import numpy as np
import pytest

from textassay_lab.papers.drawn_values import DrawnValues
from textassay_lab.papers.generators.experiment import DD
from textassay_lab.papers.generators.findings import check_floor, check_paper
from textassay_lab.papers.generators.texts import FLOOR
from textassay_lab.papers.judges.experiment import published_values
from textassay_lab.papers.judges.published import INDIVIDUAL, SELF_BLEU

PRINTED = published_values()
MEASURED = replace(PRINTED, values={**PRINTED.values, INDIVIDUAL: PRINTED.values["SVM"]},
                   better={**PRINTED.better, INDIVIDUAL: "lower"})  # fmt: skip


def verdicts(values: DrawnValues) -> dict[str, str]:
    return {found.id: found.verdict for found in check_paper(values)}


def test_what_the_printed_values_say() -> None:
    found = verdicts(PRINTED)
    assert list(found) == ["K6", "K8", "K11", *(f"G{n}" for n in range(1, 12))]
    assert {name: verdict for name, verdict in found.items() if verdict != "holds"} == {
        "K11": "does not hold",  # scheduled sampling has as little of the training text as GANs
        "G2": "not measured",  # individual evaluators have no printed values
        "G4": "does not hold",  # Google LM is sixth to ninth by classifiers
    }
    assert verdicts(MEASURED)["G2"] == "holds"


def test_each_finding_fails_where_its_values_are_turned_round() -> None:
    turned = {name: rows if name == SELF_BLEU else 0.9 - rows for name, rows in MEASURED.values.items()}
    turned["SVM"] = MEASURED.values["SVM"]
    assert set(verdicts(replace(MEASURED, values=turned)).values()) == {"does not hold"}


def test_the_model_of_another_domain_is_the_one_that_is_named() -> None:
    renamed = tuple("other domain" if name == "Google LM" else name for name in MEASURED.generators)
    values = replace(MEASURED, generators=renamed)
    assert verdicts(values)["G4"] == "not measured"
    assert verdicts(replace(values, foreign="other domain")) == verdicts(MEASURED)


def test_what_was_not_measured_is_not_judged() -> None:
    without = {name: rows for name, rows in MEASURED.values.items() if name not in ("LSTM", "CNN", "CNN & LSTM")}
    found = verdicts(replace(MEASURED, values=without))
    assert found["K6"] == "not measured"  # it is of all seven
    assert found["G1"] == found["G5"] == "holds"  # four are left
    assert set(verdicts(replace(MEASURED, values={})).values()) == {"not measured"}


def floor(dd: list[list[float]]) -> str:
    """Return the verdict on the floor beside three generators, which is at 0; rows are draws."""
    values = DrawnValues("made up", (FLOOR, "a", "b", "c"), {DD: np.array([[0.0, *row] for row in dd])}, {DD: "lower"})
    (found,) = check_floor(values)
    return found.verdict


def test_no_generator_is_as_close_as_real_text() -> None:
    assert floor([[0.2, 0.3, 0.5]]) == "holds"
    assert floor([[-0.1, 0.3, 0.5]]) == "does not hold"
    assert [found.verdict for found in check_floor(DrawnValues("nothing", (), {}, {}))] == ["not measured"]


@pytest.mark.parametrize(("share", "verdict"), [(0.01, "holds"), (0.5, "not separated at this size"),
                                                (0.99, "does not hold")])  # fmt: skip
def test_verdicts_follow_the_draws(share: float, verdict: str) -> None:
    good, bad = [0.2, 0.3, 0.5], [-0.1, 0.3, 0.5]
    n_bad = int(200 * share)
    assert floor([good, *[bad] * n_bad, *[good] * (200 - n_bad)]) == verdict
