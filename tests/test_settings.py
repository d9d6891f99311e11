"""Settings load without Typer, and the public face has the defaults of their dataclasses."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from textassay import compare, explain, plan
from textassay.corpus.structure import AUTO_UNIT
from textassay.settings import FOLDS, Comparing, Explaining, Measuring


def test_settings_load_without_typer() -> None:
    code = "import sys, textassay.settings; assert not {'typer', 'numpy'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("function", "settings"), [(compare, Comparing), (explain, Explaining), (plan, Measuring)])
def test_keywords_have_the_defaults_of_settings(function: Callable[..., Any], settings: type[Measuring]) -> None:
    keywords = {name: each.default for name, each in inspect.signature(function).parameters.items()}
    defaults = {each.name: each.default for each in fields(settings)} | {"folds": FOLDS}
    shared = keywords.keys() & defaults.keys()
    assert {"effort", "prior", "folds", "level", "seed", "draw", "independent"} <= shared
    assert {name: keywords[name] or defaults[name] for name in shared} == {name: defaults[name] for name in shared}
    assert Explaining().unit == AUTO_UNIT  # which None of `explain` stands for


def test_a_setting_that_came_later_is_recorded_where_it_is_given() -> None:
    first = {"effort": "default", "encoder": "lsa+lm", "folds": 5, "paper": False}
    assert Comparing().recorded(unit="sentence", has_features=False) == first
    later = Comparing(prior="english", independent=True).recorded(unit="document", has_features=True)
    assert later == {**first, "encoder": "given", "prior": "english", "independent": True, "unit": "document"}
