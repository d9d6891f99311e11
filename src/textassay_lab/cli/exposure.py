"""``textassay exposure``."""

from dataclasses import dataclass
from typing import Annotated

from textassay.cli.adapter import Between, call, option
from textassay.cli.declarations import Computing, Files, Json, Model, Out, Precision
from textassay.cli.results import print_and_save
from textassay.errors import OptionError, unknown_name
from textassay.settings import Level, Seed

VALUES = "values"  # the folder under --out
_BLEU_RUNS, _ORACLE_RUNS = 10, 5
_DATA = "data"


@dataclass(frozen=True, kw_only=True)
class Exposure(Files, Computing):
    """Measure exposure bias: how much worse a language model continues its own words than real ones."""

    model: Model
    real: Annotated[str, option("Real text that the model was not trained on; '-' is standard input.", "FILE")]
    lengths: Annotated[
        str | None, option("Prefix lengths in tokens, such as 5,10,15; by default as the text allows.", "LIST")
    ] = None
    oracle: Annotated[
        str | None, option("Oracle that stands for the data: EB-C takes its next-word probabilities as true.", "MODEL")
    ] = None
    prefixes: Annotated[
        str, option("Kinds to compare with data: model, shuffled, random, corrupted:0.1 (a share).", "LIST")
    ] = "data,model,shuffled"
    n_samples: Annotated[
        int,
        option(
            "Continuations per run, at most for half of the text; for EB-C, sequences per run.",
            "N",
            names=("--samples",),
        ),
        Between(1),
    ] = 10_000
    runs: Annotated[
        int | None, option("Runs, each with fresh draws; 10 for EB-bleu, 5 for EB-C by default.", "R"), Between(1)
    ] = None
    sentence_length: Annotated[
        int | None,
        option(
            "Length of sentences in tokens; shorter ones are left out. Default: the median length, at most 50.", "L"
        ),
        Between(4),
    ] = None
    blocks: Annotated[bool, option("Treat the file as running text, in blocks of L tokens.", names=("--blocks",))] = (
        False
    )
    distances: Annotated[str, option("Distances for EB-C: tv, js, greedy, kl.", "LIST")] = "tv,js,greedy"
    ends: Annotated[str, option("excluded: no sentence ends; absorbing: the end is a word.", "HOW")] = "excluded"
    n_shown: Annotated[
        int, option("Number of example sentences to show for each kind of prefix.", "N", names=("--show",)), Between(0)
    ] = 3
    level: Level = 0.95
    seed: Seed = 0
    out: Out = None
    precision: Precision = "float32"
    json: Json = False

    def run(self) -> int:
        """Measure, print what came of it, write it where asked, and return 0."""
        from textassay.cli.messages import show_progress
        from textassay_lab.cli.models import open_model
        from textassay_lab.exposure.document import exposure_document
        from textassay_lab.exposure.exposure_bias import exposure_bias

        kinds, distances = self._lists()
        lengths = None if self.lengths is None else _lengths(self.lengths)
        file = self.read_file(self.real)
        with show_progress(quiet=self.quiet) as progress, self.computing():
            exposure = call(
                exposure_bias,
                self,
                model=open_model(self.model, self.precision),
                real=file,
                oracle=None if self.oracle is None else open_model(self.oracle, self.precision),
                lengths=lengths,
                prefixes=kinds,
                bleu_runs=self.runs or _BLEU_RUNS,
                oracle_runs=self.runs or _ORACLE_RUNS,
                distances=distances,
                folder=None if self.out is None else self.out / VALUES,
                progress=progress,
            )
        named = {"model": self.model, "real": self.real, "oracle": self.oracle, "blocks": self.blocks}
        values = {**exposure.to_dict(), "command": {**named, "precision": self.precision}}
        document = exposure_document(exposure)
        print_and_save(document, values, "exposure", out=self.out, as_json=self.json, quiet=self.quiet)
        return 0

    def _lists(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return kinds of prefixes and distances; raise for whatever is wrong before anything is read."""
        from textassay.metric.base import check_level
        from textassay_lab.exposure.distance import DISTANCES
        from textassay_lab.exposure.runs import parse_kind
        from textassay_lab.generator.next_words import check_ends

        check_ends(self.ends)
        check_level(self.level)
        kinds = _listed("--prefixes", self.prefixes)
        for kind in kinds:
            parse_kind(kind)
        others = tuple(kind for kind in kinds if kind != _DATA)
        if not others:
            raise OptionError("--prefixes has no kind to compare prefixes of the data with: add model")
        distances = _listed("--distances", self.distances)
        for name in distances:
            if name not in DISTANCES:
                raise unknown_name("distance", name, DISTANCES)
        return others, distances


def _lengths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in _listed("--lengths", text))
    except ValueError:
        raise OptionError(f"cannot read --lengths '{text}': write whole numbers, such as 5,10,15") from None


def _listed(option: str, text: str) -> tuple[str, ...]:
    parts = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not parts:
        raise OptionError(f"{option} names nothing")
    return parts
