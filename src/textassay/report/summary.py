"""A comparison in a screen of Markdown, for a pull request or a job's page: verdicts, intervals, floor, warnings."""

from collections.abc import Sequence
from dataclasses import replace

from textassay.comparison.comparison import Comparison
from textassay.comparison.verdicts import Verdict
from textassay.report.answer import answer
from textassay.report.comparison import legend, main_metrics_table, main_table, warning_messages
from textassay.report.digest import Digest
from textassay.report.document import Cell, Column, Document, Paragraph, Table, items, notes, section
from textassay.report.explanation import giveaway_items
from textassay.report.markdown import to_markdown
from textassay.report.number import MISSING, count, interval, level, number, p_value

_VERDICTS: dict[Verdict | None, str] = {
    "separated": "told from real text",
    "hardly": "barely told from real text",
    "negligible": "not told from real text",
    "open": "not clear",
    "blind": "not clear: most texts could not be judged",
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
    sections = [
        section("", *(Paragraph(f"Fails: {failure}", "item") for failure in failures)),
        section("", _verdicts_table(digest)),
        section("", _others_table(digest)),
        section("Warnings", *items(warning_messages(digest))),
        section("What gives it away" if len(explained) == 1 else "What gives them away", *giveaways),
        section("", *notes(_settings(digest))),
    ]
    return Document(
        title=f"Generated text against {comparison.real.name}",
        answer=answer(digest),
        version=comparison.version,
        sections=tuple(one for one in sections if one.parts),
    )


def comparison_summary(comparison: Comparison, *, failures: Sequence[str] = ()) -> str:
    """Return the summary as Markdown whose title is a heading of the third level."""
    return to_markdown(summary_document(comparison, failures=failures), figures=None, depth=3)


def _verdicts_table(digest: Digest) -> Table | None:
    """Return the verdict, value, interval and p of every generator by the headline, and what real text scores."""
    metric = digest.headline
    if metric is None:
        return None
    places = digest.places(metric)
    columns = [
        Column("generator", numeric=False),
        Column("texts"),
        Column("verdict", numeric=False),
        Column(metric, better=digest.better(metric)),
        Column(f"{level(digest.comparison.level)} interval"),
        Column("real text"),
        Column("p"),
        Column("rank"),
    ]
    rows = []
    for name in digest.order:
        estimate, floor = digest.shown(name, metric), digest.floor(name, metric)
        size, p = digest.size(name), digest.detail(name, metric, "p_value")
        rows.append([
            Cell(name),
            Cell("" if size is None else count(size), size),
            Cell(_VERDICTS[digest.verdict(name, metric)] if estimate is not None else "no value"),
            Cell(MISSING) if estimate is None else Cell(number(estimate.value, places), estimate.value,
                                                       tone="best" if name in digest.marked(metric) else ""),
            Cell("" if estimate is None else interval(estimate.interval, places)),
            Cell(MISSING) if floor is None else Cell(number(floor.value, places), floor.value),
            Cell("" if p is None else p_value(p), p),
            Cell(digest.rank_text(name, metric) if len(digest.order) > 1 else ""),
        ])  # fmt: skip
    kept = [place for place in range(len(columns)) if any(row[place].text for row in rows)]
    errors = [f"{MISSING}: {reason}." for reason, _ in digest.errors([metric])]
    return Table.of(
        "verdicts",
        [columns[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        notes=[f"real text is {digest.floor_note}.", *errors],
    )


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
