"""``textassay human analyse``: how well people told real from generated text, and how far they agreed."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument

from textassay.cli.adapter import option
from textassay.cli.declarations import MaxInput, MaxText, Printing
from textassay.cli.messages import print_line
from textassay.cli.results import print_result, save_result, then
from textassay.errors import OptionError
from textassay.settings import Level, Seed
from textassay_lab.cli.human_next_word import Database

if TYPE_CHECKING:
    from textassay_lab.human.judgements import Judgements


@dataclass(frozen=True, kw_only=True)
class Analyse(Printing):
    """Measure how well people distinguished real from generated text, and how far they agreed."""

    file: Annotated[
        Path, Argument(metavar="FILE", help="Results of Mechanical Turk or Label Studio, a long CSV, or a STUDY.")
    ]
    ties: Annotated[str, option("Count tied texts as fake or real, or drop them.", "RULE")] = "fake"
    votes: Annotated[str | None, option("Use texts with N votes, or all; the most common number by default.", "N")] = (
        None
    )
    level: Level = 0.95
    texts: Annotated[int, option("Number of texts to list of each kind.", "K")] = 4
    min_seconds: Annotated[float, option("Flag raters who take less time per text.", "S")] = 2.0
    exclude: Annotated[list[str] | None, option("Exclude a rater; may be repeated.", "RATER")] = None
    reasons: Annotated[Path | None, option("Keywords by which comments are coded, as YAML.", "FILE")] = None
    database: Database = None
    seed: Seed = 0
    out: Annotated[Path | None, option("Folder for files and figures.", "DIR")] = None
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000

    def run(self) -> int:
        """Read judgements, analyse them, write and print what was found, and return 0."""
        from textassay_lab.human.analysis import analyse
        from textassay_lab.human.document import analysis_document
        from textassay_lab.human.reasons import read_reasons
        from textassay_lab.human.results import read_results
        from textassay_lab.human.verdicts import check_ties

        ties = check_ties(self.ties)
        votes = _votes(self.votes)
        reasons = None if self.reasons is None else read_reasons(self.reasons)
        results = read_results(self.file, database=self.database)
        analysis = analyse(
            self._included(results.judgements),
            ties=ties,
            votes=votes,
            level=self.level,
            k=self.texts,
            reasons=reasons,
            seconds=results.seconds,
            checks=results.checks,
            min_seconds=self.min_seconds,
            seed=self.seed,
        )
        for warning in analysis.warnings if self.json else ():
            print_line(f"warning: {warning}")
        document = analysis_document(analysis)
        values = json.dumps(analysis.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        with then(lambda: save_result(self.out, document, "analysis", {"analysis.json": values})):
            print_result(document, {"file": str(self.file), **analysis.to_dict()}, as_json=self.json)
        return 0

    def _included(self, judgements: "Judgements") -> "Judgements":
        """Return the judgements of those who are not excluded; a note says who is left out."""
        if not self.exclude:
            return judgements
        kept = judgements.without(self.exclude)
        if not len(kept):
            raise OptionError("--exclude removes all judgements: exclude fewer raters")
        n_left_out = len(judgements) - len(kept)
        names = ", ".join(dict.fromkeys(self.exclude))
        note = f"left out: {n_left_out} judgements of raters named by --exclude: {names}"
        return replace(kept, notes=(*kept.notes, note))


def _votes(text: str | None) -> int | Literal["all"] | None:
    """Return the number of votes asked for; none for the most common one."""
    if text is None:
        return None
    if text == "all":
        return "all"
    if not text.isascii() or not text.isdigit() or not int(text):
        raise OptionError(f"--votes must be a whole number from 1, or all, got '{text}'")
    return int(text)
