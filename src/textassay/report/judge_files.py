"""A meta-evaluation as files: all of it as JSON, agreements as CSV, for readers as Markdown with figures."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from textassay.corpus import csv_text
from textassay.meta_evaluation import Agreement, Evaluation, Judging, MetricVerdict
from textassay.report.judge_figures import draw_judging
from textassay.report.judge_words import findings_told, gold_told, verdict_told, wrong_told
from textassay.report.number import level, number, p_value, span
from textassay.report.old_drawing import Drawing
from textassay.report.old_markdown import escaped, markdown_rows
from textassay.report.old_text import finding_lines
from textassay.report.svg import on_white
from textassay.report.whole_files import write_whole


def write_judging(judging: Judging, out: Path) -> list[Path]:
    """Write ``judge.json``, ``.csv``, ``.md`` and the figures, ``judge-*.svg``, into `out`; return their paths."""
    drawings = draw_judging(judging)
    contents: dict[str, bytes | str] = {
        "judge.json": json.dumps(judging.to_dict(), indent=1, allow_nan=False) + "\n",
        "judge.csv": judging_csv(judging),
        "judge.md": judging_markdown(judging, drawings),
        **{drawing.file_name: on_white(drawing.svg) for drawing in drawings},
    }
    return write_whole(out, contents)


def judging_csv(judging: Judging) -> str:
    """Return every agreement as a row, in full precision; an empty field is a value that is not there."""
    names = [field.name for field in fields(Agreement)]
    return csv_text(names, (asdict(found).values() for found in judging.agreements))


def judging_markdown(judging: Judging, drawings: Sequence[Drawing] = ()) -> str:
    """Return the meta-evaluation as a Markdown document; `drawings` stand beside it."""
    lines = ["# Which metric to trust", "", f"Generators: {escaped(', '.join(judging.generators))}."]
    if judging.findings:
        lines += ["", "## Warnings and notes", "", *finding_lines(judging.findings)]
        lines += [line for sentence in findings_told(judging) for line in ("", escaped(sentence))]
    for verdict in judging.verdicts:
        lines += ["", f"## By {escaped(gold_told(verdict.gold))}", ""]
        lines += [f"- {escaped(sentence)}" for sentence in verdict_told(judging, verdict)]
        lines += ["", *_agreements(judging, verdict)]
        for name in verdict.trusted[:1]:
            told = wrong_told(judging, verdict.gold, name)
            if told:
                lines += ["", f"Pairs that {escaped(name)} gets wrong though {escaped(verdict.gold)} tells them apart:"]
                lines += ["", *(f"- {escaped(sentence)}" for sentence in told)]
    lines += ["", "## Values", "", *_values(judging)]
    lines += ["", "## Figures"] if drawings else []
    for drawing in drawings:
        lines += ["", f"![{escaped(drawing.description)}]({drawing.file_name})"]
    lines += ["", "## To know besides", ""]
    lines += [f"- {escaped(f'{name} is left out: {reason}')}" for name, reason in judging.left_out.items()]
    lines += [f"- {escaped(warning)}" for warning in judging.warnings]
    lines += [f"- intervals at {level(judging.level)}, {judging.n_resamples} resamples, seed {judging.seed}"]
    return "\n".join([*lines, ""])


def _agreements(judging: Judging, verdict: MetricVerdict) -> list[str]:
    header = ("metric", "tau", "interval", "other texts", "p", "p, Holm", "rho", "r", "pairs wrong", "soft accuracy")
    scores = {score.evaluator: score for score in judging.pair_scores if score.gold == verdict.gold}
    rows = []
    for name in (*verdict.order, *verdict.undefined):
        tau, rho, r = (judging.agreement(verdict.gold, name, kind) for kind in ("kendall", "spearman", "pearson"))
        score = scores[name]
        rows.append(
            (
                name,
                number(tau.value, 4),
                span(tau.low, tau.high, 2),
                span(tau.low_texts, tau.high_texts, 2),
                p_value(tau.p),
                p_value(tau.p_adjusted),
                number(rho.value, 4),
                number(r.value, 4),
                f"{score.n_wrong} of {score.n_pairs}",
                number(score.soft_accuracy, 3),
            )
        )
    return markdown_rows(header, rows)


def _values(judging: Judging) -> list[str]:
    columns = (*judging.golds, *judging.evaluations)
    header = ("", *judging.generators)
    rows = [(_what(e), *(number(value, 4) for value in e.values.tolist())) for e in columns]
    return markdown_rows(header, rows)


def _what(evaluation: Evaluation) -> str:
    """Return what the values of an evaluator are: its own, or their differences from what real text scores."""
    return f"{evaluation.name}, less real text" if evaluation.better == "closer" else evaluation.name
