"""CoT: a generator and a mediator trained cooperatively, with no pre-training and no REINFORCE.

The mediator learns, by maximum likelihood, from as many real as drawn sentences. Its optimum is the even mixture M of
both sides; the KL divergence of the generator G from it is one half of the Jensen-Shannon divergence. The generator
descends KL(G || M): along drawn sentences the expectation over the next word is exact. As in the source, prefixes are
treated as constants.

Source: Lu et al., "CoT: Cooperative Training for Generative Modeling of Discrete Data", ICML 2019.
Departs from it: sentences may end, unless the model has a `length`. How many rounds there are is ours.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.ngram.language_model import LanguageModel
from textassay_lab.adversarial.cot import CotRecipe
from textassay_lab.adversarial.generator_training import FromScratch, Player
from textassay_lab.adversarial.policy_gradient import Actions
from textassay_lab.adversarial.rounds import Phase
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.module import SentenceNetwork


class CotTraining(FromScratch):
    """Generator and mediator; an `AdversarialTrainer`. Needs the extra ``neural``."""

    kind = "cot"

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
        self.recipe = recipe
        size, n_validation = recipe.batch_size, recipe.validation_samples
        super().__init__(model, train, valid, batch_size=size, oracle=oracle, n_validation=n_validation, seed=seed)
        rng = torch.Generator().manual_seed(self._key("mediator"))
        sizes: dict[str, Any] = {
            "layers": recipe.mediator_layers,
            "dropout": recipe.mediator_dropout,
            "length": model.length,
        }
        mediator = LstmModel(recipe.mediator_width, **sizes).begun(self._n_types, self.limit, rng)
        self.mediator: SentenceNetwork = mediator.to(self._device)
        betas = (recipe.beta1, recipe.beta2)
        rates = {"generator": recipe.learning_rate, "mediator": recipe.mediator_learning_rate}
        self.players = {
            "generator": Player(dict(self.network.named_parameters()), learning_rate=rates["generator"], betas=betas),
            "mediator": Player(dict(self.mediator.named_parameters()), learning_rate=rates["mediator"]),
        }

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The only one: all rounds."""
        return (Phase("cooperative", self.recipe.rounds),)

    @property
    def _iterations(self) -> int:
        return self.recipe.iterations

    def _step(self, *place: str | int) -> dict[str, float]:
        """Update the mediator, then the generator.

        ``mediator_loss``: nats per token of the mixture, before the update, with dropout; ``generator_loss``: the
        estimate of KL(G || M), in nats per sentence.
        """
        real, drawn = self._real_batch(*place), self._batch(*place, "mixed")
        rng = torch.Generator(self._device).manual_seed(self._key(*place, "dropout"))
        mediator, generator = self.players["mediator"], self.players["generator"]
        mediator_loss = mediator.descend(_likelihood_loss(self.mediator, real, drawn, rng))
        sample = self._batch(*place, "climbed")
        gaps = divergence(self.network, self.mediator, sample)
        return {"mediator_loss": mediator_loss, "generator_loss": generator.descend(gaps.mean())}


def divergence(generator: SentenceNetwork, mediator: SentenceNetwork, drawn: Actions) -> Tensor:
    """Return for each sentence the sum over its prefixes of KL(G || M) of the next word, shape (B,), in nats."""
    device = generator.device
    taken, inputs = torch.from_numpy(drawn.taken).to(device), torch.from_numpy(drawn.inputs).to(device)
    matrix, bias = generator.output_layer()
    known = bias.isfinite()  # excluded types have no divergence

    def log_probs(vectors: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
        return torch.log_softmax(torch.nn.functional.linear(vectors, matrix[known], bias[known]), 1)

    log_g = log_probs(generator(inputs)[taken], matrix, bias)
    with torch.no_grad():
        log_m = log_probs(mediator(inputs)[taken], *mediator.output_layer())
    gaps = (log_g.exp() * (log_g - log_m)).sum(1)
    return torch.zeros(taken.shape, device=device, dtype=gaps.dtype).masked_scatter(taken, gaps).sum(1)


def _likelihood_loss(mediator: SentenceNetwork, real: Actions, drawn: Actions, rng: torch.Generator) -> Tensor:
    """Return the mean cross-entropy of the actions of both."""
    both = Actions(np.concatenate((real.tokens, drawn.tokens)), np.concatenate((real.lengths, drawn.lengths)))
    taken = torch.from_numpy(both.taken).to(rng.device)
    vectors = mediator(torch.from_numpy(both.inputs).to(rng.device), rng)[taken]
    return mediator.cross_entropy(vectors, torch.from_numpy(both.tokens).to(rng.device)[taken])
