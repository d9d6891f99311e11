"""The findings of "Judge the Judges", on the printed values and on values made up so that each verdict is known."""

from dataclasses import replace

import numpy as np
import pytest

from textassay_lab.papers.judges.experiment import printed_values
from textassay_lab.papers.judges.findings import DrawnValues, check_findings

PRINTED = printed_values()


def verdicts(values: DrawnValues) -> dict[str, str]:
    return {found.id: found.verdict for found in check_findings(values)}


def drawn(n_draws: int) -> DrawnValues:
    """Return the printed values and as many equal draws of them."""

    def repeat(rows: np.ndarray) -> np.ndarray:
        return np.repeat(rows, 1 + n_draws, axis=0)

    return replace(
        PRINTED,
        values={name: repeat(rows) for name, rows in PRINTED.values.items()},
        rates={name: repeat(rows) for name, rows in PRINTED.rates.items()},
        taus={name: repeat(rows) for name, rows in PRINTED.taus.items()},
    )


@pytest.mark.feature("JJ-40")
def test_the_printed_values_hold_what_the_paper_says() -> None:
    found = check_findings(PRINTED)
    assert [one.id for one in found] == [f"K{n}" for n in range(1, 14)]
    other = {one.id: one.verdict for one in found if one.verdict != "holds"}
    assert other == {
        "K9": "not measured",  # figures without numbers
        "K11": "does not hold",  # scheduled sampling has as little of the training text as GAN models
    }
    assert "Scheduled Sampling" in next(name for name in found[10].numbers if name.startswith("chance"))
    assert all(one.where and one.published and one.about == "the published numbers" for one in found)


@pytest.mark.feature("JJ-40")
@pytest.mark.parametrize(
    ("share_wrong", "verdict"), [(0.0, "holds"), (0.02, "holds"), (0.3, "not separated at this size"),
                                 (0.99, "does not hold")],
)  # fmt: skip
def test_verdicts_follow_the_chance_to_fail(share_wrong: float, verdict: str) -> None:
    values = drawn(1000)
    for name in ("H1", "H2"):
        place = values.generators.index("gC2S")
        values.values[name][1 : 1 + int(1000 * share_wrong), place] = 0.9  # then others are better
    share_two = 2 * share_wrong  # H1 and H2 each
    assert verdicts(values)["K3"] == ("not separated at this size" if 0.05 < share_two < 1.9 else verdict)


def test_each_finding_fails_where_its_values_are_turned_round() -> None:
    turned = {name: rows if name == "Self-BLEU" else 0.9 - rows for name, rows in PRINTED.values.items()}
    rates = {name: rows[:, [0, 2, 1]] for name, rows in PRINTED.rates.items()}
    taus = {name: -rows for name, rows in PRINTED.taus.items()}
    found = verdicts(replace(PRINTED, values=turned, rates=rates, taus=taus, majority_taus=PRINTED.taus, kappa=0.3))
    assert set(found.values()) == {"does not hold"}


def test_the_majority_turns_classifiers_round() -> None:
    turned = {key: abs(rows) if key[0] == "BLEU" else 0.9 * abs(rows) for key, rows in PRINTED.taus.items()}
    assert verdicts(replace(PRINTED, majority_taus=turned))["K9"] == "holds"
    assert verdicts(replace(PRINTED, majority_taus=PRINTED.taus))["K9"] == "does not hold"


def test_what_lacks_values_is_not_measured() -> None:
    people = {name: PRINTED.values[name] for name in ("H1", "H2")}
    found = verdicts(replace(PRINTED, values=people, taus={}, rates={}, kappa=None))
    assert {name for name, verdict in found.items() if verdict != "not measured"} == {"K3", "K4"}
    others = replace(PRINTED, generators=tuple(f"g{n}" for n in range(12)), taus={}, rates={}, kappa=None)
    assert {name for name, verdict in verdicts(others).items() if verdict != "not measured"} == {"K10"}
