"""The texts that `compare`, `explain` and `plan` measure: given ones, and those that they draw from generators.

Each set is encoded once, by itself, the given ones before anything is drawn. The corpora of any sets, in one
vocabulary, are made by renumbering tokens: they are those that one call of `corpora_from_texts` would have made of the
same sets in that order.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.comparison.columns import attach_columns
from textassay.comparison.comparison import FLOOR
from textassay.comparison.drawing import DRAWS, Drawn, draw_all
from textassay.comparison.measure import Progress
from textassay.comparison.sources import Source, is_source, open_source
from textassay.corpus.array_files import GrowingArray
from textassay.corpus.corpus import Corpus, Texts, corpora_from_texts
from textassay.corpus.encoding import SPECIAL_TOKENS, Interner, Unit, Vocabulary
from textassay.corpus.groups import with_shared_ids
from textassay.corpus.kept_texts import kept_texts
from textassay.corpus.texts import as_texts
from textassay.corpus.tokenizer import AUTO, SpacingWarning
from textassay.errors import OptionError, TooFewSentencesError, check_range
from textassay.settings import Measuring
from textassay.storage import ENCODED_TEXTS

_BLOCK = 1 << 20  # tokens that are renumbered together


def least_for_dd(folds: int) -> int:
    """Return how many texts of a side dd needs."""
    from textassay.metric.discrepancy import SENTENCES_PER_FOLD

    return SENTENCES_PER_FOLD * (folds if folds > 1 else 5)


def open_sources(generated: Mapping[str, Texts | Source], draw: int | None) -> dict[str, Source]:
    """Return the generators among `generated`; raise where it is said how much to draw and there are none."""
    sources = {name: open_source(source) for name, source in generated.items() if is_source(source)}
    if draw is not None and not sources:
        raise OptionError("draw applies to generators that are sampled, but all texts are given: leave it out")
    check_range("draw", draw, 2)
    return sources


class EncodedTexts:
    """Named sets of texts, encoded; the tokeniser ``auto`` is chosen for the first of them."""

    def __init__(self, reading: Mapping[str, Any]) -> None:
        self._reading = dict(reading)
        self._sets: dict[str, Corpus] = {}  # each with a vocabulary of its own

    def add(self, name: str, source: Texts) -> None:
        """Encode `source` as the set `name`."""
        with warnings.catch_warnings():
            if self._sets:  # the first one has said it
                warnings.simplefilter("ignore", SpacingWarning)
            corpus = corpora_from_texts({name: as_texts(source, name)}, **self._reading)[name]
        if not self._sets and self._reading.get("tokenizer", AUTO) == AUTO:
            self._reading["tokenizer"] = corpus.tokenizer.split("+")[0]
        self._sets[name] = replace(corpus, columns=source.columns) if isinstance(source, Corpus) else corpus

    def corpora(self, names: Iterable[str]) -> dict[str, Corpus]:
        """Return the corpora of these sets, in one vocabulary."""
        interner = Interner()
        interner.add(SPECIAL_TOKENS, Unit.STRING)
        tables = {name: interner.add(self._sets[name].vocabulary.tokens, Unit.STRING)[0] for name in names}
        vocabulary = Vocabulary.from_interner(interner)
        return {name: _renumbered(self._sets[name], table, vocabulary) for name, table in tables.items()}


def encode_all(texts: Mapping[str, Texts], reading: Mapping[str, Any], out: Path | str | None) -> EncodedTexts:
    """Return sets of texts, encoded one by one; large ones are kept in the folder `out`."""
    encoded = EncodedTexts(reading)
    with kept_texts(None if out is None else Path(out) / ENCODED_TEXTS):
        for name, source in texts.items():
            encoded.add(name, source)
    return encoded


def draw_beside(
    sources: Mapping[str, Source],
    encoded: EncodedTexts,
    settings: Measuring,
    *,
    named: Mapping[str, Any],
    real: Sequence[str],
    least: int,
    with_log_probs: Sequence[str] = (),
    out: Path | str | None,
    progress: Progress | None,
) -> Drawn:
    """Return what the generators drew, and their log-probabilities where all have them; `encoded` gets the draws.

    `least`: how many are needed.
    """
    n = len(real) if settings.draw is None else settings.draw
    if n < least:
        raise OptionError(f"draw must be at least {least} texts, which dd needs, got {n}")
    drawn = draw_all(
        sources,
        named=named,
        real=real,
        n=n,
        least=least,
        seed=settings.seed,
        folder=None if out is None else Path(out) / DRAWS,
        scored=not settings.no_log_probs,
        with_log_probs=with_log_probs,
        progress=progress,
    )
    for name, texts in drawn.texts.items():
        encoded.add(name, texts)
    return drawn


def read_and_draw(
    generated: Mapping[str, Texts | Source],
    real: Texts,
    settings: Measuring,
    *,
    more: Mapping[str, Texts] | None = None,
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Corpus], Drawn]:
    """Return real text, under ``(real)``, and that of every generator as corpora, and what was drawn of it.

    `more`: sets of texts that dd learns from. Texts of generators have their log-probabilities where all have them.
    """
    sources = open_sources(generated, settings.draw)
    given = {name: texts for name, texts in generated.items() if name not in sources}
    more = more or {}
    if not sources:
        texts = {FLOOR: real, **given, **more}
        read = {name: each if isinstance(each, Corpus) else as_texts(each, name) for name, each in texts.items()}
        if not settings.independent:
            read, _ = with_shared_ids(read, FLOOR, given)
        return corpora_from_texts(read, **settings.text), Drawn((), {}, {}, ())
    real = real if isinstance(real, Corpus) else as_texts(real, FLOOR)
    encoded = encode_all({FLOOR: real, **more, **given}, settings.text, out)
    least = least_for_dd(settings.n_folds)
    for name, corpus in encoded.corpora([FLOOR, *given]).items():
        if len(corpus) < least:
            raise TooFewSentencesError(f"{name}: dd needs at least {least} texts a side, got {len(corpus)}")
    drawn = draw_beside(
        sources, encoded, settings, named=generated, real=real.texts, least=least, out=out, progress=progress
    )
    corpora = encoded.corpora([FLOOR, *generated, *more])
    return attach_columns(corpora, generated, log_probs=drawn.log_probs), drawn


def _renumbered(corpus: Corpus, table: npt.NDArray[np.int32], vocabulary: Vocabulary) -> Corpus:
    """Return a corpus in another vocabulary; `table` has the number there of each of its own tokens."""
    tokens = corpus.tokens
    if not np.array_equal(table, np.arange(len(table))):
        renumbered: GrowingArray[np.int32] = GrowingArray(np.int32)
        for start in range(0, len(tokens), _BLOCK):
            renumbered.append(table[tokens[start : start + _BLOCK]])
        tokens = renumbered.array()
    found = replace(corpus, tokens=tokens, vocabulary=vocabulary)
    found.__dict__["fingerprint"] = corpus.fingerprint  # the texts are the same
    return found
