"""Prefixes of sentences, from real text, from a model, shuffled, random or corrupted, and their continuations.

All are ids of one vocabulary, shape (n, length), and all sequences of a continuation have the same number of tokens.
With ends ``excluded`` a sentence never ends: the other words share the probability of the end. With ``absorbing`` the
end is a word like any other, and only ends follow it. All prefixes of a comparison must treat ends alike. Excluding
ends is not the same as drawing whole sentences and keeping the long ones, unless the model was trained on text without
ends, such as `blocks`.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4.1 to 4.4.
Departs from it: random words are those a model can draw, ``<unk>`` among them, never ``<sos>``, ``<eos>``, ``<pad>``.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, UNK
from textassay.corpus.split import halves
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import LanguageModel, check_sample
from textassay.seeding import stream, uniforms
from textassay_lab.generator.kernels import tokens_of_draws
from textassay_lab.generator.next_words import Ends, check_ends, model_vocabulary, next_rows, reads_in_batches

IntArray = npt.NDArray[np.int64]

_MOST_BLOCKS = 10  # a group of overlapping blocks begins within this many block lengths
_FEWEST_GROUPS = 50


def data_prefixes(
    text: Corpus, length: int, n: int | None = None, *, seed: int, ends: Ends = "excluded"
) -> IntArray:  # fmt: skip
    """Return the first `length` tokens of `n` different sentences, in random order, shape (n, length).

    Settings and errors are those of `chosen_sentences`. Shorter sentences are filled with ``<eos>``.
    """
    return first_tokens_of(text, chosen_sentences(text, length, n, seed=seed, ends=ends), length)


def chosen_sentences(
    text: Corpus, length: int, n: int | None = None, *, seed: int, ends: Ends = "excluded"
) -> IntArray:  # fmt: skip
    """Return the numbers of `n` different sentences that prefixes can be taken from, in random order, shape (n,).

    `ends`: ``excluded``: only sentences with at least `length` tokens; ``absorbing``: any.
    """
    check_ends(ends)
    if length < 0:
        raise OptionError(f"length must be at least 0, got {length}")
    usable = np.flatnonzero(text.lengths >= length) if ends == "excluded" else np.arange(len(text))
    n = len(usable) if n is None else n
    if n < 1 or n > len(usable):
        raise TooFewSentencesError(
            f"{len(usable):,} of {len(text):,} sentences have at least {length} tokens, {max(n, 1)} are needed: use "
            "fewer or shorter prefixes"
        )
    return np.asarray(stream(seed, "prefixes", "data").permutation(usable)[:n], dtype=np.int64)


def first_tokens_of(text: Corpus, sentences: IntArray, length: int) -> IntArray:
    """Return the first `length` tokens of these sentences, shape (n, length), shorter ones filled with ``<eos>``."""
    inside = np.arange(length) < text.lengths[sentences, None]
    places = text.offsets[sentences, None] + np.arange(length)
    rows = np.full((len(sentences), length), EOS, dtype=np.int64)
    rows[inside] = text.tokens[places[inside]]
    return rows


def n_long_enough(text: Corpus, length: int) -> int:
    """Return how many sentences have at least `length` tokens."""
    return int(np.count_nonzero(text.lengths >= length))


def model_prefixes(
    model: LanguageModel, length: int, n: int, *, seed: int, temperature: float = 1.0, ends: Ends = "excluded"
) -> IntArray:
    """Return the first `length` tokens of `n` sentences that the model draws, shape (n, length)."""
    if n < 1:
        raise OptionError(f"n must be at least 1, got {n}")
    empty = np.empty((n, 0), dtype=np.int64)
    return continue_prefixes(model, empty, length, seed=seed, temperature=temperature, ends=ends)


def shuffled(prefixes: IntArray, *, seed: int) -> IntArray:
    """Return each prefix, (n, length), with its words in random order; ends stay last."""
    ranks = stream(seed, "prefixes", "shuffled").random(prefixes.shape)
    ranks[prefixes == EOS] = 2.0
    return np.take_along_axis(prefixes, np.argsort(ranks, axis=1, kind="stable"), axis=1)


def random_prefixes(vocabulary_size: int, length: int, n: int, *, seed: int) -> IntArray:
    """Return words drawn uniformly from a vocabulary of so many ids, ``<unk>`` and ordinary words, (n, length)."""
    _check_size(vocabulary_size)
    return stream(seed, "prefixes", "random").integers(UNK, vocabulary_size, (n, length))


def corrupted(prefixes: IntArray, rate: float, n_types: int, *, seed: int) -> IntArray:
    """Return `prefixes`, (n, length), each word replaced with probability `rate` by a uniformly drawn one.

    `rate`: in [0, 1]. Since the same word may be drawn again, a share ``rate (1 - 1 / (n_types - 3))`` of words
    changes.
    """
    if not 0 <= rate <= 1:
        raise OptionError(f"rate must be at least 0 and at most 1, got {rate}")
    _check_size(n_types)
    hit = stream(seed, "prefixes", "corrupted", "where").random(prefixes.shape) < rate
    words = stream(seed, "prefixes", "corrupted", "words").integers(UNK, n_types, prefixes.shape)
    return np.where(hit & (prefixes != EOS), words, prefixes)


def blocks(text: Corpus, length: int, *, step: int | None = None) -> Corpus:
    """Return stretches of `length` tokens of running text, one sentence after another without a mark between them.

    `text`: groups (documents, say) are not joined: no stretch runs from one into the next.
    """
    step = length if step is None else step
    if length < 1 or step < 1:
        raise OptionError(f"length and step of blocks must be at least 1, got {length} and {step}")
    of_token = np.zeros(len(text.tokens), dtype=np.int64)
    if text.groups is not None:
        of_token = np.repeat(text.groups, text.lengths)
    bounds = np.flatnonzero(np.diff(of_token, prepend=of_token[:1] - 1, append=of_token[-1:] + 1))
    starts = np.concatenate(
        [np.arange(begin, end - length + 1, step) for begin, end in pairwise(bounds.tolist())]
        or [np.empty(0, dtype=np.int64)]
    )
    if len(starts) == 0:
        raise TooFewSentencesError(f"the text has {len(text.tokens):,} tokens: no block of {length}")
    tokens = text.tokens[starts[:, None] + np.arange(length)]
    groups = None if text.groups is None else of_token[starts]
    if step < length:
        span = length * int(np.clip(len(text.tokens) // (length * _FEWEST_GROUPS), 1, _MOST_BLOCKS))
        pairs = np.stack((of_token[starts], starts // span))
        groups = np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    words = np.array(text.vocabulary.tokens, dtype=object)[tokens].tolist()
    texts = [join_tokens(text.tokenizer, row) for row in words]
    offsets = np.arange(len(starts) + 1, dtype=np.int64) * length
    return Corpus(
        tokens.reshape(-1), offsets, text.vocabulary, texts, tokenizer=text.tokenizer, groups=groups
    )  # fmt: skip


def unseen_halves(text: Corpus, *, seed: int) -> tuple[Corpus, Corpus]:
    """Return two random halves of `text`, one to train on, one for references and prefixes of data.

    Sentences with equal texts are in one half, so no sentence of the second stands in the first; groups stay together.
    """
    numbers: dict[str, int] = {}
    same = np.array([numbers.setdefault(sentence, len(numbers)) for sentence in text.texts], dtype=np.int64)
    if text.groups is not None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        groups = np.unique(text.groups, return_inverse=True)[1].reshape(-1)
        n_nodes = int(same.max()) + int(groups.max()) + 2
        links = coo_array((np.ones(len(text)), (same, groups + int(same.max()) + 1)), shape=(n_nodes, n_nodes))
        same = connected_components(links, directed=False)[1].astype(np.int64)[same]
    train, unseen = halves(len(text), stream(seed, "unseen half"), groups=same)
    return text.take(train), text.take(unseen)


def _check_size(n_types: int) -> None:
    if n_types <= UNK:
        raise InputError(f"a vocabulary must have more than {UNK} ids to draw words from, got {n_types}")


FloatArray = npt.NDArray[np.float64]

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
            sums = np.cumsum(np.exp(scores), axis=1, dtype=np.float64)
            if np.isnan(sums[:, -1]).any():
                raise InputError(f"{model.name}: nothing but the end can follow {position} tokens")
            drawn = tokens_of_draws(sums, which, uniforms(key, numbers, position)[:, None])[:, 0]
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
