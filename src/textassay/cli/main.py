"""The ``textassay`` command: its sub-commands, and the one place where errors become a line and an exit status.

A command's file is imported when the command is run, and what it needs of the library inside its ``run``, so that help
and mistakes are answered at once.

Exit status: 0 done; 1 something failed that should not have, a ``--fail-if`` condition holds, a text is not equivalent
or leaks, or a model has changed; 2 the input or the options are wrong; 3 it cannot be told; 70 a fault of the program;
130 interrupted; 141 nobody read on; 143 terminated.
"""

import gc
import os
import re
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import typer

from textassay.cli.adapter import Group, Places, add_command, add_group, add_sub_commands
from textassay.cli.messages import handling_signals, ignore_signals, report_error, show_warning
from textassay.corpus.limits import input_limits
from textassay.execution.progress import no_own_progress
from textassay.extensions import extensions

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Compare": {
        "compare": "textassay.cli.compare:Compare",
        "inspect": "textassay.cli.inspect:Inspect",
        "explain": "textassay.cli.explain:Explain",
        "plan": "textassay.cli.plan:Plan",
        "leaks": "textassay.cli.leaks:Leaks",
        "share": "textassay.cli.share:Share",
        "audit": "textassay.cli.audit:AUDIT",
        "report": "textassay.cli.report:Report",
        "demo": "textassay.cli.demo:Demo",
    },
}
"""Under the headings of help: names of commands, and where they are; packages beside this one register more."""


@cache
def all_commands() -> Mapping[str, Mapping[str, str]]:
    """Return all commands, as `COMMANDS` has them, those of packages beside this one after ours."""
    return {panel: names for part in (COMMANDS, *extensions("textassay.commands")) for panel, names in part.items()}


def make_app(only: str | None = None, *, listed: bool = False, completion: bool = False) -> typer.Typer:
    """Return the command with all its sub-commands, or with the one called `only`.

    Where they are only `listed`, their files are not imported. With `completion` it has the options that install shell
    completion. Both take as long as help itself.
    """
    app = typer.Typer(
        name="textassay",
        help="How far is generated text from real text, which generator is closer, and how sure can you be?",
        add_completion=completion,
        add_help_option=False,  # `_root` has one, since Typer's loads pydantic even where it is not asked for
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_root)
    for panel, commands in all_commands().items():
        for name, place in commands.items():
            if listed:
                app.command(name=name, help=_summary(place), rich_help_panel=panel)(_version)
            elif only in (None, name):
                _add(app, name, place, rich_help_panel=panel)
    app.command(name="version", rich_help_panel="Other")(_version)
    return app


def _summary(place: str) -> str:
    """Return the help of a command, from the text of its file; of a group, from the group."""
    module, name = place.split(":")
    spec = find_spec(module)
    text = "" if spec is None or spec.origin is None else Path(spec.origin).read_text(encoding="utf-8")
    match = re.search(rf'^class {name}\b[^\n]*\n    """(.+?)"""', text, re.MULTILINE | re.DOTALL)
    return str(resolve_name(place).help) if match is None else match[1]


def _add(app: typer.Typer, name: str, place: str, **settings: Any) -> None:
    command = resolve_name(place)
    if isinstance(command, Group):
        add_group(app, command, **settings)
    elif isinstance(command, Places):
        commands = add_sub_commands(app, command.name, command.help, panel=settings["rich_help_panel"])
        for sub_command, sub_place in command.commands.items():
            _add(commands, sub_command, sub_place)
    else:
        add_command(app, command, name, **settings)


def _root(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    show_help: Annotated[bool, typer.Option("--help", help="Show this message and exit.")] = False,
) -> None:
    """Answer what is asked of the command itself."""
    if show_version:
        _version()
    elif show_help or context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def _version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed_version

    print(f"textassay {installed_version('textassay')}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    `arguments`: what stands after ``textassay`` on the command line; taken from there by default.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "_TEXTASSAY_COMPLETE" in os.environ:  # the shell asks what may come next
        _command(completion=True).main(prog_name="textassay")
    if "OMP_WAIT_POLICY" not in os.environ:
        # Before anything loads OpenMP: its threads wait by spinning, and two of them crawl beside other work.
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    if arguments is None:  # the process ends with this command
        gc.set_threshold(5_000)  # what is loaded stays; to look through it for garbage takes a tenth of the time
    debug = "--debug" in words or bool(os.environ.get("TEXTASSAY_DEBUG"))
    _open_streams()
    if not os.environ.get("COLUMNS", "80").isdecimal() or int(os.environ.get("COLUMNS", "80")) == 0:
        del os.environ["COLUMNS"]  # a width that shows nothing
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with handling_signals(), warnings.catch_warnings(), input_limits(), no_own_progress():
            warnings.showwarning = show_warning
            status = _run(words)
            sys.stdout.flush()
    except SystemExit as error:
        if error.code != 1:
            raise
        return report_error(BrokenPipeError())  # Rich's way to say that nobody reads on
    except (KeyboardInterrupt, Exception) as error:
        if debug and not isinstance(error, BrokenPipeError):
            traceback.print_exc()
        return report_error(error)
    finally:
        if arguments is None:
            ignore_signals()  # all is done: a signal would only take its status away
            gc.freeze()  # what is loaded is not taken apart at the end, which takes as long as loading half of it
    return status


def _open_streams() -> None:
    """Let standard streams that are closed lead nowhere, before a file of ours is opened under one's number."""
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


@cache  # who calls `main` again and again does not wait for all options to be read each time
def _command(only: str | None = None, *, listed: bool = False, completion: bool = False) -> Any:
    return typer.main.get_command(make_app(only, listed=listed, completion=completion))


def _run(arguments: list[str]) -> int:
    names = {"version", *(name for commands in all_commands().values() for name in commands)}
    of_root = list(takewhile(lambda word: word.startswith("-"), arguments))
    name = "".join(arguments[len(of_root) : len(of_root) + 1])
    if name in names and "--help" not in of_root:
        command = _command(name)
    else:
        command = _command(listed=True, completion=any("completion" in word for word in of_root))
    try:
        with command.make_context("textassay", arguments) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
