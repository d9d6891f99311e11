"""``textassay likelihood``."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from textassay.cli.adapter import option
from textassay.cli.declarations import Computing, Files, Json, Model, Precision
from textassay.cli.messages import print_line
from textassay.cli.options import STANDARD_INPUT, check_sources, check_writable
from textassay.cli.results import print_result
from textassay.errors import InputError, OptionError, OutputError
from textassay.fields import Above
from textassay.settings import Level

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus
    from textassay_lab.generator.scored import ScoredGenerator
    from textassay_lab.generator.text_likelihood import TextLikelihood
    from textassay_lab.generators import TextGenerator

_FIRST = "give the generated text first, or leave --real out"
_KINDS = (".npz", ".npy")


@dataclass(frozen=True, kw_only=True)
class Likelihood(Files, Computing):
    """Measure the likelihood of a text under a model: perplexity, bits per character, nats per sentence."""

    model: Model
    text: Annotated[str, Argument(metavar="FILE", help="Text to score; '-' is standard input.")]
    real: Annotated[str | None, option("Also score this real text: 'compare' reads both from one file.", "FILE")] = None
    contexts: Annotated[
        str | None, option("Contexts of the sentences of FILE, for c2s, gc2s and att2seq.", "TABLE")
    ] = None
    real_contexts: Annotated[str | None, option("Contexts of the sentences of --real.", "TABLE")] = None
    temperature: Annotated[float, option("Score under the model at this temperature, above 0.", "T"), Above(0)] = 1.0
    out: Annotated[
        Path | None, option("Log-probabilities: .npz (needs --real) or .npy, for 'compare --log-probs'.", "FILE")
    ] = None
    precision: Precision = "float32"
    level: Level = 0.95
    json: Json = False

    def run(self) -> int:
        """Score the text, print what it costs, write the log-probabilities where asked, and return 0."""
        from textassay_lab.cli.model_contexts import scored_contexts
        from textassay_lab.cli.models import open_model
        from textassay_lab.generator.document import likelihood_document

        self._check()
        sources = {"text": self.text, **({} if self.real is None else {"real": self.real})}
        texts = {name: self.read_file(source) for name, source in sources.items()}
        if self.real is not None and texts["text"].texts == texts["real"].texts:
            raise InputError(f"{self.text} contains the same sentences as {self.real}: {_FIRST}")
        with self.computing():
            opened = open_model(self.model, self.precision)
            contexts_of = {"text": ("--contexts", self.contexts), "real": ("--real-contexts", self.real_contexts)}
            corpora = {
                name: scored_contexts(
                    opened, opened.form.corpus(file), contexts_of[name][1], option=contexts_of[name][0]
                )
                for name, file in texts.items()
            }
            likelihoods = {name: self._score(opened, corpus) for name, corpus in corpora.items()}
        if self.out is not None:
            _write(self.out, likelihoods)
        values = {
            "model": opened.model.name,
            "tokenizer": opened.form.tokenizer.name,
            "temperature": self.temperature,
            "level": self.level,
            "texts": {sources[name]: likelihood.to_dict() for name, likelihood in likelihoods.items()},
        }
        document = likelihood_document(
            {sources[name]: likelihood for name, likelihood in likelihoods.items()},
            model=opened.model.name,
            tokenizer=opened.form.tokenizer.name,
            level=self.level,
        )
        print_result(document, values, as_json=self.json)
        if self.out is not None and not self.quiet:
            print_line(self._next_step(likelihoods))
        return 0

    def _check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        if self.real is not None:
            check_sources(self.real, {"the text": self.text}, {"the text": _FIRST})
        if self.real is None and self.real_contexts is not None:
            raise OptionError("--real-contexts needs --real FILE: add it, or leave --real-contexts out")
        if self.out is None:
            return
        if self.out.suffix not in _KINDS:
            raise OptionError(f"--out must end in {' or '.join(_KINDS)}, got {self.out}")
        if self.out.suffix == ".npz" and self.real is None:
            raise OptionError("a .npz file contains both sides: add --real FILE, or write a .npy file")
        if self.out.is_dir():
            raise OutputError(f"cannot write {self.out}: it is a folder")
        check_writable(self.out.parent)

    def _score(self, opened: "TextGenerator", corpus: "Corpus") -> "TextLikelihood":
        from textassay_lab.generator.scored import AtTemperature
        from textassay_lab.generator.text_likelihood import text_likelihood

        model: ScoredGenerator = opened.model
        if self.temperature != 1:
            model = AtTemperature(opened.model, self.temperature)
        return text_likelihood(model, corpus, level=self.level)

    def _next_step(self, likelihoods: "dict[str, TextLikelihood]") -> str:
        n = sum(likelihood.n_sentences for likelihood in likelihoods.values())
        if self.real is None:
            return f"wrote {n} log-probabilities to {self.out}; 'compare --log-probs' needs those of --real too"
        name = "generated" if self.text == STANDARD_INPUT else Path(self.text).name.split(".")[0]
        return (
            f"wrote {n} log-probabilities to {self.out}; next: textassay compare --real {self.real} "
            f"{name}={self.text} --log-probs {name}={self.out}"
        )


def _write(out: Path, likelihoods: "dict[str, TextLikelihood]") -> None:
    """Write the log-probabilities, real ones first, whole or not at all."""
    import numpy as np

    from textassay.storage import write_file

    buffer = BytesIO()
    generated = likelihoods["text"].log_probs
    if out.suffix == ".npz":
        np.savez(buffer, real=likelihoods["real"].log_probs, generated=generated)
    else:
        sides = [likelihoods[name].log_probs for name in ("real", "text") if name in likelihoods]
        np.save(buffer, np.concatenate(sides))
    write_file(out, buffer.getvalue())
