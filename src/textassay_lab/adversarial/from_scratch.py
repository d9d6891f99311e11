"""Adversarial training from scratch: the generator, an `LstmModel`, has no maximum-likelihood pre-training.

Subclasses define the other side and the rounds.
"""

from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay.errors import check_range
from textassay.ngram.language_model import LanguageModel, check_train, training_record
from textassay_lab.adversarial.generator_training import GeneratorTraining
from textassay_lab.adversarial.policy_gradient import Actions, variety
from textassay_lab.adversarial.rounds import Collapse, Phase, RoundsHistory, mean_values
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.training.backend import single_threaded
from textassay_lab.training.history import History

_NEVER = -30.0  # initial bias of <unk> where real text has none: no loss teaches the generator to avoid it
_SMALL = 1 << 20  # logits of a batch up to which one thread is faster than several


class FromScratch(GeneratorTraining):
    """The two sides of an `AdversarialTrainer`. Needs the extra ``neural``.

    Few pairs of neighbours are how it begins, so only very few are a collapse.

    `lasting`: the context of the training, to be closed at its end; left by an exception, it restores `model`;
    `players`: the two sides by name, ``generator`` among them.
    """

    collapse = Collapse("variety", least=0.05)

    def __init__(
        self,
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
        self._most = model.limit_for(train)
        super().__init__(model, train, begins_as=model.name, oracle=oracle, n_validation=n_validation, seed=seed)
        self.batch_size = batch_size
        self._texts = {
            **training_record(train, train.fingerprint),
            "valid": None if valid is None else {"fingerprint": valid.fingerprint, "sentences": len(valid)},
        }
        rng = torch.Generator().manual_seed(self._key("generator"))
        network = model.begun(len(train.vocabulary), self._most, rng)
        with torch.no_grad():
            self._prepare(network)
            if UNK not in train.tokens:
                network.head.bias[UNK] = _NEVER
        self.lasting = ExitStack()
        network = self.lasting.enter_context(model.in_training(network, train.vocabulary, train.tokenizer))
        self.learn_from(network, train, valid, limit=self._most + (model.length is None))
        self.policy = network
        self._n_types, self._device = len(train.vocabulary), network.device

    def _prepare(self, network: Any) -> None:
        """Change the initial weights of the generator."""

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

    @property
    def sampled_limit(self) -> int:
        """Most tokens of a sentence."""
        return self._most

    def round(self, phase: str, number: int) -> dict[str, float]:
        """Run round `number`; return means over its steps, and ``variety``.

        ``variety``: distinct bigrams of drawn sentences, over those of as many real sentences.
        """
        with self._threads():
            steps = [self._step(phase, number, step) for step in range(self._iterations)]
            drawn, real = self._batch(phase, number, "variety"), self._real_batch(phase, number, "variety")
        return {**mean_values(steps), "variety": variety(drawn, real)}

    def finish(self, history: RoundsHistory, record: Mapping[str, Any]) -> None:
        """Make the present generator the model; `record`, JSON-ready, becomes part of its record."""
        self.lasting.close()
        self.model.record = {
            **self._texts,
            "history": asdict(History()),
            "adversarial": {"kind": self.kind, **history.ending, **record},
            "device": self._device.type,
        }

    def _batch(self, *place: str | int) -> Actions:
        return self._drawn(self.batch_size, self._key(*place))

    def _real_batch(self, *place: str | int) -> Actions:
        rows = np.random.default_rng(self._key(*place, "real")).integers(len(self._real), size=self.batch_size)
        return self._real.take(rows)

    def _threads(self) -> AbstractContextManager[None]:
        return single_threaded() if self.batch_size * self.limit * self._n_types <= _SMALL else nullcontext()
