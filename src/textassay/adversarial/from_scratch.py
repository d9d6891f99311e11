"""Adversarial training from scratch: the generator, an `LstmModel`, has no maximum-likelihood pre-training.

Subclasses define the other side and the rounds.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from textassay.adversarial.history import RoundsHistory, mean_values
from textassay.adversarial.player import Player, part_of
from textassay.adversarial.roll_outs import Actions, draw_actions, variety
from textassay.adversarial.rounds import Phase
from textassay.adversarial.validation import validated
from textassay.corpus import UNK, Corpus
from textassay.errors import check_range
from textassay.generator import LanguageModel, LstmModel, check_train, drawn_corpus, tokens_in, training_record
from textassay.seeding import stream
from textassay.training import History, single_threaded

if TYPE_CHECKING:
    from torch import Tensor


_NEVER = -30.0  # initial bias of <unk> where real text has none: no loss teaches the generator to avoid it
_SMALL = 1 << 20  # logits of a batch up to which one thread is faster than several


class FromScratch(ABC):
    """The two sides of an `AdversarialTrainer`. Needs the extra ``neural``.

    `limit`: most actions of a sentence, its end included; `lasting`: the context of the training, to be closed at its
    end; left by an exception, it restores `model`; `players`: the two sides by name, ``generator`` among them.
    """

    def __init__(
        self,
        kind: str,
        model: LstmModel,
        train: Corpus,
        valid: Corpus | None,
        *,
        batch_size: int,
        oracle: LanguageModel | None,
        n_validation: int,
        seed: int,
    ) -> None:
        check_train(train, generator=model.name)
        if valid is not None:
            check_train(valid, generator=model.name, what="validation")
        check_range("seed", seed, 0)
        most = model.limit_for(train)
        import torch

        self.kind, self.model, self.batch_size, self.oracle = kind, model, batch_size, oracle
        self._plain = type(model)(**{**model.settings, "recipe": model.recipe, "dropout": 0.0})  # for drawing
        self._n_validation, self._most = n_validation, most
        self.limit: int = most + (model.length is None)
        self._seed = int(stream(seed, kind, model.name, train.fingerprint).integers(2**62))
        self._texts = {
            **training_record(train, train.fingerprint),
            "valid": None if valid is None else {"fingerprint": valid.fingerprint, "sentences": len(valid)},
        }
        shapes = model.shapes(len(train.vocabulary), most)
        initial = self._initial_weights(
            model.new_weights(shapes, torch.Generator().manual_seed(self._key("generator")))
        )
        if UNK not in train.tokens:
            initial["output bias"][UNK] = _NEVER
        self.lasting = ExitStack()
        self._weights = self.lasting.enter_context(model.in_training(initial, train.vocabulary, train.tokenizer))
        self._n_types, self._device = len(train.vocabulary), self._weights["words"].device
        self._real = Actions.of_text(train.tokens, train.offsets, self.limit)
        self._valid = None
        if valid is not None:
            self._valid = (tokens_in(train.vocabulary, valid, generator=model.name), valid.offsets)
        self.players: dict[str, Player] = {}

    @abstractmethod
    def _initial_weights(self, weights: "dict[str, Tensor]") -> "dict[str, Tensor]":
        """Return the initial weights of the generator; `weights` are those of `LstmModel`."""

    @abstractmethod
    def _step(self, *place: str | int) -> dict[str, float]:
        """Update both sides once; return losses and rewards, always the same names."""

    @property
    @abstractmethod
    def phases(self) -> tuple[Phase, ...]:
        """The only one: all rounds."""

    @property
    @abstractmethod
    def _iterations(self) -> int:
        """Steps of a round."""

    def state(self) -> "dict[str, Tensor]":
        """Return weights and Adam's moments of both sides."""
        sides = self.players.items()
        return {f"{side}/{name}": tensor for side, player in sides for name, tensor in player.tensors().items()}

    def restore(self, tensors: "Mapping[str, Tensor]") -> None:
        """Restore a copy of `state`."""
        for side, player in self.players.items():
            player.restore(part_of(tensors, side))

    def round(self, phase: str, number: int) -> dict[str, float]:
        """Run round `number`; return means over its steps, and ``variety``.

        ``variety``: distinct bigrams of drawn sentences, over those of as many real sentences.
        """
        with self._threads():
            steps = [self._step(phase, number, step) for step in range(self._iterations)]
            drawn, real = self._drawn(phase, number, "variety"), self._real_batch(phase, number, "variety")
        return {**mean_values(steps), "variety": variety(drawn, real)}

    def validate(self) -> dict[str, float]:
        """Return the nats per token of the validation text, and of samples under the oracle, where these exist."""

        def draw() -> Corpus:
            return self.sample(self._n_validation, seed=self._key("oracle"))

        return validated(self.model, self._weights, self._valid, oracle=self.oracle, draw=draw)

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences of the present generator."""
        key = int(stream(seed, f"{self.kind} sample").integers(2**62))
        tokens, offsets = draw_actions(self.model, self._weights, n, limit=self._most, key=key).sentences()
        return drawn_corpus(tokens, offsets, vocabulary=self.model.vocabulary, tokenizer=self.model.tokenizer)

    def finish(self, history: RoundsHistory, record: Mapping[str, Any]) -> None:
        """Make the present generator the model; `record`, JSON-ready, becomes part of its record."""
        self.lasting.close()
        self.model.record = {
            **self._texts,
            "history": asdict(History()),
            "adversarial": {"kind": self.kind, **history.ending, **record},
            "device": self._device.type,
        }

    def _drawn(self, *place: str | int) -> Actions:
        return draw_actions(self.model, self._weights, self.batch_size, limit=self.limit, key=self._key(*place))

    def _real_batch(self, *place: str | int) -> Actions:
        rows = np.random.default_rng(self._key(*place, "real")).integers(len(self._real), size=self.batch_size)
        return self._real.take(rows)

    def _threads(self) -> AbstractContextManager[None]:
        return single_threaded() if self.batch_size * self.limit * self._n_types <= _SMALL else nullcontext()

    def _key(self, *place: str | int) -> int:
        return int(stream(self._seed, *place).integers(2**62))
