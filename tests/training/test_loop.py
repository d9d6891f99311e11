"""The training loop: its steps, what it keeps, interrupting and resuming, checkpoints that do not fit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.errors import InputError, OptionError, OutputError
from textassay.training.checkpoint import load_checkpoint, save_checkpoint
from textassay.training.loop import Epoch, History, Recipe, train

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


@pytest.mark.parametrize("schedule", ["constant", "linear"])
@pytest.mark.parametrize("max_norm", [None, 0.5])
def test_steps_are_those_of_adam(schedule: Any, max_norm: float | None) -> None:
    """Against Adam, clipping and the running mean written out in NumPy, in float64."""
    weights = start()
    recipe = Recipe(3, learning_rate=0.05, schedule=schedule, averaging=0.6, max_norm=max_norm)
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
            rate = 0.05 if schedule == "constant" else 0.05 * (1 - (epoch + number / 5) / 3)
            theta = theta - rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
            decay = min(0.6, step / (step + 10))
            mean = decay * mean + (1 - decay) * theta
        means.append(mean)
    assert np.array(seen) == pytest.approx(np.array(means)[:, :2], abs=2e-5)
    assert [reading.values for reading in history.readings] == [{"w": 5.0}, {"w": 10.0}, {"w": 15.0}]
    assert history.best.number == 3
    assert weights["b"].detach().numpy() == pytest.approx(means[-1][2], abs=2e-5)


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


@pytest.mark.parametrize("recipe", [RECIPE, Recipe(6)])
@pytest.mark.parametrize("between_epochs", [True, False])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path, recipe: Recipe, between_epochs: bool) -> None:
    whole = start()
    history = run(whole, recipe)

    class KilledError(Exception):
        pass

    calls = 0

    def interrupt(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == (3 if between_epochs else 18):
            raise KilledError

    weights = start()
    path = tmp_path / "run.safetensors"
    if between_epochs:
        with pytest.raises(KilledError):
            run(weights, recipe, checkpoint=path, progress=interrupt)
    else:
        plain = squares(weights, noise=0.1)

        def loss(batch: Any, rng: Any) -> Any:
            interrupt()
            return plain(batch, rng)

        with pytest.raises(KilledError):
            run(weights, recipe, checkpoint=path, loss=loss)
    assert len(load_checkpoint(path)[1]["epochs"]) == 3
    again = start()
    reported: list[int] = []
    resumed = run(again, recipe, checkpoint=path, progress=lambda step: reported.append(step.epoch))
    assert reported == [4, 5, 6]
    assert resumed == history
    assert equal(again, whole)
    assert not equal(weights, whole)
    assert [file.name for file in tmp_path.iterdir()] == ["run.safetensors"]


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    first, second = start(), start()
    path = tmp_path / "run.safetensors"
    history = run(first, RECIPE, checkpoint=path)
    assert run(second, RECIPE, checkpoint=path, loss=None, score=None) == history
    assert equal(first, second)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"seed": 4}, "another seed: delete it"),
        ({"config": {"layers": 2}}, "another config"),
        ({"recipe": replace(RECIPE, max_epochs=9), "seed": 4}, "another recipe and seed"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path, changes: dict[str, Any], what: str) -> None:
    path = tmp_path / "run.safetensors"
    run(start(), RECIPE, checkpoint=path, config={"layers": 1})
    settings = {"recipe": RECIPE, "config": {"layers": 1}, **changes}
    with pytest.raises(InputError, match=what):
        run(start(), checkpoint=path, **settings)


def test_a_checkpoint_of_another_network_or_no_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    run(start(), RECIPE, checkpoint=path)
    other = {**start(), "c": torch.zeros(1, requires_grad=True)}
    with pytest.raises(InputError, match="another weights"):
        run(other, RECIPE, checkpoint=path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match=r"cannot read the checkpoint .*run\.safetensors: truncated"):
        run(start(), RECIPE, checkpoint=path)
    with pytest.raises(OutputError, match="cannot write the checkpoint"):
        save_checkpoint(tmp_path / "nowhere" / "run.safetensors", start(), {})


def test_checkpoints_hold_what_was_put_in(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    shared = torch.arange(6.0).reshape(2, 3)
    save_checkpoint(path, {"a": shared.T, "b": shared}, {"words": ["é", "<unk>"], "n": 1})
    tensors, document = load_checkpoint(path)
    assert torch.equal(tensors["a"], shared.T)
    assert torch.equal(tensors["b"], shared)
    assert document == {"words": ["é", "<unk>"], "n": 1}


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
    with pytest.raises(InputError, match="the loss of epoch 1 is nan; a lower learning rate"):
        run(weights, RECIPE, loss=lambda batch, rng: weights["w"].sum() * torch.nan)
    with pytest.raises(InputError, match="the score of epoch 1 is nan"):
        run(start(), RECIPE, score=lambda: float("nan"))


def test_nothing_to_train_is_an_error() -> None:
    with pytest.raises(OptionError, match="no weights"):
        run({}, RECIPE, loss=None)
    with pytest.raises(OptionError, match="at least one batch, got 0"):
        run(start(), RECIPE, batches=lambda epoch: [])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_epochs": 0}, "max_epochs must be at least 1, got 0"),
        ({"patience": 0}, "patience must be at least 1, or none, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0, got 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0, got nan"),
        ({"schedule": "steep"}, "schedule must be constant, linear or cosine, got steep"),
        ({"averaging": 1.0}, "averaging must be at least 0 and below 1, got 1.0"),
        ({"max_norm": 0.0}, "max_norm must be above 0, or none, got 0.0"),
        ({"precision": "float16"}, "precision must be auto, float32 or bfloat16, got float16"),
    ],
)
def test_bad_settings_are_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Recipe(**{"max_epochs": 3, **settings})
