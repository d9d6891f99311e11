"""``textassay human next-word`` and ``exposure``: a study of the next-word task, and what came of it."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from textassay.cli.human_study import check_no_study, print_json, study_summary
from textassay.cli.models import open_model
from textassay.corpus.reader import read_texts
from textassay.errors import OptionError, check_range
from textassay.human.next_word import Prefix, build_next_word, draw_prefixes, read_prefixes
from textassay.human.next_word_score import score_next_word
from textassay.human.results import read_results
from textassay.human.study import save_study
from textassay.metric.base import check_level
from textassay.report.human_study import render_exposure, render_study

__all__ = ["NextWordOptions", "run_exposure", "run_next_word"]


@dataclass(frozen=True)
class NextWordOptions:
    """What the command line asked for; the fields are the options of ``textassay human next-word``."""

    out: Path
    model: str | None = None
    real: str | None = None
    length: int = 10
    pages: int = 20
    page_size: int = 10
    prefixes: Path | None = None
    judgements: int = 1
    column: str | None = None
    seed: int = 0
    json: bool = False


def run_next_word(options: NextWordOptions) -> int:
    """Draw prefixes or read them, build the study, write it, say what is in it, and return 0."""
    for name, value, least in (
        ("--length", options.length, 1),
        ("--pages", options.pages, 1),
        ("--page-size", options.page_size, 2),
        ("--judgements", options.judgements, 1),
        ("--seed", options.seed, 0),
    ):
        check_range(name, value, least)
    if options.page_size % 2:
        raise OptionError(f"--page-size must be even, got {options.page_size}")
    check_no_study(options.out)
    data, model, name = _prefixes(options)
    study = build_next_word(
        data,
        model,
        name=name,
        page_size=options.page_size,
        judgements_per_page=options.judgements,
        settings={"length": options.length} if options.prefixes is None else {},
        seed=options.seed,
    )
    path = save_study(study, options.out)
    if options.json:
        print_json({"study": str(path), **study_summary(study)})
    else:
        render_study(study, path, Console())
    return 0


def run_exposure(file: Path, *, database: str | None, level: float, json: bool) -> int:
    """Score the judgements of a next-word study, print the score, and return 0."""
    check_level(level)
    score = score_next_word(read_results(file, database=database, kind="next-word").judgements, level=level)
    if json:
        print_json(score.to_dict())
    else:
        render_exposure(score, Console())
    return 0


def _prefixes(options: NextWordOptions) -> tuple[list[Prefix], list[Prefix], str]:
    if options.prefixes is not None:
        if options.model is not None or options.real is not None:
            raise OptionError("--prefixes takes the place of MODEL and --real: give one or the other")
        return read_prefixes(options.prefixes)
    if options.model is None or options.real is None:
        raise OptionError("give MODEL and --real FILE, or --prefixes FILE.jsonl")
    opened = open_model(options.model)
    real = opened.form.corpus(read_texts(options.real, column=options.column))
    data, model = draw_prefixes(
        opened.model, real, length=options.length, n=options.pages * options.page_size // 2, seed=options.seed
    )
    return data, model, opened.model.name
