"""Fitted models in folders: ``model.safetensors`` with the arrays, ``config.json`` with everything else, without code.

``config.json`` is laid out as Hugging Face's; what is ours stands under the key ``textassay``, with a checksum of the
arrays and one of the whole document, so that a truncated or damaged file is detected. Files are written under other
names and then renamed, the document last.

A folder of a GPT-2 opens in transformers, and a GPT-2 of transformers opens here; see `gpt2_folder`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from textassay.corpus.documents import parse_json, read_document
from textassay.corpus.encoding import Vocabulary
from textassay.corpus.text_form import TextForm
from textassay.errors import InputError, OptionError, OutputError, check_type
from textassay.ngram.language_model import Generator, LanguageModel
from textassay.storage import atomic_write, checksum, remove_stale_drafts
from textassay_lab.generator.catalog import remake_generator

FORMAT = 1
_DOCUMENT, _ARRAYS = "config.json", "model.safetensors"
_OURS = "textassay"
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
_OF_DOCUMENT = "document-checksum"
_TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}  # as safetensors names them

Arrays = Mapping[str, npt.NDArray[Any]]


@runtime_checkable
class Saveable(Generator, Protocol):
    """A generator that can be saved: one of `textassay_lab.generator.catalog`."""

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
    arrays = {name: np.ascontiguousarray(array) for name, array in model.arrays().items()}
    content = save(arrays, metadata={"format": "pt"})  # without which transformers refuses a file
    config: dict[str, Any] = {"model_type": model.kind, "architectures": [type(model).__name__]}
    files: dict[str, dict[str, Any]] = {}
    if model.kind == "gpt2":
        from textassay_lab.generator.gpt2_folder import gpt2_config, tokenizer_files

        config |= gpt2_config(model)
        files = tokenizer_files(form)
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
    document[_OF_DOCUMENT] = document_checksum({**config, _OURS: document})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / _ARRAYS, content)
        for name, part in {**files, _DOCUMENT: {**config, _OURS: document}}.items():
            _replace(folder / name, json.dumps(part, ensure_ascii=False, allow_nan=False, indent=1).encode())
        for name in set(_TOKENIZER) - files.keys():  # of a model that was there before
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write the model to {folder}: {error.strerror or error}") from error


def load_model(folder: Path) -> SavedModel:
    """Return the language model that `save_model` wrote into `folder`."""
    saved = load_generator(folder)
    if not hasattr(saved.model, "log_prob"):
        raise InputError(
            f"{folder} contains a generator without likelihood ({saved.model.name}): sample from it, or estimate its "
            "perplexity from samples with 'textassay approximate'"
        )
    return SavedModel(cast(LanguageModel, saved.model), saved.form, saved.document)


def load_generator(folder: Path) -> SavedGenerator:
    """Return the generator that `save_model` wrote into `folder`, with a likelihood or without."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    config = _read(folder)
    if _OURS not in config and config.get("model_type") == "gpt2":
        return _gpt2_of_transformers(folder)
    try:
        document = _document(folder, config)
        for part in ("form", "settings", "training"):
            check_type(f"'{part}' of {_DOCUMENT}", document[part], Mapping[str, Any])
        form = TextForm.from_dict(document["form"])
        if form.hash != document["vocabulary"]:
            raise InputError("the vocabulary is not the one the model was trained with")
        model = cast(Saveable, remake_generator(document["kind"], document["settings"]))
        _check_training(document["training"])
        model.check_arrays(_array_shapes(folder / _ARRAYS), len(form.vocabulary))  # before the values are read
        arrays = load(_content(folder, document))
        _check_finite(arrays)
        model.restore(arrays, vocabulary=form.vocabulary, tokenizer=form.tokenizer.name, record=document["training"])
    except (OptionError, SafetensorError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, _FileError):
            raise
        raise InputError(f"{folder} contains no usable model: {_first_line(error)}") from error
    return SavedGenerator(model, form, document)


def check_saved(folder: Path) -> None:
    """Raise where `load_model` would because a file in `folder` is not there, truncated or damaged; loads nothing."""
    _content(folder, _document(folder, _read(folder)))


def holds_model(folder: Path) -> bool:
    """Return whether a model was saved in `folder`; it may be damaged."""
    return (folder / _DOCUMENT).exists()


def _gpt2_of_transformers(folder: Path) -> SavedGenerator:
    from textassay_lab.generator.gpt2_folder import open_gpt2

    model, form = open_gpt2(folder, _check_finite)
    document = {"kind": model.kind, "name": model.name, "settings": model.settings, "vocabulary": form.hash}
    return SavedGenerator(model, form, {**document, "checksum": model.digest, "training": model.record})


class _FileError(InputError):
    """A file cannot be read at all; the message names it."""


def _array_shapes(path: Path) -> dict[str, npt.NDArray[Any]]:
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


def _read(folder: Path) -> dict[str, Any]:
    """Return the document in a folder."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a model folder: there is no such folder")
    path = folder / _DOCUMENT
    try:
        document = parse_json(read_document(path), finite=True)
    except FileNotFoundError:
        raise InputError(f"{folder} is not a model folder: it has no {_DOCUMENT}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read {path}, it is truncated or damaged: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path} does not describe a model of textassay")
    return document


def _document(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is ours of the document `config`, checked."""
    path, document = folder / _DOCUMENT, config.get(_OURS)
    if not isinstance(document, dict) or "format" not in document:
        raise _FileError(
            f"{path} does not describe a model of textassay: if it is one of transformers, write pretrained:{folder}"
        )
    if document["format"] != FORMAT:
        raise _FileError(f"{folder} holds a model of another version of textassay: train it again, or use that version")
    changed_by = config.get("transformers_version")  # it wrote weights of its own
    if changed_by is None and not _is_whole(config, document):
        raise _FileError(f"{path} is truncated or damaged: its checksum differs; train the model again")
    missing = sorted({"kind", "settings", "form", "vocabulary", "checksum", "training"} - document.keys())
    if missing:
        raise _FileError(f"{path} is damaged: it lacks {', '.join(missing)}")
    if changed_by is not None and isinstance(document["training"], dict) and (folder / _ARRAYS).is_file():
        training = {**document["training"], "changed by": f"transformers {changed_by}"}
        document = {**document, "training": training, "checksum": checksum((folder / _ARRAYS).read_bytes())}
    return document


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _is_whole(config: Mapping[str, Any], document: Mapping[str, Any]) -> bool:
    try:
        return bool(document.get(_OF_DOCUMENT) == document_checksum(config))
    except RecursionError:  # it is nested more deeply than any that was written
        return False


def document_checksum(config: Mapping[str, Any]) -> str:
    """Return the checksum of a document, itself left out."""
    parts = {name: part for name, part in config.items() if name != _OF_DOCUMENT}
    if isinstance(parts.get(_OURS), dict):
        parts[_OURS] = {name: part for name, part in parts[_OURS].items() if name != _OF_DOCUMENT}
    return checksum(json.dumps(parts).encode())


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically, with the default permissions of new files; remove leftovers of earlier attempts."""
    remove_stale_drafts(path.parent)
    with atomic_write(path) as file:
        file.write(content)
