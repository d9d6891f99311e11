"""A meta-evaluation for a terminal: the verdicts, the agreements, pairs and texts, and what a reader has to know."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.meta_evaluation import Judging, MetricVerdict
from textassay.report.console import heading, print_table, safe
from textassay.report.judge_words import findings_told, gold_told, verdict_told, wrong_told
from textassay.report.number import level, number, p_value, span
from textassay.report.old_text import render_findings

_MOST_PAIRS = 5
_NAME_WIDTH = 22
_WIDE = 100  # columns from which all intervals are shown


def render_judging(judging: Judging, console: Console) -> None:
    """Print what `judging` found on `console`, in its width."""
    render_findings(judging.findings, console, brief_notes=True)
    for sentence in findings_told(judging):
        console.print(Padding(safe(console, sentence, "bold"), (1, 0, 0, 2)))
    for verdict in judging.verdicts:
        heading(console, f"Which metric to trust, by {gold_told(verdict.gold)}")
        for sentence in verdict_told(judging, verdict):
            console.print(Padding(safe(console, sentence), (0, 0, 0, 2)))
    for verdict in judging.verdicts:
        heading(console, f"Agreement with {verdict.gold} over {len(judging.generators)} generators")
        _agreements(judging, verdict, console)
    wide = console.width >= _WIDE
    _note(
        console,
        f"tau: Kendall's tau-b with its {level(judging.level)} interval over other generators and texts"
        + (", or over other texts of these generators alone" if wide else "")
        + "; p: of luck, Holm's over all metrics; rho, r: Spearman, Pearson; wrong: pairs ordered the other way, in "
        "brackets of those that the gold tells apart" + ("; soft: soft pairwise accuracy." if wide else "."),
    )
    if judging.text_correlations:
        heading(console, f"Single texts: agreement with {judging.golds[0].name}")
        _texts(judging, console)
        _note(
            console,
            "within: mean over generators of the correlation among a generator's texts, with its interval over other "
            "generators and texts; p: that it is luck on these generators, not corrected; pooled: among all texts. A "
            "metric may rank generators well and know nothing of single texts.",
        )
    for verdict in judging.verdicts:
        for name in verdict.trusted[:1]:
            told = wrong_told(judging, verdict.gold, name)
            if told:
                heading(console, f"Pairs that {name} gets wrong though {verdict.gold} tells them apart")
                for sentence in told[:_MOST_PAIRS]:
                    console.print(Padding(safe(console, sentence), (0, 0, 0, 2)))
                if len(told) > _MOST_PAIRS:
                    _note(console, f"and {len(told) - _MOST_PAIRS} more; --json and --out list all of every metric")
    heading(console, "To know besides")
    for name, reason in judging.left_out.items():
        _note(console, f"{name} is left out: {reason}")
    for warning in judging.warnings:
        _note(console, warning)


def _agreements(judging: Judging, verdict: MetricVerdict, console: Console) -> None:
    wide = console.width >= _WIDE
    columns = ("metric", "tau", "interval", *(("other texts",) if wide else ()), "p", "rho", "r", "wrong")
    columns += ("soft",) if wide else ()
    table = _table(console, columns, (*verdict.order, *verdict.undefined))
    scores = {score.evaluator: score for score in judging.pair_scores if score.gold == verdict.gold}
    for name in (*verdict.order, *verdict.undefined):
        tau, rho, r = (judging.agreement(verdict.gold, name, kind) for kind in ("kendall", "spearman", "pearson"))
        score = scores[name]
        best = name in verdict.trusted
        table.add_row(
            safe(console, f"*{name}" if best else name, "bold green" if best else ""),
            number(tau.value, 2),
            safe(console, span(tau.low, tau.high, 2), "dim"),
            *([safe(console, span(tau.low_texts, tau.high_texts, 2), "dim")] if wide else []),
            p_value(tau.p_adjusted),
            number(rho.value, 2),
            number(r.value, 2),
            f"{score.n_wrong} ({score.n_wrong_separated})",
            *([number(score.soft_accuracy, 2)] if wide else []),
        )
    print_table(console, table, indent=0)
    score = scores[(*verdict.order, *verdict.undefined)[0]]
    _note(console, f"{score.n_pairs} pairs, {score.n_separated} of them told apart by {verdict.gold}.")


def _texts(judging: Judging, console: Console) -> None:
    found = {(t.evaluator, t.grouping, t.kind): t for t in judging.text_correlations}
    names = list(dict.fromkeys(t.evaluator for t in judging.text_correlations))
    wide = console.width >= _WIDE
    columns = ("metric", "within: tau", "interval", "p", *(("rho",) if wide else ()), "pooled: tau")
    table = _table(console, columns + (("interval", "rho") if wide else ()), names)
    names.sort(key=lambda name: -_sortable(found[name, "group by generator", "kendall"].value))
    for name in names:
        within, rho = (found[name, "group by generator", kind] for kind in ("kendall", "spearman"))
        pooled, pooled_rho = (found[name, "no grouping", kind] for kind in ("kendall", "spearman"))
        table.add_row(
            safe(console, name),
            number(within.value, 2),
            safe(console, span(within.low, within.high, 2), "dim"),
            p_value(within.p),
            *([number(rho.value, 2)] if wide else []),
            number(pooled.value, 2),
            *([safe(console, span(pooled.low, pooled.high, 2), "dim")] if wide else []),
            *([number(pooled_rho.value, 2)] if wide else []),
        )
    print_table(console, table, indent=0)


def _sortable(value: float) -> float:
    return -2.0 if value != value else value


def _table(console: Console, columns: Sequence[str], names: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1), header_style="dim")
    for place, name in enumerate(columns):
        if place == 0:
            table.add_column(safe(console, name), overflow="fold", min_width=min(_NAME_WIDTH, 1 + max(map(len, names))))
        else:
            table.add_column(safe(console, name), justify="right", no_wrap=True)
    return table


def _note(console: Console, text: str) -> None:
    console.print(Padding(safe(console, text, "dim"), (0, 0, 0, 2)))
