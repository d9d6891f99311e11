"""A GAN through Gumbel-softmax: gradients of the discriminator reach the generator through its draws.

The argmax of log-probabilities plus Gumbel noise is an exact draw. In its place gradients see a softmax, close to
one-hot where the temperature is low. The generator, an LSTM after maximum likelihood, reads its own draws; the
discriminator, that of ScratchGAN, says after each token how real the sentence is so far. Temperatures fall from round
to round.

Sources: Jang, Gu, Poole, "Categorical Reparameterization with Gumbel-Softmax"; Maddison, Mnih, Teh, "The Concrete
Distribution: A Continuous Relaxation of Discrete Random Variables", both ICLR 2017; (19) to (22) of Garbacea et al.,
"Judge the Judges", EMNLP 2019; Kusner, Hernandez-Lobato, "GANs for Sequences of Discrete Elements with the
Gumbel-softmax Distribution", 2016 (the GAN).
Departs from the last: the generator begins with maximum likelihood, and the forward pass has the draws themselves, not
their relaxation (straight-through), so that the discriminator cannot tell real text by its being one-hot.
"""

import numpy as np
import torch
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.errors import OptionError
from textassay.ngram.language_model import LanguageModel, check_train
from textassay_lab.adversarial.generator_training import GeneratorTraining
from textassay_lab.adversarial.player import Player
from textassay_lab.adversarial.policy_gradient import variety
from textassay_lab.adversarial.recipes import GumbelGanRecipe
from textassay_lab.adversarial.rounds import Phase, mean_values
from textassay_lab.adversarial.scratchgan import StepDiscriminator, step_loss
from textassay_lab.generator.lstm import LstmModel
from textassay_lab.generator.module import begun


class GumbelGan(GeneratorTraining):
    """The two sides; an `AdversarialTrainer`. Needs the extra ``neural``.

    Where sentences end, one of `max_length` tokens has no end action, in real text, too.
    """

    kind = "gumbelgan"

    def __init__(
        self,
        model: LstmModel,
        train: Corpus,
        valid: Corpus | None = None,
        *,
        recipe: GumbelGanRecipe,
        oracle: LanguageModel | None = None,
        seed: int = 0,
    ) -> None:
        check_train(train, generator=model.name)
        super().__init__(
            model, train, begins_as=model.digest, oracle=oracle, n_validation=recipe.n_validation, seed=seed
        )
        self.recipe = recipe
        limit = model.limit_for(train, *([] if valid is None else [valid]))
        self.learn_from(model.module.copied().requires_grad_(), train, valid, limit=limit)
        device, n_types = self.network.device, len(model.vocabulary)
        sizes = {"dimension": recipe.dimension, "fixed": 0, "width": recipe.width}
        rng = torch.Generator().manual_seed(self._key("discriminator"))
        self.discriminator = begun(lambda: StepDiscriminator(n_types, **sizes), rng).to(device)
        weights = dict(self.network.named_parameters()), dict(self.discriminator.named_parameters())
        self.players = {
            "generator": Player(weights[0], learning_rate=recipe.learning_rate, max_norm=recipe.max_norm),
            "discriminator": Player(weights[1], learning_rate=recipe.judge_learning_rate),
        }

    @property
    def phases(self) -> tuple[Phase, Phase]:
        """The rounds of the discriminator alone, then those of both."""
        return Phase("discriminator", self.recipe.pretraining_rounds, False), Phase("adversarial", self.recipe.rounds)

    def round(self, phase: str, number: int) -> dict[str, float]:
        """Update the discriminator and, in the phase ``adversarial``, the generator, `iterations` times.

        ``judge_loss`` of the discriminator, before each update; ``generator_loss``; ``variety``: distinct bigrams of
        drawn sentences, over those of as many real sentences.
        """
        recipe, is_adversarial = self.recipe, phase == "adversarial"
        passed = (number - 1) / max(recipe.rounds - 1, 1) if is_adversarial else 0.0
        temperature = annealed(recipe.temperature, recipe.last_temperature, passed)
        steps = []
        for step in range(recipe.iterations):
            values = {"judge_loss": self._train_discriminator(temperature, phase, number, step)}
            if is_adversarial:
                rows = self.relaxed(recipe.batch_size, temperature, key=self._key(phase, number, step, "climbed"))
                values["generator_loss"] = self.players["generator"].descend(self.generator_loss(rows))
            steps.append(values)
        drawn = self._drawn(recipe.batch_size, self._key(phase, number, "variety"))
        return {**mean_values(steps), "variety": variety(drawn, self._real)}

    def relaxed(self, n: int, temperature: float, *, key: int) -> Tensor:
        """Return `n` drawn sentences as one-hot rows, (n, limit, V), with the gradients of their relaxation."""
        policy = self.policy
        rng = torch.Generator(policy.device).manual_seed(key)
        table = policy.embedding.weight
        padding = torch.zeros(len(table), device=table.device)
        padding[PAD] = 1.0
        goes_on = torch.ones(n, 1, dtype=torch.bool, device=table.device)
        state, vectors, rows = policy.begin(n), table[SOS].expand(n, -1), []
        for _ in range(self.limit):
            hidden, state = policy.run_vectors(vectors[:, None], state, None)
            logits = policy.logits(hidden[:, 0])
            drawn = gumbel_softmax(logits, gumbel_noise(logits, rng), temperature, straight_through=True)
            rows.append(torch.where(goes_on, drawn, padding))
            goes_on = goes_on & (rows[-1].argmax(1, keepdim=True) != EOS)
            vectors = drawn @ table
        return torch.stack(rows, 1)

    def generator_loss(self, rows: Tensor) -> Tensor:
        """Return -E log D of drawn rows, (B, limit, V), over all steps, a scalar (the loss that does not saturate)."""
        return torch.nn.functional.softplus(-self.discriminator(rows)).mean()

    def _train_discriminator(self, temperature: float, *place: str | int) -> float:
        """Update the discriminator on as many real as drawn sentences; return its loss before."""
        recipe, device = self.recipe, self.network.device
        chosen = np.random.default_rng(self._key(*place, "real")).integers(len(self._real), size=recipe.batch_size)
        real = torch.from_numpy(self._real.tokens[chosen]).to(device)
        with torch.no_grad():
            drawn = self.relaxed(recipe.batch_size, temperature, key=self._key(*place, "judged"))
        rng = torch.Generator(device).manual_seed(self._key(*place, "dropout"))
        logits = [self.discriminator(rows, dropout=recipe.dropout, rng=rng) for rows in (real, drawn)]
        return self.players["discriminator"].descend(step_loss(*logits))


