"""``textassay stress``: real text, damaged more and more, under every metric."""

from dataclasses import dataclass
from typing import Annotated, Any

from textassay.cli.adapter import call, option
from textassay.cli.declarations import Clustered, Output, Real, Running, Tokens
from textassay.cli.options import check_sources
from textassay.cli.results import print_and_save
from textassay.errors import OptionError
from textassay.fields import Option, Parse
from textassay.settings import Device, Effort, Encoder, Level, Metrics

VALUES = "values"  # the folder under --out
_REMEDY = "give other text for it"

Training = Annotated[str | None, option("Training text; a part of the real text by default.", "FILE")]


@dataclass(frozen=True, kw_only=True)
class Stress(Tokens, Running, Clustered, Output):
    """Damage real text increasingly: which metrics detect it, from what strength, and which mistake it for quality."""

    real: Real
    train: Training = None
    other: Annotated[str | None, option("Text of another kind, mixed in at rising shares.", "FILE")] = None
    metrics: Metrics = None
    damages: Annotated[
        Any,
        Option("Kinds of damage, such as 'drop-words,collapse'; all that apply by default.", "LIST"),
        Parse("textassay.metric.catalog:split_names"),
    ] = None
    strengths: Annotated[str, option("Shares of damaged text, above 0 and at most 1.", "LIST")] = "0.1,0.2,0.4,0.8"
    n_sentences: Annotated[
        int | None, option("Sentences per part; 2000, or all, by default.", "N", names=("--sentences",))
    ] = None
    n_draws: Annotated[
        int, option("Random draws of the parts, at least 2; more draws detect more.", "N", names=("--draws",))
    ] = 5
    effort: Effort = "quick"
    encoder: Encoder = None
    level: Level = 0.95
    device: Device = "auto"

    def run(self) -> int:
        """Damage the text, measure it, print what came of it, write it where asked, and return 0."""
        strengths = _numbers(self.strengths)
        names = {"--train": self.train, "--other": self.other}
        others = {name: source for name, source in names.items() if source is not None}
        remedies = dict.fromkeys(others, _REMEDY)
        check_sources(self.real, others, remedies)

        from textassay.cli.messages import print_notes
        from textassay.cli.options import read_sources
        from textassay.comparison.comparison import FLOOR
        from textassay.execution.threads import device
        from textassay_lab.meta_evaluation.stress import stress
        from textassay_lab.meta_evaluation.stress_document import stress_document

        sources = {FLOOR: self.real, **others}
        files = read_sources(sources, column=self.column, group_column=None, remedies=remedies)
        print_notes(files, quiet=self.quiet)
        with self.on_cluster(), self.work() as progress, device(self.device):
            result = call(
                stress,
                self,
                real=files[FLOOR],
                train=files.get("--train"),
                other=files.get("--other"),
                strengths=strengths,
                folder=None if self.out is None else self.out / VALUES,
                progress=progress,
            )
        print_and_save(
            stress_document(result),
            result.to_dict(),
            "stress",
            out=self.out,
            as_json=self.json,
            quiet=self.quiet,
            brief=True,
        )
        return 0


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"cannot read --strengths '{text}': write numbers, such as 0.1,0.2,0.4,0.8") from None
