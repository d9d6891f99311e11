"""How ``textassay human`` and its sub-commands are spelt; light to import, as `textassay.cli.main` is."""

from pathlib import Path
from typing import Annotated

import typer

from textassay.cli.declarations import (
    Column,
    Config,
    Generators,
    Json,
    Level,
    Lowercase,
    MaxInput,
    MaxText,
    Normalize,
    Seed,
)

__all__ = ["human_app"]

human_app = typer.Typer(
    name="human",
    help="Let people judge texts: build a study, run it, bring results in, analyse them.",
    add_completion=False,
)

_STUDY = Annotated[Path, typer.Argument(metavar="STUDY", help="The folder that 'human build' made.")]
_PER_PAGE = Annotated[int, typer.Option("--judgements", metavar="K", help="People who judge each page.")]


@human_app.callback(invoke_without_command=True)
def _human(context: typer.Context) -> None:
    """Say what there is where nothing is asked for."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@human_app.command(name="build")
def _build_command(
    *,
    generators: Generators = None,
    real: Annotated[str, typer.Option(metavar="FILE", help="Real text; '-' is standard input.")],
    out: Annotated[Path, typer.Option(metavar="STUDY", help="The folder of the study.")],
    page_size: Annotated[int, typer.Option(metavar="N", help="Texts on a page.")] = 20,
    real_per_page: Annotated[
        int | None, typer.Option(metavar="N", help="How many of them are real; half by default.")
    ] = None,
    per_generator: Annotated[
        int | None, typer.Option(metavar="N", help="Texts drawn of each generator; all by default.")
    ] = None,
    judgements: _PER_PAGE = 5,
    check: Annotated[str | None, typer.Option(metavar="TEXT", help="Attention check, right when judged fake.")] = None,
    no_check: Annotated[bool, typer.Option("--no-check", help="No attention check.")] = False,
    mark_rare: Annotated[
        int | None, typer.Option(metavar="N", help="Show words seen fewer than N times as underscores.")
    ] = None,
    rare_from: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where words are counted; in the real text by default.")
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="What participants read on top.")] = "Real or fake?",
    instructions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What else they read; an empty line parts paragraphs.")
    ] = None,
    lowercase: Lowercase = False,
    normalize: Normalize = False,
    column: Column = None,
    seed: Seed = 0,
    json: Json = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Make a study: pages of real and generated texts in random order, for people to tell apart."""
    from textassay.cli.options import parse_generators

    named = parse_generators(generators or [])
    from textassay.cli.human_study import BuildOptions, run_build

    options = BuildOptions(
        real=real,
        generators=named,
        out=out,
        page_size=page_size,
        real_per_page=real_per_page,
        per_generator=per_generator,
        judgements=judgements,
        check=check,
        no_check=no_check,
        mark_rare=mark_rare,
        rare_from=rare_from,
        title=title,
        instructions=instructions,
        lowercase=lowercase,
        normalize=normalize,
        column=column,
        seed=seed,
        json=json,
    )
    raise typer.Exit(run_build(options))


@human_app.command(name="next-word")
def _next_word_command(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="A folder that 'train' wrote, or pretrained:NAME.", show_default=False),
    ] = None,
    *,
    real: Annotated[str | None, typer.Option(metavar="FILE", help="Real text the model never saw.")] = None,
    length: Annotated[int, typer.Option(metavar="N", help="Tokens of a prefix.")] = 10,
    pages: Annotated[int, typer.Option(metavar="N", help="Pages: each takes half its items of either side.")] = 20,
    page_size: Annotated[int, typer.Option(metavar="N", help="Prefixes on a page; even.")] = 10,
    prefixes: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Prefixes and candidates instead of a model.")
    ] = None,
    judgements: _PER_PAGE = 1,
    out: Annotated[Path, typer.Option(metavar="STUDY", help="The folder of the study.")],
    column: Column = None,
    seed: Seed = 0,
    json: Json = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Make a study of the next-word task: people choose among a model's most probable next words."""
    from textassay.cli.human_next_word import NextWordOptions, run_next_word

    options = NextWordOptions(
        model=model,
        real=real,
        length=length,
        pages=pages,
        page_size=page_size,
        prefixes=prefixes,
        judgements=judgements,
        out=out,
        column=column,
        seed=seed,
        json=json,
    )
    raise typer.Exit(run_next_word(options))


