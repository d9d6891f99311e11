"""The folder of a causal language model of transformers: found, checked, and loaded without running code of its own.

Weights are read from safetensors files only, or from one GGUF file.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textassay.embedding.model_files import hub_folder
from textassay.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import torch

_WEIGHTS = (".safetensors",)
_PICKLED = {".bin", ".ckpt", ".pt", ".pth"}
_SAFE: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


def pretrained_folder(name: str) -> Path:
    """Return the folder of a causal language model: `name` itself, in the local cache, or downloaded."""
    if find_spec("transformers") is None:
        raise MissingExtraError(f"the pretrained model {name}", "neural")
    path = Path(name).expanduser()
    if path.is_dir():
        return _checked(path)
    if path.exists():
        raise InputError(f"pretrained model {name} is a file: it must be the folder of a Hugging Face model")
    if path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise InputError(f"pretrained model {name}: there is no such folder")
    try:
        return hub_folder(name, weights=_WEIGHTS)
    except InputError as error:
        raise InputError(
            f"pretrained model '{name}' is neither a folder nor a cached model, and cannot be downloaded ({error}). "
            f"With network access: hf download {name} --local-dir DIR, then use DIR"
        ) from error


def _checked(folder: Path) -> Path:
    """Return `folder` if it holds a model in a form that is read."""
    if not (folder / "config.json").exists():
        raise InputError(f"pretrained model {folder}: the folder contains no Hugging Face model (no config.json)")
    endings = {path.suffix for path in folder.iterdir()}
    if ".safetensors" in endings:
        return folder
    if pickled := sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLED):
        raise InputError(
            f"pretrained model {folder}: its weights are pickle files ({pickled[0]}), which can run any code when "
            "read. Save the model with safe_serialization=True"
        )
    raise InputError(f"pretrained model {folder}: the folder contains no weights (no .safetensors file)")


def load_config(folder: Path) -> Any:
    """Return the configuration of a model; raises `InputError` where it cannot be read."""
    with one_line(folder, "its configuration"):
        from transformers import AutoConfig

        return AutoConfig.from_pretrained(folder, **_SAFE)


def load_tokenizer(folder: Path, gguf: str | None = None) -> Any:
    """Return the tokeniser of a model, from `gguf` where its file is named."""
    with one_line(folder, "its tokenizer"):
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(folder, **_SAFE, **({} if gguf is None else {"gguf_file": gguf}))


def load_network(folder: Path, device: "torch.device | str", precision: str, gguf: str | None = None) -> Any:
    """Return the network on a device, for use alone; raises `InputError` where weights are missing."""
    import torch

    with one_line(folder, "the model"):
        from transformers import AutoModelForCausalLM

        where = {"use_safetensors": True} if gguf is None else {"gguf_file": gguf, "dtype": torch.float32}
        loaded: Any = AutoModelForCausalLM.from_pretrained(folder, **_SAFE, **where, output_loading_info=True)
        module, info = loaded
        if info["missing_keys"]:
            raise InputError(f"its files lack weights, such as {min(info['missing_keys'])}")
        return module.to(getattr(torch, precision)).to(device).eval().requires_grad_(False)


@contextmanager
def one_line(folder: Path, what: str) -> Iterator[None]:
    """Turn any error of the library into one line, and silence its progress bars."""
    try:
        with redirect_stderr(io.StringIO()):
            yield
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"pretrained model {folder}: {what} cannot be used ({reason[0].rstrip('.')})") from error
