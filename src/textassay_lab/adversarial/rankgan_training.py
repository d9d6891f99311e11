"""RankGAN: SeqGAN whose reward of a token is the mean log-rank, log R, of its roll-outs among human sentences.

The similarity of s to a human sentence u is alpha(s|u) = cos(y_s, y_u), where y are the features before the output
layer of SeqGAN's convolutional discriminator. In a comparison set C, P(s|u, C) = exp(gamma alpha(s|u)) / sum of the
same over C and s; the rank is R(s|U, C), the mean of P over the reference set U of human text.

Source: Lin et al., "Adversarial Ranking for Language Generation", NeurIPS 2017, equations 1 to 5.
Departs from their public code, which sums cosines over U before the softmax, and takes log R of generated sentences
with the opposite sign where the paper has log(1 - R), and rewards R: here it is as in the paper.
Reference and comparison sets are drawn anew for each batch and each step, the comparison set as large as a side of a
batch; no reference is a sentence of the batch where there is enough text.
"""

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import LanguageModel
from textassay.seeding import stream
from textassay_lab.adversarial.policy_gradient import Scorer
from textassay_lab.adversarial.rankgan import RankGanRecipe
from textassay_lab.adversarial.seqgan_training import SeqGanTraining, sentences_of
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.judges.networks import CnnNetwork
from textassay_lab.training.backend import single_threaded

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_TOGETHER = 2048  # sentences ranked in one block


class RankGanTraining(SeqGanTraining):
    """The two sides; see `SeqGan`. Needs the extra ``neural``.

    In the values of `round`, ``reward`` is the mean log R of the drawn sentences, in nats, and ``judge_loss`` the
    ranker's loss.
    """

    system = "rankgan"

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

    def _new_judge(self, *, has_output: bool = False) -> CnnNetwork:
        return super()._new_judge(has_output=has_output)

    def _discriminator_loss(self, real_rows: IntArray, drawn: IntArray, rng: torch.Generator) -> Tensor:
        key = int(torch.randint(2**62, (1,), generator=rng, device=rng.device))
        return ranker_loss(
            self.judge,
            self._real.tokens[real_rows],
            drawn,
            self._real.tokens[self._references(np.random.default_rng(key), real_rows)],
            rng,
            gamma=self._ranking.gamma,
        )

    def _scorer(self, key: int) -> Scorer:
        real, rng = self._real.tokens, stream(key, "ranked beside")
        beside = rng.choice(len(real), size=min(len(real), self._ranking.adversarial_batch_size // 2), replace=False)
        references, compared = real[self._references(rng, beside)], real[beside]

        def score(rows: IntArray) -> FloatArray:
            return log_rank_of(self.judge, rows, references, compared, gamma=self._ranking.gamma)

        return score

    def _references(self, rng: np.random.Generator, beside: IntArray) -> IntArray:
        """Return the numbers of the real sentences of U: none of `beside`, unless there are no others."""
        n = self._ranking.references
        candidates = rng.choice(len(self._real), size=min(len(self._real), n + len(beside)), replace=False)
        others = candidates[~np.isin(candidates, beside)]
        return np.asarray((others if len(others) else candidates)[:n])


def features(judge: CnnNetwork, rows: IntArray, rng: torch.Generator | None = None) -> Tensor:
    """Return y of each row of ids, padded, shape (N, limit), as (N, filters); dropout is drawn from `rng`."""
    return judge.features(sentences_of(rows), rng)


def log_ranks(ranked: Tensor, references: Tensor, compared: Tensor, *, gamma: float) -> tuple[Tensor, Tensor]:
    """Return log R and log(1 - R) of each sentence, in nats, shapes (N,).

    `ranked`, `references`, `compared`: features of the sentences to rank, of U and of C, shapes (N, F), (K, F), (M, F).
    """
    from torch.nn.functional import normalize

    human = normalize(references, dim=1).T  # (f, k)
    mine = gamma * (normalize(ranked, dim=1) @ human)  # (n, k)
    others = torch.logsumexp(gamma * (normalize(compared, dim=1) @ human), dim=0)  # (k,)
    all_of_them = torch.logaddexp(mine, others)
    log_n = math.log(len(references))
    log_rank = torch.logsumexp(mine - all_of_them, dim=1) - log_n
    log_rest = torch.logsumexp(others - all_of_them, dim=1) - log_n
    return log_rank, log_rest


def ranker_loss(
    judge: CnnNetwork,
    real: IntArray,
    drawn: IntArray,
    references: IntArray,
    rng: torch.Generator,
    *,
    gamma: float,
) -> Tensor:
    """Return the ranker's loss, -E log R(real | U, drawn) - E log(1 - R(drawn | U, real)), a scalar.

    `real`, `drawn`: rows of ids, padded, shapes (N, limit) and (M, limit); `references`: U, shape (K, limit).
    """
    both = features(judge, np.concatenate((real, drawn, references)), rng)
    y_real, y_drawn, y_references = torch.split(both, [len(real), len(drawn), len(references)])
    ranks_of_real, _ = log_ranks(y_real, y_references, y_drawn, gamma=gamma)
    _, rest_of_drawn = log_ranks(y_drawn, y_references, y_real, gamma=gamma)
    return -ranks_of_real.mean() - rest_of_drawn.mean()


def log_rank_of(
    judge: CnnNetwork, rows: IntArray, references: IntArray, compared: IntArray, *, gamma: float
) -> FloatArray:
    """Return log R of each row of ids, shape (R, limit), among `compared`, in nats, shape (R,), without gradient."""
    with torch.no_grad():
        y_references, y_compared = features(judge, references), features(judge, compared)

    def rank(start: int) -> FloatArray:
        with single_threaded(), torch.no_grad():
            y = features(judge, rows[start : start + _TOGETHER])
            log_rank, _ = log_ranks(y, y_references, y_compared, gamma=gamma)
            return np.asarray(log_rank.cpu().double().numpy())

    return np.concatenate(parallel_map(rank, range(0, len(rows), _TOGETHER)))
