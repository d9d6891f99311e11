"""Fitted discriminators in folders: ``discriminator.safetensors`` with the arrays, ``discriminator.bin`` with all else.

The latter is a line with the number of the format and a checksum of all that follows and of the arrays, then a pickle
that may name only classes of textassay and the few of other libraries in `_ALLOWED`, so that a folder from elsewhere
cannot run code.
"""

import io
import pickle
import pickletools
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError
from textassay.storage import checksum, write_files

FORMAT = 2  # raised whenever a class of a fitted discriminator gets another name or other fields
_FIRST_LINE = b"textassay discriminator %d "
_PUT = ("PUT", "BINPUT", "LONG_BINPUT")  # of older protocols; a large number in one takes as much memory
_OBJECTS, _ARRAYS = "discriminator.bin", "discriminator.safetensors"
_ROOMS = {
    "textassay": ("corpus", "discriminator", "discriminators", "ngram"),
    "textassay_lab": ("judges", "training"),
}
_TREES = "sklearn.ensemble._hist_gradient_boosting"
_ALLOWED = {
    ("builtins", "bytearray"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy.random._pcg64", "PCG64"),
    ("numpy.random._pickle", "__bit_generator_ctor"),
    ("numpy.random._pickle", "__generator_ctor"),
    ("numpy.random.bit_generator", "SeedSequence"),
    ("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"),
    ("sklearn._loss._loss", "CyHalfBinomialLoss"),
    ("sklearn._loss.link", "Interval"),
    ("sklearn._loss.link", "LogitLink"),
    ("sklearn._loss.loss", "HalfBinomialLoss"),
    ("sklearn.feature_extraction.text", "TfidfTransformer"),
    (f"{_TREES}.binning", "_BinMapper"),
    (f"{_TREES}.gradient_boosting", "HistGradientBoostingClassifier"),
    (f"{_TREES}.predictor", "TreePredictor"),
    ("sklearn.preprocessing._label", "LabelEncoder"),
    ("sklearn.tree._classes", "DecisionTreeClassifier"),
    ("sklearn.tree._tree", "Tree"),
    ("xgboost.core", "Booster"),
}


def save_fitted(fitted: Mapping[str, Any], folder: Path) -> None:
    """Write what was fitted into `folder`, over what is there."""
    from safetensors.numpy import save

    content = io.BytesIO()
    pickler = _Pickler(content)
    pickler.dump({"version": version("textassay"), **fitted})
    arrays = {str(number): np.ascontiguousarray(array) for number, array in enumerate(pickler.arrays)}
    saved, objects = save(arrays), content.getvalue()
    write_files(folder, {_ARRAYS: saved, _OBJECTS: _FIRST_LINE % FORMAT + saved_checksum(saved, objects) + objects})


def load_fitted(folder: Path) -> dict[str, Any]:
    """Return what `save_fitted` wrote."""
    from safetensors.numpy import load

    try:
        saved, content = ((folder / name).read_bytes() for name in (_ARRAYS, _OBJECTS))
    except OSError:
        raise InputError(f"{folder} is not a discriminator folder: it has no {_ARRAYS} and {_OBJECTS}") from None
    if not content.startswith(_FIRST_LINE % FORMAT):
        raise InputError(f"{folder} contains a discriminator of another version of textassay: fit it again and save it")
    first_line, _, objects = content.partition(b"\n")
    if first_line + b"\n" != _FIRST_LINE % FORMAT + saved_checksum(saved, objects):
        raise InputError(f"{folder} is truncated or damaged: its checksum differs; fit the discriminator again")
    try:
        if any(code.name in _PUT for code, *_ in pickletools.genops(objects)):
            raise InputError("it was not written by textassay")
        fitted: dict[str, Any] = _Unpickler(io.BytesIO(objects), load(saved)).load()
    except InputError:
        raise
    except Exception as error:  # a pickle made by hand, and safetensors, raise anything
        raise InputError(f"{folder} contains no usable discriminator: {error}") from None
    return fitted


def saved_checksum(arrays: bytes, objects: bytes) -> bytes:
    """Return the end of the first line: a hash of both files."""
    return checksum(objects, arrays).encode() + b"\n"


class _Pickler(pickle.Pickler):
    """Puts arrays and tensors of numbers aside."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=4)
        self.arrays: list[npt.NDArray[Any]] = []
        self._places: dict[int, tuple[int, Any]] = {}  # the object is held, so that its id stays its own

    def persistent_id(self, value: Any) -> tuple[str, int] | None:
        """Return the kind and the number of an array."""
        if type(value) is np.ndarray and value.dtype.kind in "fiub":
            kind, array = "array", value
        elif type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach"):
            kind, array = "tensor", value.detach().cpu().numpy()
        else:
            return None
        if id(value) not in self._places:
            self._places[id(value)] = len(self.arrays), value
            self.arrays.append(array)
        return kind, self._places[id(value)][0]


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        super().__init__(file)
        self._arrays = arrays

    def persistent_load(self, place: tuple[str, int]) -> Any:
        """Return the array or the tensor of that number."""
        kind, number = place
        if kind == "array":
            return self._arrays[str(number)]
        if kind != "tensor":
            raise InputError(f"a saved discriminator may not hold arrays called {kind!r}")
        import torch

        return torch.from_numpy(self._arrays[str(number)].copy())

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that a discriminator may be made of."""
        parts = module.split(".")
        if len(parts) > 1 and parts[1] in _ROOMS.get(parts[0], ()) and "." not in name:
            cls = getattr(import_module(module), name, None)
            if isinstance(cls, type) and cls.__module__ == module:
                return cls
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        raise InputError(f"a saved discriminator may not name {module}.{name}")
