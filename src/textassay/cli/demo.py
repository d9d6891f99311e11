"""``textassay demo``: the whole job on text that every Python brings along, with generators built on the spot.

What is printed is short; the report has everything.
"""

import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from textassay.cli.adapter import Between, Check, option
from textassay.cli.compare import Compare
from textassay.cli.declarations import Quiet
from textassay.settings import Seed

if TYPE_CHECKING:
    from textassay.ngram.language_model import Generator

_FEWEST = 100  # for dd of one half of the real text against the other


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Try everything on example text: five generators trained on Python's own docstrings."""

    out: Annotated[
        Path, option("Folder for the texts and the report.", "DIR"), Check("textassay.cli.options:check_writable")
    ] = Path("demo-report")
    sentences: Annotated[int, option("Most sentences of real text and of each generator.", "N"), Between(_FEWEST)] = (
        2500  # a minute's work for two cores
    )
    seed: Seed = 0
    quiet: Quiet = False

    def run(self) -> int:
        """Make the texts, compare them as ``textassay compare`` does, and return its exit status."""
        from textassay.cli.options import check_writable
        from textassay.comparison.measure import check_same_settings
        from textassay.corpus.docstrings import docstring_sentences
        from textassay.storage import write_files

        check_writable(self.out)
        check_same_settings(self.out, real=None, level=Compare.level, seed=self.seed, settings={})
        begun = time.perf_counter()
        self._tell("reading the docstrings of this Python's standard library")
        texts = demo_texts(docstring_sentences(), seed=self.seed, n=self.sentences)
        contents = {f"{name}.txt": "".join(f"{line}\n" for line in lines) for name, lines in texts.items()}
        folder = self.out / "texts"
        files = {path.stem: str(path) for path in write_files(folder, contents)}
        self._tell(
            f"{len(texts['train'])} training sentences, {len(texts['real'])} held out as real text, and as many from "
            f"each of {len(texts) - 2} generators are in {folder} ({time.perf_counter() - begun:.0f} s)"
        )
        real, train = files.pop("real"), files.pop("train")
        generators = [f"{name}={file}" for name, file in files.items()]
        command = ["textassay", "compare", "--real", real, "--train", train, *generators, "--out", str(self.out)]
        command += [] if self.seed == 0 else ["--seed", str(self.seed)]
        self._tell(f"now running this command:\n\n  {shlex.join(command)}\n")
        compare = Compare(real=real, train=train, generators=generators, out=self.out, seed=self.seed, quiet=self.quiet)
        status = compare.run()
        others = {
            "what does a generator carry over from its training text?": (
                "leaks", "--train", train, "--real", real, f"copier={files['copier']}"
            ),
            "is a generator close enough to real text?": (
                "compare", "--real", real, f"5-gram={files['5-gram']}", "--equivalent", "0.1"
            ),
            "at least how much of a corpus is machine-written?": ("share", "--real", real, f"corpus={files['5-gram']}"),
        }  # fmt: skip
        told = "".join(f"  {shlex.join(('textassay', *words))}\n    {asked}\n" for asked, words in others.items())
        self._tell(f"more questions about the same texts:\n\n{told}")
        return status

    def _tell(self, message: str) -> None:
        if not self.quiet:
            print(f"textassay: {message}", file=sys.stderr, flush=True)


def demo_texts(sentences: Sequence[str], *, seed: int, n: int | None = None) -> dict[str, list[str]]:
    """Return half of `sentences` as "train", the others as "real", and as many from each generator by its name.

    With `n`, no more than so many of the others, and as few from each generator.
    """
    from textassay.corpus.corpus import corpora_from_texts
    from textassay.ngram.model import NgramModel
    from textassay.seeding import stream
    from textassay.source.simple import Copier, WordShuffler

    order = stream(seed, "demo", "halves").permutation(len(sentences))
    n_train = len(sentences) // 2
    held_out = order[n_train:] if n is None else order[n_train : n_train + n]
    halves = {
        name: [sentences[index] for index in part.tolist()]
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
