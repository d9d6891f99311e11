"""Distances between the next-word distributions of a model and an oracle, after every prefix of many sequences.

The oracle's distributions stand for those of the data. Each sequence is read once, in batches; only a few rows of
next-word distributions, V numbers each, are in memory at a time, and distances are computed from logits without a table
of probabilities. Float32 logits take a fast path: exponentials and logarithms are polynomials that the compiler
vectorises (relative error 2e-7), and blocks of the vocabulary are summed in float32, the blocks in float64. Float64
logits, and rows with an impossible word, are computed in float64 throughout.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, equations (3) and (4); Arora et
al., "Why Exposure Bias Matters", Findings of ACL 2022, for the divergence KL(oracle || model); of the polynomials:
Moshier, Cephes mathematical library, expf and logf (minimax coefficients).
"""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus.encoding import EOS, SOS, UNK, Vocabulary
from textassay.errors import InputError, OptionError
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import LanguageModel
from textassay_lab.generator.next_words import Ends, check_ends, model_vocabulary, next_rows, reads_in_batches
from textassay_lab.generator.prefixes import check_prefixes
from textassay_lab.training.backend import single_threaded, training_device

if TYPE_CHECKING:
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
Logits = npt.NDArray[np.float32] | npt.NDArray[np.float64]

COLUMNS = ("tv", "js", "greedy", "kl", "ties")

_F = np.float32
_STRETCH = 512  # words that are summed in float32
_SMALLEST = np.float32(-87.0)  # exp of less leaves the range of float32
_RULES = {"reassoc", "nsz", "contract", "arcp"}  # what the compiler may assume: sums may be reordered


def row_distances(model: Logits, oracle: Logits, *, first: int = 0) -> FloatArray:
    """Return the distances of each pair of rows, shape (N, 5), in the order of `COLUMNS`.

    `model`, `oracle`: logits (any number may be added to a row), shape (N, V) each, of one type, float32 or float64.

    Total variation in [0, 1]; Jensen-Shannon divergence in nats, in [0, log 2]; whether the likeliest words differ, 0
    or 1, the lowest number winning where several are likeliest; divergence KL(oracle || model) in nats, at least 0,
    infinite where the model shuts out a word that the oracle does not; and whether a row of either had several
    likeliest words. NaN where nothing can come next in one of the two.
    """
    distances = np.empty((len(model), len(COLUMNS)))
    if model.dtype == np.float32:
        _fast_rows(model, oracle, first, distances)
    else:
        _exact_rows(model, oracle, first, distances)
    return distances


@njit(cache=True, nogil=True)
def _exact_rows(model, oracle, first, distances):  # type: ignore[no-untyped-def]
    for row in range(len(model)):
        _exact_row(model[row, first:], oracle[row, first:], distances[row])


@njit(cache=True, nogil=True)
def _exact_row(model, oracle, distances):  # type: ignore[no-untyped-def]
    """Write the distances of one pair of rows, in float64."""
    top, best, n_best = _top(model)
    oracle_top, oracle_best, n_oracle_best = _top(oracle)
    if not (-math.inf < top < math.inf and -math.inf < oracle_top < math.inf):
        distances[:] = math.nan
        return
    total, oracle_total = 0.0, 0.0
    for word in range(len(model)):
        total += math.exp(model[word] - top)
        oracle_total += math.exp(oracle[word] - oracle_top)
    norm, oracle_norm = top + math.log(total), oracle_top + math.log(oracle_total)
    tv, js, kl = 0.0, 0.0, 0.0
    for word in range(len(model)):
        log_p, log_q = model[word] - norm, oracle[word] - oracle_norm
        p, q = math.exp(log_p), math.exp(log_q)
        tv += abs(p - q)
        if p + q > 0:
            middle = math.log((p + q) / 2)
            if p > 0:
                js += p * (log_p - middle)
            if q > 0:
                js += q * (log_q - middle)
                kl += q * (log_q - log_p)
    _write(distances, tv / 2, js / 2, best != oracle_best, kl, n_best > 1 or n_oracle_best > 1)


