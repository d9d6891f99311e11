"""How ``textassay sample`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

from pathlib import Path
from typing import Annotated

import typer

from textassay.cli.declarations import (
    Column,
    Config,
    Device,
    MaxInput,
    MaxText,
    Precision,
    Quiet,
    Seed,
    Workers,
)

__all__ = ["sample_command"]


def sample_command(
    *,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A folder of 'train', pretrained:NAME_OR_PATH, or 'command:SHELL COMMAND'."
        ),
    ],
    sentences: Annotated[
        int | None, typer.Option("-n", "--sentences", metavar="N", help="How many; as many as --prefixes by default.")
    ] = None,
    temperature: Annotated[
        float, typer.Option(metavar="T", help="Above 0; below 1 likely words become likelier.")
    ] = 1.0,
    top_k: Annotated[int | None, typer.Option(metavar="K", help="Draw from the K likeliest words.")] = None,
    top_p: Annotated[
        float | None, typer.Option(metavar="P", help="Draw from the likeliest words that together have P.")
    ] = None,
    prefix: Annotated[str | None, typer.Option(metavar="TEXT", help="What all sentences begin with.")] = None,
    prefixes: Annotated[
        str | None, typer.Option(metavar="FILE", help="What the sentences begin with, one a line.")
    ] = None,
    contexts: Annotated[
        str | None, typer.Option(metavar="FILE", help="What c2s, gc2s and att2seq answer to: a .tsv or .csv table.")
    ] = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .txt or .jsonl file; standard output by default.")
    ] = None,
    precision: Precision = "float32",
    column: Column = None,
    workers: Workers = None,
    device: Device = "auto",
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Draw sentences from a model, one a line."""
    from textassay.cli.sample import SampleOptions, run_sample

    options = SampleOptions(
        model=model,
        sentences=sentences,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        prefix=prefix,
        prefixes=prefixes,
        contexts=contexts,
        seed=seed,
        out=out,
        precision=precision,
        column=column,
        workers=workers,
        device=device,
        quiet=quiet,
    )
    raise typer.Exit(run_sample(options))
