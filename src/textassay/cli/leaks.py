"""``textassay leaks``."""

from dataclasses import dataclass
from typing import Annotated

from textassay.cli.adapter import call, option
from textassay.cli.declarations import Generators, Output, Reading, Real, Running
from textassay.cli.results import print_and_save
from textassay.inspection.finding import REAL as FLOOR
from textassay.settings import TEXTS, Level

_TRAIN = "--train"
_CANARIES, _CONTROLS = "--canaries", "--canary-controls"


@dataclass(frozen=True, kw_only=True)
class Leaks(Reading, Running, Output):
    """Find training text that generated text repeats, beyond what fresh real text shares with it."""

    generators: Generators = None
    train: Annotated[str, option("Training text of the generators.", "FILE")]
    real: Real
    canaries: Annotated[str | None, option("Canaries: texts that were inserted into the training text.", "FILE")] = None
    canary_controls: Annotated[
        str | None, option("Texts like the canaries that were not in the training text.", "FILE")
    ] = None
    show_personal: Annotated[
        bool, option("Show personal data in passages; masked by default.", panel=TEXTS, names=("--show-personal",))
    ] = False
    level: Level = 0.95

    def run(self) -> int:
        from textassay.cli.messages import print_notes
        from textassay.cli.options import check_sources, parse_generators, read_sources
        from textassay.leakage.document import leaks_document
        from textassay.leakage.leaks import leaks

        generators = parse_generators(self.generators or [])
        planted = {_CANARIES: self.canaries, _CONTROLS: self.canary_controls}
        beside = {_TRAIN: self.train, **{name: source for name, source in planted.items() if source is not None}}
        check_sources(self.real, {**beside, **generators}, {_TRAIN: "give real text that was held out of training"})
        with self.work() as progress:
            files = read_sources(
                {FLOOR: self.real, **beside, **generators}, column=self.column, group_column=self.group_column
            )
            print_notes(files, quiet=self.quiet)
            result = call(
                leaks,
                self,
                generated={name: files[name] for name in generators},
                real=files[FLOOR],
                train=files[_TRAIN],
                canaries=files.get(_CANARIES),
                canary_controls=files.get(_CONTROLS),
                progress=progress,
            )
        print_and_save(
            leaks_document(result), result.to_dict(), "leaks", out=self.out, as_json=self.json, quiet=self.quiet,
            brief=True,
        )  # fmt: skip
        return result.status
