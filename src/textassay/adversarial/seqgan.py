"""SeqGAN: a language model that learns, after maximum likelihood, to write what a discriminator takes for real.

A sentence is a row of actions; each is rewarded by the mean probability of being real of the sentences that the policy
goes on to write after it (roll-outs). The generator climbs the policy gradient of that reward; the discriminator is
refreshed with what the generator then writes. What draws is an `LstmModel`; "MLE SeqGAN" is the one before the rounds.

Source: Yu et al., "SeqGAN: Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017.
Departs from it: sentences may end (the end is an action like any other), unless the model has a `length`; the loss is
the mean over sentences, not the sum, which Adam does not see but for where the gradient is clipped; the policy of
roll-outs follows the generator in all its weights, after each round; where real text has no unknown word, none is drawn
in the rounds.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.adversarial.player import Player, part_of
from textassay.adversarial.policy_gradient import leave_one_out, policy_loss
from textassay.adversarial.roll_outs import Actions, Judge, draw_actions, mean_outcomes
from textassay.adversarial.seqgan_recipe import SeqGanRecipe
from textassay.adversarial.sequence_cnn import fitting_filters, judge_loss, new_judge, prob_real
from textassay.corpus.corpus import Corpus
from textassay.corpus.vocabulary import UNK
from textassay.discriminator.network import seeded
from textassay.errors import InputError
from textassay.generator.base import LanguageModel, check_train, drawn_corpus, tokens_in
from textassay.network.lstm import LstmModel
from textassay.network.scoring import token_scores
from textassay.seeding import stream

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["ORACLE", "VALID", "SeqGan"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

VALID = "valid_nll_per_token"  # what validation says: of validation text under the generator
ORACLE = "oracle_nll_per_token"  # of what the generator draws under the oracle


class _Policy(LstmModel):
    """The generator as it draws in the rounds: without dropout, and without ``<unk>`` where real text has none."""

    knows_all = False

    def output_layer(self, weights: "Mapping[str, Tensor]") -> "tuple[Tensor, Tensor]":
        matrix, bias = super().output_layer(weights)
        if self.knows_all:
            bias[UNK] = -math.inf
        return matrix, bias


class SeqGan:
    """The two sides; what `textassay.adversarial.rounds.train_in_rounds` takes. Needs the extra ``neural``.

    Parameters
    ----------
    model
        Fitted to `train`; it is left as it is until `finish`.
    train
        Real sentences that the discriminator learns from, at least one.
    valid
        Real sentences that validation asks the generator about; may be none.
    recipe
        How to train; its numbers of rounds are for who calls `round`.
    oracle
        A model over the same words that validation asks about what the generator draws; may be none.
    seed
        With the text and the model, decides everything random.

    Raises
    ------
    EmptyCorpusError
        If `train` has no sentence.
    InputError
        If a sentence is longer than the model writes, or it has no limit.
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
        self._policy.knows_all = UNK not in tokens_in(model.vocabulary, train, generator=model.name)
        limit = model.max_length
        longest = max(int(train.lengths.max()), 0 if valid is None else int(valid.lengths.max(initial=0)))
        if limit is None or longest > limit:
            raise InputError(f"{model.name} writes at most {limit} tokens, but real sentences have up to {longest}")
        self.limit: int = limit
        self._seed = int(stream(seed, "seqgan", model.digest, train.fingerprint).integers(2**62))
        self._real = Actions.of_text(
            tokens_in(model.vocabulary, train, generator=model.name), train.offsets, self.limit
        )
        self._real_pairs = _n_pairs(self._real.take(np.arange(min(len(train), recipe.n_negatives))))
        self._valid = None
        if valid is not None:
            self._valid = (tokens_in(model.vocabulary, valid, generator=model.name), valid.offsets)
        weights = {name: weight.detach().clone().requires_grad_() for name, weight in model.weights.items()}
        self._roll_outs = {name: weight.detach().clone() for name, weight in weights.items()}
        self.generator = Player(weights, learning_rate=recipe.learning_rate, max_norm=recipe.max_norm)
        self.judge = Player(self._new_judge(), learning_rate=recipe.judge_learning_rate)

    def state(self) -> "dict[str, Tensor]":
        """Return both sides and the policy of roll-outs."""
        return {
            **{f"generator/{name}": tensor for name, tensor in self.generator.tensors().items()},
            **{f"judge/{name}": tensor for name, tensor in self.judge.tensors().items()},
            **{f"roll-outs/{name}": tensor for name, tensor in self._roll_outs.items()},
        }

    def restore(self, tensors: "Mapping[str, Tensor]") -> None:
        """Take back what `state` returned."""
        self.generator.restore(part_of(tensors, "generator"))
        self.judge.restore(part_of(tensors, "judge"))
        for name, tensor in part_of(tensors, "roll-outs").items():
            self._roll_outs[name].copy_(tensor)

    def round(self, phase: str, number: int) -> dict[str, float]:
        """Refresh the discriminator; in the phase ``adversarial``, let the generator take its steps before that.

        Returns
        -------
        dict
            ``reward`` (mean probability of being real) and ``generator_loss`` of the steps; ``judge_loss`` of the
            refreshes, before each batch was learnt from; ``variety``: different pairs of neighbouring tokens that the
            generator wrote, over those in as many real sentences.
        """
        recipe = self.recipe
        if phase != "adversarial":
            return self._refreshed((phase, number), number - 1, 1)
        rewards, losses = [], []
        for step in range(recipe.generator_steps):
            reward, loss = self._climb(phase, number, step)
            rewards.append(reward)
            losses.append(loss)
        self._follow()
        told = {"reward": float(np.mean(rewards)), "generator_loss": float(np.mean(losses))}
        first = recipe.pretraining_rounds + (number - 1) * recipe.refreshes
        return told | self._refreshed((phase, number), first, recipe.refreshes)

    def validate(self) -> dict[str, float]:
        """Return the nats per token of the validation text, and those that the oracle gives to draws; each if there."""
        told = {}
        if self._valid is not None:
            tokens, offsets = self._valid
            n_scored = len(tokens) + (0 if self.model.length is not None else len(offsets) - 1)
            told[VALID] = (
                -float(token_scores(self.model, self.generator.weights, tokens, offsets, 1.0).sum()) / n_scored
            )
        if self.oracle is not None:
            drawn = self.sample(self.recipe.n_validation, seed=self._key("oracle"))
            told[ORACLE] = -float(self.oracle.log_prob(drawn).sum()) / max(len(drawn.tokens), 1)
        return told

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences that the generator draws as it is now."""
        key = int(stream(seed, "seqgan sample").integers(2**62))
        tokens, offsets = self._drawn(n, key).sentences()
        return drawn_corpus(tokens, offsets, vocabulary=self.model.vocabulary, tokenizer=self.model.tokenizer)

    def finish(self, record: Mapping[str, Any]) -> None:
        """Let the model be what the generator is now; `record`, JSON-ready, says in its record how it got there."""
        arrays = {name: weight.detach().cpu().numpy() for name, weight in self.generator.weights.items()}
        self.model.restore(
            arrays,
            vocabulary=self.model.vocabulary,
            tokenizer=self.model.tokenizer,
            record={**self.model.record, "adversarial": dict(record)},
        )

    def rewards(self, drawn: Actions, *, key: int) -> FloatArray:
        """Return the reward of each action, before any baseline, shape (B, limit); 0 where there is none."""
        found = mean_outcomes(
            self._policy, self._roll_outs, drawn, self._judge_at(key), n_roll_outs=self.recipe.n_roll_outs, key=key
        )
        to_come = drawn.lengths[:, None] - 1 - np.arange(self.limit)
        return np.where(drawn.taken, found * self.recipe.discount ** np.maximum(to_come, 0), 0.0)

    def log_probs(self, drawn: Actions) -> "Tensor":
        """Return the log-probability of each action, shape (B, limit), to differentiate; 0 where there is none."""
        import torch

        weights, device = self.generator.weights, self.generator.device
        taken = torch.from_numpy(drawn.taken).to(device)
        learning = torch.Generator(device)  # nothing is drawn from it: a GPU wants to know that there is a way back
        vectors = self._policy.read(weights, torch.from_numpy(drawn.inputs).to(device), learning)[taken]
        wanted = torch.from_numpy(drawn.tokens).to(device)[taken]
        logits = self._policy.logits(weights, vectors)
        found = -torch.nn.functional.cross_entropy(logits, wanted, reduction="none")
        return torch.zeros(taken.shape, device=device).masked_scatter(taken, found)

    def _climb(self, *place: str | int) -> tuple[float, float]:
        """Take a step up the policy gradient; return the mean reward of whole sentences and the loss."""
        import torch

        drawn = self._drawn(self.recipe.batch_size, self._key(*place, "actions"))
        rewards = self.rewards(drawn, key=self._key(*place, "roll-outs"))
        whole = rewards[np.arange(len(drawn)), drawn.lengths - 1]
        taken = torch.from_numpy(drawn.taken).to(self.generator.device)
        returns = torch.from_numpy(rewards).to(self.generator.device)
        if self.recipe.baseline == "leave-one-out":
            returns = returns - leave_one_out(returns, taken)
        loss = self.generator.descend(policy_loss(self.log_probs(drawn), returns.float(), taken))
        return float(whole.mean()), loss

    def _follow(self) -> None:
        """Let the policy of roll-outs follow the generator."""
        for name, weight in self.generator.weights.items():
            self._roll_outs[name].lerp_(weight.detach(), 1 - self.recipe.roll_out_averaging)

    def _refreshed(self, place: tuple[str, int], first: int, n: int) -> dict[str, float]:
        """Refresh the discriminator `n` times, after `first` refreshes; return the mean of what each told."""
        told = [self._refresh(first + index, self._key(*place, "refresh", index)) for index in range(n)]
        return {name: float(np.mean([each[name] for each in told])) for name in (told[0] if told else {})}

    def _refresh(self, number: int, key: int) -> dict[str, float]:
        """Let the discriminator learn from what the generator draws now, and as many real sentences."""
        import torch

        recipe = self.recipe
        drawn = self._drawn(recipe.n_negatives, key)
        batches = seeded(len(drawn), len(self._real), recipe.batch_size, self._key("order"))
        rng = torch.Generator(self.judge.device).manual_seed(key)
        losses = []
        for epoch in range(number * recipe.epochs, (number + 1) * recipe.epochs):
            for rows, real_rows in batches(epoch):
                losses.append(self.judge.descend(self._judge_loss(real_rows, drawn.tokens[rows], rng)))
        variety = _n_pairs(drawn.take(np.arange(min(len(drawn), len(self._real))))) / max(self._real_pairs, 1)
        return {"judge_loss": float(np.mean(losses)), "variety": variety}

    def _drawn(self, n: int, key: int) -> Actions:
        return draw_actions(self._policy, self.generator.weights, n, limit=self.limit, key=key)

    def _new_judge(self) -> "dict[str, Tensor]":
        return new_judge(
            len(self.model.vocabulary),
            dimension=self.recipe.dimension,
            filters=fitting_filters(self.recipe.filters, self.limit),
            seed=self._key("judge"),
            device=self.generator.device,
        )

    def _judge_loss(self, real_rows: IntArray, drawn: IntArray, rng: "torch.Generator") -> "Tensor":
        """Return what the discriminator descends, of real sentences by number and of drawn ones."""
        real = self._real.tokens[real_rows]
        return judge_loss(self.judge.weights, real, drawn, rng, dropout=self.recipe.dropout)

    def _judge_at(self, key: int) -> Judge:
        """Return what rewards the sentences of a step; `key` decides what is random in it."""
        return self._judged

    def _judged(self, rows: IntArray) -> FloatArray:
        return prob_real(self.judge.weights, rows)

    def _key(self, *place: str | int) -> int:
        return int(stream(self._seed, *place).integers(2**62))


def _n_pairs(drawn: Actions) -> int:
    """Return how many different pairs of neighbouring actions there are."""
    both = drawn.taken[:, 1:]
    pairs = np.stack((drawn.tokens[:, :-1][both], drawn.tokens[:, 1:][both]))
    return len(np.unique(pairs[0] << 32 | pairs[1]))
