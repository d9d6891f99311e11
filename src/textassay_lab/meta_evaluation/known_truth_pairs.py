"""Pairs of generators of known truth ("worlds"): built from any corpus, with exact text probabilities and discrepancy.

In each pair, p stands for real text and q is the generator to judge. The n-gram models are interpolated modified
Kneser-Ney, smoothed over one vocabulary, so that every text has a probability under both. The faults of q are those of
generators: less training text, a shorter memory, a temperature, other shares of the kinds of texts, a missing kind,
real text mixed in, no grammar at all. Two pairs are controls: equal generators, and generators without a common word.

Each pair but the last has the text that q was fitted to. In the worlds that are measured by default, p was fitted to it
as well, so that text tells something about p that no training text tells about real text. In the ``learnt`` ones it is
a draw from p, as the training text of a generator is a draw of real text.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.errors import OptionError, TooFewSentencesError, unknown_name
from textassay.ngram.model import NgramModel
from textassay.seeding import stream
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.scored import AtTemperature, Mixture, Renamed, ScoredGenerator
from textassay_lab.meta_evaluation.known_truth import KnownTruth, true_discrepancy

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

FIRST_TEST_SEED = 100  # seeds below it are for development, and not used for reported results
LOG_PROBS = "log_probs/generated"  # the column of q's log-probabilities
N_FOR_TRUTH = 50_000  # sentences a side
FRACTIONS = (0.2, 0.4, 0.6, 0.8)

_AT_LEAST = 20  # sentences
_MAX_LENGTH = 5000  # tokens; longer than any text of these models
_REAL_ORDER = 5  # of the model whose draws others learn
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
    train: Corpus | None = None  # What q was fitted to; none where that is not known
    n_truth: int = N_FOR_TRUTH  # Texts a side for the truth, where no other number is given

    def sample(self, n: int, *, seed: int, n_generated: int | None = None) -> tuple[Corpus, Corpus]:
        """Return `n` sentences of p and `n_generated` of q (None: `n`), independent of each other, over one vocabulary.

        The first of them do not depend on how many are drawn.
        """
        return self._draw(n, n if n_generated is None else n_generated, seed, "bench")

    def more_real(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences of p that are independent of those of `sample`."""
        return self.p.sample(n, seed=_key(seed, "fit-real", "real"))

    def with_log_probs(self, corpus: Corpus) -> Corpus:
        """Return a corpus with the column `LOG_PROBS`: q's log-probabilities in nats, at least -10,000."""
        return replace(corpus, columns={**corpus.columns, LOG_PROBS: np.maximum(self.q.log_prob(corpus), _LOWEST)})

    def truth(self, n: int | None = None, *, seed: int, level: float = 0.95) -> KnownTruth:
        """Return the discrepancy from `n` texts a side (None: `n_truth`), drawn independently of `sample`."""
        n = self.n_truth if n is None else n
        real, generated = self._draw(n, n, seed, "truth")
        return true_discrepancy(self.p, self.q, real, generated, level=level)

    def _draw(self, n: int, n_generated: int, seed: int, purpose: str) -> tuple[Corpus, Corpus]:
        real = self.p.sample(n, seed=_key(seed, purpose, "real"))
        generated = self.q.sample(n_generated, seed=_key(seed, purpose, "generated", self.name))
        first, second = over_one_vocabulary(real, generated)
        return first, second


def over_one_vocabulary(*corpora: Corpus) -> list[Corpus]:
    """Return corpora encoded with the tokens of all; as they are where they share a vocabulary."""
    if all(corpus.vocabulary is corpora[0].vocabulary for corpus in corpora):
        return list(corpora)
    joint = Vocabulary(token for corpus in corpora for token in corpus.vocabulary.tokens)
    return [corpus.with_vocabulary(joint) for corpus in corpora]


def _key(seed: int, *path: str) -> int:
    return int(stream(seed, "world", *path).integers(2**63))


