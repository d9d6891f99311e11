"""Fitted networks: weights, vocabulary, precision and record; training, saving and restoring.

`TrainedNetwork` adds the training loop of `textassay.training.loop` to `FittedNetwork`. A network that is trained
elsewhere, such as one side of a GAN, needs the latter alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from textassay.corpus import Vocabulary
from textassay.errors import InputError, check_range
from textassay.generator.base import not_fitted
from textassay.generator.fitted import Fitted
from textassay.generator.lessons import Lessons
from textassay.generator.reader import Weights
from textassay.training import History, Recipe, Step, launched, loop, require_neural, threads, training_device

if TYPE_CHECKING:
    from torch import Tensor


MAX_LAYERS = 1000  # a limit for files: names and shapes of weights are listed by layer before anything is checked


class FittedNetwork(ABC):
    """A network and its weights, if it is fitted; subclasses define the network. Needs the extra ``neural``.

    `precision`: ``float32`` or ``bfloat16``, for drawing and scoring; draws depend on it, and the name shows it;
    `record`: how it was trained, JSON-ready; empty before.
    """

    kind: ClassVar[str]  # name in the catalogue

    def __init__(self) -> None:
        require_neural(f"the {self.kind} generator")
        self.precision = "float32"
        self.record: dict[str, Any] = {}
        self._fitted: Fitted | None = None

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor, JSON-ready."""

    @property
    @abstractmethod
    def _title(self) -> str:
        """Name without the precision, such as ``lstm(width=128)``."""

    @abstractmethod
    def _expected_shapes(self, weights: Weights, n_types: int) -> Mapping[str, tuple[int, ...]]:
        """Return the names and shapes that `weights` should have for a vocabulary of `n_types`."""

    @property
    def name(self) -> str:
        """Canonical name with the settings that matter, such as ``lstm(width=128)``."""
        return self._title if self.precision == "float32" else f"{self._title[:-1]}, precision={self.precision})"

    @property
    def vocabulary(self) -> Vocabulary:
        """Vocabulary of the training text."""
        return self.require().vocabulary

    @property
    def tokenizer(self) -> str:
        """Name of the tokeniser of the training text."""
        return self.require().tokenizer

    @property
    def weights(self) -> Weights:
        """Weights by name, float32."""
        return self.require().weights

    @property
    def n_parameters(self) -> int:
        """Number of weights."""
        return sum(weight.numel() for weight in self.weights.values())

    @property
    def digest(self) -> str:
        """Hash of the weights."""
        return self.require().digest

    def working_weights(self) -> Weights:
        """Return the weights in `precision`."""
        return self.require().at(self.precision)

    def require(self) -> Fitted:
        """Return the fitted weights; raise `InputError` where there are none."""
        if self._fitted is None:
            raise not_fitted(self.name)
        return self._fitted

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the weights."""
        return {name: weight.detach().cpu().numpy() for name, weight in self.weights.items()}

    def check_arrays(self, arrays: Mapping[str, npt.NDArray[Any]], n_types: int) -> None:
        """Raise `InputError` unless names, shapes and types are those of this network's weights; reads no number.

        `arrays`: the weights, or views without memory of the same shapes and types.
        """
        import torch

        stand_ins = {name: torch.empty(array.shape, device="meta") for name, array in arrays.items()}
        fit = f"the weights do not fit the settings and a vocabulary of {n_types} tokens"
        try:
            expected = self._expected_shapes(stand_ins, n_types)
        except KeyError as missing:
            raise InputError(f"{fit}: {missing} is missing") from None
        for name in sorted(arrays.keys() | expected.keys()):
            shape = arrays[name].shape if name in arrays else None
            if shape != expected.get(name):
                raise InputError(f"{fit}: '{name}' must have shape {expected.get(name)}, got {shape}")
            if arrays[name].dtype != np.float32:
                raise InputError(f"the weights must be float32, but '{name}' is {arrays[name].dtype}")

    def restore(
        self,
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        vocabulary: Vocabulary,
        tokenizer: str,
        record: Mapping[str, Any],
    ) -> None:
        """Load weights."""
        import torch

        self.check_arrays(arrays, len(vocabulary))
        weights = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        expected = self._expected_shapes(weights, len(vocabulary))  # in the order of the digest
        device = training_device()
        self._fitted = Fitted({name: weights[name].to(device) for name in expected}, vocabulary, tokenizer)
        self.record = dict(record)

    @contextmanager
    def in_training(
        self, initial: "Mapping[str, Tensor]", vocabulary: Vocabulary, tokenizer: str
    ) -> "Iterator[dict[str, Tensor]]":
        """Yield weights on the device, to be changed in place; after the ``with`` block they are the network's.

        Inside, the network draws and scores with the present weights. If the block raises, the network is as before.
        """
        device = training_device()
        weights = {name: weight.detach().to(device, copy=True).requires_grad_() for name, weight in initial.items()}
        del initial  # large
        before = self._fitted
        self._fitted = Fitted(weights, vocabulary, tokenizer, changing=True)
        try:
            yield weights
        except BaseException:
            self._fitted = before
            raise
        for weight in weights.values():
            weight.requires_grad_(False)
        self._fitted = Fitted(weights, vocabulary, tokenizer)


class TrainedNetwork(FittedNetwork):
    """A `FittedNetwork` with the training loop.

    `seed`: with the training text, decides all randomness of training: the same bits on one CPU and number of threads.
    """

    def __init__(self, recipe: Recipe, *, seed: int) -> None:
        super().__init__()
        check_range("seed", seed, 0)
        self.recipe = recipe
        self.seed = seed
        self.history = History()

    def restore(
        self,
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        vocabulary: Vocabulary,
        tokenizer: str,
        record: Mapping[str, Any],
    ) -> None:
        """Load weights and the history of their training; see `FittedNetwork.restore`."""
        history = History.from_dict(record.get("history"))
        super().restore(arrays, vocabulary=vocabulary, tokenizer=tokenizer, record=record)
        self.history = history

    def _train(
        self,
        weights: "Mapping[str, Tensor]",
        lessons: Lessons,
        score: Callable[[], float] | None,
        *,
        texts: Mapping[str, str | None],
        seed: int,
        checkpoint: Path | None,
        checkpoint_seconds: float,
        monitors: Mapping[str, Callable[[int], float | None]] | None,
        monitor_steps: int | None = None,
        progress: Callable[[Step], None] | None,
    ) -> dict[str, Any]:
        """Train the weights of `in_training`, keep the history, and return the record of the training."""
        import torch

        with threads():
            self.history = loop.train(
                weights,
                batches=lessons.batches,
                loss=lessons.loss,
                score=score,
                recipe=self.recipe,
                seed=seed,
                size=lessons.size,
                checkpoint=checkpoint,
                checkpoint_seconds=checkpoint_seconds,
                config={"kind": self.kind, **self.settings, **texts},
                monitors=monitors,
                monitor_steps=monitor_steps,
                progress=progress,
                processes=launched(),
                carried=lessons.carried,
            )
            n_threads = torch.get_num_threads()
        device = next(iter(weights.values())).device
        return {"history": asdict(self.history), "threads": n_threads, "device": device.type}
