"""Checkpoints: tensors and a JSON document in one safetensors file, without code, written whole or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from textassay.errors import InputError, OutputError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["load_checkpoint", "save_checkpoint"]

_DOCUMENT = "textassay"  # the key of the document among the metadata of the file


def save_checkpoint(path: Path, tensors: Mapping[str, "Tensor"], document: Mapping[str, Any]) -> None:
    """Write `tensors` and the JSON-ready `document` to `path`, over what is there.

    The file is written under a temporary name and then renamed: a run that is killed leaves the one before whole.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    from safetensors.torch import save

    apart = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    content = save(apart, metadata={_DOCUMENT: json.dumps(document)})
    try:
        with NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as temporary:
            try:
                temporary.write(content)
                temporary.close()
                Path(temporary.name).replace(path)
            except BaseException:
                Path(temporary.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise OutputError(f"cannot write the checkpoint {path}: {error.strerror or error}") from error


def load_checkpoint(path: Path) -> tuple[dict[str, "Tensor"], dict[str, Any]]:
    """Return the tensors, on the CPU, and the document of `path`.

    Raises
    ------
    InputError
        If the file is no checkpoint of this package.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            document = json.loads((file.metadata() or {})[_DOCUMENT])
            return {name: file.get_tensor(name) for name in file.keys()}, document  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, json.JSONDecodeError):
        raise InputError(f"{path} is no checkpoint of textassay, or is damaged: delete it to begin anew") from None
