"""LeakGAN: the discriminator leaks features of a prefix; a manager sets goals in feature space for a worker.

The manager learns goals in the direction in which features move in well-rewarded sentences (38); the worker learns to
move the features in the direction of the goals (40), by the policy gradient. Both learn from real text first, and again
between the rounds: the manager from the features of real sentences (39), the worker by maximum likelihood.

Source: Guo et al., "Long Text Generation via Adversarial Training with Leaked Information", AAAI 2018. Numbers in
brackets are those of Garbacea et al., "Judge the Judges", EMNLP 2019.
Departs from it: sentences may end (the end is an action like any other), unless the model has a `length`; the last
goals of a sentence reach to its end; sums are over the tokens of a sentence and means over sentences; where real text
has no unknown word, none is drawn in the rounds.
"judge" in names of values and settings is the discriminator.
"""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit
from scipy.stats import rankdata
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import PAD, SOS
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import check_train, training_record
from textassay.seeding import stream
from textassay_lab.adversarial.generator_training import GeneratorTraining, Player
from textassay_lab.adversarial.leakgan import LeakGanRecipe
from textassay_lab.adversarial.leakgan_model import LeakGanModel, Reading
from textassay_lab.adversarial.policy_gradient import Actions, log_probs_of, mean_outcomes, policy_loss
from textassay_lab.adversarial.rounds import Phase, mean_values
from textassay_lab.training.backend import single_threaded, training_device
from textassay_lab.training.history import History

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

_TOGETHER = 256  # sentences scored in one block