@njit(cache=True, nogil=True)
def _top(row):  # type: ignore[no-untyped-def]
    """Return the highest logit, the first place where it stands, and how many such places there are."""
    top, best, n_best = -math.inf, 0, 0
    for word in range(len(row)):
        value = row[word]
        if value > top:
            top, best, n_best = value, word, 1
        elif value == top:
            n_best += 1
        elif math.isnan(value):
            return math.nan, 0, 0
    return top, best, n_best


@njit(cache=True, nogil=True)
def _write(distances, tv, js, greedy, kl, tie):  # type: ignore[no-untyped-def]
    if tv == 0:  # nothing differs: what is left in the logarithms is rounding
        js, kl = 0.0, 0.0
    distances[0], distances[1], distances[2] = min(tv, 1.0), min(max(js, 0.0), math.log(2.0)), greedy
    distances[3], distances[4] = max(kl, 0.0), tie


@njit(cache=True, nogil=True)
def _fast_rows(model, oracle, first, distances):  # type: ignore[no-untyped-def]
    n_words = model.shape[1] - first
    of_model, of_oracle = np.empty(n_words, dtype=np.float32), np.empty(n_words, dtype=np.float32)
    for row in range(len(model)):
        here, there = model[row, first:], oracle[row, first:]
        if not (_is_finite(here) and _is_finite(there)):
            _exact_row(here, there, distances[row])
            continue
        top, oracle_top = _highest(here), _highest(there)
        total, oracle_total = _exponentials(here, top, of_model), _exponentials(there, oracle_top, of_oracle)
        tv, js, kl = _fast_sums(here, there, of_model, of_oracle, top, oracle_top, total, oracle_total)
        best, n_best = _places(here, top)
        oracle_best, n_oracle_best = _places(there, oracle_top)
        _write(distances[row], tv, js, best != oracle_best, kl, n_best > 1 or n_oracle_best > 1)


@njit(cache=True, nogil=True)
def _is_finite(row):  # type: ignore[no-untyped-def]
    """Return whether no logit is infinite or NaN: those have all bits of the exponent set."""
    bits = row.view(np.int32)
    n_wild = np.int32(0)
    for word in range(len(bits)):
        n_wild += np.int32((bits[word] & np.int32(0x7F800000)) == np.int32(0x7F800000))
    return n_wild == 0


@njit(cache=True, nogil=True)
def _highest(row):  # type: ignore[no-untyped-def]
    """Return the highest logit; as whole numbers, with those below 0 turned round, they are in the same order."""
    bits = row.view(np.int32)
    top = np.int32(-0x80000000)
    for word in range(len(bits)):
        top = max(top, np.int32(bits[word] ^ ((bits[word] >> np.int32(31)) & np.int32(0x7FFFFFFF))))
    return np.int32(top ^ ((top >> np.int32(31)) & np.int32(0x7FFFFFFF))).view(np.float32)


@njit(cache=True, nogil=True)
def _places(row, top):  # type: ignore[no-untyped-def]
    """Return where `top` first stands, and in how many places."""
    n_best, best = np.int32(0), 0
    for word in range(len(row)):
        n_best += np.int32(row[word] == top)
    while row[best] != top:
        best += 1
    return best, n_best


@njit(cache=True, nogil=True)
def _exponentials(row, top, out):  # type: ignore[no-untyped-def]
    """Write ``exp(row - top)`` and return its sum."""
    total = 0.0
    for start in range(0, len(row), _STRETCH):
        total += _exponentials_of(row[start : start + _STRETCH], top, out[start : start + _STRETCH])
    return total


@njit(cache=True, nogil=True, fastmath=_RULES)
def _exponentials_of(row, top, out):  # type: ignore[no-untyped-def]
    total = _F(0)
    for word in range(len(row)):
        out[word] = _exp(row[word] - top)
        total += out[word]
    return total


