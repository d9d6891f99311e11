"""SeqGAN: a pre-trained language model trained by the policy gradient against a discriminator.

A sentence is a row of actions; the reward of an action is the mean probability of being real over roll-outs of the
policy after it. The generator, an `LstmModel`, follows the policy gradient; the discriminator is refreshed with new
samples. "MLE SeqGAN" is the generator before the rounds.

Source: Yu et al., "SeqGAN: Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017.
Departs from it: sentences may end (the end is an action like any other), unless the model has a `length`; the loss is
the mean over sentences, not the sum, to which Adam is invariant but for gradient clipping; all weights of the roll-out
policy are updated after each round; where real text has no unknown word, none is drawn in the rounds.
Names in checkpoints and values ("judge", "judge_loss") are those of saved runs; "judge" is the discriminator there.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.adversarial.history import mean_values
from textassay.adversarial.player import Player, part_of
from textassay.adversarial.policy import Policy
from textassay.adversarial.policy_gradient import leave_one_out, policy_loss
from textassay.adversarial.refresh import refresh
from textassay.adversarial.roll_outs import Actions, Scorer, draw_actions, log_probs_of, mean_outcomes
from textassay.adversarial.seqgan_recipe import SeqGanRecipe
from textassay.adversarial.sequence_cnn import fitting_filters, new_discriminator, prob_real, sequence_cnn_loss
from textassay.adversarial.validation import validated
from textassay.corpus import UNK, Corpus
from textassay.generator import LanguageModel, LstmModel, check_train, drawn_corpus, tokens_in
from textassay.seeding import stream

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class _Policy(Policy, LstmModel):
    """The generator in the rounds, without dropout."""


class SeqGan:
    """The two sides; an `AdversarialTrainer`. Needs the extra ``neural``.

    Where sentences end, one of `max_length` tokens has no end action and no reward for it, and the discriminator sees
    none in real sentences of this length. The probability of an end there is that of pre-training.
    """

    def __init__(
        self,
        model: LstmModel,
        train: Corpus,
        valid: Corpus | None = None,
        *,
        recipe: SeqGanRecipe,
        oracle: LanguageModel | None = None,
        seed: int = 0,
    ) -> None:
        check_train(train, generator=model.name)
        self.model, self.recipe, self.oracle = model, recipe, oracle
        self._policy = _Policy(**{**model.settings, "recipe": model.recipe, "dropout": 0.0})
        self._policy.excludes_unknown = UNK not in tokens_in(model.vocabulary, train, generator=model.name)
        self.limit = model.limit_for(train, *([] if valid is None else [valid]))
        self._seed = int(stream(seed, "seqgan", model.digest, train.fingerprint).integers(2**62))
        self._real = Actions.of_text(
            tokens_in(model.vocabulary, train, generator=model.name), train.offsets, self.limit
        )
        self._valid = None
        if valid is not None:
            self._valid = (tokens_in(model.vocabulary, valid, generator=model.name), valid.offsets)
        weights = {name: weight.detach().clone().requires_grad_() for name, weight in model.weights.items()}
        self._roll_outs = {name: weight.detach().clone() for name, weight in weights.items()}
        self.generator = Player(weights, learning_rate=recipe.learning_rate, max_norm=recipe.max_norm)
        self.discriminator = Player(self._new_discriminator(), learning_rate=recipe.judge_learning_rate)

    def state(self) -> "dict[str, Tensor]":
        """Return both sides and the roll-out policy."""
        return {
            **{f"generator/{name}": tensor for name, tensor in self.generator.tensors().items()},
            **{f"judge/{name}": tensor for name, tensor in self.discriminator.tensors().items()},
            **{f"roll-outs/{name}": tensor for name, tensor in self._roll_outs.items()},
        }

    def restore(self, tensors: "Mapping[str, Tensor]") -> None:
        """Restore a `state`."""
        self.generator.restore(part_of(tensors, "generator"))
        self.discriminator.restore(part_of(tensors, "judge"))
        for name, tensor in part_of(tensors, "roll-outs").items():
            self._roll_outs[name].copy_(tensor)

    def round(self, phase: str, number: int) -> dict[str, float]:
        """Refresh the discriminator; in the phase ``adversarial``, after the generator's steps.

        ``reward`` (mean probability of being real) and ``generator_loss`` of the steps; ``judge_loss`` of the
        refreshes, each batch before its update; ``variety``: distinct bigrams of drawn sentences, over those of as many
        real sentences.
        """
        recipe = self.recipe
        if phase != "adversarial":
            return self._refreshed((phase, number), number - 1, 1)
        values = mean_values(
            [self._policy_gradient_step(phase, number, step) for step in range(recipe.generator_steps)]
        )
        self._update_rollout_policy()
        first = recipe.pretraining_rounds + (number - 1) * recipe.refreshes
        return values | self._refreshed((phase, number), first, recipe.refreshes)

    def validate(self) -> dict[str, float]:
        """Return the nats per token of the validation text, and of samples under the oracle, where these exist."""

        def draw() -> Corpus:
            return self.sample(self.recipe.n_validation, seed=self._key("oracle"))

        return validated(self.model, self.generator.weights, self._valid, oracle=self.oracle, draw=draw)

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences of the present generator."""
        key = int(stream(seed, "seqgan sample").integers(2**62))
        tokens, offsets = self._drawn(n, key).sentences()
        return drawn_corpus(tokens, offsets, vocabulary=self.model.vocabulary, tokenizer=self.model.tokenizer)

    def finish(self, record: Mapping[str, Any]) -> None:
        """Make the present generator the model; `record`, JSON-ready, becomes part of its record."""
        arrays = {name: weight.detach().cpu().numpy() for name, weight in self.generator.weights.items()}
        self.model.restore(
            arrays,
            vocabulary=self.model.vocabulary,
            tokenizer=self.model.tokenizer,
            record={**self.model.record, "adversarial": dict(record)},
        )

    def rewards(self, drawn: Actions, *, key: int) -> FloatArray:
        """Return the reward of each action, before any baseline, shape (B, limit); 0 where there is none."""
        outcomes = mean_outcomes(
            self._policy, self._roll_outs, drawn, self._scorer(key), n_roll_outs=self.recipe.n_roll_outs, key=key
        )
        to_come = drawn.lengths[:, None] - 1 - np.arange(self.limit)
        return np.where(drawn.taken, outcomes * self.recipe.discount ** np.maximum(to_come, 0), 0.0)

    def log_probs(self, drawn: Actions) -> "Tensor":
        """Return the log-probability of each action, shape (B, limit), to differentiate; 0 where there is none."""
        return log_probs_of(self._policy, self.generator.weights, drawn)

    def _policy_gradient_step(self, *place: str | int) -> dict[str, float]:
        """Take a step of the policy gradient; return the mean reward of whole sentences and the loss."""
        import torch

        drawn = self._drawn(self.recipe.batch_size, self._key(*place, "actions"))
        rewards = self.rewards(drawn, key=self._key(*place, "roll-outs"))
        whole = rewards[np.arange(len(drawn)), drawn.lengths - 1]
        taken = torch.from_numpy(drawn.taken).to(self.generator.device)
        returns = torch.from_numpy(rewards).to(self.generator.device)
        if self.recipe.baseline == "leave-one-out":
            returns = returns - leave_one_out(returns, taken)
        loss = self.generator.descend(policy_loss(self.log_probs(drawn), returns.float(), taken))
        return {"reward": float(whole.mean()), "generator_loss": loss}

    def _update_rollout_policy(self) -> None:
        """Move the weights of the roll-out policy towards those of the generator (moving average)."""
        for name, weight in self.generator.weights.items():
            self._roll_outs[name].lerp_(weight.detach(), 1 - self.recipe.roll_out_averaging)

    def _refreshed(self, place: tuple[str, int], first: int, n: int) -> dict[str, float]:
        """Refresh the discriminator `n` times, after `first` refreshes; return the mean of their values."""
        return mean_values([self._refresh(first + index, self._key(*place, "refresh", index)) for index in range(n)])

    def _refresh(self, number: int, key: int) -> dict[str, float]:
        """Train the discriminator on new samples and as many real sentences."""
        import torch

        recipe = self.recipe
        drawn = self._drawn(recipe.n_negatives, key)
        rng = torch.Generator(self.discriminator.device).manual_seed(key)
        return refresh(
            self.discriminator,
            lambda real_rows, rows: self._discriminator_loss(real_rows, rows, rng),
            drawn,
            self._real,
            epochs=range(number * recipe.epochs, (number + 1) * recipe.epochs),
            batch_size=recipe.batch_size,
            seed=self._key("order"),
        )

    def _drawn(self, n: int, key: int) -> Actions:
        return draw_actions(self._policy, self.generator.weights, n, limit=self.limit, key=key)

    def _new_discriminator(self) -> "dict[str, Tensor]":
        return new_discriminator(
            len(self.model.vocabulary),
            dimension=self.recipe.dimension,
            filters=fitting_filters(self.recipe.filters, self.limit),
            seed=self._key("judge"),
            device=self.generator.device,
        )

    def _discriminator_loss(self, real_rows: IntArray, drawn: IntArray, rng: "torch.Generator") -> "Tensor":
        """Return the discriminator's loss on real sentences by number and drawn ones."""
        real = self._real.tokens[real_rows]
        return sequence_cnn_loss(self.discriminator.weights, real, drawn, rng, dropout=self.recipe.dropout)

    def _scorer(self, key: int) -> Scorer:
        """Return the function that rewards the sentences of a step; `key` is its seed."""
        return self._prob_real

    def _prob_real(self, rows: IntArray) -> FloatArray:
        return prob_real(self.discriminator.weights, rows)

    def _key(self, *place: str | int) -> int:
        return int(stream(self._seed, *place).integers(2**62))