class LeakGanTraining(GeneratorTraining):
    """The two sides; an `AdversarialTrainer`. Needs the extra ``neural``.

    Where sentences end, one of `max_length` tokens has no end action, in real text, too: the probability of an end
    there is not trained, though it counts in `log_prob`.
    """

    kind = "leakgan"

    def __init__(
        self,
        model: LeakGanModel,
        train: Corpus,
        valid: Corpus | None = None,
        *,
        recipe: LeakGanRecipe,
        seed: int = 0,
    ) -> None:
        check_train(train, generator=model.name)
        super().__init__(model, train, begins_as=model.name, seed=seed)
        self.recipe, self.memory = recipe, model.memory
        rng = torch.Generator().manual_seed(self._key("weights"))
        network = model.begun(len(train.vocabulary), int(train.lengths.max()), rng).to(training_device())
        record = {**training_record(train, train.fingerprint), "history": asdict(History())}
        model.take(network.copied(), vocabulary=train.vocabulary, tokenizer=train.tokenizer, record=record)
        limit = model.limit_for(train, *([] if valid is None else [valid]))
        self.learn_from(network, train, valid, limit=limit)
        self.policy.sharpness = 1.0
        output = stream(self._seed, "judge").normal(0, 0.1, network.features.n_features)
        output_layer = {
            "output": torch.from_numpy(output).float().to(network.device),
            "output bias": torch.zeros(1, device=network.device),
        }
        self._output_layer = {name: weight.requires_grad_() for name, weight in output_layer.items()}
        rate, norm = recipe.learning_rate, recipe.max_norm
        self.manager, self.worker = (
            Player(dict(part.named_parameters()), learning_rate=rate, max_norm=norm)
            for part in (network.manager, network.worker)
        )
        leaked = dict(network.features.named_parameters())
        self.discriminator = Player({**leaked, **self._output_layer}, learning_rate=recipe.discriminator_learning_rate)
        self.players = {"manager": self.manager, "worker": self.worker, "discriminator": self.discriminator}

    @property
    def phases(self) -> tuple[Phase, Phase]:
        """The cycles of both sides, then the rounds."""
        return Phase("pretraining", self.recipe.cycles), Phase("adversarial", self.recipe.rounds)

    @property
    def sampled_network(self) -> Any:
        """The generator at the sharpness of the model."""
        return self.network

    def round(self, phase: str, number: int) -> dict[str, float]:
        """Run a cycle of pre-training, or, in the phase ``adversarial``, a step of the generator and refreshes.

        Values of pre-training: ``agreement`` (mean cosine of the goals with the moves of the features of real
        sentences) and ``mle_loss``, nats per token; of the adversarial phase: ``reward`` (mean probability of being
        real) and ``intrinsic`` (mean reward of the worker). Of both: ``judge_loss`` of the discriminator, and
        ``variety``: distinct bigrams of drawn sentences, over those of as many real sentences.
        """
        recipe = self.recipe
        if phase != "adversarial":
            n = recipe.pretraining_refreshes
            values = self._refreshed((phase, number), (number - 1) * n, n)
            epochs = [self._pass(phase, number, epoch) for epoch in range(recipe.epochs)]
            return values | mean_values(epochs)
        values = self._policy_gradient_step(phase, number)
        if number % recipe.mle_every == 0:
            self._pass(phase, number, 0)
        first = recipe.cycles * recipe.pretraining_refreshes + (number - 1) * recipe.refreshes
        return values | self._refreshed((phase, number), first, recipe.refreshes)

    def read(self, drawn: Actions) -> Reading:
        """Return the generator's `Reading` before the first action of each row and after each of them."""
        rows = np.concatenate((np.full((len(drawn), 1), SOS), drawn.tokens), axis=1)
        tokens = torch.from_numpy(rows).to(self.worker.device)
        reading: Reading = self.policy.reading(tokens, self.policy.begin(len(drawn)))
        return reading

    def rewards(self, drawn: Actions, *, key: int) -> FloatArray:
        """Return the mean probability of being real over roll-outs after each action, shape (B, limit)."""
        n = self.recipe.roll_outs
        return mean_outcomes(self.policy, drawn, self.prob_real, n_roll_outs=n, key=key)

    def prob_real(self, rows: IntArray) -> FloatArray:
        """Return the probability (34) that each row of actions, shape (R, limit), is real, shape (R,)."""

        def score(start: int) -> FloatArray:
            with single_threaded(), torch.no_grad():
                logits = self._logits(rows[start : start + _TOGETHER])
            return np.asarray(expit(logits.cpu().double().numpy()))

        return np.concatenate(parallel_map(score, range(0, len(rows), _TOGETHER)))

    def manager_loss(self, drawn: Actions, reading: Reading, rewards: FloatArray | None = None) -> Tensor:
        """Return minus the agreement of goals with the moves of the features, weighted by rewards; a scalar.

        (38) with `rewards`, of each action, shape (B, limit): a goal has the reward of the last action that it is for.
        (39) without.
        """
        memory = self.memory
        lengths = torch.from_numpy(drawn.lengths).to(self.manager.device)
        agreement = goal_agreement(reading.features.detach(), reading.goals, lengths, memory=memory)
        weights = np.ones(drawn.tokens.shape)
        if rewards is not None:
            last = np.minimum(np.arange(self.limit) + memory, drawn.lengths[:, None]) - 1
            weights = np.take_along_axis(rewards, last, axis=1)
        returns = torch.from_numpy(weights).to(agreement)
        return policy_loss(agreement, returns, torch.from_numpy(drawn.taken).to(self.manager.device))

    def log_probs(self, drawn: Actions, reading: Reading, *, with_unknown: bool = False) -> Tensor:
        """Return the log-probability of each action, shape (B, limit), to differentiate; 0 where there is none.

        That of the policy, or, `with_unknown`, of the model at sharpness 1: it can draw ``<unk>`` even where real text
        has none, so learning from real text must make it unlikely.
        """
        network = self.network if with_unknown else self.policy
        return log_probs_of(network, drawn, reading.vectors[:, :-1])

    def _policy_gradient_step(self, *place: str | int) -> dict[str, float]:
        """Update manager and worker once, from new samples."""
        drawn = self._drawn(self.recipe.batch_size, self._key(*place, "actions"))
        rewards = self.rewards(drawn, key=self._key(*place, "roll-outs"))
        rescaled = rank_rescaled(rewards, drawn.taken, rescaling=self.recipe.rescaling)
        reading = self.read(drawn)
        taken = torch.from_numpy(drawn.taken).to(self.worker.device)
        intrinsic = intrinsic_rewards(reading.features, reading.goals, memory=self.memory).detach()
        worker_loss = policy_loss(self.log_probs(drawn, reading), intrinsic, taken)
        self._learn(self.manager_loss(drawn, reading, rescaled), worker_loss)
        return {
            "reward": float(rewards[np.arange(len(drawn)), drawn.lengths - 1].mean()),
            "intrinsic": float(intrinsic[taken].mean()),
        }

    def _pass(self, *place: str | int) -> dict[str, float]:
        """Train manager and worker for one epoch on real sentences; return means over the tokens."""
        order = stream(self._key(*place, "pass")).permutation(len(self._real))
        n_batches = math.ceil(len(order) / self.recipe.batch_size)
        agreed, lost = 0.0, 0.0
        for rows in np.array_split(order, n_batches):
            real = self._real.take(rows)
            reading = self.read(real)
            manager_loss = self.manager_loss(real, reading)
            worker_loss = -self.log_probs(real, reading, with_unknown=True).sum() / len(rows)
            self._learn(manager_loss, worker_loss)
            agreed -= float(manager_loss.detach()) * len(rows)
            lost += float(worker_loss.detach()) * len(rows)
        n_actions = int(self._real.lengths.sum())
        return {"agreement": agreed / n_actions, "mle_loss": lost / n_actions}

    def _learn(self, manager_loss: Tensor, worker_loss: Tensor) -> None:
        """Update manager and worker, both with gradients at the present weights."""
        for player, loss in ((self.worker, worker_loss), (self.manager, manager_loss)):
            gradients = torch.autograd.grad(loss, list(player.weights.values()), retain_graph=player is self.worker)
            for weight, gradient in zip(player.weights.values(), gradients, strict=True):
                weight.grad = gradient
        self.worker.step()
        self.manager.step()

    def _refreshed(self, place: tuple[str, int], first: int, n: int) -> dict[str, float]:
        """Refresh the discriminator `n` times, after `first` refreshes; return the mean of their values."""
        return mean_values([self._refresh(first + index, self._key(*place, "refresh", index)) for index in range(n)])

    def _refresh(self, number: int, key: int) -> dict[str, float]:
        """Train the discriminator on new samples and as many real sentences."""
        from torch.nn.functional import binary_cross_entropy_with_logits

        recipe = self.recipe

        def loss(real_rows: IntArray, rows: IntArray) -> Tensor:
            logits = self._logits(np.concatenate((self._real.tokens[real_rows], rows)))
            is_real = torch.from_numpy(np.repeat([1.0, 0.0], [len(real_rows), len(rows)])).to(logits)
            penalty = recipe.discriminator_penalty * sum(
                (weight**2).sum() / 2 for weight in self._output_layer.values()
            )
            return binary_cross_entropy_with_logits(logits, is_real) + penalty

        return self.refresh(
            self.discriminator,
            loss,
            self._drawn(recipe.negatives, key),
            epochs=range(number * recipe.discriminator_epochs, (number + 1) * recipe.discriminator_epochs),
            batch_size=recipe.batch_size,
        )

    def _logits(self, rows: IntArray) -> Tensor:
        """Return the discriminator's logit of being real of each row of actions, shape (R,)."""
        drawn = Actions(rows, np.count_nonzero(rows != PAD, axis=1))
        features = self._features(drawn)
        return features @ self._output_layer["output"] + self._output_layer["output bias"]

    def _features(self, drawn: Actions) -> Tensor:
        """Return the features of whole rows, shape (R, F), equal to those of `read` after the last action."""
        recent = self.policy.begin(len(drawn))[0]
        rows = np.concatenate((np.full((len(drawn), 1), SOS), drawn.tokens), axis=1)
        tokens = torch.from_numpy(rows).to(self.discriminator.device)
        pooled = self.network.features.windows(torch.cat((recent, tokens), 1))
        behind = np.arange(rows.shape[1]) > drawn.lengths[:, None]
        hidden = torch.from_numpy(behind).to(self.discriminator.device)[..., None]
        features: Tensor = self.network.features(pooled.masked_fill(hidden, -math.inf).amax(1))
        return features


