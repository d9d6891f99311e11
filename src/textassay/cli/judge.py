"""``textassay judge``: say which metrics to trust on these generators, by people's judgements or a known order."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from rich.console import Console

from textassay.cli.messages import print_line
from textassay.cli.options import check_sources, check_writable
from textassay.cli.progress import show_progress
from textassay.cli.texts import read_sources
from textassay.comparison.comparison import FLOOR, TRAIN
from textassay.comparison.run import compare, metric_settings
from textassay.corpus.prepare import prepare_corpora
from textassay.corpus.reader import TextFile, read_texts
from textassay.corpus.tokenizer import check_tokenizer
from textassay.discriminator.catalog import make_discriminator
from textassay.discriminator.meta_evaluator import meta_evaluate
from textassay.errors import InputError, OptionError, check_range
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.human.files import read_judgements
from textassay.human.judgements import Judgements
from textassay.inspection.inspection import Finding
from textassay.inspection.spacing_checks import CHARACTERS, UNSPACED
from textassay.meta_evaluation.compared import evaluations_of
from textassay.meta_evaluation.evaluation import Evaluation
from textassay.meta_evaluation.gold import place_judgements, read_gold
from textassay.meta_evaluation.judging import judge_evaluators
from textassay.metric.base import Effort, check_level
from textassay.metric.catalog import CATALOG, default_metrics, parse_metrics, split_names
from textassay.report.document import read_comparison
from textassay.report.judge_files import write_judging
from textassay.report.judge_text import render_judging
from textassay.report.sentences import open_sentences

__all__ = ["JudgeOptions", "default_evaluators", "joined", "run_judge"]

FloatArray = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
# What no comparison computes unasked, but a meta-evaluation does, where this version has it.
_BESIDES = ("bleu-nearest", "rouge", "meteor", "cider", "cider-d")
_TUNED = "naturalness was chosen on the reviews of 'Judge the Judges': how it agrees with people there is no test of it"


@dataclass(frozen=True)
class JudgeOptions:
    """What the command line asked for; the fields are the options of ``textassay judge``."""

    generators: Mapping[str, str] = field(default_factory=dict)
    ratings: Path | None = None
    gold: Sequence[str] = ()
    real: str | None = None
    train: str | None = None
    results: Path | None = None
    metrics: str | None = None
    discriminators: str | None = None
    votes: int | None = None
    effort: str = "default"
    encoder: str | None = None
    tokenizer: str = "auto"
    lowercase: bool = False
    normalize: bool = False
    column: str | None = None
    resamples: int = 2_000
    level: float = 0.95
    seed: int = 0
    workers: int | None = None
    device: str = "auto"
    out: Path | None = None
    json: bool = False
    quiet: bool = False


def run_judge(options: JudgeOptions) -> int:
    """Measure, correlate, print what came of it, write it where asked, and return 0."""
    _check(options)
    notes: list[str] = []
    judgements = None if options.ratings is None else read_judgements(options.ratings)
    kept = None if options.results is None else _Kept(options.results)
    texts = _texts(options, judgements) if kept is None else kept.texts
    golds = _golds(options, judgements, texts, notes)
    n_workers = default_workers() if options.workers is None else options.workers
    with show_progress(quiet=options.quiet) as progress, workers(n_workers), device(options.device):
        if kept is None:
            evaluations, left_out, findings = _measured(options, texts, golds[0].generators, progress, notes)
        else:
            evaluations, left_out = evaluations_of(kept.comparison, generators=golds[0].generators, scores=kept.scores)
            judged = (*golds[0].generators, FLOOR)
            findings = tuple(found for found in kept.comparison.findings if found.generator in judged)
            evaluations, left_out = _asked(options, kept.comparison.metrics, evaluations, left_out)
        notes += [_TUNED for evaluation in evaluations if evaluation.name.startswith("naturalness")][:1]
        judging = judge_evaluators(
            golds,
            evaluations,
            left_out=left_out,
            notes=notes,
            findings=findings,
            level=options.level,
            n_resamples=options.resamples,
            seed=options.seed,
            progress=progress,
        )
    if options.out is not None:
        written = write_judging(judging, options.out)
    if options.json:
        json.dump(judging.to_dict(), sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        render_judging(judging, Console())
    if options.out is not None and not options.quiet:
        print_line(f"wrote {', '.join(map(str, written))}")
    return 0


def default_evaluators(*, train: bool) -> list[str]:
    """Return the metrics that are judged unasked: the default ones, those of `train` text, and word overlap."""
    return [*default_metrics(["train"] if train else []), *(name for name in _BESIDES if name in CATALOG)]


def _check(options: JudgeOptions) -> None:
    """Raise for whatever can be seen to be wrong before reading."""
    if options.ratings is None and not options.gold:
        raise OptionError("nothing says which generator is better: give --ratings FILE or --gold FILE")
    if options.results is None and options.ratings is None and not options.generators:
        raise OptionError("nothing is to be judged: give NAME=GEN texts, --results DIR, or --ratings with texts")
    if options.results is not None and (options.generators or options.real or options.train or options.discriminators):
        raise OptionError("--results stands instead of texts: leave NAME=GEN, --real, --train and --discriminators out")
    if options.votes is not None and options.ratings is None:
        raise OptionError("--votes counts people's votes: give --ratings FILE")
    if options.generators and options.real is None:
        raise OptionError("--real is missing: metrics compare NAME=GEN with real text")
    for name, number, least in (("--resamples", options.resamples, 100), ("--seed", options.seed, 0)):
        check_range(name, number, least)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    check_range("--votes", options.votes, 1)
    check_level(options.level)
    check_device(options.device)
    check_tokenizer(options.tokenizer)
    _metric_names(options)
    for name in split_names(options.discriminators or ""):
        make_discriminator(name)
    if options.real is not None:
        named = {"--train": options.train} if options.train else {}
        check_sources(options.real, {**named, **options.generators}, {})
    if options.out is not None:
        check_writable(options.out)


def _metrics(options: JudgeOptions) -> list[str]:
    if options.metrics is None:
        return default_evaluators(train=options.train is not None)
    return split_names(options.metrics)


def _metric_names(options: JudgeOptions) -> list[str]:
    """Return the full names of the metrics; raise where one cannot be."""
    settings = metric_settings(
        effort=options.effort, encoder=options.encoder, has_features=False, folds=5, level=options.level, paper=False
    )
    return [metric.name for metric in parse_metrics(_metrics(options), **settings)]


def _asked(
    options: JudgeOptions, known: Sequence[str], evaluations: Sequence[Evaluation], left_out: Mapping[str, str]
) -> tuple[list[Evaluation], dict[str, str]]:
    """Return the part of kept results that ``--metrics`` names; all of it by default."""
    names = list(known) if options.metrics is None else _metric_names(options)
    missing = [name for name in names if name not in known]
    if missing:
        raise OptionError(f"{options.results} has no {', '.join(missing)}: it has {', '.join(known)}")
    found = [evaluation for evaluation in evaluations if evaluation.name in names]
    return found, {name: reason for name, reason in left_out.items() if name in names}


def _texts(options: JudgeOptions, judgements: Judgements | None) -> dict[str, Any]:
    """Return the real text and every generator's, from files or from the items that were judged."""
    if options.generators:
        sources = {FLOOR: options.real or "", **options.generators}
        if options.train is not None:
            sources[TRAIN] = options.train
        return dict(read_sources(sources, column=options.column, group_column=None))
    assert judgements is not None
    texts: dict[str, Any] = {}
    for name in judgements.generators:
        texts[name] = [item.text for item in judgements.items if item.generator == name]
        if not all(texts[name]):
            raise InputError(f"{options.ratings} has no texts of {name}: give its text as {name}=FILE, and --real FILE")
    if not texts:
        raise InputError(f"{options.ratings} names no generator: give NAME=GEN texts, and call its items NAME:LINE")
    if options.real is not None:
        texts[FLOOR] = read_texts(options.real, column=options.column)
    else:
        texts[FLOOR] = [item.text for item in judgements.items if item.generator is None]
        if not texts[FLOOR] or not all(texts[FLOOR]):
            raise InputError(f"{options.ratings} has no real texts: give --real FILE")
    if options.train is not None:
        texts[TRAIN] = read_texts(options.train, column=options.column)
    return texts


