"""``textassay plan``: say how many sentences are needed, from nothing, from a pilot, or from a finished comparison."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from textassay.cli.options import check_sources
from textassay.cli.progress import show_progress
from textassay.cli.texts import read_sources
from textassay.comparison.comparison import FLOOR
from textassay.comparison.planning import Pilot, pilot_of, plan, run_pilot
from textassay.comparison.run import make_corpora
from textassay.corpus.tokenizer import check_tokenizer
from textassay.errors import OptionError, check_range
from textassay.execution import MAX_WORKERS, default_workers, workers
from textassay.metric.base import check_effort, check_level
from textassay.report.document import read_comparison
from textassay.report.plan_text import render_plan

__all__ = ["PlanOptions", "run_plan"]


@dataclass(frozen=True)
class PlanOptions:
    """What the command line asked for; the fields are the options of ``textassay plan``."""

    margin: Sequence[float] = field(default_factory=tuple)
    detect: Sequence[float] = field(default_factory=tuple)
    separate: Sequence[float] = field(default_factory=tuple)
    power: float = 0.8
    level: float = 0.95
    dd: float | None = None
    pilot: Path | None = None
    real: str | None = None
    generators: Mapping[str, str] = field(default_factory=dict)
    effort: str = "default"
    tokenizer: str = "auto"
    lowercase: bool = False
    normalize: bool = False
    max_tokens: int | None = None
    column: str | None = None
    group_column: str | None = None
    folds: int = 5
    seed: int = 0
    workers: int | None = None
    json: bool = False
    quiet: bool = False


def run_plan(options: PlanOptions) -> int:
    """Plan, print, and return 0."""
    _check(options)
    found = plan(
        margins=options.margin,
        detectable=options.detect,
        separable=options.separate,
        dd=options.dd,
        pilot=_pilot(options),
        level=options.level,
        power=options.power,
        folds=options.folds,
    )
    if options.json:
        json.dump(found.to_dict(), sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        render_plan(found, Console())
    return 0


def _check(options: PlanOptions) -> None:
    """Raise for whatever can be seen to be wrong before reading."""
    check_range("--folds", options.folds, 1)
    check_range("--seed", options.seed, 0)
    check_range("--max-tokens", options.max_tokens, 1)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    check_effort(options.effort)
    check_level(options.level)
    check_tokenizer(options.tokenizer)
    if options.pilot is not None and (options.real is not None or options.generators):
        raise OptionError("--pilot and texts cannot go together: plan from a finished comparison or from texts")
    if (options.real is None) != (not options.generators):
        raise OptionError("a pilot needs both sides: give --real FILE and at least one NAME=FILE")
    plan(
        margins=options.margin,
        detectable=options.detect,
        separable=options.separate,
        dd=options.dd,
        level=options.level,
        power=options.power,
        folds=options.folds,
    )  # what is out of range is said before a pilot is run
    if options.real is not None:
        check_sources(options.real, options.generators, {})


def _pilot(options: PlanOptions) -> Pilot | None:
    if options.pilot is not None:
        return pilot_of(read_comparison(options.pilot))
    if options.real is None:
        return None
    with (
        show_progress(quiet=options.quiet) as progress,
        workers(default_workers() if options.workers is None else options.workers),
    ):
        sources = {FLOOR: options.real, **options.generators}
        corpora = make_corpora(
            read_sources(sources, column=options.column, group_column=options.group_column),
            tokenizer=options.tokenizer,
            lowercase=options.lowercase,
            normalize=options.normalize,
            max_tokens=options.max_tokens,
        )
        real = corpora.pop(FLOOR)
        return run_pilot(
            real,
            corpora,
            effort=check_effort(options.effort),
            folds=options.folds,
            level=options.level,
            seed=options.seed,
            progress=progress,
        )
