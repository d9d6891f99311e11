"""Scores of single sentences: the file of all of them, and the few that show best what a discriminator saw.

One row a sentence and side. Real sentences come once for every generator that scores them, for a discriminator's score
depends on the generator it was trained against. Rows are made as they are read: there may be millions.
"""

import csv
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from textassay.comparison.comparison import FLOOR, Comparison
from textassay.comparison.digest import Digest
from textassay.corpus.csv_files import csv_lines, long_fields, plain_cell
from textassay.estimate import FloatArray
from textassay.inspection.finding import HELDOUT

_BLOCK = 1 << 12  # scores made into Python numbers at once
_KEYS = ("generator", "side", "line", "text")


@dataclass(frozen=True)
class SentenceTable:
    """Rows under `columns`: generator, side, line (from 1), text, and metrics (empty where there is no score)."""

    columns: tuple[str, ...]
    rows: Iterable[Sequence[str | float]]
    # Of each generator its sentences and their scores by metric, where rows are made of these
    generated: Mapping[str, tuple[Sequence[str], Mapping[str, FloatArray]]] | None = None


@dataclass(frozen=True)
class Example:
    """A sentence, the discriminator's probability that it is real, and how often it was drawn."""

    text: str
    score: float
    count: int


@dataclass(frozen=True)
class Examples:
    """Generated sentences that look most generated and most lifelike to the discriminator, most telling first."""

    most_generated: tuple[Example, ...]
    most_lifelike: tuple[Example, ...]


def sentence_table(comparison: Comparison, texts: Mapping[str, Sequence[str]]) -> SentenceTable | None:
    """Return one row a sentence that some metric scored, in full precision; None where none did.

    `texts`: generator to its sentences; the real ones under ``(real)``, held-out ones under ``(real-heldout)``. A side
    whose texts are not given, or are not as many as its scores, is left out.
    """
    comparison = Digest(comparison).comparison  # columns name the encoder of metrics of sentence vectors
    sides: list[tuple[str, str, Sequence[str], dict[str, FloatArray]]] = []
    for generator in (*comparison.generators, HELDOUT):
        for side, source in (("generated", generator), ("real", FLOOR)):
            sentences = texts.get(source, ())
            scores = {
                metric: array
                for metric, array in _scores(comparison, generator, side).items()
                if len(array) == len(sentences) > 0
            }
            if scores:
                sides.append((generator, side, sentences, scores))
    if not sides:
        return None
    metrics = [metric for metric in comparison.metrics if any(metric in scores for *_, scores in sides)]
    rows = itertools.chain.from_iterable(_side_rows(*side, metrics) for side in sides)
    generated = {generator: (texts, scores) for generator, side, texts, scores in sides if side == "generated"}
    return SentenceTable((*_KEYS, *metrics), rows, generated)


def write_sentences(table: SentenceTable, file: BinaryIO) -> None:
    """Write `table` as CSV."""
    file.writelines(line.encode("utf-8", "backslashreplace") for line in csv_lines(table.columns, table.rows))


def open_sentences(path: Path) -> SentenceTable | None:
    """Return the table that `write_sentences` wrote, read as it goes; None where there is none at `path`."""
    rows = _read_rows(path)
    columns = tuple(next(rows, ()))
    return SentenceTable(columns, rows) if columns[: len(_KEYS)] == _KEYS else None


def examples_of(table: SentenceTable, metric: str, *, n_examples: int = 5) -> dict[str, Examples]:
    """Return each generator's most telling sentences by the scores of `metric`, probabilities of being real.

    Equal sentences count as one example, with their mean score; ties are broken by line.
    """
    generated = table.generated if table.generated is not None else _read_generated(table, metric)
    return {
        generator: _examples(texts, scores[metric], n_examples)
        for generator, (texts, scores) in generated.items()
        if metric in scores and not np.isnan(scores[metric]).all()
    }


def _read_generated(table: SentenceTable, metric: str) -> dict[str, tuple[Sequence[str], Mapping[str, FloatArray]]]:
    """Return the sentences of each generator that have a score, and the scores."""
    if metric not in table.columns:
        return {}
    place = table.columns.index(metric)
    read: dict[str, tuple[list[str], list[float]]] = {}
    for row in table.rows:
        if len(row) == len(table.columns) and row[1] == "generated" and row[place]:
            texts, scores = read.setdefault(str(row[0]), ([], []))
            texts.append(str(row[3]))
            scores.append(float(row[place]))
    return {generator: (texts, {metric: np.array(scores)}) for generator, (texts, scores) in read.items()}


def _examples(texts: Sequence[str], scores: FloatArray, n_examples: int) -> Examples:
    """Return the sentences with the lowest and the highest scores; equal ones, which hashes tell, count as one."""
    rows = np.flatnonzero(~np.isnan(scores))
    hashes = np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))[rows]
    _, first, numbers, counts = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    means = np.bincount(numbers.reshape(-1), weights=scores[rows]) / counts
    order = np.lexsort((first, means))
    n = min(n_examples, len(order) // 2)

    def example(number: int) -> Example:
        return Example(texts[int(rows[first[number]])], float(means[number]), int(counts[number]))

    return Examples(tuple(map(example, order[:n].tolist())), tuple(map(example, order[::-1][:n].tolist())))


def _scores(comparison: Comparison, generator: str, side: str) -> dict[str, FloatArray]:
    found = {}
    for result in comparison.results:
        if result.generator == generator and result.estimate is not None and result.estimate.evidence is not None:
            evidence = result.estimate.evidence
            scores = evidence.real_scores if side == "real" else evidence.generated_scores
            if scores is not None:
                found[result.metric] = scores
    return found


def _side_rows(
    generator: str, side: str, sentences: Sequence[str], scores: Mapping[str, FloatArray], metrics: Sequence[str]
) -> Iterator[tuple[str | float, ...]]:
    columns = [_values(scores[metric]) if metric in scores else itertools.repeat(math.nan) for metric in metrics]
    names, sides = itertools.repeat(generator), itertools.repeat(side)
    yield from zip(names, sides, itertools.count(1), sentences, *columns)


def _values(array: FloatArray) -> Iterator[float]:
    for start in range(0, len(array), _BLOCK):
        yield from array[start : start + _BLOCK].tolist()


def _read_rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows of a CSV file; nothing, or no more, where it cannot be read."""
    try:
        with path.open(encoding="utf-8", newline="") as file, long_fields():
            for row in csv.reader(file):
                yield [plain_cell(cell) for cell in row]
    except (OSError, UnicodeDecodeError, csv.Error):
        return