@njit(cache=True, nogil=True)
def _fast_sums(  # type: ignore[no-untyped-def]
    model, oracle, here, there, top, oracle_top, total, oracle_total
):
    """Return total variation, Jensen-Shannon divergence and KL(oracle || model) from exponentials and their sums."""
    norm, oracle_norm = top + math.log(total), oracle_top + math.log(oracle_total)
    near, oracle_near = _F(norm), _F(oracle_norm)
    missed, oracle_missed = near - norm, oracle_near - oracle_norm  # what rounding takes off each log-probability
    tv, js, kl = 0.0, 0.0, 0.0
    for start in range(0, len(model), _STRETCH):
        end = start + _STRETCH
        parts = _sums_of(
            model[start:end],
            oracle[start:end],
            here[start:end],
            there[start:end],
            near,
            oracle_near,
            _F(1 / total),
            _F(1 / oracle_total),
        )
        tv += parts[0]
        js += parts[1]
        kl += parts[2]
    return tv / 2, (js + missed + oracle_missed) / 2, kl + oracle_missed - missed


@njit(cache=True, nogil=True, fastmath=_RULES)
def _sums_of(model, oracle, here, there, norm, oracle_norm, scale, oracle_scale):  # type: ignore[no-untyped-def]
    tv, js, kl = _F(0), _F(0), _F(0)
    for word in range(len(model)):
        p, q = here[word] * scale, there[word] * oracle_scale
        log_p, log_q = model[word] - norm, oracle[word] - oracle_norm
        middle = _log(_F(0.5) * (p + q))
        tv += abs(p - q)
        js += p * (log_p - middle) + q * (log_q - middle)
        kl += q * (log_q - log_p)
    return tv, js, kl


@njit(nogil=True, fastmath=_RULES, inline="always")
def _exp(x):  # type: ignore[no-untyped-def]
    """Return exp(x) of a float32 of at most 0, in float32; below -87 that of -87."""
    x = max(x, _SMALLEST)
    n = np.floor(x * _F(1.44269504088896) + _F(0.5))
    rest = x - n * _F(0.693359375) + n * _F(2.12194440e-4)
    power = _F(1.9875691500e-4)
    power = power * rest + _F(1.3981999507e-3)
    power = power * rest + _F(8.3334519073e-3)
    power = power * rest + _F(4.1665795894e-2)
    power = power * rest + _F(1.6666665459e-1)
    power = power * rest + _F(5.0000001201e-1)
    power = power * rest * rest + rest + _F(1)
    return power * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@njit(nogil=True, fastmath=_RULES, inline="always")
def _log(x):  # type: ignore[no-untyped-def]
    """Return the logarithm of a positive float32, in float32; that of 1e-37 for less."""
    bits = np.float32(max(x, _F(1e-37))).view(np.int32)
    # The mantissa is taken from [sqrt(1/2), sqrt(2)): 0x3F3504F3 are the bits of sqrt(1/2).
    exponent = np.int32((bits - np.int32(0x3F3504F3)) >> np.int32(23))
    rest = np.int32(bits - np.int32(exponent << np.int32(23))).view(np.float32) - _F(1)
    power = _F(7.0376836292e-2)
    power = power * rest - _F(1.1514610310e-1)
    power = power * rest + _F(1.1676998740e-1)
    power = power * rest - _F(1.2420140846e-1)
    power = power * rest + _F(1.4249322787e-1)
    power = power * rest - _F(1.6668057665e-1)
    power = power * rest + _F(2.0000714765e-1)
    power = power * rest - _F(2.4999993993e-1)
    power = power * rest + _F(3.3333331174e-1)
    n = _F(exponent)
    square = rest * rest
    low = power * rest * square + n * _F(-2.12194440e-4) - _F(0.5) * square
    return rest + low + n * _F(0.693359375)


IntArray = npt.NDArray[np.int64]

Distance = Literal["tv", "js", "greedy", "kl"]
DISTANCES: tuple[Distance, ...] = ("tv", "js", "greedy", "kl")

_SEQUENCES = 256  # read together
_BLOCK_LOGITS = {"cpu": 1 << 20}  # logits compared at once, by device: on a CPU they fit into the cache
_BLOCK_LOGITS_GPU = 1 << 27
_LOWEST, _LEAST = -1e4, 1e-37  # replace -inf and 0, so that impossible words add nothing


