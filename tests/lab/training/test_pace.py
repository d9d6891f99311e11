"""Speed and time left, worked out by hand on a made-up clock."""

from textassay_lab.training.history import Epoch, Step
from textassay_lab.training.pace import Pace


def test_speed_and_time_left() -> None:
    """Three epochs of four steps of two seconds; the first also scores for five seconds."""
    now = 0.0
    told: list[Step] = []
    pace = Pace(3, told.append, seconds=3, clock=lambda: now)

    def step(number: int, seconds: float, n_tokens: int | None) -> None:
        nonlocal now
        now += seconds
        pace.count(number, n_tokens)
        pace.report(0.5)

    pace.begin(1, 0, 4)
    step(1, 2, 100)
    assert told == []  # told at most every three seconds
    step(2, 2, 300)
    assert told.pop() == Step(1, 2, 4, 0.5, 100.0, 2 * 2 + 2 * 8)
    step(3, 2, 100)
    step(4, 2, 100)
    assert told.pop() == Step(1, 4, 4, 0.5, 75.0, 2 * 8)
    now += 5
    epoch = Epoch(1, 0.4, 1.0)
    pace.report(0.4, epoch)
    assert told.pop() == Step(1, 4, 4, 0.4, 75.0, 2 * (8 + 5), epoch)
    pace.begin(2, 3, 4)  # resumed before its last step
    step(4, 4, 100)
    assert told.pop() == Step(2, 4, 4, 0.5, 25.0, 4 * 4 + 2 * 5)


def test_without_sizes_there_is_no_rate_and_without_a_listener_nothing_happens() -> None:
    now = 0.0
    told: list[Step] = []
    pace = Pace(1, told.append, seconds=0, clock=lambda: now)
    pace.begin(1, 0, 2)
    now = 1.0
    pace.count(1, None)
    pace.report(2.0)
    assert told == [Step(1, 1, 2, 2.0, None, 1.0)]
    silent = Pace(1, None)
    silent.begin(1, 0, 1)
    silent.report(1.0, Epoch(1, 1.0, 1.0))
