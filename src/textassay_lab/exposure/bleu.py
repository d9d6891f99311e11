"""EB-bleu: how much better a model continues real prefixes than its own.

A continuation is scored without its prefix, by its mean sentence BLEU-3 against the same positions of unseen real text.
``EB-bleu(M, l) = C-bleu(M|D) / C-bleu(M|M)``; above 1, real prefixes help.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, equation (2), section 4.1.
Departs from it: sentences that give prefixes are not references, since a continuation would match its own sentence; at
most half of the held-out text gives prefixes, and as many sentences give references. Where sentences have groups, such
as documents, prefixes and references come from different groups.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, Vocabulary
from textassay.corpus.split import halves
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.estimate import Interval, json_ready
from textassay.execution.threads import parallel_map
from textassay.metric.base import check_level
from textassay.metric.bleu import score_sentences
from textassay.ngram.language_model import LanguageModel
from textassay.ngram.matches import match_references
from textassay.seeding import stream
from textassay_lab.exposure.bias import run_seed
from textassay_lab.exposure.runs import parse_kind, run_interval, sd_of_runs
from textassay_lab.generator.conditional import ContextSettings
from textassay_lab.generator.next_words import Ends, as_corpus, check_ends, model_vocabulary
from textassay_lab.generator.prefixes import (
    chosen_sentences,
    continue_prefixes,
    corrupted,
    first_tokens_of,
    model_prefixes,
    random_prefixes,
    shuffled,
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ORDER = 3


class NotForTranslationError(InputError):
    """The model translates, or answers a source in another way, so EB-bleu is not defined for it."""


@dataclass(frozen=True)
class BleuRun:
    """Mean sentence BLEU of continuations in one run."""

    lengths: tuple[int, ...]  # Tokens of the prefixes, K numbers
    # By kind of prefix, ``data`` among them unless it was left out: mean BLEU, a fraction, and its standard error over
    # sentences with the references as they are, shapes (K,)
    scores: dict[str, FloatArray]
    errors: dict[str, FloatArray]
    # Continuations of each kind, and references, at the longest prefix that all can have
    n_sentences: int
    n_references: int

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict without loss of precision."""
        return {
            "lengths": list(self.lengths),
            "scores": {kind: values.tolist() for kind, values in self.scores.items()},
            "errors": {kind: values.tolist() for kind, values in self.errors.items()},
            "n_sentences": self.n_sentences,
            "n_references": self.n_references,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "BleuRun":
        """Return the run that `to_dict` gave as `data`."""
        scores, errors = (
            {kind: np.array(values, dtype=np.float64) for kind, values in data[part].items()}
            for part in ("scores", "errors")
        )
        return cls(tuple(data["lengths"]), scores, errors, data["n_sentences"], data["n_references"])


@dataclass(frozen=True)
class EbBleu:
    """EB-bleu at each prefix length, over R runs."""

    prefixes: str  # What data prefixes are compared with: ``model`` or another kind
    lengths: tuple[int, ...]  # K numbers
    # Mean of the ratios of the runs, and their standard deviation (NaN for one run), shapes (K,)
    values: FloatArray
    sd: FloatArray
    runs: FloatArray  # Ratios, shape (R, K)
    # C-bleu after prefixes of data and of `prefixes`, fractions, shapes (K,)
    data: FloatArray
    data_sd: FloatArray
    other: FloatArray
    other_sd: FloatArray
    # Of the values: Student's t over runs; of one run the delta method over its sentences
    intervals: tuple[Interval | None, ...]
    sd_sentences: FloatArray  # Standard error of a run's ratio over its sentences, shape (K,)
    # Mean over the lengths
    average: float
    average_interval: Interval | None
    # In each run
    n_sentences: int
    n_references: int

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready values; NaN becomes None."""
        document: dict[str, Any] = json_ready(self.__dict__)
        return document


def eb_bleu(
    model: LanguageModel,
    text: Corpus,
    *,
    lengths: Sequence[int],
    sentence_length: int,
    n: int = 10_000,
    n_runs: int = 10,
    prefixes: str = "model",
    ends: Ends = "excluded",
    level: float = 0.95,
    seed: int = 0,
) -> EbBleu:
    """Return EB-bleu of a model.

    `sentence_length`: tokens at which all sentences are cut; under ``excluded`` shorter sentences are not used.
    `prefixes`: compared with prefixes of data: ``model``, ``shuffled``, ``random`` or ``corrupted:RATE``.
    """
    if n_runs < 1:
        raise OptionError(f"n_runs must be at least 1, got {n_runs}")
    settings: dict[str, Any] = {"lengths": lengths, "sentence_length": sentence_length, "n": n, "ends": ends}
    runs = [
        measure_bleu_run(model, text, kinds=[prefixes], seed=run_seed(seed, run), **settings) for run in range(n_runs)
    ]
    return eb_bleu_of_runs(runs, prefixes=prefixes, level=level)


def measure_bleu_run(
    model: LanguageModel,
    text: Corpus,
    *,
    kinds: Sequence[str],
    lengths: Sequence[int],
    sentence_length: int,
    n: int,
    ends: Ends = "excluded",
    seed: int = 0,
    with_data: bool = True,
    score: Callable[[IntArray, IntArray, Vocabulary], FloatArray] | None = None,
) -> BleuRun:
    """Return C-bleu after prefixes of data and of `kinds` in one run; see `eb_bleu`.

    Without `with_data`, prefixes of data are left out; kinds do not depend on each other and can be measured
    separately.
    `score` maps ids of continuations, of references and the vocabulary to one score per continuation; by default
    BLEU-3.
    """
    _check(model, text, lengths, sentence_length, n, ends)
    parsed = {kind: parse_kind(kind) for kind in kinds}
    vocabulary = model_vocabulary(model)

    def seed_for(purpose: str) -> int:
        return int(stream(seed, "EB-bleu", purpose).integers(2**62))

    usable = text.take(np.flatnonzero(text.lengths >= (sentence_length if ends == "excluded" else max(lengths) + 1)))
    if len(usable) < 2:
        raise TooFewSentencesError(
            f"{len(usable):,} of {len(text):,} sentences have {sentence_length} tokens; at least 2 are needed, one "
            "for a prefix and one for a reference. Choose shorter sentences"
        )
    sides = _two_sides(usable, n, seed=seed_for("data"))
    n = len(sides[0])
    data, references = (first_tokens_of(usable, part, sentence_length) for part in sides)
    own = data[:0]
    if any(name in ("model", "corrupted") for name, _ in parsed.values()):
        own = model_prefixes(model, sentence_length, n, seed=seed_for("model"), ends=ends)

    def sentences(name: str, rate: float, length: int) -> IntArray:
        """Return sentences of the model, shape (n, sentence_length), that begin with `length` tokens of a kind."""
        if name == "model":
            return own
        begin = data[:, :length]
        if name == "shuffled":
            begin = shuffled(begin, seed=seed_for(f"shuffled {length}"))
        elif name == "random":
            begin = random_prefixes(len(vocabulary), length, n, seed=seed_for(f"random {length}"))
        elif name == "corrupted":
            begin = corrupted(own[:, :length], rate, len(vocabulary), seed=seed_for(f"corrupted {length}"))
        return continue_prefixes(
            model, begin, sentence_length - length, seed=seed_for(f"continued {name} {length}"), ends=ends
        )

    scores_of: dict[str, list[tuple[float, float]]] = {kind: [] for kind in (*(["data"] * with_data), *kinds)}
    tasks: list[tuple[str, IntArray, IntArray]] = []
    for length in lengths:
        for kind in scores_of:
            rows = sentences(*parsed.get(kind, ("data", 0.0)), length)
            continues = (rows[:, : length + 1] != EOS).all(axis=1)
            if not continues.any():
                raise TooFewSentencesError(f"{model.name}: no sentence goes on after {length} tokens")
            tasks.append((kind, rows[continues, length:], references[:, length:]))
    measure = score or continuation_scores
    for (kind, _, _), scores in zip(
        tasks, parallel_map(lambda task: measure(task[1], task[2], vocabulary), tasks), strict=True
    ):
        error = float(scores.std(ddof=1)) / math.sqrt(len(scores)) if len(scores) > 1 else math.nan
        scores_of[kind].append((math.fsum(scores) / len(scores), error))
    return BleuRun(
        tuple(lengths),
        {kind: np.array([value for value, _ in values]) for kind, values in scores_of.items()},
        {kind: np.array([error for _, error in values]) for kind, values in scores_of.items()},
        n,
        n,
    )


def _two_sides(text: Corpus, n: int, *, seed: int) -> tuple[IntArray, IntArray]:
    """Return the row numbers of up to `n` sentences for prefixes and of as many for references.

    No group (document, overlapping blocks) is on both sides: a continuation would match names of its own document.
    """
    if text.groups is None:
        order = chosen_sentences(text, 0, 2 * min(n, len(text) // 2), seed=seed)
        return order[: len(order) // 2], order[len(order) // 2 :]
    if len(np.unique(text.groups)) < 2:
        raise TooFewSentencesError(
            "prefixes and references need at least one group each, but all texts are in one group"
        )
    sides = halves(len(text), stream(seed, "groups"), text.groups)
    n = min(n, *map(len, sides))
    first, second = (stream(seed, "side", k).permutation(side)[:n] for k, side in enumerate(sides))
    return first, second


def eb_bleu_of_runs(runs: Sequence[BleuRun], *, prefixes: str = "model", level: float = 0.95) -> EbBleu:
    """Return EB-bleu from its runs, at least one."""
    check_level(level)
    if not runs:
        raise InputError("EB-bleu needs at least one run")
    data, other = (np.stack([run.scores[kind] for run in runs]) for kind in ("data", prefixes))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(other > 0, data / other, np.nan)
        relative = [
            np.stack([run.errors[kind] / run.scores[kind] for run in runs]) for kind in ("data", prefixes)
        ]  # fmt: skip
        errors = np.abs(ratios) * np.sqrt(relative[0] ** 2 + relative[1] ** 2)  # (runs, lengths)
    average = ratios.mean(axis=1)
    together = np.sqrt((errors**2).sum(axis=1)) / len(ratios[0])

    def interval(numbers: FloatArray, error: float) -> Interval | None:
        return run_interval(numbers, error, units="sentences", level=level, low=0.0)

    return EbBleu(
        prefixes=prefixes,
        lengths=runs[0].lengths,
        values=ratios.mean(axis=0),
        sd=sd_of_runs(ratios),
        runs=ratios,
        data=data.mean(axis=0),
        data_sd=sd_of_runs(data),
        other=other.mean(axis=0),
        other_sd=sd_of_runs(other),
        intervals=tuple(map(interval, ratios.T, errors[0].tolist())),
        sd_sentences=np.sqrt((errors**2).mean(axis=0)),
        average=float(average.mean()),
        average_interval=interval(average, float(together[0])),
        n_sentences=min(run.n_sentences for run in runs),
        n_references=min(run.n_references for run in runs),
    )


def continuation_scores(continuations: IntArray, references: IntArray, vocabulary: Vocabulary) -> FloatArray:
    """Return BLEU-3 of each continuation, shape (N,), in [0, 1], each against all references.

    `continuations`, `references`: ids, shapes (N, m) and (M, m); tokens after an ``<eos>`` are not scored.

    Smoothing by method 1 (epsilon 0.1), closest reference length; see `textassay.metric.bleu.bleu`.
    """
    generated, real = (as_corpus(rows, vocabulary) for rows in (continuations, references))
    groups = np.zeros(len(real), dtype=np.int64)
    matches = match_references(generated, real, max_order=ORDER, groups=groups)
    return np.ascontiguousarray(score_sentences(generated, matches, real.lengths, groups).values[:, ORDER - 1])


def check_not_translation(model: object) -> None:
    """Raise `NotForTranslationError` if the model needs a source, `InputError` if it answers a context."""
    if isinstance(model, ContextSettings):
        name = getattr(model, "name", "the model")
        raise InputError(f"exposure bias is defined for models of free text, such as lstm, but {name} needs a context")
    if getattr(model, "needs_source", False):
        raise NotForTranslationError(
            f"EB-bleu is not defined for {getattr(model, 'name', 'this model')}, which translates a source. A prefix "
            "of the reference reveals the rest of it, while other correct translations score low; use EB-C"
        )


def _check(
    model: LanguageModel, text: Corpus, lengths: Sequence[int], sentence_length: int, n: int, ends: Ends
) -> None:
    check_not_translation(model)
    check_ends(ends)
    if not lengths or min(lengths) < 0 or n < 1:
        raise OptionError(f"prefix lengths must be at least 0 and n at least 1, got {list(lengths)} and {n}")
    if sentence_length - max(lengths) < ORDER:
        raise OptionError(
            f"a continuation needs at least {ORDER} tokens to be scored: a prefix of {max(lengths)} of "
            f"{sentence_length} tokens leaves {sentence_length - max(lengths)}"
        )
    vocabulary = model_vocabulary(model)
    if text.vocabulary is not vocabulary and text.vocabulary.tokens != vocabulary.tokens:
        raise OptionError(f"{model.name} and the real text have different vocabularies: use text.with_vocabulary")
