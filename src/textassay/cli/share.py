"""``textassay share``."""

from dataclasses import dataclass
from typing import Annotated

from textassay.cli.adapter import Between, call, option
from textassay.cli.declarations import Generators, Output, Reading, Real, Running
from textassay.cli.results import print_and_save
from textassay.inspection.finding import REAL as FLOOR
from textassay.settings import Effort, Level, Prior

_LATER, _MACHINE = "--later", "--machine"


@dataclass(frozen=True, kw_only=True)
class Share(Reading, Running, Output):
    """Give a lower bound for the share of machine-written texts, from clean human text (--real)."""

    generators: Generators = None
    real: Real
    later: Annotated[str | None, option("Other clean human text, from the time of the corpus.", "FILE")] = None
    machine: Annotated[
        str | None, option("Machine-written text of the same kind, for an estimate from word frequencies.", "FILE")
    ] = None
    at_most: Annotated[float, option("Exit with status 1 if a share is above S.", "S"), Between(0, 1)] = 0.0
    effort: Effort = "default"
    prior: Prior = None
    level: Level = 0.95

    def run(self) -> int:
        from textassay.cli.messages import print_notes
        from textassay.cli.options import check_sources, parse_generators, read_sources
        from textassay.comparison.share import share
        from textassay.comparison.share_document import share_document

        corpora = parse_generators(self.generators or [])
        beside = {name: file for name, file in ((_LATER, self.later), (_MACHINE, self.machine)) if file is not None}
        same = "give other text, whose origin is known"
        check_sources(self.real, {**beside, **corpora}, dict.fromkeys(beside, same))
        with self.work() as progress:
            files = read_sources(
                {FLOOR: self.real, **beside, **corpora}, column=self.column, group_column=self.group_column
            )
            print_notes(files, quiet=self.quiet)
            result = call(
                share,
                self,
                texts={name: files[name] for name in corpora},
                real=files[FLOOR],
                later=files.get(_LATER),
                machine=files.get(_MACHINE),
                progress=progress,
            )
        document, values = share_document(result), result.to_dict()
        print_and_save(document, values, "share", out=self.out, as_json=self.json, quiet=self.quiet, brief=True)
        return result.status
