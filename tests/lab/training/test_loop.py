"""The training loop: its steps, what it keeps, what monitors see; `test_resuming.py` interrupts it."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from textassay.errors import InputError, OptionError
from textassay_lab.training import loop
from textassay_lab.training.history import Epoch, History, Step
from textassay_lab.training.loop import Pace, train
from textassay_lab.training.recipe import Recipe

torch = pytest.importorskip("torch")

TARGET = np.array([[1.0, -2.0], [0.5, 3.0]])
BATCHES = np.random.default_rng(0).normal(size=(5, 8, 2)).astype(np.float32)


def start() -> dict[str, Any]:
    return {"w": torch.zeros(2, 2, requires_grad=True), "b": torch.zeros(2, requires_grad=True)}


def squares(weights: dict[str, Any], *, noise: float = 0.0) -> Callable[[Any, Any], Any]:
    """Return the loss of a linear regression on `TARGET`, with noise drawn from the generator it is given."""

    def loss(batch: Any, rng: Any) -> Any:
        x = torch.from_numpy(batch)
        y = x @ torch.from_numpy(TARGET.astype(np.float32)) + noise * torch.randn(len(x), 2, generator=rng)
        return ((x @ weights["w"] + weights["b"] - y) ** 2).mean()

    return loss


def run(weights: dict[str, Any], recipe: Recipe, **options: Any) -> History:
    settings: dict[str, Any] = {
        "batches": lambda epoch: list(BATCHES),
        "loss": squares(weights, noise=0.1),
        "score": lambda: -float(((weights["w"].detach() - torch.from_numpy(TARGET)) ** 2).sum()),
        "seed": 3,
    }
    return train(weights, recipe=recipe, **{**settings, **options})


def equal(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(("schedule", "warmup_steps"), [("constant", 0), ("linear", 0), ("cosine", 3)])
@pytest.mark.parametrize("max_norm", [None, 0.5])
def test_steps_are_those_of_adam(schedule: Any, warmup_steps: int, max_norm: float | None) -> None:
    """Against Adam, clipping and the running mean written out in NumPy, in float64."""
    weights = start()
    recipe = Recipe(
        3, learning_rate=0.05, schedule=schedule, averaging=0.6, max_norm=max_norm, warmup_steps=warmup_steps
    )
    seen: list[Any] = []

    def monitor(number: int) -> float:
        seen.append(weights["w"].detach().clone().numpy())
        return number

    history = run(weights, recipe, loss=squares(weights), monitors={"w": monitor})
    theta, first, second, mean = (np.zeros((3, 2)) for _ in range(4))
    means, step = [], 0
    for epoch in range(3):
        for number, x in enumerate(BATCHES.astype(np.float64)):
            extended = np.hstack([x, np.ones((8, 1))])
            residual = extended @ theta - x @ TARGET
            gradient = 2 * extended.T @ residual / residual.size
            length = np.sqrt((gradient**2).sum())
            gradient *= 1 if max_norm is None else min(1, max_norm / length)
            step += 1
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            passed = (epoch + number / 5) / 3
            rates = {"constant": 0.05, "linear": 0.05 * (1 - passed), "cosine": 0.025 * (1 + np.cos(np.pi * passed))}
            rate = rates[schedule] * min(1, step / 3 if warmup_steps else 1)
            theta = theta - rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
            decay = min(0.6, step / (step + 10))
            mean = decay * mean + (1 - decay) * theta
        means.append(mean)
    assert np.array(seen) == pytest.approx(np.array(means)[:, :2], abs=2e-5)
    assert [reading.values for reading in history.readings] == [{"w": 5.0}, {"w": 10.0}, {"w": 15.0}]
    assert history.best.number == 3
    assert weights["b"].detach().numpy() == pytest.approx(means[-1][2], abs=2e-5)


@pytest.mark.parametrize("sizes", [[1, 2, 3, 4, 8], [8, 8, 8, 8, 8]])
def test_a_batch_weighs_what_its_share_of_the_tokens_is(sizes: list[int]) -> None:
    parts = [batch[:size] for batch, size in zip(BATCHES, sizes, strict=True)]
    shares = dict(zip(sizes, np.array(sizes) / np.mean(sizes), strict=True))
    recipe = Recipe(3, learning_rate=0.05)
    found, expected = start(), start()
    means: list[float] = []
    seen = run(found, recipe, batches=lambda epoch: parts, loss=squares(found), size=len,
               progress=lambda step: means.append(step.loss))  # fmt: skip
    losses: list[float] = []

    def weighed(batch: Any, rng: Any) -> Any:
        losses.append(float(squares(expected)(batch, rng).detach()))
        return squares(expected)(batch, rng) * float(shares[len(batch)])

    wanted = run(expected, recipe, batches=lambda epoch: parts, loss=weighed)
    for name in found:
        torch.testing.assert_close(found[name], expected[name], rtol=0, atol=1e-6)
    assert [epoch.loss for epoch in seen.epochs] == pytest.approx([epoch.loss for epoch in wanted.epochs], rel=1e-6)
    per_epoch = np.average(np.array(losses).reshape(3, 5), axis=1, weights=sizes)
    assert [epoch.loss for epoch in seen.epochs] == pytest.approx(per_epoch, rel=1e-5)
    assert means[-1] == pytest.approx(per_epoch[-1], rel=1e-5)


def test_the_loss_shown_inside_an_epoch_is_that_of_its_tokens_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "Pace", partial(Pace, seconds=0.0))
    parts = [batch[:size] for batch, size in zip(BATCHES, [8, 1, 4, 2, 6], strict=True)]
    weights = start()
    shown: list[float] = []
    run(weights, Recipe(1, learning_rate=1e-9), batches=lambda epoch: parts, loss=squares(weights), size=len,
        progress=lambda step: shown.append(step.loss))  # fmt: skip
    targets = [((part @ TARGET) ** 2).mean() for part in parts]
    so_far = [np.average(targets[:n], weights=[8, 1, 4, 2, 6][:n]) for n in range(1, 6)]
    assert shown == pytest.approx(so_far, rel=1e-5)


def test_it_finds_the_optimum() -> None:
    weights = start()
    run(weights, Recipe(80, learning_rate=0.1, schedule="linear"), loss=squares(weights))
    assert weights["w"].detach().numpy() == pytest.approx(TARGET, abs=1e-3)


@pytest.mark.feature("DD-06")
@pytest.mark.parametrize(
    ("scores", "patience", "n_epochs", "best"),
    [
        ([1, 3, 2, 3, 2, 9], 2, 4, 2),  # a tie is no gain: the first of the best stays
        ([1, 3, 2, 4, 2, 2], 2, 6, 4),
        ([1, 3, 2, 3, 2, 9], None, 6, 6),
        ([5, 1, 1, 1, 1, 1], 1, 2, 1),
    ],
)
def test_the_weights_of_the_best_score_stay(scores: list[int], patience: int | None, n_epochs: int, best: int) -> None:
    weights = start()
    kept: list[dict[str, Any]] = []

    def score() -> float:
        kept.append({name: weight.detach().clone() for name, weight in weights.items()})
        return float(scores[len(kept) - 1])

    recipe = Recipe(6, patience=patience)
    history = run(weights, recipe, score=score)
    assert len(history.epochs) == len(kept) == n_epochs
    assert history.converged(recipe) == (patience is not None)
    assert history.best == Epoch(best, history.epochs[best - 1].loss, float(max(scores[:n_epochs])))
    assert equal(weights, kept[best - 1])
    assert not equal(weights, kept[best - 2])


RECIPE = Recipe(6, learning_rate=0.05, schedule="linear", averaging=0.9, max_norm=1.0)


def test_the_seed_decides_what_is_drawn_and_global_state_stays() -> None:
    first, second, other = start(), start(), start()
    state = torch.get_rng_state()
    run(first, RECIPE)
    torch.manual_seed(99)
    run(second, RECIPE)
    torch.set_rng_state(state)
    run(other, RECIPE, seed=4)
    assert equal(first, second)
    assert not equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_half_precision_is_for_products_not_for_weights() -> None:
    weights = start()
    dtypes = set()

    def loss(batch: Any, rng: Any) -> Any:
        product = torch.from_numpy(batch) @ weights["w"]
        dtypes.add(product.dtype)
        return (product.float() - 1).square().mean()

    run(weights, Recipe(1, precision="bfloat16"), loss=loss)
    assert dtypes == {torch.bfloat16}
    assert weights["w"].dtype == torch.float32


def test_what_is_not_finite_is_an_error() -> None:
    weights = start()
    with pytest.raises(InputError, match=r"the loss of epoch 1 is nan; a lower learning rate may help$"):
        run(weights, RECIPE, loss=lambda batch, rng: weights["w"].sum() * torch.nan)
    with pytest.raises(InputError, match="the score of epoch 1 is nan"):
        run(start(), RECIPE, score=lambda: float("nan"))


@pytest.mark.parametrize("averaging", [0.0, 0.9])
def test_monitors_read_inside_epochs_and_after_them(averaging: float) -> None:
    """Every three steps of epochs of five: 3, 5 (the end), 6, 9, 10 (the end); not twice at an end that is a third."""
    weights, steps = start(), []
    recipe = Recipe(3, learning_rate=0.1, averaging=averaging)

    def monitor(step: int) -> float | None:
        steps.append(step)
        return None if step == 5 else math.nan if step == 6 else float(weights["b"].detach()[0])

    history = run(weights, recipe, monitors={"b": monitor}, monitor_steps=3)
    assert steps == [3, 5, 6, 9, 10, 12, 15]
    assert [(reading.step, reading.epoch) for reading in history.readings] == [
        (3, 1), (5, 1), (6, 2), (9, 2), (10, 2), (12, 3), (15, 3)
    ]  # fmt: skip
    values = [reading.values["b"] for reading in history.readings]
    assert values[1:3] == [None, None]
    assert values[-1] == float(weights["b"].detach()[0])  # those that are scored and kept, the mean where there is one
    other = start()
    run(other, recipe)
    assert equal(weights, other)


def test_without_a_score_the_last_epoch_is_kept() -> None:
    first, second = start(), start()
    history = run(first, RECIPE, score=None)
    count = itertools.count()
    run(second, RECIPE, score=lambda: float(next(count)))
    assert [epoch.score for epoch in history.epochs] == [0, 1, 2, 3, 4, 5]
    assert equal(first, second)


def test_nothing_to_train_is_an_error() -> None:
    with pytest.raises(OptionError, match="at least one weight"):
        run({}, RECIPE, loss=None)
    with pytest.raises(OptionError, match="at least one batch, got 0"):
        run(start(), RECIPE, batches=lambda epoch: [])
    with pytest.raises(OptionError, match="checkpoint_seconds must be at least 0, got -1"):
        run(start(), RECIPE, checkpoint_seconds=-1)
    with pytest.raises(OptionError, match="monitor_steps must be at least 1, got 0"):
        run(start(), RECIPE, monitor_steps=0)


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
