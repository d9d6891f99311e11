"""ScratchGAN: a generator trained against a discriminator alone, with no maximum-likelihood pre-training.

The discriminator scores every prefix of a sentence; the generator follows the policy gradient of the discounted return
less a moving-average baseline (REINFORCE), in large batches.

The generator is an LSTM with tied embeddings (Press, Wolf, "Using the Output Embedding to Improve Language Models",
EACL 2017): learnt dimensions joined to fixed ones (such as GloVe). The output of the last layer, projected to that
space, is multiplied with all embeddings.

The discriminator is an LSTM with layer normalisation (Ba, Kiros, Hinton, 2016; all four gates together) that reads
embeddings: learnt, fixed, and positional, as cosines.

Source: de Masson d'Autume, Mohamed, Rosca, Rae, "Training Language GANs from Scratch", NeurIPS 2019, and its public
code.
Departs from it: a sentence ends with ``<eos>``; as there, padding is scored and rewarded up to the longest sentence
(else sentences with low rewards would gain by ending early), but nothing is drawn in it. The loss of the generator is
the mean over sentences, not over their steps, to which Adam is invariant.
"judge" in names of values and settings is the discriminator.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError
from textassay.ngram.language_model import LanguageModel
from textassay_lab.adversarial.generator_training import FromScratch, Player
from textassay_lab.adversarial.policy_gradient import Actions, log_probs_of, policy_loss
from textassay_lab.adversarial.rounds import Phase
from textassay_lab.adversarial.scratchgan import ScratchGanRecipe, TiedLstmSettings
from textassay_lab.generator.lstm_model import LstmModel, LstmNetwork
from textassay_lab.generator.module import Network, State, begun, dropped

POSITIONS = 8  # dimensions of the position encoding
_LONGEST_WAVE = 10_000.0  # steps of the slowest cosine; the fastest has one radian a step
_FORGET_BIAS = 1.0


class TiedLstmNetwork(LstmNetwork):
    """An LSTM whose output layer has the embeddings."""

    def add_head(self, n_types: int) -> None:
        """Add the projection to the space of the embeddings, and the bias of the output layer."""
        size = self.layers[0].weight_ih.shape[1]
        self.projection = nn.Linear(self.width, size, bias=False)
        self.head = nn.ParameterDict({"bias": torch.empty(n_types)})
        fixed = size - self.embedding.embedding_dim
        self.fixed: Any = nn.Embedding(n_types, fixed) if fixed else None

    def embedded(self, tokens: Tensor) -> Tensor:
        return nn.functional.embedding(tokens, self._joined())

    def run_vectors(self, vectors: Tensor, state: State, rng: torch.Generator | None) -> tuple[Tensor, State]:
        vectors, state = super().run_vectors(vectors, state, rng)
        return vectors @ self.projection.weight.to(vectors.dtype).T, state

    def output(self) -> tuple[Tensor, Tensor | None]:
        return self._joined(), self.head["bias"]

    def _joined(self) -> Tensor:
        """Return the embeddings, shape (V, dimension + fixed): learnt, then fixed dimensions."""
        learnt = self.embedding.weight
        return learnt if self.fixed is None else torch.cat((learnt, self.fixed.weight), 1)


class TiedLstm(TiedLstmSettings, LstmModel):
    """LSTM language model with tied embeddings; a `LanguageModel`. Needs the extra ``neural``."""

    kind = "tied-lstm"

    @property
    def _title(self) -> str:
        common = super()._title.removeprefix("lstm(").removesuffix(")")
        common = common.replace(f", embedding={self.embedding_width}", "")
        fixed = f", fixed={self.fixed_width}" if self.fixed_width else ""
        return f"{self.kind}({common}, dimension={self.embedding_width}{fixed})"

    def new_module(self, n_types: int, longest: int) -> TiedLstmNetwork:
        return TiedLstmNetwork(n_types, **self.network_settings, embedding=(self.embedding_width, self.fixed_width))


class StepDiscriminator(Network):
    """The network; the embedding has `dimension` learnt dimensions, then `fixed` given ones."""

    def __init__(self, n_types: int, *, dimension: int, fixed: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(n_types, dimension)
        self.input = nn.Linear(dimension + fixed + POSITIONS, 4 * width, bias=False)
        self.state = nn.Linear(width, 4 * width, bias=False)
        self.head = nn.Linear(width, 1)
        self.norm = nn.LayerNorm(4 * width)

    def initialise(self, rng: torch.Generator) -> None:
        width = self.state.in_features
        roots = {self.words: 3 / self.words.embedding_dim, self.input: 3 / self.input.in_features}
        for layer in (self.words, self.input, self.state, self.head):
            spread = math.sqrt(roots.get(layer, 1 / width))
            layer.weight.uniform_(-spread, spread, generator=rng)
        self.head.bias.zero_()
        self.norm.weight.fill_(1.0)
        self.norm.bias.zero_()
        self.norm.bias[width : 2 * width] = _FORGET_BIAS

    def forward(
        self, tokens: Tensor, fixed: Tensor | None = None, *, dropout: float = 0.0, rng: torch.Generator | None = None
    ) -> Tensor:
        """Return the logit, after each token, that the sentence is real, shape (B, L).

        `tokens`: rows of ids, shape (B, L), ``<pad>`` behind their ends; `fixed`: fixed embeddings, shape (V, fixed).
        """
        table = self.words.weight if fixed is None else torch.cat((self.words.weight, fixed), 1)
        vectors = nn.functional.embedding(tokens, table)
        places = _positions(tokens.shape[1], vectors.device).expand(len(tokens), -1, -1)
        inputs = self.input(dropped(torch.cat((vectors, places), 2), dropout, rng))  # (B, L, 4 x width)
        state = cell = inputs.new_zeros(len(tokens), self.state.in_features)
        states = []
        for part in inputs.unbind(1):
            input_gate, forget_gate, new, output_gate = self.norm(part + self.state(state)).chunk(4, 1)
            cell = torch.sigmoid(forget_gate) * cell + torch.sigmoid(input_gate) * torch.tanh(new)
            state = torch.sigmoid(output_gate) * torch.tanh(cell)
            states.append(state)
        logits: Tensor = self.head(dropped(torch.stack(states, 1), dropout, rng))[:, :, 0]
        return logits


class ScratchGanTraining(FromScratch):
    """Both sides; an `AdversarialTrainer`. Needs the extra ``neural``.

    `vectors`: fixed embeddings, such as GloVe, shape (V, `TiedLstm.fixed_width`), finite.
    """

    kind = "scratchgan"

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
            expected = (len(train.vocabulary), model.fixed_width)
            if vectors.shape != expected:
                raise InputError(f"vectors must have shape {expected}, got {vectors.shape}")
            if not np.isfinite(vectors).all():
                raise InputError("vectors must be finite")
        self._vectors, self.recipe = vectors, recipe
        size, n_validation = recipe.batch_size, recipe.validation_samples
        super().__init__(model, train, valid, batch_size=size, oracle=oracle, n_validation=n_validation, seed=seed)
        self._fixed = self.network.fixed.weight.detach() if model.fixed_width else None
        sizes = {
            "dimension": recipe.discriminator_embedding_width,
            "fixed": model.fixed_width,
            "width": recipe.discriminator_width,
        }
        rng = torch.Generator().manual_seed(self._key("judge"))
        self.discriminator = begun(lambda: StepDiscriminator(self._n_types, **sizes), rng).to(self._device)
        trainable = {name: weight for name, weight in self.network.named_parameters() if not name.startswith("fixed.")}
        betas = (recipe.beta1, recipe.beta2)
        weights, rate = dict(self.discriminator.named_parameters()), recipe.discriminator_learning_rate
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
        if self._vectors is not None:
            network.fixed.weight.copy_(torch.from_numpy(np.ascontiguousarray(self._vectors, dtype=np.float32)))

    def state(self) -> dict[str, Tensor]:
        """Return weights and Adam's moments of both sides, and the baseline."""
        return {**super().state(), "baseline": self._baseline}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        super().restore(tensors)
        self._baseline = tensors["baseline"].clone()

    def _step(self, *place: str | int) -> dict[str, float]:
        """Update the discriminator, then the generator.

        ``judge_loss``, before the update, with dropout, without penalty; ``reward``: its mean over all steps;
        ``generator_loss``.
        """
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

    def log_probs(self, drawn: Actions) -> Tensor:
        """Return the log-probability of each action, shape (B, limit), to differentiate; 0 where there is none."""
        return log_probs_of(self.network, drawn)

    def step_logits(self, drawn: Actions) -> Tensor:
        """Return the discriminator's logit after each step, shape (B, limit), without dropout or gradient."""
        with torch.no_grad():
            tokens = torch.from_numpy(drawn.tokens).to(self._device)
            logits: Tensor = self.discriminator(tokens, self._fixed)
        return logits

    def _train_discriminator(self, *place: str | int) -> float:
        recipe, player = self.recipe, self.players["discriminator"]
        rng = torch.Generator(self._device).manual_seed(self._key(*place, "dropout"))
        sides = (self._real_batch(*place), self._batch(*place, "judged"))
        tokens = [torch.from_numpy(side.tokens).to(self._device) for side in sides]
        loss = step_loss(
            *(self.discriminator(rows, self._fixed, dropout=recipe.discriminator_dropout, rng=rng) for rows in tokens)
        )
        squares = torch.stack([weight.square().sum() for weight in player.weights.values()]).sum()
        player.descend(loss + recipe.discriminator_penalty * squares)
        return float(loss.detach())


def step_loss(real: Tensor, drawn: Tensor) -> Tensor:
    """Return the cross-entropy of all steps, given logits (B, L): the mean over real and that over drawn, averaged."""
    softplus = torch.nn.functional.softplus
    return (softplus(-real).mean() + softplus(drawn).mean()) / 2


def step_rewards(logits: Tensor) -> Tensor:
    """Return 2 sigmoid(logit) - 1 of each step, in (-1, 1)."""
    return 2 * logits.sigmoid() - 1


def returns_of(rewards: Tensor, *, discount: float) -> Tensor:
    """Return R_t = sum over s >= t of discount^(s - t) r_s of each step, shape (B, L)."""
    returns, after = [], rewards.new_zeros(len(rewards))
    for reward in reversed(rewards.unbind(1)):
        after = reward + discount * after
        returns.append(after)
    return torch.stack(returns[::-1], 1)


def _positions(length: int, device: torch.device) -> Tensor:
    """Return cosines of each position, shape (L, POSITIONS), from one radian a step to the longest wave."""
    exponents = torch.arange(POSITIONS, device=device) / (POSITIONS - 1)
    return torch.cos(torch.arange(length, device=device)[:, None] * _LONGEST_WAVE**-exponents)