def _golds(
    options: JudgeOptions, judgements: Judgements | None, texts: Mapping[str, Any], notes: list[str]
) -> list[Evaluation]:
    """Return people's evaluations and the known orders, of the generators that are judged."""
    wanted = [name for name in texts if name not in (FLOOR, TRAIN)]
    if len(wanted) < 2:
        raise InputError(f"at least 2 generators are needed to rank them, got {', '.join(wanted) or 'none'}")
    golds = []
    if judgements is not None:
        if options.votes is not None and judgements.scale == "number":
            raise OptionError(f"--votes counts votes of real or fake: the ratings of {options.ratings} are numbers")
        is_placed = not options.generators and options.results is None
        names = {item.id.rpartition(":")[0] for item in judgements.items} - {"real", "Real", FLOOR}
        if judgements.generators or is_placed:
            notes += judgements.notes  # else: that no column names generators; lines do
        if not is_placed and (names <= {*wanted} or not judgements.generators):
            judgements, is_placed = place_judgements(judgements, {name: _lines(texts[name]) for name in wanted}), True
        golds.append(Evaluation.of_judgements(judgements))
        if judgements.scale == "real-or-fake":
            golds.append(Evaluation.of_judgements(judgements, by="majority", votes=options.votes))
        if not is_placed:
            golds = [replace(gold, texts=None) for gold in golds]
            notes.append("items are not called NAME:LINE, so nobody knows which text they are: no text level")
    for text in options.gold:
        gold = read_gold(text)
        n_alike = sum(other.name.rsplit(" #")[0] == gold.name for other in golds)
        golds.append(replace(gold, name=f"{gold.name} #{n_alike + 1}") if n_alike else gold)
        if gold.name in _metric_names(options):
            raise InputError(f"{text} has the name of a metric: call the file something else")
    for gold in golds:
        missing = [name for name in wanted if name not in gold.generators]
        if missing:
            raise InputError(f"{gold.name} says nothing of {', '.join(missing)}: leave it out, or add it there")
        more = [name for name in gold.generators if name not in wanted]
        if more:
            notes.append(f"{gold.name} also knows {', '.join(more)}, of which there is no text: left out")
    return [gold.select(wanted) for gold in golds]


