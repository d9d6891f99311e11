"""What the systems have in common whose generator is a language model: both sides, real text, draws, validation.

Source: Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015 (`Player`).
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay.errors import InputError, OptionError, check_range
from textassay.ngram.language_model import LanguageModel, check_train, drawn_corpus, tokens_in, training_record
from textassay.seeding import stream
from textassay_lab.adversarial.policy_gradient import Actions, draw_actions, variety
from textassay_lab.adversarial.rounds import COLLAPSE, Collapse, Phase, RoundsHistory, mean_values, part_of
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.module import SentenceNetwork
from textassay_lab.generator.network import NetworkLanguageModel
from textassay_lab.generator.scoring import token_scores
from textassay_lab.judges.network import seeded
from textassay_lab.training.backend import single_threaded
from textassay_lab.training.history import History

IntArray = npt.NDArray[np.int64]

VALID = "valid_nll_per_token"  # of validation text under the generator
ORACLE = "oracle_nll_per_token"  # of samples under the oracle


class Player:
    """Weights, changed in place by Adam."""

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        *,
        learning_rate: float,
        betas: tuple[float, float] = (0.9, 0.999),
        max_norm: float | None = None,
    ) -> None:
        if not weights:
            raise OptionError("there are no weights to train")
        if not 0 < learning_rate < float("inf"):
            raise OptionError(f"learning_rate must be above 0, got {learning_rate}")
        if not all(0 <= beta < 1 for beta in betas):
            raise OptionError(f"betas must be at least 0 and below 1, got {betas}")
        if max_norm is not None and not max_norm > 0:
            raise OptionError(f"max_norm must be above 0, or none, got {max_norm}")
        self.weights = weights
        self.max_norm = max_norm
        self.device = next(iter(weights.values())).device
        fused = self.device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.Adam(list(weights.values()), lr=learning_rate, betas=betas, fused=fused)

    def descend(self, loss: Tensor) -> float:
        """Take a step down the gradient of `loss`, a scalar, and return its value."""
        gradients = torch.autograd.grad(loss, list(self.weights.values()))
        for weight, gradient in zip(self.weights.values(), gradients, strict=True):
            weight.grad = gradient
        self.step()
        return float(loss.detach())

    def step(self) -> None:
        """Take a step with the gradients of the weights, and clear them."""
        if self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.weights.values(), self.max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights and Adam's moments, by name; memory is shared with those in training."""
        tensors = {f"weights/{name}": weight.detach() for name, weight in self.weights.items()}
        for name, weight in self.weights.items():
            tensors |= {f"adam {key}/{name}": value for key, value in self.optimizer.state[weight].items()}
        return tensors

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        expected = {f"weights/{name}": weight.shape for name, weight in self.weights.items()}
        shapes = {name: tensor.shape for name, tensor in tensors.items() if name.startswith("weights/")}
        if shapes != expected:
            changed = sorted(name for name in {**shapes, **expected} if shapes.get(name) != expected.get(name))
            raise InputError(f"the weights are those of another network: {changed[0]} differs")
        self.optimizer.state.clear()
        with torch.no_grad():
            for key, tensor in tensors.items():
                part, name = key.split("/", 1)
                if part == "weights":
                    self.weights[name].copy_(tensor)
                else:
                    on = self.device if tensor.ndim or self.optimizer.defaults["fused"] else torch.device("cpu")
                    state = self.optimizer.state[self.weights[name]]
                    state[part.removeprefix("adam ")] = tensor.to(on, copy=True)