@human_app.command(name="exposure")
def _exposure_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The judgements.csv of a next-word study, or a STUDY.")],
    *,
    level: Level = 0.95,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="Of the study's server, if it is not in STUDY.")
    ] = None,
    json: Json = False,
) -> None:
    """Say how much more often people disagree with a model after its own prefixes: its exposure bias."""
    from textassay.cli.human_next_word import run_exposure

    raise typer.Exit(run_exposure(file, database=database, level=level, json=json))


@human_app.command(name="export")
def _export_command(
    study: _STUDY,
    *,
    to: Annotated[str, typer.Option(metavar="WHAT", help="mechanical-turk, label-studio, html or csv.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to; STUDY/WHAT by default.")] = None,
) -> None:
    """Write what another platform needs to run the study, without saying who wrote what."""
    from textassay.cli.human_study import run_export

    raise typer.Exit(run_export(study, to=to, out=out))


@human_app.command(name="import")
def _import_command(
    study: _STUDY,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="What came back; of all kinds together.")],
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where judgements.csv and refused.csv go.")],
    most_pages: Annotated[
        int | None, typer.Option(metavar="N", help="Pages one rater may judge; 1 by default, next-word 200.")
    ] = None,
    json: Json = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
) -> None:
    """Bring results in: which submissions count, which are refused and why, what is left to do."""
    from textassay.cli.human_study import run_import

    raise typer.Exit(run_import(study, files, out=out, most_pages=most_pages, json=json))


@human_app.command(name="power")
def _power_command(
    *,
    accuracy: Annotated[float, typer.Option(metavar="P", help="Share of a generator's texts judged rightly.")] = 0.6,
    other: Annotated[
        float | None, typer.Option(metavar="P", help="That of another generator, to tell them apart.")
    ] = None,
    judges: Annotated[
        list[int] | None, typer.Option(metavar="K", help="Judges of each text; may be repeated. [default: 1, 3, 5]")
    ] = None,
    texts: Annotated[
        int | None, typer.Option(metavar="N", help="Say also how much N texts of a generator find.")
    ] = None,
    text_correlation: Annotated[
        float | None, typer.Option(metavar="R", help="Between judgements of one text; 0 or the pilot's by default.")
    ] = None,
    rater_correlation: Annotated[
        float | None, typer.Option(metavar="R", help="Between judgements by one rater; 0 or the pilot's by default.")
    ] = None,
    texts_per_rater: Annotated[
        float | None, typer.Option(metavar="M", help="Texts of a generator that a rater judges; 1 or the pilot's.")
    ] = None,
    pilot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Judgements of another study, for the correlations.")
    ] = None,
    level: Level = 0.95,
    power: Annotated[float, typer.Option(metavar="P", help="How likely what is there is to be found.")] = 0.8,
    json: Json = False,
) -> None:
    """Say how many texts and judges a study needs, before anyone is asked."""
    from textassay.cli.human_power import PowerOptions, run_power

    options = PowerOptions(
        accuracy=accuracy,
        other=other,
        judges=tuple(judges or (1, 3, 5)),
        texts=texts,
        text_correlation=text_correlation,
        rater_correlation=rater_correlation,
        texts_per_rater=texts_per_rater,
        pilot=pilot,
        level=level,
        power=power,
        json=json,
    )
    raise typer.Exit(run_power(options))


@human_app.command(name="judge")
def _judge_command(
    study: _STUDY,
    *,
    rater: Annotated[str, typer.Option(metavar="NAME", help="Who judges.")],
    out: Annotated[Path, typer.Option(metavar="FILE.csv", help="Where answers are kept, after each one.")],
    pages: Annotated[int, typer.Option(metavar="N", help="Pages to judge now.")] = 1,
) -> None:
    """Judge in the terminal, one key a text; stop any time, the same command goes on."""
    from textassay.cli.human_study import run_judge

    raise typer.Exit(run_judge(study, rater=rater, out=out, pages=pages))


