"""The ``textassay`` command: its sub-commands, and the one place where errors become a line and an exit status.

A command's file is imported when the command is run, and what it needs of the library inside its ``run``, so that help
and mistakes are answered at once.

Exit status: 0 done; 1 something failed that should not have, or a ``--fail-if`` condition holds; 2 the input or the
options are wrong; 130 interrupted.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pkgutil import resolve_name
from typing import Annotated, Any

import typer

from textassay.cli.adapter import add_command, add_sub_commands
from textassay.cli.groups import Group, add_group
from textassay.cli.messages import show_warning, tell
from textassay.corpus.limits import input_limits

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Compare": {
        "compare": "compare:Compare",
        "inspect": "inspect:Inspect",
        "explain": "explain:Explain",
        "plan": "plan:Plan",
        "report": "report:Report",
        "demo": "demo:Demo",
    },
    "Which metric to trust": {
        "judge": "judge:Judge",
        "stress": "stress:Stress",
        "bench": "bench:Bench",
    },
    "Models": {
        "train": "groups:TRAIN",
        "sample": "sample:Sample",
        "translate": "translate:Translate",
        "contexts": "contexts:Contexts",
        "likelihood": "likelihood:Likelihood",
        "discrepancy": "discrepancy:Discrepancy",
        "exposure": "exposure:Exposure",
        "approximate": "approximate:Approximate",
    },
    "Studies": {"study": "groups:STUDY"},
}
"""Under the headings of help: names of commands, and where in `textassay.cli` they are."""

HUMAN: Mapping[str, str] = {
    "build": "human_study:Build",
    "next-word": "human_next_word:NextWord",
    "exposure": "human_next_word:Exposure",
    "export": "human_study:Export",
    "import": "human_study:Import",
    "power": "human_power:Power",
    "judge": "human_study:JudgeInTerminal",
    "serve": "human_serve:Serve",
    "invite": "human_invite:Invite",
    "analyse": "human_analyse:Analyse",
}


def make_app(only: str | None = None) -> typer.Typer:
    """Return the command with all its sub-commands, or with the one called `only`."""
    app = typer.Typer(
        name="textassay",
        help="How far is generated text from real text, which generator is closer, and how sure can you be?",
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_root)
    for panel, commands in COMMANDS.items():
        for name, place in commands.items():
            if only in (None, name):
                _add(app, name, place, rich_help_panel=panel)
    if only in (None, "human"):
        human = add_sub_commands(
            app,
            "human",
            "Let people judge texts: build a study, run it, bring results in, analyse them.",
            panel="People",
        )
        for name, place in HUMAN.items():
            _add(human, name, place)
    app.command(name="version", rich_help_panel="Other")(_version)
    return app


def _add(app: typer.Typer, name: str, place: str, **settings: Any) -> None:
    command = resolve_name(f"textassay.cli.{place}")
    if isinstance(command, Group):
        add_group(app, command, **settings)
    else:
        add_command(app, command, name, **settings)


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
    if "_TEXTASSAY_COMPLETE" in os.environ:  # the shell asks what may come next
        _command(None).main(prog_name="textassay")
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
def _command(only: str | None) -> Any:
    command: Any = typer.main.get_command(make_app(only))
    for parameter in command.params:
        if parameter.name in ("install_completion", "show_completion"):
            parameter.hidden = True
    return command


def _run(arguments: list[str]) -> int:
    names = {"human", *(name for commands in COMMANDS.values() for name in commands)}
    first = next((word for word in arguments if not word.startswith("-")), None)
    command = _command(first if first in names else None)
    try:
        with command.make_context("textassay", arguments) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
