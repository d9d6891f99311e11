"""All measures of exposure bias of one model, run by run, with a store for finished cells.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4.1 to 4.4; Arora et al.,
"Why Exposure Bias Matters", Findings of ACL 2022, for the accumulated error.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.display import Displayed
from textassay.errors import InputError, OptionError
from textassay.estimate import Interval, json_ready
from textassay.metric.base import check_level
from textassay.ngram.language_model import LanguageModel
from textassay_lab.exposure.bias import CgdCurve, EbC, ExcessError, cgd_curve, eb_c, excess_error, run_seed
from textassay_lab.exposure.bleu import BleuRun, EbBleu, check_not_translation, eb_bleu_of_runs, measure_bleu_run
from textassay_lab.exposure.discrepancy import EbDd, eb_dd
from textassay_lab.exposure.distance import Distance
from textassay_lab.exposure.lengths import ChosenLengths
from textassay_lab.exposure.runs import PrefixRun, measure_run, parse_kind
from textassay_lab.exposure.switching import SwitchedSample, switch_prefixes
from textassay_lab.generator.next_words import Ends
from textassay_lab.generator.text_likelihood import Quantity, text_likelihood

Keep = Callable[[Mapping[str, Any], Callable[[], Any]], Any]
"""Returns the JSON-ready document of a cell: the one stored under its settings, or the result of the function."""

Progress = Callable[[str, int, int], None]

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
    with_dd: bool = False  # Whether to measure EB-DD
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
    dd: tuple[EbDd, ...] = ()  # EB-DD at each length
    # ``model`` and, with an oracle, ``oracle``, to the perplexity of the text; left out where it has none
    perplexity: Mapping[str, Quantity] = field(default_factory=dict)
    samples: tuple[SwitchedSample, ...] = ()  # Sentences after prefixes of every kind
    notes: tuple[str, ...] = ()  # What is undefined or was not measured, and why

    @property
    def effects(self) -> dict[str, Effect]:
        """What verdicts come from: ``EB-C`` (first distance), ``EB-bleu``, ``excess error``, ``EB-DD``, as measured."""
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
        if self.dd:
            dd = self.dd[-1]
            effects["EB-DD"] = Effect(dd.difference, dd.interval, 0.0, dd.n_sentences, dd.length)
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
                "eb_dd": [found.to_dict() for found in self.dd],
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
    n_cells += len(lengths.lengths) if settings.with_dd else 0
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
        if settings.with_dd:
            exposure = replace(exposure, dd=_dd(model, oracle, text, lengths, settings, cells))
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


def _dd(
    model: LanguageModel,
    oracle: LanguageModel | None,
    text: Corpus,
    lengths: ChosenLengths,
    settings: ExposureSettings,
    cells: _Cells,
) -> tuple[EbDd, ...]:
    results = []
    for length in lengths.lengths:
        options: dict[str, Any] = {
            "length": length,
            "sentence_length": lengths.sentence_length,
            "n": settings.n,
            "ends": settings.ends,
            "level": settings.level,
            "seed": settings.seed,
        }

        def make(options: dict[str, Any] = options) -> dict[str, Any]:
            return eb_dd(model, text, oracle=oracle, **options).to_dict()

        document = cells(f"EB-DD after {length} tokens", {"measure": "EB-DD", **options}, make)
        results.append(EbDd.from_dict(document))
    return tuple(results)


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
