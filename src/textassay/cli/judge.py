"""``textassay judge``: say which metrics to trust on these generators, by people's judgements or a known order."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from textassay.cli.adapter import Between
from textassay.cli.declarations import (
    Device,
    Effort,
    Encoder,
    Generators,
    Level,
    Normalize,
    Output,
    Running,
    Tokens,
)
from textassay.cli.options import check_sources, parse_generators
from textassay.errors import InputError, OptionError
from textassay.inspection import REAL

if TYPE_CHECKING:
    from textassay.human import Judgements
    from textassay.inspection import Finding
    from textassay.meta_evaluation import Evaluation

TRAIN = "(train)"
# What no comparison computes unasked, but a meta-evaluation does, where this version has it.
_BESIDES = ("bleu-nearest", "rouge", "meteor", "cider", "cider-d")
_TUNED = "naturalness was chosen on the reviews of 'Judge the Judges': how it agrees with people there is no test of it"

Measured = tuple[list["Evaluation"], dict[str, str], tuple["Finding", ...]]
"""What metrics say of the generators, why some say nothing, and what inspection found."""

RatingsFile = Annotated[
    Path | None, Option(metavar="FILE", help="People's judgements: long CSV, Mechanical Turk or Label Studio.")
]
Gold = Annotated[
    list[str] | None, Option(metavar="FILE", help="A known order: csv of generator,value, or 'A>B>C'; may be repeated.")
]
RealText = Annotated[str | None, Option(metavar="FILE", help="Real text; by default the real texts of the ratings.")]
Training = Annotated[str | None, Option(metavar="FILE", help="The generators' training text.")]
Results = Annotated[Path | None, Option(metavar="DIR", help="A folder written by 'compare --out', instead of texts.")]
Directed = Annotated[
    str | None, Option(metavar="LIST", help="Such as 'dd,bleu(order=4)'; all that have a direction by default.")
]
Discriminators = Annotated[
    str | None, Option(metavar="LIST", help="Classifiers of all generators at once, such as svm,naive-bayes.")
]
Votes = Annotated[int | None, Option(metavar="N", help="Majorities of texts with exactly N judgements only.")]
Resamples = Annotated[int, Option(metavar="N", help="Resamples and permutations for intervals and tests.")]


@dataclass(frozen=True, kw_only=True)
class Judge(Tokens, Running, Output):
    """Say which metric to trust: how each agrees with people or a known order, and which of them differ."""

    generators: Generators = None
    ratings: RatingsFile = None
    gold: Gold = None
    real: RealText = None
    train: Training = None
    results: Results = None
    metrics: Directed = None
    discriminators: Discriminators = None
    votes: Annotated[Votes, Between(1)] = None
    effort: Effort = "default"
    encoder: Encoder = None
    normalize: Normalize = False
    resamples: Annotated[Resamples, Between(100)] = 2_000
    level: Level = 0.95
    device: Device = "auto"

    @property
    def sources(self) -> dict[str, str]:
        """Generator name to where its text is read from."""
        return parse_generators(self.generators) if self.generators else {}

    def run(self) -> int:
        """Measure, correlate, print what came of it, write it where asked, and return 0."""
        self._check()

        from textassay.execution import device
        from textassay.human import read_judgements
        from textassay.meta_evaluation import judge_evaluators
        from textassay.report import render_judging, write_judging

        notes: list[str] = []
        judgements = None if self.ratings is None else read_judgements(self.ratings)
        kept = None if self.results is None else _KeptResults(self.results)
        texts = self._texts(judgements) if kept is None else kept.texts
        golds = self._golds(judgements, texts, notes)
        with self.work() as progress, device(self.device):
            if kept is None:
                evaluations, left_out, findings = self._measure(texts, golds[0].generators, progress, notes)
            else:
                evaluations, left_out, findings = self._select(kept, golds[0].generators)
            notes += [_TUNED for evaluation in evaluations if evaluation.name.startswith("naturalness")][:1]
            judging = judge_evaluators(
                golds,
                evaluations,
                left_out=left_out,
                notes=notes,
                findings=findings,
                level=self.level,
                n_resamples=self.resamples,
                seed=self.seed,
                progress=progress,
            )
        self.show(judging, render_judging)
        self.save(judging, write_judging, quiet=self.quiet)
        return 0

    def _check(self) -> None:
        """Raise for whatever can be seen to be wrong before reading."""
        if self.ratings is None and not self.gold:
            raise OptionError("nothing says which generator is better: give --ratings FILE or --gold FILE")
        if self.results is None and self.ratings is None and not self.generators:
            raise OptionError("nothing is to be judged: give NAME=GEN texts, --results DIR, or --ratings with texts")
        if self.results is not None and (self.generators or self.real or self.train or self.discriminators):
            raise OptionError(
                "--results stands instead of texts: leave NAME=GEN, --real, --train and --discriminators out"
            )
        if self.votes is not None and self.ratings is None:
            raise OptionError("--votes counts people's votes: give --ratings FILE")
        if self.generators and self.real is None:
            raise OptionError("--real is missing: metrics compare NAME=GEN with real text")
        if self.real is not None:
            check_sources(self.real, {**({"--train": self.train} if self.train else {}), **self.sources}, {})

        from textassay.discriminator import make_discriminator
        from textassay.metric import split_names

        self._full_names()
        for name in split_names(self.discriminators or ""):
            make_discriminator(name)

    def _metric_names(self) -> list[str]:
        from textassay.metric import split_names

        return default_evaluators(train=self.train is not None) if self.metrics is None else split_names(self.metrics)

    def _full_names(self) -> list[str]:
        """Return the full names of the metrics; raise where one cannot be."""
        from textassay.comparison import metric_settings
        from textassay.metric import parse_metrics

        settings = metric_settings(
            effort=self.effort, encoder=self.encoder, has_features=False, folds=5, level=self.level, paper=False
        )
        return [metric.name for metric in parse_metrics(self._metric_names(), **settings)]

    def _select(self, kept: "_KeptResults", generators: Sequence[str]) -> Measured:
        """Return the part of kept results that ``--metrics`` names; all of it by default."""
        from textassay.meta_evaluation import evaluations_of

        known = kept.comparison.metrics
        names = list(known) if self.metrics is None else self._full_names()
        missing = [name for name in names if name not in known]
        if missing:
            raise OptionError(f"{self.results} has no {', '.join(missing)}: it has {', '.join(known)}")
        evaluations, left_out = evaluations_of(kept.comparison, generators=generators, scores=kept.scores)
        return (
            [evaluation for evaluation in evaluations if evaluation.name in names],
            {name: reason for name, reason in left_out.items() if name in names},
            tuple(finding for finding in kept.comparison.findings if finding.generator in (*generators, REAL)),
        )

    def _texts(self, judgements: "Judgements | None") -> dict[str, Any]:
        """Return the real text and every generator's, from files or from the items that were judged."""
        from textassay.cli.texts import read_sources
        from textassay.corpus import read_texts

        if self.generators:
            sources = {REAL: self.real or "", **self.sources}
            if self.train is not None:
                sources[TRAIN] = self.train
            return dict(read_sources(sources, column=self.column, group_column=None))
        assert judgements is not None
        texts: dict[str, Any] = {}
        for name in judgements.generators:
            texts[name] = [item.text for item in judgements.items if item.generator == name]
            if not all(texts[name]):
                raise InputError(
                    f"{self.ratings} has no texts of {name}: give its text as {name}=FILE, and --real FILE"
                )
        if not texts:
            raise InputError(f"{self.ratings} names no generator: give NAME=GEN texts, and call its items NAME:LINE")
        if self.real is not None:
            texts[REAL] = read_texts(self.real, column=self.column)
        else:
            texts[REAL] = [item.text for item in judgements.items if item.generator is None]
            if not texts[REAL] or not all(texts[REAL]):
                raise InputError(f"{self.ratings} has no real texts: give --real FILE")
        if self.train is not None:
            texts[TRAIN] = read_texts(self.train, column=self.column)
        return texts

    def _golds(self, judgements: "Judgements | None", texts: Mapping[str, Any], notes: list[str]) -> "list[Evaluation]":
        """Return people's evaluations and the known orders, of the generators that are judged."""
        from textassay.meta_evaluation import read_gold

        wanted = [name for name in texts if name not in (REAL, TRAIN)]
        if len(wanted) < 2:
            raise InputError(f"at least 2 generators are needed to rank them, got {', '.join(wanted) or 'none'}")
        golds = [] if judgements is None else self._of_people(judgements, wanted, texts, notes)
        for text in self.gold or ():
            gold = read_gold(text)
            n_alike = sum(other.name.rsplit(" #")[0] == gold.name for other in golds)
            golds.append(replace(gold, name=f"{gold.name} #{n_alike + 1}") if n_alike else gold)
            if gold.name in self._full_names():
                raise InputError(f"{text} has the name of a metric: call the file something else")
        for gold in golds:
            missing = [name for name in wanted if name not in gold.generators]
            if missing:
                raise InputError(f"{gold.name} says nothing of {', '.join(missing)}: leave it out, or add it there")
            more = [name for name in gold.generators if name not in wanted]
            if more:
                notes.append(f"{gold.name} also knows {', '.join(more)}, of which there is no text: left out")
        return [gold.select(wanted) for gold in golds]

    def _of_people(
        self, judgements: "Judgements", wanted: Sequence[str], texts: Mapping[str, Any], notes: list[str]
    ) -> "list[Evaluation]":
        """Return people's evaluation and, of real or fake, that of their majorities."""
        from textassay.meta_evaluation import Evaluation, place_judgements

        if self.votes is not None and judgements.scale == "number":
            raise OptionError(f"--votes counts votes of real or fake: the ratings of {self.ratings} are numbers")
        is_placed = not self.generators and self.results is None
        names = {item.id.rpartition(":")[0] for item in judgements.items} - {"real", "Real", REAL}
        if judgements.generators or is_placed:
            notes += judgements.notes  # else: that no column names generators; lines do
        if not is_placed and (names <= {*wanted} or not judgements.generators):
            lines = {name: getattr(texts[name], "texts", texts[name]) for name in wanted}
            judgements, is_placed = place_judgements(judgements, lines), True
        golds = [Evaluation.of_judgements(judgements)]
        if judgements.scale == "real-or-fake":
            golds.append(Evaluation.of_judgements(judgements, by="majority", votes=self.votes))
        if is_placed:
            return golds
        notes.append("items are not called NAME:LINE, so nobody knows which text they are: no text level")
        return [replace(gold, texts=None) for gold in golds]

    def _measure(
        self,
        texts: Mapping[str, Any],
        names: Sequence[str],
        progress: Callable[[str, int, int], None] | None,
        notes: list[str],
    ) -> Measured:
        """Return what metrics and classifiers say of the generators."""
        from textassay.comparison import compare
        from textassay.inspection import CHARACTERS, UNSPACED
        from textassay.meta_evaluation import evaluations_of
        from textassay.metric import check_effort

        comparison = compare(
            {name: texts[name] for name in names},
            texts[REAL],
            train=texts.get(TRAIN),
            metrics=self._metric_names(),
            effort=check_effort(self.effort),
            encoder=self.encoder,
            explain=False,
            tokenizer=self.tokenizer,
            lowercase=self.lowercase,
            normalize=self.normalize,
            level=self.level,
            seed=self.seed,
            workers=self.workers,
            device=self.device,
            out=self.out,
            progress=progress,
        )
        notes += joined(comparison.warnings, names)
        notes += [
            f"real text: {finding.message}"
            for finding in comparison.findings
            if finding.generator == REAL and finding.kind in (CHARACTERS, UNSPACED)
        ]
        evaluations, left_out = evaluations_of(comparison, generators=names)
        evaluations += self._classified(texts, names, progress)
        return evaluations, left_out, comparison.findings

    def _classified(
        self, texts: Mapping[str, Any], names: Sequence[str], progress: Callable[[str, int, int], None] | None
    ) -> "list[Evaluation]":
        """Return what each of ``--discriminators`` says of the generators."""
        from textassay.corpus import prepare_corpora
        from textassay.discriminator import make_discriminator, meta_evaluate
        from textassay.meta_evaluation import Evaluation
        from textassay.metric import split_names

        judges = split_names(self.discriminators or "")
        if not judges:
            return []
        corpora = prepare_corpora(
            {name: texts[name] for name in (REAL, *names)},
            tokenizer=self.tokenizer,
            lowercase=self.lowercase,
            normalize=self.normalize,
        )
        generated = {name: corpora[name] for name in names}
        evaluations = []
        for place, judge in enumerate(judges):
            if progress is not None:
                progress(f"{judge} of all generators", place, len(judges))
            evaluator = meta_evaluate(make_discriminator(judge), corpora[REAL], generated, seed=self.seed)
            evaluations.append(Evaluation.of_estimates(evaluator.to_estimates()))
        return evaluations


