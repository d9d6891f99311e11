"""What a comparison may draw texts from, by name or as an object: no library is loaded for either."""

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from textassay.errors import OptionError
from textassay.extensions import extension


class Source(Protocol):
    """What may stand in place of generated texts: it draws them."""

    def sample(self, n: int, *, seed: int) -> Any:
        """Return `n` texts, of which the first k do not depend on n; equal seeds give equal texts."""
        ...


def names_model(source: Any) -> bool:
    """Return whether `source` is the name of a model or command, rather than that of a file of texts."""
    if not isinstance(source, str | os.PathLike):
        return False
    name = os.fspath(source)
    if name.startswith(("pretrained:", "command:", "openai:")):
        return True
    if re.fullmatch(r"random-lstm(:\d+)?", name):
        return not Path(name).exists()
    return any((Path(name) / file).is_file() for file in ("training.json", "config.json"))


def is_source(value: Any) -> bool:
    """Return whether texts can be drawn from `value`: a generator, or the name of one; tables are texts."""
    return names_model(value) or (callable(getattr(value, "sample", None)) and not hasattr(value, "__len__"))


def is_endpoint(value: Any) -> bool:
    """Return whether `value`, a generator or the name of one, is a model of an endpoint."""
    if isinstance(value, str | os.PathLike):
        return os.fspath(value).startswith("openai:")
    return getattr(value, "kind", None) == "openai"


def command_of(value: Any) -> str | None:
    """Return the shell command that `value`, a generator or the name of one, stands for; None for a model."""
    if isinstance(value, str | os.PathLike):
        name = os.fspath(value)
        return name.removeprefix("command:") if name.startswith("command:") else None
    return getattr(getattr(value, "model", None), "command", None)


def open_source(value: Any) -> Source:
    """Return the generator that `value` is or names."""
    if not names_model(value):
        return cast(Source, value)
    open_model = extension("textassay.models", for_what="a model as a generator")
    return cast(Source, open_model(os.fspath(value)))


def check_beside(sources: Collection[str], beside: Mapping[str, Collection[str] | None]) -> None:
    """Raise where something comes with texts that are still to be drawn.

    `beside`: ``features``, ``log_probs`` and ``ratings`` to the names of those whose they are.
    """
    for kind, names in beside.items():
        for name in names or ():
            if name in sources and kind == "log_probs":
                raise OptionError(
                    f"{name} is a model, which computes its own log-probabilities: leave its --log-probs out"
                )
            if name in sources:
                raise OptionError(
                    f"--{kind} belong to texts, but {name} is a generator, which has no texts yet: draw them with "
                    "'textassay sample' and give the file"
                )
