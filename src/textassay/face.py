"""Faces of packages: a face names in its `__init__.pyi` what users use, and loads a name when it is first asked for.

The face of `textassay` also hands out the names of the faces that packages beside it register.
"""

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
    _group: str | None

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return sorted({*self._homes, *(other for face in self._others() for other in face.__all__)})
        home = self._homes.get(name)
        if home is not None:
            value = import_module(f"{home}.{name}") if home == self.__name__ else getattr(import_module(home), name)
        else:
            faces = () if name.startswith("_") else self._others()
            value = next((getattr(face, name) for face in faces if name in face.__all__), None)
            if value is None:
                raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing the module `discriminators` would hide a name of the face that is called so.
        if not (isinstance(value, ModuleType) and name in self._homes):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*(name for name in super().__dir__() if name.startswith("__")), *self.__all__})

    def _others(self) -> tuple[Any, ...]:
        if self._group is None:
            return ()
        from textassay.extensions import extensions

        return extensions(self._group)


def make_face(package: str, *, group: str | None = None) -> None:
    """Let `package` hand out the names of its `__init__.pyi`, which has a line ``from a.b import c as c`` for each.

    Where `a.b` is the package itself, `c` is one of its modules. `group`: of the entry points that register further
    faces, whose names it hands out, too.
    """
    module: Any = sys.modules[package]
    stub = Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    module._homes = {name: home for home, name in _LINE.findall(stub)}
    module._group = group
    module.__class__ = _Face
