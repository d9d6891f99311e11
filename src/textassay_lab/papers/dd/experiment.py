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
Departs from it: our classifier reads text that no generator saw, where there is some; the language model score is that
of a model of the generator's architecture, trained on all of the real text from another seed (the generator's own
stands beside it); below scale ``paper`` the reverse language model score is that of n-gram models.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from textassay.comparison.measure import EstimateStore
from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.errors import EmptyCorpusError, InputError, TooFewSentencesError
from textassay.estimate import Estimate, Evidence
from textassay.metric.base import Metric, Shared, make_signature
from textassay.metric.catalog import parse_metric
from textassay.ngram.language_model import LanguageModel
from textassay.resampling.jackknife import terms_interval
from textassay.seeding import stream
from textassay_lab.generator.scored import AsDrawn
from textassay_lab.judges.cnn import PAPER, CnnDiscriminator
from textassay_lab.meta_evaluation.known_truth import KnownTruth, log_ratios, truth_from_log_ratios
from textassay_lab.meta_evaluation.model_discrepancy import MOST_DISAGREEMENT
from textassay_lab.papers.dd.held_out import held_out_dd
from textassay_lab.papers.findings import LEVEL
from textassay_lab.papers.paper import Network, Scale, read_paper
from textassay_lab.papers.stages import Stage, Work
from textassay_lab.papers.training import Part, as_written, first_share, opened, sampling, seed_for, training

ORDERS = (2, 3, 4, 5)

LM = "LM score"
LM_SELF = "LM score (own model)"
REVERSE = "reverse LM score"
REVERSE_NGRAM = "reverse LM score (n-gram)"
EXACT = "exact DD"
OVERLAP = (*(f"BLEU-{order}" for order in ORDERS), *(f"self-BLEU-{order}" for order in ORDERS), "FED", REVERSE_NGRAM)


def overlap_metrics() -> dict[str, Metric]:
    """Return the metrics that need no trained model, by their names in tables."""
    names = {
        **{f"BLEU-{order}": f"bleu(order={order})" for order in ORDERS},
        **{f"self-BLEU-{order}": f"self-bleu(order={order})" for order in ORDERS},
        "FED": "fed(encoder=lsa)",  # of which the pages of the study are
        REVERSE_NGRAM: "reverse-lm-score",
    }
    return {label: parse_metric(name, level=LEVEL) for label, name in names.items()}


def measured(metrics: Mapping[str, Metric], generated: Corpus, real: Corpus, *, seed: int) -> dict[str, Estimate]:
    """Return the estimate of each metric; those that share work do it once."""
    with Shared().used():
        return {name: metric.estimate(generated, real, seed=seed) for name, metric in metrics.items()}


def model_cost(
    metric: str, model: LanguageModel, scored: Corpus, other: Corpus, *, longest: int, scores_real: bool, seed: int
) -> Estimate:
    """Return the mean cost of a token of `scored` under a model that is held fixed, in nats."""
    costs = -AsDrawn(model, scored.vocabulary, max_length=longest).log_prob(scored)
    if not np.isfinite(costs).all():
        raise InputError(f"{metric}: {model.name} gives a sentence probability 0")
    counted = np.minimum(scored.lengths + 1, longest)
    value = float(costs.sum() / counted.sum())
    terms = value + (costs - value * counted) / counted.mean()
    real, generated = (scored, other) if scores_real else (other, scored)
    per_sentence = costs / np.maximum(counted, 1)
    return Estimate(
        metric=metric,
        value=value,
        interval=terms_interval(value, [terms], level=LEVEL, method="t: sentences; language model fixed", low=0.0),
        unit="nats per token",
        better="lower" if scores_real else "closer",
        sizes={"n_generated": len(generated), "n_real": len(real), "n_tokens": int(counted.sum())},
        signature=make_signature(metric, generated, real, seed=seed, model=model.name, ends="counted where drawn"),
        evidence=Evidence(terms, None, per_sentence, None)
        if scores_real
        else Evidence(None, terms, None, per_sentence),
    )


