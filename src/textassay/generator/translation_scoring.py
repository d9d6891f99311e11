"""Loss and log-probabilities of translations under an encoder-decoder network.

Pairs of similar length share a batch; padding changes the result by rounding at most.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.corpus import PAD, ParallelText
from textassay.execution import parallel_map
from textassay.generator.reader import Weights
from textassay.generator.scoring import log_probs_of
from textassay.generator.translation_batches import PairBatch, pair_batch
from textassay.generator.translation_network import TranslationNetwork
from textassay.training import single_threaded

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_TOGETHER = 128  # pairs scored at once


def pair_loss(network: TranslationNetwork, weights: Weights, batch: PairBatch, rng: "torch.Generator") -> "Tensor":
    """Return the mean loss of the targets, a scalar to differentiate; dropout from `rng`."""
    import torch

    inside = batch.targets != PAD
    vectors = _vectors(network, weights, batch, rng)[torch.from_numpy(inside).to(rng.device)]
    return network.loss(weights, vectors, torch.from_numpy(batch.targets[inside]).to(rng.device))


def pair_scores(
    network: TranslationNetwork, weights: Weights, pairs: ParallelText, temperature: float = 1.0
) -> FloatArray:
    """Return the log-probability of each token and each end of the translations, shape (T + N,)."""
    import torch

    target = pairs.target
    order = np.lexsort((pairs.source.lengths, target.lengths))
    scores = np.empty(len(target.tokens) + len(pairs))

    def score(rows: IntArray) -> None:
        batch = pair_batch(pairs, rows)
        inside = batch.targets != PAD
        with single_threaded(), torch.no_grad():
            vectors = _vectors(network, weights, batch, None)
            kept = vectors[torch.from_numpy(inside).to(vectors.device)]
            wanted = torch.from_numpy(batch.targets[inside]).to(vectors.device)
            log_probs = log_probs_of(network.logits(weights, kept) / temperature, wanted).cpu().numpy()
        places = (target.offsets[rows] + rows)[:, None] + np.arange(inside.shape[1])
        scores[places[inside]] = log_probs

    parallel_map(score, [order[start : start + _TOGETHER] for start in range(0, len(order), _TOGETHER)])
    return scores


def prefix_scores(
    network: TranslationNetwork, weights: Weights, pairs: ParallelText, positions: IntArray
) -> npt.NDArray[np.float32]:
    """Return the logits of the next token after the first tokens of each target, shape (B, n, V).

    `positions`: how many tokens are read, shape (B, n) or (n,), at least 0.
    """
    import torch

    rows = np.arange(len(pairs))
    shape = (len(pairs), positions.shape[-1])
    places = np.broadcast_to(np.minimum(positions, pairs.target.lengths[:, None]), shape)
    with single_threaded(), torch.no_grad():
        vectors = _vectors(network, weights, pair_batch(pairs, rows), None)
        wanted = vectors[rows[:, None], torch.from_numpy(places.copy()).to(vectors.device)]
        logits = network.logits(weights, wanted.flatten(0, 1)).cpu().numpy()
    return np.asarray(logits.reshape(*shape, -1), dtype=np.float32)


def _vectors(
    network: TranslationNetwork, weights: Weights, batch: PairBatch, rng: "torch.Generator | None"
) -> "Tensor":
    """Return the decoder's hidden state after each token of the translations, shape (B, L + 1, width)."""
    import torch

    device = next(iter(weights.values())).device
    source, inputs = (torch.from_numpy(table).to(device) for table in (batch.source, batch.inputs))
    return network.decode(weights, source, network.encode(weights, source, rng), inputs, rng)
