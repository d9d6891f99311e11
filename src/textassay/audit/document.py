"""What an audit has found, as a report: the answer, the looks, and the prompts that changed most."""

from textassay.audit.folder import Look
from textassay.audit.run import Audit
from textassay.report.document import Document, Section, notes, section, sections
from textassay.report.table import Cell, Column, Table, count_cell, numbers, p_cell, text_cell
from textassay.report.text import count, counted, decimals, number, shorten, span
from textassay.resampling.change import THRESHOLD

_MOST_LOOKS = 5  # on a terminal
_WIDTH = 60  # characters of an answer
_PLAIN = 1e6  # evidence from which on it is given as a power of ten


def audit_document(audit: Audit) -> Document:
    """Return an audit as a report."""
    return Document(
        "Is the model still what it was?",
        (_verdict(audit), *_how_far(audit), *_unasked(audit)),
        tuple(_facts(audit)),
        sections(_prompts(audit), _looks(audit)),
    )


def _verdict(audit: Audit) -> str:
    evidence = f"evidence {_evidence(audit.largest)}, and {THRESHOLD:g} decides"
    if audit.since is not None:
        at = _when(audit.looks[audit.since - 1])
        return f"Changed since look {audit.since} of {len(audit.looks)} ({at} UTC): {evidence}."
    if audit.verdict == "could not tell":
        return f"Inconclusive: {audit.reason}; {evidence}."
    return f"No change found in {counted(len(audit.looks), 'look')}: {evidence}."


def _how_far(audit: Audit) -> list[str]:
    said = []
    if audit.dd is not None:
        bounds = audit.interval
        places = decimals(audit.dd, None if bounds is None else (bounds.high - bounds.low) / 2)
        within = "" if bounds is None else f" {span(bounds.low, bounds.high, places)}"
        since = "since then" if audit.changed else "of all looks"
        said.append(f"New answers {since} differ from earlier ones by dd {number(audit.dd, places)}{within}.")
    if audit.log_prob_shift is not None:
        said.append(f"Log-probabilities of first tokens moved by {audit.log_prob_shift:.3g} nats on average.")
    return said


def _unasked(audit: Audit) -> list[str]:
    is_over = audit.changed and not audit.n_new
    return (
        ["No new answers were tested: this audit had already found a change. Start a new audit to go on."]
        if is_over
        else []
    )


def _facts(audit: Audit) -> list[tuple[str, str]]:
    facts = [] if audit.model is None else [("Model", audit.model)]
    facts.append(("Reference", f"{counted(audit.n_reference, 'answer')} to {counted(audit.n_prompts, 'prompt')}"))
    if audit.requests is not None:
        of = "" if audit.budget is None else f" of {count(audit.budget)}"
        tokens = "" if audit.tokens is None else f", {count(audit.tokens)} tokens of answers"
        facts.append(("Requests", f"{count(audit.requests)}{of}{tokens}"))
    return facts


def _prompts(audit: Audit) -> Section:
    table = Table.of_items("prompts", audit.prompts, [
        ("prompt", lambda one: shorten(one.prompt, _WIDTH), text_cell),
        ("score", "score", numbers(1)),
        (Column("an earlier answer", numeric=False, hidden=True), "earlier", text_cell),
        (Column("a new answer", numeric=False, hidden=True), "new", text_cell),
    ], notes=("Scores are in standard deviations under no change.",) * bool(audit.prompts))  # fmt: skip
    return section("Prompts that changed most", table)


def _looks(audit: Audit) -> Section:
    shown = list(enumerate(audit.looks, start=1))
    n_more = max(0, len(shown) - _MOST_LOOKS)
    table = Table.of_items("looks", shown[n_more:], [
        ("look", lambda row: count(row[0]), text_cell),
        ("when (UTC)", lambda row: _when(row[1]), text_cell),
        ("answers", lambda row: row[1].n, count_cell),
        ("p", lambda row: row[1].p_value, p_cell),
        ("evidence", lambda row: Cell(_evidence(row[1].e), row[1].e), lambda cell: cell),
        (Column("shown most by", numeric=False), lambda row: row[1].shown_by, text_cell),
    ])  # fmt: skip
    return section("Looks", table, *notes(f"and {n_more} earlier" * bool(n_more)))


def _when(look: Look) -> str:
    return look.at.removesuffix("+00:00").replace("T", " ")


def _evidence(e: float) -> str:
    return f"{e:.1e}" if e >= _PLAIN else f"{e:,.3g}" if e < 1000 else f"{e:,.0f}"
