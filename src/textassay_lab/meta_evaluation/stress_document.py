"""What damage does to every metric, as a report: verdicts, a map of sensitivity, and the curves of each damage.

Effects are in standard errors of the metric, so that metrics can be compared. Scales are logarithmic beyond one.
"""

import math
from dataclasses import replace

from textassay.comparison.metric_kinds import family_of, with_encoder
from textassay.inspection.document import inspection_sections
from textassay.report.document import Document, Figure, Terms, section, sections
from textassay.report.plots import Axis, Colour, Curves, HeatCell, HeatMap, Point, Reference, Series
from textassay.report.table import ARROWS, Cell, Column, Table, Tone, record
from textassay.report.text import count, counted, join_words, level
from textassay_lab.meta_evaluation.damage import CONTROL, DAMAGES
from textassay_lab.meta_evaluation.damage_curve import DamageCurve
from textassay_lab.meta_evaluation.stress import Stress

_MARKS = (
    ("0.1", "detects it: from this strength on, damaged text is detected at this size four times in five"),
    ("weak", "moves in the right direction, but is not detected at any strength"),
    ("-", "blind: no change found in this much text; a change too small to detect is possible (its interval: --json)"),
    ("WRONG 0.1", "mistakes damage for quality: from this strength on, damaged text scores better than real text"),
    ("(WRONG)", "moves in the wrong direction, but not significantly"),
    ("?", "moves, but draws disagree on the direction"),
    ("~", "not monotone: falls back as damage grows"),
    ("n/a", "has no value on text damaged like this"),
)
_TONES: dict[str, Tone] = {
    "sees": "good", "misled": "bad", "faintly misled": "bad", "blind": "weak", "unknown": "weak",
}  # fmt: skip
_RECORD = (
    "metric", "better", "damage", "strength", "mean_value", "effect", "low", "high", "effect_in_standard_errors",
    "noise", "p", "p_adjusted", "sensitivity", "smallest", "tau", "monotone", "direction", "verdict", "reason",
)  # fmt: skip
_MOST_BESIDE = 8  # damages of a map that fits beside the answer
_MOST = 300.0  # standard errors per unit of strength that have the full colour
_KINDS = {
    "classifier": ("dd",),
    "overlap with real text": ("bleu", "bleu-nearest", "rouge", "meteor", "cider", "cider-d"),
    "variety": ("self-bleu", "distinct-n", "compression-ratio", "zipf", "vocabulary", "length"),
    "sentence vectors": ("fed", "mmd", "mauve", "precision", "recall", "density", "coverage"),
    "language model": ("lm-score", "reverse-lm-score"),
}
_REST = "other"
# Colour and dashes of each kind.
_LOOKS: dict[str, tuple[Colour, int]] = dict(
    zip(
        (*_KINDS, _REST),
        (("ink", 0), ("generated", 0), ("real", 0), ("green", 1), ("plum", 3), ("muted", 2)),
        strict=True,
    )
)


def stress_document(stress: Stress) -> Document:
    """Return what damage does to every metric as a report."""
    stress = replace(
        stress,
        metrics=tuple(map(with_encoder, stress.metrics)),
        curves=tuple(replace(curve, metric=with_encoder(curve.metric)) for curve in stress.curves),
    )
    damages = tuple((name, DAMAGES[name].summary) for name in stress.damages)
    has_curves = bool(stress.curves)
    return Document(
        "How do metrics respond to damage?",
        _answer(stress),
        (
            ("Texts", ", ".join(f"{name} {count(n)}" for name, n in stress.texts.items())),
            ("Parts", f"{count(stress.n_sentences)} texts a part, {stress.n_draws} random draws"),
            ("Settings", f"intervals and tests at {level(stress.level)}; seed {stress.seed}"),
        ),
        sections(
            section(
                "Response of each metric to each kind of damage",
                _map(stress) if has_curves else None,
                _verdicts(stress),
            ),
            *inspection_sections(stress.findings, brief=True),
            section("How to read it", Terms(_MARKS)),
            section("The damages", Terms(damages), _curves(stress) if has_curves else None),
            section("Left out", Terms(tuple(stress.left_out.items()))) if stress.left_out else None,
        ),
        lead="stress-map" if len(stress.damages) <= _MOST_BESIDE else "",  # else it stands across the page
        records=(_record(stress),),
    )


def verdict_text(curve: DamageCurve) -> str:
    """Return the verdict of a curve as it stands in tables."""
    smallest = "" if curve.smallest is None else f"{curve.smallest:g}"
    text = {
        "sees": smallest,
        "faint": "weak",
        "blind": "-",
        "misled": f"WRONG {smallest}",
        "faintly misled": "(WRONG)",
        "either way": "?",
        "unknown": "n/a",
    }[curve.verdict]
    return f"{text}~" if curve.monotone is False and curve.verdict != "blind" else text


