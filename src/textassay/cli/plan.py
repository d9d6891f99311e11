"""``textassay plan``."""

import json
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from textassay.cli.adapter import Between
from textassay.cli.declarations import Effort, Folds, Generators, Json, Level, Reading, Running
from textassay.errors import OptionError

if TYPE_CHECKING:
    from textassay.comparison.planning import Pilot

Margins = Annotated[list[float] | None, Option(metavar="E", help="Bound dd within plus or minus E; may be repeated.")]
Effects = Annotated[list[float] | None, Option(metavar="D", help="Tell a dd of D from 0; may be repeated.")]
Gaps = Annotated[
    list[float] | None, Option(metavar="D", help="Tell generators apart whose dd differ by D; may be repeated.")
]


@dataclass(frozen=True, kw_only=True)
class Plan(Reading, Running):
    """Say how many sentences are needed: to bound dd, to detect it, to tell two generators apart."""

    generators: Generators = None
    real: Annotated[str | None, Option(metavar="FILE", help="Real text of a pilot.", show_default=False)] = None
    pilot: Annotated[Path | None, Option(metavar="DIR", help="What 'compare --out' wrote, as a pilot.")] = None
    margin: Margins = None
    detect: Effects = None
    separate: Gaps = None
    power: Annotated[float, Option(metavar="P", help="How likely what is there is to be found.")] = 0.8
    dd: Annotated[float | None, Option("--dd", metavar="X", help="What dd is about; the worst case by default.")] = None
    effort: Effort = "default"
    folds: Annotated[Folds, Between(1)] = None
    level: Level = 0.95
    json: Json = False

    def run(self) -> int:
        """Plan, print, and return 0."""
        from rich.console import Console

        from textassay.comparison.planning import plan
        from textassay.report.plan_text import render_plan

        planned = partial(
            plan,
            margins=self.margin or (),
            detectable=self.detect or (),
            separable=self.separate or (),
            dd=self.dd,
            level=self.level,
            power=self.power,
            folds=self.folds or 5,
        )
        planned()  # what is out of range is said before a pilot is run
        found = planned(pilot=self._pilot())
        if self.json:
            json.dump(found.to_dict(), sys.stdout, indent=1, allow_nan=False)
            print()
        else:
            render_plan(found, Console())
        return 0

    def _pilot(self) -> "Pilot | None":
        from textassay.cli.options import check_sources, parse_generators
        from textassay.cli.progress import show_progress
        from textassay.cli.texts import read_sources
        from textassay.comparison.comparison import FLOOR
        from textassay.comparison.planning import pilot_of, run_pilot
        from textassay.corpus.prepare import prepare_corpora
        from textassay.corpus.tokenizer import check_tokenizer
        from textassay.execution import default_workers, workers
        from textassay.metric.base import check_effort
        from textassay.report.document import read_comparison

        effort = check_effort(self.effort)
        check_tokenizer(self.tokenizer)
        generators = parse_generators(self.generators) if self.generators else {}
        if self.pilot is not None and (self.real is not None or generators):
            raise OptionError("--pilot and texts cannot go together: plan from a finished comparison or from texts")
        if (self.real is None) != (not generators):
            raise OptionError("a pilot needs both sides: give --real FILE and at least one NAME=FILE")
        if self.pilot is not None:
            return pilot_of(read_comparison(self.pilot))
        if self.real is None:
            return None
        check_sources(self.real, generators, {})
        with (
            show_progress(quiet=self.quiet) as progress,
            workers(default_workers() if self.workers is None else self.workers),
        ):
            corpora = prepare_corpora(
                read_sources({FLOOR: self.real, **generators}, column=self.column, group_column=self.group_column),
                tokenizer=self.tokenizer,
                lowercase=self.lowercase,
                normalize=self.normalize,
                max_tokens=self.max_tokens,
            )
            return run_pilot(
                corpora.pop(FLOOR),
                corpora,
                effort=effort,
                folds=self.folds or 5,
                level=self.level,
                seed=self.seed,
                progress=progress,
            )
