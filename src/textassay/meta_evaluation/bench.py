"""The bench: estimators of the discrepancy, and other metrics, on pairs of generators of known truth ("worlds").

A cell is one estimator on one draw from one pair: its value, interval and certified bound beside the truth, and its
running time. Cells are stored by the content they were computed from, so an interrupted run resumes with the cell that
was running. Times are those of the first computation; they mean something only if the machine was otherwise idle.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from textassay.comparison import EstimateStore, estimate_key
from textassay.corpus import Corpus
from textassay.discriminator import DISCRIMINATORS, PlainLogistic
from textassay.display import Displayed
from textassay.errors import InputError, OptionError, check_range
from textassay.execution import map_tasks
from textassay.inspection import Finding, inspect_corpus
from textassay.meta_evaluation.known_truth_pairs import N_FOR_TRUTH, PAIR_NAMES, KnownTruthPair, known_truth_pairs
from textassay.metric import Metric, dd, measure, parse_metric

EFFORTS = ("quick", "default", "max")
WITH_LOG_PROBS = "+log-probs"
_NETWORK_OF_THE_PAPER = "cnn-paper"
_BENCH = "bench 1"  # version of the stored cells
_N_TO_NAME = 100  # texts a side that identify a pair in the store
_MOST_DISAGREEMENT = 6.0  # standard errors

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Estimator:
    """A metric of the bench."""

    name: str  # As in the options
    metric: Metric
    log_probs: bool = False  # Whether it gets the generator's log-probabilities


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
    n: int  # Texts a side
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
    chosen: Any = None  # Settings that the estimator chose, JSON-ready

    @property
    def share(self) -> float | None:
        """The value as a share of the truth; None without a value, or where the truth is 0."""
        return None if self.value is None or self.truth <= 0 else self.value / self.truth


@dataclass(frozen=True)
class Bench(Displayed):
    """All cells of a run, in the order corpus, seed, world, size, estimator."""

    cells: tuple[BenchCell, ...]
    # As in the options
    estimators: tuple[str, ...]
    sizes: tuple[int, ...]
    seeds: tuple[int, ...]
    corpora: Mapping[str, int]  # Name to number of texts the generators were fitted to
    findings: tuple[Finding, ...] = ()  # Trivial differences in these texts

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "version": version("textassay"),
            "corpora": dict(self.corpora),
            "estimators": list(self.estimators),
            "sizes": list(self.sizes),
            "seeds": list(self.seeds),
            "findings": [finding.to_dict() for finding in self.findings],
            "cells": [asdict(cell) for cell in self.cells],
        }


def parse_estimator(text: str, *, level: float = 0.95) -> Estimator:
    """Return the estimator that `text` names.

    `text`: ``plain`` (the yardstick), an effort of dd (``quick``, ``default``, ``max``), a discriminator of dd such as
    ``logistic``, ``cnn`` or ``cnn-paper`` (one split, threshold one half, as in the paper), or any metric, such as
    ``mauve`` or ``bleu(order=4)``. With ``+log-probs`` at its end, it is given the generator's log-probabilities.
    """
    name = text.strip()
    base = name.removesuffix(WITH_LOG_PROBS)
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
    return Estimator(name, metric, log_probs=name != base)


def run_bench(
    corpora: Mapping[str, Corpus],
    estimators: Sequence[Estimator],
    *,
    pair_names: Sequence[str] = PAIR_NAMES,
    extra: Callable[[Corpus, int], Sequence[KnownTruthPair]] | None = None,
    sizes: Sequence[int] = (20_000,),
    n_truth: int = N_FOR_TRUTH,
    seeds: Sequence[int],
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Bench:
    """Run all estimators on all pairs."""
    for kind, names in (
        ("corpus", list(corpora)),
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
    store = EstimateStore(folder)
    places: list[tuple[str, int, KnownTruthPair, int, Estimator]] = []  # of the cells, in order
    documents: dict[tuple[object, ...], dict[str, Any]] = {}  # of a pair: its truth; of a cell: what was measured
    n_done, total = 0, 0

    def tell(work: _Work) -> None:
        if progress is not None:
            progress(work.label, n_done, total)

    def finish(work: _Work, document: dict[str, Any]) -> None:
        nonlocal n_done
        documents[work.place] = document
        n_done += work.is_cell

    def missing() -> Iterator[_Work]:
        nonlocal total
        for name, corpus in corpora.items():
            for seed in seeds:
                pairs = known_truth_pairs(corpus, seed, pair_names, extra=() if extra is None else extra(corpus, seed))
                total = len(corpora) * len(seeds) * len(pairs) * len(sizes) * len(estimators)
                for pair in pairs:
                    places.extend((name, seed, pair, n, estimator) for n in sizes for estimator in estimators)
                    for work in _of_pair(pair, sizes, estimators, corpus=name, seed=seed, n_truth=n_truth):
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


def _of_pair(
    pair: KnownTruthPair, sizes: Sequence[int], estimators: Sequence[Estimator], *, corpus: str, seed: int, n_truth: int
) -> Iterator[_Work]:
    """Yield the truth of a pair, and its cells; those of one size share their draw."""
    place = (corpus, seed, pair.name)
    real, generated = pair.sample(_N_TO_NAME, seed=seed)
    key = estimate_key(_BENCH, "truth", pair.name, seed, n_truth, real.fingerprint, generated.fingerprint)
    yield _Work(f"truth of {pair.name} of {corpus}", place, False, key, partial(_truth, pair, n_truth, seed))
    for n in sizes:
        drawn = pair.sample(n, seed=seed)
        for estimator in estimators:
            real, generated = pair.with_log_probs(*drawn) if estimator.log_probs else drawn
            key = estimate_key(
                _BENCH,
                version("textassay"),
                estimator.name,
                estimator.metric.name,
                estimator.metric.key,
                estimator.metric.level,
                real.fingerprint,
                generated.fingerprint,
                real.columns_fingerprint,
                seed,
            )
            label = f"{estimator.name} on {pair.name} of {corpus}"
            compute = partial(_measure, estimator, real, generated, seed)
            yield _Work(label, (*place, n, estimator.name), True, key, compute)


def _truth(pair: KnownTruthPair, n: int, seed: int) -> dict[str, Any]:
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
    estimate = measure(estimator.metric, generated, real, seed=seed)
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
    }
