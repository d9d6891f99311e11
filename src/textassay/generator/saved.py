"""Fitted models in folders: ``model.safetensors`` with the arrays, ``model.json`` with everything else, without code.

The document holds a checksum of the arrays and, since format 2, one of itself, so that a truncated or damaged file is
detected. Both files are written under other names and then renamed, the document last.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from textassay.corpus import TextForm, Vocabulary, parse_json, read_document
from textassay.errors import InputError, OptionError, OutputError, check_type
from textassay.generator.base import Generator, LanguageModel
from textassay.generator.catalog import remake_generator
from textassay.generator.old_names import present_name
from textassay.storage import atomic_write, checksum, remove_stale_drafts

FORMAT = 2  # of the folder; in format 1, which is read too, the document has no checksum of itself
_FORMATS = (1, FORMAT)
_DOCUMENT, _ARRAYS = "model.json", "model.safetensors"
_OF_DOCUMENT = "document-checksum"
_TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}  # as safetensors names them

Arrays = Mapping[str, npt.NDArray[Any]]


@runtime_checkable
class Saveable(Generator, Protocol):
    """A generator that can be saved: one of `textassay.generator.catalog`."""

    kind: str

    @property
    def vocabulary(self) -> Vocabulary:
        """Vocabulary of the training text; raises where it is not fitted."""
        ...

    @property
    def tokenizer(self) -> str:
        """Name of the tokeniser of its training text."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of `make_generator`, JSON-ready."""
        ...

    @property
    def record(self) -> dict[str, Any]:
        """How it was trained, JSON-ready."""
        ...

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the weights, or the training tokens of a count-based model."""
        ...

    def check_arrays(self, arrays: Arrays, n_types: int) -> None:
        """Raise `InputError` where names, shapes or types are not those of `arrays()`; reads no values."""
        ...

    def restore(self, arrays: Arrays, *, vocabulary: Vocabulary, tokenizer: str, record: Mapping[str, Any]) -> None:
        """Load the arrays of a model with the same settings; raises `InputError` where they do not fit."""
        ...


@dataclass(frozen=True)
class SavedGenerator:
    """A saved generator: fitted, with its tokens and vocabulary, and its document."""

    model: Generator
    form: TextForm
    document: Mapping[str, Any]


@dataclass(frozen=True)
class SavedModel(SavedGenerator):
    """A saved language model."""

    model: LanguageModel


def save_model(model: Generator, folder: Path, *, form: TextForm) -> None:
    """Write a fitted model into `folder`; a model that is there is replaced."""
    from safetensors.numpy import save

    if not isinstance(model, Saveable):
        raise OptionError(f"{model.name} cannot be saved: only models that textassay trains can be")
    if model.vocabulary.tokens != form.vocabulary.tokens or model.tokenizer != form.tokenizer.name:
        raise OptionError(f"{model.name} was fitted to text with another tokenizer or vocabulary than `form`")
    content = save({name: np.ascontiguousarray(array) for name, array in model.arrays().items()})
    document = {
        "format": FORMAT,
        "version": version("textassay"),
        "kind": model.kind,
        "name": model.name,
        "settings": model.settings,
        "form": form.to_dict(),
        "vocabulary": form.hash,
        "checksum": checksum(content),
        "training": model.record,
    }
    document[_OF_DOCUMENT] = _checksum_of(document)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / _ARRAYS, content)
        _replace(folder / _DOCUMENT, json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode())
    except OSError as error:
        raise OutputError(f"cannot write the model to {folder}: {error.strerror or error}") from error


def load_model(folder: Path) -> SavedModel:
    """Return the language model that `save_model` wrote into `folder`."""
    saved = load_generator(folder)
    if not hasattr(saved.model, "log_prob"):
        raise InputError(
            f"{folder} holds a generator without likelihood ({saved.model.name}): sample from it, or estimate its "
            "perplexity from samples with 'textassay approximate'"
        )
    return SavedModel(cast(LanguageModel, saved.model), saved.form, saved.document)


def load_generator(folder: Path) -> SavedGenerator:
    """Return the generator that `save_model` wrote into `folder`, with a likelihood or without."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    document = _document(folder)
    try:
        for part in ("form", "settings", "training"):
            check_type(f"'{part}' of {_DOCUMENT}", document[part], Mapping[str, Any])
        form = TextForm.from_dict(document["form"])
        if form.hash != document["vocabulary"]:
            raise InputError("the vocabulary is not the one the model was trained with")
        model = cast(Saveable, remake_generator(document["kind"], document["settings"]))
        _check_training(document["training"])
        names = partial(_present_names, document["kind"], document["settings"])
        model.check_arrays(names(_stand_ins(folder / _ARRAYS)), len(form.vocabulary))  # before the values are read
        arrays = names(load(_content(folder, document)))
        _check_finite(arrays)
        model.restore(arrays, vocabulary=form.vocabulary, tokenizer=form.tokenizer.name, record=document["training"])
    except (OptionError, SafetensorError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, _FileError):
            raise
        raise InputError(f"{folder} holds no usable model: {_first_line(error)}") from error
    return SavedGenerator(model, form, document)


