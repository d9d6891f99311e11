"""How ``textassay stress`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

from typing import Annotated

import typer

from textassay.cli.declarations import (
    Column,
    Config,
    Device,
    Effort,
    Encoder,
    Json,
    Level,
    Lowercase,
    MaxInput,
    MaxText,
    Metrics,
    Out,
    Quiet,
    Real,
    Seed,
    Tokenizer,
    Workers,
)

__all__ = ["stress_command"]


def stress_command(
    *,
    real: Real,
    train: Annotated[
        str | None, typer.Option(metavar="FILE", help="Training text; a part of the real text by default.")
    ] = None,
    other: Annotated[
        str | None, typer.Option(metavar="FILE", help="Text of another kind, of which more and more is mixed in.")
    ] = None,
    metrics: Metrics = None,
    damages: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Such as 'drop-words,collapse'; all that are possible by default."),
    ] = None,
    strengths: Annotated[
        str, typer.Option(metavar="LIST", help="Shares that are damaged, above 0 and at most 1.")
    ] = "0.1,0.2,0.4,0.8",
    sentences: Annotated[
        int | None, typer.Option(metavar="N", help="Sentences a part; 2000 by default, or what there is.")
    ] = None,
    draws: Annotated[
        int, typer.Option(metavar="N", help="Random draws of the parts, 2 or more; few leave ways open.")
    ] = 5,
    effort: Effort = "quick",
    encoder: Encoder = None,
    tokenizer: Tokenizer = "auto",
    lowercase: Lowercase = False,
    column: Column = None,
    level: Level = 0.95,
    seed: Seed = 0,
    workers: Workers = None,
    device: Device = "auto",
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Damage real text more and more: which metric sees it, from when on, and which takes damage for quality."""
    from textassay.cli.stress import StressOptions, run_stress_command

    options = StressOptions(
        real=real,
        train=train,
        other=other,
        metrics=metrics,
        damages=damages,
        strengths=strengths,
        sentences=sentences,
        draws=draws,
        effort=effort,
        encoder=encoder,
        tokenizer=tokenizer,
        lowercase=lowercase,
        column=column,
        level=level,
        seed=seed,
        workers=workers,
        device=device,
        out=out,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(run_stress_command(options))