def gumbel_noise(like: Tensor, rng: torch.Generator) -> Tensor:
    """Return Gumbel noise of the shape, precision and device of `like`: ``-log(-log(U))``, U uniform in (0, 1)."""
    uniform = torch.rand(like.shape, generator=rng, dtype=torch.float64, device=like.device)
    tiny = torch.finfo(torch.float64).tiny  # float32 would cut the upper tail at 16.6
    return (-(-uniform.clamp(min=tiny).log()).log()).to(like.dtype)


def gumbel_max(log_weights: Tensor, noise: Tensor) -> Tensor:
    """Return draws from the distributions in proportion to exp(`log_weights`), (..., V), as ids, shape (...)."""
    return (log_weights + noise).argmax(-1)


def gumbel_softmax(log_weights: Tensor, noise: Tensor, temperature: float, *, straight_through: bool = False) -> Tensor:
    """Return relaxed draws, rows of positive numbers that sum to 1, shape (..., V).

    `log_weights`: up to a constant a row, shape (..., V); `noise`: `gumbel_noise` of the same shape.
    """
    if not 0 < temperature < float("inf"):
        raise OptionError(f"temperature must be above 0, got {temperature}")
    relaxed = torch.softmax((log_weights + noise) / temperature, -1)
    if not straight_through:
        return relaxed
    chosen = torch.nn.functional.one_hot(relaxed.argmax(-1), relaxed.shape[-1]).to(relaxed.dtype)
    return chosen + (relaxed - relaxed.detach())


def annealed(first: float, last: float, passed: float) -> float:
    """Return the temperature when the share `passed`, in [0, 1], of training is over.

    It goes from `first` to `last`, both above 0, by the same factor in equal times.
    """
    if not (0 < first < float("inf") and 0 < last < float("inf")):
        raise OptionError(f"temperatures must be above 0, got {first} and {last}")
    if not 0 <= passed <= 1:
        raise OptionError(f"passed must be in [0, 1], got {passed}")
    return float(first * (last / first) ** passed)
