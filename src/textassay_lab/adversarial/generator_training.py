"""What the systems have in common whose generator is a language model: both sides, real text, draws, validation."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay.ngram.language_model import LanguageModel, drawn_corpus, tokens_in
from textassay.seeding import stream
from textassay_lab.adversarial.player import Player, part_of
from textassay_lab.adversarial.policy_gradient import Actions, draw_actions, variety
from textassay_lab.adversarial.rounds import COLLAPSE, Collapse, RoundsHistory
from textassay_lab.generator.module import SentenceNetwork
from textassay_lab.generator.network import NetworkLanguageModel
from textassay_lab.generator.scoring import token_scores
from textassay_lab.judges.network import seeded

IntArray = npt.NDArray[np.int64]

VALID = "valid_nll_per_token"  # of validation text under the generator
ORACLE = "oracle_nll_per_token"  # of samples under the oracle


class GeneratorTraining:
    """The two sides of an `AdversarialTrainer`; subclasses define the rounds. Needs the extra ``neural``.

    `network`: the generator in training; `policy`: the same weights as sentences are drawn in the rounds, without
    ``<unk>`` where real text has none; `players`: what is trained, by name; `limit`: most actions of a sentence.
    """

    kind: ClassVar[str]
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
        """Return weights and Adam's moments of all players."""
        sides = self.players.items()
        return {f"{side}/{name}": tensor for side, player in sides for name, tensor in player.tensors().items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore a copy of `state`."""
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
        """Return `n` sentences of the present generator."""
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
        record = {**model.record, "adversarial": {"kind": self.kind, **history.ending, **record}}
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