class GeneratorTraining:
    """The two sides of an `AdversarialTrainer`; subclasses define the rounds. Needs the extra ``neural``.

    `network`: the generator in training; `policy`: the same weights as sentences are drawn in the rounds, without
    ``<unk>`` where real text has none; `players`: what is trained, by name; `limit`: most actions of a sentence.
    """

    kind: ClassVar[str]
    system: ClassVar[str] = ""  # its name, where its random streams are those of what it derives from
    best: ClassVar[str] = VALID  # what validation has lowest where it is best
    collapse: ClassVar[Collapse] = COLLAPSE
    players: dict[str, Player]
    network: Any  # `SentenceNetwork`s
    policy: Any

    def __init__(
        self,
        model: NetworkLanguageModel,
        train: Corpus,
        *,
        begins_as: str,
        oracle: LanguageModel | None = None,
        n_validation: int = 0,
        seed: int,
    ) -> None:
        """`begins_as`: what, with `seed` and text, decides all random draws."""
        self.model, self.oracle, self._n_validation = model, oracle, n_validation
        self._seed = int(stream(seed, self.kind, begins_as, train.fingerprint).integers(2**62))

    def learn_from(self, network: SentenceNetwork, train: Corpus, valid: Corpus | None, *, limit: int) -> None:
        """Set the generator, which has begun, and the text that it learns from; raise where a sentence is too long."""
        vocabulary, name = self.model.vocabulary, self.model.name
        self.network, self.limit = network, limit
        tokens = tokens_in(vocabulary, train, generator=name)
        self.policy = network.excluding(*([] if UNK in tokens else [UNK]))
        self._real = Actions.of_text(tokens, train.offsets, limit)
        self._valid = None if valid is None else (tokens_in(vocabulary, valid, generator=name), valid.offsets)

    def state(self) -> dict[str, Tensor]:
        sides = self.players.items()
        return {f"{side}/{name}": tensor for side, player in sides for name, tensor in player.tensors().items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        for side, player in self.players.items():
            player.restore(part_of(tensors, side))

    def validate(self) -> dict[str, float]:
        """Return the nats per token of the validation text, and of samples under the oracle, where these exist."""
        values = {}
        if self._valid is not None:
            tokens, offsets = self._valid
            n_scored = len(tokens) + (len(offsets) - 1 if self.model.draws_ends else 0)
            values[VALID] = -float(token_scores(self.network, tokens, offsets, 1.0).sum()) / n_scored
        if self.oracle is not None:
            drawn = self.sample(self._n_validation, seed=self._key("oracle"))
            values[ORACLE] = -float(self.oracle.log_prob(drawn).sum()) / max(len(drawn.tokens), 1)
        return values

    def sample(self, n: int, *, seed: int) -> Corpus:
        key = int(stream(seed, f"{self.kind} sample").integers(2**62))
        drawn = draw_actions(self.sampled_network, n, limit=self.sampled_limit, key=key)
        return drawn_corpus(*drawn.sentences(), vocabulary=self.model.vocabulary, tokenizer=self.model.tokenizer)

    @property
    def sampled_network(self) -> Any:
        """What `sample` draws from."""
        return self.policy

    @property
    def sampled_limit(self) -> int:
        """Most actions of a sentence of `sample`."""
        return self.limit

    def finish(self, history: RoundsHistory, record: Mapping[str, Any]) -> None:
        """Make a copy of the present generator the model; `record`, JSON-ready, becomes part of its record."""
        model = self.model
        record = {**model.record, "adversarial": {"kind": self.system or self.kind, **history.ending, **record}}
        model.take(self.network.copied(), vocabulary=model.vocabulary, tokenizer=model.tokenizer, record=record)

    def refresh(
        self,
        discriminator: Player,
        loss: Callable[[IntArray, IntArray], Tensor],
        drawn: Actions,
        *,
        epochs: Iterable[int],
        batch_size: int,
    ) -> dict[str, float]:
        """Train `discriminator`, in place, on drawn sentences and, in each epoch, as many real ones.

        `loss`: from numbers of real sentences, shape (N,), and rows of drawn ones, shape (N, limit).

        Returns ``judge_loss``, the mean over the batches, each before its update, and ``variety``, see `variety`.
        """
        batches = seeded(len(drawn), len(self._real), batch_size, self._key("order"))
        losses = [
            discriminator.descend(loss(real_rows, drawn.tokens[rows]))
            for epoch in epochs
            for rows, real_rows in batches(epoch)
        ]
        return {"judge_loss": float(np.mean(losses)), "variety": variety(drawn, self._real)}

    def _drawn(self, n: int, key: int) -> Actions:
        return draw_actions(self.policy, n, limit=self.limit, key=key)

    def _key(self, *place: str | int) -> int:
        return int(stream(self._seed, *place).integers(2**62))


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
