"""The experiment on distributional discrepancy as a graph of stages: ten generators, many metrics.

The study on real text and that on synthetic text differ in where their sentences come from (`Texts`) and in what is
known: on synthetic text a GPT-2 that learnt real text writes what takes the place of real text, so the probability of
every sentence is known on both sides, and with it the exact discrepancy.

Parts of real text are taken in the order of the file, as in the paper: a corpus in the order of its documents must be
shuffled before. Words that the training text lacks become ``<unk>`` in all parts, in tokens and in texts, as in
generated text.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", sections 4 to 6, and its
code (vocabulary of the training text alone; validation text from the end of the file; longer sentences cut to the
longest of the training text).
Departs from it: classifiers also read text that no generator saw; the language model score is that of a model of
the generator's architecture, trained on all of the real text from another seed (the generator's own stands beside it);
below scale ``paper`` the reverse language model score is that of n-gram models.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from textassay.corpus import Corpus, TextForm
from textassay.discriminator import PAPER, CnnDiscriminator
from textassay.errors import EmptyCorpusError, TooFewSentencesError
from textassay.estimate import Estimate
from textassay.metric import held_out_dd, parse_metric
from textassay.seeding import stream
from textassay.study.dd.published import KINDS, TEMPERATURES, Scale, generator_name
from textassay.study.draws import as_written
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
from textassay.study.network_stages import Part, first_share, opened, sampling, seed_for, training
from textassay.study.presets import Network
from textassay.study.stages import Stage, Work

_AT_LEAST = 20  # sentences in the smallest part


@dataclass(frozen=True)
class StudyText:
    """Real text, split."""

    form: TextForm  # How all text of the study is written
    longest: int  # Tokens of the longest training sentence; no sentence has more
    # For generators, and for classifiers
    train: Corpus
    valid: Corpus
    test: Corpus
    # Real text that no generator saw, for classifiers, and as much again, which stands for a perfect generator; none
    # where the scale asks for none
    unseen: Corpus | None
    more: Corpus | None
    unk_rates: tuple[float, float]  # Share of unknown tokens in the training and in the test text
    n_cut: int  # Sentences of other parts that were longer than the longest of the training text


def split_text(
    real: Sequence[str],
    valid: Sequence[str] | None,
    test: Sequence[str] | None,
    scale: Scale,
    *,
    tokenizer: str = "whitespace",
    lowercase: bool = False,
    needs_unseen: bool = True,
) -> StudyText:
    """Return the parts of a corpus."""
    n_judged = scale.n_judged(scale.n_train or 0) if scale.unseen and needs_unseen else 0
    taken = {
        "unseen": n_judged,
        "more": n_judged,
        "test": scale.n_test if test is None else 0,
        "valid": scale.n_valid if valid is None else 0,
    }
    n_train = len(real) - sum(taken.values()) if scale.n_train is None else scale.n_train
    needed = max(n_train, _AT_LEAST) + sum(taken.values())
    for what, part, least in (
        ("the real text", real, needed),
        ("the validation text", valid, scale.n_valid),
        ("the test text", test, scale.n_test),
    ):
        if part is not None and len(part) < least:
            smaller = "" if scale.name == "tiny" else ": use more text, or --scale tiny"
            raise TooFewSentencesError(
                f"the scale {scale.name} needs {least} sentences, {what} has {len(part)}{smaller}"
            )
    texts = {"train": real[:n_train]}
    begin = len(real) - sum(taken.values())
    for name, count in taken.items():
        if count:
            texts[name] = real[begin : begin + count]
            begin += count
    if valid is not None:
        texts["valid"] = valid[: scale.n_valid]
    if test is not None:
        texts["test"] = test[: scale.n_test]
    min_count = 1 if tokenizer.startswith("bpe-") else scale.min_count  # byte pairs are a fixed number of tokens
    form = TextForm.learn(texts["train"], tokenizer=tokenizer, lowercase=lowercase, min_count=min_count)
    corpora = {name: form.corpus(sentences) for name, sentences in texts.items()}
    longest = int(corpora["train"].lengths.max())
    if longest == 0:
        raise EmptyCorpusError(f"the training text has no token in its {n_train} sentences")
    written = {name: as_written(corpus, form, longest) for name, corpus in corpora.items()}
    return StudyText(
        form=form,
        longest=longest,
        train=written["train"],
        valid=written["valid"],
        test=written["test"],
        unseen=written.get("unseen"),
        more=written.get("more"),
        unk_rates=(written["train"].unk_rate, written["test"].unk_rate),
        n_cut=sum(int(np.count_nonzero(corpus.lengths > longest)) for corpus in corpora.values()),
    )


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

    def reverse(self, name: str, family: str, sample: Stage) -> Cells:
        """Return the reverse language model score by a network of the generator's architecture."""
        network = self.scale.networks[family]
        model = training(
            f"{name} reverse",
            KINDS[family],
            preset=network.preset,
            changes=network.changes,
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


def real_texts(text: StudyText) -> Texts:
    """Return the parts of the real text as the study reads them."""
    return Texts(
        train=Part(text.train),
        valid=Part(text.valid),
        test=Part(text.test),
        unseen=None if text.unseen is None else Part(text.unseen),
        more=None if text.more is None else Part(text.more),
        n_train=len(text.train),
    )


ORIGINAL = "GPT-2"  # the family of the model that writes


def synthetic_texts(text: StudyText, scale: Scale, *, seed: int) -> Texts:
    """Return the parts that the original model writes, each a set of its own."""
    original = training(
        "original",
        KINDS[ORIGINAL],
        preset=scale.original.preset,
        changes=scale.original.changes,
        precision=scale.precision,
        text=Part(text.train),
        valid=Part(text.valid),
        form=text.form,
        longest=text.longest,
        seed=seed_for(seed, "original"),
        cost=float(len(text.train)),
        stage_kind="train-original",
    )
    n_judged = scale.n_judged(scale.n_drawn_train)
    counts = {
        "train": scale.n_drawn_train,
        "valid": scale.n_valid,
        "test": scale.n_test,
        "unseen": n_judged,
        "more": n_judged,
    }
    parts = {
        file: Part(
            stage=sampling(
                f"original {file}",
                original,
                {file: count},
                seed=seed_for(seed, "sample", "original"),
                longest=text.longest,
                stage_kind="sample-original",
            ),
            file=file,
        )
        for file, count in counts.items()
    }
    return Texts(
        train=parts["train"],
        valid=parts["valid"],
        test=parts["test"],
        unseen=parts["unseen"],
        more=parts["more"],
        n_train=scale.n_drawn_train,
        original=original,
    )


@dataclass(frozen=True)
class Experiment:
    """All stages of a study."""

    generators: Mapping[str, int]  # Name to training sentences, families one after the other, rising
    families: Mapping[str, tuple[str, ...]]  # Family to its generators, rising
    trained: Mapping[str, Stage]  # Name to the stage that trained the first initialisation
    drawn: Mapping[str, Stage]  # The same for its sentences
    # (generator or `REAL`, initialisation, temperature) to what was measured
    cells: Mapping[tuple[str, int, float], tuple[Cells, ...]]
    targets: tuple[Stage, ...]  # The stages that a report needs
    networks: Mapping[str, Network]  # Family to its network
    # Which of the training text classifiers are given: with "fraction", each generator is judged by real text of its
    # own
    positives: Literal["everything", "fraction"] = "everything"


def build(
    texts: Texts,
    scale: Scale,
    form: TextForm,
    *,
    longest: int,
    seed: int,
    initialisations: int,
    positives: Literal["everything", "fraction"] = "everything",
) -> Experiment:
    """Return the stages of a study; nothing is computed yet."""
    plan = Judging(texts, scale, form, longest, seed, positives)
    sizes = {fraction: first_share(texts.n_train, fraction) for fraction in scale.fractions}
    families = {family: tuple(generator_name(family, fraction) for fraction in scale.fractions) for family in KINDS}
    judges = {
        family: training(
            f"{family} judge",
            kind,
            preset=scale.networks[family].preset,
            changes=scale.networks[family].changes,
            precision=scale.precision,
            text=texts.train,
            valid=texts.valid,
            form=form,
            longest=longest,
            seed=seed_for(seed, family, "judge"),
            cost=float(texts.n_train),
        )
        for family, kind in KINDS.items()
    }
    trained: dict[str, Stage] = {}
    drawn: dict[str, Stage] = {}
    cells: dict[tuple[str, int, float], tuple[Cells, ...]] = {}
    for family, kind in KINDS.items():
        for fraction, n in sizes.items():
            name = generator_name(family, fraction)
            for number in range(initialisations):
                label = name if number == 0 else f"{name} initialisation {number + 1}"
                model = training(
                    label,
                    kind,
                    preset=scale.networks[family].preset,
                    changes=scale.networks[family].changes,
                    precision=scale.precision,
                    text=replace(texts.train, first=n),
                    valid=texts.valid,
                    form=form,
                    longest=longest,
                    seed=seed_for(seed, name, number),
                    cost=float(n),
                )
                draw_seed = seed_for(seed, "sample", name, *([number] if number else []))
                counts = {"class": plan.n_class, "valid": scale.n_valid, "test": scale.n_test}
                sample = sampling(label, model, counts, seed=draw_seed, longest=longest)
                test = Part(stage=sample, file="test")
                cells[name, number, 1.0] = (
                    plan.overlap(label, test),
                    plan.cost(label, test, judges[family], model),
                    *plan.discrepancies(label, sample, n, number),
                    *([plan.exact(label, test, model)] if texts.original is not None else []),
                    *([plan.reverse(label, family, sample)] if scale.reverse_network and number == 0 else []),
                )
                if number > 0:
                    continue
                trained[name], drawn[name] = model, sample
                for temperature in TEMPERATURES:
                    if temperature == 1:
                        continue
                    at = f"{name} T={temperature:g}"
                    sample = sampling(
                        at,
                        model,
                        {"test": scale.n_test, **({"class": plan.n_class} if scale.reverse_network else {})},
                        seed=draw_seed,
                        temperature=temperature,
                        longest=longest,
                    )
                    part = Part(stage=sample, file="test")
                    cells[name, 0, temperature] = (
                        plan.overlap(at, part),
                        plan.cost(at, part, judges[family], model),
                        *([plan.reverse(at, family, sample)] if scale.reverse_network else []),
                    )
    cells[REAL, 0, 1.0] = plan.real(judges)
    return Experiment(
        generators={names[i]: n for names in families.values() for i, n in enumerate(sizes.values())},
        families=families,
        trained=trained,
        drawn=drawn,
        cells=cells,
        targets=tuple(kept.stage for group in cells.values() for kept in group),
        positives=positives,
        networks=scale.networks,
    )
