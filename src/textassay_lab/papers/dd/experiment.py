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
from itertools import product
from typing import Any, Literal

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.errors import EmptyCorpusError, TooFewSentencesError
from textassay.estimate import Estimate
from textassay.metric.catalog import parse_metric
from textassay.seeding import stream
from textassay_lab.judges.cnn import PAPER, CnnDiscriminator
from textassay_lab.papers.dd.held_out import held_out_dd
from textassay_lab.papers.dd.published import KINDS, TEMPERATURES, Scale, generator_name
from textassay_lab.papers.draws import as_written
from textassay_lab.papers.measures import (
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
from textassay_lab.papers.network_stages import Part, first_share, opened, sampling, seed_for, training
from textassay_lab.papers.presets import Network
from textassay_lab.papers.stages import Stage, Work

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
SEEN, UNSEEN = "training text", "unseen text"  # what classifiers are given
ORIGINAL = "GPT-2"  # the family of the model that writes synthetic text


@dataclass(frozen=True)
class Texts:
    """The sentences of a study, given or drawn."""

    form: TextForm
    longest: int
    # Of generators and classifiers
    train: Part
    valid: Part
    test: Part
    # What no generator saw, and as much again; none where there is none
    unseen: Part | None
    more: Part | None
    n_train: int  # Sentences of `train`
    original: Stage | None = None  # The stage that trained the model that writes the text; none where people did

    def network(
        self,
        name: str,
        family: str,
        network: Network,
        text: Part,
        scale: Scale,
        *,
        seed: int,
        cost: int,
        stage_kind: str = "train",
    ) -> Stage:
        """Return the stage that trains a network on `text`."""
        return training(
            name,
            KINDS[family],
            preset=network.preset,
            changes=network.changes,
            precision=scale.precision,
            text=text,
            valid=self.valid,
            form=self.form,
            longest=self.longest,
            seed=seed,
            cost=float(cost),
            stage_kind=stage_kind,
        )


def real_texts(text: StudyText) -> Texts:
    """Return the parts of the real text as the study reads them."""
    return Texts(
        form=text.form,
        longest=text.longest,
        train=Part(text.train),
        valid=Part(text.valid),
        test=Part(text.test),
        unseen=None if text.unseen is None else Part(text.unseen),
        more=None if text.more is None else Part(text.more),
        n_train=len(text.train),
    )


def synthetic_texts(text: StudyText, scale: Scale, *, seed: int) -> Texts:
    """Return the parts that the original model writes, each a set of its own."""
    real, n_judged = real_texts(text), scale.n_judged(scale.n_drawn_train)
    original = real.network(
        "original", ORIGINAL, scale.original, real.train, scale, seed=seed_for(seed, "original"), cost=real.n_train,
        stage_kind="train-original",
    )  # fmt: skip

    def drawn(file: str, count: int) -> Part:
        stage = sampling(
            f"original {file}", original, {file: count}, seed=seed_for(seed, "sample", "original"),
            longest=text.longest, stage_kind="sample-original",
        )  # fmt: skip
        return Part(stage=stage, file=file)

    return replace(
        real,
        train=drawn("train", scale.n_drawn_train),
        valid=drawn("valid", scale.n_valid),
        test=drawn("test", scale.n_test),
        unseen=drawn("unseen", n_judged),
        more=drawn("more", n_judged),
        n_train=scale.n_drawn_train,
        original=original,
    )


Positives = Literal["everything", "fraction"]
Load = Callable[[Any], Any]  # returns the sentences of a `Part`, or the model that a `Stage` trained


@dataclass(frozen=True)
class Judging:
    """Makes the stages that measure; apart from the experiment, as each stage holds it when it is sent elsewhere."""

    texts: Texts
    scale: Scale
    seed: int
    positives: Positives

    @property
    def n_class(self) -> int:
        """Sentences a side that classifiers learn from."""
        return self.texts.n_train if self.scale.n_class is None else self.scale.n_class

    def overlap(self, label: str, generated: Part) -> Stage:
        """Return BLEU, self-BLEU, FED and the n-gram reverse score of test sentences."""
        test = self.texts.test

        def compute(load: Load) -> dict[str, Estimate]:
            return measured(overlap_metrics(), load(generated), load(test), seed=self.seed)

        return self._stage("overlap", label, OVERLAP, compute, generated, test, settings={"level": LEVEL})

    def cost(self, label: str, generated: Part, scorer: Stage, own: Stage | None) -> Stage:
        """Return the language model score by a judge and, as the published code has it, by the generator itself."""
        models = {LM: scorer} if own is None else {LM: scorer, LM_SELF: own}

        def compute(load: Load) -> dict[str, Estimate]:
            sides = load(generated), load(self.texts.test)
            return {name: self._cost(name, load(model), *sides, scores_real=False) for name, model in models.items()}

        return self._stage("likelihood", label, tuple(models), compute, generated, self.texts.test, *models.values())

    def reverse(self, name: str, family: str, sample: Stage) -> Stage:
        """Return the reverse language model score by a network of the generator's architecture."""
        generated = Part(stage=sample, file="class")
        model = self.texts.network(
            f"{name} reverse", family, self.scale.networks[family], generated, self.scale,
            seed=seed_for(self.seed, name, "reverse"), cost=self.n_class, stage_kind="train-reverse",
        )  # fmt: skip

        def compute(load: Load) -> dict[str, Estimate]:
            sides = load(self.texts.test), load(generated)
            return {REVERSE: self._cost(REVERSE, load(model), *sides, scores_real=True)}

        return self._stage("reverse", name, (REVERSE,), compute, generated, self.texts.test, model)

    def exact(self, name: str, generated: Part, model: Stage) -> Stage:
        """Return the exact discrepancy from the original model."""
        original, test = self.texts.original, self.texts.test
        assert original is not None

        def compute(load: Load) -> dict[str, Estimate]:
            models, sides = (load(original), load(model)), (load(test), load(generated))
            return {EXACT: exact_estimate(*models, *sides, longest=self.texts.longest, seed=self.seed)[0]}

        return self._stage("exact", name, (EXACT,), compute, generated, test, original, model)

    def discrepancies(self, name: str, sample: Stage, n_seen: int, number: int) -> list[Stage]:
        """Return the discrepancy by the paper's classifier and by ours, on training text and on unseen text.

        `number`: that of the initialisation; the paper's classifier begins anew for each, too.
        """
        stages = []
        for positives in (SEEN, UNSEEN) if self.texts.unseen is not None else (SEEN,):
            if positives == SEEN or self.scale.networks_unseen:
                stages.append(self.cnn(name, sample, positives, n_seen, number))
            stages.append(self.ours(name, sample, positives, n_seen))
        return stages

    def cnn(self, name: str, sample: Stage, positives: str, n_seen: int, number: int) -> Stage:
        """Return the discrepancy by the paper's classifier, on fixed parts."""
        label, valid, test = f"{CNN}, {positives}", self.texts.valid, self.texts.test
        judge = CnnDiscriminator(PAPER, seed=self.seed + number)
        part, of = self._positives(positives, n_seen)

        def compute(load: Load) -> dict[str, Estimate]:
            real = self._at_most(load(part), self.n_class, positives)
            drawn = {file: load(Part(stage=sample, file=file)) for file in ("class", "valid", "test")}
            generated = drawn["class"].take(np.arange(min(len(real), len(drawn["class"]))))
            parts = (real, generated), (load(valid), drawn["valid"]), (load(test), drawn["test"])
            return {label: held_out_dd(judge, *parts, level=LEVEL, seed=self.seed)}

        settings = {"positives": positives, "n": self.n_class, "judge": judge.features, **of}
        parts = (part, valid, test, Part(stage=sample))
        return self._stage("cnn", f"{name} {positives}", (label,), compute, *parts, settings=settings, cost=1e6)

    def ours(self, name: str, sample: Stage, positives: str, n_seen: int) -> Stage:
        """Return the discrepancy by our classifier, cross-fitted over all sentences, as a user would run it."""
        label, metric = f"{OURS}, {positives}", parse_metric("dd", level=LEVEL)
        n = self.scale.n_judged(self.texts.n_train)
        part, of = self._positives(positives, n_seen)

        def compute(load: Load) -> dict[str, Estimate]:
            real = self._at_most(load(part), n, positives)
            drawn = [load(Part(stage=sample, file=file)) for file in ("class", "test")]
            generated = Corpus.concatenate(drawn).take(np.arange(min(len(real), sum(map(len, drawn)))))
            return measured({label: metric}, generated, real, seed=self.seed)

        settings = {"positives": positives, "n": n, "metric": metric.key, **of}
        parts = (part, Part(stage=sample))
        return self._stage("dd", f"{name} {positives}", (label,), compute, *parts, settings=settings, cost=1e5)

    def real(self, judges: Mapping[str, Stage]) -> tuple[Stage, ...]:
        """Return what real text itself scores, by our classifier as by the rest."""
        more, unseen = self.texts.more, self.texts.unseen
        other = self.texts.valid if more is None else replace(more, first=self.scale.n_test)
        costs = [self.cost(f"{REAL} {family}", other, judge, None) for family, judge in judges.items()]
        stages = [self.overlap(REAL, other), *costs]
        if more is not None and unseen is not None:
            label, metric = f"{OURS}, {UNSEEN}", parse_metric("dd", level=LEVEL)

            def compute(load: Load) -> dict[str, Estimate]:
                return measured({label: metric}, load(more), load(unseen), seed=self.seed)

            settings = {"metric": metric.key}
            stages.append(self._stage("dd", REAL, (label,), compute, more, unseen, settings=settings, cost=1e5))
        return tuple(stages)

    def _cost(self, name: str, model: Any, scored: Corpus, other: Corpus, *, scores_real: bool) -> Estimate:
        longest = self.texts.longest
        return model_cost(name, model, scored, other, longest=longest, scores_real=scores_real, seed=self.seed)

    def _positives(self, positives: str, n_seen: int) -> tuple[Part, dict[str, Any]]:
        """Return the real sentences for classifiers, and what settings say of them."""
        if positives == UNSEEN:
            assert self.texts.unseen is not None
            return self.texts.unseen, {}
        if self.positives == "everything":
            return self.texts.train, {"of": "everything"}
        return replace(self.texts.train, first=n_seen), {"of": n_seen}

    def _at_most(self, corpus: Corpus, n: int, positives: str) -> Corpus:
        """Return `n` real sentences or, where there are fewer, all.

        Of the training text they are drawn at random, so that a generator of a fraction saw its share of them.
        """
        if len(corpus) <= n:
            return corpus
        if positives == UNSEEN:
            return corpus.take(np.arange(n))
        return corpus.take(np.sort(stream(self.seed, "study", "positives").permutation(len(corpus))[:n]))

    def _stage(
        self,
        kind: str,
        label: str,
        names: tuple[str, ...],
        compute: Callable[[Load], dict[str, Estimate]],
        *built_on: Part | Stage,
        settings: Mapping[str, Any] | None = None,
        cost: float = 1.0,
    ) -> Stage:
        """Return the stage that keeps what `compute` returns, estimates by these names."""
        form = self.texts.form

        def run(work: Work) -> dict[str, Any]:
            estimates = compute(lambda one: one.load(work, form) if isinstance(one, Part) else opened(work, one))
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
            "longest": self.texts.longest,
            "form": form.hash,
            **(settings or {}),
        }
        return Stage(kind, label, decides, run, tuple(dict.fromkeys(stages)), cost)


