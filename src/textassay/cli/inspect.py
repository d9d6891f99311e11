"""``textassay inspect``: say what is trivially different between the texts, before anything is measured."""

import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console

from textassay.cli.options import check_sources
from textassay.comparison.comparison import FLOOR
from textassay.corpus.prepare import prepare_corpora
from textassay.corpus.reader import read_texts
from textassay.corpus.spacing import SpacingWarning
from textassay.corpus.tokenizer import check_tokenizer
from textassay.inspection.inspection import inspect
from textassay.report.text import render_findings

__all__ = ["InspectOptions", "run_inspect"]

TRAIN = "--train"


@dataclass(frozen=True)
class InspectOptions:
    """What the command line asked for; the fields are the options of ``textassay inspect``."""

    real: str
    generators: Mapping[str, str]
    train: str | None = None
    tokenizer: str = "auto"
    lowercase: bool = False
    normalize: bool = False
    max_tokens: int | None = None
    column: str | None = None
    json: bool = False


def run_inspect(options: InspectOptions) -> int:
    """Print the findings and return 0."""
    others = {**({} if options.train is None else {TRAIN: options.train}), **options.generators}
    check_sources(options.real, others, {TRAIN: "name what the generators were trained on, or leave it out"})
    check_tokenizer(options.tokenizer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpacingWarning)  # the findings say it
        corpora = prepare_corpora(
            {
                name: read_texts(source, column=options.column)
                for name, source in {FLOOR: options.real, **others}.items()
            },
            tokenizer=options.tokenizer,
            lowercase=options.lowercase,
            normalize=options.normalize,
            max_tokens=options.max_tokens,
        )
    generated = {name: corpora[name] for name in options.generators}
    findings = inspect(generated, corpora[FLOOR], train=corpora.get(TRAIN))
    if options.json:
        json.dump({"findings": [finding.to_dict() for finding in findings]}, sys.stdout, indent=1, allow_nan=False)
        print()
    elif findings:
        render_findings(findings, Console())
    else:
        print("Nothing trivially different was found.")
    return 0
