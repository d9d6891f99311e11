"""Settings from a file: ``--config FILE.yaml``, where every option is a key and the command line wins."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from textassay.corpus.documents import read_yaml
from textassay.errors import InputError, OptionError, unknown_name

NAMED_FILES = ("generators", "features", "log-probs", "ratings")


def read_config(path: Path, *, options: Mapping[str, str], repeatable: Iterable[str]) -> dict[str, Any]:
    """Return parameter name to value, as a command line would give it, from a YAML file.

    `path`: the file: a mapping from option names without their dashes (``real-heldout``) to values; ``generators``,
    ``features``, ``log-probs`` and ``ratings`` map names to files. Relative files are looked for from the working
    folder, as on the command line.
    """
    settings: dict[str, Any] = {}
    repeated = set(repeatable)
    for key, value in _load(path).items():
        if key not in options:
            raise OptionError(f"{path}: {unknown_name('key', str(key), options)}")
        if value is not None:
            settings[options[key]] = _value(path, key, value, may_repeat=options[key] in repeated)
    return settings


def _load(path: Path) -> Mapping[Any, Any]:
    try:
        document = read_yaml(path)
    except OSError as error:
        raise InputError(f"cannot read --config {path}: {(error.strerror or str(error)).lower()}") from None
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise InputError(f"{path} must map option names to values, such as 'seed: 1', got a {type(document).__name__}")
    return document


def _value(path: Path, key: str, value: Any, *, may_repeat: bool) -> Any:
    pairs = [*value, *value.values()] if isinstance(value, Mapping) else value
    for part in pairs if isinstance(pairs, list) else [pairs]:
        if isinstance(part, str) and any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in part):
            raise OptionError(
                f"{path}: the value of '{key}' holds what no command line can: a zero or half a character"
            )
    if key in NAMED_FILES and isinstance(value, Mapping):
        return [f"{name}={source}" for name, source in value.items()]
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        if key in ("metrics", "monitor"):
            return ",".join(map(str, value))
        if may_repeat:
            return [str(item) for item in value]
    if isinstance(value, bool | int | float | str):
        return [str(value)] if may_repeat else value
    raise OptionError(f"{path}: the value of '{key}' cannot be a {type(value).__name__}")
