"""The stages that measure generators: metrics, likelihoods, classifiers, the exact discrepancy.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", sections 4.4 and 4.5.
Departs from it: classifiers also read text that no generator saw; the language model score is that of a model of
the generator's architecture, trained on all of the real text from another seed (the generator's own stands beside it);
the reverse language model score of a sweep is that of n-gram models.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from textassay.corpus import Corpus, TextForm
from textassay.discriminator import PAPER, CnnDiscriminator
from textassay.estimate import Estimate
from textassay.metric import held_out_dd, parse_metric
from textassay.seeding import stream
from textassay.study.dd.scales import Scale
from textassay.study.measures import (
    EXACT,
    LEVEL,
    LM,
    LM_SELF,
    OVERLAP,
    REVERSE,
    exact_estimate,
    measured,
    model_cost,
    overlap_metrics,
    save_estimates,
)
from textassay.study.network_stages import Part, opened, seed_for, training
from textassay.study.stages import Stage, Work

REAL = "(real)"
ESTIMATES = "estimates"
CNN, OURS = "DD (paper's classifier)", "DD (ours)"


@dataclass(frozen=True)
class Texts:
    """The sentences of a study, given or drawn."""

    # Of generators and classifiers
    train: Part
    valid: Part
    test: Part
    # What no generator saw, and as much again; none where there is none
    unseen: Part | None
    more: Part | None
    n_train: int  # Sentences of `train`
    original: Stage | None = None  # The stage that trained the model that writes the text; none where people did


@dataclass(frozen=True)
class Cells:
    """What was measured: a stage that keeps estimates, and their names."""

    stage: Stage
    names: tuple[str, ...]


@dataclass(frozen=True)
class Judging:
    """Makes the stages that measure."""

    texts: Texts  # The sentences of the study
    # As for the experiment
    scale: Scale
    form: TextForm
    longest: int
    seed: int
    positives: str  # "everything" or "fraction": which of the training text classifiers are given

    @property
    def n_class(self) -> int:
        """Sentences a side that classifiers learn from."""
        return self.texts.n_train if self.scale.n_class is None else self.scale.n_class

    def overlap(self, label: str, generated: Part) -> Cells:
        """Return BLEU, self-BLEU, FED and the n-gram reverse score of test sentences."""

        def compute(work: Work) -> dict[str, Estimate]:
            sides = generated.load(work, self.form), self.texts.test.load(work, self.form)
            return measured(overlap_metrics(), *sides, seed=self.seed)

        return self._stage("overlap", label, OVERLAP, compute, generated, self.texts.test, settings={"level": LEVEL})

    def cost(self, label: str, generated: Part, scorer: Stage, own: Stage | None) -> Cells:
        """Return the language model score by a judge and, as the published code has it, by the generator itself."""
        models = {LM: scorer} if own is None else {LM: scorer, LM_SELF: own}

        def compute(work: Work) -> dict[str, Estimate]:
            sides = generated.load(work, self.form), self.texts.test.load(work, self.form)
            return {
                name: model_cost(
                    name, opened(work, stage), *sides, longest=self.longest, scores_real=False, seed=self.seed
                )
                for name, stage in models.items()
            }

        return self._stage("likelihood", label, tuple(models), compute, generated, self.texts.test, *models.values())

    def reverse(self, name: str, kind: str, sample: Stage) -> Cells:
        """Return the reverse language model score by a network of the generator's architecture."""
        model = training(
            f"{name} reverse",
            kind,
            preset=self.scale.preset,
            precision=self.scale.precision,
            text=Part(stage=sample, file="class"),
            valid=self.texts.valid,
            form=self.form,
            longest=self.longest,
            seed=seed_for(self.seed, name, "reverse"),
            cost=float(self.n_class),
            stage_kind="train-reverse",
        )
        generated = Part(stage=sample, file="class")

        def compute(work: Work) -> dict[str, Estimate]:
            sides = self.texts.test.load(work, self.form), generated.load(work, self.form)
            cost = model_cost(
                REVERSE, opened(work, model), *sides, longest=self.longest, scores_real=True, seed=self.seed
            )
            return {REVERSE: cost}

        return self._stage("reverse", name, (REVERSE,), compute, generated, self.texts.test, model)

    def exact(self, name: str, generated: Part, model: Stage) -> Cells:
        """Return the exact discrepancy from the original model."""
        original = self.texts.original
        assert original is not None

        def compute(work: Work) -> dict[str, Estimate]:
            sides = self.texts.test.load(work, self.form), generated.load(work, self.form)
            models = opened(work, original), opened(work, model)
            return {EXACT: exact_estimate(*models, *sides, longest=self.longest, seed=self.seed)[0]}

        return self._stage("exact", name, (EXACT,), compute, generated, self.texts.test, original, model)

    def discrepancies(self, name: str, sample: Stage, n_seen: int, number: int) -> list[Cells]:
        """Return the discrepancy by the paper's classifier and by ours, on training text and on unseen text.

        `number`: that of the initialisation; the paper's classifier begins anew for each, too.
        """
        cells = []
        for positives in ("training text", "unseen text"):
            if positives == "training text" or self.scale.networks_unseen:
                cells += [self.cnn(name, sample, positives, n_seen, number)] if self._has(positives) else []
            cells += [self.ours(name, sample, positives, n_seen)] if self._has(positives) else []
        return cells

    def cnn(self, name: str, sample: Stage, positives: str, n_seen: int, number: int) -> Cells:
        """Return the discrepancy by the paper's classifier, on fixed parts."""
        label = f"{CNN}, {positives}"
        judge = CnnDiscriminator(PAPER, seed=self.seed + number)

        def compute(work: Work) -> dict[str, Estimate]:
            real = self._real(work, positives, n_seen, self.n_class)
            sides = {file: Part(stage=sample, file=file).load(work, self.form) for file in ("class", "valid", "test")}
            generated = sides["class"].take(np.arange(min(len(real), len(sides["class"]))))
            estimate = held_out_dd(
                judge,
                (real, generated),
                (self.texts.valid.load(work, self.form), sides["valid"]),
                (self.texts.test.load(work, self.form), sides["test"]),
                level=LEVEL,
                seed=self.seed,
            )
            return {label: estimate}

        settings = {"positives": positives, "n": self.n_class, "judge": judge.features}
        of_real = self._parts(positives, n_seen, settings)
        parts = (*of_real, self.texts.valid, self.texts.test, Part(stage=sample))
        return self._stage("cnn", f"{name} {positives}", (label,), compute, *parts, settings=settings, cost=1e6)

    def ours(self, name: str, sample: Stage, positives: str, n_seen: int) -> Cells:
        """Return the discrepancy by our classifier, cross-fitted over all sentences, as a user would run it."""
        label = f"{OURS}, {positives}"
        metric = parse_metric("dd", level=LEVEL)
        n = self.scale.n_judged(self.texts.n_train)

        def compute(work: Work) -> dict[str, Estimate]:
            real = self._real(work, positives, n_seen, n)
            drawn = [Part(stage=sample, file=file).load(work, self.form) for file in ("class", "test")]
            generated = Corpus.concatenate(drawn).take(np.arange(min(len(real), sum(map(len, drawn)))))
            return measured({label: metric}, generated, real, seed=self.seed)

        settings = {"positives": positives, "n": n, "metric": metric.key}
        parts = (*self._parts(positives, n_seen, settings), Part(stage=sample))
        return self._stage("dd", f"{name} {positives}", (label,), compute, *parts, settings=settings, cost=1e5)

    def real(self, judges: Mapping[str, Stage]) -> tuple[Cells, ...]:
        """Return what real text itself scores, by our classifier as by the rest."""
        other = self.texts.valid if self.texts.more is None else replace(self.texts.more, first=self.scale.n_test)
        costs = []
        for family, judge in judges.items():
            kept = self.cost(f"{REAL} {family}", other, judge, None)
            costs.append(kept)
        cells = [self.overlap(REAL, other), *costs]
        if self.texts.more is not None and self.texts.unseen is not None:
            label, metric = f"{OURS}, unseen text", parse_metric("dd", level=LEVEL)
            sides = self.texts.more, self.texts.unseen

            def compute(work: Work) -> dict[str, Estimate]:
                return measured({label: metric}, *(side.load(work, self.form) for side in sides), seed=self.seed)

            settings = {"metric": metric.key}
            cells.append(self._stage("dd", REAL, (label,), compute, *sides, settings=settings, cost=1e5))
        return tuple(cells)

    def _has(self, positives: str) -> bool:
        return positives == "training text" or self.texts.unseen is not None

    def _parts(self, positives: str, n_seen: int, settings: dict[str, Any]) -> tuple[Part, ...]:
        """Return the parts that real sentences for classifiers come from, and add to `settings` what else decides."""
        if positives == "unseen text":
            assert self.texts.unseen is not None
            return (self.texts.unseen,)
        whole = self.positives == "everything"
        settings["of"] = "everything" if whole else n_seen
        return (self.texts.train if whole else replace(self.texts.train, first=n_seen),)

    def _real(self, work: Work, positives: str, n_seen: int, n: int) -> Corpus:
        """Return real sentences for classifiers: `n` of them or, where there are fewer, all.

        Of the training text they are drawn at random, so that a generator of a fraction saw its share of them.
        """
        (part,) = self._parts(positives, n_seen, {})
        corpus = part.load(work, self.form)
        if len(corpus) <= n:
            return corpus
        if positives == "unseen text":
            return corpus.take(np.arange(n))
        return corpus.take(np.sort(stream(self.seed, "study", "positives").permutation(len(corpus))[:n]))

    def _stage(
        self,
        kind: str,
        label: str,
        names: tuple[str, ...],
        compute: Callable[[Work], dict[str, Estimate]],
        *built_on: Part | Stage,
        settings: Mapping[str, Any] | None = None,
        cost: float = 1.0,
    ) -> Cells:
        """Return the stage that keeps what `compute` returns."""

        def run(work: Work) -> dict[str, Any]:
            estimates = compute(work)
            save_estimates(work.folder / ESTIMATES, estimates)
            documents = {name: estimate.to_dict() for name, estimate in estimates.items()}
            return {
                name: {key: each[key] for key in ("value", "low", "high", "signature")}
                for name, each in documents.items()
            }

        parts = [part for part in built_on if isinstance(part, Part)]
        stages = [stage for stage in built_on if isinstance(stage, Stage)]
        stages += [stage for part in parts for stage in part.inputs]
        decides = {
            "names": list(names),
            "texts": [part.settings for part in parts],
            "seed": self.seed,
            "longest": self.longest,
            "form": self.form.hash,
            **(settings or {}),
        }
        return Cells(Stage(kind, label, decides, run, tuple(dict.fromkeys(stages)), cost), names)