def default_evaluators(*, train: bool) -> list[str]:
    """Return the metrics that are judged unasked: the default ones, those of `train` text, and word overlap."""
    from textassay.metric import CATALOG, default_metrics

    return [*default_metrics(["train"] if train else []), *(name for name in _BESIDES if name in CATALOG)]


def joined(warnings: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the warnings, those that are alike but for the generator once."""
    groups: dict[tuple[str, str], list[str]] = {}
    for warning in warnings:
        name = next((name for name in sorted(names, key=len, reverse=True) if name in warning), "")
        before, _, after = warning.partition(name) if name else ("", "", warning)
        groups.setdefault((before, after), []).append(name)
    return [
        f"{before}{'each of ' if len(found) > 1 else ''}{', '.join(found)}{after}"
        for (before, after), found in groups.items()
    ]


class _KeptResults:
    """What ``compare --out`` wrote: the comparison and, where it is there, the file of single sentences."""

    def __init__(self, folder: Path) -> None:
        import numpy as np

        from textassay.report import open_sentences, read_comparison

        self.comparison = read_comparison(folder)
        self.texts: dict[str, list[str]] = {name: [] for name in self.comparison.generators}
        table = open_sentences(folder / "sentences.csv")
        found: dict[tuple[str, str], list[float]] = {}
        for row in () if table is None else table.rows:
            if table is not None and row[1] == "generated" and row[0] in self.texts:
                self.texts[row[0]].append(row[3])
                for metric, score in zip(table.columns[4:], row[4:], strict=True):
                    found.setdefault((row[0], metric), []).append(float(score) if score else math.nan)
        arrays = {key: np.array(values) for key, values in found.items()}
        self.scores = {key: array for key, array in arrays.items() if np.isfinite(array).any()}
