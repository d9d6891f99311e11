"""``textassay judge``: say which metrics to trust on these generators, by people's judgements or a known order."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from textassay.cli.adapter import Between, call, option
from textassay.cli.declarations import Clustered, Generators, Output, Running, Tokens
from textassay.cli.options import check_sources, parse_generators
from textassay.cli.results import print_and_save
from textassay.errors import OptionError
from textassay.inspection.finding import REAL
from textassay.settings import Device, Effort, Encoder, Independent, Level, Normalize

if TYPE_CHECKING:
    from textassay_lab.meta_evaluation.judge import KeptComparison

TRAIN = "(train)"

RealText = Annotated[str | None, option("Real text; by default the texts that the ratings call real.", "FILE")]
Training = Annotated[str | None, option("The generators' training text.", "FILE")]


@dataclass(frozen=True, kw_only=True)
class Judge(Tokens, Running, Clustered, Output):
    """Find which metric to trust: how each one agrees with people or a known order, and which of them differ."""

    generators: Generators = None
    ratings: Annotated[
        Path | None, option("People's judgements: long CSV, Mechanical Turk or Label Studio.", "FILE")
    ] = None
    rating_column: Annotated[
        list[str] | None,
        option("Column of ratings in --ratings; may be repeated, once per criterion.", "NAME"),
    ] = None
    text_column: Annotated[str | None, option("Column of the judged texts in --ratings.", "NAME")] = None
    system_column: Annotated[str | None, option("Column of systems in --ratings: a generator, or real.", "NAME")] = None
    rater_column: Annotated[str | None, option("Column of raters in --ratings.", "NAME")] = None
    real_name: Annotated[
        str | None,
        option("Name of the real text among the systems of --ratings, if not 'real', such as human.", "NAME"),
    ] = None
    gold: Annotated[
        list[str] | None, option("A known order: csv of generator,value, or 'A>B>C'; may be repeated.", "FILE")
    ] = None
    real: RealText = None
    train: Training = None
    results: Annotated[Path | None, option("A folder written by 'compare --out', instead of texts.", "DIR")] = None
    metrics: Annotated[
        str | None, option("Metrics, such as 'dd,bleu(order=4)'; all with a direction by default.", "LIST")
    ] = None
    discriminators: Annotated[
        str | None, option("Classifiers trained on all generators together, such as svm,naive-bayes.", "LIST")
    ] = None
    votes: Annotated[
        int | None, option("Compute majorities only for texts with exactly N judgements.", "N"), Between(1)
    ] = None
    effort: Effort = "default"
    encoder: Encoder = None
    normalize: Normalize = False
    independent: Independent = False
    n_resamples: Annotated[
        int, option("Resamples and permutations for intervals and tests.", "N", names=("--resamples",)), Between(100)
    ] = 2_000
    level: Level = 0.95
    device: Device = "auto"

    @property
    def sources(self) -> dict[str, str]:
        """Generator name to where its text is read from."""
        return parse_generators(self.generators) if self.generators else {}

    def run(self) -> int:
        """Measure, correlate, print what came of it, write it where asked, and return 0."""
        self._check()

        from textassay.execution.threads import device
        from textassay.metric.catalog import split_names
        from textassay_lab.meta_evaluation.judge import judge
        from textassay_lab.meta_evaluation.judge_document import judge_document

        texts = self._texts()
        generated = {name: texts[name] for name in self.sources} if self.results is None else _kept(self.results)
        with self.on_cluster(), self.work() as progress, device(self.device):
            judging = call(
                judge,
                self,
                generated=generated,
                real=texts.get(REAL),
                rating_columns=self.rating_column or (),
                gold=self.gold or (),
                train=texts.get(TRAIN),
                metrics=None if self.metrics is None else split_names(self.metrics),
                discriminators=split_names(self.discriminators or ""),
                progress=progress,
            )
        print_and_save(
            judge_document(judging),
            judging.to_dict(),
            "judge",
            out=self.out,
            as_json=self.json,
            quiet=self.quiet,
            brief=True,
        )
        return 0

    def _check(self) -> None:
        """Raise for whatever can be seen to be wrong before reading."""
        if self.ratings is None and not self.gold:
            raise OptionError("no order of the generators is given: give --ratings FILE or --gold FILE")
        if self.results is None and self.ratings is None and not self.generators:
            raise OptionError("no texts are given: give NAME=GEN texts, --results DIR, or --ratings with texts")
        if self.results is not None and (self.generators or self.real or self.train or self.discriminators):
            raise OptionError("--results replaces texts: leave NAME=GEN, --real, --train and --discriminators out")
        if self.ratings is None and (self.rating_column or self.text_column or self.system_column or self.rater_column):
            raise OptionError("rating columns are named, but no file is given: add --ratings FILE")
        if self.real_name is not None and (self.ratings is None or self.generators or self.results is not None):
            raise OptionError(
                f"--real-name {self.real_name} needs --ratings, and cannot be combined with NAME=GEN (use --real "
                "FILE) or --results"
            )
        if self.votes is not None and self.ratings is None:
            raise OptionError("--votes needs people's votes: give --ratings FILE")
        if self.generators and self.real is None:
            raise OptionError("--real is missing: metrics compare NAME=GEN with real text")
        if self.real is not None:
            check_sources(self.real, {**({"--train": self.train} if self.train else {}), **self.sources}, {})

        from textassay.discriminator.catalog import make_discriminator
        from textassay.metric.catalog import split_names

        for name in split_names(self.discriminators or ""):
            make_discriminator(name)

    def _texts(self) -> dict[str, Any]:
        """Return the texts of the files that are named."""
        from textassay.cli.messages import print_notes
        from textassay.cli.options import read_sources
        from textassay.corpus.texts import read_texts

        named = {REAL: self.real, TRAIN: self.train, **self.sources}
        sources = {name: source for name, source in named.items() if source is not None}
        if self.generators:
            files = read_sources(sources, column=self.column, group_column=None)
        else:
            files = {name: read_texts(source, column=self.column) for name, source in sources.items()}
        print_notes(files, quiet=self.quiet)
        return dict(files)


def _kept(folder: Path) -> "KeptComparison":
    """Return what ``compare --out`` wrote: the comparison and, where it is there, the file of single sentences."""
    import numpy as np

    from textassay.comparison.document import read_comparison
    from textassay.comparison.sentence_scores import open_sentences
    from textassay_lab.meta_evaluation.judge import KeptComparison

    comparison = read_comparison(folder)
    texts: dict[str, list[str]] = {name: [] for name in comparison.generators}
    scores: dict[tuple[str, str], list[float]] = {}
    table = open_sentences(folder / "sentences.csv")
    for row in () if table is None else table.rows:
        if table is not None and row[1] == "generated" and row[0] in texts:
            name, text = str(row[0]), str(row[3])
            texts[name].append(text)
            for metric, score in zip(table.columns[4:], row[4:], strict=True):
                scores.setdefault((name, metric), []).append(float(score) if score else math.nan)
    arrays = {key: np.array(values) for key, values in scores.items()}
    return KeptComparison(comparison, texts, {key: array for key, array in arrays.items() if np.isfinite(array).any()})
