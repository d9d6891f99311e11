"""What a study needs, what it holds and what came back, for people to read on a terminal."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from textassay.estimate import Interval
from textassay.human import Accepted, Judgements, NextWordScore, Study
from textassay.report.console import heading, label_grid, print_table, safe
from textassay.report.number import count, counted, decimals, level, number, span
from textassay.resampling import tie_share


def render_study(study: Study, path: Path, console: Console) -> None:
    """Print the sizes of `study`, and what is known of its texts."""
    n_items = sum(not item.check for item in study.items)
    n_checks = sum(item.check for item in study.items)
    heading(console, study.title)
    grid = label_grid()
    n_pages = len(study.pages)
    n_submissions = n_pages * study.judgements_per_page
    rows = {
        "pages": f"{count(n_pages)} x {counted(study.judgements_per_page, 'rater')} = "
        f"{counted(n_submissions, 'submission')}",
        "items": f"{count(n_items)}, and {counted(n_checks, 'attention check')}",
        "seed": str(study.seed),
        "file": f"{path} (says who wrote what: keep it from participants)",
        "next": f"textassay human serve {shlex.quote(str(path.parent))}",
    }
    for label, text in rows.items():
        grid.add_row(label, safe(console, text))
    print_table(console, grid, indent=0)
    sides = {"(real)": study.settings.get("real"), **study.settings.get("generators", {})}
    if not all(isinstance(side, dict) for side in sides.values()):
        return
    table = Table(box=None, pad_edge=False)
    for name in ("", "shown", "of", "distinct", "also real", "rare %"):
        table.add_column(name, justify="left" if not name else "right")
    for name, side in sides.items():
        table.add_row(
            safe(console, name),
            count(side["shown"]),
            count(side["given"]),
            count(side["distinct"]),
            count(side["also_real"]) if "also_real" in side else "",
            f"{100 * side['mark_share']:.2f}",
        )
    heading(console, "Texts")
    print_table(console, table, indent=0)


def render_import(found: Accepted, judgements: Judgements, paths: Sequence[Path], console: Console) -> None:
    """Print how much counts, why the rest does not, and what is still open."""
    heading(console, "Submissions")
    grid = label_grid()
    n_open = sum(found.open_pages.values())
    still_open = f"{counted(n_open, 'submission')} of {counted(len(found.open_pages), 'page')}"
    rows = {
        "accepted": count(len(found.submissions)),
        "raters": count(len(judgements.raters)),
        "judgements": count(len(judgements)),
        "refused": count(len(found.refusals)),
        "still open": still_open if n_open else "nothing",
        "files": ", ".join(map(str, paths)),
    }
    for label, text in rows.items():
        grid.add_row(label, safe(console, text))
    print_table(console, grid, indent=0)
    if found.refusals:
        heading(console, "Refused")
        table = Table(box=None, pad_edge=False)
        table.add_column("rule")
        table.add_column("submissions", justify="right")
        for reason, n in Counter(one.rule for one in found.refusals).most_common():
            table.add_row(safe(console, reason), count(n))
        print_table(console, table, indent=0)


def render_exposure(score: NextWordScore, console: Console) -> None:
    """Print how often people disagreed with the model after both kinds of prefixes, and the ratio."""
    heading(console, f"Exposure bias of {score.model}")
    table = Table(box=None, pad_edge=False)
    for name in ("", "value", "interval", "judgements"):
        table.add_column(name, justify="left" if not name else "right")
    rows: tuple[tuple[str, float, Interval | None, int], ...] = (
        ("disagreement after prefixes of data", score.cgd_data, score.cgd_data_interval, score.n_data),
        ("disagreement after the model's own", score.cgd_model, score.cgd_model_interval, score.n_model),
        ("ratio, EB-C (1: no exposure bias)", score.eb_c, score.eb_c_interval, score.n_data + score.n_model),
    )
    for label, value, bounds, n in rows:
        places = decimals(value, None if bounds is None else (bounds.high - bounds.low) / 2)
        shown = "" if bounds is None else f"{span(bounds.low, bounds.high, places)}"
        table.add_row(safe(console, label), number(value, places), shown, count(n))
    print_table(console, table, indent=0)
    known = score.eb_c_interval or score.cgd_data_interval
    if known is not None:
        text = f"{level(known.level)} intervals; {count(score.n_prefixes)} prefixes, raters: {count(score.n_raters)}"
        console.print(safe(console, text, "dim"))
    if score.spreads is not None:
        shown = ", ".join(number(spread, 3) for spread in score.spreads)
        console.print(safe(console, f"spread of the three over five groups of pages, as in the paper: {shown}", "dim"))


def render_power(document: Mapping[str, Any], console: Console) -> None:
    """Print how many texts are needed with each number of judges; `document` is what ``--json`` prints."""
    other, percent = document["other"], f"{100 * document['power']:g} %"
    what = f"from guessing (accuracy {document['accuracy']:g})"
    if other is not None:
        what = f"two generators apart (accuracies {document['accuracy']:g} and {other:g})"
    heading(console, f"Texts that tell {what} with power {percent}, two-sided at {level(document['level'])}")
    table = Table(box=None, pad_edge=False)
    names = ["judges a text", "texts a generator", "judgements a generator", "design effect"]
    for name in [*names, *([f"power of {document['texts']}"] if document["texts"] is not None else [])]:
        table.add_column(name, justify="right")
    for row in document["rows"]:
        cells = [count(row["judges"]), count(row["texts"]), count(row["judgements"]), f"{row['design_effect']:.2f}"]
        table.add_row(*cells, *([f"{row['power']:.3f}"] if "power" in row else []))
    print_table(console, table, indent=0)
    text = (
        f"correlation of judgements of one text {document['text_correlation']:.3f}, by one rater "
        f"{document['rater_correlation']:.3f}; texts of a generator a rater judges {document['texts_per_rater']:.2f}"
    )
    console.print(safe(console, text, "dim"))
    for row in document["rows"]:
        if row["ties_by_guessing"]:
            console.print(safe(console, f"{tie_advice(row['judges'])}", "dim"))


def tie_advice(judges: int) -> str:
    """Return what to say of an even number of judges."""
    return (
        f"{judges} judges a text can be tied, and judges who guess are tied on {100 * tie_share(judges):.0f} % of the "
        f"texts: with an odd number, such as {judges - 1} or {judges + 1}, each text has a majority"
    )
