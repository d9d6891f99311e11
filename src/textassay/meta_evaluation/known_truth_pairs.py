"""Pairs of generators of known truth ("worlds"): built from any corpus, with exact text probabilities and discrepancy.

In each pair, p stands for real text and q is the generator to judge. The n-gram models are interpolated modified
Kneser-Ney, smoothed over one vocabulary, so that every text has a probability under both. The faults of q are those of
generators: less training text, a shorter memory, a temperature, other shares of the kinds of texts, a missing kind,
real text mixed in, no grammar at all. Two pairs are controls: equal generators, and generators without a common word.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, Vocabulary
from textassay.errors import OptionError, TooFewSentencesError, unknown_name
from textassay.generator import AtTemperature, Mixture, NgramModel, PositionUnigram, Renamed, ScoredGenerator
from textassay.meta_evaluation.known_truth import KnownTruth, true_discrepancy
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

FIRST_TEST_SEED = 100  # seeds below it are for development, and not used for reported results
LOG_PROBS = "log_probs/generated"  # the column of q's log-probabilities
N_FOR_TRUTH = 50_000  # sentences a side
FRACTIONS = (0.2, 0.4, 0.6, 0.8)

_AT_LEAST = 20  # sentences
_MAX_LENGTH = 5000  # tokens; longer than any text of these models
_LOWEST = -1e4  # nats; replaces minus infinity in features


@dataclass(frozen=True)
class KnownTruthPair:
    """Two generators whose discrepancy is known."""

    name: str  # Distinct within a corpus, such as ``growth-4-0.2``
    family: str  # Pairs that vary one setting, such as ``growth-4``; see `grows`
    kind: str  # What the generators are, such as ``ngram``, ``identical`` or ``lstm``
    # The model of real text, and the generator to judge
    p: ScoredGenerator
    q: ScoredGenerator
    grows: bool = False  # Whether the family is one model trained on growing parts of the text

    def sample(self, n: int, *, seed: int) -> tuple[Corpus, Corpus]:
        """Return `n` sentences of p and `n` of q, independent of each other, over one vocabulary."""
        return self._draw(n, seed, "bench")

    def with_log_probs(self, real: Corpus, generated: Corpus) -> tuple[Corpus, Corpus]:
        """Return both corpora with the column `LOG_PROBS`: q's log-probabilities in nats, at least -10,000."""
        first, second = (
            replace(corpus, columns={**corpus.columns, LOG_PROBS: np.maximum(self.q.log_prob(corpus), _LOWEST)})
            for corpus in (real, generated)
        )
        return first, second

    def truth(self, n: int = N_FOR_TRUTH, *, seed: int, level: float = 0.95) -> KnownTruth:
        """Return the discrepancy from `n` texts a side, drawn independently of `sample`."""
        real, generated = self._draw(n, seed, "truth")
        return true_discrepancy(self.p, self.q, real, generated, level=level)

    def _draw(self, n: int, seed: int, purpose: str) -> tuple[Corpus, Corpus]:
        seeds = (stream(seed, "world", purpose, *path) for path in (("real",), ("generated", self.name)))
        keys = [int(rng.integers(2**63)) for rng in seeds]
        real, generated = self.p.sample(n, seed=keys[0]), self.q.sample(n, seed=keys[1])
        if real.vocabulary is generated.vocabulary:
            return real, generated
        joint = Vocabulary((*real.vocabulary.tokens, *generated.vocabulary.tokens))
        return real.with_vocabulary(joint), generated.with_vocabulary(joint)


