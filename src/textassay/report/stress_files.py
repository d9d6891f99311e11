"""What damage does to every metric, as files: all curves as JSON and CSV, the verdicts as Markdown, two figures."""

import json
from pathlib import Path

from textassay.corpus import csv_text
from textassay.meta_evaluation import DAMAGES, Stress
from textassay.report.number import count, level
from textassay.report.old_text import finding_lines
from textassay.report.stress_figures import draw_stress
from textassay.report.stress_text import LEGEND, verdict_text
from textassay.report.svg import on_white
from textassay.report.whole_files import write_whole

_COLUMNS = (
    "metric", "better", "damage", "strength", "mean_value", "effect", "low", "high", "effect_in_standard_errors",
    "noise", "p", "p_adjusted", "sensitivity", "smallest", "tau", "monotone", "direction", "verdict", "reason",
)  # fmt: skip


def write_stress(stress: Stress, out: Path) -> list[Path]:
    """Write ``stress.json``, ``.csv``, ``.md`` and the figures into `out`; return their paths."""
    drawings = draw_stress(stress)
    contents: dict[str, bytes | str] = {
        "stress.json": json.dumps(stress.to_dict(), indent=1, allow_nan=False) + "\n",
        "stress.csv": stress_csv(stress),
        "stress.md": stress_markdown(stress, [(drawing.file_name, drawing.description) for drawing in drawings]),
        **{drawing.file_name: on_white(drawing.svg) for drawing in drawings},
    }
    return write_whole(out, contents)


def stress_csv(stress: Stress) -> str:
    """Return one row a metric, damage and strength, in full precision; an empty field is a value that is not there."""
    rows = []
    for curve in stress.curves:
        for k, strength in enumerate(curve.strengths):
            known = curve.verdict != "unknown"
            effect = curve.effects[k] if known else None
            relative = effect / curve.noise if effect is not None and curve.noise else None
            mean = float(curve.values[:, 1 + k].mean()) if known else None
            rows.append((
                curve.metric, curve.better, curve.damage, strength, mean, effect, curve.lows[k] if known else None,
                curve.highs[k] if known else None, relative, curve.noise, curve.p, curve.p_adjusted, curve.sensitivity,
                curve.smallest, curve.tau, curve.monotone, curve.direction, curve.verdict, curve.reason,
            ))  # fmt: skip
    return csv_text(_COLUMNS, rows)


def stress_markdown(stress: Stress, figures: list[tuple[str, str]]) -> str:
    """Return the verdicts as a Markdown document; `figures` are file names beside it, with what they show."""
    texts = ", ".join(f"{name} {count(n)}" for name, n in stress.texts.items())
    lines = [
        "# What does each metric make of damage?",
        "",
        *([*finding_lines(stress.findings), ""] if stress.findings else []),
        f"{count(stress.n_sentences)} texts a part, {stress.n_draws} random draws (texts given: {texts}); "
        f"intervals and tests at {level(stress.level)}; seed {stress.seed}; textassay {stress.to_dict()['version']}.",
        "",
        f"| metric | {' | '.join(stress.damages)} |",
        f"| --- |{' ---: |' * len(stress.damages)}",
    ]
    for metric in stress.metrics:
        lines.append(f"| {metric} | {' | '.join(verdict_text(stress.of(metric, name)) for name in stress.damages)} |")
    lines += ["", *(f"- `{mark}`: {meaning}" for mark, meaning in LEGEND), "", "Damages:", ""]
    lines += [f"- `{name}`: {DAMAGES[name].summary.replace('<', '&lt;')}" for name in stress.damages]
    if stress.left_out:
        lines += ["", "Left out:", "", *(f"- {name}: {reason}" for name, reason in stress.left_out.items())]
    for file_name, told in figures:
        lines += ["", f"![{told}]({file_name})"]
    return "\n".join([*lines, ""])
