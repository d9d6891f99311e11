"""Worlds with prompts: real and generated answers to the same prompts, whose discrepancy given the prompt is known.

In most of them all answers together have the same distribution on both sides, so that nothing in an answer alone tells
it from a real one: only what goes with which prompt does. The generators are n-gram models of parts of a corpus.

- ``answers-topic``: real answers are of the kind of sentence that the prompt is, generated ones of a kind of their own.
- ``answers-hidden``: the same, but the prompt does not show the kind: only other answers to it do.
- ``answers-continued``: real answers go on from the prompt, generated ones from another prompt, which is not shown.
- ``answers-half``: as in ``answers-continued``, but half of the generated answers go on from the prompt itself.
- ``answers-same``: a control: both sides are of the kind that the prompt is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import OptionError, unknown_name
from textassay.ngram.model import NgramModel
from textassay.seeding import stream
from textassay_lab.generator.prefixes import continue_prefixes
from textassay_lab.meta_evaluation.known_truth import KnownTruth, truth_from_log_ratios
from textassay_lab.meta_evaluation.known_truth_pairs import N_FOR_TRUTH, four_kinds

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_ANSWERS = 5  # to a prompt, of each side
_ORDER = 4  # of the models
_PREFIX = 6  # tokens of a prompt that answers go on from
_MOST_TOKENS = 200  # of an answer that goes on from a prompt
_LONGEST = 5000  # tokens; longer than any answer of the others
_OWN_KIND = 0.9  # share of the answers that are of the kind of their prompt


@dataclass(frozen=True)
class Answered:
    """Prompts, with answers of both sides to each; what the answers of a prompt were drawn from, per prompt."""

    prompts: Corpus
    real: Corpus
    generated: Corpus
    log_ratios: tuple[FloatArray, FloatArray]  # of real and of generated answers: log p(x) - log q(x), given the prompt


class Maker(Protocol):
    """Draws prompts and answers."""

    def __call__(self, n_prompts: int, sizes: tuple[int, int], *, seed: int) -> Answered:
        """Return `n_prompts` prompts with so many real and generated answers to each."""
        ...


@dataclass(frozen=True)
class PromptedWorld:
    """Two conditional generators whose mean discrepancy over prompts is known; beside `KnownTruthPair`."""

    name: str
    make: Maker
    n_answers: int = N_ANSWERS
    kind: str = "prompted"
    family: str = "answers"
    grows: bool = False
    train: None = None
    n_truth: int = N_FOR_TRUTH

    def answered(self, n: int, *, seed: int, n_generated: int | None = None) -> Answered:
        """Return about `n` real and `n_generated` generated answers: as many prompts as give `n` real ones."""
        n_prompts = max(1, n // self.n_answers)
        n_each = self.n_answers if n_generated is None else max(1, n_generated // n_prompts)
        return self.make(n_prompts, (self.n_answers, n_each), seed=_key(seed, self.name))

    def sample(self, n: int, *, seed: int, n_generated: int | None = None) -> tuple[Corpus, Corpus]:
        """Return the answers of both sides, in groups by prompt."""
        drawn = self.answered(n, seed=seed, n_generated=n_generated)
        return drawn.real, drawn.generated

    def truth(self, n: int | None = None, *, seed: int, level: float = 0.95) -> KnownTruth:
        """Return the mean over prompts of the discrepancy, from `n` prompts (None: `n_truth`), an answer a side."""
        drawn = self.make(self.n_truth if n is None else n, (1, 1), seed=_key(seed, f"truth of {self.name}"))
        return truth_from_log_ratios(*drawn.log_ratios, level=level)


def _key(seed: int, name: str) -> int:
    return int(stream(seed, "prompted world", name).integers(2**63))


class _Kinds:
    """Answers of four kinds: short or long, of common or rarer words."""

    def __init__(self, corpus: Corpus, *, shown: bool, same: bool = False) -> None:
        self._corpus, self._shown, self._same = corpus, shown, same

    @cached_property
    def _models(self) -> list[NgramModel]:
        return [
            NgramModel(_ORDER, max_length=_LONGEST).fit(self._corpus.take(rows)) for rows in four_kinds(self._corpus)
        ]

    def __call__(self, n_prompts: int, sizes: tuple[int, int], *, seed: int) -> Answered:
        rng = stream(seed, "kinds")
        n_kinds = len(self._models)
        of_real = rng.integers(n_kinds, size=n_prompts)
        of_generated = of_real if self._same else rng.integers(n_kinds, size=n_prompts)
        of_prompts = of_real if self._shown else rng.integers(n_kinds, size=n_prompts)
        prompts = self._draw(of_prompts, seed=int(rng.integers(2**63)))
        sides = []
        for kinds, size in ((of_real, sizes[0]), (of_generated, sizes[1])):
            wanted = np.repeat(kinds, size)
            other = rng.random(len(wanted)) >= _OWN_KIND
            wanted = np.where(other, (wanted + rng.integers(1, n_kinds, size=len(wanted))) % n_kinds, wanted)
            answers = self._draw(wanted, seed=int(rng.integers(2**63)))
            sides.append(replace(answers, groups=np.repeat(np.arange(n_prompts), size)))
        log_ratios = tuple(self._log_prob(side, of_real) - self._log_prob(side, of_generated) for side in sides)
        return Answered(_numbered(prompts), sides[0], sides[1], (log_ratios[0], log_ratios[1]))

    def _draw(self, kinds: IntArray, *, seed: int) -> Corpus:
        """Return a text of each kind that `kinds` lists."""
        parts, rows = [], []
        for kind, model in enumerate(self._models):
            chosen = np.flatnonzero(kinds == kind)
            if len(chosen):
                parts.append(model.sample(len(chosen), seed=int(stream(seed, "kind", kind).integers(2**63))))
                rows.append(chosen)
        return Corpus.concatenate(parts).take(np.argsort(np.concatenate(rows)))

    def _log_prob(self, answers: Corpus, kinds: IntArray) -> FloatArray:
        """Return the log-probability of each answer where its prompt's answers are of the kind that `kinds` says."""
        assert answers.groups is not None
        n_kinds = len(self._models)
        shares = np.full((n_kinds, n_kinds), (1 - _OWN_KIND) / (n_kinds - 1))
        np.fill_diagonal(shares, _OWN_KIND)
        scores = np.stack([model.log_prob(answers) for model in self._models], axis=1)
        return np.asarray(logsumexp(scores + np.log(shares[kinds[answers.groups]]), axis=1))


