"""``textassay human power``: how many texts and judges a study needs, from nothing or from the results of another."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from textassay.cli.human_study import print_json
from textassay.errors import OptionError, check_range
from textassay.human.files import read_judgements
from textassay.metric.base import check_level
from textassay.report.human_study import render_power
from textassay.resampling.rater_power import (
    design_effect,
    power_to_detect,
    power_to_separate,
    shared_correlation,
    texts_to_detect,
    texts_to_separate,
    tie_share,
)

__all__ = ["PowerOptions", "run_power"]


@dataclass(frozen=True)
class PowerOptions:
    """What the command line asked for; the fields are the options of ``textassay human power``."""

    accuracy: float
    other: float | None = None
    judges: tuple[int, ...] = (1, 3, 5)
    texts: int | None = None
    text_correlation: float | None = None
    rater_correlation: float | None = None
    texts_per_rater: float | None = None
    pilot: Path | None = None
    level: float = 0.95
    power: float = 0.8
    json: bool = False


def run_power(options: PowerOptions) -> int:
    """Plan, print, and return 0."""
    check_level(options.level)
    for judges in options.judges:
        check_range("--judges", judges, 1)
    texts_per_rater = 1.0
    text, rater = 0.0, 0.0
    if options.pilot is not None:
        text, rater, texts_per_rater = _pilot(options.pilot)
    text = text if options.text_correlation is None else options.text_correlation
    rater = rater if options.rater_correlation is None else options.rater_correlation
    texts_per_rater = texts_per_rater if options.texts_per_rater is None else options.texts_per_rater
    rows = []
    for judges in options.judges:
        effect = design_effect(
            judges=judges, text_correlation=text, texts_per_rater=texts_per_rater, rater_correlation=rater
        )
        row: dict[str, Any] = {"judges": judges, "design_effect": effect}
        settings: dict[str, Any] = {"level": options.level, "judges": judges, "effect": effect}
        if options.other is None:
            row["texts"] = texts_to_detect(options.accuracy, power=options.power, **settings)
            if options.texts is not None:
                row["power"] = power_to_detect(options.texts, options.accuracy, **settings)
        else:
            row["texts"] = texts_to_separate(options.accuracy, options.other, power=options.power, **settings)
            if options.texts is not None:
                row["power"] = power_to_separate(options.texts, options.accuracy, options.other, **settings)
        row["judgements"] = row["texts"] * judges
        row["ties_by_guessing"] = tie_share(judges)
        rows.append(row)
    document = {
        "accuracy": options.accuracy,
        "other": options.other,
        "level": options.level,
        "power": options.power,
        "texts": options.texts,
        "text_correlation": text,
        "rater_correlation": rater,
        "texts_per_rater": texts_per_rater,
        "rows": rows,
    }
    if options.json:
        print_json(document)
    else:
        render_power(document, Console())
    return 0


def _pilot(path: Path) -> tuple[float, float, float]:
    """Return the correlations of judgements that share a text and a rater, and texts per rater and generator.

    Of these the mean weighted by itself, which is what the design effect is made of where they differ.
    """
    judgements = read_judgements(path)
    names = {name: place for place, name in enumerate((None, *judgements.generators))}
    author = np.array([names[item.generator] for item in judgements.items])[judgements.item]
    fake = author > 0
    if judgements.scale != "real-or-fake" or not fake.any():
        raise OptionError(f"--pilot {path}: a pilot needs judgements of real or fake of at least one generator")
    right = 1 - judgements.value[fake]
    item, rater, author = judgements.item[fake], judgements.rater[fake], author[fake]
    cells = np.unique(rater * len(names) + author, return_counts=True)[1]
    found = [shared_correlation(right, author, cluster) for cluster in (item, rater)]
    text, by_rater = (0.0 if np.isnan(value) else min(1.0, max(0.0, value)) for value in found)
    return text, by_rater, float(np.sum(cells**2) / np.sum(cells))
