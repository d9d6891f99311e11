"""``textassay study``: the experiments of a paper, computed as far as they are not there yet, and their report."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from textassay.cli.adapter import Between, Command, option
from textassay.cli.declarations import Clustered, Computing, Files, Json, Lowercase, MaxInput, MaxText, Seed, Tokenizer
from textassay.cli.messages import print_json, print_line
from textassay.cli.options import check_sources, check_writable
from textassay.cli.results import print_and_save
from textassay.errors import OptionError
from textassay_lab.cli.commands import STUDIES

if TYPE_CHECKING:
    from textassay_lab.papers.stages import Study as Reproduced

Progress = Callable[[str, int, int], None]

_MAX_SEEDS = 10_000  # each is many stages
_DRAWS = Between(1, _MAX_SEEDS)
_TEXTS = "A folder with wikitext2, emnlp_news, yelp and multi30k, or some of them."
_CHARACTERS = "A folder with train.txt, valid.txt and test.txt, or one file of running text."


@dataclass(frozen=True)
class ListStudies:
    """List the studies and their scales."""

    json: Json = False

    def run(self) -> int:
        """Print them, and return 0."""
        from textassay_lab.papers.paper import SCALES

        if self.json:
            print_json({"studies": dict(STUDIES), "scales": list(SCALES)})
            return 0
        for name, about in STUDIES.items():
            print(f"{name:14}{about}")
        print(f"scales: {', '.join(SCALES)}")
        return 0


@dataclass(frozen=True, kw_only=True)
class Study(Computing, Clustered):
    """What all studies take."""

    out: Annotated[Path, option("Folder for computation and report; the same command resumes.", "DIR")]
    scale: Annotated[str, option("tiny (minutes), laptop (hours), medium (GPU hours) or paper (GPU days).", "HOW")] = (
        "tiny"
    )
    only: Annotated[
        list[str] | None,
        option("Compute only these stages, such as train or 'cnn LSTM*', and what they need; repeatable.", "STAGE"),
    ] = None
    seed: Seed = 0
    json: Json = False
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000

    def make(self, progress: Progress | None) -> "Reproduced":
        """Return the study, its texts read."""
        raise NotImplementedError

    def run(self) -> int:
        """Compute what is missing of the study, print and write what it found, and return 0."""
        from textassay.cli.messages import show_progress
        from textassay_lab.papers.document import reproduction_document

        stopping = _stopping_at_once() if self.cluster is None else nullcontext()
        with stopping, show_progress(quiet=self.quiet) as progress, self.on_cluster(), self.computing():
            study = self.make(progress)
            n_computed = study.compute(tuple(self.only or ()))
            result = None if self.only else study.result()
        if not self.quiet:
            print_line(f"{n_computed} stages computed, {len(study.all_stages())} in all")
        if result is None:
            self._print({"seconds": study.seconds(), "computed": n_computed})
            return 0
        document = reproduction_document(result)
        print_and_save(
            document, result.to_dict(), "study", out=self.out, as_json=self.json, quiet=self.quiet, brief=True
        )
        return 0

    def _print(self, times: Mapping[str, Any]) -> None:
        """Print how long the stages took that are there."""
        if self.json:
            print_json(times)
            return
        for kind, seconds in times["seconds"].items():
            print(f"{kind:18}{seconds:10.1f} s")


@dataclass(frozen=True, kw_only=True)
class _DdStudy(Files, Study):
    real: Annotated[
        str | None,
        option("Real text to train on, in random order; Python's docstrings by default.", "FILE", show_default=False),
    ] = None
    valid: Annotated[str | None, option("Validation text; otherwise the end of --real.", "FILE")] = None
    test: Annotated[str | None, option("Test text; otherwise the part before the validation text.", "FILE")] = None
    seeds: Annotated[
        int | None, option("Number of trainings of each generator; set by the scale by default.", "K"), _DRAWS
    ] = None
    tokenizer: Tokenizer = "whitespace"
    lowercase: Lowercase = False

    @property
    def name(self) -> str:
        raise NotImplementedError

    def make(self, progress: Progress | None) -> "Reproduced":
        from textassay_lab.papers.dd.experiment import DD_PAPER, split_text
        from textassay_lab.papers.dd.results import STUDIES as KINDS
        from textassay_lab.papers.dd.results import DdStudy
        from textassay_lab.training.backend import require_neural

        scale = DD_PAPER.scale(self.scale)
        require_neural(f"the study {self.name}")
        check_writable(self.out)
        unseen = KINDS[self.name] != "synthetic"
        text = split_text(*self._read(), scale, tokenizer=self.tokenizer, lowercase=self.lowercase, needs_unseen=unseen)
        return DdStudy(
            self.name, text, scale, self.out, seed=self.seed, initialisations=self.seeds, progress=progress
        )  # fmt: skip

    def _read(self) -> tuple[list[str], list[str] | None, list[str] | None]:
        """Return training, validation and test sentences; docstrings are shuffled, files stay in their order."""
        from textassay.corpus.docstrings import docstring_sentences
        from textassay.seeding import stream

        others = {"--valid": self.valid, "--test": self.test}
        sources = {name: source for name, source in others.items() if source is not None}
        if self.real is None:
            if sources:
                raise OptionError(f"{' and '.join(sources)} needs --real FILE beside it")
            sentences = docstring_sentences()
            order = stream(0, "study", "docstrings").permutation(len(sentences))
            return [sentences[place] for place in order.tolist()], None, None
        check_sources(self.real, sources, dict.fromkeys(sources, "leave the option out to use a part of --real"))
        read = {name: list(self.read_file(source).texts) for name, source in {"--real": self.real, **sources}.items()}
        return read["--real"], read.get("--valid"), read.get("--test")


class DdReal(_DdStudy):
    """Train generators on 20 to 100 % of a text, and see whether a metric puts them in that order."""

    name = "dd-real"


class DdSynthetic(_DdStudy):
    """Train generators on text that a GPT-2 wrote, and see whether a metric follows the exact discrepancy."""

    name = "dd-synthetic"


@dataclass(frozen=True, kw_only=True)
class Judges(Files, Study):
    """Find which evaluators agree with people about texts that they judged."""

    judgements: Annotated[Path, option("People's judgements of real or fake, with the texts.", "FILE")]
    generated: Annotated[
        Path | None,
        option("Other texts of the generators to train classifiers on, one file NAME.txt per generator.", "DIR"),
    ] = None
    real: Annotated[str | None, option("Other real texts to train classifiers on.", "FILE")] = None
    train: Annotated[str | None, option("The generators' training text, for BLEU against it.", "FILE")] = None
    seeds: Annotated[
        int | None, option("Number of random partitions of the texts; set by the scale by default.", "K"), _DRAWS
    ] = None

    def make(self, progress: Progress | None) -> "Reproduced":
        """Return the study."""
        from textassay_lab.human.results import read_judgements
        from textassay_lab.papers.judges.experiment import other_texts
        from textassay_lab.papers.judges.findings import CLASSIFIERS, JUDGES_PAPER
        from textassay_lab.papers.judges.results import JudgesStudy
        from textassay_lab.training.backend import require_neural

        if (self.generated is None) != (self.real is None):
            raise OptionError("--generated and --real are needed together: classifiers learn from both sides")
        if self.generated is not None and not self.generated.is_dir():
            raise OptionError(
                f"--generated must be a folder with a file NAME.txt for each generator, got {self.generated}"
            )
        scale = JUDGES_PAPER.scale(self.scale)
        check_writable(self.out)
        judgements = read_judgements(self.judgements)
        other = None
        if self.generated is not None and self.real is not None:
            files = {path.stem: self.read_file(str(path)).texts for path in sorted(self.generated.glob("*.txt"))}
            other = partial(other_texts, real=self.read_file(self.real).texts, generated=files)
        if {*CLASSIFIERS[:3]} & {*scale.classifiers}:
            require_neural(f"the study judges at --scale {self.scale}")
        train = () if self.train is None else self.read_file(self.train).texts
        return JudgesStudy(
            judgements, scale, self.out, other=other, train=train, seed=self.seed, partitions=self.seeds,
            progress=progress,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ExposureBias(Study):
    """Measure whether language and translation models are worse after their own words than after real ones."""

    data: Annotated[Path, option(_TEXTS, "DIR")]
    seeds: Annotated[
        int | None,
        option("Number of draws, from as many trainings at scales laptop and paper; set by the scale by default.", "K"),
        _DRAWS,
    ] = None

    def make(self, progress: Progress | None) -> "Reproduced":
        """Return the study of a folder of texts; what one that is not there would give is not measured."""
        from textassay_lab.papers.exposure_bias.experiment import EXPOSURE_PAPER, read_exposure_texts
        from textassay_lab.papers.exposure_bias.results import ExposureStudy
        from textassay_lab.training.backend import require_neural

        check_writable(self.out)
        require_neural("the study exposure-bias")
        scale = EXPOSURE_PAPER.scale(self.scale)
        texts = read_exposure_texts(self.data, scale, seed=self.seed)
        if texts.missing and not self.quiet:
            print_line(f"{self.data} has no folder {', '.join(texts.missing)}: results that need it are left out")
        return ExposureStudy(texts, scale, self.out, seed=self.seed, runs=self.seeds, progress=progress)


@dataclass(frozen=True, kw_only=True)
class GanAsLm(Study):
    """Measure how many bits per character GANs and language models need, with a softmax and without."""

    data: Annotated[Path, option(_CHARACTERS, "DIR")]
    seeds: Annotated[int | None, option("Number of trainings of SeqGAN; set by the scale by default.", "K"), _DRAWS] = (
        None
    )

    def make(self, progress: Progress | None) -> "Reproduced":
        """Return the study of a text."""
        from textassay_lab.papers.gan_as_lm.experiment import GAN_PAPER, read_gan_text
        from textassay_lab.papers.gan_as_lm.results import GanStudy
        from textassay_lab.training.backend import require_neural

        check_writable(self.out)
        require_neural("the study gan-as-lm")
        scale = GAN_PAPER.scale(self.scale)
        text = read_gan_text(self.data, scale)
        return GanStudy(text, scale, self.out, seed=self.seed, runs=self.seeds, progress=progress)


_COMMANDS: Mapping[str, type[Command]] = {
    "dd-real": DdReal,
    "dd-synthetic": DdSynthetic,
    "judges": Judges,
    "exposure-bias": ExposureBias,
    "gan-as-lm": GanAsLm,
    "list": ListStudies,
}


def command(name: str) -> type[Command]:
    """Return the command of one study."""
    return _COMMANDS[name]


@contextmanager
def _stopping_at_once() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process: threads that train cannot be stopped, and all that is done is on disk."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        if sys.stderr.isatty():
            print("\x1b[?25h", end="", file=sys.stderr)  # the cursor, which a bar of progress hides
        word = "interrupted" if number == signal.SIGINT else "terminated"
        print_line(f"{word}; run the same command again to resume")
        os._exit(128 + number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
