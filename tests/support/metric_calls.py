"""The types of all calls of metrics, from their signatures: `python tests/support/metric_calls.py --write`."""

import argparse
import json
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from textassay.corpus.corpus import TextOptions
from textassay.estimate import Estimate
from textassay.metric.base import DRAWN, MetricFunction
from textassay.metric.catalog import CATALOG

STUB = Path(__file__).resolve().parents[2] / "src" / "textassay" / "metric" / "calls.pyi"
_HEAD = '''"""What type checkers read of each metric; `python tests/support/metric_calls.py --write` makes it."""

from typing import Any, Literal, Protocol, Unpack

import numpy.typing as npt

{imports}
'''
_ARRAYS = "tuple[npt.ArrayLike, npt.ArrayLike] | None"
_USUAL = ("level: float = ...", "seed: int = ...", "independent: bool = ...", "**text: Unpack[TextOptions]")


def stub() -> str:
    """Return the stub, as a formatter would write it."""
    classes: set[type] = {Estimate, MetricFunction, TextOptions}
    calls = []
    for metric in CATALOG:
        name = metric.replace("-", "_")
        kind = "".join(part.capitalize() for part in name.split("_"))
        parameters = ["self", "generated: Texts", "real: Texts = ...", "*", *_settings(metric, classes), *_USUAL]
        lines = "".join(f"        {parameter},\n" for parameter in parameters)
        call = f"    def __call__(\n{lines}    ) -> Estimate: ...\n"
        calls.append(f"class _{kind}(MetricFunction, Protocol):\n{call}\n{name}: _{kind}\n")
    homes: dict[str, list[str]] = {"textassay.corpus.corpus": ["Texts"]}
    for one in classes:
        homes.setdefault(one.__module__, []).append(one.__name__)
    imports = "\n".join(f"from {home} import {', '.join(sorted(names))}" for home, names in sorted(homes.items()))
    return _HEAD.format(imports=imports) + "\n" + "\n".join(calls)


def _settings(metric: str, classes: set[type]) -> list[str]:
    declaration = CATALOG[metric]
    hints = {**get_type_hints(declaration.compute), DRAWN: int | None}
    told = []
    for name in declaration.parameters:
        kind = "Texts" if name in declaration.texts or name == "prompts" else _type(hints[name], classes)
        told.append(f"{name}: {kind} = ...")
    return told


def _type(kind: Any, classes: set[type]) -> str:
    """Return a type as it is written; `classes` gets those that must be imported."""
    if "numpy._typing" in str(kind):
        return _ARRAYS
    if kind is Any or kind is NoneType:
        return "Any" if kind is Any else "None"
    if get_origin(kind) is Literal:
        words = ", ".join(json.dumps(word) for word in get_args(kind))
        return f"Literal[{words}]"
    if get_args(kind):
        return " | ".join(_type(part, classes) for part in get_args(kind))
    if kind.__module__ != "builtins":
        classes.add(kind)
    return str(kind.__name__)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        STUB.write_text(stub(), encoding="utf-8")
    else:
        print(stub())
