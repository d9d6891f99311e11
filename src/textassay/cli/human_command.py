"""How ``textassay human`` and its sub-commands are spelt; light to import, as `textassay.cli.main` is."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["human_app"]

human_app = typer.Typer(
    name="human",
    help="Let people judge texts: build a study, run it, bring results in, analyse them.",
    add_completion=False,
)

_STUDY = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder that 'human build' made.")]


@human_app.callback(invoke_without_command=True)
def _human(context: typer.Context) -> None:
    """Say what there is where nothing is asked for."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@human_app.command(name="serve")
def _serve_command(study: _STUDY) -> None:
    """Run the study as a web page."""
    from textassay.errors import UnavailableError

    raise UnavailableError("'human serve' is not there yet")


@human_app.command(name="analyse")
def _analyse_command(file: Annotated[Path, typer.Argument(metavar="FILE", help="Results.")]) -> None:
    """Say how well people told real from generated text, and how far they agreed."""
    from textassay.errors import UnavailableError

    raise UnavailableError("'human analyse' is not there yet")
