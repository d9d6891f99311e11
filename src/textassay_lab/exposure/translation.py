"""Exposure bias of translation: whether next words are worse after the model's own translation than after a reference.

``CGD(M|D, l, d)`` is the mean distance of the next words of model and data after the first l tokens of a reference,
given its source; ``CGD(M|M, l, d)`` that after the first l tokens of the beam-search translation. Their ratio is EB-C:
1 without exposure bias, larger with it. The data's next words are those of an oracle: a second, better model, or a
known channel.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, appendix C, equations (7) and (8).
Departs from it: a pair counts at a length that both its reference and its translation reach, so that both means are
over the same sources; the end of a sentence is one of the next words; adds intervals, by the delta method over pairs.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, SOS, Vocabulary
from textassay.errors import InputError, OptionError, TooFewSentencesError, check_range, unknown_name
from textassay.estimate import Interval, json_ready
from textassay.execution.threads import parallel_map
from textassay.metric.base import check_level
from textassay.resampling.jackknife import terms_interval
from textassay_lab.exposure.distance import COLUMNS, DISTANCES, row_distances
from textassay_lab.generator.parallel import ParallelText

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Logits = npt.NDArray[np.float32] | npt.NDArray[np.float64]

_LOGITS = 1 << 24  # largest number of logits of a model at once
_FEWEST = 2  # pairs


class Translator(Protocol):
    """A model that translates a source, such as `textassay_lab.generator.TranslationModel`."""

    @property
    def name(self) -> str:
        """Canonical name."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """Of source and translation."""
        ...

    def translations(self, source: Corpus, *, width: int) -> Corpus:
        """Return its best translation of each source."""
        ...

    def prefix_logits(self, pairs: ParallelText, positions: IntArray) -> Logits:
        """Return the logits after the first tokens of each target, (B, n, V), at `positions`, (n,); -inf: never."""
        ...


@dataclass(frozen=True)
class TranslationCurve:
    """CGD after references and after the model's own translations, and EB-C, at each of K lengths."""

    distance: str  # ``tv``, ``js``, ``greedy`` or ``kl``
    lengths: tuple[int, ...]  # Tokens of the prefixes, K numbers
    n_pairs: tuple[int, ...]  # Pairs that are long enough on both sides
    # CGD(M|D) and CGD(M|M), shapes (K,)
    data: FloatArray
    model: FloatArray
    eb_c: FloatArray  # Their ratio; NaN where CGD(M|D) is 0
    # Of each value; None where there is none. The two sides are paired by source.
    data_intervals: tuple[Interval | None, ...]
    model_intervals: tuple[Interval | None, ...]
    eb_c_intervals: tuple[Interval | None, ...]
    ties: float  # Share of distributions with several likeliest words, both sides together

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready values; NaN becomes None."""
        document: dict[str, Any] = json_ready(self.__dict__)
        return document

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TranslationCurve":
        """Return the curve that `to_dict` gave as `data`; None becomes NaN."""
        fields: dict[str, Any] = {"distance": data["distance"], "ties": data["ties"]}
        fields |= {"lengths": tuple(data["lengths"]), "n_pairs": tuple(data["n_pairs"])}
        for name in ("data", "model", "eb_c"):
            fields[name] = np.array(data[name], dtype=np.float64)
            intervals = data[f"{name}_intervals"]
            fields[f"{name}_intervals"] = tuple(None if one is None else Interval(**one) for one in intervals)
        return cls(**fields)


def translation_eb_c(
    model: Translator,
    oracle: Translator,
    pairs: ParallelText,
    lengths: Sequence[int],
    *,
    distances: Sequence[str] = ("tv", "js", "greedy"),
    translations: Corpus | None = None,
    width: int = 10,
    level: float = 0.95,
) -> dict[str, TranslationCurve]:
    """Return the exposure bias of `model` by each distance."""
    _check(model, oracle, pairs, lengths, distances)
    check_level(level)
    own_translations = model.translations(pairs.source, width=width) if translations is None else translations
    if len(own_translations) != len(pairs):
        raise InputError(
            f"each source needs one translation, got {len(pairs):,} sources and {len(own_translations):,} translations"
        )
    if own_translations.vocabulary is not pairs.target.vocabulary:
        own_translations = own_translations.with_vocabulary(pairs.target.vocabulary)
    shorter = np.minimum(pairs.target.lengths, own_translations.lengths)
    counts = tuple(int(np.count_nonzero(shorter >= length)) for length in lengths)
    for length, count in zip(lengths, counts, strict=True):
        if count < _FEWEST:
            raise TooFewSentencesError(
                f"{count:,} of {len(pairs):,} pairs have at least {length} tokens in reference and translation, "
                f"{_FEWEST} are needed: ask for shorter prefixes"
            )
    own_pairs = ParallelText(pairs.source, own_translations)
    data, own_distances = (_distances(model, oracle, side, lengths) for side in (pairs, own_pairs))
    usable = shorter[:, None] >= np.array(lengths)
    ties = float(np.mean([side["ties"][usable].mean() for side in (data, own_distances)]))
    return {name: _curve(name, data[name], own_distances[name], usable, lengths, level, ties) for name in distances}


def _check(
    model: Translator, oracle: Translator, pairs: ParallelText, lengths: Sequence[int], distances: Sequence[str]
) -> None:
    for name in distances:
        if name not in DISTANCES:
            raise unknown_name("distance", name, DISTANCES)
    if not lengths:
        raise OptionError("at least one length is needed, got none")
    for length in lengths:
        check_range("lengths", length, 0)
    for name, vocabulary in (("its oracle", oracle.vocabulary), ("the pairs", pairs.target.vocabulary)):
        if vocabulary is not model.vocabulary and vocabulary.tokens != model.vocabulary.tokens:
            raise OptionError(
                f"{model.name} and {name} have different vocabularies, of {len(model.vocabulary)} and "
                f"{len(vocabulary):,} tokens: train the oracle with 'train translation --like'"
            )


def _distances(
    model: Translator, oracle: Translator, pairs: ParallelText, lengths: Sequence[int]
) -> Mapping[str, FloatArray]:
    """Return the distances after the first tokens of each target, shapes (N, K); undefined beyond its end."""
    positions = np.array(lengths, dtype=np.int64)
    together = max(1, _LOGITS // (len(positions) * len(model.vocabulary)))
    order = np.argsort(pairs.target.lengths, kind="stable")
    table = np.empty((len(pairs), len(positions), len(COLUMNS)))

    def measure(rows: IntArray) -> None:
        block = pairs.take(rows)
        sides = [_with_end_first(side.prefix_logits(block, positions)) for side in (model, oracle)]
        if sides[0].dtype != sides[1].dtype:
            sides = [side.astype(np.float64) for side in sides]
        table[rows] = row_distances(sides[0], sides[1], first=SOS).reshape(len(rows), len(positions), -1)

    parallel_map(measure, [order[start : start + together] for start in range(0, len(order), together)])
    return {name: table[:, :, column] for column, name in enumerate(COLUMNS)}


def _with_end_first(logits: Logits) -> Logits:
    """Return rows of logits, (B K, V), with the end moved to the column of <sos>, so that all words are adjacent."""
    rows: Logits = logits.reshape(-1, logits.shape[-1]).copy()
    rows[:, SOS] = rows[:, EOS]
    return rows


def _curve(
    distance: str,
    data: FloatArray,
    model: FloatArray,
    usable: npt.NDArray[np.bool_],
    lengths: Sequence[int],
    level: float,
    ties: float,
) -> TranslationCurve:
    columns = [(data[kept, k], model[kept, k]) for k, kept in enumerate(usable.T)]
    cgd = np.array([[side.mean() for side in column] for column in columns])
    same = [str(length) for length, value in zip(lengths, cgd[:, 0].tolist(), strict=True) if value == 0]
    if same:
        warnings.warn(
            f"EB-C ({distance}) is undefined after {', '.join(same)} tokens: model and oracle agree after references",
            stacklevel=4,
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(cgd[:, 0] == 0, np.nan, cgd[:, 1] / cgd[:, 0])
        terms = [(m - r * d) / d.mean() for (d, m), r in zip(columns, ratio, strict=True)]

    def interval(value: float, terms: FloatArray) -> Interval | None:
        return terms_interval(value, [terms], level=level, method="t: delta method over pairs", low=0.0)

    return TranslationCurve(
        distance=distance,
        lengths=tuple(lengths),
        n_pairs=tuple(int(count) for count in usable.sum(0)),
        data=cgd[:, 0],
        model=cgd[:, 1],
        eb_c=ratio,
        data_intervals=tuple(interval(value, d) for value, (d, _) in zip(cgd[:, 0].tolist(), columns, strict=True)),
        model_intervals=tuple(interval(value, m) for value, (_, m) in zip(cgd[:, 1].tolist(), columns, strict=True)),
        eb_c_intervals=tuple(map(interval, ratio.tolist(), terms)),
        ties=ties,
    )
