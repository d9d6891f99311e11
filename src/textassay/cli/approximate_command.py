"""How ``textassay approximate`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

from pathlib import Path
from typing import Annotated

import typer

from textassay.cli.declarations import (
    Column,
    Config,
    Device,
    Json,
    Level,
    MaxInput,
    MaxText,
    Precision,
    Quiet,
    Seed,
    Workers,
)

__all__ = ["approximate_command"]


def approximate_command(
    *,
    generator: Annotated[
        str, typer.Argument(metavar="GENERATOR", help="A folder that 'train' wrote, or pretrained:NAME_OR_PATH.")
    ],
    text: Annotated[str, typer.Argument(metavar="FILE", help="Text it never saw; '-' is standard input.")],
    samples: Annotated[int, typer.Option("--samples", "-n", metavar="N", help="Draws a position, at least 20.")] = 2000,
    window: Annotated[
        int | None,
        typer.Option(metavar="T", help="Read FILE as running text, in windows of T tokens; else line by line."),
    ] = None,
    context: Annotated[
        int, typer.Option(metavar="C", help="Tokens before each window that are read, too, not scored.")
    ] = 0,
    mode: Annotated[
        str | None,
        typer.Option(metavar="M", help="multinomial (where there is a softmax), onehot (else), soft or exact."),
    ] = None,
    floor: Annotated[
        float, typer.Option(metavar="P", help="Probability of a token that was never drawn, at most 1/N.")
    ] = 1e-20,
    curve: Annotated[
        bool, typer.Option("--curve", help="How many draws are enough: the stopping rule, and the true error.")
    ] = False,
    precision: Precision = "float32",
    column: Column = None,
    level: Level = 0.95,
    seed: Seed = 0,
    workers: Workers = None,
    device: Device = "auto",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write results and figures here; again, it goes on where it stopped."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Say how likely a text is under a generator that only draws tokens, such as a GAN: by its average output."""
    from textassay.cli.approximate import ApproximateOptions, run_approximate

    options = ApproximateOptions(
        generator=generator,
        text=text,
        samples=samples,
        window=window,
        context=context,
        mode=mode,
        floor=floor,
        curve=curve,
        precision=precision,
        column=column,
        level=level,
        seed=seed,
        workers=workers,
        device=device,
        out=out,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(run_approximate(options))
