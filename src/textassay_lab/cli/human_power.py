"""``textassay human power``: how many texts and judges a study needs, from nothing or from the results of another."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from textassay.cli.adapter import Between, option
from textassay.cli.declarations import Output
from textassay.cli.results import print_and_save
from textassay.errors import OptionError
from textassay.settings import Level

if TYPE_CHECKING:
    from textassay_lab.human.power import Design


@dataclass(frozen=True, kw_only=True)
class Power(Output):
    """Compute how many texts and judges a study needs, before it runs."""

    accuracy: Annotated[float, option("Share of a generator's texts judged correctly.", "P")] = 0.6
    other: Annotated[float | None, option("The same share for another generator, to separate the two.", "P")] = None
    judges: Annotated[
        list[int] | None, option("Judges of each text; may be repeated. [default: 1, 3, 5]", "K"), Between(1)
    ] = None
    texts: Annotated[int | None, option("Also print the power with N texts per generator.", "N")] = None
    text_correlation: Annotated[
        float | None, option("Correlation between judgements of one text; 0 or the pilot's value by default.", "R")
    ] = None
    rater_correlation: Annotated[
        float | None, option("Correlation between judgements by one rater; 0 or the pilot's value by default.", "R")
    ] = None
    texts_per_rater: Annotated[
        float | None, option("Texts per generator that a rater judges; 1 or the pilot's value by default.", "M")
    ] = None
    pilot: Annotated[Path | None, option("Judgements of another study, from which correlations are taken.", "FILE")] = (
        None
    )
    level: Level = 0.95
    power: Annotated[float, option("Power: probability of detecting a difference that exists.", "P")] = 0.8

    def run(self) -> int:
        """Plan, print, write where asked, and return 0."""
        from textassay_lab.human.document import power_document
        from textassay_lab.human.power import Design

        text, rater, texts_per_rater = (0.0, 0.0, 1.0) if self.pilot is None else _pilot(self.pilot)
        text = text if self.text_correlation is None else self.text_correlation
        rater = rater if self.rater_correlation is None else self.rater_correlation
        texts_per_rater = texts_per_rater if self.texts_per_rater is None else self.texts_per_rater
        values = {
            "accuracy": self.accuracy,
            "other": self.other,
            "level": self.level,
            "power": self.power,
            "texts": self.texts,
            "text_correlation": text,
            "rater_correlation": rater,
            "texts_per_rater": texts_per_rater,
            "rows": [self._row(Design(judges, text, texts_per_rater, rater)) for judges in self.judges or (1, 3, 5)],
        }
        print_and_save(power_document(values), values, "power", out=self.out, as_json=self.json)
        return 0

    def _row(self, design: "Design") -> dict[str, Any]:
        """Return what a study of this design needs."""
        from textassay_lab.human.power import (
            power_to_detect,
            power_to_separate,
            texts_to_detect,
            texts_to_separate,
            tie_share,
        )

        settings: dict[str, Any] = {"level": self.level, "design": design}
        judges = design.judges
        if self.other is None:
            texts = texts_to_detect(self.accuracy, power=self.power, **settings)
        else:
            texts = texts_to_separate(self.accuracy, self.other, power=self.power, **settings)
        row: dict[str, Any] = {
            "judges": judges,
            "design_effect": design.effect(texts),
            "raters": math.ceil(design.raters(texts)),
            "texts": texts,
        }
        if self.texts is not None:
            row["power"] = (
                power_to_detect(self.texts, self.accuracy, **settings)
                if self.other is None
                else power_to_separate(self.texts, self.accuracy, self.other, **settings)
            )
        row["judgements"] = row["texts"] * judges
        row["ties_by_guessing"] = tie_share(judges)
        return row


def _pilot(path: Path) -> tuple[float, float, float]:
    """Return the correlations of judgements that share a text and a rater, and texts per rater and generator.

    Of these the mean weighted by itself, which is what the design effect is made of where they differ.
    """
    import numpy as np

    from textassay_lab.human.power import shared_correlation
    from textassay_lab.human.results import read_judgements

    judgements = read_judgements(path)
    names = {name: place for place, name in enumerate((None, *judgements.generators))}
    author = np.array([names[item.generator] for item in judgements.items])[judgements.item]
    fake = author > 0
    if judgements.scale != "real-or-fake" or not fake.any():
        raise OptionError(f"--pilot {path}: a pilot needs judgements of real or fake of at least one generator")
    right = 1 - judgements.value[fake]
    item, rater, author = judgements.item[fake], judgements.rater[fake], author[fake]
    cells = np.unique(rater * len(names) + author, return_counts=True)[1]
    correlations = [shared_correlation(right, author, cluster) for cluster in (item, rater)]
    text, by_rater = (0.0 if np.isnan(value) else min(1.0, max(0.0, value)) for value in correlations)
    return text, by_rater, float(np.sum(cells**2) / np.sum(cells))
