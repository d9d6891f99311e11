"""What damage does to every metric, for a terminal: a table of verdicts, and what the columns are."""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.meta_evaluation import DAMAGES, DamageCurve, Stress
from textassay.report.console import ARROWS, heading, label_grid, print_table, safe
from textassay.report.number import count, level
from textassay.report.old_text import render_findings

LEGEND = (
    ("0.1", "sees it: from this strength on, damaged text is told from real text of this size four times in five"),
    ("weak", "moves the right way, but too little to be told at any strength"),
    ("-", "blind: no change found in this much text; one too small to be seen may be there (its interval: --json)"),
    ("WRONG 0.1", "takes damage for quality: from this strength on, damaged text scores better than real text"),
    ("(WRONG)", "moves the wrong way, but too little to be told"),
    ("?", "moves, but the draws do not agree which way"),
    ("~", "not steadily: falls back as damage grows"),
    ("n/a", "has no value on text damaged like this"),
)
_STYLES = {"sees": "green", "misled": "bold red", "faintly misled": "red", "blind": "dim", "unknown": "dim"}
_BETWEEN = 2  # letters between two columns
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def render_stress(stress: Stress, console: Console) -> None:
    """Print what `stress` found on `console`."""
    texts = ", ".join(f"{name} {count(n)}" for name, n in stress.texts.items())
    told = (
        f"{count(stress.n_sentences)} texts a part, {stress.n_draws} random draws (texts: {texts}); intervals and "
        f"tests at {level(stress.level)}; seed {stress.seed}."
    )
    render_findings(stress.findings, console, brief_notes=True)
    heading(console, "What does each metric make of damage?")
    console.print(Padding(safe(console, told, "dim"), (0, 0, 0, 2), expand=False))
    lettered = list(zip(_LETTERS, stress.damages, strict=False))
    names = {metric: f"{metric} {ARROWS[stress.of(metric, stress.damages[0]).better]}" for metric in stress.metrics}
    column = max((len(verdict_text(curve, short=True)) for curve in stress.curves), default=1)
    room = max(1, (console.width - 2 - max(map(len, names.values()))) // (column + _BETWEEN))
    for start in range(0, len(lettered), room):
        part = lettered[start : start + room]
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        table.add_column("metric", no_wrap=True)
        for letter, _ in part:
            table.add_column(letter, justify="right", no_wrap=True, min_width=column)
        for metric in stress.metrics:
            curves = [stress.of(metric, damage) for _, damage in part]
            cells = [safe(console, verdict_text(curve, short=True), _STYLES.get(curve.verdict, "")) for curve in curves]
            table.add_row(safe(console, names[metric].rstrip()), *cells)
        print_table(console, table, below=1)
    _print_pairs(console, [(letter, f"{name}: {DAMAGES[name].summary}") for letter, name in lettered])
    heading(console, "How to read it")
    _print_pairs(console, [(_shortened(mark), meaning) for mark, meaning in LEGEND])
    if stress.left_out:
        heading(console, "Left out")
        _print_pairs(console, list(stress.left_out.items()))


def verdict_text(curve: DamageCurve, *, short: bool = False) -> str:
    """Return the verdict of a curve as it stands in tables, or as in the narrow ones of a terminal; see `LEGEND`."""
    smallest = "" if curve.smallest is None else strength_text(curve.smallest)
    text = {
        "sees": smallest,
        "faint": "weak",
        "blind": "-",
        "misled": f"WRONG {smallest}",
        "faintly misled": "(WRONG)",
        "either way": "?",
        "unknown": "n/a",
    }[curve.verdict]
    text = _shortened(text) if short else text
    return f"{text}~" if curve.monotone is False and curve.verdict != "blind" else text


def _shortened(text: str) -> str:
    """Return a verdict as a terminal has it."""
    return text.replace("WRONG ", "!").replace("WRONG", "!").replace("weak", "w").replace("0.", ".")


def strength_text(strength: float) -> str:
    """Return a strength without the zeros it does not need."""
    return f"{strength:g}"


def _print_pairs(console: Console, pairs: list[tuple[str, str]]) -> None:
    grid = label_grid()
    for first, second in pairs:
        grid.add_row(safe(console, first), safe(console, second, "dim"))
    print_table(console, grid)
