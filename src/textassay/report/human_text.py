"""An analysis of judgements on a terminal: how well people told real from generated text, and how far they agreed."""

import math
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.human import GeneratorVerdict, HumanAnalysis, JudgedText, Share, Verdict
from textassay.report.console import heading, label_grid, print_table, safe
from textassay.report.number import MISSING, count, counted, interval, number, p_value, span
from textassay.report.number import level as percent_of
from textassay.report.words import shorten

_TEXT_WIDTH = 90
_SIDES = ("all texts", "real, judged real", "generated, judged fake")
_MOST_RATERS = 10
_NARROW = 0.05  # intervals at least so wide are shown without decimals, with all in their table
_MOST_VARIANTS = 8


def render_analysis(analysis: HumanAnalysis, console: Console) -> None:
    """Print `analysis` on `console`, in its width."""
    _print_sizes(analysis, console)
    share = percent_of(analysis.settings["level"])
    if analysis.by_majority is not None:
        _print_accuracy(analysis, analysis.by_majority, console, share)
    _print_generators(analysis, console, share)
    _print_agreement(analysis, console, share)
    _print_raters(analysis, console)
    _print_texts(analysis, console)
    _print_reasons(analysis, console)
    if analysis.warnings:
        heading(console, "To be read with care")
        for warning in analysis.warnings:
            console.print(Padding(safe(console, f"· {warning}"), (0, 0, 0, 2), expand=False))


def _print_sizes(analysis: HumanAnalysis, console: Console) -> None:
    sizes = analysis.sizes
    heading(console, "Judgements")
    grid = label_grid()
    votes = ", ".join(f"{count(n)} with {votes}" for votes, n in analysis.votes.items())
    rows = {
        "judgements": f"{count(sizes['n_judgements'])} by {counted(sizes['n_raters'], 'rater')}",
        "texts": f"{count(sizes['n_real'])} real and {count(sizes['n_generated'])} generated, on "
        f"{counted(sizes['n_pages'], 'page')}",
        "votes a text": votes,
        **(
            {"left out": "; ".join(note.removeprefix("left out: ") for note in analysis.notes)}
            if analysis.notes
            else {}
        ),
    }
    for name, text in rows.items():
        grid.add_row(name, safe(console, text))
    print_table(console, grid, indent=0)


def _print_accuracy(analysis: HumanAnalysis, majority: Verdict, console: Console, share: str) -> None:
    heading(console, "How often people are right, in %")
    table = _table()
    table.add_column("")
    for verdict in analysis.verdicts:
        table.add_column(verdict.name, justify="right", no_wrap=True)
        table.add_column(share, no_wrap=True)
    for side, name in enumerate(_SIDES):
        cells = [cell for verdict in analysis.verdicts for cell in _percent(verdict.rates[side])]
        table.add_row(safe(console, name), *cells)
    _print(table, console)
    sizes = f"{counted(majority.n_items, 'text')}, {counted(majority.n_ties or 0, 'tie')}"
    _remark(console, f"H1: {analysis.by_judgement.rule}. H2: {majority.rule}: {sizes}.")
    if analysis.variants:
        variants = _table()
        for name, justify in (("H2 by another rule", "left"), ("texts", "right"), ("ties", "right")):
            variants.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
        for name in ("all", "real", "generated"):
            variants.add_column(name, justify="right", no_wrap=True)
        for one in analysis.variants[:_MOST_VARIANTS]:
            rates = (one.accuracy, one.true_positive_rate, one.true_negative_rate)
            variants.add_row(
                safe(console, one.rule.removeprefix("majority of each item's votes, ")),
                count(one.n_items),
                count(one.n_ties),
                *(MISSING if rate is None else f"{100 * rate:.2f}" for rate in rates),
            )
        console.print()
        _print(variants, console)


def _print_generators(analysis: HumanAnalysis, console: Console, share: str) -> None:
    first = analysis.by_judgement
    if not first.generators:
        return
    is_vote = analysis.by_majority is not None
    heading(console, "Judged fake, in % (fewer is better)" if is_vote else "Mean ratings (more is better)")
    table = _table()
    table.add_column("generator", overflow="fold")
    table.add_column("rank", justify="right", no_wrap=True)
    for verdict in analysis.verdicts:
        table.add_column(verdict.name if is_vote else "rating", justify="right", no_wrap=True)
        table.add_column(share, no_wrap=True)
    table.add_column("p", justify="right", no_wrap=True)
    table.add_column("texts", justify="right", no_wrap=True)
    bounds = [row.share.interval for verdict in analysis.verdicts for row in verdict.generators]
    places = 0 if any(one is not None and one.high - one.low > _NARROW for one in bounds) else 1
    far = {pair.a: pair.p_adjusted for pair in first.from_real}
    sign = 1.0 if is_vote else -1.0
    rows = sorted(first.generators, key=lambda row: sign * row.share.value)
    for row in [*rows, *([first.real] if first.real is not None else [])]:
        told = "" if row is first.real else p_value(far.get(row.generator))
        cells = [
            cell for verdict in analysis.verdicts for cell in _cells(verdict, row.generator, places, is_vote=is_vote)
        ]
        name = "real text" if row is first.real else row.generator
        style = "dim" if row is first.real else ""
        table.add_row(safe(console, name, style), _ranks(row), *cells, told, count(row.n_items))
    _print(table, console)
    ranked = f"by {first.name}; ranks that overlap may be luck" if is_vote else "ranks that overlap may be luck"
    _remark(console, f"Rank: {ranked}. p: to differ so much from real text by luck. Both by Holm's method.")


