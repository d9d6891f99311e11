"""What trainings share whose generator, an `LstmModel`, learns with no maximum likelihood before the rounds.

A subclass says who the other side is and what a round does.
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
from textassay.generator import LanguageModel, check_train, drawn_corpus, tokens_in, training_record
from textassay.network import LstmModel
from textassay.seeding import stream
from textassay.training import History, single_threaded

if TYPE_CHECKING:
    from torch import Tensor


_NEVER = -30.0  # bias of <unk> as it begins, where real text has none: nobody would teach the generator to avoid it
_SMALL = 1 << 20  # logits of a batch; for as few, threads wait for each other longer than they work


class FromScratch(ABC):
    """Both sides while they are trained; a `textassay.adversarial.rounds.TwoSided`. Needs the extra ``neural``.

    `limit`: Most actions of a sentence, its end among them; `lasting`: What ends when training does: to be closed, or
    left by an exception, which makes `model` what it was before; `players`: The two sides by name; ``generator`` is
    one.
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
        self._plain = type(model)(**{**model.settings, "recipe": model.recipe, "dropout": 0.0})  # what draws has none
        self._n_validation, self._most = n_validation, most
        self.limit: int = most + (model.length is None)
        self._seed = int(stream(seed, kind, model.name, train.fingerprint).integers(2**62))
        self._texts = {
            **training_record(train, train.fingerprint),
            "valid": None if valid is None else {"fingerprint": valid.fingerprint, "sentences": len(valid)},
        }
        shapes = model.shapes(len(train.vocabulary), most)
        began = self._began(model.new_weights(shapes, torch.Generator().manual_seed(self._key("generator"))))
        if UNK not in train.tokens:
            began["output bias"][UNK] = _NEVER
        self.lasting = ExitStack()
        self._weights = self.lasting.enter_context(model.in_training(began, train.vocabulary, train.tokenizer))
        self._n_types, self._device = len(train.vocabulary), self._weights["words"].device
        self._real = Actions.of_text(train.tokens, train.offsets, self.limit)
        self._valid = None
        if valid is not None:
            self._valid = (tokens_in(train.vocabulary, valid, generator=model.name), valid.offsets)
        self.players: dict[str, Player] = {}

    @abstractmethod
    def _began(self, weights: "dict[str, Tensor]") -> "dict[str, Tensor]":
        """Return the weights of the generator as they begin, given those that it would begin with."""

    @abstractmethod
    def _step(self, *place: str | int) -> dict[str, float]:
        """Let both sides learn once; return losses and rewards, always the same names."""

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
        """Take back, copied, what `state` returned."""
        for side, player in self.players.items():
            player.restore(part_of(tensors, side))

    def round(self, phase: str, number: int) -> dict[str, float]:
        """Do round `number`; return means of what its steps told, and ``variety``.

        ``variety`` is the number of different pairs of neighbouring tokens drawn, over those in as many real sentences.
        """
        with self._quick():
            told = [self._step(phase, number, step) for step in range(self._iterations)]
            drawn, real = self._drawn(phase, number, "variety"), self._some_real(phase, number, "variety")
        return {**mean_values(told), "variety": variety(drawn, real)}

    def validate(self) -> dict[str, float]:
        """Return the nats per token of the validation text, and those that the oracle gives to draws; each if there."""

        def draw() -> Corpus:
            return self.sample(self._n_validation, seed=self._key("oracle"))

        return validated(self.model, self._weights, self._valid, oracle=self.oracle, draw=draw)

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences that the generator draws as it is now."""
        key = int(stream(seed, f"{self.kind} sample").integers(2**62))
        tokens, offsets = draw_actions(self.model, self._weights, n, limit=self._most, key=key).sentences()
        return drawn_corpus(tokens, offsets, vocabulary=self.model.vocabulary, tokenizer=self.model.tokenizer)

    def finish(self, history: RoundsHistory, record: Mapping[str, Any]) -> None:
        """Let the model be what the generator is now; `record`, JSON-ready, says in its record how it got there."""
        self.lasting.close()
        self.model.record = {
            **self._texts,
            "history": asdict(History()),
            "adversarial": {"kind": self.kind, **history.ending, **record},
            "device": self._device.type,
        }

    def _drawn(self, *place: str | int) -> Actions:
        return draw_actions(self.model, self._weights, self.batch_size, limit=self.limit, key=self._key(*place))

    def _some_real(self, *place: str | int) -> Actions:
        rows = np.random.default_rng(self._key(*place, "real")).integers(len(self._real), size=self.batch_size)
        return self._real.take(rows)

    def _quick(self) -> AbstractContextManager[None]:
        return single_threaded() if self.batch_size * self.limit * self._n_types <= _SMALL else nullcontext()

    def _key(self, *place: str | int) -> int:
        return int(stream(self._seed, *place).integers(2**62))