class _Continued:
    """Answers that go on from the first words of a sentence, which is the prompt."""

    def __init__(self, corpus: Corpus, *, share_right: float = 0.0) -> None:
        self._corpus, self._share = corpus, share_right

    @cached_property
    def _model(self) -> NgramModel:
        return NgramModel(_ORDER).fit(self._corpus)

    def __call__(self, n_prompts: int, sizes: tuple[int, int], *, seed: int) -> Answered:
        rng = stream(seed, "continued")
        empty = np.empty((2 * n_prompts, 0), dtype=np.int64)
        drawn = continue_prefixes(self._model, empty, _PREFIX, seed=int(rng.integers(2**63)))
        own, hidden = drawn[:n_prompts], drawn[n_prompts:]
        real_from = np.repeat(own, sizes[0], axis=0)
        right = rng.random(n_prompts * sizes[1]) < self._share
        generated_from = np.where(right[:, None], np.repeat(own, sizes[1], axis=0), np.repeat(hidden, sizes[1], axis=0))
        sides, log_ratios = [], []
        for begins, size in ((real_from, sizes[0]), (generated_from, sizes[1])):
            rows = continue_prefixes(
                self._model, begins, _MOST_TOKENS, seed=int(rng.integers(2**63)), ends="absorbing"
            )[:, _PREFIX:]  # fmt: skip
            lengths = (rows != EOS).sum(axis=1)
            scores = [self._log_prob(np.repeat(begin, size, axis=0), rows, lengths) for begin in (own, hidden)]
            with np.errstate(divide="ignore"):
                mixed = np.logaddexp(scores[0] + np.log(self._share), scores[1] + np.log1p(-self._share))
            log_ratios.append(scores[0] - mixed)
            sides.append(self._corpus_of(rows, lengths, np.repeat(np.arange(n_prompts), size)))
        prompts = self._corpus_of(own, np.full(n_prompts, _PREFIX), np.arange(n_prompts))
        return Answered(prompts, sides[0], sides[1], (log_ratios[0], log_ratios[1]))

    def _log_prob(self, begins: IntArray, rows: IntArray, lengths: IntArray) -> FloatArray:
        """Return the log-probability of answers after these beginnings; the end of those that were cut is none."""
        joined = np.concatenate([begins, rows], axis=1)
        texts = self._corpus_of(joined, _PREFIX + lengths, None)
        scores = self._model.token_log_probs(texts)
        text = np.repeat(np.arange(len(texts)), texts.lengths + 1)
        place = np.arange(len(scores)) - np.repeat(
            np.cumsum(texts.lengths + 1) - (texts.lengths + 1), texts.lengths + 1
        )
        used = (place >= _PREFIX) & (place < _PREFIX + _MOST_TOKENS)
        return _sums(text[used], scores[used], len(texts))

    def _corpus_of(self, rows: IntArray, lengths: IntArray, groups: IntArray | None) -> Corpus:
        vocabulary, name = self._model.vocabulary, self._model.tokenizer
        tokens = rows[np.arange(rows.shape[1]) < lengths[:, None]].astype(np.int32)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        words = vocabulary.decode(tokens)
        texts = [join_tokens(name, words[begin:end]) for begin, end in pairwise(offsets.tolist())]
        return Corpus(tokens, offsets, vocabulary, PackedTexts.of(texts), tokenizer=name, groups=groups)


def _sums(places: IntArray, values: FloatArray, n: int) -> FloatArray:
    return np.asarray(np.bincount(places, weights=values, minlength=n), dtype=np.float64)


def _numbered(prompts: Corpus) -> Corpus:
    return replace(prompts, groups=np.arange(len(prompts)))


_MAKERS: Mapping[str, tuple[str, Callable[[Corpus], Maker]]] = {
    "answers-topic": ("prompted", partial(_Kinds, shown=True)),
    "answers-hidden": ("prompted", partial(_Kinds, shown=False)),
    "answers-continued": ("prompted", _Continued),
    "answers-half": ("prompted", partial(_Continued, share_right=0.5)),
    "answers-same": ("identical", partial(_Kinds, shown=True, same=True)),
}
PROMPTED_NAMES = tuple(_MAKERS)


def prompted_worlds(
    corpus: Corpus, seed: int, names: Sequence[str] = PROMPTED_NAMES, *, n_answers: int = N_ANSWERS
) -> list[PromptedWorld]:
    """Return worlds with prompts built from a corpus, with `n_answers` real answers to each."""
    if n_answers < 1:
        raise OptionError(f"answers must be at least 1, got {n_answers}")
    shuffled = corpus.take(stream(seed, "worlds", "order").permutation(len(corpus)))
    worlds = []
    for name in names:
        if name not in _MAKERS:
            raise unknown_name("world", name, _MAKERS)
        kind, maker = _MAKERS[name]
        worlds.append(PromptedWorld(name, maker(shuffled), n_answers, kind))
    return worlds
