"""Exposure bias of a generator on a text, by all measures, run by run, with a store for finished cells.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4.1 (prefixes of 5 to 30
tokens in sentences of one length) to 4.4; Arora et al., "Why Exposure Bias Matters", Findings of ACL 2022, for the
accumulated error.
Departs from them: the paper does not give its sentence length; by default it is the median length, at most 50 tokens,
and prefixes have up to six tenths of it.
"""

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from textassay.comparison.measure import EstimateStore, Progress, estimate_key
from textassay.corpus.corpus import Corpus, Texts
from textassay.corpus.texts import as_texts
from textassay.display import Displayed
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.estimate import Interval, json_ready
from textassay.metric.base import check_level
from textassay.ngram.language_model import LanguageModel, tokens_in
from textassay_lab.exposure.bias import CgdCurve, EbC, ExcessError, cgd_curve, eb_c, excess_error, run_seed
from textassay_lab.exposure.bleu import (
    ORDER,
    BleuRun,
    EbBleu,
    NotForTranslationError,
    check_not_translation,
    eb_bleu_of_runs,
    measure_bleu_run,
)
from textassay_lab.exposure.distance import Distance
from textassay_lab.exposure.runs import PrefixRun, measure_run, parse_kind
from textassay_lab.exposure.switching import SwitchedSample, switch_prefixes
from textassay_lab.exposure.translation import TranslationCurve, translation_eb_c
from textassay_lab.generator.next_words import Ends, check_ends
from textassay_lab.generator.parallel import ParallelText
from textassay_lab.generator.prefixes import blocks as cut_blocks
from textassay_lab.generator.prefixes import n_long_enough
from textassay_lab.generator.ready import Model, label, open_generator, precision_of
from textassay_lab.generator.text_generator import TextGenerator
from textassay_lab.generator.text_likelihood import Quantity, text_likelihood

LONGEST = 50  # largest default sentence length, in tokens: room for the paper's prefixes of 5 to 30
_N_LENGTHS = 6


@dataclass(frozen=True)
class ChosenLengths:
    """Prefix lengths and sentence length of a measurement."""

    lengths: tuple[int, ...]  # Tokens of the prefixes, ascending, each at least 1
    sentence_length: int  # Tokens at which all sentences are cut, at least 3 more than the longest prefix
    n_left: Mapping[int, int]  # Length to number of sentences that are as long, for `lengths` and `sentence_length`
    n_sentences: int  # Sentences of the whole text
    n_usable: int  # Sentences that can give a prefix or a reference