def rank_rescaled(rewards: FloatArray, taken: BoolArray, *, rescaling: float) -> FloatArray:
    """Return rewards by their rank in the batch: sigmoid(`rescaling` x (0.5 - rank / n)), the highest has rank 1.

    `rewards`: of each action, shape (B, T); `taken`: where there are actions, shape (B, T): n of them at a time.
    """
    rescaled = np.zeros(rewards.shape)
    for column in range(rewards.shape[1]):
        rows = taken[:, column]
        ranks = rankdata(-rewards[rows, column])
        rescaled[rows, column] = expit(rescaling * (0.5 - ranks / max(int(rows.sum()), 1)))
    return rescaled


def intrinsic_rewards(features: Tensor, goals: Tensor, *, memory: int) -> Tensor:
    """Return the agreement of each token with the last `memory` goals, shape (B, T), in [-1, 1].

    (40): the mean of cos(f_t - f_(t-i), g_(t-i)) over i from 1 to `memory`; terms before the first token are 0.

    `features`, `goals`: before the first token and after each of T, shape (B, T + 1, F).
    """
    total = features.new_zeros(features.shape[0], features.shape[1] - 1)
    for back in range(1, min(memory, total.shape[1]) + 1):
        moved = features[:, back:] - features[:, :-back]
        total[:, back - 1 :] += torch.cosine_similarity(moved, goals[:, :-back], dim=-1)
    return (total / memory).clamp(-1, 1)  # rounding


def goal_agreement(features: Tensor, goals: Tensor, lengths: Tensor, *, memory: int) -> Tensor:
    """Return the cosine of each goal with the move of the features over the next `memory` tokens, shape (B, T).

    `features`, `goals`: before the first token and after each of T, shape (B, T + 1, F); `lengths`: tokens of each
    sentence, (B,): where fewer follow, over these.
    """
    places = torch.arange(features.shape[1] - 1, device=features.device)
    later = torch.minimum(places + memory, lengths[:, None])  # (batch, T)
    reached = features.gather(1, later[..., None].expand(-1, -1, features.shape[2]))
    return torch.cosine_similarity(reached - features[:, :-1], goals[:, :-1], dim=-1)
