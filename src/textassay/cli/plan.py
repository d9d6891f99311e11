"""``textassay plan``."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from textassay.cli.adapter import option
from textassay.cli.declarations import Drawable, Output, Reading, Running
from textassay.cli.results import print_and_save
from textassay.errors import OptionError
from textassay.settings import Measuring


@dataclass(frozen=True, kw_only=True)
class Plan(Measuring, Reading, Running, Output):
    """Compute how many sentences are needed to bound dd, to detect it, or to separate two generators."""

    generators: Drawable = None
    real: Annotated[str | None, option("Real text of the pilot.", "FILE", show_default=False)] = None
    pilot: Annotated[
        Path | None, option("Use the comparison in this folder ('compare --out') as the pilot.", "DIR")
    ] = None
    margin: Annotated[list[float] | None, option("Estimate dd to within plus or minus E; may be repeated.", "E")] = None
    detect: Annotated[list[float] | None, option("Detect a dd of D; may be repeated.", "D")] = None
    separate: Annotated[
        list[float] | None, option("Separate generators whose dd differs by D; may be repeated.", "D")
    ] = None
    power: Annotated[float, option("Power: probability of detecting a difference that exists.", "P")] = 0.8
    dd: Annotated[float | None, option("Expected dd; the worst case by default.", "X", names=("--dd",))] = None

    def run(self) -> int:
        from textassay.cli.endpoints import print_requests
        from textassay.cli.messages import print_notes, show_progress
        from textassay.cli.options import check_sources, parse_generators, read_sources, split_models
        from textassay.comparison.comparison import FLOOR
        from textassay.comparison.document import read_comparison
        from textassay.comparison.plan_document import plan_document
        from textassay.comparison.planning import measure_pilot, plan

        planned = partial(
            plan,
            margins=self.margin or (),
            detectable=self.detect or (),
            separable=self.separate or (),
            dd=self.dd,
            level=self.level,
            power=self.power,
            folds=self.n_folds,
        )
        result = planned()  # raises for what is out of range before a pilot is run
        generators = parse_generators(self.generators) if self.generators else {}
        if self.pilot is not None and (self.real is not None or generators):
            raise OptionError("--pilot and texts cannot be combined: plan from a finished comparison or from texts")
        if (self.real is None) != (not generators):
            raise OptionError("a pilot needs real and generated text: give --real FILE and at least one NAME=FILE")
        models, written = split_models(generators, self.draw)
        if self.prior is not None and self.real is None:
            raise OptionError("--prior needs a pilot with texts: give --real and generated text, or leave it out")
        if self.pilot is not None:
            result = planned(pilot=read_comparison(self.pilot))
        elif self.real is not None:
            check_sources(self.real, written, {})
            with show_progress(quiet=self.quiet) as progress, self.computing():
                sources = {FLOOR: self.real, **written}
                files = read_sources(sources, column=self.column, group_column=self.group_column)
                print_notes(files, quiet=self.quiet)
                print_requests(models, self.draw or len(files[FLOOR].texts), quiet=self.quiet)
                pilot = measure_pilot(
                    {name: files.get(name, source) for name, source in generators.items()},
                    files[FLOOR],
                    self,
                    out=self.out if models else None,
                    progress=progress,
                )
                result = planned(pilot=pilot)
        document = plan_document(result)
        print_and_save(document, result.to_dict(), "plan", out=self.out, as_json=self.json, quiet=self.quiet)
        return 0