def choose_lengths(
    text: Corpus,
    lengths: Sequence[int] | None = None,
    sentence_length: int | None = None,
    *,
    ends: Ends = "excluded",
) -> ChosenLengths:
    """Return the lengths given, or lengths that suit the text, and how many sentences are left at each."""
    check_ends(ends)
    chosen = None if lengths is None else tuple(sorted(set(lengths)))
    if chosen is not None and (not chosen or chosen[0] < 1):
        raise OptionError(f"prefixes must have at least 1 token, got {', '.join(map(str, chosen)) or 'none'}")
    length_cut = sentence_length
    if length_cut is None:
        common = int(np.sort(text.lengths)[len(text) // 2]) if len(text) else 0
        length_cut = max(min(LONGEST, common), ORDER + (1 if chosen is None else chosen[-1]))
    if chosen is None:
        step = max(1, length_cut // 10)
        chosen = tuple(step * k for k in range(1, _N_LENGTHS + 1) if step * k <= length_cut - ORDER)
    counts = _length_counts(text, (*chosen, length_cut, *((chosen[-1] + ORDER,) if chosen else ())))
    if not chosen or chosen[-1] > length_cut - ORDER:
        longest = chosen[-1] if chosen else 1
        raise OptionError(
            f"continuations need at least {ORDER} tokens; sentences of {length_cut} tokens leave "
            f"{max(length_cut - longest, 0)} after a prefix of {longest}. Choose shorter prefixes or longer "
            f"sentences ({counts})"
        )
    n_usable = n_long_enough(text, length_cut if ends == "excluded" else chosen[-1] + 1)
    if n_usable < 2:
        raise TooFewSentencesError(
            f"{n_usable:,} of {len(text):,} sentences are long enough for prefixes of {chosen[-1]} tokens in "
            f"sentences of {length_cut}; at least 2 are needed. Choose shorter prefixes or sentences ({counts})"
        )
    n_left = {length: n_long_enough(text, length) for length in (*chosen, length_cut)}
    return ChosenLengths(chosen, length_cut, n_left, len(text), n_usable)


def _length_counts(text: Corpus, lengths: Sequence[int]) -> str:
    """Return, in words, how many sentences have at least each number of tokens."""
    parts = [f"{n_long_enough(text, length):,} have {length} tokens" for length in sorted(set(lengths))]
    return f"of {len(text):,} sentences, {', '.join(parts)} or more"


Keep = Callable[[Mapping[str, Any], Callable[[], Any]], Any]
"""Returns the JSON-ready document of a cell: the one stored under its settings, or the result of the function."""

DATA = "data"
MODEL = "model"
ORACLE = "oracle"


@dataclass(frozen=True)
class ExposureSettings:
    """Settings of a measurement."""

    # Kinds of prefixes to compare with prefixes of data: ``model``, ``shuffled``, ``random``, ``corrupted:RATE``
    kinds: tuple[str, ...] = (MODEL, "shuffled")
    # Continuations and references of EB-bleu in each run, if the text allows; sequences of EB-C
    n: int = 10_000
    # Runs of EB-bleu and of EB-C, at least 1
    bleu_runs: int = 10
    oracle_runs: int = 5
    distances: tuple[Distance, ...] = ("tv", "js", "greedy")  # Of EB-C
    ends: Ends = "excluded"  # As for `textassay_lab.exposure.bleu.eb_bleu`
    n_shown: int = 3  # Sentences of each kind to show
    # Of intervals; of all draws
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Effect:
    """A number that shows exposure bias, after the longest prefix."""

    value: float
    interval: Interval | None
    none: float  # Without exposure bias
    n: int  # Draws of each kind behind it
    length: int  # Tokens

    @property
    def side(self) -> int:
        """1 where the interval lies above `none`, which is exposure bias, -1 where below, 0 where it leaves it open."""
        if self.interval is None:
            return 0
        return int(self.interval.low > self.none) - int(self.interval.high < self.none)


@dataclass(frozen=True)
class Exposure(Displayed, document="textassay_lab.exposure.document:exposure_document"):
    """Exposure bias of one model by all measures."""

    # Names; without an oracle there is no EB-C
    model: str
    oracle: str | None
    settings: ExposureSettings
    lengths: ChosenLengths
    unknown_share: float  # Share of the text's tokens that are unknown to the model, in [0, 1]
    bleu: Mapping[str, EbBleu]  # Kind of prefix to EB-bleu
    # Distance to kind of prefix, ``data`` among those of `cgd`, to CGD and to EB-C
    cgd: Mapping[str, Mapping[str, CgdCurve]] = field(default_factory=dict)
    rates: Mapping[str, Mapping[str, EbC]] = field(default_factory=dict)
    # Kind of prefix to the share of sequences where several words were equally likeliest, at the length with most of
    # them
    ties: Mapping[str, float] = field(default_factory=dict)
    excess: ExcessError | None = None  # Accumulated error over every length up to the longest
    # ``model`` and, with an oracle, ``oracle``, to the perplexity of the text; left out where it has none
    perplexity: Mapping[str, Quantity] = field(default_factory=dict)
    samples: tuple[SwitchedSample, ...] = ()  # Sentences after prefixes of every kind
    notes: tuple[str, ...] = ()  # What is undefined or was not measured, and why

    @property
    def effects(self) -> dict[str, Effect]:
        """What verdicts come from: ``EB-C`` (first distance), ``EB-bleu``, ``excess error``, as measured."""
        settings, longest = self.settings, self.lengths.lengths[-1]
        n_sequences = settings.n * settings.oracle_runs
        effects = {}
        rate, bleu = self.rates.get(settings.distances[0], {}).get(MODEL), self.bleu.get(MODEL)
        if rate is not None:
            effects["EB-C"] = Effect(float(rate.values[-1]), rate.intervals[-1], 1.0, n_sequences, longest)
        if bleu is not None:
            n = bleu.n_sentences * settings.bleu_runs
            effects["EB-bleu"] = Effect(float(bleu.values[-1]), bleu.intervals[-1], 1.0, n, longest)
        if self.excess is not None:
            value, bounds = float(self.excess.values[-1]), self.excess.intervals[-1]
            effects["excess error"] = Effect(value, bounds, 0.0, n_sequences, self.excess.lengths[-1])
        return effects

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready values; NaN and infinity become None."""
        n_left = {str(length): n for length, n in self.lengths.n_left.items()}
        document: dict[str, Any] = json_ready(
            {
                "version": version("textassay"),
                "model": self.model,
                "oracle": self.oracle,
                "settings": self.settings.__dict__,
                "text": {**self.lengths.__dict__, "n_left": n_left, "unknown_share": self.unknown_share},
                "eb_bleu": {kind: found.to_dict() for kind, found in self.bleu.items()},
                "cgd": {name: {k: curve.to_dict() for k, curve in of.items()} for name, of in self.cgd.items()},
                "eb_c": {name: {k: curve.to_dict() for k, curve in of.items()} for name, of in self.rates.items()},
                "ties": self.ties,
                "excess_error": None if self.excess is None else self.excess.to_dict(),
                "perplexity": {name: quantity.to_dict() for name, quantity in self.perplexity.items()},
                "samples": [sample.__dict__ for sample in self.samples],
                "notes": self.notes,
            }
        )
        return document


def measure_exposure(
    model: LanguageModel,
    text: Corpus,
    lengths: ChosenLengths,
    settings: ExposureSettings,
    *,
    oracle: LanguageModel | None = None,
    keep: Keep | None = None,
    progress: Progress | None = None,
) -> Exposure:
    """Measure the exposure bias of one model in every way that the settings name."""
    check_not_translation(model)
    check_level(settings.level)
    if min(settings.bleu_runs, settings.oracle_runs, settings.n) < 1:
        raise OptionError(
            f"runs and samples must be at least 1, got {settings.bleu_runs}, {settings.oracle_runs} and {settings.n}"
        )
    for kind in settings.kinds:
        parse_kind(kind)
    kinds = tuple(dict.fromkeys((DATA, *settings.kinds)))
    n_cells = settings.bleu_runs * len(kinds)
    n_cells += 0 if oracle is None else settings.oracle_runs * len(kinds)
    cells = _Cells(keep, progress, n_cells)
    notes: list[str] = []
    with _noting(notes):
        samples: tuple[SwitchedSample, ...] = ()
        if settings.n_shown:
            samples = _samples(model, text, lengths, settings, kinds)
        exposure = Exposure(
            model=model.name,
            oracle=None if oracle is None else oracle.name,
            settings=settings,
            lengths=lengths,
            unknown_share=text.unk_rate,
            bleu=_bleu(model, text, lengths, settings, kinds, cells),
            samples=samples,
        )
        if oracle is not None:
            exposure = replace(exposure, **_against_oracle(model, oracle, lengths, settings, kinds, cells))
        sides = {MODEL: model} if oracle is None else {MODEL: model, ORACLE: oracle}
        perplexity = {name: _perplexity(side, text, settings.level, notes) for name, side in sides.items()}
    return replace(
        exposure,
        perplexity={name: quantity for name, quantity in perplexity.items() if quantity is not None},
        notes=tuple(dict.fromkeys(notes)),
    )


class _Cells:
    """Computes each cell once, and reports progress."""

    def __init__(self, keep: Keep | None, progress: Progress | None, total: int) -> None:
        self._keep = keep
        self._progress = progress
        self._total = total
        self._done = 0

    def __call__(self, label: str, settings: Mapping[str, Any], make: Callable[[], Mapping[str, Any]]) -> Any:
        """Return the document of one cell; JSON text preserves NaN and infinity."""
        if self._progress is not None:
            self._progress(label, self._done, self._total)
        self._done += 1
        if self._keep is None:
            return make()
        kept = self._keep(settings, lambda: {"content": json.dumps(make())})
        return json.loads(kept["content"])


def _bleu(
    model: LanguageModel,
    text: Corpus,
    lengths: ChosenLengths,
    settings: ExposureSettings,
    kinds: Sequence[str],
    cells: _Cells,
) -> dict[str, EbBleu]:
    runs = []
    for number in range(settings.bleu_runs):
        options: dict[str, Any] = {
            "lengths": lengths.lengths,
            "sentence_length": lengths.sentence_length,
            "n": settings.n,
            "ends": settings.ends,
            "seed": run_seed(settings.seed, number),
        }
        parts = []
        for kind in kinds:

            def make(kind: str = kind, options: dict[str, Any] = options) -> dict[str, Any]:
                return measure_bleu_run(model, text, kinds=[kind], with_data=False, **options).to_dict()

            label = f"EB-bleu, run {number + 1}: {kind} prefixes"
            parts.append(BleuRun.from_dict(cells(label, {"measure": "EB-bleu", "prefixes": kind, **options}, make)))
        scores, errors = (
            {kind: values for part in parts for kind, values in getattr(part, name).items()}
            for name in ("scores", "errors")
        )
        runs.append(replace(parts[0], scores=scores, errors=errors))
    return {kind: eb_bleu_of_runs(runs, prefixes=kind, level=settings.level) for kind in kinds if kind != DATA}


def _against_oracle(
    model: LanguageModel,
    oracle: LanguageModel,
    lengths: ChosenLengths,
    settings: ExposureSettings,
    kinds: Sequence[str],
    cells: _Cells,
) -> dict[str, Any]:
    """Return the parts of `Exposure` that need an oracle."""
    every = tuple(range(max(lengths.lengths) + 1))  # accumulated error needs them all
    runs: dict[str, list[PrefixRun]] = {kind: [] for kind in kinds}
    for number in range(settings.oracle_runs):
        for kind in kinds:
            options: dict[str, Any] = {
                "prefixes": kind,
                "lengths": every if kind in (DATA, MODEL) else lengths.lengths,
                "n": settings.n,
                "ends": settings.ends,
                "seed": run_seed(settings.seed, number),
            }

            def make(options: dict[str, Any] = options) -> dict[str, Any]:
                return measure_run(model, oracle, **options).to_dict()

            document = cells(f"EB-C, run {number + 1}: {kind} prefixes", {"measure": "EB-C", **options}, make)
            runs[kind].append(PrefixRun.from_dict(document))
    excess = excess_error(runs[DATA], runs[MODEL], level=settings.level) if MODEL in runs else None
    at = {kind: [run.at(lengths.lengths) for run in of_kind] for kind, of_kind in runs.items()}
    return {
        "cgd": {
            name: {kind: cgd_curve(at[kind], name, level=settings.level) for kind in kinds}
            for name in settings.distances
        },
        "rates": {
            name: {kind: eb_c(at[DATA], at[kind], name, level=settings.level) for kind in kinds if kind != DATA}
            for name in settings.distances
        },
        "ties": {kind: float(np.max([run.ties for run in of_kind])) for kind, of_kind in at.items()},
        "excess": excess,
    }


def _samples(
    model: LanguageModel,
    text: Corpus,
    lengths: ChosenLengths,
    settings: ExposureSettings,
    kinds: Sequence[str],
) -> tuple[SwitchedSample, ...]:
    """Return sentences after prefixes of the middle one of the lengths, as in the paper's tables."""
    length = lengths.lengths[(len(lengths.lengths) - 1) // 2]
    n = min(settings.n_shown, lengths.n_usable)
    return switch_prefixes(
        model, text, kinds=kinds, length=length, n_tokens=lengths.sentence_length - length, n=n, seed=settings.seed,
        ends=settings.ends,
    )  # fmt: skip


def _perplexity(model: LanguageModel, text: Corpus, level: float, notes: list[str]) -> Quantity | None:
    try:
        return text_likelihood(model, text, level=level).perplexity
    except InputError as error:  # a text that is longer than the model can read
        notes.append(f"no perplexity: {error}")
        return None


@contextmanager
def _noting(notes: list[str]) -> Iterator[None]:
    """Add the warnings that are given inside the ``with`` block to `notes`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            notes += [str(warning.message) for warning in caught]


def exposure_bias(
    model: Model,
    real: Texts,
    *,
    oracle: Model | None = None,
    lengths: Sequence[int] | None = None,
    prefixes: Sequence[str] = ("model", "shuffled"),
    n_samples: int = 10_000,
    bleu_runs: int = 10,
    oracle_runs: int = 5,
    sentence_length: int | None = None,
    distances: Sequence[Distance] = ("tv", "js", "greedy"),
    ends: Ends = "excluded",
    blocks: bool = False,
    n_shown: int = 3,
    folder: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Exposure:
    """Return how much worse a language model goes on from its own words than from real ones.

    Parameters
    ----------
    model
        A fitted generator of `textassay_lab.generators` with a likelihood, or the folder of one.
    real
        Real text that the model never saw, as `textassay.compare` takes it, at least 2 texts.
    oracle
        A model of the same tokens that stands for the data: with it EB-C and the accumulated error.
    lengths
        Tokens of the prefixes; by default six lengths that suit the text.
    prefixes
        What prefixes of the data are compared with: ``model``, ``shuffled``, ``random``, ``corrupted:RATE``.
    n_samples
        Continuations and references of each run, or as many as the text allows.
    bleu_runs, oracle_runs
        Runs of EB-bleu, and of EB-C.
    sentence_length, distances, ends
        Tokens of the sentences; distances of EB-C; whether texts may end in the measure.
    blocks
        Whether the text is running text, to be cut into blocks of `sentence_length` tokens.
    n_shown
        Example texts of each kind of prefix.
    folder
        Where values are kept, so that the same call goes on; nowhere without one.
    level, seed, progress
        As in `textassay.compare`.

    Raises
    ------
    InputError, OptionError, TooFewSentencesError
        If the model knows no token of the text or was trained on it, the two models differ in tokens, or the texts are
        too few or short.
    """
    opened, truth = open_generator(model), None if oracle is None else open_generator(oracle)
    for side in (opened, truth):
        try:
            check_not_translation(None if side is None else side.model)
        except NotForTranslationError as error:
            advice = "'textassay translate --prefix-mode' shows translations after forced beginnings"
            raise NotForTranslationError(f"{error}; {advice}") from None
    if truth is not None:
        tokens = [set(side.form.vocabulary.tokens) for side in (opened, truth)]
        if tokens[0] != tokens[1]:
            raise OptionError(
                f"{label(opened)} and its oracle {label(truth)} have different vocabularies, of {len(tokens[0]):,} "
                f"and {len(tokens[1]):,} tokens, {len(tokens[0] & tokens[1]):,} in both. Train one with --like on "
                "samples of the other"
            )
    file = as_texts(real, "the text")
    corpus = opened.corpus(file)
    tokens_in(opened.form.vocabulary, corpus, generator=opened.model.name)  # raises where a text holds <eos>
    if corpus.unk_rate == 1:
        raise InputError(
            f"all tokens of {file.name} are unknown to {label(opened)}: give text in its language and tokenisation"
        )
    _check_unseen(opened, corpus, file.name)
    if blocks:
        sentence_length = LONGEST if sentence_length is None else sentence_length
        corpus = cut_blocks(corpus, sentence_length)
    elif len(corpus) == 1:
        raise TooFewSentencesError(
            f"{file.name} is one sentence, of {len(corpus.tokens):,} tokens: at least 2 are needed, for a prefix and "
            "for a reference. If it is running text, use --blocks"
        )
    settings = ExposureSettings(
        kinds=tuple(prefixes),
        n=n_samples,
        bleu_runs=bleu_runs,
        oracle_runs=oracle_runs,
        distances=tuple(distances),
        ends=ends,
        n_shown=n_shown,
        level=level,
        seed=seed,
    )
    return measure_exposure(
        opened.model,
        corpus,
        choose_lengths(corpus, lengths, sentence_length, ends=ends),
        settings,
        oracle=None if truth is None else truth.model,
        keep=None if folder is None else _keep_cells(Path(folder), opened, truth, corpus),
        progress=progress,
    )


def _check_unseen(opened: TextGenerator, corpus: Corpus, name: str) -> None:
    """Raise where the text is, or begins with, what the model was trained on, as far as its folder tells."""
    record = opened.document.get("training", {})
    seen = record.get("train") or {}
    n_seen = seen.get("sentences", 0)
    reason = (
        f"what {label(opened)} was trained on: give text that it was not trained on, since memorised text scores too "
        "well"
    )
    if corpus.fingerprint == seen.get("fingerprint"):
        raise InputError(f"{name} is {reason}")
    if 0 < n_seen < len(corpus) and corpus.take(np.arange(n_seen)).fingerprint == seen.get("fingerprint"):
        raise InputError(f"the first {n_seen} of {len(corpus)} sentences of {name} are {reason}")
    if corpus.fingerprint == (record.get("valid") or {}).get("fingerprint"):
        warnings.warn(f"{name} decided when the training of {label(opened)} stopped: give other text", stacklevel=3)


def _keep_cells(folder: Path, opened: TextGenerator, oracle: TextGenerator | None, corpus: Corpus) -> Keep:
    """Return what keeps cells of exposure bias in a folder, by the content they were computed from."""
    store = EstimateStore(folder)
    identities = [_identity(side) for side in (opened, oracle) if side is not None]

    def keep(settings: Mapping[str, Any], compute: Callable[[], Any]) -> Any:
        # EB-bleu knows no oracle, EB-C no text: what they do not depend on is left out of their keys
        known = identities[:1] if settings["measure"] == "EB-bleu" else identities
        text = corpus.fingerprint if settings["measure"] != "EB-C" else ""
        key = estimate_key(
            version("textassay"), *known, text, precision_of(opened), json.dumps(settings, sort_keys=True)
        )
        document = store.load_document(key)
        if document is None:
            document = compute()
            store.save_document(key, document)
        return document

    return keep


def _identity(opened: TextGenerator) -> str:
    """Return what tells a model from every other: what is in its folder, or, without one, what names it."""
    if not opened.document:
        return json.dumps([label(opened), opened.model.name])
    return json.dumps(
        {name: opened.document[name] for name in ("kind", "settings", "checksum", "vocabulary")}, sort_keys=True
    )


def translation_exposure_bias(
    model: Model,
    oracle: Model,
    sources: Texts,
    translations: Texts,
    lengths: Sequence[int],
    *,
    distances: Sequence[Distance] = ("tv", "js", "greedy"),
    beam: int = 10,
    level: float = 0.95,
) -> dict[str, TranslationCurve]:
    """Return how much worse a translation model goes on from its own words than from the reference, by each distance.

    Parameters
    ----------
    model, oracle
        Fitted `textassay_lab.generators.Translation`, or folders of such; the oracle stands for the data, with the same
        tokens (``like=model``).
    sources, translations
        Texts and their translations that neither saw in training.
    lengths
        Tokens to read before the next word is looked at, each at least 0.
    distances
        Of the probabilities of the next word.
    beam
        Width of the search for the model's own translations.
    level
        Of the intervals.
    """
    opened, truth = open_generator(model), open_generator(oracle)
    pairs = ParallelText(opened.corpus(sources), opened.corpus(translations))
    return translation_eb_c(opened.model, truth.model, pairs, lengths, distances=distances, width=beam, level=level)
