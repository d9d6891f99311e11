"""The next word after many prefixes of equal length, for any language model, in memory that does not grow with them.

Networks read sequences in batches (`BatchReader`). Other models give rows of log-probabilities; prefixes that agree in
their last `reach` tokens, where a model has a `reach`, share one row.
"""

from typing import TYPE_CHECKING, Literal, Protocol, TypeGuard, get_args

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, UNK, Vocabulary
from textassay.errors import InputError, unknown_name
from textassay.ngram.language_model import LanguageModel

if TYPE_CHECKING:
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

Ends = Literal["excluded", "absorbing"]


def check_ends(ends: str) -> None:
    """Raise unless `ends` is one of the ways to treat the end of a sentence."""
    if ends not in get_args(Ends):
        raise unknown_name("treatment of ends", ends, get_args(Ends))


def model_vocabulary(model: LanguageModel) -> Vocabulary:
    """Return the vocabulary of a fitted model; raise `InputError` where it has none."""
    vocabulary = getattr(model, "vocabulary", None)
    if not isinstance(vocabulary, Vocabulary):
        raise InputError(f"{model.name} has no vocabulary")
    return vocabulary


def as_corpus(rows: IntArray, vocabulary: Vocabulary, tokenizer: str = "whitespace") -> Corpus:
    """Return rows of ids, shape (N, l), as a corpus whose texts are empty; a row stops before its first ``<eos>``."""
    inside = np.logical_and.accumulate(rows != EOS, axis=1) if rows.shape[1] else np.ones(rows.shape, dtype=np.bool_)
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(inside.sum(axis=1))))
    return Corpus(rows[inside].astype(np.int32), offsets, vocabulary, ("",) * len(rows), tokenizer=tokenizer)


def next_rows(
    model: LanguageModel, prefixes: IntArray, *, ends: Ends, temperature: float = 1.0
) -> tuple[FloatArray, IntArray]:
    """Return log-probabilities of the next token, (U, V), and which of these rows belongs to each prefix, (N,).

    `prefixes`: ids of its vocabulary, shape (N, l); `ends`: ``excluded``: as `without_ends`; else as the model has
    them.
    """
    ended = (prefixes == EOS).any(axis=1)
    if ended.any():
        scores, of_others = next_rows(model, prefixes[~ended], ends=ends, temperature=temperature)
        nothing_else = np.full((1, scores.shape[1]), -np.inf)
        nothing_else[0, EOS] = 0.0
        which = np.full(len(prefixes), len(scores), dtype=np.int64)
        which[~ended] = of_others
        return np.concatenate((scores, nothing_else)), which
    vocabulary = model_vocabulary(model)
    if len(prefixes) == 0:
        return np.empty((0, len(vocabulary))), np.empty(0, dtype=np.int64)
    reach = min(getattr(model, "reach", prefixes.shape[1]), prefixes.shape[1])
    kept = prefixes[:, prefixes.shape[1] - reach :]
    if reach == 0:
        first, which = np.zeros(1, dtype=np.int64), np.zeros(len(prefixes), dtype=np.int64)
    else:
        _, first, which = np.unique(kept, axis=0, return_index=True, return_inverse=True)
    corpus = as_corpus(prefixes[first], vocabulary, getattr(model, "tokenizer", "whitespace"))
    rows = model.next_log_probs(corpus, temperature=temperature)
    return without_ends(rows) if ends == "excluded" else rows, which.reshape(-1)


def without_ends(rows: FloatArray) -> FloatArray:
    """Return log-probabilities, (N, V), given that the sentence goes on; NaN where it cannot."""
    kept = rows.copy()
    kept[:, :UNK] = -np.inf
    top = kept.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(kept - (top + np.log(np.exp(kept - top).sum(axis=1, keepdims=True))), dtype=np.float64)


TokenArray = npt.NDArray[np.int32]


class BatchReader(Protocol):
    """A fitted language model that reads whole sequences and draws ones of a given length."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Vocabulary of the training text."""
        ...

    def next_vectors(self, tokens: IntArray) -> "Tensor":
        """Return the hidden state after the first 0 to L tokens of each row (B, L), shape (B, L + 1, width)."""
        ...

    def next_logits(self, vectors: "Tensor") -> "Tensor":
        """Return the logits of the next token for hidden states (R, width), shape (R, V), float32; -inf: never."""
        ...

    def continued(
        self, prefixes: IntArray, n_tokens: int, *, seed: int, temperature: float = 1.0, ends: bool = False
    ) -> tuple[TokenArray, IntArray]:
        """Return prefixes (N, l), each continued by up to `n_tokens` drawn tokens, concatenated, and lengths, (N,).

        Sentences may end early only with `ends`; else all have l + `n_tokens` tokens. From empty prefixes, with
        `ends`, the draws are the beginnings of those of `sample` with the same seed.
        """
        ...


def reads_in_batches(model: object) -> TypeGuard[BatchReader]:
    """Return whether `model` is a network that reads sequences in batches."""
    return all(hasattr(model, name) for name in ("next_vectors", "next_logits", "continued"))
