"""What generated sentences share with the real texts nearest to them: references, rows of numbers, intervals.

Each generated sentence has its own references, the nearest real texts (`textassay.metric.nearest_references`); a metric
gives a row of numbers a sentence, and a value of the sum of rows.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import Encoder
from textassay.embedding.store import resolve_encoder
from textassay.errors import OptionError
from textassay.execution.threads import parallel_map
from textassay.metric.base import Computed
from textassay.metric.nearest_references import TFIDF, NearestReferences
from textassay.metric.sharing import compute_once
from textassay.resampling.jackknife import assign_groups, jackknife_terms, text_terms
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Equal = Literal["keep", "drop"]
References = int | Literal["all"]

Near = tuple[References, str | Encoder, Equal, int | None]
"""How many references, by which vectors, whether with equal texts, and the seed of their groups; None: as given."""

RowsOf = Callable[[IntArray, IntArray], FloatArray]
"""From sentences of a block, shape (m,), and columns of their table of references, shape (m, k), to rows (m, S)."""

_PARTS = 4  # pieces of work, so that threads have some
_BLOCK = 1 << 14  # most sentences whose pairs are held at once


@dataclass(frozen=True)
class Overlap:
    """What the value is made of."""

    rows: FloatArray  # what each sentence adds, shape (N, S)
    # What the sum of rows gains without each group of references, shape (G, S). Where the references are the other
    # sentences of the same corpus, a group's own sentences are left out with it.
    changes: FloatArray
    group_sizes: IntArray  # references in each group, shape (G,); none where the references are taken as given
    is_self: bool  # whether the references are the other sentences of the same corpus
    units: IntArray | None  # groups of the generated sentences
    references: int  # of each sentence
    settings: Mapping[str, object]  # of the signature

    def mean(self, column: int = 0, **settings: object) -> Computed:
        """Return the mean of one number of the rows."""
        scores = self.rows[:, column].copy()
        return self.computed(
            lambda sums, n: float(sums[column]) / n if n else math.nan, lambda _: scores, scores, **settings
        )

    def computed(
        self,
        value_of: Callable[[FloatArray, int], float],
        terms_of: Callable[[float], FloatArray],
        scores: FloatArray,
        **settings: object,
    ) -> Computed:
        """Return the value that `value_of` makes of the sum of rows and their number.

        `terms_of`: from the value to one term a sentence, mean the value: what each adds to it, to first order.
        """
        n, sizes = len(self.rows), self.group_sizes
        sums = np.array([math.fsum(column) for column in self.rows.T])
        value = value_of(sums, n)
        left = n - sizes if self.is_self else np.full(len(sizes), n)
        changed = sums + self.changes  # (G, S)
        without = np.array([value_of(row, n_left) for row, n_left in zip(changed, left.tolist(), strict=True)])
        own, terms = text_terms(terms_of(value), self.units), jackknife_terms(value, without, sizes)
        if len(sizes) == 0:
            samples, method = {"generated": own}, "variance over generated sentences, references as given"
        elif self.is_self:
            samples, method = {"generated": terms}, f"jackknife over {len(sizes)} groups of sentences"
        else:
            samples = {"generated": own, "real": terms}
            method = f"variance over generated sentences, jackknife over {len(sizes)} groups of references"
        return Computed(
            value,
            terms=samples,
            method=f"t: {method}",
            sizes={"n_references": self.references},
            settings={**settings, **self.settings},
            generated_scores=scores,
        )


RowsOfAll = Callable[..., tuple[FloatArray, FloatArray]]
"""From hypotheses, references, their groups, whether both are the same, and arguments to what `Overlap` holds."""


def check_references(settings: Mapping[str, Any]) -> None:
    """Raise where all texts are references but for those that are equal."""
    if settings["references"] == "all" and settings["equal"] == "drop":
        raise OptionError("equal=drop needs a number of references, got references=all")


def overlap(
    generated: Corpus,
    real: Corpus,
    rows_of: Callable[..., RowsOf],
    *args: object,
    near: Near,
    together: Callable[[Corpus, Corpus, IntArray], Any] | None = None,
    rows_of_all: RowsOfAll | None = None,
) -> Overlap:
    """Return the rows of all sentences, and what their sum gains without each group of references.

    `rows_of`: from a block of hypotheses, the references, those of each, shape (n, n_kept), and `args`, to what makes
    rows; `together`: what all blocks need, which then is the last argument; `rows_of_all`: where all may be references.
    """
    references, nearest, equal, seed = near
    if references == "all":
        assert rows_of_all is not None
        assert seed is not None
        return compute_once(_overlap_with_all, generated, real, rows_of_all, args, seed)
    encoder = TFIDF if nearest == TFIDF else resolve_encoder(nearest)
    is_self = generated is real
    return compute_once(_overlap, generated, real, rows_of, args, together, references, encoder, equal, seed, is_self)


def best_rows(table: FloatArray) -> RowsOf:
    """Return what gives each sentence the largest of each number of its references, 0 where it has none.

    `table`: what each pair scores, at least 0, shape (n, n_kept, S).
    """

    def rows_of(sentences: IntArray, columns: IntArray) -> FloatArray:
        values = table[sentences[:, None], columns]  # (m, k, S)
        best: FloatArray = np.where(columns[..., None] >= 0, values, 0.0).max(axis=1)
        return best

    return rows_of


def _overlap_with_all(
    generated: Corpus, real: Corpus, rows_of_all: RowsOfAll, args: tuple[object, ...], seed: int
) -> Overlap:
    is_self = generated is real
    groups = assign_groups(len(real), stream(seed, "groups", "real"), units=real.groups)
    rows, changes = rows_of_all(generated, real, groups, is_self, *args)
    if is_self:
        changes -= np.stack([np.bincount(groups, weights=column) for column in rows.T], axis=1)
    sizes = np.bincount(groups)
    settings = {"refs": "all", "itself": "excluded" if is_self else "kept", "groups": len(sizes)}
    return Overlap(rows, changes, sizes, is_self, generated.groups, len(real) - is_self, settings)


def _overlap(
    generated: Corpus,
    real: Corpus,
    rows_of: Callable[..., RowsOf],
    args: tuple[object, ...],
    together: Callable[[Corpus, Corpus, IntArray], Any] | None,
    k: int,
    encoder: str | Encoder,
    equal: Equal,
    seed: int | None,
    is_self: bool,
) -> Overlap:
    nearest = compute_once(NearestReferences, real, encoder)
    groups = np.full(len(real), -1)
    if seed is not None:
        groups = assign_groups(len(real), stream(seed, "groups", "real"), units=real.groups)
    # Twice as many let the next ones in where a group is left out; a group rarely holds more of the nearest.
    pairs = nearest.of(generated, k=min(2 * k, len(real)), exclude_self=is_self, exclude_equal=equal == "drop")
    shared = args if together is None else (*args, together(generated, real, pairs[:, :k]))
    size = max(1, min(_BLOCK, math.ceil(len(generated) / _PARTS)))

    def measure_block(start: int) -> tuple[FloatArray, FloatArray]:
        block = np.arange(start, min(start + size, len(generated)))
        of_block = rows_of(generated.take(block), real, pairs[block], *shared)
        own = groups[block] if is_self else np.full(len(block), -1)
        return _with_and_without(of_block, pairs[block], groups, own, k)

    blocks = parallel_map(measure_block, range(0, len(generated), size))
    rows = np.concatenate([rows for rows, _ in blocks])
    changes = np.sum([changes for _, changes in blocks], axis=0)
    if is_self and seed is not None:
        changes -= np.stack([np.bincount(groups, weights=column) for column in rows.T], axis=1)
    sizes = np.bincount(groups + 1)[1:]
    settings = {
        "refs": k,
        "near": nearest.settings,
        "equal": equal,
        "itself": "excluded" if is_self else "kept",
        "groups": len(sizes),
    }
    return Overlap(rows, changes, sizes, is_self, generated.groups, k, settings)


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
