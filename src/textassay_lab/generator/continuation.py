"""Continuing many prefixes at once with any language model.

All sequences have the same number of tokens. With ``excluded`` a sentence never ends: the other words share the
probability of the end. With ``absorbing`` the end is a word like any other, and only ends follow it.
Excluding ends is not the same as drawing whole sentences and keeping the long ones, unless the model was trained on
text without ends, such as `textassay_lab.generator.prefixes.blocks`.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.encoding import EOS, UNK
from textassay.errors import InputError, OptionError
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import LanguageModel, check_sample
from textassay.seeding import stream, uniforms
from textassay_lab.generator.batch_reader import reads_in_batches
from textassay_lab.generator.next_words import Ends, check_ends, model_vocabulary, next_rows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_NUMBERS = 1 << 22  # log-probabilities looked at together, 32 MB


def continue_prefixes(
    model: LanguageModel,
    prefixes: IntArray,
    n_tokens: int,
    *,
    seed: int,
    temperature: float = 1.0,
    ends: Ends = "excluded",
) -> IntArray:
    """Return `prefixes` with `n_tokens` more tokens each, drawn from the model.

    `prefixes`: ids of the model's vocabulary, shape (N, l); l may be 0. Nothing but ``<eos>`` may follow an ``<eos>``;
    `ends`: ``excluded``: no sentence ends, prefixes must not either; ``absorbing``: a row is filled with ``<eos>``.

    Returns shape (N, l + n_tokens).
    """
    check_sample(max(len(prefixes), 1), seed=seed, temperature=temperature, generator=model.name)
    if n_tokens < 0:
        raise OptionError(f"n_tokens must be at least 0, got {n_tokens}")
    check_ends(ends)
    check_prefixes(prefixes, len(model_vocabulary(model)), ends=ends)
    n, length = prefixes.shape
    rows = np.full((n, length + n_tokens), EOS, dtype=np.int64)
    rows[:, :length] = prefixes
    open_ended = np.flatnonzero((prefixes != EOS).all(axis=1))
    if n_tokens == 0 or len(open_ended) == 0:
        return rows
    if reads_in_batches(model):
        going = np.where(prefixes == EOS, UNK, prefixes)  # ended ones keep their places, unused
        tokens, lengths = model.continued(
            going, n_tokens, seed=seed, temperature=temperature, ends=ends == "absorbing"
        )  # fmt: skip
        drawn = np.full_like(rows, EOS)
        drawn[np.arange(rows.shape[1]) < lengths[:, None]] = tokens
        rows[open_ended] = drawn[open_ended]
        return rows
    key = int(stream(seed, "continuation", model.name, repr(float(temperature))).integers(2**63))
    together = max(1, _NUMBERS // len(model_vocabulary(model)))

    def draw(start: int) -> None:
        numbers = open_ended[start : start + together]
        for position in range(length, rows.shape[1]):
            scores, which = next_rows(model, rows[numbers, :position], ends=ends, temperature=temperature)
            bounds = np.cumsum(np.exp(scores), axis=1)
            if np.isnan(bounds[:, -1]).any():
                raise InputError(f"{model.name}: nothing but the end can follow {position} tokens")
            drawn = _invert(bounds, which, uniforms(key, numbers, position))
            rows[numbers, position] = drawn
            numbers = numbers[drawn != EOS]
            if len(numbers) == 0:
                return

    parallel_map(draw, range(0, len(open_ended), together))
    return rows


def check_prefixes(prefixes: IntArray, n_types: int, *, ends: Ends) -> None:
    """Raise unless `prefixes`, (N, l), hold ids of words below `n_types`, and ends only as `ends` allows."""
    if prefixes.ndim != 2 or not np.issubdtype(prefixes.dtype, np.integer):
        raise InputError(f"prefixes must be integers of shape (N, l), got {prefixes.dtype} of {prefixes.shape}")
    if prefixes.size == 0:
        return
    if prefixes.min() < 0 or prefixes.max() >= n_types:
        raise InputError(f"prefixes must hold ids from 0 to {n_types - 1}, got {prefixes.min()} to {prefixes.max()}")
    ended = prefixes == EOS
    if ((prefixes < UNK) & ~ended).any():
        raise InputError("a prefix must not hold <pad> or <sos>")
    if ended.any() and ends == "excluded":
        raise InputError("a prefix holds the end of a sentence: that needs ends='absorbing'")
    if (ended[:, :-1] & ~ended[:, 1:]).any():
        raise InputError("a prefix goes on after the end of its sentence")


@njit(cache=True, nogil=True)
def _invert(bounds, which, draws):  # type: ignore[no-untyped-def]
    """Return the word that each uniform draw stands for; row ``which[i]`` of `bounds` holds running sums."""
    words = np.empty(len(which), dtype=np.int64)
    for number in range(len(which)):
        row = bounds[which[number]]
        word = np.searchsorted(row, draws[number] * row[-1], side="right")
        last = np.searchsorted(row, row[-1])  # the last word that can be drawn, where rounding leaves nothing
        words[number] = min(word, last)
    return words
