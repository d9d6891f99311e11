"""Distances between the next-word distributions of a model and an oracle, after every prefix of many sequences.

The oracle's distributions stand for those of the data. Each sequence is read once, in batches; only a few rows of
next-word distributions, V numbers each, are in memory at a time, and distances are computed from logits without a table
of probabilities. Float32 logits take a fast path: exponentials and logarithms are polynomials (relative error 2e-7),
sixteen at once, and blocks of the vocabulary are summed in float32, the blocks in float64. Float64 logits, and rows
with an impossible word, are computed in float64 throughout.

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

from textassay.corpus.encoding import EOS, SOS, UNK, Vocabulary
from textassay.errors import InputError, OptionError
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import LanguageModel
from textassay_lab.exposure.kernels import exact_distances, fast_distances
from textassay_lab.generator.next_words import Ends, check_ends, model_vocabulary, next_rows, reads_in_batches
from textassay_lab.generator.prefixes import check_prefixes
from textassay_lab.training.backend import single_threaded, training_device

if TYPE_CHECKING:
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
Logits = npt.NDArray[np.float32] | npt.NDArray[np.float64]

COLUMNS = ("tv", "js", "greedy", "kl", "ties")


def row_distances(model: Logits, oracle: Logits, *, first: int = 0) -> FloatArray:
    """Return the distances of each pair of rows, shape (N, 5), in the order of `COLUMNS`.

    `model`, `oracle`: logits (any number may be added to a row), shape (N, V) each, of one type, float32 or float64.

    Total variation in [0, 1]; Jensen-Shannon divergence in nats, in [0, log 2]; whether the likeliest words differ, 0
    or 1, the lowest number winning where several are likeliest; divergence KL(oracle || model) in nats, at least 0,
    infinite where the model shuts out a word that the oracle does not; and whether a row of either had several
    likeliest words. NaN where nothing can come next in one of the two.
    """
    distances = np.empty((len(model), len(COLUMNS)))
    compute = fast_distances if model.dtype == np.float32 else exact_distances
    compute(np.ascontiguousarray(model), np.ascontiguousarray(oracle), first, distances)
    return distances


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
    with P the model and Q the oracle. Two networks are compared in float32 (error below 1e-6, of ``kl`` below 4e-6),
    others in float64.
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
            "tokens: train both with one vocabulary, such as on samples of the oracle"
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