def exact_estimate(
    original: LanguageModel, model: LanguageModel, real: Corpus, generated: Corpus, *, longest: int, seed: int
) -> tuple[Estimate, KnownTruth]:
    """Return the discrepancy of two models from their own probabilities, as an estimate, and with all its checks."""
    sides = [AsDrawn(each, real.vocabulary, max_length=longest) for each in (original, model)]
    ratios = [log_ratios(sides[0], sides[1], corpus) for corpus in (real, generated)]
    truth = truth_from_log_ratios(*ratios, level=LEVEL)
    if truth.disagreement > MOST_DISAGREEMENT:
        warnings.warn(
            f"exact discrepancy of {model.name}: its estimators are {truth.disagreement:.1f} standard errors apart, so "
            "a log-probability is not that of what was drawn",
            stacklevel=2,
        )
    halves = [np.abs(np.tanh(ratio / 2)) / 2 for ratio in ratios]
    estimate = Estimate(
        metric=EXACT,
        value=truth.value,
        interval=truth.interval,
        unit="fraction",
        better="lower",
        sizes={"n_generated": len(generated), "n_real": len(real)},
        signature=make_signature(EXACT, generated, real, seed=seed, p=original.name, q=model.name, by="tanh"),
        details={
            "sign": truth.sign,
            "sign_low": truth.sign_interval.low,
            "sign_high": truth.sign_interval.high,
            "ratio": truth.ratio,
            "ratio_low": truth.ratio_interval.low,
            "ratio_high": truth.ratio_interval.high,
            "disagreement": truth.disagreement,
        },
        evidence=Evidence(halves[0] + halves[1].mean(), halves[1] + halves[0].mean()),
    )
    return estimate, truth


def save_estimates(folder: Path, estimates: Mapping[str, Estimate]) -> None:
    """Keep estimates with their evidence in `folder`."""
    store = EstimateStore(folder)
    for name, estimate in estimates.items():
        store.save(_file(name), estimate)


def load_estimates(folder: Path, names: Sequence[str] | Iterable[str]) -> dict[str, Estimate]:
    """Return the estimates of `save_estimates`."""
    store = EstimateStore(folder)
    estimates = {}
    for name in names:
        kept = store.load(_file(name))
        if kept is None:
            raise InputError(f"{folder} is damaged: delete it, and its estimates are computed again")
        estimates[name] = kept[0]
    return estimates


