"""Groups of sub-commands that are made when they are asked for, such as ``train MODEL``.

The options of such a command come from classes that take time to import; the list of names does not wait for them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from textassay.cli.adapter import Command, add_command, answer_help
from textassay.errors import unknown_name


@dataclass(frozen=True)
class Places:
    """Commands by name, and where they are: ``package.module:Class``."""

    name: str
    help: str
    commands: Mapping[str, str]


@dataclass(frozen=True)
class Group:
    """Commands by name, with their summaries; ``command(name)`` in `module` returns one."""

    name: str
    help: str
    what: str
    commands: Mapping[str, str]
    module: str


class _Commands(Mapping[str, Any]):
    """The commands of a group by name, each made when it is asked for."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._made: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._group.commands)

    def __len__(self) -> int:
        return len(self._group.commands)

    def __getitem__(self, name: str) -> Any:
        if name not in self._group.commands:
            raise KeyError(name)
        if name not in self._made:
            sub_command: type[Command] = import_module(self._group.module).command(name)
            app = typer.Typer(add_completion=False)
            add_command(app, sub_command, name)
            self._made[name] = typer.main.get_command(app)
        return self._made[name]


def add_group(app: typer.Typer, group: Group, **settings: Any) -> None:
    """Add a group of commands to `app`; without a command, it lists them."""

    class ThisGroup(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = _Commands(group)  # type: ignore[assignment]

        def list_commands(self, ctx: Any) -> list[str]:
            return list(group.commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """Return what lists of commands show; what is run comes from `resolve_command`."""
            return TyperCommand(cmd_name, help=group.commands[cmd_name])

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
            if args[0] not in self.commands:
                raise unknown_name(group.what, args[0], self.commands)
            return args[0], self.commands[args[0]], args[1:]

    metavar = f"{group.what.upper()} [OPTIONS]"
    commands = typer.Typer(
        name=group.name, help=group.help, cls=ThisGroup, subcommand_metavar=metavar, add_help_option=False
    )
    commands.callback(invoke_without_command=True)(answer_help)
    app.add_typer(commands, **settings)
