"""``textassay sample``: draw sentences from a model and write them, one a line or as JSON lines."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from textassay.cli.contexts import asked_contexts
from textassay.cli.messages import print_line
from textassay.cli.models import COMMAND, OpenedGenerator, open_generator, set_precision
from textassay.cli.options import check_writable
from textassay.corpus.corpus import Corpus
from textassay.corpus.reader import read_texts
from textassay.corpus.vocabulary import UNK
from textassay.errors import InputError, OptionError, OutputError, check_range
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.report.whole_files import write_whole

__all__ = ["SampleOptions", "run_sample"]

_KINDS = (".txt", ".jsonl")
_TEXT = "text"  # the key of a sentence in JSON lines
_LISTED = 5  # unknown words that are named


@dataclass(frozen=True)
class SampleOptions:
    """What the command line asked for; the fields are the options of ``textassay sample``."""

    model: str
    sentences: int | None = None
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    prefix: str | None = None
    prefixes: str | None = None
    contexts: str | None = None
    seed: int = 0
    out: Path | None = None
    precision: str = "float32"
    workers: int | None = None
    device: str = "auto"
    column: str | None = None
    quiet: bool = False


def run_sample(options: SampleOptions) -> int:
    """Draw sentences, write them, and return 0."""
    _check(options)
    prefixes = _prefixes(options)
    n = len(prefixes) or None if options.sentences is None else options.sentences
    if n is not None and len(prefixes) not in (0, 1, n):
        raise OptionError(f"{options.prefixes} has {len(prefixes)} lines: give 1, or as many as -n, {n}")
    with workers(default_workers() if options.workers is None else options.workers), device(options.device):
        texts = _draw(options, n, prefixes)
    _write(options, texts)
    return 0


def _check(options: SampleOptions) -> None:
    """Raise for whatever can be seen to be wrong before the model is read."""
    if options.sentences is None and options.prefixes is None and options.contexts is None:
        raise OptionError("say how many sentences: -n N")
    check_range("-n", options.sentences, 1)
    check_range("--seed", options.seed, 0)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    check_device(options.device)
    if not 0 < options.temperature < float("inf"):
        raise OptionError(f"--temperature must be above 0, got {options.temperature:g}")
    if options.top_k is not None:
        check_range("--top-k", options.top_k, 1)
    if options.top_p is not None and not 0 < options.top_p <= 1:
        raise OptionError(f"--top-p must be above 0 and at most 1, got {options.top_p:g}")
    if options.prefix is not None and options.prefixes is not None:
        raise OptionError("--prefix and --prefixes cannot go together: leave one of them out")
    if options.out is not None:
        if options.out.suffix not in _KINDS:
            raise OptionError(f"--out must end in {' or '.join(_KINDS)}, got {options.out}")
        if options.out.is_dir():
            raise OutputError(f"cannot write {options.out}: it is a folder")
        check_writable(options.out.parent)


def _prefixes(options: SampleOptions) -> Sequence[str]:
    if options.prefix is not None:
        return [options.prefix]
    if options.prefixes is None:
        return []
    return read_texts(options.prefixes, column=options.column).texts


def _draw(options: SampleOptions, n: int | None, prefixes: Sequence[str]) -> Sequence[str]:
    asked: dict[str, Any] = {"top_k": options.top_k, "top_p": options.top_p}
    asked = {name: value for name, value in asked.items() if value is not None}
    if options.temperature != 1:
        asked["temperature"] = options.temperature
    if options.model.startswith(COMMAND):
        from textassay.generator.external import ExternalCommand

        if prefixes or asked or options.contexts is not None or n is None:
            refused = "--prefix, --contexts, --temperature, --top-k or --top-p"
            raise OptionError(f"a command draws as it likes: it takes no {refused}")
        return ExternalCommand(options.model.removeprefix(COMMAND)).sample(n, seed=options.seed).texts
    opened = open_generator(options.model)
    set_precision(opened, options.precision)
    prefix = _encoded(opened, prefixes) if prefixes else None
    if options.contexts is not None:
        asked["context"] = asked_contexts(opened, options.contexts, n)
        n = len(asked["context"]) if n is None else n
    assert n is not None  # where nothing says it, `_check` has refused
    return opened.model.sample(n, seed=options.seed, prefix=prefix, **asked).texts


def _encoded(opened: OpenedGenerator, prefixes: Sequence[str]) -> Corpus:
    """Return the prefixes in the model's tokens; say which of their words it does not know."""
    prefix = opened.form.corpus(prefixes)
    if (prefix.tokens == UNK).any():
        words = dict.fromkeys(word for text in prefixes for word in opened.form.tokenizer(text))
        unknown = [word for word in words if opened.form.vocabulary.encode([word])[0] == UNK]
        more = f" and {len(unknown) - _LISTED} more" if len(unknown) > _LISTED else ""
        print_line(f"warning: the model reads these words of the prefix as <unk>: {', '.join(unknown[:_LISTED])}{more}")
    return prefix


def _write(options: SampleOptions, texts: Sequence[str]) -> None:
    """Write one line a sentence to `out`, whole or not at all, or to standard output.

    What was drawn is never thrown away: sentences with line breaks become JSON lines beside the text file asked for.
    """
    out = options.out
    as_json = out is not None and out.suffix == ".jsonl"
    broken = 0 if as_json else sum(len(text.splitlines()) > 1 for text in texts)
    told = f"{broken} of {len(texts)} sentences have line breaks, which lines of text cannot hold"
    if broken and out is None:
        raise InputError(f"{told}: the same command with --out FILE.jsonl writes the same sentences")
    lines = (json.dumps({_TEXT: text}, ensure_ascii=False) if as_json or broken else text for text in texts)
    if out is None:
        _print(lines)
        return
    if broken:
        out = _free(out.with_suffix(".jsonl"))
    write_whole(out.parent, {out.name: "".join(f"{line}\n" for line in lines)})
    if broken:
        print_line(f"warning: {told}: all {len(texts)} are in {out} instead of {options.out}")
    elif not options.quiet:
        print_line(f"wrote {len(texts)} sentences to {out}")


def _free(path: Path) -> Path:
    """Return `path`, or that with the first number behind its name under which there is no file: nobody named it."""
    names = (path if number == 1 else path.with_stem(f"{path.stem}-{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