def _file(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


DD_PAPER = read_paper("textassay_lab.papers.dd")
KINDS: Mapping[str, str] = {"LSTM": "lstm", "GPT-2": "gpt2"}  # as the tables call them, and as the catalogue does
TEMPERATURES = (0.8, 0.9, 1.0, 1.1, 1.2)
REAL = "(real)"
ESTIMATES = "estimates"
DD, VALID_DD = "DD", "valid DD"
OUR_DD, OUR_DD_SEEN = "our DD, unseen text", "our DD, training text"
ORIGINAL = "GPT-2"  # the family of the model that writes synthetic text
_AT_LEAST = 20  # sentences in the smallest part


@dataclass(frozen=True)
class Texts:
    """The sentences of a study, given or drawn."""

    form: TextForm  # how all text of the study is written
    longest: int  # tokens of the longest training sentence; no sentence has more
    # of generators and classifiers
    train: Part
    valid: Part
    test: Part
    # what no generator saw, for our classifier, and as much again, which stands for a perfect generator; None where the
    # scale asks for none
    unseen: Part | None
    more: Part | None
    n_train: int  # sentences of `train`
    unk_rates: tuple[float, float]  # share of unknown tokens in the training and in the test text
    n_cut: int  # sentences of other parts that were longer than the longest of the training text
    original: Stage | None = None  # the stage that trained the model that writes the text; None where people did

    def network(
        self, name: str, family: str, network: Network, text: Part, scale: Scale, *, seed: int,
        stage_kind: str = "train",
    ) -> Stage:  # fmt: skip
        """Return the stage that trains a network on `text`."""
        return training(
            name, KINDS[family], network, text, self.valid, self.form, longest=self.longest, seed=seed,
            precision=scale.precision, stage_kind=stage_kind,
        )  # fmt: skip


def n_judged(scale: Scale, n_train: int) -> int:
    """Return how many sentences a side our classifier judges, where there are `n_train` to train generators on.

    Those that other classifiers learn from, and the test text, up to ``most_judged``.
    """
    n = (n_train if scale.n_class is None else scale.n_class) + scale.n_test
    return int(n if scale.most_judged is None else min(n, scale.most_judged))


def split_text(
    real: Sequence[str],
    valid: Sequence[str] | None,
    test: Sequence[str] | None,
    scale: Scale,
    *,
    tokenizer: str = "whitespace",
    lowercase: bool = False,
    needs_unseen: bool = True,
) -> Texts:
    """Return the parts of a corpus."""
    n_unseen = n_judged(scale, scale.n_train or 0) if scale.unseen and needs_unseen else 0
    taken = {
        "unseen": n_unseen,
        "more": n_unseen,
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
        raise EmptyCorpusError(f"the training text has no token in its {n_train:,} sentences")
    written = {name: as_written(corpus, form, longest) for name, corpus in corpora.items()}
    parts = {name: Part(corpus) for name, corpus in written.items()}
    return Texts(
        form=form,
        longest=longest,
        train=parts["train"],
        valid=parts["valid"],
        test=parts["test"],
        unseen=parts.get("unseen"),
        more=parts.get("more"),
        n_train=n_train,
        unk_rates=(written["train"].unk_rate, written["test"].unk_rate),
        n_cut=sum(int(np.count_nonzero(corpus.lengths > longest)) for corpus in corpora.values()),
    )


def synthetic_texts(real: Texts, scale: Scale, *, seed: int) -> Texts:
    """Return the parts that the original model writes, each a set of its own, after it learnt real text."""
    n_unseen = n_judged(scale, scale.n_drawn_train)
    original = real.network(
        "original", ORIGINAL, scale.original, real.train, scale, seed=seed_for(seed, "original"),
        stage_kind="train-original",
    )  # fmt: skip

    def drawn(file: str, count: int) -> Part:
        stage = sampling(
            f"original {file}", original, {file: count}, seed=seed_for(seed, "sample", "original"),
            stage_kind="sample-original",
        )  # fmt: skip
        return Part(stage=stage, file=file)

    return replace(
        real,
        train=drawn("train", scale.n_drawn_train),
        valid=drawn("valid", scale.n_valid),
        test=drawn("test", scale.n_test),
        unseen=drawn("unseen", n_unseen),
        more=drawn("more", n_unseen),
        n_train=scale.n_drawn_train,
        original=original,
    )


Load = Callable[[Any], Any]  # returns the sentences of a `Part`, or the model that a `Stage` trained


@dataclass(frozen=True)
class Judging:
    """Makes the stages that measure; apart from the experiment, as each stage holds it when it is sent elsewhere."""

    texts: Texts
    scale: Scale
    seed: int

    @property
    def n_class(self) -> int:
        """Sentences a side that classifiers learn from."""
        return int(self.texts.n_train if self.scale.n_class is None else self.scale.n_class)

    def overlap(self, label: str, generated: Part) -> Stage:
        """Return BLEU, self-BLEU, FED and the n-gram reverse score of test sentences."""
        test = self.texts.test

        def compute(load: Load) -> dict[str, Estimate]:
            return measured(overlap_metrics(), load(generated), load(test), seed=self.seed)

        return self._stage("overlap", label, OVERLAP, compute, generated, test, settings={"level": LEVEL})

    def cost(self, label: str, generated: Part, model: Stage, *, name: str = LM, kind: str = "likelihood") -> Stage:
        """Return the language model score by a judge; or, as the published code has it, by the generator itself.

        Each is a stage of its own, so that no stage needs two trained models.
        """

        def compute(load: Load) -> dict[str, Estimate]:
            sides = load(generated), load(self.texts.test)
            return {name: self._cost(name, load(model), *sides, scores_real=False)}

        return self._stage(kind, label, (name,), compute, generated, self.texts.test, model)

    def reverse(self, name: str, family: str, sample: Stage) -> Stage:
        """Return the reverse language model score by a network of the generator's architecture."""
        generated = Part(stage=sample, file="class")
        model = self.texts.network(
            f"{name} reverse", family, self.scale.networks[family], generated, self.scale,
            seed=seed_for(self.seed, name, "reverse"), stage_kind="train-reverse",
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

    def cnn(self, name: str, sample: Stage, number: int) -> Stage:
        """Return the discrepancy by the paper's classifier, on fixed parts and the training text.

        `number`: that of the initialisation; the classifier begins anew for each, too.
        """
        train, valid, test = self.texts.train, self.texts.valid, self.texts.test
        judge = CnnDiscriminator(PAPER, seed=self.seed + number)

        def compute(load: Load) -> dict[str, Estimate]:
            real = self._at_most(load(train), self.n_class)
            drawn = {file: load(Part(stage=sample, file=file)) for file in ("class", "valid", "test")}
            generated = drawn["class"].take(np.arange(min(len(real), len(drawn["class"]))))
            parts = (real, generated), (load(valid), drawn["valid"]), (load(test), drawn["test"])
            return {DD: held_out_dd(judge, *parts, level=LEVEL, seed=self.seed)}

        settings = {"n": self.n_class, "judge": judge.features}
        parts = (train, valid, test, Part(stage=sample))
        return self._stage("cnn", name, (DD,), compute, *parts, settings=settings)

    def ours(self, name: str, sample: Stage) -> Stage:
        """Return the discrepancy by our classifier, cross-fitted over all sentences, as a user would run it.

        From text that no generator saw; from the training text where there is none.
        """
        label, part = (OUR_DD_SEEN, self.texts.train) if self.texts.unseen is None else (OUR_DD, self.texts.unseen)
        metric, n = parse_metric("dd", level=LEVEL), n_judged(self.scale, self.texts.n_train)

        def compute(load: Load) -> dict[str, Estimate]:
            real = load(part)
            real = self._at_most(real, n) if label == OUR_DD_SEEN else real.take(np.arange(min(n, len(real))))
            drawn = [load(Part(stage=sample, file=file)) for file in ("class", "test")]
            generated = Corpus.concatenate(drawn).take(np.arange(min(len(real), sum(map(len, drawn)))))
            return measured({label: metric}, generated, real, seed=self.seed)

        settings = {"n": n, "metric": metric.key}
        parts = (part, Part(stage=sample))
        return self._stage("dd", name, (label,), compute, *parts, settings=settings)

    def real(self, judges: Mapping[str, Stage]) -> tuple[Stage, ...]:
        """Return what real text itself scores, by our classifier as by the rest."""
        more, unseen = self.texts.more, self.texts.unseen
        other = self.texts.valid if more is None else replace(more, first=self.scale.n_test)
        costs = [self.cost(f"{REAL} {family}", other, judge) for family, judge in judges.items()]
        stages = [self.overlap(REAL, other), *costs]
        if more is not None and unseen is not None:
            metric = parse_metric("dd", level=LEVEL)

            def compute(load: Load) -> dict[str, Estimate]:
                return measured({OUR_DD: metric}, load(more), load(unseen), seed=self.seed)

            settings = {"metric": metric.key}
            stages.append(self._stage("dd", REAL, (OUR_DD,), compute, more, unseen, settings=settings))
        return tuple(stages)

    def _cost(self, name: str, model: Any, scored: Corpus, other: Corpus, *, scores_real: bool) -> Estimate:
        longest = self.texts.longest
        return model_cost(name, model, scored, other, longest=longest, scores_real=scores_real, seed=self.seed)

    def _at_most(self, corpus: Corpus, n: int) -> Corpus:
        """Return `n` sentences of the training text, drawn at random, or all where there are fewer.

        So a generator of a fraction saw its share of them.
        """
        if len(corpus) <= n:
            return corpus
        return corpus.take(np.sort(stream(self.seed, "study", "positives").permutation(len(corpus))[:n]))

    def _stage(
        self,
        kind: str,
        label: str,
        names: tuple[str, ...],
        compute: Callable[[Load], dict[str, Estimate]],
        *built_on: Part | Stage,
        settings: Mapping[str, Any] | None = None,
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
        return Stage(kind, label, decides, run, tuple(dict.fromkeys(stages)))


class Experiment:
    """All stages of a study; nothing is computed yet."""

    def __init__(self, texts: Texts, scale: Scale, *, seed: int, initialisations: int) -> None:
        plan = Judging(texts, scale, seed)
        self.generators: dict[str, int] = {}  # name to training sentences, families one after the other, rising
        self.families: dict[str, tuple[str, ...]] = {}  # family to its generators, rising
        # name to the stage that trained the first initialisation
        self.trained: dict[str, Stage] = {}
        # (generator or `REAL`, initialisation, temperature) to the stages that measured it
        self.measuring: dict[tuple[str, int, float], tuple[Stage, ...]] = {}
        temperatures = (1.0, *(temperature for temperature in TEMPERATURES if temperature != 1))
        judges = {
            family: texts.network(
                f"{family} judge", family, scale.networks[family], texts.train, scale,
                seed=seed_for(seed, family, "judge"),
            )
            for family in KINDS
        }  # fmt: skip
        for family, fraction, number in product(KINDS, scale.fractions, range(initialisations)):
            name, n = f"{family}_{fraction:.1f}", first_share(texts.n_train, fraction)
            label = name if number == 0 else f"{name} initialisation {number + 1}"
            model = texts.network(
                label, family, scale.networks[family], replace(texts.train, first=n), scale,
                seed=seed_for(seed, name, number),
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
                sample = sampling(at, model, counts, seed=draw_seed, temperature=temperature)
                test = Part(stage=sample, file="test")
                group = [plan.overlap(at, test), plan.cost(at, test, judges[family])]
                group.append(plan.cost(at, test, model, name=LM_SELF, kind="own-likelihood"))
                if temperature == 1:
                    group += [plan.cnn(label, sample, number), plan.ours(label, sample)]
                    group += [plan.exact(label, test, model)] if texts.original is not None else []
                if scale.reverse_network and number == 0:
                    group.append(plan.reverse(at, family, sample))
                self.measuring[name, number, temperature] = tuple(group)
        self.measuring[REAL, 0, 1.0] = plan.real(judges)

    @property
    def targets(self) -> tuple[Stage, ...]:
        """The stages that a report needs."""
        return tuple(stage for stages in self.measuring.values() for stage in stages)
