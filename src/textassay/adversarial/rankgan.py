"""RankGAN: SeqGAN with a ranker in place of the discriminator.

The reward of a token is the mean log-rank, log R, of its roll-outs among human sentences; see
`textassay.adversarial.ranker`. Everything else is SeqGAN's.

Source: Lin et al., "Adversarial Ranking for Language Generation", NeurIPS 2017.
Departs from it: reference and comparison sets are drawn anew for each batch and each step, the comparison set as large
as a side of a batch; no reference is a sentence of the batch where there is enough text. Their public code rewards R,
not log R.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.adversarial.ranker import log_rank_of, ranker_loss, without_output
from textassay.adversarial.rankgan_recipe import RankGanRecipe
from textassay.adversarial.roll_outs import Scorer
from textassay.adversarial.seqgan import SeqGan
from textassay.corpus import Corpus
from textassay.generator import LanguageModel, LstmModel
from textassay.seeding import stream

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class RankGan(SeqGan):
    """The two sides; see `SeqGan`. Needs the extra ``neural``.

    In the values of `round`, ``reward`` is the mean log R of the drawn sentences, in nats, and ``judge_loss`` the
    ranker's loss.
    """

    def __init__(
        self,
        model: LstmModel,
        train: Corpus,
        valid: Corpus | None = None,
        *,
        recipe: RankGanRecipe,
        oracle: LanguageModel | None = None,
        seed: int = 0,
    ) -> None:
        self._ranking = recipe
        super().__init__(model, train, valid, recipe=recipe, oracle=oracle, seed=seed)

    def _new_discriminator(self) -> "dict[str, Tensor]":
        return without_output(super()._new_discriminator())

    def _discriminator_loss(self, real_rows: IntArray, drawn: IntArray, rng: "torch.Generator") -> "Tensor":
        import torch

        key = int(torch.randint(2**62, (1,), generator=rng, device=rng.device))
        return ranker_loss(
            self.discriminator.weights,
            self._real.tokens[real_rows],
            drawn,
            self._real.tokens[self._references(np.random.default_rng(key), real_rows)],
            rng,
            gamma=self._ranking.gamma,
            dropout=self._ranking.dropout,
        )

    def _scorer(self, key: int) -> Scorer:
        real, rng = self._real.tokens, stream(key, "ranked beside")
        beside = rng.choice(len(real), size=min(len(real), self._ranking.batch_size // 2), replace=False)
        references, compared = real[self._references(rng, beside)], real[beside]

        def score(rows: IntArray) -> FloatArray:
            return log_rank_of(self.discriminator.weights, rows, references, compared, gamma=self._ranking.gamma)

        return score

    def _references(self, rng: np.random.Generator, beside: IntArray) -> IntArray:
        """Return the numbers of the real sentences of U: none of `beside`, unless there are no others."""
        n = self._ranking.n_references
        candidates = rng.choice(len(self._real), size=min(len(self._real), n + len(beside)), replace=False)
        others = candidates[~np.isin(candidates, beside)]
        return np.asarray((others if len(others) else candidates)[:n])
