"""ScratchGAN: a generator trained against a discriminator alone, with no maximum-likelihood pre-training.

The discriminator scores every prefix of a sentence; the generator follows the policy gradient of the discounted return
less a moving-average baseline (REINFORCE), in large batches.

Source: de Masson d'Autume, Mohamed, Rosca, Rae, "Training Language GANs from Scratch", NeurIPS 2019, and its public
code.
Departs from it: a sentence ends with ``<eos>``; as there, padding is scored and rewarded up to the longest sentence
(else sentences with low rewards would gain by ending early), but nothing is drawn in it. The loss of the generator is
the mean over sentences, not over their steps, to which Adam is invariant.
Names in checkpoints and values ("judge", "judge_loss") are those of saved runs; "judge" is the discriminator there.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.adversarial.from_scratch import FromScratch
from textassay.adversarial.player import Player
from textassay.adversarial.policy_gradient import policy_loss
from textassay.adversarial.roll_outs import Actions, log_probs_of
from textassay.adversarial.rounds import Phase
from textassay.adversarial.scratchgan_network import (
    new_step_discriminator,
    returns_of,
    step_logits,
    step_loss,
    step_rewards,
)
from textassay.adversarial.scratchgan_recipe import ScratchGanRecipe
from textassay.corpus import Corpus
from textassay.errors import InputError
from textassay.generator import FIXED, LanguageModel, TiedLstm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor


class ScratchGan(FromScratch):
    """Both sides; an `AdversarialTrainer`. Needs the extra ``neural``.

    `vectors`: fixed embeddings, such as GloVe, shape (V, `TiedLstm.fixed`), finite.
    """

    def __init__(
        self,
        model: TiedLstm,
        train: Corpus,
        valid: Corpus | None = None,
        *,
        recipe: ScratchGanRecipe,
        vectors: npt.NDArray[np.floating] | None = None,
        oracle: LanguageModel | None = None,
        seed: int = 0,
    ) -> None:
        if vectors is not None:
            expected = (len(train.vocabulary), model.fixed)
            if vectors.shape != expected:
                raise InputError(f"vectors must have shape {expected}, got {vectors.shape}")
            if not np.isfinite(vectors).all():
                raise InputError("vectors must be finite")
        self._vectors = vectors
        size, n_validation = recipe.batch_size, recipe.n_validation
        super().__init__(
            "scratchgan", model, train, valid, batch_size=size, oracle=oracle, n_validation=n_validation, seed=seed
        )
        import torch

        self.recipe = recipe
        self._fixed = self._weights[FIXED].detach() if FIXED in self._weights else None
        rng = torch.Generator().manual_seed(self._key("judge"))
        initial = new_step_discriminator(
            self._n_types, dimension=recipe.dimension, fixed=model.fixed, width=recipe.width, rng=rng
        )
        discriminator = {name: weight.to(self._device).requires_grad_() for name, weight in initial.items()}
        trainable = {name: weight for name, weight in self._weights.items() if name != FIXED}
        betas = (recipe.beta1, recipe.beta2)
        self.players = {
            "generator": Player(trainable, learning_rate=recipe.learning_rate, betas=betas),
            "judge": Player(discriminator, learning_rate=recipe.judge_learning_rate, betas=betas),
        }
        self._baseline = torch.zeros((), dtype=torch.float64)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The only one: all rounds."""
        return (Phase("adversarial", self.recipe.rounds),)

    @property
    def _iterations(self) -> int:
        return self.recipe.iterations

    def _initial_weights(self, weights: "dict[str, Tensor]") -> "dict[str, Tensor]":
        import torch

        if self._vectors is None:
            return weights
        return {**weights, FIXED: torch.from_numpy(np.ascontiguousarray(self._vectors, dtype=np.float32))}

    def state(self) -> "dict[str, Tensor]":
        """Return weights and Adam's moments of both sides, and the baseline."""
        return {**super().state(), "baseline": self._baseline}

    def restore(self, tensors: "Mapping[str, Tensor]") -> None:
        """Restore a copy of `state`."""
        super().restore(tensors)
        self._baseline = tensors["baseline"].clone()

    def _step(self, *place: str | int) -> dict[str, float]:
        """Update the discriminator, then the generator.

        ``judge_loss``, before the update, with dropout, without penalty; ``reward``: its mean over all steps;
        ``generator_loss``.
        """
        import torch

        discriminator_loss = self._train_discriminator(*place)
        drawn = self._drawn(*place, "climbed")
        rewards = step_rewards(self.step_logits(drawn))
        returns = returns_of(rewards, discount=self.recipe.discount)
        taken = torch.from_numpy(drawn.taken).to(self._device)
        loss = policy_loss(self.log_probs(drawn), returns - self._baseline.to(returns), taken)
        mean, kept = float(returns.double().mean()), self.recipe.baseline_decay
        self._baseline = kept * self._baseline + (1 - kept) * mean
        reward = float(rewards.double().mean())
        return {
            "judge_loss": discriminator_loss,
            "reward": reward,
            "generator_loss": self.players["generator"].descend(loss),
        }

    def log_probs(self, drawn: Actions) -> "Tensor":
        """Return the log-probability of each action, shape (B, limit), to differentiate; 0 where there is none."""
        return log_probs_of(self._plain, self._weights, drawn)

    def step_logits(self, drawn: Actions) -> "Tensor":
        """Return the discriminator's logit after each step, shape (B, limit), without dropout or gradient."""
        import torch

        with torch.no_grad():
            tokens = torch.from_numpy(drawn.tokens).to(self._device)
            return step_logits(self.players["judge"].weights, self._fixed, tokens)

    def _train_discriminator(self, *place: str | int) -> float:
        import torch

        discriminator, recipe = self.players["judge"], self.recipe
        rng = torch.Generator(self._device).manual_seed(self._key(*place, "dropout"))
        sides = (self._real_batch(*place), self._drawn(*place, "judged"))
        tokens = [torch.from_numpy(side.tokens).to(self._device) for side in sides]
        loss = step_loss(
            *(step_logits(discriminator.weights, self._fixed, rows, dropout=recipe.dropout, rng=rng) for rows in tokens)
        )
        squares = torch.stack([weight.square().sum() for weight in discriminator.weights.values()]).sum()
        discriminator.descend(loss + recipe.penalty * squares)
        return float(loss.detach())
