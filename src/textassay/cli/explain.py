"""``textassay explain``: say what gives each generator away, print it, write it."""

import io
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from rich.console import Console

from textassay.cli.options import check_sources, check_writable
from textassay.cli.progress import show_progress
from textassay.cli.texts import read_sources
from textassay.comparison.comparison import FLOOR, RealText
from textassay.comparison.explain import TOP, explain_generators
from textassay.comparison.explanation import Explanation
from textassay.comparison.store import EstimateStore
from textassay.corpus.prepare import prepare_corpora
from textassay.corpus.tokenizer import check_tokenizer
from textassay.errors import OutputError, TooFewSentencesError, check_range
from textassay.execution import MAX_WORKERS, default_workers, workers
from textassay.metric.base import check_effort, check_level
from textassay.report.explanation_text import render_explanation

__all__ = ["ExplainOptions", "run_explain"]

_WIDTH_OF_FILE = 100


@dataclass(frozen=True)
class ExplainOptions:
    """What the command line asked for; the fields are the options of ``textassay explain``."""

    real: str
    generators: Mapping[str, str]
    top: int = 10
    effort: str = "default"
    tokenizer: str = "auto"
    lowercase: bool = False
    normalize: bool = False
    max_tokens: int | None = None
    column: str | None = None
    group_column: str | None = None
    folds: int = 5
    level: float = 0.95
    seed: int = 0
    workers: int | None = None
    out: Path | None = None
    json: bool = False
    quiet: bool = False


def run_explain(options: ExplainOptions) -> int:
    """Explain, print, write, and return 0."""
    _check(options)
    with (
        show_progress(quiet=options.quiet) as progress,
        workers(default_workers() if options.workers is None else options.workers),
    ):
        sources = {FLOOR: options.real, **options.generators}
        files = read_sources(sources, column=options.column, group_column=options.group_column)
        corpora = prepare_corpora(
            files,
            tokenizer=options.tokenizer,
            lowercase=options.lowercase,
            normalize=options.normalize,
            max_tokens=options.max_tokens,
        )
        version = installed_version("textassay")
        real = corpora.pop(FLOOR)
        explanations, reasons = explain_generators(
            real,
            corpora,
            top=max(TOP, options.top),
            effort=check_effort(options.effort),
            folds=options.folds,
            level=options.level,
            seed=options.seed,
            store=EstimateStore(None if options.out is None else options.out / "estimates"),
            version=version,
            progress=progress,
        )
    if reasons:
        raise TooFewSentencesError(reasons[0])
    document = {
        "version": version,
        "real": asdict(RealText(files[FLOOR].name, len(real), real.fingerprint)),
        "level": options.level,
        "seed": options.seed,
        "folds": options.folds,
        "effort": options.effort,
        "tokenizer": real.tokenizer,
        "explanations": [explanation.to_dict() for explanation in explanations],
    }
    if options.out is not None:
        _write(options.out, document, explanations, top=options.top)
    if options.json:
        json.dump(document, sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        for explanation in explanations:
            render_explanation(explanation, Console(), top=options.top)
    if options.out is not None and not options.quiet:
        print(f"textassay: the explanation is in {options.out / 'explain.txt'} and explain.json", file=sys.stderr)
    return 0


def _check(options: ExplainOptions) -> None:
    """Raise for whatever can be seen to be wrong before reading."""
    check_range("--top", options.top, 0)
    check_range("--folds", options.folds, 1)
    check_range("--seed", options.seed, 0)
    check_range("--max-tokens", options.max_tokens, 1)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    check_effort(options.effort)
    check_level(options.level)
    check_tokenizer(options.tokenizer)
    check_sources(options.real, options.generators, {})
    if options.out is not None:
        check_writable(options.out)


def _write(
    folder: Path, document: Mapping[str, Any], explanations: tuple[Explanation, ...], *, top: int
) -> None:  # fmt: skip
    """Write ``explain.json`` and ``explain.txt`` into `folder`, each whole or not at all."""
    page = Console(file=io.StringIO(), width=_WIDTH_OF_FILE, force_terminal=False, no_color=True)
    for explanation in explanations:
        render_explanation(explanation, page, top=top)
    contents = {
        "explain.json": json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        "explain.txt": page.file.getvalue().lstrip("\n"),  # type: ignore[attr-defined]
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            draft = folder / f".{name}.tmp"
            draft.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
            draft.replace(folder / name)
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}; choose another --out") from error
