"""``textassay demo``: the whole job on text that every Python brings along, with generators built on the spot.

What is printed is short; the report has everything.
"""

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from textassay.cli.compare import CompareOptions, run_compare
from textassay.cli.options import check_writable
from textassay.comparison.same_settings import check_same_settings
from textassay.corpus.corpus import corpora_from_texts
from textassay.corpus.docstrings import docstring_sentences
from textassay.errors import check_range
from textassay.generator.base import Generator
from textassay.generator.ngram import NgramModel
from textassay.generator.simple import Copier, WordShuffler
from textassay.seeding import stream

__all__ = ["DemoOptions", "demo_texts", "run_demo"]


SENTENCES = 2500  # of real text and of each generator: a minute's work for two cores
_FEWEST = 100  # for dd of one half of the real text against the other


@dataclass(frozen=True)
class DemoOptions:
    """What the command line asked for; the fields are the options of ``textassay demo``."""

    out: Path = Path("demo-report")
    sentences: int = SENTENCES
    seed: int = 0
    quiet: bool = False


def run_demo(options: DemoOptions) -> int:
    """Make the texts, compare them as ``textassay compare`` does, and return its exit status."""
    check_range("--seed", options.seed, 0)
    check_range("--sentences", options.sentences, _FEWEST)
    check_writable(options.out)
    check_same_settings(options.out, real=None, level=CompareOptions.level, seed=options.seed, settings={})
    say = _silent if options.quiet else _say
    begun = time.perf_counter()
    say("reading the docstrings of this Python's standard library")
    texts = demo_texts(docstring_sentences(), seed=options.seed, n=options.sentences)
    folder = options.out / "texts"
    files = _write(texts, folder)
    say(
        f"{len(texts['train'])} sentences to train on, {len(texts['real'])} held out as real text, and as many from "
        f"each of {len(texts) - 2} generators are in {folder} ({time.perf_counter() - begun:.0f} s)"
    )
    real, train = files.pop("real"), files.pop("train")
    command = ["textassay", "compare", "--real", real, "--train", train]
    command += [f"{name}={file}" for name, file in files.items()]
    command += ["--out", str(options.out), *([] if options.seed == 0 else ["--seed", str(options.seed)])]
    say(f"now doing what this command does:\n\n  {shlex.join(command)}\n")
    return run_compare(
        CompareOptions(
            real=real, train=train, generators=files, out=options.out, seed=options.seed, quiet=options.quiet
        ),
    )


def demo_texts(sentences: Sequence[str], *, seed: int, n: int | None = None) -> dict[str, list[str]]:
    """Return half of `sentences` as "train", the others as "real", and as many from each generator by its name.

    With `n`, no more than so many of the others, and as few from each generator.
    """
    order = stream(seed, "demo", "halves").permutation(len(sentences))
    n_train = len(sentences) // 2
    held_out = order[n_train:] if n is None else order[n_train : n_train + n]
    halves = {
        name: [sentences[index] for index in sorted(part)]
        for name, part in (("train", order[:n_train]), ("real", held_out))
    }
    train = corpora_from_texts({"train": halves["train"]})["train"]
    generators: dict[str, Generator] = {
        "unigram": NgramModel(1),
        "trigram": NgramModel(3),
        "5-gram": NgramModel(5),
        "shuffled": WordShuffler(),
        "copier": Copier(50, seed=seed),
    }
    n_real = len(halves["real"])
    return halves | {name: list(maker.fit(train).sample(n_real, seed=seed).texts) for name, maker in generators.items()}


def _write(texts: Mapping[str, Sequence[str]], folder: Path) -> dict[str, str]:
    """Write one file a name, one sentence a line, each whole or not at all; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, sentences in texts.items():
        file = folder / f"{name}.txt"
        draft = folder / f".{name}.{os.getpid()}.tmp"
        try:
            draft.write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8", newline="\n")
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)
        files[name] = str(file)
    return files


def _say(message: str) -> None:
    print(f"textassay: {message}", file=sys.stderr, flush=True)


def _silent(message: str) -> None:
    pass