@human_app.command(name="serve")
def _serve_command(
    study: _STUDY,
    *,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 is every one.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 takes a free one.")] = 8000,
    database: Annotated[
        str | None, typer.Option("--database", metavar="URL", help="[default: STUDY/judgements.sqlite]")
    ] = None,
    owner_token_file: Annotated[
        Path | None, typer.Option("--owner-token-file", metavar="FILE", help="Keep the owner's token there, not shown.")
    ] = None,
    new_owner_token: Annotated[bool, typer.Option("--new-owner-token", help="Make the old token useless.")] = False,
    pages_per_participant: Annotated[
        int, typer.Option("--pages-per-participant", metavar="N", help="Pages that one participant may judge.")
    ] = 1,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="MINUTES", help="Without an answer, until a page goes to another.")
    ] = 60.0,
    first_answer_limit: Annotated[
        float,
        typer.Option(
            "--first-answer-limit", metavar="MINUTES", help="Without a first answer, until it goes to another."
        ),
    ] = 10.0,
    per_address: Annotated[
        int | None,
        typer.Option(
            "--per-address",
            metavar="N",
            help="Unfinished participants of one address; 0: no limit. Half of all places by default, 5 to 50.",
        ),
    ] = None,
    invite_only: Annotated[
        bool, typer.Option("--invite-only", help="Only for people with a link that 'human invite' made.")
    ] = False,
    trust_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--trust-proxy", metavar="ADDRESS", help="A proxy that says where requests come from; may be repeated."
        ),
    ] = None,
) -> None:
    """Run the study as a web page."""
    from textassay.cli.human_serve import ServeOptions, run_serve

    options = ServeOptions(
        study,
        host,
        port,
        database,
        owner_token_file,
        new_owner_token,
        pages_per_participant,
        time_limit,
        first_answer_limit,
        per_address,
        invite_only,
        tuple(trust_proxy or ()),
    )
    raise typer.Exit(run_serve(options))


@human_app.command(name="invite")
def _invite_command(
    study: _STUDY,
    *,
    number: Annotated[int, typer.Option("--number", metavar="N", help="How many links.")] = 1,
    address: Annotated[
        str, typer.Option("--address", metavar="URL", help="Where participants reach the study.")
    ] = "http://127.0.0.1:8000",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Keep the links there, not shown.")] = None,
    database: Annotated[
        str | None, typer.Option("--database", metavar="URL", help="[default: STUDY/judgements.sqlite]")
    ] = None,
) -> None:
    """Make personal links to a study, each for one participant; its server may be running."""
    from textassay.cli.human_invite import run_invite

    raise typer.Exit(run_invite(study, number=number, address=address, out=out, database=database))


@human_app.command(name="analyse")
def _analyse_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Results of Mechanical Turk or Label Studio, a long CSV, or a STUDY.")
    ],
    *,
    ties: Annotated[str, typer.Option(metavar="RULE", help="Tied texts count as fake or real, or drop them.")] = "fake",
    votes: Annotated[
        str | None, typer.Option(metavar="N", help="Texts with N votes, or all; the most common number by default.")
    ] = None,
    level: Level = 0.95,
    texts: Annotated[int, typer.Option(metavar="K", help="Texts to list of each kind.")] = 4,
    min_seconds: Annotated[
        float, typer.Option("--min-seconds", metavar="S", help="Raters who take less for a text are suspicious.")
    ] = 2.0,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="RATER", help="Leave a rater out; may be repeated.")
    ] = None,
    reasons: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keywords by which comments are coded, as YAML.")
    ] = None,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="Of the study's server, if it is not in STUDY.")
    ] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where files and figures go.")] = None,
    json: Json = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
) -> None:
    """Say how well people told real from generated text, and how far they agreed."""
    from textassay.cli.human_analyse import AnalyseOptions, run_analyse

    options = AnalyseOptions(
        file, database, ties, votes, level, texts, min_seconds, tuple(exclude or ()), reasons, seed, out, json
    )
    raise typer.Exit(run_analyse(options))
