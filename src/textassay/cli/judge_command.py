"""How ``textassay judge`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

from pathlib import Path
from typing import Annotated

import typer

from textassay.cli.declarations import (
    Column,
    Config,
    Device,
    Effort,
    Encoder,
    Generators,
    Json,
    Level,
    Lowercase,
    MaxInput,
    MaxText,
    Normalize,
    Out,
    Quiet,
    Seed,
    Tokenizer,
    Workers,
)

__all__ = ["judge_command"]


def judge_command(
    *,
    generators: Generators = None,
    ratings: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="People's judgements: long CSV, Mechanical Turk or Label Studio."),
    ] = None,
    gold: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="A known order: csv of generator,value, or 'A>B>C'; may be repeated."),
    ] = None,
    real: Annotated[
        str | None, typer.Option(metavar="FILE", help="Real text; by default the real texts of the ratings.")
    ] = None,
    train: Annotated[str | None, typer.Option(metavar="FILE", help="What the generators were trained on.")] = None,
    results: Annotated[
        Path | None, typer.Option(metavar="DIR", help="What 'compare --out' wrote, instead of texts.")
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Such as 'dd,bleu(order=4)'; all that have a direction by default."),
    ] = None,
    discriminators: Annotated[
        str | None, typer.Option(metavar="LIST", help="Classifiers of all generators at once, such as svm,naive-bayes.")
    ] = None,
    votes: Annotated[
        int | None, typer.Option(metavar="N", help="Majorities of texts with exactly N judgements only.")
    ] = None,
    effort: Effort = "default",
    encoder: Encoder = None,
    tokenizer: Tokenizer = "auto",
    lowercase: Lowercase = False,
    normalize: Normalize = False,
    column: Column = None,
    resamples: Annotated[int, typer.Option(metavar="N", help="Draws and swaps for intervals and tests.")] = 2_000,
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
    """Say which metric to trust: how each agrees with people or a known order, and which of them differ."""
    from textassay.cli.options import parse_generators

    named = parse_generators(generators) if generators else {}
    from textassay.cli.judge import JudgeOptions, run_judge

    options = JudgeOptions(
        generators=named,
        ratings=ratings,
        gold=tuple(gold or ()),
        real=real,
        train=train,
        results=results,
        metrics=metrics,
        discriminators=discriminators,
        votes=votes,
        effort=effort,
        encoder=encoder,
        tokenizer=tokenizer,
        lowercase=lowercase,
        normalize=normalize,
        column=column,
        resamples=resamples,
        level=level,
        seed=seed,
        workers=workers,
        device=device,
        out=out,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(run_judge(options))
