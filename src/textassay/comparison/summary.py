"""A comparison in a screen of Markdown, for a pull request or a job's page: verdicts, intervals, floor, warnings."""

from collections.abc import Sequence
from dataclasses import replace

from textassay.comparison.answer_sentences import answer
from textassay.comparison.comparison import Comparison
from textassay.comparison.digest import Digest
from textassay.comparison.document import legend, main_metrics_table, main_table, warning_messages
from textassay.comparison.equivalence_document import equivalence_section
from textassay.comparison.explanation_document import giveaway_items, nothing_stands_out
from textassay.comparison.verdicts import Verdict
from textassay.report.document import Document, Paragraph, items, notes, section, sections
from textassay.report.markdown import to_markdown
from textassay.report.table import (
    Cell,
    Column,
    Table,
    as_is,
    count_cell,
    intervals,
    number_cell,
    numbers,
    text_cell,
)
from textassay.report.text import MISSING, count, level

_VERDICTS: dict[Verdict | None, str] = {
    "separated": "distinguished from real text",
    "hardly": "barely distinguished from real text",
    "negligible": "not distinguished from real text",
    "open": "not clear",
    "blind": "not clear: most texts could not be classified",
    "unknown": "no interval",
    None: "no interval",
}
_MOST_EXPLAINED = 4  # generators


def summary_document(comparison: Comparison, *, failures: Sequence[str] = ()) -> Document:
    """Return the answer, a row a generator, the main metrics, the warnings; first what makes a check fail."""
    digest = Digest(comparison)
    explanations = {one.generator: one for one in comparison.explanations}
    explained = [explanations[name] for name in digest.order if name in explanations][:_MOST_EXPLAINED]
    giveaways = [
        Paragraph(f"{one.generator}: {part.text}", "item") for one in explained for part in giveaway_items(one)
    ]
    return Document(
        f"Generated text against {comparison.real.name}",
        answer(digest),
        sections=sections(
            section("", *(Paragraph(f"Fails: {failure}", "item") for failure in failures)),
            equivalence_section(digest),
            section("", None if digest.headline is None else _verdicts_table(digest, digest.headline)),
            section("", _others_table(digest)),
            section("Warnings", *items(warning_messages(digest))),
            section(
                "What gives it away" if len(explained) == 1 else "What gives them away",
                *giveaways,
                *nothing_stands_out(explained),
            ),
            section("", *notes(_settings(digest))),
        ),
        version=comparison.version,
    )


def comparison_summary(comparison: Comparison, *, failures: Sequence[str] = ()) -> str:
    """Return the summary as Markdown whose title is a heading of the third level."""
    return to_markdown(summary_document(comparison, failures=failures), figures=None, depth=3)


def _verdicts_table(digest: Digest, metric: str) -> Table:
    """Return the verdict, value, interval and p of every generator by the headline, and what real text scores."""
    places = digest.places(metric)
    shown = {name: one for name in digest.order if (one := digest.shown(name, metric)) is not None}
    floors = {name: one for name in digest.order if (one := digest.floor(name, metric)) is not None}

    def value(name: str) -> Cell:
        cell = number_cell(digest.value(name, metric), places)
        return replace(cell, tone="best") if name in digest.marked(metric) else cell

    return Table.of_items("verdicts", digest.order, [
        ("generator", str, text_cell),
        ("texts", digest.size, count_cell),
        ("verdict", lambda name: _VERDICTS[digest.verdict(name, metric)] if name in shown else "no value", text_cell),
        (Column(metric, better=digest.better(metric)), value, as_is),
        (f"{level(digest.comparison.level)} interval", lambda name: shown[name].interval if name in shown else None,
         intervals(places)),
        ("real text", lambda name: floors[name].value if name in floors else None, numbers(places)),
        ("p", lambda name: Cell(digest.p_text(name, metric), digest.detail(name, metric, "p_value")), as_is),
        ("rank", lambda name: Cell(digest.rank_text(name, metric) if len(digest.order) > 1 else ""), as_is),
    ], notes=[
        f"real text is {digest.floor_note}.", *(f"{MISSING}: {reason}." for reason, _ in digest.errors([metric]))
    ]).compact()  # fmt: skip


def _others_table(digest: Digest) -> Table | None:
    """Return one metric a family, where there are others than the headline."""
    shown = main_table(digest)
    table = main_metrics_table(digest, fits=True) if len(shown) > 1 else None
    return None if table is None else replace(table, notes=(*table.notes, legend(digest, shown)))


def _settings(digest: Digest) -> str:
    comparison = digest.comparison
    tokenizer = digest.setting("tok")
    parts = [f"{count(comparison.real.n_sentences)} real texts", *([f"tokeniser {tokenizer}"] if tokenizer else [])]
    parts += [digest.learnt_note] if digest.learnt_note else []
    return f"{', '.join([*parts, f'seed {comparison.seed}', f'textassay {comparison.version}'])}."