class Experiment:
    """All stages of a study; nothing is computed yet.

    `positives`: which of the training text classifiers are given; with "fraction", each generator is judged by real
    text of its own.
    """

    def __init__(
        self, texts: Texts, scale: Scale, *, seed: int, initialisations: int, positives: Positives = "everything"
    ) -> None:
        plan = Judging(texts, scale, seed, positives)
        self.networks, self.positives = scale.networks, positives
        self.generators: dict[str, int] = {}  # Name to training sentences, families one after the other, rising
        self.families: dict[str, tuple[str, ...]] = {}  # Family to its generators, rising
        # Name to the stage that trained the first initialisation, and to that which drew its sentences
        self.trained: dict[str, Stage] = {}
        self.drawn: dict[str, Stage] = {}
        # (generator or `REAL`, initialisation, temperature) to the stages that measured it
        self.measuring: dict[tuple[str, int, float], tuple[Stage, ...]] = {}
        temperatures = (1.0, *(temperature for temperature in TEMPERATURES if temperature != 1))
        judges = {
            family: texts.network(
                f"{family} judge", family, scale.networks[family], texts.train, scale,
                seed=seed_for(seed, family, "judge"), cost=texts.n_train,
            )
            for family in KINDS
        }  # fmt: skip
        for family, fraction, number in product(KINDS, scale.fractions, range(initialisations)):
            name, n = generator_name(family, fraction), first_share(texts.n_train, fraction)
            label = name if number == 0 else f"{name} initialisation {number + 1}"
            model = texts.network(
                label, family, scale.networks[family], replace(texts.train, first=n), scale,
                seed=seed_for(seed, name, number), cost=n,
            )  # fmt: skip
            draw_seed = seed_for(seed, "sample", name, *([number] if number else []))
            if number == 0:
                self.generators[name], self.trained[name] = n, model
                self.families[family] = (*self.families.get(family, ()), name)
            for temperature in temperatures if number == 0 else temperatures[:1]:
                at = label if temperature == 1 else f"{name} T={temperature:g}"
                counts = {"class": plan.n_class, "valid": scale.n_valid, "test": scale.n_test}
                if temperature != 1:
                    counts = {"test": scale.n_test, **({"class": plan.n_class} if scale.reverse_network else {})}
                sample = sampling(at, model, counts, seed=draw_seed, temperature=temperature, longest=texts.longest)
                test = Part(stage=sample, file="test")
                group = [plan.overlap(at, test), plan.cost(at, test, judges[family], model)]
                if temperature == 1:
                    self.drawn.setdefault(name, sample)
                    group += plan.discrepancies(label, sample, n, number)
                    group += [plan.exact(label, test, model)] if texts.original is not None else []
                if scale.reverse_network and number == 0:
                    group.append(plan.reverse(at, family, sample))
                self.measuring[name, number, temperature] = tuple(group)
        self.measuring[REAL, 0, 1.0] = plan.real(judges)

    @property
    def targets(self) -> tuple[Stage, ...]:
        """The stages that a report needs."""
        return tuple(stage for stages in self.measuring.values() for stage in stages)
