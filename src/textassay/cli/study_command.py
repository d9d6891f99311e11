"""How ``textassay study`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

from pathlib import Path
from typing import Annotated

import typer

from textassay.cli.declarations import (
    Column,
    Config,
    Device,
    Json,
    Lowercase,
    MaxInput,
    MaxText,
    Quiet,
    Seed,
    Tokenizer,
    Workers,
)

__all__ = ["study_command"]


def study_command(
    *,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="dd-real, dd-synthetic, judges, exposure-bias, gan-as-lm or generators; list tells what they are.",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Of exposure-bias: folders wikitext2, emnlp_news, yelp, multi30k, or some of them. Of generators: "
            "yelp and, if you like, emnlp_news. Of gan-as-lm: a folder of train.txt, valid.txt and test.txt, or one "
            "file of running text.",
            show_default=False,
        ),
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of the study judges: people's judgements, with the texts."),
    ] = None,
    real: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Real text to train on, in random order; Python's docstrings by default.",
            show_default=False,
        ),
    ] = None,
    valid: Annotated[str | None, typer.Option(metavar="FILE", help="Validation text; else the end of --real.")] = None,
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Test text; else what stands before that.")] = None,
    scale: Annotated[str, typer.Option(metavar="HOW", help="tiny, laptop or paper: minutes, hours, a GPU.")] = "tiny",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where it computes and reports; again, it goes on where it stopped."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Train each generator (of gan-as-lm: SeqGAN) K times, deal judged texts K times, draw K times; by "
            "default as the scale says.",
            show_default=False,
        ),
    ] = None,
    positives: Annotated[
        str,
        typer.Option(
            metavar="WHICH", help="Training text for classifiers: everything, or the fraction a generator saw."
        ),
    ] = "everything",
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="STAGE", help="Compute these stages alone, such as train; may be repeated."),
    ] = None,
    tokenizer: Tokenizer = "whitespace",
    lowercase: Lowercase = False,
    column: Column = None,
    seed: Seed = 0,
    workers: Workers = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Repeat the experiments of a paper on your text, and set its numbers beside yours."""
    from textassay.cli.study import StudyOptions, list_studies, run_study

    if name == "list":
        raise typer.Exit(list_studies(as_json=json))
    options = StudyOptions(
        name=name,
        data=data,
        judgements=judgements,
        real=real,
        valid=valid,
        test=test,
        scale=scale,
        out=out,
        seeds=seeds,
        positives=positives,
        only=tuple(only or ()),
        tokenizer=tokenizer,
        lowercase=lowercase,
        column=column,
        seed=seed,
        workers=workers,
        device=device,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(run_study(options))