def check_saved(folder: Path) -> None:
    """Raise where `load_model` would because a file in `folder` is not there, truncated or damaged; loads nothing."""
    _content(folder, _document(folder))


def _present_names(kind: str, settings: Mapping[str, Any], arrays: Arrays) -> Arrays:
    return {present_name(name, kind, settings): array for name, array in arrays.items()}


class _FileError(InputError):
    """A file cannot be read at all; the message names it."""


def _stand_ins(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return views without memory that have the names, shapes and types of the arrays in a file."""
    from safetensors import SafetensorError, safe_open

    try:
        with path.open("rb"), safe_open(path, framework="np") as file:  # the first says why a file cannot be opened
            parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            kinds = {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in parts.items()}
    except OSError as error:
        raise _FileError(f"cannot read {path}: {error.strerror or error}") from None
    except SafetensorError as error:
        raise _FileError(f"{path} is truncated or damaged: {_first_line(error)}") from None
    for name, (kind, _) in kinds.items():
        if kind not in _TYPES:
            raise InputError(f"'{name}' must have one of the types {', '.join(_TYPES)}, got {kind}")
    return {name: np.broadcast_to(np.empty((), _TYPES[kind]), shape) for name, (kind, shape) in kinds.items()}


def _content(folder: Path, document: Mapping[str, Any]) -> bytes:
    """Return the file of numbers if it is the one that the document was written for."""
    try:
        content = (folder / _ARRAYS).read_bytes()
    except OSError as error:
        raise _FileError(f"cannot read {folder / _ARRAYS}: {error.strerror or error}") from None
    if checksum(content) != document["checksum"]:
        raise _FileError(f"{folder / _ARRAYS} is truncated or damaged: its checksum is not the one in {_DOCUMENT}")
    return content


def _check_finite(arrays: Arrays) -> None:
    for name in sorted(arrays):
        array = arrays[name]
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            wrong = array.size - np.count_nonzero(np.isfinite(array))
            raise InputError(f"{wrong} of {array.size} values of the weights '{name}' are not finite")


def _check_training(record: Mapping[str, Any]) -> None:
    """Raise unless the records of texts, if any, have the types that commands expect."""
    for text in ("train", "valid"):
        text_record = record.get(text)
        check_type(f"'{text}' of the training", text_record, Mapping[str, Any] | None)
        for part, kind in {"fingerprint": str, "sentences": int}.items():
            if text_record is not None and part in text_record:
                check_type(f"{part} of '{text}' of the training", text_record[part], kind)


def _document(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise InputError(f"{folder} is not a model folder: there is no such folder")
    path = folder / _DOCUMENT
    try:
        document = parse_json(read_document(path), finite=True)
    except FileNotFoundError:
        raise InputError(f"{folder} is not a model folder: it has no {_DOCUMENT}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read {path}, it is truncated or damaged: {error}") from None
    if not isinstance(document, dict) or "format" not in document:
        raise InputError(f"{path} does not describe a model of textassay")
    if document["format"] not in _FORMATS:
        raise InputError(
            f"{folder} was written by textassay {document.get('version')} in format {document['format']}; "
            f"this version, {version('textassay')}, reads formats {_FORMATS[0]} to {FORMAT}: train it again, "
            "or use that version"
        )
    if document["format"] == FORMAT and not _is_whole(document):
        raise InputError(f"{path} is truncated or damaged: its checksum differs; train the model again")
    missing = sorted({"kind", "settings", "form", "vocabulary", "checksum", "training"} - document.keys())
    if missing:
        raise InputError(f"{path} is damaged: it lacks {', '.join(missing)}")
    return document


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _is_whole(document: Mapping[str, Any]) -> bool:
    try:
        return bool(document.get(_OF_DOCUMENT) == _checksum_of(document))
    except RecursionError:  # it is nested more deeply than any that was written
        return False


def _checksum_of(document: Mapping[str, Any]) -> str:
    return checksum(json.dumps({name: part for name, part in document.items() if name != _OF_DOCUMENT}).encode())


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically, with the default permissions of new files; remove leftovers of earlier attempts."""
    remove_stale_drafts(path.parent)
    with atomic_write(path) as file:
        file.write(content)
