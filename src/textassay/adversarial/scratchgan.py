"""ScratchGAN: a generator trained against a discriminator alone, with no maximum-likelihood pre-training.

The discriminator scores every prefix of a sentence; the generator follows the policy gradient of the discounted return
less a moving-average baseline (REINFORCE), in large batches.

Source: de Masson d'Autume, Mohamed, Rosca, Rae, "Training Language GANs from Scratch", NeurIPS 2019, and its public
code.
Departs from it: a sentence ends with ``<eos>``; as there, padding is scored and rewarded up to the longest sentence
(else sentences with low rewards would gain by ending early), but nothing is drawn in it. The loss of the generator is
the mean over sentences, not over their steps, to which Adam is invariant.
"judge" in names of values and settings is the discriminator.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.adversarial.from_scratch import FromScratch
from textassay.adversarial.player import Player
from textassay.adversarial.policy_gradient import Actions, log_probs_of, policy_loss
from textassay.adversarial.rounds import Phase
from textassay.adversarial.scratchgan_recipe import ScratchGanRecipe
from textassay.corpus import Corpus
from textassay.errors import InputError
from textassay.generator import LanguageModel

if TYPE_CHECKING:
    from torch import Tensor

    from textassay.generator import TiedLstm


class ScratchGan(FromScratch):
    """Both sides; an `AdversarialTrainer`. Needs the extra ``neural``.

    `vectors`: fixed embeddings, such as GloVe, shape (V, `TiedLstm.fixed`), finite.
    """

    kind = "scratchgan"

    def __init__(
        self,
        model: "TiedLstm",
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
        import torch

        from textassay.adversarial.scratchgan_discriminator import StepDiscriminator
        from textassay.generator import begun

        self._vectors, self.recipe = vectors, recipe
        size, n_validation = recipe.batch_size, recipe.n_validation
        super().__init__(model, train, valid, batch_size=size, oracle=oracle, n_validation=n_validation, seed=seed)
        self._fixed = self.network.fixed.weight.detach() if model.fixed else None
        sizes = {"dimension": recipe.dimension, "fixed": model.fixed, "width": recipe.width}
        rng = torch.Generator().manual_seed(self._key("judge"))
        self.discriminator = begun(lambda: StepDiscriminator(self._n_types, **sizes), rng).to(self._device)
        trainable = {name: weight for name, weight in self.network.named_parameters() if not name.startswith("fixed.")}
        betas = (recipe.beta1, recipe.beta2)
        weights, rate = dict(self.discriminator.named_parameters()), recipe.judge_learning_rate
        self.players = {
            "generator": Player(trainable, learning_rate=recipe.learning_rate, betas=betas),
            "discriminator": Player(weights, learning_rate=rate, betas=betas),
        }
        self._baseline = torch.zeros((), dtype=torch.float64)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The only one: all rounds."""
        return (Phase("adversarial", self.recipe.rounds),)

    @property
    def _iterations(self) -> int:
        return self.recipe.iterations

    def _prepare(self, network: Any) -> None:
        import torch

        if self._vectors is not None:
            network.fixed.weight.copy_(torch.from_numpy(np.ascontiguousarray(self._vectors, dtype=np.float32)))

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
        drawn = self._batch(*place, "climbed")
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
        return log_probs_of(self.network, drawn)

    def step_logits(self, drawn: Actions) -> "Tensor":
        """Return the discriminator's logit after each step, shape (B, limit), without dropout or gradient."""
        import torch

        with torch.no_grad():
            tokens = torch.from_numpy(drawn.tokens).to(self._device)
            logits: Tensor = self.discriminator(tokens, self._fixed)
        return logits

    def _train_discriminator(self, *place: str | int) -> float:
        import torch

        recipe, player = self.recipe, self.players["discriminator"]
        rng = torch.Generator(self._device).manual_seed(self._key(*place, "dropout"))
        sides = (self._real_batch(*place), self._batch(*place, "judged"))
        tokens = [torch.from_numpy(side.tokens).to(self._device) for side in sides]
        loss = step_loss(*(self.discriminator(rows, self._fixed, dropout=recipe.dropout, rng=rng) for rows in tokens))
        squares = torch.stack([weight.square().sum() for weight in player.weights.values()]).sum()
        player.descend(loss + recipe.penalty * squares)
        return float(loss.detach())


def step_loss(real: "Tensor", drawn: "Tensor") -> "Tensor":
    """Return the cross-entropy of all steps, given logits (B, L): the mean over real and that over drawn, averaged."""
    import torch

    softplus = torch.nn.functional.softplus
    return (softplus(-real).mean() + softplus(drawn).mean()) / 2


def step_rewards(logits: "Tensor") -> "Tensor":
    """Return 2 sigmoid(logit) - 1 of each step, in (-1, 1)."""
    return 2 * logits.sigmoid() - 1


def returns_of(rewards: "Tensor", *, discount: float) -> "Tensor":
    """Return R_t = sum over s >= t of discount^(s - t) r_s of each step, shape (B, L)."""
    import torch

    returns, after = [], rewards.new_zeros(len(rewards))
    for reward in reversed(rewards.unbind(1)):
        after = reward + discount * after
        returns.append(after)
    return torch.stack(returns[::-1], 1)
