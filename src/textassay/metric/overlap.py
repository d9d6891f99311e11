"""What metrics of word overlap with the nearest real texts have in common: references, values, intervals, evidence.

Each generated sentence has its own references, the nearest real texts (`textassay.metric.nearest_references`); a metric
gives a row of numbers a sentence, and a value of the sum of rows.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.embedding import Encoder, resolve_encoder
from textassay.errors import OptionError, check_range
from textassay.estimate import Better, Estimate, Evidence
from textassay.execution import parallel_map
from textassay.metric.base import check_corpora, check_level, make_signature
from textassay.metric.nearest_references import TFIDF, NearestReferences
from textassay.resampling import assign_groups, cluster_terms, jackknife_terms, terms_interval
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

RowsOf = Callable[[IntArray, IntArray], FloatArray]
"""From sentences of a block, shape (m,), and columns of their table of references, shape (m, k), to rows (m, S)."""

_PARTS = 4  # pieces of work, so that threads have some
_BLOCK = 1 << 14  # most sentences whose pairs are held at once


@dataclass(frozen=True)
class OverlapStatistics:
    """What the number is made of."""

    generated: Corpus
    real: Corpus
    nearest: str  # How nearness is measured, as signatures say it
    seed: int
    rows: FloatArray  # What each sentence adds, shape (N, S)
    # What the sum of rows gains without each group of references, shape (G, S). Where the corpora are the same, a
    # group's own sentences are left out with it.
    changes: FloatArray
    group_sizes: IntArray  # References in each group, shape (G,)
    is_self: bool  # Whether the references are the other sentences of the same corpus


@dataclass(frozen=True)
class Overlaps(ABC):
    """Base of metrics of overlap with the nearest real texts.

    `nearest`: what nearness is measured by: ``tf-idf``, or an encoder's name, a model's folder, or an `Encoder`.
    """

    references: int = 10
    nearest: str | Encoder = TFIDF
    equal: Literal["keep", "drop"] = "keep"
    level: float = 0.95

    def __post_init__(self) -> None:
        check_range("references", self.references, 1)
        if self.equal not in ("keep", "drop"):
            raise OptionError(f"equal must be keep or drop, got {self.equal}")
        check_level(self.level)

    @property
    @abstractmethod
    def name(self) -> str:
        """The metric with what differs from the defaults."""

    @property
    def better(self) -> Better:
        """More overlap with real text is better."""
        return "higher"

    @property
    def shares(self) -> tuple[Hashable, ...]:
        """Whatever measures against the same references in the same way shares."""
        return (type(self).__name__, *self._setting_names())

    @property
    def _references_given(self) -> bool:
        """Whether the interval takes the references as they are."""
        return False

    @property
    def _family(self) -> str:
        """Name of the metric without parameters."""
        return self.name.split("(")[0]

    @property
    def _column(self) -> int:
        """Which number of a row is the sentence's score."""
        return 0

    @property
    def _high(self) -> float:
        """The largest value there can be."""
        return 1.0

    @abstractmethod
    def _rows_of(self, hypotheses: Corpus, references: Corpus, pairs: IntArray, shared: Any) -> RowsOf:
        """Return what makes rows for a block of hypotheses, whose references are `pairs`, shape (n, n_kept)."""

    def _shared(self, generated: Corpus, references: Corpus, pairs: IntArray) -> Any:
        """Return what all blocks need."""
        return None

    def _value(self, sums: FloatArray, n: int) -> float:
        """Return the value of a summed row over `n` sentences."""
        return float(sums[self._column]) / n if n else math.nan

    def _terms(self, rows: FloatArray, value: float) -> FloatArray:
        """Return one term a sentence, mean `value`: what each adds to the value, to first order."""
        return rows[:, self._column].copy()

    def _scores(self, rows: FloatArray) -> FloatArray:
        """Return one score a sentence."""
        return rows[:, self._column].copy()

    def _settings(self) -> Mapping[str, object]:
        """Return what else stands in the signature."""
        return {}

    def _details(self, statistics: OverlapStatistics) -> dict[str, Any]:
        return {}

    def _named(self, metric: str, *settings: str) -> str:
        parts = [*settings, *self._setting_names()]
        return f"{metric}({','.join(parts)})" if parts else metric

    def _setting_names(self) -> list[str]:
        """Return the settings of the references that differ from the defaults, as names show them."""
        nearest = TFIDF if self.nearest == TFIDF else resolve_encoder(self.nearest).name
        names = {"references": (self.references, 10), "nearest": (nearest, TFIDF), "equal": (self.equal, "keep")}
        return [f"{key}={value}" for key, (value, usual) in names.items() if value != usual]

    @property
    def reads_columns(self) -> bool:
        """Whether vectors were made elsewhere and come with the corpus."""
        return self.nearest != TFIDF and resolve_encoder(self.nearest).reads_columns

    def prepare(self, real: Corpus) -> tuple[Corpus, NearestReferences]:
        """Return the real text, and the references ready to be searched."""
        check_corpora(real, real, metric=self._family)
        return real, NearestReferences(real, self.nearest)

    def statistics(self, state: tuple[Corpus, NearestReferences], generated: Corpus, *, seed: int) -> OverlapStatistics:
        """Return the rows of all sentences, and what they lose without each group of references."""
        real, nearest = state
        references = nearest.references
        check_corpora(generated, real, metric=self._family)
        is_self = generated is references
        groups = np.full(len(references), -1)
        if not self._references_given:
            groups = assign_groups(len(references), stream(seed, "groups", "real"), units=references.groups)
        # Twice as many let the next ones in where a group is left out; a group rarely holds more of the nearest.
        pairs = nearest.of(
            generated,
            k=min(2 * self.references, len(references)),
            exclude_self=is_self,
            exclude_equal=self.equal == "drop",
        )
        shared = self._shared(generated, references, pairs[:, : self.references])
        size = max(1, min(_BLOCK, math.ceil(len(generated) / _PARTS)))

        def measure_block(start: int) -> tuple[FloatArray, FloatArray]:
            block = np.arange(start, min(start + size, len(generated)))
            rows_of = self._rows_of(generated.take(block), references, pairs[block], shared)
            own = groups[block] if is_self else np.full(len(block), -1)
            return _with_and_without(rows_of, pairs[block], groups, own, self.references)

        blocks = parallel_map(measure_block, range(0, len(generated), size))
        rows = np.concatenate([rows for rows, _ in blocks])
        changes = np.sum([changes for _, changes in blocks], axis=0)
        if is_self and not self._references_given:
            changes -= np.stack([np.bincount(groups, weights=column) for column in rows.T], axis=1)
        sizes = np.bincount(groups + 1)[1:]
        return OverlapStatistics(generated, real, nearest.settings, seed, rows, changes, sizes, is_self)

    def estimate(self, statistics: OverlapStatistics) -> Estimate:
        """Return the value with its interval."""
        generated, rows = statistics.generated, statistics.rows
        n, sizes = len(rows), statistics.group_sizes
        sums = np.array([math.fsum(column) for column in rows.T])
        value = self._value(sums, n)
        left = n - sizes if statistics.is_self else np.full(len(sizes), n)
        changed = sums + statistics.changes  # (G, S)
        without = np.array([self._value(row, n_left) for row, n_left in zip(changed, left, strict=True)])
        terms = jackknife_terms(value, without, sizes)
        own_terms = cluster_terms(self._terms(rows, value), generated.groups)
        if self._references_given:
            samples = [own_terms]
            method = "t: variance over generated sentences, references as given"
        elif statistics.is_self:
            samples = [terms]
            method = f"t: jackknife over {len(sizes)} groups of sentences"
        else:
            samples = [own_terms, terms]
            method = f"t: variance over generated sentences, jackknife over {len(sizes)} groups of references"
        interval = terms_interval(value, samples, level=self.level, method=method, low=0.0, high=self._high)
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="fraction" if self._high == 1 else "score",
            better=self.better,
            sizes={"n_generated": n, "n_real": len(statistics.real), "n_references": self.references},
            signature=make_signature(
                self.name,
                generated,
                statistics.real,
                seed=statistics.seed,
                **self._settings(),
                refs=self.references,
                near=statistics.nearest,
                equal=self.equal,
                itself="excluded" if statistics.is_self else "kept",
                groups=len(sizes),
            ),
            details=self._details(statistics),
            evidence=None
            if interval is None
            else Evidence(samples[1] if len(samples) > 1 else None, samples[0], generated_scores=self._scores(rows)),
        )


