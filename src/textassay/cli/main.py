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
from pathlib import Path
from typing import Annotated, Any

import typer

from textassay.cli.adapter import add_command
from textassay.cli.approximate import Approximate
from textassay.cli.bench_command import bench_command
from textassay.cli.contexts import Contexts
from textassay.cli.declarations import (
    Column,
    Config,
    Device,
    Effort,
    Encoder,
    Explain,
    FailIf,
    Features,
    Folds,
    Generators,
    GroupColumn,
    Heldout,
    Json,
    Level,
    LogProbs,
    Lowercase,
    MaxInput,
    MaxText,
    MaxTokens,
    Metrics,
    Normalize,
    Out,
    Paper,
    Quiet,
    Ratings,
    Real,
    Seed,
    Tokenizer,
    Train,
    Workers,
)
from textassay.cli.discrepancy import Discrepancy
from textassay.cli.exposure import Exposure
from textassay.cli.groups import STUDY, TRAIN, add_group
from textassay.cli.human_command import human_app
from textassay.cli.judge_command import judge_command
from textassay.cli.likelihood import Likelihood
from textassay.cli.messages import show_warning, tell
from textassay.cli.plan import Plan
from textassay.cli.sample import Sample
from textassay.cli.stress_command import stress_command
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


@app.command(name="compare")
def _compare_command(
    *,
    generators: Generators = None,
    real: Real,
    real_heldout: Heldout = None,
    train: Train = None,
    features: Features = None,
    log_probs: LogProbs = None,
    ratings: Ratings = None,
    metrics: Metrics = None,
    effort: Effort = "default",
    encoder: Encoder = None,
    paper: Paper = False,
    explain: Explain = True,
    tokenizer: Tokenizer = "auto",
    lowercase: Lowercase = False,
    normalize: Normalize = False,
    max_tokens: MaxTokens = None,
    column: Column = None,
    group_column: GroupColumn = None,
    folds: Folds = None,
    level: Level = 0.95,
    seed: Seed = 0,
    workers: Workers = None,
    device: Device = "auto",
    out: Out = None,
    json: Json = False,
    fail_if: FailIf = None,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Compare generated text with real text: how far, which is closer, and could that be luck."""
    from textassay.cli.options import parse_files, parse_generators

    named = parse_generators(generators or [])
    arrays = {"features": features, "log-probs": log_probs, "ratings": ratings}
    files = {name: parse_files(f"--{name}", given or []) for name, given in arrays.items()}
    from textassay.cli.compare import CompareOptions, run_compare

    options = CompareOptions(
        real=real,
        generators=named,
        real_heldout=real_heldout,
        train=train,
        features=files["features"],
        log_probs=files["log-probs"],
        ratings=files["ratings"],
        metrics=metrics,
        effort=effort,
        encoder=encoder,
        paper=paper,
        explain=explain,
        tokenizer=tokenizer,
        lowercase=lowercase,
        normalize=normalize,
        max_tokens=max_tokens,
        column=column,
        group_column=group_column,
        folds=folds,
        level=level,
        seed=seed,
        workers=workers,
        device=device,
        out=out,
        json=json,
        fail_if=tuple(fail_if or ()),
        quiet=quiet,
    )
    raise typer.Exit(run_compare(options))


@app.command(name="inspect")
def _inspect_command(
    *,
    generators: Generators = None,
    real: Real,
    train: Train = None,
    tokenizer: Tokenizer = "auto",
    lowercase: Lowercase = False,
    normalize: Normalize = False,
    max_tokens: MaxTokens = None,
    column: Column = None,
    json: Json = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Find what is trivially different between the texts, before anything is measured."""
    from textassay.cli.options import parse_generators

    named = parse_generators(generators or [])
    from textassay.cli.inspect import InspectOptions, run_inspect

    options = InspectOptions(
        real=real,
        generators=named,
        train=train,
        tokenizer=tokenizer,
        lowercase=lowercase,
        normalize=normalize,
        max_tokens=max_tokens,
        column=column,
        json=json,
    )
    raise typer.Exit(run_inspect(options))


@app.command(name="explain")
def _explain_command(
    *,
    generators: Generators = None,
    real: Real,
    top: Annotated[int, typer.Option(metavar="N", help="How many n-grams to show each way.")] = 10,
    effort: Effort = "default",
    tokenizer: Tokenizer = "auto",
    lowercase: Lowercase = False,
    normalize: Normalize = False,
    max_tokens: MaxTokens = None,
    column: Column = None,
    group_column: GroupColumn = None,
    folds: Folds = None,
    level: Level = 0.95,
    seed: Seed = 0,
    workers: Workers = None,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Say what gives each generator away: words, lengths, positions, sentences, and whether more text would help."""
    from textassay.cli.options import parse_generators

    named = parse_generators(generators or [])
    from textassay.cli.explain import ExplainOptions, run_explain

    options = ExplainOptions(
        real=real,
        generators=named,
        top=top,
        effort=effort,
        tokenizer=tokenizer,
        lowercase=lowercase,
        normalize=normalize,
        max_tokens=max_tokens,
        column=column,
        group_column=group_column,
        folds=5 if folds is None else folds,
        level=level,
        seed=seed,
        workers=workers,
        out=out,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(run_explain(options))


add_command(app, Plan, "plan")
app.command(name="bench")(bench_command)
app.command(name="stress")(stress_command)
app.command(name="judge")(judge_command)
for _group in (TRAIN, STUDY):
    add_group(app, _group)
add_command(app, Translate, "translate")
add_command(app, Contexts, "contexts")
add_command(app, Sample, "sample")
add_command(app, Likelihood, "likelihood")
add_command(app, Discrepancy, "discrepancy")
add_command(app, Exposure, "exposure")
add_command(app, Approximate, "approximate")
app.add_typer(human_app)


@app.command(name="demo")
def _demo_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the texts and the report go.")] = Path("demo-report"),
    sentences: Annotated[
        int,
        typer.Option(metavar="N", help="Sentences of real text and of each generator, at most."),
    ] = 2500,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Show all of it on text made at run time: five generators against Python's own docstrings."""
    from textassay.cli.demo import DemoOptions, run_demo

    raise typer.Exit(run_demo(DemoOptions(out=out, sentences=sentences, seed=seed, quiet=quiet)))


@app.command(name="report")
def _report_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What 'compare --out' wrote.")],
    max_input: MaxInput = "4GB",
) -> None:
    """Draw the report of a finished comparison again."""
    from textassay.cli.report import run_report

    raise typer.Exit(run_report(folder))


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
