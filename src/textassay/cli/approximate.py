"""``textassay approximate``."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from textassay.cli.adapter import Between
from textassay.cli.declarations import (
    Computing,
    Files,
    Json,
    Level,
    Precision,
    Seed,
)
from textassay.cli.messages import not_saved, print_line
from textassay.cli.options import check_writable
from textassay.errors import OptionError, TooFewSentencesError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from textassay.cli.models import OpenedGenerator
    from textassay.corpus import Corpus

_PARTS = "parts"


@dataclass(frozen=True, kw_only=True)
class Approximate(Files, Computing):
    """Estimate the likelihood of a text under a generator that only draws tokens, such as a GAN."""

    generator: Annotated[
        str, Argument(metavar="GENERATOR", help="A folder written by 'train', or pretrained:NAME_OR_PATH.")
    ]
    text: Annotated[
        str, Argument(metavar="FILE", help="Text to score, which the generator never saw; '-' is standard input.")
    ]
    samples: Annotated[int, Option("--samples", "-n", metavar="N", help="Draws per position, at least 20.")] = 2000
    window: Annotated[
        int | None,
        Option(metavar="T", help="Read FILE as running text, in windows of T tokens; else line by line."),
        Between(1),
    ] = None
    context: Annotated[
        int, Option(metavar="C", help="Tokens before each window that are read but not scored."), Between(0)
    ] = 0
    mode: Annotated[
        str | None,
        Option(metavar="M", help="multinomial (where there is a softmax), onehot (else), soft or exact."),
    ] = None
    floor: Annotated[float, Option(metavar="P", help="Probability of a token that was never drawn, at most 1/N.")] = (
        1e-20
    )
    curve: Annotated[
        bool, Option("--curve", help="Show how many draws are enough: the stopping rule, and the true error.")
    ] = False
    seed: Seed = 0
    precision: Precision = "float32"
    level: Level = 0.95
    out: Annotated[
        Path | None,
        Option(metavar="DIR", help="Write results and figures here; run again, it resumes."),
    ] = None
    json: Json = False

    def run(self) -> int:
        """Average the generator's output along the text, print and write what the text costs, and return 0."""
        from rich.console import Console

        from textassay.approximation import approximate, choose_mode
        from textassay.cli.models import open_generator, set_precision
        from textassay.cli.progress import show_progress
        from textassay.report import draw_approximation, on_white, render_approximation, write_whole

        self._check()
        with self.computing():
            opened = open_generator(self.generator)
            set_precision(opened, self.precision)
            draws = choose_mode(opened.model, self.mode) in ("onehot", "soft")
            if self.window is None and not getattr(opened.model, "draws_ends", True):
                raise OptionError(f"{opened.model.name} never ends a sentence: add --window T, such as --window 7")
            corpus = self._read(opened)
            with show_progress(quiet=self.quiet) as progress:
                found = approximate(
                    opened.model,
                    corpus,
                    mode=self.mode,
                    n_samples=self.samples,
                    window=self.window,
                    context=self.context,
                    floor=self.floor,
                    rule=self.curve,
                    level=self.level,
                    keep=_Parts(self, opened, corpus) if draws and self.out is not None else None,
                    progress=progress,
                    seed=self.seed,
                )
        document = {
            "generator_source": self.generator,
            "text": self.text,
            "tokenizer": opened.form.tokenizer.name,
            **found.to_dict(),
        }
        told = json.dumps(document, indent=1, allow_nan=False)
        if self.json:
            print(told)
        else:
            render_approximation(found, Console(), text=self.text, tokenizer=opened.form.tokenizer.name)
        if self.out is not None:
            figures = {drawing.file_name: on_white(drawing.svg) for drawing in draw_approximation(found)}
            with not_saved():
                written = write_whole(self.out, {"approximation.json": told + "\n", **figures})
            if not self.quiet:
                print_line(f"wrote {', '.join(path.name for path in written)} to {self.out}")
        sys.stdout.flush()
        return 0

    def _check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        from textassay.approximation import check_floor, check_samples

        check_samples(self.samples, name="--samples")
        check_floor(self.floor, self.samples, name="--floor")
        if self.context and self.window is None:
            raise OptionError("--context is for windows of running text: add --window T")
        if self.out is not None:
            check_writable(self.out)

    def _read(self, opened: "OpenedGenerator") -> "Corpus":
        """Return the text in the generator's tokens: one long sentence of running text, or its lines."""
        from textassay.corpus import read_running_text, running_text

        if self.window is not None:
            with running_text():
                return opened.form.corpus([read_running_text(self.text, column=self.column)])
        file = self.read_file(self.text)
        if len(file.texts) == 1:
            raise TooFewSentencesError(f"{self.text} has one line: to read it as running text, add --window T")
        return opened.form.corpus(file)


class _Parts:
    """Finished parts in the folder of ``--out``, named by all that decides them."""

    def __init__(self, options: Approximate, opened: "OpenedGenerator", corpus: "Corpus") -> None:
        from importlib.metadata import version

        from textassay.comparison import EstimateStore

        assert options.out is not None
        self._store = EstimateStore(options.out / _PARTS)
        self._decides = (
            *("approximation", version("textassay"), opened.model.name, opened.document.get("checksum")),
            *(opened.form.hash, corpus.fingerprint, options.samples, options.window, options.context),
            *(options.floor, options.seed, options.precision),
        )

    def load(self, part: str) -> "Mapping[str, npt.NDArray[np.float64]] | None":
        """Return what was kept of `part`, or None."""
        import numpy as np

        from textassay.comparison import estimate_key

        found: dict[str, Any] | None = self._store.load_document(estimate_key(*self._decides, part))
        return None if found is None else {name: np.asarray(rows, dtype=np.float64) for name, rows in found.items()}

    def save(self, part: str, arrays: "Mapping[str, npt.NDArray[np.float64]]") -> None:
        """Keep arrays of `part`."""
        from textassay.comparison import estimate_key

        document = {name: array.tolist() for name, array in arrays.items()}
        self._store.save_document(estimate_key(*self._decides, part), document)
