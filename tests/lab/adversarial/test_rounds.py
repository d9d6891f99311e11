"""The loop of two-sided trainings: the same bits after a kill, the round that is kept, the end of a collapse."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

from textassay.errors import InputError, OptionError
from textassay_lab.adversarial.rounds import Collapse, Phase, RoundsHistory, train_in_rounds

PHASES = (Phase("discriminator", 2, validated=False), Phase("adversarial", 5))


class _KilledError(Exception):
    pass


class _Counted:
    """A weight that each round multiplies and adds to; `validate` says its value; a script decides what rounds tell."""

    def __init__(self, script: Mapping[int, Mapping[str, float]] | None = None, *, dies_in: int | None = None) -> None:
        self.weight = torch.tensor([1.0], dtype=torch.float64)
        self.script = script or {}
        self.dies_in = dies_in
        self.calls: list[tuple[str, int]] = []

    def state(self) -> dict[str, Tensor]:
        return {"weight": self.weight}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.weight.copy_(tensors["weight"])

    def round(self, phase: str, number: int) -> dict[str, float]:
        if len(self.calls) + 1 == self.dies_in:
            raise _KilledError
        self.calls.append((phase, number))
        self.weight.mul_(1.1).add_(number if phase == "adversarial" else -number)
        return dict(self.script.get(number, {"distinct": 1.0})) if phase == "adversarial" else {"distinct": 1.0}

    def validate(self) -> dict[str, float]:
        return {"value": abs(float(self.weight) - 4)}


def _run(training: _Counted, folder: Path, *, keep: str | None = None) -> RoundsHistory:
    return train_in_rounds(
        training,
        PHASES,
        keep=keep,
        checkpoint=folder / "rounds.safetensors",
        checkpoint_seconds=0,
        monitors={"weight": lambda number: float(training.weight)},
        monitor_every=2,
    )


def test_phases_come_in_order_and_are_judged_where_they_shall_be(tmp_path: Path) -> None:
    training = _Counted()
    history = _run(training, tmp_path)
    assert training.calls == [("discriminator", 1), ("discriminator", 2), *(("adversarial", k) for k in range(1, 6))]
    assert [each.number for each in history.rounds] == list(range(1, 8))
    assert [each.step for each in history.validations] == [2, 3, 4, 5, 6, 7]
    assert [each.step for each in history.readings] == [2, 4, 6, 7]
    assert (history.kept, history.stopped) == (7, None)


@pytest.mark.parametrize("dies_in", range(1, 8))
@pytest.mark.parametrize("keep", [None, "value"])
def test_a_killed_run_goes_on_to_the_same_bits_and_the_same_history(
    tmp_path: Path, dies_in: int, keep: str | None
) -> None:
    for folder in ("whole", "killed"):
        (tmp_path / folder).mkdir()
    whole = _Counted()
    history = _run(whole, tmp_path / "whole", keep=keep)
    with pytest.raises(_KilledError):
        _run(_Counted(dies_in=dies_in), tmp_path / "killed", keep=keep)
    again = _Counted()
    assert _run(again, tmp_path / "killed", keep=keep) == history
    assert torch.equal(again.weight, whole.weight)
    assert len(again.calls) == 8 - dies_in


def test_the_lowest_validation_is_kept(tmp_path: Path) -> None:
    training = _Counted()
    history = _run(training, tmp_path, keep="value")
    values = {each.step: each.values["value"] for each in history.validations}
    assert history.kept == min(values, key=lambda step: values[step] or 0) != 7
    assert training.validate()["value"] == values[history.kept]


def test_what_validation_does_not_say_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be kept"):
        _run(_Counted(), tmp_path, keep="other")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_not_finite_ends_the_run_before_it(tmp_path: Path, value: float) -> None:
    training, shorter = _Counted({3: {"loss": value, "variety": 0.5}}), _Counted()
    history = _run(training, tmp_path)
    train_in_rounds(shorter, (PHASES[0], Phase("adversarial", 2)))
    assert history.stopped is not None
    assert history.stopped.startswith("adversarial, round 3: loss is")
    assert "\n" not in history.stopped
    assert history.kept == 4
    assert [dict(each.values) for each in history.rounds] == [{"distinct": 1.0}] * 4 + [{"variety": 0.5}]
    assert torch.equal(training.weight, shorter.weight)


def test_a_collapse_ends_the_run_at_the_last_good_round_and_leaves_its_checkpoint(tmp_path: Path) -> None:
    script = {2: {"distinct": 0.05}, 4: {"distinct": 0.05}, 5: {"distinct": 0.01}}
    phases = (PHASES[0], Phase("adversarial", 9))
    rule = Collapse("distinct", least=0.1, patience=2)
    path = tmp_path / "rounds.safetensors"
    shorter = _Counted()
    train_in_rounds(shorter, (PHASES[0], Phase("adversarial", 3)))
    for n_calls in (7, 2):  # the second run goes on from the last good round
        training = _Counted(script)
        history = train_in_rounds(training, phases, collapse=rule, checkpoint=path, checkpoint_seconds=0)
        assert history.stopped is not None
        assert "distinct is 0.01, below 0.1, 2 times in a row" in history.stopped
        assert "fewer rounds" in history.stopped
        assert history.kept == 5
        assert [each.values["distinct"] for each in history.rounds] == [1.0, 1.0, 1.0, 0.05, 1.0, 0.05, 0.01]
        assert [each.step for each in history.validations] == [2, 3, 4, 5, 6, 7]
        assert torch.equal(training.weight, shorter.weight)
        assert len(training.calls) == n_calls


def test_a_collapse_from_the_first_round_on_is_told_round_by_round() -> None:
    training = _Counted({number: {"distinct": 0.01 * number} for number in range(1, 6)})
    history = train_in_rounds(training, [Phase("adversarial", 9)], collapse=Collapse("distinct", least=0.1))
    assert float(training.weight) == 1
    assert [(each.number, each.values["distinct"]) for each in history.rounds] == [(1, 0.01), (2, 0.02), (3, 0.03)]
    assert history.stopped is not None
    assert history.ending == {"kept": 0, "rounds": 3, "stopped": history.stopped}


def test_more_rounds_go_on_where_fewer_ended(tmp_path: Path) -> None:
    path = tmp_path / "rounds.safetensors"
    for n_rounds in (2, 6):
        longer = _Counted()
        train_in_rounds(longer, (PHASES[0], Phase("adversarial", n_rounds)), checkpoint=path)
    assert len(longer.calls) == 4
    at_once = _Counted()
    train_in_rounds(at_once, (PHASES[0], Phase("adversarial", 6)))
    assert torch.equal(longer.weight, at_once.weight)
    with pytest.raises(InputError, match="8 rounds, more than the 3"):
        train_in_rounds(_Counted(), (PHASES[0], Phase("adversarial", 1)), checkpoint=path)


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rounds.safetensors"
    train_in_rounds(_Counted(), PHASES, checkpoint=path, config={"width": 1})
    with pytest.raises(InputError, match="another config"):
        train_in_rounds(_Counted(), PHASES, checkpoint=path, config={"width": 2})


def test_bad_settings_are_refused() -> None:
    for phases in ((), (Phase("a", 1), Phase("a", 1)), (Phase("a", -1),)):
        with pytest.raises(OptionError):
            train_in_rounds(_Counted(), phases)
    with pytest.raises(OptionError, match="patience must be at least 1, got 0"):
        train_in_rounds(_Counted(), PHASES, collapse=Collapse(patience=0))
