"""``textassay discrepancy``: how far apart two models are, by their own probabilities."""

import json
import sys
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from rich.console import Console

from textassay.cli.messages import not_saved, print_line
from textassay.cli.models import open_model
from textassay.cli.options import check_writable
from textassay.errors import OptionError, check_range
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.meta_evaluation.model_discrepancy import model_discrepancy
from textassay.metric.base import check_level
from textassay.report.discrepancy_text import render_discrepancy
from textassay.report.whole_files import write_whole

__all__ = ["DiscrepancyOptions", "run_discrepancy"]


@dataclass(frozen=True)
class DiscrepancyOptions:
    """What the command line asked for; the fields are the options of ``textassay discrepancy``."""

    model_p: str
    model_q: str
    sentences: int = 10_000
    temperature_p: float = 1.0
    temperature_q: float = 1.0
    level: float = 0.95
    seed: int = 0
    out: Path | None = None
    workers: int | None = None
    device: str = "auto"
    json: bool = False
    quiet: bool = False


def run_discrepancy(options: DiscrepancyOptions) -> int:
    """Draw from both models, score both draws with both, print the estimates, and return 0."""
    check_range("-n", options.sentences, 2)
    check_range("--seed", options.seed, 0)
    check_level(options.level)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    check_device(options.device)
    for option, temperature in (("p", options.temperature_p), ("q", options.temperature_q)):
        if not 0 < temperature < float("inf"):
            raise OptionError(f"--temperature-{option} must be above 0, got {temperature:g}")
    if options.out is not None:
        check_writable(options.out)
    with workers(default_workers() if options.workers is None else options.workers), device(options.device):
        p, q = open_model(options.model_p), open_model(options.model_q)
        names = (p.form.tokenizer.name, q.form.tokenizer.name)
        if names[0] != names[1]:
            raise OptionError(
                f"the two models see text differently: {options.model_p} in tokens of '{names[0]}', {options.model_q} "
                f"of '{names[1]}'; train both with one --tokenizer (and --lowercase)"
            )
        found = model_discrepancy(
            p.model,
            q.model,
            (p.form.vocabulary, q.form.vocabulary),
            n=options.sentences,
            temperatures=(options.temperature_p, options.temperature_q),
            level=options.level,
            seed=options.seed,
        )
    document = {"model_p": options.model_p, "model_q": options.model_q, "tokenizer": names[0], **found.to_dict()}
    if options.json:
        json.dump(document, sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        render_discrepancy(found, Console())
    if options.out is not None:
        buffer = BytesIO()
        np.savez(buffer, p=found.log_ratios[0], q=found.log_ratios[1])
        told = json.dumps(document, indent=1, allow_nan=False)
        with not_saved():
            written = write_whole(options.out, {"discrepancy.json": told, "log-ratios.npz": buffer.getvalue()})
        if not options.quiet:
            print_line(f"wrote {', '.join(map(str, written))}")
    return 0
