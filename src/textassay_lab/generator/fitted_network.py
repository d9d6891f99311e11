"""Fitted networks: a module with its vocabulary, precision and record; training, saving and restoring.

`TrainedNetwork` adds the training loop of `textassay_lab.training.loop` to `FittedNetwork`. A network that is trained
elsewhere, such as one side of a GAN, needs the latter alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from textassay.corpus.encoding import Vocabulary
from textassay.errors import InputError, OptionError, check_range
from textassay.ngram.language_model import not_fitted
from textassay_lab.generator.module import Network, begun, shaped
from textassay_lab.generator.objective import TrainingObjective
from textassay_lab.training import loop
from textassay_lab.training.backend import require_neural, threads, training_device
from textassay_lab.training.history import History, Step


class Fitted:
    """A module, float32, with vocabulary and tokeniser; its weights may be `changing`, in training."""

    def __init__(self, module: Any, vocabulary: Vocabulary, tokenizer: str, *, changing: bool = False) -> None:
        self.module = module
        self.vocabulary = vocabulary
        self.tokenizer = tokenizer
        self.changing = changing

    @property
    def digest(self) -> str:
        return str(self.module.digest if self.changing else self._kept_digest)

    def at(self, precision: str) -> Any:
        """Return the module in a precision."""
        if precision not in ("float32", "bfloat16"):
            raise OptionError(f"precision must be float32 or bfloat16, got {precision}")
        if precision == "float32":
            return self.module
        return self.module.copied().bfloat16() if self.changing else self._kept_cast

    @cached_property
    def _kept_digest(self) -> Any:
        return self.module.digest

    @cached_property
    def _kept_cast(self) -> Any:
        return self.module.copied().bfloat16()


class FittedNetwork(ABC):
    """A network and its weights, if it is fitted; subclasses define the network. Needs the extra ``neural``.

    Subclasses inherit their settings first, see `textassay_lab.generator.text_generator`.

    `precision`: ``float32`` or ``bfloat16``, for drawing and scoring; draws depend on it, and the name shows it;
    `record`: how it was trained, JSON-ready; empty before.
    """

    kind: ClassVar[str]  # name in the catalogue

    def __post_init__(self) -> None:
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
    def new_module(self, n_types: int, longest: int) -> Network:
        """Return the network for `n_types` of tokens and sentences up to `longest` tokens."""

    def begun(self, n_types: int, longest: int, rng: torch.Generator) -> Any:
        return begun(partial(self.new_module, n_types, longest), rng)

    def shapes(self, n_types: int, longest: int = 0) -> dict[str, tuple[int, ...]]:
        """Return the names and shapes of the weights; nothing is allocated."""
        module = shaped(partial(self.new_module, n_types, longest))
        return {name: tuple(weight.shape) for name, weight in module.named_parameters()}

    def longest_in(self, shapes: Mapping[str, tuple[int, ...]]) -> int:
        """Return the `longest` of a module whose weights have these shapes; 0 where it does not matter."""
        return 0

    @property
    def name(self) -> str:
        """Canonical name with the settings that matter, such as ``lstm(width=128)``."""
        return self._title if self.precision == "float32" else f"{self._title[:-1]}, precision={self.precision})"

    @property
    def vocabulary(self) -> Vocabulary:
        return self.require().vocabulary

    @property
    def tokenizer(self) -> str:
        return self.require().tokenizer

    @property
    def module(self) -> Any:
        return self.require().module

    @property
    def working_module(self) -> Any:
        return self.require().at(self.precision)

    @property
    def weights(self) -> dict[str, Tensor]:
        return dict(self.module.named_parameters())

    @property
    def n_parameters(self) -> int:
        return sum(weight.numel() for weight in self.weights.values())

    @property
    def digest(self) -> str:
        return self.require().digest

    def require(self) -> Fitted:
        """Return what was fitted; raise `InputError` where nothing was."""
        if self._fitted is None:
            raise not_fitted(self.name)
        return self._fitted

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {name: weight.detach().cpu().numpy() for name, weight in self.weights.items()}

    def check_arrays(self, arrays: Mapping[str, npt.NDArray[Any]], n_types: int) -> None:
        """Raise `InputError` unless names, shapes and types are those of this network's weights; reads no number.

        `arrays`: the weights, or views without memory of the same shapes and types.
        """
        fit = f"the weights do not fit the settings and a vocabulary of {n_types:,} tokens"
        try:
            expected = self.shapes(n_types, self.longest_in({name: array.shape for name, array in arrays.items()}))
        except KeyError as missing:
            raise InputError(f"{fit}: {missing} is missing") from None
        except RuntimeError:  # no tensor can have so many numbers
            raise InputError(f"{fit}: they would be too large") from None
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
        self.check_arrays(arrays, len(vocabulary))
        longest = self.longest_in({name: array.shape for name, array in arrays.items()})
        module = shaped(partial(self.new_module, len(vocabulary), longest))
        module.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in arrays.items()}, assign=True)
        self.take(module, vocabulary=vocabulary, tokenizer=tokenizer, record=record)

    def take(self, module: Network, *, vocabulary: Vocabulary, tokenizer: str, record: Mapping[str, Any]) -> None:
        """Make `module` the network's own; it learns no more."""
        module = module.to(training_device()).requires_grad_(False)
        self._fitted = Fitted(module, vocabulary, tokenizer)
        self.record = dict(record)

    @contextmanager
    def in_training(self, module: Network, vocabulary: Vocabulary, tokenizer: str) -> Iterator[Any]:
        """Yield the module on the device, to be changed in place; after the ``with`` block it is the network's.

        Inside, the network draws and scores with the present weights. If the block raises, the network is as before.
        """
        module = module.to(training_device()).requires_grad_()
        before = self._fitted
        self._fitted = Fitted(module, vocabulary, tokenizer, changing=True)
        try:
            yield module
        except BaseException:
            self._fitted = before
            raise
        self._fitted = Fitted(module.requires_grad_(False), vocabulary, tokenizer)


class TrainedNetwork(FittedNetwork):
    """A `FittedNetwork` with the training loop.

    `seed`: with the training text, decides all randomness of training: the same bits on one CPU and number of threads.
    """

    recipe: Any  # a `Recipe`, of the class that the settings have
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("seed", self.seed, 0)
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
        weights: Mapping[str, Tensor],
        objective: TrainingObjective,
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
        with threads():
            self.history = loop.train(
                weights,
                batches=objective.batches,
                loss=objective.loss,
                score=score,
                recipe=self.recipe,
                seed=seed,
                size=objective.size,
                checkpoint=checkpoint,
                checkpoint_seconds=checkpoint_seconds,
                config={"kind": self.kind, **self.settings, **texts},
                monitors=monitors,
                monitor_steps=monitor_steps,
                progress=progress,
                carried=objective.carried,
            )
            n_threads = torch.get_num_threads()
        device = next(iter(weights.values())).device
        return {"history": asdict(self.history), "threads": n_threads, "device": device.type}
