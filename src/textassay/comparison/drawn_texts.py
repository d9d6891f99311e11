"""The texts that `compare`, `explain` and `plan` measure: given ones, and those that they draw from generators.

Every set of texts is encoded once, however often dd is measured while texts are drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textassay.comparison.columns import LOG_PROBS, attach_columns
from textassay.comparison.comparison import FIT_REAL, FLOOR, TRAIN
from textassay.comparison.drawing import Drawn, LogProbs, draw_all
from textassay.comparison.encoded_texts import EncodedTexts
from textassay.comparison.kept_draws import DRAWS
from textassay.comparison.measure import Progress
from textassay.comparison.sources import Budget, Source, is_source, open_source
from textassay.corpus import Corpus, Texts, as_texts, corpora_from_texts, kept_texts, with_shared_ids
from textassay.errors import OptionError, TooFewSentencesError
from textassay.storage import ENCODED_TEXTS

if TYPE_CHECKING:
    from textassay.comparison.learning_curve import Judgement
    from textassay.discriminator import Prior


@dataclass(frozen=True)
class Learning:
    """How dd is measured that decides how much is drawn, as the final one but at the effort ``quick``."""

    folds: int
    level: float
    seed: int
    prior: "Prior | None" = None
    learns_from: Sequence[str] = ()  # sets of texts: ``(train)``, ``(fit-real)``
    reads_log_probs: bool = True
    measured: bool = True  # whether dd is among the metrics
    independent: bool = False  # whether texts are taken for independent draws, and not examined

    @property
    def least(self) -> int:
        """How many texts dd needs."""
        from textassay.metric import SENTENCES_PER_FOLD

        return SENTENCES_PER_FOLD * (self.folds if self.folds > 1 else 5)


def open_sources(generated: Mapping[str, Texts | Source], budget: int | str | None) -> dict[str, Source]:
    """Return the generators among `generated`; raise where a budget is given and there are none."""
    sources = {name: open_source(source) for name, source in generated.items() if is_source(source)}
    if budget is not None and not sources:
        raise OptionError("budget is for generators that are drawn from, and all texts are given: leave it out")
    return sources


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
    learning: Learning,
    *,
    named: Mapping[str, Any],
    real: Corpus,
    real_texts: Sequence[str],
    budget: int | str | None,
    own_log_probs: bool,
    with_log_probs: Sequence[str] = (),
    out: Path | str | None,
    progress: Progress | None,
) -> Drawn:
    """Return what the generators drew, and their log-probabilities where all have them; `encoded` gets the draws."""

    def judge(name: str, texts: Sequence[str], log_probs: LogProbs | None) -> "Judgement":
        from textassay.comparison.learning_curve import judge  # loads the classifiers

        encoded.grow(name, texts, len(texts))
        corpora = encoded.corpora([FLOOR, *learning.learns_from, name], {name: len(texts)})
        sides = [corpora[FLOOR].without_columns(), corpora[name]]
        if log_probs is not None and learning.reads_log_probs:
            columns = zip(sides, reversed(log_probs), strict=True)
            sides = [replace(side, columns={f"{LOG_PROBS}/{name}": column}) for side, column in columns]
        return judge(
            *sides, effort="quick", folds=learning.folds, level=learning.level, seed=learning.seed,
            prior=learning.prior, fit_real=corpora.get(FIT_REAL), trained_on=corpora.get(TRAIN),
        )  # fmt: skip

    drawn = draw_all(
        sources,
        named=named,
        real=real,
        real_texts=real_texts,
        budget=Budget.of(budget, len(real)),
        least=learning.least,
        level=learning.level,
        seed=learning.seed,
        folder=None if out is None else Path(out) / DRAWS,
        judge=judge if learning.measured and len(real) >= learning.least else None,
        progress=progress,
        scored=own_log_probs,
        with_log_probs=with_log_probs,
    )
    for name, texts in drawn.texts.items():
        encoded.grow(name, texts, len(texts))
    return drawn


def read_and_draw(
    generated: Mapping[str, Texts | Source],
    real: Texts,
    learning: Learning,
    *,
    reading: Mapping[str, Any],
    more: Mapping[str, Texts] | None = None,
    budget: int | str | None = None,
    own_log_probs: bool = True,
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Corpus], Drawn]:
    """Return real text, under ``(real)``, and that of every generator as corpora, and what was drawn of it.

    `more`: sets of texts that dd learns from. Texts of generators have their log-probabilities where all have them.
    """
    sources = open_sources(generated, budget)
    given = {name: texts for name, texts in generated.items() if name not in sources}
    more = more or {}
    if not sources:
        texts = {FLOOR: real, **given, **more}
        read = {name: each if isinstance(each, Corpus) else as_texts(each, name) for name, each in texts.items()}
        if not learning.independent:
            read, _ = with_shared_ids(read, FLOOR, given)
        return corpora_from_texts(read, **reading), Drawn((), {}, {}, ())
    real = real if isinstance(real, Corpus) else as_texts(real, FLOOR)
    encoded = encode_all({FLOOR: real, **more, **given}, reading, out)
    corpora = encoded.corpora([FLOOR, *more, *given])
    for name, corpus in corpora.items():
        if len(corpus) < learning.least and name not in more:
            raise TooFewSentencesError(f"{name}: dd needs at least {learning.least} texts a side, got {len(corpus)}")
    drawn = draw_beside(
        sources, encoded, replace(learning, learns_from=tuple(more)), named=generated, real=corpora[FLOOR],
        real_texts=real.texts, budget=budget, own_log_probs=own_log_probs, out=out, progress=progress,
    )  # fmt: skip
    corpora = encoded.corpora([FLOOR, *generated, *more], {name: len(texts) for name, texts in drawn.texts.items()})
    return attach_columns(corpora, generated, log_probs=drawn.log_probs), drawn