def _print_agreement(analysis: HumanAnalysis, console: Console, share: str) -> None:
    if not analysis.agreement:
        return
    heading(console, "Agreement beyond chance")
    table = _table()
    table.add_column("coefficient")
    table.add_column("of", overflow="fold")
    for name in ("value", share, "texts", "votes"):
        table.add_column(name, justify="right", no_wrap=True)
    names = {"fleiss-kappa": "Fleiss' kappa", "krippendorff-alpha": "Krippendorff's alpha"}
    for one in analysis.agreement:
        table.add_row(
            names.get(one.measure, "a rater and the others"),
            safe(console, one.labels + ("" if one.items == "all" else f", {one.items} texts")),
            number(one.value, 4),
            interval(one.interval, 3),
            count(one.n_items),
            "any" if one.n_votes is None else str(one.n_votes),
        )
    _print(table, console)


def _print_raters(analysis: HumanAnalysis, console: Console) -> None:
    heading(console, "Raters")
    flagged = [rater for rater in analysis.raters if rater.flags]
    if not flagged:
        _remark(console, f"None is suspicious. {_what_was_checked(analysis)}")
        return
    table = _table()
    table.add_column("suspicious", overflow="fold")
    table.add_column("why", overflow="fold")
    for name in ("judged", "right %", "real %", "like the others %"):
        table.add_column(name, justify="right", no_wrap=True)
    for rater in flagged[:_MOST_RATERS]:
        shown = (rater.accuracy, rater.share_real, rater.agreement)
        cells = [f"{100 * one:.0f}" if math.isfinite(one) else MISSING for one in shown]
        table.add_row(safe(console, rater.rater), safe(console, "; ".join(rater.reasons)), count(rater.n), *cells)
    _print(table, console)
    rest = f"{len(flagged) - _MOST_RATERS} more are in the files of --out. " if len(flagged) > _MOST_RATERS else ""
    _remark(console, f"{rest}{len(flagged)} of {counted(len(analysis.raters), 'rater')}. {_what_was_checked(analysis)}")


def _what_was_checked(analysis: HumanAnalysis) -> str:
    checks = ["one answer to everything"]
    if analysis.by_majority is not None:
        checks += ["answers in a pattern", "the same mistakes as another", "right less often than others"]
    if any(rater.seconds is not None for rater in analysis.raters):
        checks.append(f"under {analysis.settings['min_seconds']:g} s a text, or far faster than others")
        unknown = ""
    else:
        unknown = " Times are not known."
    return f"Checked: {'; '.join(checks)}.{unknown}"


def _print_texts(analysis: HumanAnalysis, console: Console) -> None:
    is_vote = analysis.by_majority is not None
    for name, texts in (
        ("Generated, and taken for real" if is_vote else "Generated, and rated highest", analysis.taken_for_real),
        ("Real, and taken for fake" if is_vote else "Real, and rated lowest", analysis.taken_for_fake),
    ):
        if texts:
            heading(console, name)
            _print_list(texts, console, is_vote=is_vote)
    if analysis.disputed:
        heading(console, "Most disputed, the first of each (all in --json and --out)")
        _print_list([one.texts[0] for one in analysis.disputed], console, is_vote=is_vote)


def _print_list(texts: Sequence[JudgedText], console: Console, *, is_vote: bool) -> None:
    table = _table()
    for name in ("text", "by"):
        table.add_column(name, no_wrap=True)
    table.add_column("real" if is_vote else "mean", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for text in texts:
        said = f"{round(text.mean * text.n)}/{text.n}" if is_vote else number(text.mean, 2)
        table.add_row(
            safe(console, shorten(text.id, 20)),
            safe(console, "a person" if text.generator is None else shorten(text.generator, 22)),
            said,
            safe(console, shorten(" ".join(text.text.split()), _TEXT_WIDTH)),
        )
    _print(table, console)


def _print_reasons(analysis: HumanAnalysis, console: Console) -> None:
    found = analysis.reasons
    if found is None or not found.n_comments:
        return
    heading(console, "Why, by what the comments say")
    table = _table()
    table.add_column("reason", overflow="fold")
    for name in ("comments", "%"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, n in sorted(found.counts.items(), key=lambda pair: -pair[1]):
        table.add_row(safe(console, found.titles[name]), count(n), f"{100 * n / found.n_comments:.0f}")
    table.add_row("(none of these)", count(len(found.uncoded)), f"{100 * len(found.uncoded) / found.n_comments:.0f}")
    _print(table, console)
    _remark(
        console,
        f"{counted(found.n_comments, 'comment')}, besides {count(found.n_empty)} that say nothing; one may give "
        "several reasons. Found by keywords: --reasons FILE takes another list.",
    )


def _percent(share: Share | None, places: int = 1) -> tuple[str, str]:
    if share is None:
        return MISSING, ""
    bounds = share.interval
    if bounds is None:
        return f"{100 * share.value:.2f}", ""
    return f"{100 * share.value:.2f}", span(100 * bounds.low, 100 * bounds.high, places)


def _cells(verdict: Verdict, generator: str, places: int, *, is_vote: bool) -> tuple[str, str]:
    rows = [*verdict.generators, *([verdict.real] if verdict.real is not None else [])]
    row = next((row for row in rows if row.generator == generator), None)
    if row is None:
        return MISSING, ""
    return _percent(row.share, places) if is_vote else (number(row.share.value, 3), interval(row.share.interval, 3))


def _ranks(row: GeneratorVerdict) -> str:
    if row.rank_low is None:
        return ""
    return str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}-{row.rank_high}"


def _remark(console: Console, text: str) -> None:
    console.print(Padding(safe(console, text, "dim"), (0, 0, 0, 2), expand=False))


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")


def _print(table: Table, console: Console) -> None:
    print_table(console, table)
