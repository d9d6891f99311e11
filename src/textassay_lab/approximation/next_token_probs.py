"""Next-token probabilities of a language model at all positions of many rows of reference text at once.

Rows are ids of the model's vocabulary. Networks read them in one pass, other models position by position.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.corpus.encoding import EOS
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import LanguageModel
from textassay_lab.generator.next_words import BatchReader, Ends, model_vocabulary, next_rows, reads_in_batches
from textassay_lab.generator.scoring import log_probs_of
from textassay_lab.training.backend import single_threaded

if TYPE_CHECKING:
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_TOKENS = 1 << 14  # read together
_LOGITS = 1 << 22  # held at once


def reference_log_probs(model: LanguageModel, windows: IntArray, *, ends: Ends, skipped: int = 0) -> FloatArray:
    """Return the log-probability of each token of each window given those before it, in nats, shape (B, T - skipped).

    `windows`: ids of the model's vocabulary without ends of texts, shape (B, T). `ends`: ``excluded`` gives the
    probability of the end to the other tokens, ``absorbing`` leaves it as the model has it. -inf for a token that the
    model never draws.
    """
    length = windows.shape[1]
    log_probs = np.empty((len(windows), length - skipped))
    if reads_in_batches(model):
        rows = max(1, _TOKENS // length)
        starts = range(0, len(windows), rows)

        def read(start: int) -> None:
            part = windows[start : start + rows]
            log_probs[start : start + rows] = _read(model, part, ends, skipped)

        parallel_map(read, starts)
        return log_probs
    step = max(1, _LOGITS // len(model_vocabulary(model)))
    for start in range(0, len(windows), step):
        part = windows[start : start + step]
        for position in range(skipped, length):
            scores, which = next_rows(model, part[:, :position], ends=ends)
            log_probs[start : start + step, position - skipped] = scores[which, part[:, position]]
    return log_probs


def next_token_probs(model: LanguageModel, windows: IntArray, *, ends: Ends) -> FloatArray:
    """Return the distribution of the next token after the first 0 to T - 1 tokens of each window, shape (B, T, V).

    Parameters are those of `reference_log_probs`; after the end of a row padded with ``<eos>`` the distribution is
    undefined. The whole array is in memory: keep B small.
    """
    length = windows.shape[1]
    if not reads_in_batches(model):
        probs = np.empty((*windows.shape, len(model_vocabulary(model))))
        for position in range(length):
            scores, which = next_rows(model, windows[:, :position], ends=ends)
            probs[:, position] = np.exp(scores)[which]
        return probs
    import torch

    with single_threaded(), torch.no_grad():
        vectors = model.next_vectors(windows[:, :-1])
        logits = _logits(model, vectors.reshape(-1, vectors.shape[-1]), ends).double()
        flat_probs: FloatArray = torch.softmax(logits, 1).cpu().numpy()
        return flat_probs.reshape(len(windows), length, -1)


def _read(model: BatchReader, windows: IntArray, ends: Ends, skipped: int) -> FloatArray:
    import torch

    with single_threaded(), torch.no_grad():
        vectors = model.next_vectors(windows[:, :-1])[:, skipped:]
        flat = vectors.reshape(-1, vectors.shape[-1])
        token_ids = torch.from_numpy(windows[:, skipped:].reshape(-1).copy()).to(flat.device)
        step = max(1, _LOGITS // len(model.vocabulary))
        blocks = zip(torch.split(flat, step), torch.split(token_ids, step), strict=True)
        scores = torch.cat([log_probs_of(_logits(model, part, ends), hits) for part, hits in blocks])
    return np.asarray(scores.cpu().numpy().reshape(len(windows), -1), dtype=np.float64)


def _logits(model: BatchReader, vectors: "Tensor", ends: Ends) -> "Tensor":
    """Return a copy of the logits, shape (R, V), that the caller may change."""
    logits = model.next_logits(vectors).clone()
    if ends == "excluded":
        logits[:, EOS] = -np.inf
    return logits
