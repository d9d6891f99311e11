"""``textassay audit``: keep how a model answers, and look whether it still does."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from textassay.cli.adapter import Between, Places, option
from textassay.cli.declarations import MaxInput, MaxText, Output, Quiet, Seed
from textassay.settings import TEXTS

if TYPE_CHECKING:
    from textassay.source.endpoint import EndpointModel

AUDIT = Places(
    "audit",
    "Is a model still what it was? Keep its answers to prompts, then look again and again.",
    {"start": "textassay.cli.audit:Start", "check": "textassay.cli.audit:Check"},
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the audit.")]
Column = Annotated[str | None, option("Column of the answers, or the path to it in JSON.", "NAME", TEXTS)]
PromptColumn = Annotated[str | None, option("Column of the prompts that they answer.", "NAME", TEXTS)]
Budget = Annotated[int | None, option("Most requests that the audit may make in total.", "N"), Between(1)]


@dataclass(frozen=True, kw_only=True)
class Start:
    """Store the answers that later ones are compared with: drawn from an endpoint, or given."""

    out: Annotated[Path, option("Folder of the audit; an interrupted command resumes from it.", "DIR")]
    model: Annotated[str | None, option("The endpoint: openai:MODEL@URL, with its settings.", "NAME")] = None
    prompts: Annotated[str | None, option("Prompts: one per line, or a column 'prompt'.", "FILE")] = None
    samples: Annotated[int, option("Answers to each prompt.", "N"), Between(2)] = 10
    choose: Annotated[
        int | None, option("Use only N prompts: those whose answers vary most at the beginning.", "N"), Between(1)
    ] = None
    log_probs: Annotated[
        bool, option("Ask for log-probabilities of the first token, and for one token.", names=("--log-probs",))
    ] = False
    budget: Budget = None
    texts: Annotated[str | None, option("Instead of --model: answers with their prompts.", "FILE", TEXTS)] = None
    column: Column = None
    prompt_column: PromptColumn = None
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000
    seed: Seed = 0
    quiet: Quiet = False

    def run(self) -> int:
        from textassay.audit.run import start_audit
        from textassay.cli.messages import print_line

        plan = start_audit(
            self.out, model=self.model, prompts=self.prompts, texts=self.texts, samples=self.samples,
            choose=self.choose, log_probs=self.log_probs, budget=self.budget, seed=self.seed, column=self.column,
            prompt_column=self.prompt_column, announce=None if self.quiet else _announce,
        )  # fmt: skip
        if not self.quiet:
            kept = f"kept answers to {len(plan.prompts):,} prompts in {self.out}"
            print_line(f"{kept}; test new answers with: textassay audit check {self.out}")
        return 0


@dataclass(frozen=True, kw_only=True)
class Check(Output):
    """Test new answers. Exit status: 0 no change found, 1 changed, 3 inconclusive."""

    folder: Folder
    samples: Annotated[int, option("New answers to each prompt.", "N"), Between(1)] = 5
    looks: Annotated[int, option("Most looks until a change is found; 0 shows the looks so far.", "N"), Between(0)] = 1
    budget: Budget = None
    texts: Annotated[str | None, option("New answers with their prompts.", "FILE", TEXTS)] = None
    column: Column = None
    prompt_column: PromptColumn = None
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000
    quiet: Quiet = False

    def run(self) -> int:
        from textassay.audit.document import audit_document
        from textassay.audit.run import check_audit
        from textassay.cli.results import print_and_save

        audit = check_audit(
            self.folder, texts=self.texts, samples=self.samples, looks=self.looks, budget=self.budget,
            column=self.column, prompt_column=self.prompt_column, announce=None if self.quiet else _announce,
        )  # fmt: skip
        print_and_save(
            audit_document(audit), audit.to_dict(), "audit", out=self.out, as_json=self.json, quiet=self.quiet
        )
        return audit.status


def _announce(model: "EndpointModel", n_missing: int) -> None:
    from textassay.cli.endpoints import requests_line
    from textassay.cli.messages import print_line

    print_line(requests_line(model.settings.place, model.estimate(n_missing)))
