"""The files of a Hugging Face causal language model, located and checked.

No file can run code: weights are read from safetensors files only, and models with Python files of their own are
refused. So are models with missing weights, and models that attend to the tokens they are to predict.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textassay.embedding import hub_folder
from textassay.errors import InputError, MissingExtraError
from textassay.generator.pretrained_tokens import PretrainedTokens
from textassay.training import require_neural

if TYPE_CHECKING:
    import torch


_WEIGHTS = (".safetensors",)
_PICKLED = {".bin", ".ckpt", ".pt", ".pth"}


def pretrained_folder(name: str) -> Path:
    """Return the folder of a causal language model: `name` itself, in the local cache, or downloaded."""
    require_neural("the pretrained generator")
    if find_spec("transformers") is None:
        raise MissingExtraError("the pretrained generator", "neural")
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
            f"pretrained model '{name}' is neither a folder nor in the local cache, and cannot be downloaded "
            f"({error}); on a machine with network: hf download {name} --local-dir DIR, then use DIR"
        ) from error


def _checked(folder: Path) -> Path:
    """Return `folder` if it holds a model in a form that is read."""
    if not (folder / "config.json").exists():
        raise InputError(f"pretrained model {folder}: the folder holds no Hugging Face model (no config.json)")
    endings = {path.suffix for path in folder.iterdir()}
    if ".safetensors" in endings:
        return folder
    if pickled := sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLED):
        raise InputError(
            f"pretrained model {folder}: its weights are pickled ({pickled[0]}), and reading a pickle can run any "
            "code: save it again with safe_serialization=True"
        )
    raise InputError(f"pretrained model {folder}: the folder holds no weights (no .safetensors file)")


def load_config(folder: Path) -> Any:
    """Return the configuration of a model; raises `InputError` where it cannot be read."""
    with _one_line(folder, "its configuration"):
        from transformers import AutoConfig

        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def load_tokens(folder: Path, config: Any) -> PretrainedTokens:
    """Return the tokens of a model; raises `InputError` where its tokeniser cannot be read or has no end token."""
    with _one_line(folder, "its tokenizer"):
        from transformers import AutoTokenizer, GenerationConfig

        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        ends = None
        if (folder / "generation_config.json").exists():
            ends = GenerationConfig.from_pretrained(folder, local_files_only=True).eos_token_id
        return PretrainedTokens(tokenizer, config.get_text_config(), ends)


def load_module(folder: Path, device: "torch.device", precision: str, tokens: PretrainedTokens) -> "torch.nn.Module":
    """Return the network on a device; raises `InputError` where it is no whole causal language model."""
    import torch

    with _one_line(folder, "the model"):
        from transformers import AutoModelForCausalLM

        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, use_safetensors=True, output_loading_info=True
        )
        module, info = loaded
        if info["missing_keys"]:
            raise InputError(f"its files lack weights, such as {min(info['missing_keys'])}")
        module = module.to(getattr(torch, precision)).to(device).eval().requires_grad_(False)
        if (problem := _problem(module, tokens)) is not None:
            raise InputError(problem)
    return module  # type: ignore[no-any-return]


def _problem(module: Any, tokens: PretrainedTokens) -> str | None:
    """Return why a network cannot score or draw, None if it can, from its outputs for four tokens."""
    import torch
    from transformers import DynamicCache

    first, second = tokens.ordinary[0], tokens.ordinary[-1]
    read = torch.tensor([[tokens.begin, first, second, first], [tokens.begin, first, second, second]])
    read = read.to(next(module.parameters()).device)
    with torch.no_grad():
        one, other = (module(row[None], use_cache=False).logits[0].float() for row in read)
        cache = DynamicCache()
        steps = [module(read[:1, [place]], past_key_values=cache, use_cache=True).logits[0, 0] for place in range(4)]
    rounding = 1e-3 if next(module.parameters()).dtype == torch.float32 else 0.1
    near = rounding * float(one.abs().max())
    if float((one - other)[:3].abs().max()) > near:
        return "it is no causal language model: it attends to the tokens it is to predict"
    if float((one - torch.stack(steps).float()).abs().max()) > near:
        return "its logits token by token differ from those in one pass: its state is not a cache of keys and values"
    return None


@contextmanager
def _one_line(folder: Path, what: str) -> Iterator[None]:
    """Turn any error of the library into one line, and silence its progress bars."""
    try:
        with redirect_stderr(io.StringIO()):
            yield
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"pretrained model {folder}: {what} cannot be used ({reason[0].rstrip('.')})") from error
