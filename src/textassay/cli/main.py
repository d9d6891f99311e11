"""The ``textassay`` command: its sub-commands, and the one place where errors become a line and an exit status.

Heavy parts are imported inside the commands, so that help and mistakes are answered at once.

Exit status: 0 done; 1 something failed that should not have, or a ``--fail-if`` condition holds; 2 the input or the
options are wrong; 130 interrupted.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from textassay.cli import human_next_word
from textassay.cli.adapter import add_command, add_group
from textassay.cli.approximate import Approximate
from textassay.cli.bench import Bench
from textassay.cli.compare import Compare
from textassay.cli.contexts import Contexts
from textassay.cli.demo import Demo
from textassay.cli.discrepancy import Discrepancy
from textassay.cli.explain import Explain
from textassay.cli.exposure import Exposure
from textassay.cli.groups import STUDY, TRAIN, add_lazy_group
from textassay.cli.human_analyse import Analyse
from textassay.cli.human_invite import Invite
from textassay.cli.human_next_word import NextWord
from textassay.cli.human_power import Power
from textassay.cli.human_serve import Serve
from textassay.cli.human_study import Build, Export, Import, JudgeInTerminal
from textassay.cli.inspect import Inspect
from textassay.cli.judge import Judge
from textassay.cli.likelihood import Likelihood
from textassay.cli.messages import show_warning, tell
from textassay.cli.plan import Plan
from textassay.cli.report import Report
from textassay.cli.sample import Sample
from textassay.cli.stress import Stress
from textassay.cli.translate import Translate
from textassay.corpus.limits import input_limits

__all__ = ["app", "main"]

app = typer.Typer(
    name="textassay",
    help="How far is generated text from real text, which generator is closer, and how sure can you be?",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Answer what is asked of the command itself."""
    if show_version:
        _version()
    elif context.invoked_subcommand is None:
        print(context.get_help())


add_command(app, Compare, "compare")
add_command(app, Inspect, "inspect")
add_command(app, Explain, "explain")
add_command(app, Plan, "plan")
add_command(app, Bench, "bench")
add_command(app, Stress, "stress")
add_command(app, Judge, "judge")
for group in (TRAIN, STUDY):
    add_lazy_group(app, group)
add_command(app, Translate, "translate")
add_command(app, Contexts, "contexts")
add_command(app, Sample, "sample")
add_command(app, Likelihood, "likelihood")
add_command(app, Discrepancy, "discrepancy")
add_command(app, Exposure, "exposure")
add_command(app, Approximate, "approximate")

human = add_group(app, "human", "Let people judge texts: build a study, run it, bring results in, analyse them.")
add_command(human, Build, "build")
add_command(human, NextWord, "next-word")
add_command(human, human_next_word.Exposure, "exposure")
add_command(human, Export, "export")
add_command(human, Import, "import")
add_command(human, Power, "power")
add_command(human, JudgeInTerminal, "judge")
add_command(human, Serve, "serve")
add_command(human, Invite, "invite")
add_command(human, Analyse, "analyse")

add_command(app, Demo, "demo")
add_command(app, Report, "report")


@app.command(name="version")
def _version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed_version

    print(f"textassay {installed_version('textassay')}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    arguments
        What stands after ``textassay`` on the command line; taken from there by default.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if "OMP_WAIT_POLICY" not in os.environ:
        # Before anything loads OpenMP: its threads wait by spinning, and two of them crawl beside other work.
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    debug = "--debug" in given or bool(os.environ.get("TEXTASSAY_DEBUG"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings(), input_limits():
            warnings.showwarning = show_warning
            status = _run(given)
            sys.stdout.flush()
    except (KeyboardInterrupt, Exception) as error:
        if debug and not isinstance(error, BrokenPipeError):
            traceback.print_exc()
        return tell(error)
    return status


@cache  # who calls `main` again and again does not wait for all options to be read each time
def _command() -> Any:
    return typer.main.get_command(app)


def _run(arguments: list[str]) -> int:
    command = _command()
    try:
        with command.make_context("textassay", arguments) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
