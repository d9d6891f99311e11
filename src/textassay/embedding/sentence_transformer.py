"""Sentence-transformers models as encoders, by name or folder; needs the ``encoders`` extra.

Source: Reimers and Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", EMNLP 2019.
Departs from it: bfloat16 if the device has it natively, and each distinct text is encoded once.
"""

import io
import logging
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.documents import parse_json, read_document
from textassay.embedding.model_files import MINILM, content_hash, is_folder, model_folder
from textassay.errors import InputError, MissingExtraError
from textassay.execution.threads import device_name

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


Vectors = npt.NDArray[np.float32]

_BATCH = {"cpu": 64, "cuda": 512, "mps": 128}  # texts per batch
_BLOCK = 1 << 14  # texts between two progress messages
_LOGGER = logging.getLogger(__name__)


class SentenceTransformerEncoder:
    """A sentence-transformers model."""

    reads_columns = False

    def __init__(self, name_or_path: str | Path) -> None:
        self._name_or_path = str(name_or_path)
        self._folder = model_folder(self._name_or_path)
        self._models: dict[str, FittedSentenceTransformer] = {}
        _require_extra(self._name_or_path)

    @cached_property
    def _hash(self) -> str:
        return content_hash(self._folder)

    @cached_property
    def name(self) -> str:
        """The model's name and the start of the hash of its files."""
        label = self._folder.resolve().name if is_folder(self._name_or_path) else self._name_or_path
        return f"{''.join('_' if sign in '|,() ' else sign for sign in label)}:{self._hash[:8]}"

    def fit(self, real: Corpus) -> "FittedSentenceTransformer":
        """Return the model on the device set by `textassay.execution.threads.device`; nothing is learnt from `real`."""
        device = network_device()
        if device not in self._models:
            self._models[device] = FittedSentenceTransformer(self.name, self._folder, self._hash, device)
        return self._models[device]


@lru_cache(maxsize=2)
def _cached(name: str, files: tuple[tuple[str, int, int], ...]) -> SentenceTransformerEncoder:
    return SentenceTransformerEncoder(name)


def sentence_transformer(name: str) -> SentenceTransformerEncoder:
    """Return the encoder of a model name or folder, cached as long as its files do not change."""
    folder = model_folder(name) if name == MINILM or is_folder(name) else None  # checked before all of it is listed
    files = sorted(folder.rglob("*")) if folder is not None else []
    states = ((path.name, path.stat()) for path in files if path.is_file())
    return _cached(name, tuple((file, state.st_size, state.st_mtime_ns) for file, state in states))


class FittedSentenceTransformer:
    """A model on a device, loaded at its first use."""

    reads_columns = False
    costly = True

    def __init__(self, name: str, folder: Path, content: str, device: str) -> None:
        self._folder = folder
        self._device = device
        self._bfloat16 = has_bfloat16(device)
        self._lock = Lock()
        self._model: SentenceTransformer | None = None
        precision = "bfloat16" if self._bfloat16 else "float32"
        longest = _longest(folder)
        self.key = f"sentence-transformers {content} {precision}"
        self.settings: Mapping[str, str] = {
            "encoder": name,
            "precision": precision,
            **({} if longest is None else {"encoder-tokens": str(longest)}),
        }

    def encode(self, corpus: Corpus) -> Vectors:
        """Return one vector per text, shape (N, d), float32, as the model computes them.

        Texts are lower-cased if the corpus is. Each distinct text is encoded once, in an order of its own.
        """
        texts = corpus.texts_for_models()
        distinct = sorted(set(texts), key=lambda text: (-len(text), text))
        with self._lock:
            model = self._load()
            _warn_of_long(model, distinct)
            parts = []
            for start in range(0, max(len(distinct), 1), _BLOCK):
                _LOGGER.info("encoded %d of %d texts", start, len(distinct))
                parts.append(
                    self._encode(model, distinct[start : start + _BLOCK] or [""])
                )  # an empty corpus needs the dimension, too
        vectors = np.concatenate(parts)
        places = {text: place for place, text in enumerate(distinct)}
        return vectors[np.array([places[text] for text in texts], dtype=np.int64)]

    def _encode(self, model: "SentenceTransformer", texts: Sequence[str]) -> Vectors:
        kind = self._device.split(":")[0]
        vectors = model.encode(list(texts), batch_size=_BATCH[kind], show_progress_bar=False, convert_to_tensor=True)
        array = vectors.float().cpu().numpy()
        if not np.isfinite(array).all():
            raise InputError(f"encoder {self._folder}: the model returns vectors that are not finite")
        return np.ascontiguousarray(array, dtype=np.float32)

    def _load(self) -> "SentenceTransformer":
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            try:
                with redirect_stderr(io.StringIO()):  # the progress of loading
                    model = SentenceTransformer(
                        str(self._folder),
                        device=self._device,
                        local_files_only=True,
                        trust_remote_code=False,
                        model_kwargs={"use_safetensors": True},
                    )
            except Exception as error:  # any error of its libraries
                reason = str(error).strip().splitlines() or [type(error).__name__]
                raise InputError(f"encoder {self._folder}: the model cannot be loaded ({reason[0]})") from error
            self._model = model.bfloat16() if self._bfloat16 else model.float()
        return self._model


def _require_extra(name: str) -> None:
    if find_spec("sentence_transformers") is None:
        raise MissingExtraError(f"encoder '{name}'", "encoders")


def network_device() -> str:
    """Return the device set by the user, by default the GPU if there is one."""
    import torch

    chosen = device_name()
    if chosen == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return chosen


def has_bfloat16(device: str) -> bool:
    """Return whether the device has native bfloat16 arithmetic, which makes it faster than float32."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.get_device_capability(device)[0] >= 8
    checks = (getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"))
    return device == "cpu" and any(check is not None and check() for check in checks)


def _longest(folder: Path) -> int | None:
    """Return how many tokens of a text the model reads, if its files say so."""
    for file, setting in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        try:
            number = parse_json(read_document(folder / file))[setting]
        except (OSError, ValueError, KeyError):
            continue
        if isinstance(number, int) and number < 1 << 20:  # larger values mean no limit
            return number
    return None


def _warn_of_long(model: "SentenceTransformer", texts: Sequence[str]) -> None:
    longest = model.max_seq_length
    tokenizer: Any = getattr(model, "tokenizer", None)
    if longest is None or tokenizer is None:
        return
    candidates = [text for text in texts if len(text) + 2 > longest]  # a token has at least one character
    if not candidates:
        return
    lengths = [len(ids) for ids in tokenizer(candidates, truncation=False, verbose=False)["input_ids"]]
    n_long = sum(length > longest for length in lengths)
    if n_long:
        warnings.warn(
            f"the encoder reads {longest} tokens of a text: the ends of {n_long} longer texts are ignored",
            RuntimeWarning,
            stacklevel=3,
        )
