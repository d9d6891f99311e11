"""What a type checker says of a user's script: the settings of metrics are known to it."""

import inspect

import pytest

import textassay as ta
from metric_calls import STUB, stub
from textassay.metric.catalog import CATALOG


def test_the_types_are_those_of_the_metrics() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run python tests/support/metric_calls.py --write"


@pytest.mark.parametrize("metric", CATALOG)
def test_the_types_name_what_help_shows(metric: str) -> None:
    name = metric.replace("-", "_")
    kind = "".join(part.capitalize() for part in name.split("_"))
    part = STUB.read_text(encoding="utf-8").split(f"class _{kind}(", 1)[1].split(") -> Estimate", 1)[0]
    told = [line.strip(" ,").split(":")[0].lstrip("*") for line in part.splitlines()[2:]]
    shown = inspect.signature(getattr(ta, name)).parameters
    assert [each for each in told if each not in ("self", "")] == [*shown]


def calls_for_the_type_checker() -> None:
    """Nobody runs this: a type checker reads it, and reports an ignored error that is none."""
    value: float = ta.bleu(["a"], ["b"], order=4, lowercase=True, level=0.9).value
    ta.zipf(["a"], seed=int(value))
    ta.compare(["a"], ["b"], metrics=[ta.bleu, "dd"])
    ta.bleu(["a"], ["b"], n=4)  # type: ignore[call-arg]
    ta.dd(["a"], ["b"], effort="slow")  # type: ignore[arg-type]
    ta.rouge(["a"], ["b"], beta="much")  # type: ignore[arg-type]
