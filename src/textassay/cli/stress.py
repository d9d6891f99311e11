"""The command ``stress``: real text, damaged more and more, under every metric."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from textassay.cli.messages import not_saved, print_line
from textassay.cli.options import check_sources, check_writable
from textassay.cli.progress import show_progress
from textassay.cli.texts import read_sources
from textassay.comparison.comparison import FLOOR
from textassay.corpus.corpus import corpora_from_texts
from textassay.corpus.tokenizer import check_tokenizer
from textassay.errors import OptionError, check_range
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.meta_evaluation.stress import run_stress
from textassay.metric.base import check_effort
from textassay.metric.catalog import split_names
from textassay.report.stress_files import write_stress
from textassay.report.stress_text import render_stress

__all__ = ["StressOptions", "run_stress_command"]

VALUES = "values"  # the folder under --out
_REMEDY = "give other text there"


@dataclass(frozen=True)
class StressOptions:
    """What the command line asked for; the fields are the options of ``textassay stress``."""

    real: str
    train: str | None = None
    other: str | None = None
    metrics: str | None = None
    damages: str | None = None
    strengths: str = "0.1,0.2,0.4,0.8"
    sentences: int | None = None
    draws: int = 5
    effort: str = "quick"
    encoder: str | None = None
    tokenizer: str = "auto"
    lowercase: bool = False
    column: str | None = None
    level: float = 0.95
    seed: int = 0
    workers: int | None = None
    device: str = "auto"
    out: Path | None = None
    json: bool = False
    quiet: bool = False


def run_stress_command(options: StressOptions) -> int:
    """Damage the text, measure it, print what came of it, write it where asked, and return 0."""
    n_workers = default_workers() if options.workers is None else options.workers
    check_range("--workers", n_workers, 1, MAX_WORKERS)
    check_device(options.device)
    strengths = _numbers(options.strengths)
    names = {"--train": options.train, "--other": options.other}
    others = {name: source for name, source in names.items() if source is not None}
    check_sources(options.real, others, dict.fromkeys(others, _REMEDY))
    check_tokenizer(options.tokenizer)
    effort = check_effort(options.effort)
    if options.out is not None:
        check_writable(options.out)
    sources = {FLOOR: options.real, **others}
    files = read_sources(sources, column=options.column, group_column=None, remedies=dict.fromkeys(others, _REMEDY))
    corpora = corpora_from_texts(
        {name: file.texts for name, file in files.items()}, tokenizer=options.tokenizer, lowercase=options.lowercase
    )
    with show_progress(quiet=options.quiet) as progress, workers(n_workers), device(options.device):
        stress = run_stress(
            corpora[FLOOR],
            train=corpora.get("--train"),
            other=corpora.get("--other"),
            metrics=None if options.metrics is None else split_names(options.metrics),
            damages=None if options.damages is None else split_names(options.damages),
            strengths=strengths,
            n_sentences=options.sentences,
            n_draws=options.draws,
            effort=effort,
            encoder=options.encoder,
            level=options.level,
            seed=options.seed,
            folder=None if options.out is None else options.out / VALUES,
            progress=progress,
        )
    if options.json:
        json.dump(stress.to_dict(), sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        render_stress(stress, Console())
    if options.out is not None:
        with not_saved():
            written = write_stress(stress, options.out)
        if not options.quiet:
            print_line(f"wrote {', '.join(map(str, written))}")
    return 0


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"cannot read --strengths '{text}': write numbers, such as 0.1,0.2,0.4,0.8") from None
