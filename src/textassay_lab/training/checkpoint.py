"""Checkpoints: tensors and a JSON document in one safetensors file, without code, written atomically.

The document is in the header of the file, with a checksum of itself and all tensors (CRC-32 detects damage, not
tampering, and is faster than writing).
"""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textassay.corpus.documents import parse_json
from textassay.errors import InputError, OutputError
from textassay.storage import draft_of, remove_stale_drafts

if TYPE_CHECKING:
    from torch import Tensor


FORMAT = 1
_DOCUMENT = "textassay"  # the keys of the file's metadata
_FORMAT = "format"
_CHECKSUM = "checksum"


def save_checkpoint(path: Path, tensors: Mapping[str, "Tensor"], document: Mapping[str, Any]) -> None:
    """Write `tensors` and the JSON-ready `document` to `path`, replacing an earlier file.

    The file is written under a temporary name, flushed to disk and renamed, so that a run killed while writing leaves
    the earlier file intact. Temporary files of killed runs are removed.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    apart = _unshared(tensors)
    text = json.dumps(document, allow_nan=False)
    metadata = {_DOCUMENT: text, _FORMAT: str(FORMAT), _CHECKSUM: _checksum(apart, text)}
    try:
        remove_stale_drafts(path.parent)
        with draft_of(path) as draft:
            draft.touch()
            usual = draft.stat().st_mode  # safetensors creates files that only the owner may read
            save_file(apart, draft, metadata=metadata)
            draft.chmod(usual)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"cannot write the checkpoint {path}: {reason}; the previous checkpoint is intact") from error


def load_checkpoint(path: Path) -> tuple[dict[str, "Tensor"], dict[str, Any]]:
    """Return the tensors, on the CPU, and the document of `path`."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if _DOCUMENT not in metadata:
                raise InputError(f"{path} is not a textassay checkpoint: move it away, or use another folder")
            if metadata.get(_FORMAT) != str(FORMAT):
                raise InputError(
                    f"the checkpoint {path} was written by another version of textassay: continue with that version, "
                    "or delete it to start again"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        reason = getattr(error, "strerror", None) or "truncated, or not a checkpoint of textassay"
        raise InputError(f"cannot read the checkpoint {path}: {reason}; delete it to start again") from None
    if _checksum(tensors, metadata[_DOCUMENT]) != metadata.get(_CHECKSUM):
        raise InputError(f"the checkpoint {path} is damaged (its checksum differs): delete it to start again")
    return tensors, parse_json(metadata[_DOCUMENT], str(path))


def _unshared(tensors: Mapping[str, "Tensor"]) -> dict[str, "Tensor"]:
    """Return contiguous CPU copies that share no memory, as safetensors requires."""
    separate: dict[str, Tensor] = {}
    seen = set()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        place = plain.untyped_storage().data_ptr()
        separate[name] = plain.clone() if place in seen else plain
        seen.add(place)
    return separate


def _checksum(tensors: Mapping[str, "Tensor"], text: str) -> str:
    import torch

    checksum = zlib.crc32(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        described = f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        checksum = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, zlib.crc32(described, checksum))
    return f"{checksum:08x}"
