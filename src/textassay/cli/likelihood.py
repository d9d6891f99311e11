"""``textassay likelihood``: how likely a text is under a model, and the log-probabilities that ``compare`` takes."""

import json
import sys
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from rich.console import Console

from textassay.cli.contexts import scored_contexts
from textassay.cli.messages import print_line
from textassay.cli.models import Opened, open_model, set_precision
from textassay.cli.options import STANDARD_INPUT, check_sources, check_writable
from textassay.corpus.corpus import Corpus
from textassay.corpus.reader import read_texts
from textassay.errors import EmptyCorpusError, InputError, OptionError, OutputError, check_range
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.generator.scored import AtTemperature, ScoredGenerator
from textassay.generator.text_likelihood import TextLikelihood, text_likelihood
from textassay.metric.base import check_level
from textassay.report.likelihood_text import render_likelihood
from textassay.report.whole_files import write_whole

__all__ = ["LikelihoodOptions", "run_likelihood"]

_FIRST = "give the generated text first, or leave --real out"
_KINDS = (".npz", ".npy")


@dataclass(frozen=True)
class LikelihoodOptions:
    """What the command line asked for; the fields are the options of ``textassay likelihood``."""

    model: str
    text: str
    real: str | None = None
    contexts: str | None = None
    real_contexts: str | None = None
    temperature: float = 1.0
    out: Path | None = None
    precision: str = "float32"
    column: str | None = None
    level: float = 0.95
    workers: int | None = None
    device: str = "auto"
    json: bool = False
    quiet: bool = False


def run_likelihood(options: LikelihoodOptions) -> int:
    """Score the text, print what it costs, write the log-probabilities where asked, and return 0."""
    _check(options)
    sources = {"text": options.text, **({} if options.real is None else {"real": options.real})}
    texts = {name: read_texts(source, column=options.column) for name, source in sources.items()}
    for name, file in texts.items():
        if not any(text and not text.isspace() for text in file.texts):
            raise EmptyCorpusError(f"{sources[name]} is empty: all of its {len(file.texts)} lines are blank")
    if options.real is not None and texts["text"].texts == texts["real"].texts:
        raise InputError(f"{options.text} holds the same sentences as {options.real}: {_FIRST}")
    with workers(default_workers() if options.workers is None else options.workers), device(options.device):
        opened = open_model(options.model)
        set_precision(opened, options.precision)
        asked = {"text": ("--contexts", options.contexts), "real": ("--real-contexts", options.real_contexts)}
        corpora = {
            name: scored_contexts(opened, opened.form.corpus(file), asked[name][1], option=asked[name][0])
            for name, file in texts.items()
        }
        found = {name: _score(options, opened, corpus) for name, corpus in corpora.items()}
    if options.out is not None:
        _write(options.out, found)
    document = {
        "model": opened.model.name,
        "tokenizer": opened.form.tokenizer.name,
        "temperature": options.temperature,
        "level": options.level,
        "texts": {sources[name]: likelihood.to_dict() for name, likelihood in found.items()},
    }
    if options.json:
        json.dump(document, sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        told = {sources[name]: likelihood for name, likelihood in found.items()}
        render_likelihood(opened.model.name, opened.form.tokenizer.name, told, Console(), level=options.level)
    if options.out is not None and not options.quiet:
        print_line(_told(options, found))
    return 0


def _check(options: LikelihoodOptions) -> None:
    """Raise for whatever can be seen to be wrong before anything is read."""
    check_level(options.level, name="--level")
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    check_device(options.device)
    if not 0 < options.temperature < float("inf"):
        raise OptionError(f"--temperature must be above 0, got {options.temperature:g}")
    if options.real is not None:
        check_sources(options.real, {"the text": options.text}, {"the text": _FIRST})
    if options.real is None and options.real_contexts is not None:
        raise OptionError("--real-contexts are those of --real FILE: add it, or leave them out")
    if options.out is None:
        return
    if options.out.suffix not in _KINDS:
        raise OptionError(f"--out must end in {' or '.join(_KINDS)}, got {options.out}")
    if options.out.suffix == ".npz" and options.real is None:
        raise OptionError("a .npz file holds both sides: add --real FILE, or write a .npy file")
    if options.out.is_dir():
        raise OutputError(f"cannot write {options.out}: it is a folder")
    check_writable(options.out.parent)


def _score(options: LikelihoodOptions, opened: Opened, corpus: Corpus) -> TextLikelihood:
    model: ScoredGenerator = opened.model
    if options.temperature != 1:
        model = AtTemperature(opened.model, options.temperature)
    return text_likelihood(model, corpus, level=options.level)


def _write(out: Path, found: dict[str, TextLikelihood]) -> None:
    """Write the log-probabilities, real ones first, whole or not at all."""
    buffer = BytesIO()
    generated = found["text"].log_probs
    if out.suffix == ".npz":
        np.savez(buffer, real=found["real"].log_probs, generated=generated)
    else:
        sides = [found[name].log_probs for name in ("real", "text") if name in found]
        np.save(buffer, np.concatenate(sides))
    write_whole(out.parent, {out.name: buffer.getvalue()})


def _told(options: LikelihoodOptions, found: dict[str, TextLikelihood]) -> str:
    n = sum(likelihood.n_sentences for likelihood in found.values())
    if options.real is None:
        return f"wrote {n} log-probabilities to {options.out}; 'compare --log-probs' needs those of --real too"
    name = "generated" if options.text == STANDARD_INPUT else Path(options.text).name.split(".")[0]
    return (
        f"wrote {n} log-probabilities to {options.out}; next: textassay compare --real {options.real} "
        f"{name}={options.text} --log-probs {name}={options.out}"
    )
