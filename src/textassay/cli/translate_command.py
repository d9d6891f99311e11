"""How ``textassay translate`` is spelt on the command line; light to import, as `textassay.cli.main` is."""

from pathlib import Path
from typing import Annotated

import typer

from textassay.cli.declarations import (
    Column,
    Config,
    Device,
    Json,
    MaxInput,
    MaxText,
    Precision,
    Quiet,
    Seed,
    Workers,
)

__all__ = ["translate_command"]


def translate_command(
    *,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A folder that 'train translation' wrote.")],
    source: Annotated[str, typer.Argument(metavar="FILE", help="What to translate; '-' is standard input.")],
    real: Annotated[
        str | None, typer.Option(metavar="FILE", help="A right translation of each line: BLEU is told.")
    ] = None,
    beam: Annotated[int, typer.Option(metavar="N", help="Beginnings that are followed at once; 1 is greedy.")] = 10,
    length_power: Annotated[
        float, typer.Option(metavar="P", help="Scores are divided by the length to this power; 0: not.")
    ] = 1.0,
    prefix_mode: Annotated[
        str,
        typer.Option(metavar="LIST", help="normal, or forced beginnings, side by side: data3, unrel3, rand3."),
    ] = "normal",
    sentences: Annotated[
        int | None, typer.Option("-n", "--sentences", metavar="N", help="Translate the first N; all by default.")
    ] = None,
    bleu_tokenizer: Annotated[str, typer.Option(metavar="NAME", help="sacreBLEU's: 13a, none, intl or char.")] = "13a",
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="One translation a line; standard output by default.")
    ] = None,
    precision: Precision = "float32",
    column: Column = None,
    workers: Workers = None,
    device: Device = "auto",
    json: Json = False,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Translate sentences by beam search, with forced beginnings where asked."""
    from textassay.cli.translate import TranslateOptions, run_translate

    options = TranslateOptions(
        model=model,
        source=source,
        real=real,
        beam=beam,
        length_power=length_power,
        prefix_mode=prefix_mode,
        sentences=sentences,
        bleu_tokenizer=bleu_tokenizer,
        seed=seed,
        out=out,
        precision=precision,
        column=column,
        workers=workers,
        device=device,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(run_translate(options))