def best_rows(table: FloatArray) -> RowsOf:
    """Return what gives each sentence the largest of each number of its references, 0 where it has none.

    `table`: what each pair scores, at least 0, shape (n, n_kept, S).
    """

    def rows_of(sentences: IntArray, columns: IntArray) -> FloatArray:
        values = table[sentences[:, None], columns]  # (m, k, S)
        best: FloatArray = np.where(columns[..., None] >= 0, values, 0.0).max(axis=1)
        return best

    return rows_of


def _with_and_without(
    rows_of: RowsOf, pairs: IntArray, groups: IntArray, own: IntArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """Return the rows with the `k` nearest references, and what their sum gains without each group of references.

    `pairs`: references of each sentence, nearest first, shape (n, n_kept), -1 for none; `groups`: of each reference,
    shape (M,); `own`: group of each sentence, whose own change does not count, shape (n,), -1 for none.
    """
    columns = np.broadcast_to(np.arange(min(k, pairs.shape[1])), (len(pairs), min(k, pairs.shape[1])))
    rows = rows_of(np.arange(len(pairs)), np.where(pairs[:, :k] >= 0, columns, -1))
    changes = np.zeros((int(groups.max()) + 1, rows.shape[1]))
    their_groups = np.where(pairs >= 0, groups[pairs], -1)
    for group in range(len(changes)):
        touched = np.flatnonzero((their_groups[:, :k] == group).any(axis=1) & (own != group))
        if len(touched) == 0:
            continue
        left = (their_groups[touched] != group) & (pairs[touched] >= 0)
        nearest = np.argsort(~left, axis=1, kind="stable")[:, :k]
        rows_left = rows_of(touched, np.where(np.take_along_axis(left, nearest, axis=1), nearest, -1))
        changes[group] = (rows_left - rows[touched]).sum(axis=0)
    return rows, changes
