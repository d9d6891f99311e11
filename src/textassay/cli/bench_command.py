"""How ``textassay bench`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

from pathlib import Path
from typing import Annotated

import typer

from textassay.cli.declarations import (
    Column,
    Config,
    Device,
    Json,
    Level,
    Lowercase,
    MaxInput,
    MaxText,
    Quiet,
    Tokenizer,
    Workers,
)

__all__ = ["bench_command"]


def bench_command(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]FILE...",
            help="Text that generators are fitted to; Python's docstrings by default.",
            show_default=False,
        ),
    ] = None,
    sentences: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Sentences a side, 20000 by default; may be repeated.")
    ] = None,
    truth: Annotated[int, typer.Option(metavar="N", help="Sentences a side to compute the truth from.")] = 50_000,
    seeds: Annotated[str, typer.Option(metavar="LIST", help="Such as 100-104; below 100 for development.")] = "100",
    estimators: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="plain, quick, default, max, logistic, cnn, any metric; each may end in +log-probs."
        ),
    ] = "plain,quick,default",
    worlds: Annotated[
        str | None, typer.Option(metavar="LIST", help="Such as growth-4,identical; all by default.")
    ] = None,
    tokenizer: Tokenizer = "auto",
    lowercase: Lowercase = False,
    column: Column = None,
    level: Level = 0.95,
    workers: Workers = None,
    device: Device = "auto",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write results here; again, it goes on where it stopped.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Measure how much of a known discrepancy dd and other metrics find, and whether they are honest."""
    from textassay.cli.options import parse_generators

    named = parse_generators(files) if files else {}
    from textassay.cli.bench import BenchOptions, run_bench_command

    options = BenchOptions(
        files=named,
        sentences=tuple(sentences or (20_000,)),
        truth=truth,
        seeds=seeds,
        estimators=estimators,
        worlds=worlds,
        tokenizer=tokenizer,
        lowercase=lowercase,
        column=column,
        level=level,
        workers=workers,
        device=device,
        out=out,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(run_bench_command(options))
