"""``textassay approximate``: a generator without likelihood as a language model, by its average output."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console

from textassay.approximation.approximation import approximate, choose_mode
from textassay.approximation.count_cost import check_floor
from textassay.approximation.stopping_rule import check_samples
from textassay.cli.messages import not_saved, print_line
from textassay.cli.models import OpenedGenerator, open_generator, set_precision
from textassay.cli.options import check_writable
from textassay.cli.progress import show_progress
from textassay.comparison.store import EstimateStore, estimate_key
from textassay.corpus.characters import read_running
from textassay.corpus.corpus import Corpus
from textassay.corpus.limits import running_text
from textassay.corpus.reader import read_texts
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError, check_range
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.metric.base import check_level
from textassay.report.approximation_figures import draw_approximation
from textassay.report.approximation_text import render_approximation
from textassay.report.svg import on_white
from textassay.report.whole_files import write_whole

__all__ = ["ApproximateOptions", "run_approximate"]

_PARTS = "parts"


@dataclass(frozen=True)
class ApproximateOptions:
    """What the command line asked for; the fields are the options of ``textassay approximate``."""

    generator: str
    text: str
    samples: int = 2000
    window: int | None = None
    context: int = 0
    mode: str | None = None
    floor: float = 1e-20
    curve: bool = False
    precision: str = "float32"
    column: str | None = None
    level: float = 0.95
    seed: int = 0
    workers: int | None = None
    device: str = "auto"
    out: Path | None = None
    json: bool = False
    quiet: bool = False


def run_approximate(options: ApproximateOptions) -> int:
    """Average the generator's output along the text, print what the text costs, write files where asked; return 0."""
    _check(options)
    with workers(default_workers() if options.workers is None else options.workers), device(options.device):
        opened = open_generator(options.generator)
        set_precision(opened, options.precision)
        draws = choose_mode(opened.model, options.mode) in ("onehot", "soft")
        if options.window is None and not getattr(opened.model, "draws_ends", True):
            raise OptionError(f"{opened.model.name} never ends a sentence: add --window T, such as --window 7")
        corpus = _read(options, opened)
        with show_progress(quiet=options.quiet) as progress:
            found = approximate(
                opened.model,
                corpus,
                mode=options.mode,
                n_samples=options.samples,
                window=options.window,
                context=options.context,
                floor=options.floor,
                rule=options.curve,
                level=options.level,
                keep=_Parts(options, opened, corpus) if draws and options.out is not None else None,
                progress=progress,
                seed=options.seed,
            )
    document = {
        "generator_source": options.generator,
        "text": options.text,
        "tokenizer": opened.form.tokenizer.name,
        **found.to_dict(),
    }
    told = json.dumps(document, indent=1, allow_nan=False)
    if options.json:
        print(told)
    else:
        render_approximation(found, Console(), text=options.text, tokenizer=opened.form.tokenizer.name)
    if options.out is not None:
        figures = {drawing.file_name: on_white(drawing.svg) for drawing in draw_approximation(found)}
        with not_saved():
            written = write_whole(options.out, {"approximation.json": told + "\n", **figures})
        if not options.quiet:
            print_line(f"wrote {', '.join(path.name for path in written)} to {options.out}")
    sys.stdout.flush()
    return 0


def _check(options: ApproximateOptions) -> None:
    """Raise for whatever can be seen to be wrong before anything is read."""
    check_level(options.level, name="--level")
    check_range("--seed", options.seed, 0)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    check_device(options.device)
    check_samples(options.samples, name="--samples")
    check_floor(options.floor, options.samples, name="--floor")
    check_range("--window", options.window, 1)
    check_range("--context", options.context, 0)
    if options.context and options.window is None:
        raise OptionError("--context is for windows of running text: add --window T")
    if options.out is not None:
        check_writable(options.out)


def _read(options: ApproximateOptions, opened: OpenedGenerator) -> Corpus:
    """Return the text in the generator's tokens: one long sentence of running text, or its lines."""
    if options.window is not None:
        with running_text():
            return opened.form.corpus([read_running(options.text, column=options.column)])
    file = read_texts(options.text, column=options.column)
    if not any(text and not text.isspace() for text in file.texts):
        raise EmptyCorpusError(f"{options.text} is empty: all of its {len(file.texts)} lines are blank")
    if len(file.texts) == 1:
        raise TooFewSentencesError(f"{options.text} has one line: to read it as running text, add --window T")
    return opened.form.corpus(file)


class _Parts:
    """Finished parts in the folder of ``--out``, named by all that decides them."""

    def __init__(self, options: ApproximateOptions, opened: OpenedGenerator, corpus: Corpus) -> None:
        assert options.out is not None
        self._store = EstimateStore(options.out / _PARTS)
        self._decides = (
            *("approximation", version("textassay"), opened.model.name, opened.document.get("checksum")),
            *(opened.form.hash, corpus.fingerprint, options.samples, options.window, options.context),
            *(options.floor, options.seed, options.precision),
        )

    def load(self, part: str) -> Mapping[str, npt.NDArray[np.float64]] | None:
        """Return what was kept of `part`, or None."""
        found: dict[str, Any] | None = self._store.load_document(estimate_key(*self._decides, part))
        return None if found is None else {name: np.asarray(rows, dtype=np.float64) for name, rows in found.items()}

    def save(self, part: str, arrays: Mapping[str, npt.NDArray[np.float64]]) -> None:
        """Keep arrays of `part`."""
        document = {name: array.tolist() for name, array in arrays.items()}
        self._store.save_document(estimate_key(*self._decides, part), document)