class _Text:
    """A corpus in random order, and the models of its parts."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self.corpus = corpus.take(stream(seed, "worlds", "order").permutation(len(corpus)))
        self._models: dict[tuple[int, float], NgramModel] = {}
        self._modes: list[NgramModel] = []

    def ngram(self, order: int, fraction: float = 1.0) -> NgramModel:
        """Return the model of a fraction of the text; larger fractions contain the smaller ones."""
        if (order, fraction) not in self._models:
            part = np.arange(math.ceil(fraction * len(self.corpus)))
            self._models[order, fraction] = NgramModel(order, max_length=_MAX_LENGTH).fit(self.corpus.take(part))
        return self._models[order, fraction]

    def modes(self) -> list[NgramModel]:
        """Return models of four kinds of texts: short or long, of common or rare words."""
        if not self._modes:
            self._modes = [
                NgramModel(3, max_length=_MAX_LENGTH).fit(self.corpus.take(rows)) for rows in four_kinds(self.corpus)
            ]
        return self._modes


Pair = tuple[ScoredGenerator, ScoredGenerator]


def _growth(text: _Text, order: int, fraction: float) -> Pair:
    return text.ngram(order), text.ngram(order, fraction)


def _orders(text: _Text, real: int, generated: int) -> Pair:
    return text.ngram(real), text.ngram(generated)


def _temperature(text: _Text, order: int, temperature: float) -> Pair:
    return text.ngram(order), AtTemperature(text.ngram(order), temperature)


def _shares(text: _Text, weights: Sequence[float]) -> Pair:
    return Mixture(text.modes(), [0.25] * 4), Mixture(text.modes(), weights)


def _dilution(text: _Text, share: float, order: int) -> Pair:
    real = text.ngram(4)
    return real, Mixture([real, text.ngram(order)], [share, 1 - share])


def _position(text: _Text) -> Pair:
    return text.ngram(4), PositionUnigram().fit(text.corpus)


def _identical(text: _Text, order: int) -> Pair:
    return text.ngram(order), text.ngram(order)


def _disjoint(text: _Text) -> Pair:
    vocabulary = text.corpus.vocabulary
    suffixes = _free_suffixes(vocabulary)
    real, generated = (Renamed(text.ngram(4), vocabulary, suffix) for suffix in suffixes)
    return real, generated


def _free_suffixes(vocabulary: Vocabulary) -> tuple[str, str]:
    """Return the two shortest suffixes, of different marks, that turn no word into another word."""
    length = 1
    while any(f"{token}{mark * length}" in vocabulary for token in vocabulary.tokens for mark in "~^"):
        length += 1
    return "~" * length, "^" * length


# name: (family, kind, grows, function that builds the pair)
_MAKERS: Mapping[str, tuple[str, str, bool, Callable[[_Text], Pair]]] = {
    **{
        f"growth-{order}-{fraction:g}": (
            f"growth-{order}",
            "ngram",
            True,
            partial(_growth, order=order, fraction=fraction),
        )
        for order in (4, 5)
        for fraction in FRACTIONS
    },
    **{
        f"order-{generated}-of-{real}": (
            f"order-of-{real}",
            "ngram",
            False,
            partial(_orders, real=real, generated=generated),
        )
        for real, generated in ((5, 3), (5, 2), (4, 3), (4, 2), (3, 2), (4, 1))
    },
    **{
        f"temperature-{temperature:g}-of-{order}": (
            "temperature",
            "ngram",
            False,
            partial(_temperature, order=order, temperature=temperature),
        )
        for order, temperature in ((3, 0.8), (3, 0.9), (3, 1.1), (3, 1.2), (5, 0.8))
    },
    "shares-slightly": ("shares", "mixture", False, partial(_shares, weights=(0.4, 0.2, 0.2, 0.2))),
    "shares-strongly": ("shares", "mixture", False, partial(_shares, weights=(0.1, 0.15, 0.15, 0.6))),
    "dropped-mode": ("dropped", "mixture", False, partial(_shares, weights=(0.0, 1 / 3, 1 / 3, 1 / 3))),
    "two-modes-dropped": ("dropped", "mixture", False, partial(_shares, weights=(0.5, 0.5, 0.0, 0.0))),
    "diluted-0.5": ("dilution", "mixture", False, partial(_dilution, share=0.5, order=2)),
    "diluted-0.8": ("dilution", "mixture", False, partial(_dilution, share=0.8, order=2)),
    "position-unigram": ("position", "position-unigram", False, _position),
    "identical-2": ("identical", "identical", False, partial(_identical, order=2)),
    "identical-4": ("identical", "identical", False, partial(_identical, order=4)),
    "disjoint": ("disjoint", "disjoint", False, _disjoint),
}

PAIR_NAMES = tuple(_MAKERS)


def known_truth_pairs(
    corpus: Corpus, seed: int, names: Sequence[str] = PAIR_NAMES, *, extra: Sequence[KnownTruthPair] = ()
) -> list[KnownTruthPair]:
    """Return pairs of known truth built from a corpus."""
    if len(corpus) < _AT_LEAST:
        raise TooFewSentencesError(f"worlds need at least {_AT_LEAST} texts, got {len(corpus)}")
    if seed < 0:
        raise OptionError(f"seed must be at least 0, got {seed}")
    for name in names:
        if name not in _MAKERS:
            raise unknown_name("world", name, _MAKERS)
    text = _Text(corpus, seed)
    pairs = []
    for name in names:
        family, kind, grows, make = _MAKERS[name]
        pairs.append(KnownTruthPair(name, family, kind, *make(text), grows=grows))
    pairs += extra
    pair_names = [pair.name for pair in pairs]
    if len(set(pair_names)) < len(pair_names):
        raise OptionError(f"worlds must have distinct names, got {', '.join(pair_names)}")
    return pairs


def four_kinds(corpus: Corpus) -> list[IntArray]:
    """Return the row numbers of four equally large kinds of texts: short or long, of common or rarer words."""
    counts = np.bincount(corpus.tokens, minlength=len(corpus.vocabulary))
    sums = np.concatenate(([0.0], np.cumsum(np.log(np.maximum(counts, 1))[corpus.tokens])))
    common = np.diff(sums[corpus.offsets]) / np.maximum(corpus.lengths, 1)
    by_length = np.argsort(corpus.lengths, kind="stable")
    kinds = []
    for half in (by_length[: len(corpus) // 2], by_length[len(corpus) // 2 :]):
        order = half[np.argsort(-common[half], kind="stable")]
        kinds += [np.sort(order[: len(half) // 2]), np.sort(order[len(half) // 2 :])]
    return kinds
