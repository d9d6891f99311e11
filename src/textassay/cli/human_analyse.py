"""``textassay human analyse``: how well people told real from generated text, and how far they agreed."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rich.console import Console

from textassay.cli.messages import print_line
from textassay.errors import OptionError
from textassay.human.analysis import analyse
from textassay.human.judgements import Judgements
from textassay.human.raters import MIN_SECONDS
from textassay.human.reasons import read_reasons
from textassay.human.results import read_results
from textassay.human.verdicts import Ties, check_ties
from textassay.report.human_files import write_analysis
from textassay.report.human_text import render_analysis

__all__ = ["AnalyseOptions", "run_analyse"]


@dataclass(frozen=True)
class AnalyseOptions:
    """What the command line asked for; the fields are the options of ``textassay human analyse``."""

    file: Path
    database: str | None = None
    ties: str = "fake"
    votes: str | None = None
    level: float = 0.95
    texts: int = 4
    min_seconds: float = MIN_SECONDS
    exclude: tuple[str, ...] = ()
    reasons: Path | None = None
    seed: int = 0
    out: Path | None = None
    json: bool = False


def run_analyse(options: AnalyseOptions) -> int:
    """Read judgements, analyse them, write and print what was found, and return 0."""
    ties: Ties = check_ties(options.ties)
    votes = _votes(options.votes)
    reasons = None if options.reasons is None else read_reasons(options.reasons)
    results = read_results(options.file, database=options.database)
    found = analyse(
        _without(results.judgements, options.exclude),
        ties=ties,
        votes=votes,
        level=options.level,
        k=options.texts,
        reasons=reasons,
        seconds=results.seconds,
        checks=results.checks,
        min_seconds=options.min_seconds,
        seed=options.seed,
    )
    paths = [] if options.out is None else write_analysis(found, options.out)
    if options.json:
        for warning in found.warnings:
            print_line(f"warning: {warning}")
        document = {"file": str(options.file), **found.to_dict()}
        json.dump(document, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
        print()
    else:
        render_analysis(found, Console())
    if paths:
        print_line(f"wrote {', '.join(str(path) for path in paths)}")
    return 0


def _without(judgements: Judgements, names: Sequence[str]) -> Judgements:
    """Return the judgements of those who are not named; a note says who is left out."""
    if not names:
        return judgements
    kept = judgements.without(names)
    if not len(kept):
        raise OptionError("--exclude leaves no judgement to analyse")
    n_left_out = len(judgements) - len(kept)
    note = f"left out: {n_left_out} judgements of raters named by --exclude: {', '.join(dict.fromkeys(names))}"
    return replace(kept, notes=(*kept.notes, note))


def _votes(given: str | None) -> int | Literal["all"] | None:
    """Return the number of votes asked for; none for the most common one."""
    if given is None:
        return None
    if given == "all":
        return "all"
    if not given.isascii() or not given.isdigit() or not int(given):
        raise OptionError(f"--votes must be a whole number from 1, or all, got '{given}'")
    return int(given)
