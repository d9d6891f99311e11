"""The options of ``train MODEL`` are the model's own settings: all of them, and they reach what is trained."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textassay.fields import fields_of
from textassay_lab.cli.commands import MODELS
from textassay_lab.cli.train import command
from textassay_lab.generator.catalog import class_of

Run = Callable[..., Any]
Refused = Callable[..., str]

# What the texts, other options or the command itself decide.
TOLD = {"seed", "recipe", "length", "max_length", "positions", "attributes", "ends"}
SEQGAN = ("train", "seqgan", "--real", "train.txt", "--valid", "real.txt", "--width", 4, "--epochs", 1, "--workers", 1)


@pytest.mark.parametrize("name", MODELS)
def test_every_setting_is_an_option(name: str) -> None:
    declared = class_of(name)
    fields = fields_of(declared.settings_class)
    wanted = set(fields) - TOLD
    if getattr(declared, "begins_with_likelihood", True) and "recipe" in fields:
        wanted |= set(fields_of(fields["recipe"].kind)) - ({"optimizer"} if name == "translation" else set())
    else:
        wanted -= set(getattr(declared, "unused", ()))
    wanted |= set(fields_of(declared.recipe_class)) - {"length"} if hasattr(declared, "recipe_class") else set()
    settings = command(name).settings  # type: ignore[attr-defined]
    assert {each.name for each in settings.values()} == wanted


@pytest.mark.parametrize("name", MODELS)
def test_help_shows_the_options_of_the_model_alone(run: Run, name: str) -> None:
    shown = run("train", name, "--help")
    assert shown.status == 0
    assert " ".join(MODELS[name].split()) in " ".join(shown.stdout.split())
    assert ("--roll-outs" in shown.stdout) == (name in ("leakgan", "rankgan", "seqgan"))
    assert ("--contexts" in shown.stdout) == (name in ("att2seq", "c2s", "gc2s"))
    assert ("--references" in shown.stdout) == (name == "rankgan")
    assert ("--memory-reset-prob" in shown.stdout) == (name == "transformer-xl")
    assert ("--tokenizer" in shown.stdout) == (name != "translation")


def test_without_a_name_they_are_listed(run: Run) -> None:
    for group, names in (("train", MODELS), ("study", ("dd-real", "judges", "list"))):
        listed = run(group)
        assert listed.status == 0
        assert listed.stdout == run(group, "--help").stdout
        assert all(name in listed.stdout for name in names)


def test_settings_of_the_rounds_reach_them(folder: Path, run: Run, refused: Refused) -> None:
    asked = ("--rounds", 0, "--roll-outs", 3, "--discount", 0.9, "--discriminator-filters", "1:5,2:6",
             "--discriminator-learning-rate", 0.01, "--schedule", "cosine", "--quiet", "--out", "out")  # fmt: skip
    assert run(*SEQGAN, *asked).status == 0
    recorded = json.loads((folder / "out" / "training.json").read_text())
    rounds = recorded["rounds"]
    assert (rounds["roll_outs"], rounds["discount"], rounds["discriminator_filters"]) == (3, 0.9, {"1": 5, "2": 6})
    assert (rounds["discriminator_learning_rate"], rounds["adversarial_learning_rate"]) == (0.01, 0.01)
    assert recorded["network"]["recipe"]["schedule"] == "cosine"
    changed = ("--rounds", 0, "--roll-outs", 4, "--discount", 0.9, "--discriminator-filters", "1:5,2:7", *asked[8:])
    assert refused(*SEQGAN, *changed) == (
        "out was started with other settings (roll-outs 3, now 4, discriminator-filters 1:5,2:6, now 1:5,2:7): "
        "choose another --out"
    )


@pytest.mark.parametrize(
    ("model", "option", "value", "line"),
    [
        ("seqgan", "--discriminator-learning-rate", "0", "--discriminator-learning-rate must be above 0, got 0"),
        ("seqgan", "--discriminator-filters", "2,3", "cannot read --discriminator-filters '2,3': write widths and"),
        ("seqgan", "--baseline", "mean", "--baseline must be none or leave-one-out, got mean"),
        ("rankgan", "--references", "0", "--references must be at least 1, got 0"),
        ("leakgan", "--feature-filters", "1:0", "--feature-filters must be different windows of at least 1"),
        ("scratchgan", "--discriminator-width", "0", "--discriminator-width must be at least 1, got 0"),
        ("cot", "--mediator-dropout", "1", "--mediator-dropout must be"),
        ("wgan", "--gradient-penalty", "-1", "--gradient-penalty must be at least 0, got -1"),
        ("lstm", "--schedule", "wavy", "--schedule must be constant, linear, cosine or inverse-sqrt, got wavy"),
        ("lstm", "--init-range", "0", "--init-range must be above 0, got 0"),
        ("gpt2", "--width", "7", "--width must be a multiple of heads, 4, got 7"),
        ("transformer-xl", "--cutoffs", "20,x", "cannot read --cutoffs '20,x': write whole numbers"),
        ("transformer-xl", "--cutoffs", "20,10", "--cutoffs must rise, from"),
        ("ngram", "--discounts", "none", "--discounts must be modified or single, got none"),
        ("position-unigram", "--strength", "0", "--strength must be above 0, got 0"),
    ],
)
def test_messages_name_the_option(refused: Refused, model: str, option: str, value: str, line: str) -> None:
    assert line in refused("train", model, "--real", "train.txt", "--valid", "real.txt", "--out", "o", option, value)
