"""Faces of packages: each names in its `__init__.pyi` what others use, and loads a name when it is first asked for."""

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_LINE = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)


class _Face(ModuleType):
    """A package whose names are loaded on first use."""

    _homes: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        if name not in self._homes:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        home = self._homes[name]
        value = import_module(f"{home}.{name}") if home == self.__name__ else getattr(import_module(home), name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing the module `bleu` would hide the function of that name.
        if not (isinstance(value, ModuleType) and name in self._homes):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*(name for name in super().__dir__() if name.startswith("__")), *self._homes})


def make_face(package: str) -> None:
    """Let `package` hand out the names of its `__init__.pyi`, which has a line ``from a.b import c as c`` for each.

    Where `a.b` is the package itself, `c` is one of its modules.
    """
    module: Any = sys.modules[package]
    stub = Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    module._homes = {name: home for home, name in _LINE.findall(stub)}
    module.__all__ = sorted(module._homes)
    module.__class__ = _Face
