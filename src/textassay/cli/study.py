"""The command ``study``: the experiments of a paper, computed as far as they are not there yet, and their report."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from rich.console import Console

from textassay.cli.messages import not_saved, print_line
from textassay.cli.options import check_sources, check_writable
from textassay.cli.progress import show_progress
from textassay.cli.study_exposure import ABOUT as ABOUT_EXPOSURE
from textassay.cli.study_exposure import EXPOSURE, make_exposure_study
from textassay.cli.study_gan import ABOUT as ABOUT_GAN
from textassay.cli.study_gan import GAN, make_gan_study
from textassay.cli.study_generators import ABOUT as ABOUT_GENERATORS
from textassay.cli.study_generators import GENERATORS, make_generators_study
from textassay.cli.study_judges import ABOUT as ABOUT_JUDGES
from textassay.cli.study_judges import JUDGES, make_judges_study
from textassay.corpus.docstrings import docstring_sentences
from textassay.corpus.reader import read_texts
from textassay.errors import EmptyCorpusError, OptionError, check_range, unknown_name
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.report.reproduction_files import write_reproduction
from textassay.report.reproduction_text import render_reproduction
from textassay.seeding import stream
from textassay.study.dd.scales import SCALES
from textassay.study.dd.study import STUDIES, DdStudy
from textassay.study.dd.text import split_text
from textassay.study.presets import scale_named
from textassay.study.staged_study import StagedStudy
from textassay.training.backend import require_neural

__all__ = ["StudyOptions", "list_studies", "run_study"]

Progress = Callable[[str, int, int], None]

_MAX_SEEDS = 10_000  # each is many stages
_POSITIVES = ("everything", "fraction")
_ABOUT: Mapping[str, str] = {
    "dd-real": "generators trained on 20 to 100 % of a text; does a metric put them in that order?",
    "dd-synthetic": "the same on text that a GPT-2 wrote; does a metric follow the exact discrepancy?",
    JUDGES: ABOUT_JUDGES,
    EXPOSURE: ABOUT_EXPOSURE,
    GAN: ABOUT_GAN,
    GENERATORS: ABOUT_GENERATORS,
}


@dataclass(frozen=True)
class StudyOptions:
    """What the command line asked for; the fields are the options of ``textassay study``."""

    name: str
    data: Path | None = None
    judgements: Path | None = None
    real: str | None = None
    valid: str | None = None
    test: str | None = None
    scale: str = "tiny"
    out: Path | None = None
    seeds: int | None = None
    positives: str = "everything"
    only: tuple[str, ...] = ()
    tokenizer: str = "whitespace"
    lowercase: bool = False
    column: str | None = None
    seed: int = 0
    workers: int | None = None
    device: str = "auto"
    json: bool = False
    quiet: bool = False


def list_studies(*, as_json: bool) -> int:
    """Print the studies and the scales there are, and return 0."""
    if as_json:
        json.dump({"studies": dict(_ABOUT), "scales": list(SCALES)}, sys.stdout, indent=1)
        print()
        return 0
    for name, about in _ABOUT.items():
        print(f"{name:14}{about}")
    print(f"scales: {', '.join(SCALES)}")
    return 0


def run_study(options: StudyOptions) -> int:
    """Compute what is missing of a study, print and write what it found, and return 0."""
    if options.name not in _ABOUT:
        raise unknown_name("study", options.name, [*_ABOUT, "list"])
    scale_named(SCALES, options.scale)
    if options.positives not in _POSITIVES:
        raise unknown_name("value of --positives", options.positives, _POSITIVES)
    check_range("--seed", options.seed, 0)
    check_range("--seeds", options.seeds, 1, _MAX_SEEDS)
    n_workers = default_workers() if options.workers is None else options.workers
    check_range("--workers", n_workers, 1, MAX_WORKERS)
    check_device(options.device)
    if options.out is None:
        raise OptionError("name a folder: --out DIR; what is computed is kept there")
    with (
        _stopping_at_once(),
        show_progress(quiet=options.quiet) as progress,
        workers(n_workers),
        device(options.device),
    ):
        study = _make_study(options, options.out, progress)
        n_computed = study.compute(options.only)
        found = None if options.only else study.result()
    if not options.quiet:
        print_line(f"{n_computed} stages computed, {len(study.all_stages())} in all")
    if found is None:
        _print(options, {"seconds": study.seconds(), "computed": n_computed})
        return 0
    if options.json:
        json.dump(found.to_dict(), sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        render_reproduction(found, Console())
    with not_saved():
        written = write_reproduction(found, options.out)
    if not options.quiet:
        print_line(f"wrote {', '.join(map(str, written))}")
    return 0


def _make_study(options: StudyOptions, out: Path, progress: Progress | None) -> StagedStudy:
    """Return the study that was asked for, its texts read."""
    of_dd = {
        "--real": options.real,
        "--valid": options.valid,
        "--test": options.test,
        "--positives": options.positives if options.positives != _POSITIVES[0] else None,
        "--tokenizer": options.tokenizer if options.tokenizer != "whitespace" else None,
        "--lowercase": options.lowercase or None,
        "--column": options.column,
    }
    if options.name not in STUDIES:
        _refuse(of_dd, "dd-real and dd-synthetic")
    if options.name != JUDGES:
        _refuse({"--judgements": options.judgements}, JUDGES)
    if options.name not in (EXPOSURE, GAN, GENERATORS):
        _refuse({"--data": options.data}, f"{EXPOSURE}, {GAN} and {GENERATORS}")
    if options.name == GENERATORS:
        _refuse({"--seeds": options.seeds}, "the other studies")
    settings: dict[str, Any] = {"scale": options.scale, "seed": options.seed, "progress": progress}
    if options.name == JUDGES:
        check_writable(out)
        return make_judges_study(options.judgements, out, partitions=options.seeds, **settings)
    if options.name == EXPOSURE:
        check_writable(out)
        return make_exposure_study(options.data, out, runs=options.seeds, quiet=options.quiet, **settings)
    if options.name == GAN:
        check_writable(out)
        return make_gan_study(options.data, out, runs=options.seeds, **settings)
    if options.name == GENERATORS:
        check_writable(out)
        return make_generators_study(options.data, out, quiet=options.quiet, **settings)
    require_neural(f"the study {options.name}")
    check_writable(out)
    scale = scale_named(SCALES, options.scale)
    texts = _read(options)
    synthetic = STUDIES[options.name] == "synthetic"
    text = split_text(
        *texts, scale, tokenizer=options.tokenizer, lowercase=options.lowercase, needs_unseen=not synthetic
    )
    return DdStudy(
        options.name,
        text,
        scale,
        out,
        seed=options.seed,
        initialisations=options.seeds,
        positives=cast(Literal["everything", "fraction"], options.positives),
        progress=progress,
    )


def _refuse(given: Mapping[str, object], owner: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise OptionError(f"{name} is an option of {owner}: leave it out")


def _print(options: StudyOptions, told: Mapping[str, Any]) -> None:
    """Print how long the stages took that are there."""
    if options.json:
        json.dump(told, sys.stdout, indent=1)
        print()
        return
    for kind, seconds in told["seconds"].items():
        print(f"{kind:18}{seconds:10.1f} s")


def _read(options: StudyOptions) -> tuple[list[str], list[str] | None, list[str] | None]:
    """Return training, validation and test sentences; docstrings are shuffled, files stay in their order."""
    others = {"--valid": options.valid, "--test": options.test}
    if options.real is None:
        given = [name for name, source in others.items() if source is not None]
        if given:
            raise OptionError(f"{' and '.join(given)} needs --real FILE beside it")
        sentences = docstring_sentences()
        order = stream(0, "study", "docstrings").permutation(len(sentences))
        return [sentences[place] for place in order.tolist()], None, None
    sources = {name: source for name, source in others.items() if source is not None}
    check_sources(options.real, sources, dict.fromkeys(sources, "leave the option out to take a part of --real"))
    read = {}
    for name, source in {"--real": options.real, **sources}.items():
        texts = list(read_texts(source, column=options.column).texts)
        if not any(text and not text.isspace() for text in texts):
            raise EmptyCorpusError(f"{source} is empty: all of its {len(texts)} lines are blank")
        read[name] = texts
    return read["--real"], read.get("--valid"), read.get("--test")


@contextmanager
def _stopping_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process: threads that train cannot be stopped, and all that is done is on disk."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        if sys.stderr.isatty():
            print("\x1b[?25h", end="", file=sys.stderr)  # the cursor, which a bar of progress hides
        print_line("interrupted; run the same command again, and it goes on where it stopped")
        os._exit(130)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
