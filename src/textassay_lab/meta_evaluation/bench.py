"""The bench: estimators of the discrepancy, and other metrics, on pairs of generators of known truth ("worlds").

A cell is one estimator on one draw from one pair: its value, interval and certified bound beside the truth, and its
running time. Cells are stored by the content they were computed from, so an interrupted run resumes with the cell that
was running. Times are those of the first computation; they mean something only if the machine was otherwise idle.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Unpack

from textassay.comparison.measure import EstimateStore, Progress, estimate_key
from textassay.corpus.corpus import Corpus, TextOptions, Texts, corpora_from_texts
from textassay.corpus.docstrings import docstring_sentences
from textassay.discriminator.base import Discriminator, reads_prior, reads_training_text
from textassay.discriminator.catalog import AUTO, DISCRIMINATORS, make_family
from textassay.discriminator.logistic import PlainLogistic
from textassay.display import Displayed
from textassay.errors import InputError, OptionError, check_range, unknown_name
from textassay.execution.progress import shows_progress
from textassay.execution.tasks import map_tasks
from textassay.inspection.dependence import Examined
from textassay.inspection.finding import Finding
from textassay.inspection.inspection import inspect_corpus
from textassay.metric.base import Metric
from textassay.metric.catalog import parse_metric
from textassay.metric.discrepancy import dd
from textassay.prior.catalog import SMOLLM2, check_prior
from textassay_lab.meta_evaluation.fluent_pairs import FLUENT_NAMES, fluent_pairs
from textassay_lab.meta_evaluation.known_truth_pairs import (
    FIRST_TEST_SEED,
    LEARNT_NAMES,
    PAIR_NAMES,
    KnownTruthPair,
    known_truth_pairs,
    over_one_vocabulary,
)
from textassay_lab.meta_evaluation.neural_pairs import NETWORKS, neural_pairs
from textassay_lab.meta_evaluation.prompted_worlds import (
    N_ANSWERS,
    PROMPTED_NAMES,
    Answered,
    PromptedWorld,
    prompted_worlds,
)

EFFORTS = ("quick", "default", "max")
WITH_LOG_PROBS, WITH_TRAIN = "+log-probs", "+train"
_SOURCES = (WITH_LOG_PROBS, WITH_TRAIN)  # what an estimator may be given beside the texts, in any order
_NETWORK_OF_THE_PAPER = "cnn-paper"
_BENCH = "bench 1"  # version of the stored cells
_N_TO_NAME = 100  # texts a side that identify a pair in the store
_MOST_DISAGREEMENT = 6.0  # standard errors

World = KnownTruthPair | PromptedWorld


@dataclass(frozen=True)
class Estimator:
    """A metric of the bench."""

    name: str  # As in the options
    metric: Metric
    # Whether it gets the generator's log-probabilities, and what the generator was fitted to
    log_probs: bool = False
    train: bool = False

    @property
    def fits_real(self) -> bool:
        """Whether it can learn from more real text."""
        return "fit_real" in self.metric.settings

    @property
    def needs_prompts(self) -> bool:
        """Whether it can be measured in worlds with prompts alone."""
        return "prompts" in self.metric.declaration.needs

    def is_for(self, world: World) -> bool:
        """Return whether it can be measured in `world`."""
        if isinstance(world, PromptedWorld):
            return not (self.train or self.log_probs)
        return not self.needs_prompts and (world.train is not None or not self.train)


@dataclass(frozen=True)
class BenchCell:
    """One estimator on one draw from one pair of known truth."""

    # Estimator and pair; see `KnownTruthPair`
    estimator: str
    corpus: str
    world: str
    family: str
    kind: str
    grows: bool
    seed: int  # Seed of the pair, the draw and the estimator
    n: int  # Real texts
    n_generated: int
    n_fit_real: int  # Real texts that the estimator learns from and is not tested on
    metric: str  # Name of the estimator's metric without its parameters: ``dd`` for estimators of the discrepancy
    # Of the estimate; none where it has none
    value: float | None
    low: float | None
    high: float | None
    level: float | None  # Of its interval; none where there is none
    bound: float | None  # The certified bound of the discrepancy; none where there is none
    better: str  # Direction of the estimator: "lower", "higher", "closer" or "neither"
    # The discrepancy, and its interval
    truth: float
    truth_low: float
    truth_high: float
    # Wall time of the estimator, and processor time of all threads
    seconds: float
    cpu_seconds: float
    # Settings that the estimator chose, and what each discriminator of its family finds by itself; JSON-ready
    chosen: Any = None
    alone: Mapping[str, float | None] | None = None
    prior: str | None = None  # What the estimator knows of a language

    @property
    def share(self) -> float | None:
        """The value as a share of the truth; None without a value, or where the truth is 0."""
        return None if self.value is None or self.truth <= 0 else self.value / self.truth


@dataclass(frozen=True)
class Bench(Displayed, document="textassay_lab.meta_evaluation.bench_document:bench_document"):
    """All cells of a run, in the order corpus, seed, world, size, estimator."""

    cells: tuple[BenchCell, ...]
    # As in the options
    estimators: tuple[str, ...]
    sizes: tuple[int, ...]
    seeds: tuple[int, ...]
    corpora: Mapping[str, int]  # Name to number of texts the generators were fitted to; none where all are pretrained
    findings: tuple[Finding, ...] = ()  # Trivial differences in these texts
    n_generated: int | None = None  # Generated texts; None: as many as real ones
    n_fit_real: int = 0  # More real texts, for estimators that can learn from them
    prior: str | None = None  # For estimators that can use it
    untrained: tuple[str, ...] = ()  # Worlds without a training text, where no estimator with `WITH_TRAIN` is measured

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "version": version("textassay"),
            "corpora": dict(self.corpora),
            "estimators": list(self.estimators),
            "sizes": list(self.sizes),
            "n_generated": self.n_generated,
            "n_fit_real": self.n_fit_real,
            "prior": self.prior,
            "untrained": list(self.untrained),
            "seeds": list(self.seeds),
            "findings": [finding.to_dict() for finding in self.findings],
            "cells": [asdict(cell) for cell in self.cells],
        }


def parse_estimator(text: str, *, level: float = 0.95) -> Estimator:
    """Return the estimator that `text` names.

    `text`: ``plain`` (the yardstick), an effort of dd (``quick``, ``default``, ``max``), a discriminator of dd such as
    ``logistic``, ``cnn`` or ``cnn-paper`` (one split, threshold one half, as in the paper), or any metric, such as
    ``mauve`` or ``bleu(order=4)``. With ``+log-probs`` at its end, it is given the generator's log-probabilities, with
    ``+train``, which is for efforts and discriminators that can use it, what the generator was fitted to; or both.
    """
    base = name = text.strip()
    sources: list[str] = []
    while (source := next((each for each in _SOURCES if base.endswith(each)), None)) is not None:
        if source in sources:
            raise OptionError(f"estimator {name} has {source} twice")
        sources.append(source)
        base = base.removesuffix(source)
    metric: Metric
    if base == "plain":
        metric = dd.declaration.with_settings(discriminator=PlainLogistic(), level=level)
    elif base in EFFORTS:
        metric = parse_metric("dd", effort=base, level=level)
    elif base == _NETWORK_OF_THE_PAPER:
        metric = parse_metric("dd(discriminator=cnn-paper,folds=1,threshold=half)", level=level)
    elif base in DISCRIMINATORS:
        metric = parse_metric(f"dd(discriminator={base})", level=level)
    else:
        metric = parse_metric(base, level=level, effort="default")
    if WITH_TRAIN in sources and not _can_use(metric, "trained_on", reads_training_text):
        raise OptionError(
            f"{base} does not learn from the text that a generator was trained on: {WITH_TRAIN} is for "
            f"{', '.join(EFFORTS)} and stack"
        )
    return Estimator(name, metric, log_probs=WITH_LOG_PROBS in sources, train=WITH_TRAIN in sources)


def parse_estimators(names: Sequence[str], *, level: float = 0.95, prior: str | None = None) -> list[Estimator]:
    """Return the estimators that `names` name; those that can use `prior` get it, and at least one must."""
    estimators = [parse_estimator(name, level=level) for name in names]
    if prior is None:
        return estimators
    check_prior(prior)
    able = [_can_use(each.metric, "prior", reads_prior) for each in estimators]
    if not any(able):
        raise OptionError(
            f"prior is for dd of {', '.join(EFFORTS)} and stack, and none of these is measured: leave it out"
        )
    return [
        replace(each, metric=_with_settings(each.metric, prior=prior)) if uses else each
        for each, uses in zip(estimators, able, strict=True)
    ]


def _with_settings(metric: Metric, **more: Any) -> Metric:
    return metric.declaration.with_settings(level=metric.level, **{**metric.settings, **more})


def _can_use(metric: Metric, setting: str, reads: Callable[[Discriminator], bool]) -> bool:
    """Return whether the discriminator of `metric` uses what `setting` gives it."""
    if setting not in metric.settings:
        return False
    judge = metric.settings["discriminator"]
    return reads(make_family(metric.settings["effort"]) if judge == AUTO else judge)


def run_bench(
    corpora: Mapping[str, Corpus],
    estimators: Sequence[Estimator],
    *,
    pair_names: Sequence[str] = PAIR_NAMES,
    extra: Callable[[Corpus, int], Sequence[World]] | None = None,
    textless: Sequence[World] = (),
    sizes: Sequence[int] = (20_000,),
    n_generated: int | None = None,
    n_fit_real: int = 0,
    n_truth: int | None = None,
    seeds: Sequence[int],
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Bench:
    """Run all estimators on all pairs.

    `textless`: worlds that are fitted to none of the corpora, whose cells are those of the corpus "smollm2";
    `n_generated`: generated texts (None: as many as real ones); `n_fit_real`: more real ones, for estimators that can
    learn from them; `n_truth`: texts a side for the truth (None: as many as is usual for the world).
    """
    for kind, names in (
        ("corpus", [*corpora, *[SMOLLM2][: len(textless)]]),
        ("estimator", [estimator.name for estimator in estimators]),
        ("size", list(sizes)),
        ("seed", list(seeds)),
    ):
        if not names or len(set(names)) < len(names):
            raise OptionError(f"the bench needs at least one {kind}, each once, got {names}")
    for n in sizes:
        check_range("sentences", n, 1)
    for seed in seeds:
        check_range("seed", seed, 0)
    check_range("n_truth", n_truth, 2)
    check_range("n_generated", n_generated, 1)
    check_range("n_fit_real", n_fit_real, 0)
    store = EstimateStore(folder)
    places: list[tuple[str, int, World, int, Estimator]] = []  # of the cells, in order
    untrained: list[str] = []
    documents: dict[tuple[object, ...], dict[str, Any]] = {}  # of a pair: its truth; of a cell: what was measured
    n_done, total = 0, 0

    def tell(work: _Work) -> None:
        if progress is not None:
            progress(work.label, n_done, total)

    def finish(work: _Work, document: dict[str, Any]) -> None:
        nonlocal n_done
        documents[work.place] = document
        n_done += work.is_cell

    def worlds() -> Iterator[tuple[str, int, Sequence[World]]]:
        """Yield a corpus, a seed, and their worlds."""
        nonlocal total
        total_textless = len(seeds) * n_cells(textless)
        for name, corpus in corpora.items():
            for seed in seeds:
                pairs = [
                    *known_truth_pairs(corpus, seed, pair_names),
                    *(() if extra is None else extra(corpus, seed)),
                ]
                total = len(corpora) * len(seeds) * n_cells(pairs) + total_textless
                yield name, seed, pairs
        total = total or total_textless
        yield from ((SMOLLM2, seed, textless) for seed in seeds if textless)

    def n_cells(pairs: Sequence[World]) -> int:
        return len(sizes) * sum(each.is_for(pair) for pair in pairs for each in estimators)

    def missing() -> Iterator[_Work]:
        for name, seed, pairs in worlds():
            untrained.extend(
                pair.name for pair in pairs if pair.train is None and any(each.train for each in estimators)
            )
            for pair in pairs:
                if progress is not None:
                    progress(f"texts of {pair.name} of {name}", n_done, total)
                chosen = [each for each in estimators if each.is_for(pair)]
                places.extend((name, seed, pair, n, estimator) for n in sizes for estimator in chosen)
                draws = [_Draw(pair, seed, n, n_generated, n_fit_real) for n in sizes]
                for work in _of_pair(pair, draws, chosen, corpus=name, seed=seed, n_truth=n_truth or pair.n_truth):
                    document = store.load_document(work.key)
                    if document is None:
                        yield work
                    else:
                        tell(work)
                        finish(work, document)

    for work, document in map_tasks(_Work.run, missing(), tell=tell):
        store.save_document(work.key, document)
        finish(work, document)
    cells = [
        BenchCell(
            estimator=estimator.name,
            corpus=name,
            world=pair.name,
            family=pair.family,
            kind=pair.kind,
            grows=pair.grows,
            seed=seed,
            n=n,
            n_generated=n if n_generated is None else n_generated,
            n_fit_real=n_fit_real if estimator.fits_real and isinstance(pair, KnownTruthPair) else 0,
            prior=estimator.metric.settings.get("prior"),
            **documents[name, seed, pair.name, n, estimator.name],
            **documents[name, seed, pair.name],
        )
        for name, seed, pair, n, estimator in places
    ]
    return Bench(
        tuple(cells),
        tuple(estimator.name for estimator in estimators),
        tuple(sizes),
        tuple(seeds),
        {name: len(corpus) for name, corpus in corpora.items()},
        tuple(finding for name, corpus in corpora.items() for finding in inspect_corpus(corpus, name=f"({name})")),
        n_generated,
        n_fit_real,
        next((cell.prior for cell in cells if cell.prior is not None), None),
        tuple(dict.fromkeys(untrained)),
    )


@dataclass(frozen=True)
class _Work:
    """A cell to measure, or the truth of a pair to compute."""

    label: str
    place: tuple[object, ...]  # corpus, seed and pair; of a cell, size and estimator, too
    is_cell: bool
    key: str  # in the store
    compute: Callable[[], dict[str, Any]]

    def run(self) -> dict[str, Any]:
        """Return the document that is stored."""
        return self.compute()


@dataclass(frozen=True)
class _Draw:
    """Texts of a pair that its estimators share."""

    pair: World
    seed: int
    n: int
    n_generated: int | None
    n_fit_real: int

    @cached_property
    def answered(self) -> Answered | None:
        """Prompts with their answers; none of other worlds."""
        if not isinstance(self.pair, PromptedWorld):
            return None
        return self.pair.answered(self.n, seed=self.seed, n_generated=self.n_generated)

    @cached_property
    def _texts(self) -> list[Corpus]:
        """Real and generated texts, and more real ones if any, over one vocabulary."""
        if self.answered is not None:
            return [self.answered.real, self.answered.generated]
        sides = self.pair.sample(self.n, seed=self.seed, n_generated=self.n_generated)
        if not self.n_fit_real or not isinstance(self.pair, KnownTruthPair):
            return list(sides)
        return over_one_vocabulary(*sides, self.pair.more_real(self.n_fit_real, seed=self.seed))

    @cached_property
    def sides(self) -> tuple[Corpus, Corpus]:
        return self._texts[0], self._texts[1]

    @cached_property
    def sides_with_log_probs(self) -> tuple[Corpus, Corpus]:
        real, generated = self.sides
        return self._with_log_probs(real), self._with_log_probs(generated)

    def _with_log_probs(self, corpus: Corpus) -> Corpus:
        assert isinstance(self.pair, KnownTruthPair)  # estimators with log-probabilities are for no others
        return self.pair.with_log_probs(corpus)

    @property
    def fit_real(self) -> Corpus | None:
        return self._texts[2] if len(self._texts) > 2 else None

    @cached_property
    def fit_real_with_log_probs(self) -> Corpus | None:
        return None if self.fit_real is None else self._with_log_probs(self.fit_real)

    @cached_property
    def train(self) -> Corpus | None:
        train, vocabulary = self.pair.train, self.sides[0].vocabulary
        return train if train is None or train.vocabulary is vocabulary else train.with_vocabulary(vocabulary)

    def given_to(self, estimator: Estimator) -> tuple[Estimator, Corpus, Corpus]:
        """Return the estimator with all that it learns from, and the real and the generated texts."""
        sides, fit_real = (
            (self.sides_with_log_probs, self.fit_real_with_log_probs)
            if estimator.log_probs
            else (self.sides, self.fit_real)
        )
        more = {
            **({"fit_real": fit_real} if estimator.fits_real and fit_real is not None else {}),
            **({"trained_on": self.train} if estimator.train else {}),
            **({} if self.answered is None or not estimator.needs_prompts else {"prompts": self.answered.prompts}),
        }
        given = replace(estimator, metric=_with_settings(estimator.metric, **more)) if more else estimator
        return given, *sides


def _of_pair(
    pair: World,
    draws: Sequence[_Draw],
    estimators: Sequence[Estimator],
    *,
    corpus: str,
    seed: int,
    n_truth: int,
) -> Iterator[_Work]:
    """Yield the truth of a pair, and its cells; those of one size share their draw."""
    place = (corpus, seed, pair.name)
    real, generated = pair.sample(_N_TO_NAME, seed=seed)
    key = estimate_key(_BENCH, "truth", pair.name, seed, n_truth, real.fingerprint, generated.fingerprint)
    yield _Work(f"truth of {pair.name} of {corpus}", place, False, key, partial(_truth, pair, n_truth, seed))
    for draw in draws:
        for estimator in estimators:
            given, real, generated = draw.given_to(estimator)
            key = estimate_key(
                _BENCH,
                version("textassay"),
                given.name,
                given.metric.name,
                given.metric.key,
                given.metric.level,
                real.fingerprint,
                generated.fingerprint,
                real.columns_fingerprint,
                seed,
            )
            label = f"{given.name} on {pair.name} of {corpus}"
            compute = partial(_measure, given, real, generated, seed)
            yield _Work(label, (*place, draw.n, given.name), True, key, compute)


def _truth(pair: World, n: int, seed: int) -> dict[str, Any]:
    """Return the discrepancy of a pair, JSON-ready; raise where its log-probabilities are not those of its texts."""
    truth = pair.truth(n, seed=seed)
    if truth.disagreement > _MOST_DISAGREEMENT:
        raise InputError(
            f"two estimates of the discrepancy of {pair.name} must agree within {_MOST_DISAGREEMENT:g} standard "
            f"errors, got {truth.disagreement:.1f}: its log-probabilities are not those of its texts"
        )
    return {"truth": truth.value, "truth_low": truth.interval.low, "truth_high": truth.interval.high}


def _measure(estimator: Estimator, real: Corpus, generated: Corpus, seed: int) -> dict[str, Any]:
    """Return one estimate of one draw and its running time, JSON-ready."""
    begun = time.perf_counter(), time.process_time()
    texts = Examined.of(generated, real, independent=True)
    estimate = estimator.metric.estimate_examined(texts, seed=seed)
    seconds, cpu_seconds = time.perf_counter() - begun[0], time.process_time() - begun[1]
    document = estimate.to_dict()
    bound = document["details"].get("certified_bound")
    return {
        **{name: document[name] for name in ("value", "low", "high", "level", "better")},
        "metric": estimate.metric.split("(")[0],
        "bound": bound.get("value") if isinstance(bound, Mapping) else None,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "chosen": document["details"].get("chosen"),
        "alone": {name: each["value"] for name, each in (document["details"].get("alone") or {}).items()} or None,
    }


@shows_progress
def bench(
    texts: Mapping[str, Texts] | None = None,
    *,
    estimators: Sequence[str] = ("plain", "quick", "default"),
    worlds: Sequence[str] | None = None,
    n_sentences: Sequence[int] = (20_000,),
    n_generated: int | None = None,
    n_fit_real: int = 0,
    n_answers: int = N_ANSWERS,
    n_truth: int | None = None,
    seeds: Sequence[int] = (FIRST_TEST_SEED,),
    prior: str | None = None,
    level: float = 0.95,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **text: Unpack[TextOptions],
) -> Bench:
    """Return how much of a known discrepancy metrics find, and whether their intervals are honest.

    Parameters
    ----------
    texts
        Name to text that generators are fitted to; without any, sentences from the docstrings of installed packages.
    estimators
        ``plain``, efforts of dd, and names of metrics; with ``+log-probs`` at its end, one is given the generator's
        log-probabilities, with ``+train`` what it was fitted to.
    worlds
        Pairs of generators whose discrepancy is known, by default all but ``learnt``, ``fluent`` and networks; a name
        stands for all that begin with it, ``lstm`` and ``gpt2`` for networks, which are trained anew each time,
        ``fluent`` for what a small pretrained language model draws, which needs no text but the extra ``prior-lm``,
        ``answers`` for those with prompts, where ``conditional-dd`` is measured, and nowhere else.
    n_sentences
        Real sentences, one or more sizes; in worlds with prompts, real answers.
    n_generated
        Generated sentences; as many as real ones where None.
    n_fit_real
        More real sentences, for dd to learn from and not to be tested on.
    n_answers
        Real answers to each prompt, in worlds with prompts.
    n_truth
        Sentences a side for the truth, at least 2; by default 50,000, and 1,000 in worlds ``fluent``.
    seeds
        One draw each.
    prior
        What estimators that can use it know of a language, as in ``dd``.
    level
        Of intervals.
    folder
        Where cells are kept, so that the same call goes on; in memory without one.
    progress
        Called with what is done next, the cells done and all cells.
    text
        How each text is prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`.
    """
    names, networks = matching_worlds(worlds)
    fluent = fluent_pairs([name for name in names if name in FLUENT_NAMES])
    measures = parse_estimators(estimators, level=level, prior=prior)
    needs_text = bool(networks) or len(names) > len(fluent)
    if texts is not None and not needs_text:
        raise OptionError("fluent worlds are fitted to no text: give none, or name other worlds, too")
    sources = {} if not needs_text else {"docstrings": docstring_sentences()} if texts is None else texts
    corpora = {name: corpora_from_texts({name: source}, **text)[name] for name, source in sources.items()}
    prompted = [name for name in names if name in PROMPTED_NAMES]
    if worlds is None:
        for_prompts = [each.needs_prompts for each in measures]
        prompted = list(PROMPTED_NAMES) if any(for_prompts) else []
        names = [] if all(for_prompts) else names
    if any(each.needs_prompts for each in measures) and not prompted:
        raise OptionError("conditional-dd is measured in worlds with prompts alone: add answers to the worlds")
    return run_bench(
        corpora,
        measures,
        pair_names=[name for name in names if name not in prompted and name not in FLUENT_NAMES],
        extra=partial(_more_worlds, networks=networks, prompted=prompted, n_answers=n_answers),
        textless=fluent,
        sizes=sorted(set(n_sentences)),
        n_generated=n_generated,
        n_fit_real=n_fit_real,
        n_truth=n_truth,
        seeds=seeds,
        folder=None if folder is None else Path(folder),
        progress=progress,
    )


def matching_worlds(worlds: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return the worlds that a list stands for, and what it names of networks; none names no networks.

    A name stands for all worlds that begin with it.
    """
    if worlds is None:
        return list(PAIR_NAMES), []
    chosen: list[str] = []
    networks = []
    if not worlds:
        raise OptionError("no world is named: name a world or more, or leave them out")
    for name in worlds:
        known = (*PAIR_NAMES, *LEARNT_NAMES, *PROMPTED_NAMES, *FLUENT_NAMES)
        matching = [world for world in known if _is_part(name, world)]
        if any(_is_part(network, name) for network in NETWORKS):
            networks.append(name)
        elif not matching:
            raise unknown_name("world", name, [*known, *NETWORKS])
        chosen += matching
    return list(dict.fromkeys(chosen)), networks


def _is_part(beginning: str, name: str) -> bool:
    return name == beginning or name.startswith(f"{beginning}-")


def _more_worlds(
    corpus: Corpus, seed: int, *, networks: Sequence[str], prompted: Sequence[str], n_answers: int
) -> list[World]:
    """Return the worlds of networks and those with prompts that are called for."""
    return [*_networks(corpus, seed, names=networks), *prompted_worlds(corpus, seed, prompted, n_answers=n_answers)]


def _networks(corpus: Corpus, seed: int, *, names: Sequence[str]) -> list[KnownTruthPair]:
    """Return the worlds of networks that are called for; they are trained anew each time."""
    networks = [network for network in NETWORKS if any(_is_part(network, name) for name in names)]
    worlds = [world for network in networks for world in neural_pairs(corpus, seed, network=network)]
    for name in names:
        if not any(_is_part(name, world.name) for world in worlds):
            raise unknown_name("world", name, [world.name for world in worlds])
    return [world for world in worlds if any(_is_part(name, world.name) for name in names)]
