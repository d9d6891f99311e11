"""A command is a frozen dataclass whose fields are its options and whose `run` returns the exit status.

`add_command` turns it into a Typer command. A field is annotated as Typer reads it, with a `Between` where its number
has a range, and a `Check` where the library has a function that raises for a wrong value:
``Annotated[int, option("...", "N"), Between(1)]``.

Sub-commands of a group, such as ``train MODEL``, are made when they are asked for: their options come from classes that
take time to import, and the list of names does not wait for them.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import MISSING, dataclass, fields, is_dataclass
from importlib import import_module
from itertools import pairwise, takewhile
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo, OptionInfo

from textassay.addresses import is_address, place_of
from textassay.corpus.source import check_exists, local_file
from textassay.errors import InputError, OptionError, unknown_name
from textassay.fields import Between as Between
from textassay.fields import Check as Check
from textassay.fields import Option, Parse, Rule
from textassay.settings import Measuring
from textassay.storage import output_folder

# In which order help lists options of commands that use dd; dots: those of the command alone
ORDER = (
    "generators", "real", "draw", "real_heldout", "train", "fit_real", "prompt_column", "features", "log_probs",
    "no_log_probs", "ratings", "...", "metrics", "effort", "encoder", "paper", "prior", "unit", "explain", "folds",
    "level", "device", "equivalent", "fail_if", "junit", "summary", "all", "column", "max_input", "max_text",
    "tokenizer", "lowercase", "normalize", "max_tokens", "group_column", "independent", "workers", "quiet", "config",
    "seed", "cluster", "json", "out",
)  # fmt: skip
Result = TypeVar("Result")
BARE = {"--summary": "github"}  # options that may stand without a value, and what it then is


def option(
    help: str, metavar: str | None = None, panel: str | None = None, *, names: Sequence[str] = (), **settings: Any
) -> Any:
    """Return an option: its line of help, what stands for its value there, the panel; others go to Typer."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, **settings)


class Command(Protocol):
    """Options of a command, and what it does with them."""

    def run(self) -> int:
        """Do it and return the exit status."""
        ...


def call(function: Callable[..., Result], command: Any, /, **more: Any) -> Result:
    """Call a function of the library with the fields of `command` that are keywords of it, and with `more`."""
    parameters = inspect.signature(function).parameters
    of_texts = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())  # `TextOptions`
    names = {*parameters, *(("tokenizer", "lowercase", "normalize", "max_tokens") if of_texts else ())}
    own = {one.name: getattr(command, one.name) for one in fields(command) if one.name in names}
    return function(**own | more)


class _Command(TyperCommand):
    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        for parameter in self.params:
            _leave_as_typed(parameter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Answer --help at once: what converts values takes longer to load than help takes to print."""
        if "--help" in args and not ctx.resilient_parsing:
            print(ctx.get_help())
            ctx.exit()
        words = _with_values(args)
        if not ctx.resilient_parsing:
            _check_values(self.params, words)
        return super().parse_args(ctx, words)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option that is there beside those of `params`."""
        option = super().get_help_option(ctx)
        if option is not None and "process_value" not in vars(option):
            _leave_as_typed(option)
        return option


def _with_values(args: list[str]) -> list[str]:
    """Return the arguments with the value of a bare option that is the last or stands before another option."""
    filled = []
    for argument, following in zip(args, [*args[1:], "-"], strict=False):
        filled += [argument, BARE[argument]] if argument in BARE and following.startswith("-") else [argument]
    return filled


def _check_values(parameters: Sequence[Any], words: Sequence[str]) -> None:
    """Raise where an option that needs a value stands before another, or one that takes none before what is no file."""
    options = {name: one for one in parameters for name in (*one.opts, *one.secondary_opts) if name.startswith("-")}
    for word, following in pairwise(takewhile(lambda word: word != "--", words)):
        if word not in options:
            continue
        if not options[word].is_flag:
            if following in options:
                raise OptionError(f"{word} needs a value{_what(options[word])}, got the option {following}")
        elif not (following.startswith("-") or any(sign in following for sign in "=:")):
            try:
                check_exists(Path(following))
            except InputError as error:
                raise OptionError(
                    f"{word} takes no value: leave out '{following}' after it, or name a file ({error})"
                ) from None


def _what(option: Any) -> str:
    return f" ({option.metavar})" if option.metavar else ""


def _leave_as_typed(parameter: Any) -> None:
    """Let a value that is of its option's type already be taken as it is.

    Typer would have pydantic look at it, which takes as long to load as all else that answers a mistake.
    """
    kind = parameter.type_descriptor.annotation
    convert = parameter.process_value
    takes_several = parameter.multiple or parameter.nargs == -1

    def process(context: Any, value: Any) -> Any:
        several = takes_several and kind == list[str] and isinstance(value, list | tuple)
        if parameter.required and parameter.value_is_missing(value):
            return convert(context, value)
        if value is None:
            value = () if takes_several else None
        elif kind == Path and value == "":
            raise OptionError(f"{parameter.opts[0]} is empty: give a path, or leave it out")
        elif kind in (Path, list[Path]) and _holds_address(value):  # which a path would lose a stroke of
            several = isinstance(value, list | tuple)
            value = [place_of(item) for item in value] if several else place_of(value)
        elif several and all(type(item) is str for item in value):
            value = list(value)
        elif kind not in (str, int, float, bool) or type(value) is not kind:
            return convert(context, value)
        return value if parameter.callback is None else parameter.callback(context, parameter, value)

    parameter.process_value = process


def add_sub_commands(app: typer.Typer, name: str, help: str, *, panel: str | None = None) -> typer.Typer:
    """Add a command `name` that has sub-commands to `app`, and return it; alone it prints its help."""
    group = typer.Typer(name=name, help=help, add_completion=False, add_help_option=False)
    group.callback(invoke_without_command=True)(answer_help)
    app.add_typer(group, rich_help_panel=panel)
    return group


def answer_help(
    context: typer.Context,
    show_help: Annotated[bool, typer.Option("--help", help="Show this message and exit.")] = False,
) -> None:
    """Print the help of a command that has sub-commands.

    Typer's own option loads pydantic even where it is not given.
    """
    if show_help or context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def add_command(app: typer.Typer, command: type[Command], name: str, **settings: Any) -> None:
    """Add `command` to `app` under `name`; its docstring is the help. `settings` go to Typer's own decorator."""
    hints = {key: _for_typer(hint) for key, hint in get_type_hints(command, include_extras=True).items()}
    declared = {one.name: one for one in fields(command)}  # type: ignore[arg-type]
    checks = [(key, part) for key in declared for part in _metadata(hints[key]) if isinstance(part, Rule)]
    words = [(key, part) for key in declared for part in _metadata(hints[key]) if isinstance(part, Parse)]

    def run(**values: Any) -> None:
        with ExitStack() as open_folders:
            for key, value in values.items():
                if _holds_address(value):
                    values[key] = _on_this_machine(key, value, hints[key], open_folders)
            for key, part in checks:
                if values[key] not in (None, declared[key].default):
                    part.check(_spelling(key, hints[key]), values[key])
            for key, word in words:
                if values[key] is not None:
                    values[key] = resolve_name(word.function)(values[key])
            status = command(**values).run()
        raise typer.Exit(status)

    def parameter(key: str) -> inspect.Parameter:
        default = inspect.Parameter.empty if declared[key].default is MISSING else declared[key].default
        return inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[key])

    run.__signature__ = inspect.Signature([parameter(key) for key in _in_order(command)])  # type: ignore[attr-defined]
    run.__doc__ = command.__doc__
    app.command(name=name, cls=_Command, **settings)(run)


