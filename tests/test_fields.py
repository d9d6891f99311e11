"""What is declared at the field of a setting is found there, and checked."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from textassay.errors import OptionError
from textassay.fields import Above, Between, Option, Share, check_fields, fields_of


@dataclass(frozen=True)
class _Settings:
    n: Annotated[int, Option("How many."), Between(2, 9)] = 2
    rate: Annotated[float | None, Above(0)] = None
    most: Annotated[float, Above(0, 1)] = 1.0
    dropout: Annotated[float, Share()] = 0.0
    whole: Annotated[float, Share(whole=True)] = 1.0
    kind: Annotated[Literal["one", "two", "three"] | None, Option("Which.")] = None
    free: str = "anything"


def test_a_field_has_its_type_without_none_its_option_and_its_rules() -> None:
    fields = fields_of(_Settings)
    assert list(fields) == ["n", "rate", "most", "dropout", "whole", "kind", "free"]
    assert [fields[name].kind for name in ("n", "rate", "free")] == [int, float, str]
    assert [name for name, field in fields.items() if field.option is not None] == ["n", "kind"]
    assert fields["rate"].rules == (Above(0),)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 1}, "n must be between 2 and 9, got 1"),
        ({"rate": 0.0}, "rate must be above 0, got 0.0"),
        ({"rate": float("nan")}, "rate must be above 0, got nan"),
        ({"most": 1.5}, "most must be above 0 and at most 1, got 1.5"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"whole": -0.1}, "whole must be at least 0 and at most 1, got -0.1"),
        ({"kind": "four"}, "kind must be one, two or three, got four"),
    ],
)
def test_a_value_that_breaks_a_rule_is_refused_by_the_name_of_its_field(settings: dict[str, Any], message: str) -> None:
    check_fields(_Settings())
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        check_fields(_Settings(**settings))