def _lines(source: Any) -> Sequence[str]:
    return source.texts if isinstance(source, TextFile) else cast(Sequence[str], source)


def _measured(
    options: JudgeOptions,
    texts: Mapping[str, Any],
    names: Sequence[str],
    progress: Progress | None,
    notes: list[str],
) -> tuple[list[Evaluation], dict[str, str], tuple[Finding, ...]]:
    """Return what metrics and classifiers say of the generators, why some say nothing, and what inspection found."""
    comparison = compare(
        {name: texts[name] for name in names},
        texts[FLOOR],
        train=texts.get(TRAIN),
        metrics=_metrics(options),
        effort=cast(Effort, options.effort),
        encoder=options.encoder,
        explain=False,
        tokenizer=options.tokenizer,
        lowercase=options.lowercase,
        normalize=options.normalize,
        level=options.level,
        seed=options.seed,
        workers=options.workers,
        device=options.device,
        out=options.out,
        progress=progress,
    )
    notes += joined(comparison.warnings, names)
    notes += [
        f"real text: {finding.message}"
        for finding in comparison.findings
        if finding.generator == FLOOR and finding.kind in (CHARACTERS, UNSPACED)
    ]
    found, left_out = evaluations_of(comparison, generators=names)
    judges = split_names(options.discriminators or "")
    if judges:
        corpora = prepare_corpora(
            {name: texts[name] for name in (FLOOR, *names)},
            tokenizer=options.tokenizer,
            lowercase=options.lowercase,
            normalize=options.normalize,
        )
        generated = {name: corpora[name] for name in names}
        for place, judge in enumerate(judges):
            if progress is not None:
                progress(f"{judge} of all generators", place, len(judges))
            made = meta_evaluate(make_discriminator(judge), corpora[FLOOR], generated, seed=options.seed)
            found.append(Evaluation.of_estimates(made.to_estimates()))
    return found, left_out, comparison.findings


def joined(warnings: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the warnings, those that are alike but for the generator once."""
    groups: dict[tuple[str, str], list[str]] = {}
    for warning in warnings:
        name = next((name for name in sorted(names, key=len, reverse=True) if name in warning), "")
        before, _, after = warning.partition(name) if name else ("", "", warning)
        groups.setdefault((before, after), []).append(name)
    return [
        f"{before}{'each of ' if len(found) > 1 else ''}{', '.join(found)}{after}"
        for (before, after), found in groups.items()
    ]


class _Kept:
    """What ``compare --out`` wrote: the comparison and, where it is there, the file of single sentences."""

    def __init__(self, folder: Path) -> None:
        self.comparison = read_comparison(folder)
        self.texts: dict[str, list[str]] = {name: [] for name in self.comparison.generators}
        table = open_sentences(folder / "sentences.csv")
        found: dict[tuple[str, str], list[float]] = {}
        for row in () if table is None else table.rows:
            if table is not None and row[1] == "generated" and row[0] in self.texts:
                self.texts[row[0]].append(row[3])
                for metric, score in zip(table.columns[4:], row[4:], strict=True):
                    found.setdefault((row[0], metric), []).append(float(score) if score else math.nan)
        arrays = {key: np.array(values) for key, values in found.items()}
        self.scores = {key: array for key, array in arrays.items() if np.isfinite(array).any()}
