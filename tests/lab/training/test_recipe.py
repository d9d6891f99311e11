"""Recipes: learning rates worked out by hand, settings out of range."""

from typing import Any

import pytest

from textassay.errors import OptionError
from textassay_lab.training.loop import train
from textassay_lab.training.recipe import DecayRecipe, Recipe


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [8, 8, 8, 8]),
        ("linear", [8, 6, 4, 2]),
        ("cosine", [8, 4 * (1 + 0.5**0.5), 4, 4 * (1 - 0.5**0.5)]),
    ],
)
def test_rates_fall_with_what_has_passed(schedule: Any, rates: list[float]) -> None:
    recipe = Recipe(1, learning_rate=8, schedule=schedule)
    found = [recipe.rate(passed, step + 1) for step, passed in enumerate([0, 0.25, 0.5, 0.75])]
    assert found == pytest.approx(rates, rel=1e-12)


def test_rates_rise_while_training_warms_up() -> None:
    recipe = Recipe(1, learning_rate=8, warmup_steps=4)
    assert [recipe.rate(0.0, step) for step in (1, 2, 3, 4, 5, 600)] == [2, 4, 6, 8, 8, 8]
    falling = Recipe(1, learning_rate=8, schedule="linear", warmup_steps=2)
    assert [falling.rate(passed, step) for step, passed in ((1, 0.0), (2, 0.25), (3, 0.5))] == [4, 6, 4]


def test_warming_up_takes_at_most_a_fifth_of_all_steps() -> None:
    recipe = Recipe(1, learning_rate=8, warmup_steps=200)
    assert [recipe.rate(0.0, step, 20) for step in (1, 2, 3, 4, 5)] == [2, 4, 6, 8, 8]
    assert recipe.rate(0.0, 50, 10_000) == 2
    of_translation = Recipe(1, learning_rate=8, schedule="inverse-sqrt", warmup_steps=200)
    assert [of_translation.rate(0.0, step, 20) for step in (1, 4, 16)] == [2, 8, 4]


def test_the_inverse_square_root_begins_where_warming_up_ends() -> None:
    recipe = Recipe(1, learning_rate=8, schedule="inverse-sqrt", warmup_steps=4)
    assert [recipe.rate(0.5, step) for step in (1, 2, 4, 16, 64)] == [2, 4, 8, 4, 2]


def test_weights_decay_apart_from_their_gradients() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(3, requires_grad=True)
    optimizer = DecayRecipe(1, learning_rate=0.1, weight_decay=0.5, beta2=0.98).make_optimizer([weight], fused=True)
    assert optimizer.param_groups[0]["betas"] == (0.9, 0.98)
    weight.grad = torch.zeros(3)
    optimizer.step()
    assert weight.tolist() == pytest.approx([0.95] * 3)
    with pytest.raises(OptionError, match=r"beta2 must be at least 0 and below 1, got 1\.0"):
        DecayRecipe(1, beta2=1.0)
    with pytest.raises(OptionError, match="weight_decay must be at least 0, got -1"):
        DecayRecipe(1, weight_decay=-1.0)


def test_rmsprop_divides_by_the_root_of_the_mean_square_and_each_number_is_clamped() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.zeros(3, requires_grad=True)
    recipe = Recipe(1, learning_rate=0.1, optimizer="rmsprop", max_value=5.0)
    loss = lambda batch, rng: (weight * torch.tensor([100.0, 2.0, -7.0])).sum()  # noqa: E731
    train({"w": weight}, batches=lambda epoch: [0], loss=loss, score=None, recipe=recipe, seed=0)
    clamped = torch.tensor([5.0, 2.0, -5.0])
    torch.testing.assert_close(weight.detach(), -0.1 * clamped / ((0.01 * clamped**2).sqrt() + 1e-8))
    with pytest.raises(OptionError, match="optimizer must be adam, got rmsprop"):
        DecayRecipe(1, optimizer="rmsprop")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "sgd"}, "optimizer must be adam or rmsprop, got sgd"),
        ({"max_value": 0.0}, "max_value must be above 0, got 0.0"),
        ({"max_epochs": 0}, "max_epochs must be at least 1, got 0"),
        ({"patience": 0}, "patience must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0, got 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0, got nan"),
        ({"schedule": "steep"}, "schedule must be constant, linear, cosine or inverse-sqrt, got steep"),
        ({"averaging": 1.0}, "averaging must be at least 0 and below 1, got 1.0"),
        ({"max_norm": 0.0}, "max_norm must be above 0, got 0.0"),
        ({"warmup_steps": -1}, "warmup_steps must be at least 0, got -1"),
        ({"precision": "float16"}, "precision must be auto, float32 or bfloat16, got float16"),
    ],
)
def test_bad_settings_are_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Recipe(**{"max_epochs": 3, **settings})
