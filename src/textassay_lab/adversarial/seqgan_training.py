"""SeqGAN: a pre-trained language model trained by the policy gradient against a discriminator.

A sentence is a row of actions; the reward of an action is the mean probability of being real over roll-outs of the
policy after it. The generator, an `LstmModel`, follows the policy gradient; the discriminator is refreshed with new
samples. "MLE SeqGAN" is the generator before the rounds.

Source: Yu et al., "SeqGAN: Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017.
Departs from it: sentences may end (the end is an action like any other), unless the model has a `length`; the loss is
the mean over sentences, not the sum, to which Adam is invariant but for gradient clipping; all weights of the roll-out
policy are updated after each round; where real text has no unknown word, none is drawn in the rounds.
The discriminator is `textassay.discriminator.CnnNetwork` with windows of 1 to 20 words; windows wider than the longest
sentence are left out. "judge" in names of values and settings is the discriminator.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import LanguageModel, check_train
from textassay_lab.adversarial.generator_training import GeneratorTraining, Player
from textassay_lab.adversarial.policy_gradient import (
    Actions,
    Scorer,
    leave_one_out,
    log_probs_of,
    mean_outcomes,
    policy_loss,
)
from textassay_lab.adversarial.rounds import Phase, mean_values, part_of
from textassay_lab.adversarial.seqgan import SeqGanRecipe
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.module import begun
from textassay_lab.judges.network import Sentences
from textassay_lab.judges.networks import CnnNetwork
from textassay_lab.training.backend import single_threaded

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_TOGETHER = 2048  # sentences scored in one block


class SeqGanTraining(GeneratorTraining):
    """The two sides; an `AdversarialTrainer`. Needs the extra ``neural``.

    Where sentences end, one of `max_length` tokens has no end action and no reward for it, and the discriminator sees
    none in real sentences of this length. The probability of an end there is that of pre-training.
    """

    kind = "seqgan"

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
        super().__init__(
            model, train, begins_as=model.digest, oracle=oracle, n_validation=recipe.validation_samples, seed=seed
        )
        self.recipe = recipe
        limit = model.limit_for(train, *([] if valid is None else [valid]))
        self.learn_from(model.module.copied().requires_grad_(), train, valid, limit=limit)
        self.roll_out_policy = self.policy.copied().requires_grad_(False)
        weights = dict(self.network.named_parameters())
        self.generator = Player(
            weights, learning_rate=recipe.adversarial_learning_rate, max_norm=recipe.adversarial_max_norm
        )
        self.judge = self._new_judge()
        weights = dict(self.judge.named_parameters())
        self.discriminator = Player(weights, learning_rate=recipe.discriminator_learning_rate)
        self.players = {"generator": self.generator, "discriminator": self.discriminator}

    @property
    def phases(self) -> tuple[Phase, Phase]:
        """Those of the discriminator alone, then all others; without these nobody asks it, and it learns nothing."""
        before = self.recipe.pretraining_rounds if self.recipe.rounds else 0
        return Phase("discriminator", before, validated=False), Phase("adversarial", self.recipe.rounds)

    def state(self) -> dict[str, Tensor]:
        policy = {f"roll-outs/{name}": weight for name, weight in self.roll_out_policy.named_parameters()}
        return {**super().state(), **policy}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        super().restore(tensors)
        self.roll_out_policy.load_state_dict(part_of(tensors, "roll-outs"))

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

    def rewards(self, drawn: Actions, *, key: int) -> FloatArray:
        """Return the reward of each action, before any baseline, shape (B, limit); 0 where there is none."""
        outcomes = mean_outcomes(
            self.roll_out_policy, drawn, self._scorer(key), n_roll_outs=self.recipe.roll_outs, key=key
        )
        to_come = drawn.lengths[:, None] - 1 - np.arange(self.limit)
        return np.where(drawn.taken, outcomes * self.recipe.discount ** np.maximum(to_come, 0), 0.0)

    def log_probs(self, drawn: Actions) -> Tensor:
        """Return the log-probability of each action, shape (B, limit), to differentiate; 0 where there is none."""
        return log_probs_of(self.policy, drawn)

    def _policy_gradient_step(self, *place: str | int) -> dict[str, float]:
        """Take a step of the policy gradient; return the mean reward of whole sentences and the loss."""
        drawn = self._drawn(self.recipe.adversarial_batch_size, self._key(*place, "actions"))
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
        for old, weight in zip(self.roll_out_policy.parameters(), self.network.parameters(), strict=True):
            old.lerp_(weight.detach(), 1 - self.recipe.roll_out_averaging)

    def _refreshed(self, place: tuple[str, int], first: int, n: int) -> dict[str, float]:
        """Refresh the discriminator `n` times, after `first` refreshes; return the mean of their values."""
        return mean_values([self._refresh(first + index, self._key(*place, "refresh", index)) for index in range(n)])

    def _refresh(self, number: int, key: int) -> dict[str, float]:
        """Train the discriminator on new samples and as many real sentences."""
        recipe = self.recipe
        drawn = self._drawn(recipe.negatives, key)
        rng = torch.Generator(self.discriminator.device).manual_seed(key)
        return self.refresh(
            self.discriminator,
            lambda real_rows, rows: self._discriminator_loss(real_rows, rows, rng),
            drawn,
            epochs=range(number * recipe.discriminator_epochs, (number + 1) * recipe.discriminator_epochs),
            batch_size=recipe.adversarial_batch_size,
        )

    def _new_judge(self, *, has_output: bool = True) -> CnnNetwork:
        filters = {window: count for window, count in self.recipe.discriminator_filters.items() if window <= self.limit}
        sizes = {
            "dimension": self.recipe.discriminator_width,
            "filters": filters,
            "dropout": self.recipe.discriminator_dropout,
        }
        rng = torch.Generator().manual_seed(self._key("judge"))
        build = partial(CnnNetwork, len(self.model.vocabulary), **sizes, has_output=has_output)  # type: ignore[arg-type]
        return begun(build, rng).to(self.network.device)

    def _discriminator_loss(self, real_rows: IntArray, drawn: IntArray, rng: torch.Generator) -> Tensor:
        """Return the discriminator's loss on real sentences by number and drawn ones: their mean cross-entropy."""
        real = self._real.tokens[real_rows]
        is_real = np.repeat([1, 0], [len(real), len(drawn)])
        return self.judge.loss(sentences_of(np.concatenate((real, drawn))), is_real, rng)

    def _scorer(self, key: int) -> Scorer:
        """Return the function that rewards the sentences of a step; `key` is its seed."""
        return self._prob_real

    def _prob_real(self, rows: IntArray) -> FloatArray:
        """Return the probability that each row of ids, shape (R, limit), is real, shape (R,)."""

        def score(start: int) -> FloatArray:
            with single_threaded(), torch.no_grad():
                sentences = sentences_of(rows[start : start + _TOGETHER])
                return np.asarray(expit(self.judge(sentences).numpy()))

        return np.concatenate(parallel_map(score, range(0, len(rows), _TOGETHER)))


def sentences_of(rows: IntArray) -> Sentences:
    """Return padded rows as input of the network; ``<pad>`` has the same id in both."""
    n, limit = rows.shape
    return Sentences(rows.reshape(-1), np.arange(n + 1) * limit)