def _holds_address(value: Any) -> bool:
    return any(map(is_address, value if isinstance(value, list | tuple) else [value]))


def _on_this_machine(key: str, value: Any, hint: Any, open_folders: ExitStack) -> Any:
    """Return an option's value where each address that stands for a path is a path; names of texts stay.

    What ``--out`` and arguments name is worked on; of what other options name a copy is read. It is a folder if help
    says so.
    """
    if isinstance(value, list | tuple):
        return [_on_this_machine(key, item, hint, open_folders) for item in value]
    if not is_address(value) or Path not in _types(hint):
        return value
    (declared,) = (part for part in _metadata(hint) if isinstance(part, OptionInfo | ArgumentInfo))
    if key != "out" and isinstance(declared, OptionInfo):
        return local_file(value)
    if declared.metavar in ("DIR", "STUDY"):
        return open_folders.enter_context(output_folder(value))
    folder, _, name = value.rpartition("/")
    return open_folders.enter_context(output_folder(folder, file=name)) / name


def _types(hint: Any) -> set[Any]:
    """Return the types that an annotation names."""
    return {hint, *(kind for part in get_args(hint) for kind in _types(part))} if get_args(hint) else {hint}


def _in_order(command: type) -> list[str]:
    """Return the fields as help lists them: a command's own first, then those of its mixins as they are listed.

    Where these are settings of the library, those of `ORDER` stand in that order, the others where it has dots.
    """
    own = list(inspect.get_annotations(command))
    inherited = [one.name for base in command.__bases__ if is_dataclass(base) for one in fields(base)]
    names = list(dict.fromkeys(own + inherited))
    if issubclass(command, Measuring):
        names.sort(key=lambda name: ORDER.index(name if name in ORDER else "..."))
    return names


def _for_typer(hint: Any) -> Any:
    """Return an annotation where a setting's `Option` is one of Typer."""
    if not any(isinstance(part, Option) for part in _metadata(hint)):
        return hint
    parts = [
        option(part.help, part.metavar, part.panel, names=part.names, show_default=part.show_default)
        if isinstance(part, Option)
        else part
        for part in _metadata(hint)
    ]
    return Annotated[(get_args(hint)[0], *parts)]


def _metadata(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _spelling(key: str, hint: Any) -> str:
    """Return how messages name the option: as it is typed."""
    for part in _metadata(hint):
        # Typer takes the first name for a default and corrects that later.
        for spelling in (getattr(part, "default", None), *(getattr(part, "param_decls", None) or ())):
            if str(spelling).startswith("--"):
                return str(spelling).split("/")[0]
    return "--" + key.replace("_", "-")


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
