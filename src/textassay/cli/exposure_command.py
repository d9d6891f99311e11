"""How ``textassay exposure`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

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
    Model,
    Out,
    Precision,
    Quiet,
    Seed,
    Workers,
)

__all__ = ["exposure_command"]


def exposure_command(
    *,
    model: Model,
    real: Annotated[str, typer.Option(metavar="FILE", help="Real text the model never saw; '-' is standard input.")],
    lengths: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Tokens of the prefixes, such as 5,10,15; what the text allows by default."),
    ] = None,
    oracle: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Stands for the data: EB-C asks it for the true next words.")
    ] = None,
    prefixes: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="Compared with those of the data: model, shuffled, random, corrupted:0.1 (a share)."
        ),
    ] = "data,model,shuffled",
    samples: Annotated[
        int,
        typer.Option(metavar="N", help="In each run: continuations, at most for half of the text; sequences of EB-C."),
    ] = 10_000,
    runs: Annotated[
        int | None, typer.Option(metavar="R", help="Runs, each with fresh draws; 10 of EB-bleu, 5 of EB-C by default.")
    ] = None,
    sentence_length: Annotated[
        int | None,
        typer.Option(
            metavar="L", help="Tokens of all sentences; by default what half of them have, or 50; others are left out."
        ),
    ] = None,
    blocks: Annotated[
        bool, typer.Option("--blocks", help="The file is running text: cut it into blocks of L tokens.")
    ] = False,
    distances: Annotated[str, typer.Option(metavar="LIST", help="Of EB-C: tv, js, greedy, kl.")] = "tv,js,greedy",
    ends: Annotated[
        str, typer.Option(metavar="HOW", help="excluded: no sentence ends; absorbing: the end is a word.")
    ] = "excluded",
    eb_dd: Annotated[
        bool, typer.Option("--eb-dd", help="EB-DD, too: what a classifier makes of it; some seconds a length.")
    ] = False,
    show: Annotated[int, typer.Option(metavar="N", help="Sentences after each kind of prefix to show.")] = 3,
    column: Column = None,
    level: Level = 0.95,
    seed: Seed = 0,
    out: Out = None,
    precision: Precision = "float32",
    workers: Workers = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Say whether a language model goes on worse from its own words than from real ones: exposure bias."""
    from textassay.cli.exposure import ExposureOptions, run_exposure

    options = ExposureOptions(
        model=model,
        real=real,
        lengths=lengths,
        oracle=oracle,
        prefixes=prefixes,
        samples=samples,
        runs=runs,
        sentence_length=sentence_length,
        blocks=blocks,
        distances=distances,
        ends=ends,
        eb_dd=eb_dd,
        show=show,
        column=column,
        level=level,
        seed=seed,
        out=out,
        precision=precision,
        workers=workers,
        device=device,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(run_exposure(options))