class _Text:
    """A corpus in random order, and the models of its parts."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self.corpus = corpus.take(stream(seed, "worlds", "order").permutation(len(corpus)))
        self.seed = seed
        self._parts: dict[float, Corpus] = {1.0: self.corpus}
        self._models: dict[tuple[int, float], NgramModel] = {}
        self._modes: list[NgramModel] = []

    def part(self, fraction: float) -> Corpus:
        """Return a fraction of the text; larger fractions contain the smaller ones."""
        if fraction not in self._parts:
            self._parts[fraction] = self.corpus.take(np.arange(math.ceil(fraction * len(self.corpus))))
        return self._parts[fraction]

    def ngram(self, order: int, fraction: float = 1.0) -> NgramModel:
        """Return the model of a fraction of the text."""
        if (order, fraction) not in self._models:
            self._models[order, fraction] = NgramModel(order, max_length=_MAX_LENGTH).fit(self.part(fraction))
        return self._models[order, fraction]

    def modes(self) -> list[NgramModel]:
        """Return models of four kinds of texts: short or long, of common or rare words."""
        if not self._modes:
            self._modes = [
                NgramModel(3, max_length=_MAX_LENGTH).fit(self.corpus.take(rows)) for rows in four_kinds(self.corpus)
            ]
        return self._modes


Pair = tuple[ScoredGenerator, ScoredGenerator, Corpus | None]  # p, q, and what q was fitted to


def _growth(text: _Text, order: int, fraction: float) -> Pair:
    return text.ngram(order), text.ngram(order, fraction), text.part(fraction)


def _orders(text: _Text, real: int, generated: int) -> Pair:
    return text.ngram(real), text.ngram(generated), text.corpus


def _temperature(text: _Text, order: int, temperature: float) -> Pair:
    return text.ngram(order), AtTemperature(text.ngram(order), temperature), text.corpus


def _shares(text: _Text, weights: Sequence[float]) -> Pair:
    rows = [rows for rows, weight in zip(four_kinds(text.corpus), weights, strict=True) if weight > 0]
    train = text.corpus if len(rows) == len(weights) else text.corpus.take(np.concatenate(rows))
    return Mixture(text.modes(), [0.25] * 4), Mixture(text.modes(), weights), train


def _dilution(text: _Text, share: float, order: int) -> Pair:
    real = text.ngram(4)
    return real, Mixture([real, text.ngram(order)], [share, 1 - share]), text.corpus


def _position(text: _Text) -> Pair:
    return text.ngram(4), PositionUnigram().fit(text.corpus), text.corpus


def _identical(text: _Text, order: int) -> Pair:
    return text.ngram(order), text.ngram(order), text.corpus


def _disjoint(text: _Text) -> Pair:
    vocabulary = text.corpus.vocabulary
    suffixes = _free_suffixes(vocabulary)
    real, generated = (Renamed(text.ngram(4), vocabulary, suffix) for suffix in suffixes)
    return real, generated, None


def _learnt(text: _Text, order: int, fraction: float, temperature: float = 1.0) -> Pair:
    """Return a model of all text, and one of as many of its draws as a fraction of the text has sentences."""
    real = text.ngram(_REAL_ORDER)
    train = real.sample(math.ceil(fraction * len(text.corpus)), seed=_key(text.seed, "learnt"))
    generated = NgramModel(order, max_length=_MAX_LENGTH).fit(train)
    return real, generated if temperature == 1 else AtTemperature(generated, temperature), train


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

# Those that are measured where they are named
_LEARNT: Mapping[str, tuple[str, str, bool, Callable[[_Text], Pair]]] = {
    **{
        f"learnt-{order}-{fraction:g}": (
            f"learnt-{order}",
            "learnt",
            True,
            partial(_learnt, order=order, fraction=fraction),
        )
        for order, fractions in ((3, (0.125, 0.25, 0.5)), (2, (0.5,)), (5, (0.5,)))
        for fraction in fractions
    },
    "learnt-5-0.5-at-0.8": (
        "learnt-at-0.8",
        "learnt",
        False,
        partial(_learnt, order=_REAL_ORDER, fraction=0.5, temperature=0.8),
    ),
}

PAIR_NAMES = tuple(_MAKERS)
LEARNT_NAMES = tuple(_LEARNT)


def known_truth_pairs(
    corpus: Corpus, seed: int, names: Sequence[str] = PAIR_NAMES, *, extra: Sequence[KnownTruthPair] = ()
) -> list[KnownTruthPair]:
    """Return pairs of known truth built from a corpus."""
    if len(corpus) < _AT_LEAST:
        raise TooFewSentencesError(f"worlds need at least {_AT_LEAST} texts, got {len(corpus)}")
    if seed < 0:
        raise OptionError(f"seed must be at least 0, got {seed}")
    makers = {**_MAKERS, **_LEARNT}
    for name in names:
        if name not in makers:
            raise unknown_name("world", name, makers)
    text = _Text(corpus, seed)
    pairs = []
    for name in names:
        family, kind, grows, make = makers[name]
        p, q, train = make(text)
        pairs.append(KnownTruthPair(name, family, kind, p, q, grows=grows, train=train))
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
