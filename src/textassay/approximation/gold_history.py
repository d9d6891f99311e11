"""What a language model says of each next token of a gold text, at all positions of many rows at once.

Rows are ids of the model's vocabulary. Networks read them in one pass; other models are asked position by position.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.corpus import EOS
from textassay.execution import parallel_map
from textassay.generator import Ends, LanguageModel, model_vocabulary, next_rows
from textassay.network import BatchReader, log_probs_of, reads_in_batches
from textassay.training import single_threaded

if TYPE_CHECKING:
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_TOKENS = 1 << 14  # read together
_LOGITS = 1 << 22  # looked at together


def gold_log_probs(model: LanguageModel, windows: IntArray, *, ends: Ends, skipped: int = 0) -> FloatArray:
    """Return the log-probability of each token of each window given those before it, in nats, float64.

    `windows`: ids of its vocabulary without ends of sentences, shape (B, T); `ends`: ``excluded``: the other tokens
    share the probability of the end; ``absorbing``: as the model has them.

    Shape (B, T - skipped); -inf for a token that never comes.
    """
    length = windows.shape[1]
    found = np.empty((len(windows), length - skipped))
    if reads_in_batches(model):
        rows = max(1, _TOKENS // length)
        starts = range(0, len(windows), rows)

        def read(start: int) -> None:
            part = windows[start : start + rows]
            found[start : start + rows] = _read(model, part, ends, skipped)

        parallel_map(read, starts)
        return found
    step = max(1, _LOGITS // len(model_vocabulary(model)))
    for start in range(0, len(windows), step):
        part = windows[start : start + step]
        for position in range(skipped, length):
            scores, which = next_rows(model, part[:, :position], ends=ends)
            found[start : start + step, position - skipped] = scores[which, part[:, position]]
    return found


def next_probs(model: LanguageModel, windows: IntArray, *, ends: Ends) -> FloatArray:
    """Return the distribution of the next token after the first 0 to T - 1 tokens of each window, shape (B, T, V).

    Parameters are those of `gold_log_probs`; rows padded with ``<eos>`` have any distribution behind their end. All of
    it is in memory at once: keep B small.
    """
    length = windows.shape[1]
    if not reads_in_batches(model):
        found = np.empty((*windows.shape, len(model_vocabulary(model))))
        for position in range(length):
            scores, which = next_rows(model, windows[:, :position], ends=ends)
            found[:, position] = np.exp(scores)[which]
        return found
    import torch

    with single_threaded(), torch.no_grad():
        vectors = model.next_vectors(windows[:, :-1])
        logits = _logits(model, vectors.reshape(-1, vectors.shape[-1]), ends).double()
        probs: FloatArray = torch.softmax(logits, 1).cpu().numpy()
    return probs.reshape(len(windows), length, -1)


def _read(model: BatchReader, windows: IntArray, ends: Ends, skipped: int) -> FloatArray:
    import torch

    with single_threaded(), torch.no_grad():
        vectors = model.next_vectors(windows[:, :-1])[:, skipped:]
        flat = vectors.reshape(-1, vectors.shape[-1])
        wanted = torch.from_numpy(windows[:, skipped:].reshape(-1).copy()).to(flat.device)
        step = max(1, _LOGITS // len(model.vocabulary))
        parts = zip(torch.split(flat, step), torch.split(wanted, step), strict=True)
        scores = torch.cat([log_probs_of(_logits(model, part, ends), hits) for part, hits in parts])
    return np.asarray(scores.cpu().numpy().reshape(len(windows), -1), dtype=np.float64)


def _logits(model: BatchReader, vectors: "Tensor", ends: Ends) -> "Tensor":
    """Return logits, (R, V), that may be changed."""
    logits = model.next_logits(vectors).clone()
    if ends == "excluded":
        logits[:, EOS] = -np.inf
    return logits
