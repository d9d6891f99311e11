"""At least what share of texts is machine-written, as a report."""

from collections.abc import Iterator
from functools import partial

from textassay.comparison.occurrence_mixture import MixtureShare
from textassay.comparison.share import SEEN, CorpusShare, Share
from textassay.report.document import Document, Paragraph, items, section, sections
from textassay.report.table import (
    Column,
    ItemColumn,
    Table,
    count_cell,
    interval_cell,
    number_cell,
    percent_interval_cell,
    percents,
    record,
    text_cell,
)
from textassay.report.text import count, level, number

_PLACES, _DD_PLACES = 1, 3  # of percentages, of dd
_NUMBER, _INTERVAL = partial(number_cell, places=_DD_PLACES), partial(interval_cell, places=_DD_PLACES)
_RECORDED = ("name", "n_texts", "at_least", "certified", "distance", "low", "high", "seen")


def share_document(share: Share) -> Document:
    """Return the bounds of the shares as a report."""
    facts = [("Texts", f"{count(share.n_real)} clean human texts"), ("Classifier", share.judge)]
    if share.drift is not None:
        facts.append(
            ("Drift", f"clean later text is at most {number(share.drift, _DD_PLACES)} away from the clean text")
        )
    return Document(
        "Lower bound for the machine-written share",
        tuple(_verdict(one, share) for one in share.corpora),
        tuple(facts),
        sections(
            section("", *(Paragraph(text, "warning") for text in share.warnings)),
            section("Shares", _table(share), *items([*_beside(share)])),
            section("What the numbers mean", *items([*_meanings(share)]), extra=True),
        ),
        records=(record("shares", _RECORDED, [[getattr(one, name) for name in _RECORDED] for one in share.corpora]),),
    )


def _verdict(one: CorpusShare, share: Share) -> str:
    sure = level(share.level)
    if one.at_least > 0:
        beyond = f", which is above {_percent(share.at_most)}" if 0 < share.at_most < one.at_least else ""
        return f"{one.name}: at least {_percent(one.at_least)} differs from the clean human text ({sure}){beyond}."
    if one.is_unknown:
        return (
            f"{one.name}: inconclusive: nothing was found; a share of {_percent(SEEN)} could have gone undetected, "
            f"one of {_percent(one.seen)} not."
        )
    return (
        f"{one.name}: nothing was found; a share of {_percent(one.seen)} of text that the classifier detects would "
        "have been."
    )


def _percent(part: float) -> str:
    return f"{number(100 * part, _PLACES)} %"


def _table(share: Share) -> Table:
    columns: list[ItemColumn] = [
        ("corpus", lambda one: one.name, text_cell),
        ("texts", lambda one: one.n_texts, count_cell),
        (Column("at least, %", note="of the corpus, drift subtracted"), lambda one: one.at_least, percents(_PLACES)),
        (Column("dd", note="distance from the clean text"), lambda one: one.distance, _NUMBER),
        (Column("interval", note="all bounds hold jointly"), lambda one: (one.low, one.high), _INTERVAL),
        (Column("seen, %", note="smallest share detected with probability 0.8"),
         lambda one: one.seen, percents(_PLACES)),
    ]  # fmt: skip
    if share.corpora[0].by_words is not None:
        columns += [
            (Column("by words, %", note="the most likely share of text like the machine text"),
             lambda one: one.by_words.value, percents(_PLACES)),
            (f"{level(share.level)} ", lambda one: (one.by_words.low, one.by_words.high),
             partial(percent_interval_cell, places=_PLACES)),
        ]  # fmt: skip
    return Table.of_items("shares", share.corpora, columns, main=True)


def _beside(share: Share) -> Iterator[str]:
    if share.later_by_words is not None:
        yield f"In the clean later text, which has no such share, words estimate {_of_words(share.later_by_words)}."


def _of_words(found: MixtureShare) -> str:
    return f"{_percent(found.value)} [{_percent(found.low)}, {_percent(found.high)}]"


def _meanings(share: Share) -> Iterator[str]:
    yield (
        "At least: in total variation, clean text mixed with a share s of other text is at most s from clean text. "
        "So a lower bound of that distance bounds s, too: the certified bound, or the lower end of dd's interval."
    )
    if share.drift is not None:
        yield (
            "Drift: an upper limit of the distance between clean later text and the clean text, by this classifier. "
            "It is subtracted."
        )
    if share.corpora[0].by_words is not None:
        yield (
            "By words: estimated from the words that texts contain (Liang et al., 2024). It needs machine-written "
            "text of the same kind."
        )
    yield "There is no upper bound: text that the classifier cannot distinguish from clean text may be of any origin."
