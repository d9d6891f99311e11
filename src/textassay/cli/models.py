"""The model that a command names: a folder that ``textassay train`` wrote, or a pretrained one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from textassay.corpus import TextForm
from textassay.errors import InputError, OptionError
from textassay.generator import Generator, LanguageModel

PRETRAINED = "pretrained:"
COMMAND = "command:"
RANDOM = "random-lstm"
PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class OpenedGenerator:
    """A fitted generator, the text it knows, and what is known of it (empty where it came from elsewhere)."""

    model: Generator
    form: TextForm
    document: dict[str, Any]


@dataclass(frozen=True)
class Opened(OpenedGenerator):
    """One that is a language model."""

    model: LanguageModel


def open_model(text: str) -> Opened:
    """Return the language model that `text` names; see `open_generator`."""
    other = _elsewhere(text)
    if other is not None:
        return other
    from textassay.model_store import load_model

    saved = load_model(_folder(text))
    return Opened(saved.model, saved.form, dict(saved.document))


def open_generator(text: str) -> OpenedGenerator:
    """Return the generator that `text` names: a folder, ``pretrained:NAME_OR_PATH``, or ``random-lstm`` with a seed.

    It need not have a likelihood.
    """
    other = _elsewhere(text)
    if other is not None:
        return other
    from textassay.model_store import load_generator

    saved = load_generator(_folder(text))
    return OpenedGenerator(saved.model, saved.form, dict(saved.document))


def _elsewhere(text: str) -> Opened | None:
    """Return the model that `text` names, none where it names a folder."""
    if text.startswith(COMMAND):
        raise OptionError(f"'{text}' has no probabilities: only 'sample' takes a command")
    if text.startswith(PRETRAINED):
        from textassay.model_store import PretrainedModel

        name = text.removeprefix(PRETRAINED)
        if not name:
            raise OptionError(f"name a model after '{PRETRAINED}', such as {PRETRAINED}gpt2 or {PRETRAINED}FOLDER")
        model = PretrainedModel(name)
        return Opened(cast(LanguageModel, model), model.form, {})
    if text == RANDOM or text.startswith(f"{RANDOM}:"):
        return _random(text.removeprefix(RANDOM).removeprefix(":"))
    return None


def _folder(text: str) -> Path:
    folder = Path(text)
    if not folder.exists():
        raise InputError(f"no folder {folder}: name what 'textassay train --out' wrote, or {PRETRAINED}NAME")
    if not folder.is_dir():
        raise InputError(f"{folder} is a file: name the folder that 'textassay train --out' wrote")
    return folder


def _random(seed: str) -> Opened:
    if not (seed.isascii() and seed.isdigit()) and seed:
        raise OptionError(f"name the seed of {RANDOM} as a number, such as {RANDOM}:3, got '{seed}'")
    from textassay.network import RandomLstm

    model = RandomLstm(seed=int(seed or 0))
    return Opened(model, model.form, {})


def set_precision(opened: OpenedGenerator, precision: str) -> None:
    """Let the model compute in `precision`, where it can."""
    if precision not in PRECISIONS:
        raise OptionError(f"--precision must be {' or '.join(PRECISIONS)}, got '{precision}'")
    if hasattr(opened.model, "precision"):
        opened.model.precision = precision
    elif precision != PRECISIONS[0]:
        raise OptionError(f"{opened.model.name} is counted, not computed by a network: it has no --precision")
