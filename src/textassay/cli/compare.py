"""``textassay compare``: read the texts, measure, print, write."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy.typing as npt
from rich.console import Console

from textassay.cli.options import Condition, check_sources, check_writable, parse_condition
from textassay.cli.progress import show_progress
from textassay.cli.texts import read_sources
from textassay.comparison.columns import SideColumns
from textassay.comparison.comparison import FLOOR, HELDOUT, Comparison
from textassay.comparison.run import compare, metric_settings
from textassay.corpus.number_files import read_features, read_side_columns
from textassay.corpus.reader import TextFile
from textassay.corpus.tokenizer import check_tokenizer
from textassay.errors import OptionError, check_range, unknown_name
from textassay.execution import MAX_WORKERS, check_device
from textassay.metric.base import Effort
from textassay.metric.catalog import default_metrics, parse_metric, parse_metrics, split_names
from textassay.report.document import write_report
from textassay.report.text import render

__all__ = ["CompareOptions", "run_compare"]

_FOLDS = 5
_OTHER_REAL = "give real text of another draw, or leave it out"
_REMEDIES = {
    "--real-heldout": _OTHER_REAL,
    HELDOUT: _OTHER_REAL,
    "--train": "compare with real text that the generators have not seen",
}


@dataclass(frozen=True)
class CompareOptions:
    """What the command line asked for; the fields are the options of ``textassay compare``."""

    real: str
    generators: Mapping[str, str]
    real_heldout: str | None = None
    train: str | None = None
    features: Mapping[str, Path] = field(default_factory=dict)
    log_probs: Mapping[str, Path] = field(default_factory=dict)
    ratings: Mapping[str, Path] = field(default_factory=dict)
    metrics: str | None = None
    effort: str = "default"
    encoder: str | None = None
    paper: bool = False
    explain: bool = True
    tokenizer: str = "auto"
    lowercase: bool = False
    normalize: bool = False
    max_tokens: int | None = None
    column: str | None = None
    group_column: str | None = None
    folds: int | None = None
    level: float = 0.95
    seed: int = 0
    workers: int | None = None
    device: str = "auto"
    out: Path | None = None
    json: bool = False
    fail_if: Sequence[str] = field(default_factory=tuple)
    quiet: bool = False


def run_compare(options: CompareOptions, *, show: Callable[[Comparison, Console], None] = render) -> int:
    """Run one comparison and return the exit status: 0, or 1 where a ``--fail-if`` condition holds.

    `show` prints it on a terminal, where no JSON is asked for.
    """
    metrics = None if options.metrics is None else split_names(options.metrics)
    conditions = _check(options, metrics)
    with show_progress(quiet=options.quiet) as progress:
        files = _read(options)
        columns = _read_columns(options, files)
        comparison = compare(
            {name: files[name] for name in options.generators},
            files[FLOOR],
            real_heldout=files.get(HELDOUT),
            train=files.get("--train"),
            features=columns.features,
            log_probs=columns.log_probs,
            ratings=columns.ratings,
            metrics=metrics,
            effort=cast(Effort, options.effort),
            encoder=options.encoder,
            paper=options.paper,
            explain=options.explain,
            tokenizer=options.tokenizer,
            lowercase=options.lowercase,
            normalize=options.normalize,
            max_tokens=options.max_tokens,
            folds=_FOLDS if options.folds is None else options.folds,
            level=options.level,
            seed=options.seed,
            workers=options.workers,
            device=options.device,
            out=options.out,
            progress=progress,
        )
        if options.out is not None:
            write_report(comparison, options.out, texts={name: file.texts for name, file in files.items()})
    if options.json:
        json.dump(comparison.to_dict(), sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        show(comparison, Console())
    if options.out is not None and not options.quiet:
        print(f"textassay: the report is {options.out / 'report.html'}", file=sys.stderr)
    return _judge(comparison, conditions)


def _check(options: CompareOptions, metrics: Sequence[str] | None) -> list[tuple[Condition, str]]:
    """Raise for whatever can be seen to be wrong before reading; return each condition with its canonical metric."""
    if options.paper and options.folds is not None:
        raise OptionError("--paper and --folds cannot go together: the paper has one split; leave one of them out")
    check_range("--folds", options.folds, 1)
    check_range("--seed", options.seed, 0)
    check_range("--max-tokens", options.max_tokens, 1)
    check_tokenizer(options.tokenizer)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    check_device(options.device)
    _check_columns(options)
    settings = metric_settings(
        effort=options.effort,
        encoder=options.encoder,
        has_features=bool(options.features),
        folds=_FOLDS if options.folds is None else options.folds,
        level=options.level,
        paper=options.paper,
    )
    given = {"train": options.train, "log-probs": options.log_probs, "ratings": options.ratings}
    named_metrics = default_metrics(name for name, value in given.items() if value) if metrics is None else metrics
    chosen = [metric.name for metric in parse_metrics(named_metrics, **settings)]
    conditions = []
    for condition in map(parse_condition, options.fail_if):
        name = parse_metric(condition.metric, **settings).name
        if name not in chosen:
            raise OptionError(f"--fail-if '{condition}': {name} is not among the metrics, {', '.join(chosen)}")
        conditions.append((condition, name))
    optional = {"--real-heldout": options.real_heldout, "--train": options.train}
    named = {name: source for name, source in optional.items() if source is not None}
    check_sources(options.real, {**named, **options.generators}, _REMEDIES)
    if options.out is not None:
        check_writable(options.out)
    return conditions


def _check_columns(options: CompareOptions) -> None:
    """Raise where what ``--features``, ``--log-probs`` or ``--ratings`` name is not there, or not everything is."""
    sides = {"real": options.real, "real-heldout": options.real_heldout}
    rows = [name for name, source in sides.items() if source is not None] + list(options.generators)
    optional = () if options.train is None else ("train",)
    for name in options.features:
        if name not in (*rows, *optional):
            raise unknown_name("name in --features", name, rows)
    for name in rows if options.features else ():
        if name not in options.features:
            raise OptionError(f"--features of {name} are missing: give --features {name}=FILE.npy too")
    for option, files in (("--log-probs", options.log_probs), ("--ratings", options.ratings)):
        for name in files:
            if name not in options.generators:
                raise unknown_name(f"generator in {option}", name, options.generators)


@dataclass(frozen=True)
class _Columns:
    """What was read beside the texts; none where nothing was given."""

    features: dict[str, npt.NDArray[Any]] | None
    log_probs: SideColumns | None
    ratings: SideColumns | None


def _read_columns(options: CompareOptions, texts: Mapping[str, TextFile]) -> _Columns:
    def sides(files: Mapping[str, Path]) -> SideColumns | None:
        n_real = len(texts[FLOOR].texts)
        read = {
            name: read_side_columns(path, n_generated=len(texts[name].texts), n_real=n_real)
            for name, path in files.items()
        }
        return read or None

    features = {name: read_features(path) for name, path in options.features.items()}
    return _Columns(features or None, sides(options.log_probs), sides(options.ratings))


def _read(options: CompareOptions) -> dict[str, TextFile]:
    """Return what was read, the real text under the names that results give it."""
    optional = {HELDOUT: options.real_heldout, "--train": options.train}
    sources = {FLOOR: options.real, **optional, **options.generators}
    return read_sources(
        {name: source for name, source in sources.items() if source is not None},
        column=options.column,
        group_column=options.group_column,
        remedies=_REMEDIES,
    )


def _judge(comparison: Comparison, conditions: Sequence[tuple[Condition, str]]) -> int:
    """Say which generators meet a ``--fail-if`` condition; one that has no value meets it too."""
    status = 0
    for condition, metric in conditions:
        met = []
        for name in comparison.generators:
            estimate = comparison.result(name, metric).estimate
            value: Any = None if estimate is None else estimate.to_dict()["value"]
            if value is None:
                met.append(f"{name} (no value)")
            elif condition.holds(value):
                met.append(f"{name} ({value:.6g})")
        if met:
            status = 1
            print(f"textassay: --fail-if '{condition}' holds for {', '.join(met)}", file=sys.stderr)
    return status