def _answer(stress: Stress) -> tuple[str, ...]:
    """Return which metrics take damage for quality, and which sees most of it."""
    damages = [name for name in stress.damages if name != CONTROL]
    if not stress.metrics or not damages:
        return ()
    verdicts = {metric: {name: stress.of(metric, name).verdict for name in damages} for metric in stress.metrics}
    seen = {metric: list(found.values()).count("sees") for metric, found in verdicts.items()}
    most = max(seen.values())
    best = join_words([metric for metric, n in seen.items() if n == most]) if most else "no metric"
    misled = {metric: [name for name in found if found[name] == "misled"] for metric, found in verdicts.items()}
    told = [f"{metric} ({join_words(names)})" for metric, names in misled.items() if names]
    return (
        f"Most damage is detected by {best}: {most} of {counted(len(damages), 'kind')}.",
        f"Damage is mistaken for quality by {join_words(told) or 'no metric'}.",
    )


def _verdicts(stress: Stress) -> Table:
    rows = []
    for metric in stress.metrics:
        curves = [stress.of(metric, damage) for damage in stress.damages]
        cells = [
            Cell(verdict_text(one), one.smallest, note=one.reason or "", tone=_TONES.get(one.verdict, ""))
            for one in curves
        ]
        rows.append((f"{metric} {ARROWS[curves[0].better]}".rstrip() if curves else metric, *cells))
    columns = [Column(name, note=DAMAGES[name].summary) for name in stress.damages]
    return Table.of("verdicts", ("metric", *columns), rows, main=True)


def _map(stress: Stress) -> Figure:
    cells = tuple(tuple(_heat(stress.of(metric, name)) for name in stress.damages) for metric in stress.metrics)
    return Figure(
        "stress-map",
        HeatMap(stress.metrics, stress.damages, cells, wide=0.5),
        "Number: the smallest share of damage that is detected. Blue: the metric gets worse with damage; orange: "
        "better; dashed: unsure; white: no change. Stronger colour: more standard errors per unit of strength.",
    )


def _heat(curve: DamageCurve) -> HeatCell:
    text = verdict_text(curve).replace("WRONG ", "").replace("-", "")
    if curve.verdict in ("unknown", "either way"):
        return HeatCell(None, text, outlined=True)
    if curve.verdict == "blind" or not curve.sensitivity:
        return HeatCell(0.0, text)
    strength = math.log1p(abs(curve.sensitivity)) / math.log1p(_MOST)
    return HeatCell(math.copysign(min(1.0, strength), curve.sensitivity), text)


def _curves(stress: Stress) -> Figure:
    series = []
    for panel, damage in enumerate(stress.damages):
        for metric in stress.metrics:
            curve = stress.of(metric, damage)
            if curve.noise:
                colour, dashes = _LOOKS[_kind(metric)]
                heights = [0.0, *(effect / curve.noise for effect in curve.effects)]
                points = tuple(map(Point, (0.0, *curve.strengths), heights))
                series.append(Series(_kind(metric), points, colour, dots=False, dashes=dashes, panel=panel, thin=True))
    heights = [effect / c.noise for c in stress.curves if c.noise for effect in c.effects]
    low = min([-3.0, *(1.5 * height for height in heights if height < 0)])
    high = max([3.0, *(1.5 * height for height in heights if height > 0)])
    powers = [sign * 10.0**k for k in range(5) for sign in (-1, 1)]
    strongest = max(stress.strengths)
    order = list(_LOOKS)
    plot = Curves(
        tuple(sorted(series, key=lambda one: order.index(one.name))),
        Axis("strength: share that is damaged", (0, 1.04 * strongest), ticks=(0.0, strongest / 2, strongest)),
        Axis("worse, in standard errors", (low, high), "symlog",
             ticks=tuple(sorted({0.0, *(tick for tick in powers if low < tick < high)}))),
        panels=stress.damages,
        references=(Reference(0.0, "y"),),
        size=(2.5, 1.9),
        most_columns=4,
    )  # fmt: skip
    caption = "One line per metric, one panel per damage: above 0 it gets worse, below 0 better."
    return Figure("stress-curves", plot, caption)


def _kind(metric: str) -> str:
    return next((kind for kind, names in _KINDS.items() if family_of(metric) in names), _REST)


def _record(stress: Stress) -> Table:
    """Return one row a metric, damage and strength."""
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
    return record("stress", _RECORD, rows)