def next_word_distances(
    model: LanguageModel,
    oracle: LanguageModel,
    prefixes: IntArray,
    lengths: Sequence[int],
    *,
    batch_size: int = _SEQUENCES,
    ends: Ends = "excluded",
) -> dict[str, FloatArray]:
    """Return the distances of the two next-word distributions after the first l tokens of each sequence.

    `prefixes`: ids of the model's vocabulary, shape (N, L), N at least 1; `ends`: ``excluded``: the sentence goes on,
    the other words share the probability of the end; ``absorbing``: the end is a word, and after it all models agree.

    For each of ``tv``, ``js``, ``greedy``, ``kl`` and ``ties`` (see `row_distances`) an array of shape (N, number of
    lengths), float64. The mean of a column is the CGD of that length.

    ``tv = 1/2 sum |P - Q|``, ``js = 1/2 KL(P || A) + 1/2 KL(Q || A)`` with A = (P + Q) / 2, ``greedy = [argmax P !=
    argmax Q]`` (the lowest id of the oracle's or model's highest ones counts, by the model's ids), ``kl = KL(Q || P)``
    with P the model and Q the oracle. Two networks are compared in float32 (error below 1e-6), others in float64.
    """
    check_ends(ends)
    if batch_size < 1:
        raise OptionError(f"batch_size must be at least 1, got {batch_size}")
    vocabulary = model_vocabulary(model)
    places = _same_words(vocabulary, model_vocabulary(oracle), model.name, oracle.name)
    check_prefixes(prefixes, len(vocabulary), ends=ends)
    if len(prefixes) == 0 or not lengths or min(lengths) < 0 or max(lengths) > prefixes.shape[1]:
        raise OptionError(
            f"lengths of prefixes must be from 0 to {prefixes.shape[1]}, and there must be a sequence; got lengths "
            f"{', '.join(map(str, lengths)) or 'none'} and {len(prefixes)} sequences"
        )
    distances = np.empty((len(prefixes), len(lengths), len(COLUMNS)))
    networks = reads_in_batches(model) or reads_in_batches(oracle)
    device = training_device().type if networks else "cpu"
    batch_size = min(batch_size, *(getattr(side, "batch_size", batch_size) for side in (model, oracle)))
    block_rows = max(1, _BLOCK_LOGITS.get(device, _BLOCK_LOGITS_GPU) // len(vocabulary))

    def measure(start: int) -> None:
        rows = prefixes[start : start + batch_size, : max(lengths)]
        with single_threaded() if networks else nullcontext():
            sides = (_reader(model, rows, None, ends), _reader(oracle, rows, places, ends))
            for place, length in enumerate(lengths):
                for begin in range(0, len(rows), block_rows):
                    part = slice(begin, begin + block_rows)
                    block_distances = _compared(sides[0](length, part), sides[1](length, part), ends, device)
                    distances[start : start + batch_size, place][part] = block_distances

    batches = range(0, len(prefixes), batch_size)
    if device == "cpu":
        parallel_map(measure, batches)
    else:
        for start in batches:
            measure(start)
    for place, length in enumerate(lengths):
        distances[(prefixes[:, :length] == EOS).any(axis=1), place] = 0.0
    undefined = np.isnan(distances[:, :, 0])
    if undefined.any():
        length = lengths[int(np.argmax(undefined.any(axis=0)))]
        raise InputError(
            f"{model.name} and {oracle.name}: after {length} tokens nothing but the end can follow in "
            f"{int(undefined.sum(axis=0).max())} of {len(prefixes)} sequences; ask for shorter prefixes"
        )
    return {name: distances[:, :, column].copy() for column, name in enumerate(COLUMNS)}


def tensor_distances(model: "Tensor", oracle: "Tensor") -> FloatArray:
    """Compute `row_distances` on the device of the logits: float32 tensors, shapes (N, V)."""
    import torch

    log_p, log_q = (torch.log_softmax(logits, 1) for logits in (model, oracle))
    shut_out = ((log_p == -torch.inf) & (log_q > -torch.inf)).any(1)
    log_p, log_q = (scores.clamp_min_(_LOWEST) for scores in (log_p, log_q))
    p, q = log_p.exp(), log_q.exp()
    middle = ((p + q) / 2).clamp_min_(_LEAST).log_()
    sums = ((p - q).abs_() / 2, (p * (log_p - middle) + q * (log_q - middle)) / 2, q * (log_q - log_p))
    highest = (1.0, math.log(2), math.inf)
    tv, js, kl = (terms.sum(1, dtype=torch.float64).clamp_(0, top) for terms, top in zip(sums, highest, strict=True))
    kl[shut_out] = torch.inf
    js[tv == 0], kl[tv == 0] = 0, 0
    words = torch.arange(model.shape[1], device=model.device)
    tops = [logits == logits.amax(1, keepdim=True) for logits in (model, oracle)]
    best, other_best = (torch.where(top, words, len(words)).amin(1) for top in tops)
    tie = (tops[0].sum(1) > 1) | (tops[1].sum(1) > 1)
    columns = {"tv": tv, "js": js, "greedy": (best != other_best).double(), "kl": kl, "ties": tie.double()}
    distances = torch.stack([columns[name] for name in COLUMNS], 1)
    distances[tv.isnan()] = torch.nan  # nothing can come next
    return np.asarray(distances.cpu().numpy())


def _same_words(vocabulary: Vocabulary, other: Vocabulary, name: str, other_name: str) -> IntArray | None:
    """Return the id of each word in the other vocabulary; None where all ids are equal; raise where words differ."""
    if other is vocabulary or other.tokens == vocabulary.tokens:
        return None
    places = other.encode(vocabulary.tokens).astype(np.int64)
    missing = np.flatnonzero(places == UNK)[1:]
    if len(other) != len(vocabulary) or len(missing) > 0:
        raise OptionError(
            f"{name} and its oracle {other_name} have different vocabularies, of {len(vocabulary)} and {len(other)} "
            "tokens: train both on text with one vocabulary, such as samples of the oracle"
        )
    return places


def _reader(
    model: LanguageModel, rows: IntArray, places: IntArray | None, ends: Ends
) -> "Callable[[int, slice], FloatArray | Tensor]":
    """Return a function from l and a slice of rows to the logits after l tokens, columns in the first model's ids."""
    rows = rows if places is None else places[rows]
    if reads_in_batches(model):
        import torch

        network = model
        vectors = network.next_vectors(rows)  # (rows, length + 1, width)
        order = None if places is None else torch.from_numpy(places).to(vectors.device)

        def of_network(length: int, part: slice) -> "FloatArray | Tensor":
            logits = network.next_logits(vectors[part, length])
            return logits if order is None else logits.index_select(1, order)

        return of_network

    def of_others(length: int, part: slice) -> "FloatArray | Tensor":
        scores, which = next_rows(model, rows[part, :length], ends=ends)
        return scores[which] if places is None else scores[which][:, places]

    return of_others


def _compared(model: "FloatArray | Tensor", oracle: "FloatArray | Tensor", ends: Ends, device: str) -> FloatArray:
    """Return the distances of two blocks of logits, shape (n, 5)."""
    first = UNK
    if ends == "absorbing":  # the end moves to the column of <sos>, so that all words are adjacent
        first = SOS
        for logits in (model, oracle):
            logits[:, SOS] = logits[:, EOS]  # type: ignore[assignment]  # of its own kind: array or tensor
    if not isinstance(model, np.ndarray) and not isinstance(oracle, np.ndarray):
        if device != "cpu":
            return tensor_distances(model[:, first:], oracle[:, first:])
        return row_distances(model.numpy(), oracle.numpy(), first=first)
    arrays = (side if isinstance(side, np.ndarray) else side.cpu().numpy() for side in (model, oracle))
    return row_distances(*(np.ascontiguousarray(side, dtype=np.float64) for side in arrays), first=first)
