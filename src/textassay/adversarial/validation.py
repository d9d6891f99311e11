"""Validation of a generator in training: nats per token of held-out text, and of its samples under an oracle."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.generator import LanguageModel, NetworkLanguageModel, Weights, token_scores

VALID = "valid_nll_per_token"  # of validation text under the generator
ORACLE = "oracle_nll_per_token"  # of samples under the oracle


def validated(
    model: NetworkLanguageModel,
    weights: Weights,
    valid: tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]] | None,
    *,
    oracle: LanguageModel | None = None,
    draw: Callable[[], Corpus] | None = None,
) -> dict[str, float]:
    """Return `VALID` and `ORACLE`, in nats per token, where there is validation text or an oracle.

    `valid`: tokens as ids of `model`, shape (T,), and offsets, (N + 1,).
    """
    values = {}
    if valid is not None:
        tokens, offsets = valid
        n_scored = len(tokens) + (len(offsets) - 1 if model.draws_ends else 0)
        values[VALID] = -float(token_scores(model, weights, tokens, offsets, 1.0).sum()) / n_scored
    if oracle is not None and draw is not None:
        drawn = draw()
        values[ORACLE] = -float(oracle.log_prob(drawn).sum()) / max(len(drawn.tokens), 1)
    return values
