"""``textassay approximate``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from textassay.cli.adapter import Between, call, option
from textassay.cli.declarations import Computing, Files, Json, Precision
from textassay.cli.options import check_writable
from textassay.cli.results import print_and_save
from textassay.errors import OptionError, TooFewSentencesError
from textassay.settings import Level, Seed

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus
    from textassay_lab.generators import TextGenerator

_PARTS = "parts"


@dataclass(frozen=True, kw_only=True)
class Approximate(Files, Computing):
    """Estimate the likelihood of a text under a generator that only draws tokens, such as a GAN."""

    generator: Annotated[
        str, Argument(metavar="GENERATOR", help="A folder written by 'train', or pretrained:NAME_OR_PATH.")
    ]
    text: Annotated[
        str,
        Argument(metavar="FILE", help="Text to score, which the generator was not trained on; '-' is standard input."),
    ]
    n_samples: Annotated[int, option("Draws per position, at least 20.", "N", names=("--samples", "-n"))] = 2000
    window: Annotated[
        int | None,
        option("Read FILE as running text, in windows of T tokens; otherwise line by line.", "T"),
        Between(1),
    ] = None
    context: Annotated[int, option("Tokens before each window that are read but not scored.", "C"), Between(0)] = 0
    mode: Annotated[
        str | None, option("multinomial (default with a softmax), onehot (default otherwise), soft or exact.", "M")
    ] = None
    floor: Annotated[float, option("Probability of a token that was never drawn, at most 1/N.", "P")] = 1e-20
    rule: Annotated[
        bool, option("Show how many draws are enough: the stopping rule, and the true error.", names=("--curve",))
    ] = False
    seed: Seed = 0
    precision: Precision = "float32"
    level: Level = 0.95
    out: Annotated[
        Path | None, option("Write results and figures here; the same command resumes an interrupted run.", "DIR")
    ] = None
    json: Json = False

    def run(self) -> int:
        """Average the generator's output along the text, print and write what the text costs, and return 0."""
        from textassay.cli.messages import show_progress
        from textassay_lab.approximation.approximate import approximate
        from textassay_lab.approximation.document import approximation_document
        from textassay_lab.cli.models import open_generator

        self._check()
        with self.computing():
            opened = open_generator(self.generator, self.precision)
            if self.window is None and not getattr(opened.model, "draws_ends", True):
                raise OptionError(f"{opened.model.name} never ends a sentence: add --window T, such as --window 7")
            corpus = self._read(opened)
            with show_progress(quiet=self.quiet) as progress:
                approximation = call(
                    approximate,
                    self,
                    generator=opened,
                    text=corpus,
                    folder=None if self.out is None else self.out / _PARTS,
                    progress=progress,
                )
        tokenizer = opened.form.tokenizer.name
        values = {
            "generator_source": self.generator,
            "text": self.text,
            "tokenizer": tokenizer,
            **approximation.to_dict(),
        }
        document = approximation_document(approximation, text=self.text, tokenizer=tokenizer)
        print_and_save(document, values, "approximation", out=self.out, as_json=self.json, quiet=self.quiet)
        return 0

    def _check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        from textassay_lab.approximation.stopping_rule import check_samples
        from textassay_lab.approximation.token_counts import check_floor

        check_samples(self.n_samples, name="--samples")
        check_floor(self.floor, self.n_samples, name="--floor")
        if self.context and self.window is None:
            raise OptionError("--context needs windows of running text: add --window T")
        if self.out is not None:
            check_writable(self.out)

    def _read(self, opened: "TextGenerator") -> "Corpus":
        """Return the text in the generator's tokens: one long sentence of running text, or its lines."""
        from textassay.corpus.limits import running_text
        from textassay_lab.generator.running_text import read_running_text

        if self.window is not None:
            with running_text():
                return opened.form.corpus([read_running_text(self.text, column=self.column)])
        file = self.read_file(self.text)
        if len(file.texts) == 1:
            raise TooFewSentencesError(f"{self.text} has one line: to read it as running text, add --window T")
        return opened.form.corpus(file)
