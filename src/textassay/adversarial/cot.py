"""CoT: a generator and a mediator that learn together, with no pre-training and no REINFORCE.

The mediator learns, by maximum likelihood, from real and drawn sentences, as many of each. Where it has learnt all, it
is the even mixture M of both sides, and the divergence of the generator G from it is one half of Jensen-Shannon's. The
generator descends KL(G || M): along drawn sentences the expectation over the next word is taken exactly.
Beginnings are given, as in the source: that other words make other beginnings likely adds nothing to the gradient.

Source: Lu et al., "CoT: Cooperative Training for Generative Modeling of Discrete Data", ICML 2019.
Departs from it: sentences may end, unless the model has a `length`. How many rounds there are is ours.
"""

from typing import TYPE_CHECKING

import numpy as np

from textassay.adversarial.cot_recipe import CotRecipe
from textassay.adversarial.from_scratch import FromScratch
from textassay.adversarial.player import Player
from textassay.adversarial.roll_outs import Actions
from textassay.adversarial.rounds import Phase
from textassay.corpus import Corpus
from textassay.generator import LanguageModel
from textassay.network import LstmModel, Reader, Weights

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class CoT(FromScratch):
    """Generator and mediator; what `textassay.adversarial.rounds.train_in_rounds` takes. Needs the extra ``neural``."""

    def __init__(
        self,
        model: LstmModel,
        train: Corpus,
        valid: Corpus | None = None,
        *,
        recipe: CotRecipe,
        oracle: LanguageModel | None = None,
        seed: int = 0,
    ) -> None:
        self.mediator = LstmModel(
            recipe.mediator_width,
            layers=recipe.mediator_layers,
            dropout=recipe.mediator_dropout,
            length=model.length,
            batch_size=recipe.batch_size,
        )
        size, n_validation = recipe.batch_size, recipe.n_validation
        super().__init__(
            "cot", model, train, valid, batch_size=size, oracle=oracle, n_validation=n_validation, seed=seed
        )
        import torch

        self.recipe = recipe
        began = self.mediator.new_weights(
            self.mediator.shapes(self._n_types, self.limit), torch.Generator().manual_seed(self._key("mediator"))
        )
        knows = {name: weight.to(self._device).requires_grad_() for name, weight in began.items()}
        betas = (recipe.beta1, recipe.beta2)
        self.players = {
            "generator": Player(self._weights, learning_rate=recipe.learning_rate, betas=betas),
            "mediator": Player(knows, learning_rate=recipe.mediator_learning_rate),
        }

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The only one: all rounds."""
        return (Phase("cooperative", self.recipe.rounds),)

    @property
    def _iterations(self) -> int:
        return self.recipe.iterations

    def _began(self, weights: "dict[str, Tensor]") -> "dict[str, Tensor]":
        return weights

    def _step(self, *place: str | int) -> dict[str, float]:
        """Let the mediator learn, then the generator.

        ``mediator_loss``: nats per token of the mixture, before the update, with dropout; ``generator_loss``: the
        estimate of KL(G || M), in nats per sentence.
        """
        import torch

        real, drawn = self._some_real(*place), self._drawn(*place, "mixed")
        rng = torch.Generator(self._device).manual_seed(self._key(*place, "dropout"))
        mediator, generator = self.players["mediator"], self.players["generator"]
        told = mediator.descend(_likelihood_loss(self.mediator, mediator.weights, real, drawn, rng))
        along = self._drawn(*place, "climbed")
        gaps = divergence(self._plain, generator.weights, self.mediator, mediator.weights, along)
        return {"mediator_loss": told, "generator_loss": generator.descend(gaps.mean())}


def divergence(
    generator: Reader, weights: Weights, mediator: Reader, mediator_weights: Weights, drawn: Actions
) -> "Tensor":
    """Return for each sentence the sum over its beginnings of KL(G || M) of the next word, shape (B,), in nats."""
    import torch

    device = next(iter(weights.values())).device
    taken, inputs = torch.from_numpy(drawn.taken).to(device), torch.from_numpy(drawn.inputs).to(device)
    matrix, bias = generator.output_layer(weights)
    known = bias.isfinite()  # what never comes is nothing to differ in

    def log_probs(vectors: "Tensor", matrix: "Tensor", bias: "Tensor") -> "Tensor":
        return torch.log_softmax(torch.nn.functional.linear(vectors, matrix[known], bias[known]), 1)

    learning = torch.Generator(device)  # a GPU wants to know that there is a way back
    log_g = log_probs(generator.read(weights, inputs, learning)[taken], matrix, bias)
    with torch.no_grad():
        read = mediator.read(mediator_weights, inputs)[taken]
        log_m = log_probs(read, *mediator.output_layer(mediator_weights))
    gaps = (log_g.exp() * (log_g - log_m)).sum(1)
    return torch.zeros(taken.shape, device=device, dtype=gaps.dtype).masked_scatter(taken, gaps).sum(1)


def _likelihood_loss(
    mediator: Reader, weights: Weights, real: Actions, drawn: Actions, rng: "torch.Generator"
) -> "Tensor":
    """Return the mean cross-entropy of the actions of both."""
    import torch

    both = Actions(np.concatenate((real.tokens, drawn.tokens)), np.concatenate((real.lengths, drawn.lengths)))
    taken = torch.from_numpy(both.taken).to(rng.device)
    vectors = mediator.read(weights, torch.from_numpy(both.inputs).to(rng.device), rng)[taken]
    return mediator.loss(weights, vectors, torch.from_numpy(both.tokens).to(rng.device)[taken])
