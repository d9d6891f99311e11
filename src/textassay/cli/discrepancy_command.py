"""How ``textassay discrepancy`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

from pathlib import Path
from typing import Annotated

import typer

from textassay.cli.declarations import (
    Config,
    Device,
    Json,
    Level,
    MaxInput,
    MaxText,
    Quiet,
    Seed,
    Workers,
)

__all__ = ["discrepancy_command"]

_MODEL = "A folder that 'train' wrote, or pretrained:NAME_OR_PATH."
_ABOVE = "Above 0; below 1 likely words become likelier."


def discrepancy_command(
    *,
    model_p: Annotated[str, typer.Argument(metavar="MODEL_P", help=_MODEL)],
    model_q: Annotated[str, typer.Argument(metavar="MODEL_Q", help="The other one.")],
    sentences: Annotated[
        int, typer.Option("-n", "--sentences", metavar="N", help="Sentences drawn from each model.")
    ] = 10_000,
    temperature_p: Annotated[float, typer.Option(metavar="T", help=f"Of MODEL_P. {_ABOVE}")] = 1.0,
    temperature_q: Annotated[float, typer.Option(metavar="T", help=f"Of MODEL_Q. {_ABOVE}")] = 1.0,
    level: Level = 0.95,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write discrepancy.json and log-ratios.npz here.")
    ] = None,
    workers: Workers = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Say how far apart two models are, by their own probabilities: no classifier, no real text."""
    from textassay.cli.discrepancy import DiscrepancyOptions, run_discrepancy

    options = DiscrepancyOptions(
        model_p=model_p,
        model_q=model_q,
        sentences=sentences,
        temperature_p=temperature_p,
        temperature_q=temperature_q,
        level=level,
        seed=seed,
        out=out,
        workers=workers,
        device=device,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(run_discrepancy(options))
