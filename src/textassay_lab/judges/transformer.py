"""A small transformer that tells real from generated sentences, from scratch or pre-trained as a language model.

Pre-training predicts each next word of both sides' training sentences, without saying which side they are from; the
same layers then learn to tell the sides apart. Attention looks back only, so that both tasks read a sentence alike.

Sources: Vaswani et al., "Attention Is All You Need", NeurIPS 2017; Radford et al., "Improving Language Understanding by
Generative Pre-Training", 2018.
Departs from them: layer norms stand before the layers, and the mean, the maximum and the last vector are read.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textassay.discriminator.base import setting
from textassay_lab.judges.network import Sentences, WordNetworkDiscriminator, WordRows, seeded
from textassay_lab.training.loop import train
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor

    from textassay_lab.judges.networks import TransformerNetwork


CLASSIFYING = Recipe(max_epochs=6, learning_rate=1e-3, averaging=0.99, max_norm=1.0)
PRETRAINING = Recipe(max_epochs=4, learning_rate=2e-3, schedule="linear", max_norm=1.0)

_WIDTH = 64
_LAYERS = 2
_HEADS = 4
_MLP_RATIO = 4
_DROPOUT = 0.1


@dataclass(eq=False, kw_only=True)
class TransformerDiscriminator(WordNetworkDiscriminator):
    """Small transformer; needs the extra ``neural``."""

    pretraining: Recipe | None = setting(None, "how it learns to predict words first; not at all where None")
    recipe: Recipe = CLASSIFYING

    @property
    def name(self) -> str:
        return "transformer" if self.pretraining is None else "transformer-pretrained"

    @property
    def network(self) -> str:
        """The layers, and how they are pre-trained."""
        before = self.pretraining
        pretrained = "" if before is None else f", {before.max_epochs} epochs of words at {before.learning_rate:g}"
        return f"{_WIDTH}-d, {_LAYERS} layers of {_HEADS} heads, dropout {_DROPOUT}{pretrained}"

    def new_network(self, encoder: WordRows) -> "TransformerNetwork":
        from textassay_lab.judges.networks import TransformerNetwork

        return TransformerNetwork(
            encoder.n_rows, width=_WIDTH, layers=_LAYERS, heads=_HEADS, mlp_ratio=_MLP_RATIO, dropout=_DROPOUT
        )

    def pretrain(self, network: Any, sides: tuple[Sentences, Sentences], seed: int) -> dict[str, Any]:
        """Teach the layers to predict words, for as many epochs as asked; the last is kept."""
        if self.pretraining is None:
            return {}

        def loss(rows: "tuple[Any, Any]", rng: Any) -> "Tensor":
            chosen = Sentences.concatenate([side.take(part) for side, part in zip(sides, rows, strict=True)])
            words: Tensor = network.word_loss(chosen, rng)
            return words

        n_scored = 0

        def score() -> float:
            nonlocal n_scored
            n_scored += 1
            return n_scored

        weights = network.named_parameters()
        pretrained = {name: weight for name, weight in weights if not name.startswith("head")}
        batches = seeded(len(sides[0]), len(sides[1]), self.batch_size, seed)
        history = train(pretrained, batches=batches, loss=loss, score=score, recipe=self.pretraining, seed=seed)
        return {"pretraining_losses": [epoch.loss for epoch in history.epochs]}
