"""How ``textassay likelihood`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

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
    Model,
    Precision,
    Quiet,
    Workers,
)

__all__ = ["likelihood_command"]


def likelihood_command(
    *,
    model: Model,
    text: Annotated[str, typer.Argument(metavar="FILE", help="Text to score; '-' is standard input.")],
    real: Annotated[
        str | None, typer.Option(metavar="FILE", help="Real text to score, too: 'compare' takes both in one file.")
    ] = None,
    contexts: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="What the sentences of FILE answer to: for c2s, gc2s and att2seq."),
    ] = None,
    real_contexts: Annotated[str | None, typer.Option(metavar="TABLE", help="What those of --real answer to.")] = None,
    temperature: Annotated[float, typer.Option(metavar="T", help="Above 0: score as the model draws at it.")] = 1.0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Log-probabilities: .npz (needs --real) or .npy, for 'compare --log-probs'."),
    ] = None,
    precision: Precision = "float32",
    column: Column = None,
    level: Level = 0.95,
    workers: Workers = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Say how likely a text is under a model: perplexity, bits per character, nats a sentence."""
    from textassay.cli.likelihood import LikelihoodOptions, run_likelihood

    options = LikelihoodOptions(
        model=model,
        text=text,
        real=real,
        contexts=contexts,
        real_contexts=real_contexts,
        temperature=temperature,
        out=out,
        precision=precision,
        column=column,
        level=level,
        workers=workers,
        device=device,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(run_likelihood(options))
