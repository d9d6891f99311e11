"""Scores of single sentences: the file of all of them, and the few that show best what a discriminator saw.

One row a sentence and side. Real sentences come once for every generator that scores them, for a discriminator's score
depends on the generator it was trained against. Rows are made as they are read: there may be millions.
"""

import csv
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from textassay.comparison import FLOOR, Comparison
from textassay.corpus import csv_lines, long_fields, plain_cell
from textassay.estimate import FloatArray
from textassay.inspection import HELDOUT
from textassay.report.digest import Digest

_KEYS = ("generator", "side", "line", "text")


@dataclass(frozen=True)
class SentenceTable:
    """Rows under `columns`: generator, side, line (from 1), text, and metrics (empty where there is no score)."""

    columns: tuple[str, ...]
    rows: Iterable[Sequence[str]]


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
    return SentenceTable((*_KEYS, *metrics), rows)


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
    if metric not in table.columns:
        return {}
    place = table.columns.index(metric)
    sums: dict[str, dict[str, tuple[float, int]]] = {}
    for row in table.rows:
        if len(row) == len(table.columns) and row[1] == "generated" and row[place]:
            of_generator = sums.setdefault(row[0], {})
            total, count = of_generator.get(row[3], (0.0, 0))
            of_generator[row[3]] = (total + float(row[place]), count + 1)
    found = {}
    for generator, by_text in sums.items():
        examples = [Example(text, total / count, count) for text, (total, count) in by_text.items()]
        examples.sort(key=lambda example: example.score)
        n = min(n_examples, len(examples) // 2)
        found[generator] = Examples(tuple(examples[:n]), tuple(reversed(examples[len(examples) - n :])))
    return found


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
) -> Iterator[list[str]]:
    columns = [scores[metric].tolist() if metric in scores else itertools.repeat("") for metric in metrics]
    for line, (text, *values) in enumerate(zip(sentences, *columns), start=1):  # noqa: B905  (some are endless)
        yield [generator, side, str(line), text, *("" if value != value else str(value) for value in values)]


def _read_rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows of a CSV file; nothing, or no more, where it cannot be read."""
    try:
        with path.open(encoding="utf-8", newline="") as file, long_fields():
            for row in csv.reader(file):
                yield [plain_cell(cell) for cell in row]
    except (OSError, UnicodeDecodeError, csv.Error):
        return
