"""Gold orders from files and the command line, and judgements by people aligned with texts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from textassay.errors import InputError, unknown_name
from textassay_lab.human.judgements import Item, Judgements
from textassay_lab.human.table_file import read_table
from textassay_lab.meta_evaluation.evaluation import Evaluation

KNOWN_ORDER = "known order"
_REAL = ("real", "(real)")


def read_gold(text: str) -> Evaluation:
    """Return the gold order in a file, or in text such as ``A>B=C>D``.

    `text`: a .csv or .tsv file with columns ``generator,value`` (higher is better: shares judged real, sizes of
    training
    text, minus the exact discrepancy), or names separated by ``>`` (better than) and ``=`` (as good as). The order is
    named after the file, or ``known order``, and has no scores of texts.
    """
    values = _of_order(text) if ">" in text and not Path(text).exists() else _of_file(Path(text))
    name = KNOWN_ORDER if ">" in text and not Path(text).exists() else Path(text).stem
    if len(values) < 2:
        raise InputError(f"{text}: a gold order needs at least 2 generators, got {len(values)}")
    return Evaluation(name, "higher", tuple(values), np.array(list(values.values())))


def place_judgements(judgements: Judgements, texts: Mapping[str, Sequence[str]]) -> Judgements:
    """Return the judgements with one item for each text of each generator, in the order of the texts.

    `judgements`: with items called ``NAME:LINE``, a generator of `texts` and a line from 1. Items of ``real`` text
    stay.
    """
    items = [Item(f"{name}:{n}", f"{name}:{n}", text, name) for name in texts for n, text in enumerate(texts[name], 1)]
    places = {item.id: place for place, item in enumerate(items)}
    moved = np.empty(len(judgements.items), dtype=np.int64)
    for place, item in enumerate(judgements.items):
        name, colon, line = item.id.rpartition(":")
        if not colon or not line.strip().isdecimal():
            raise InputError(f"items must be named NAME:LINE, such as lstm:12, got {item.id}; or leave NAME=GEN out")
        if name.lower() in _REAL:
            places[item.id] = len(items)
            items.append(replace(item, generator=None))
        elif name not in texts:
            raise unknown_name(f"generator of item {item.id}", name, [*texts, "real"])
        key = item.id if name.lower() in _REAL else f"{name}:{int(line)}"
        if key not in places:
            raise InputError(f"item {item.id}: {name} has {len(texts[name])} texts")
        if item.text and item.text != items[places[key]].text:
            raise InputError(f"item {item.id} has another text than line {line} of {name}")
        moved[place] = places[key]
    return replace(judgements, items=tuple(items), item=moved[judgements.item])


def _of_order(text: str) -> dict[str, float]:
    values: dict[str, float] = {}
    groups = text.split(">")
    for rank, group in enumerate(groups):
        for name in (part.strip() for part in group.split("=")):
            if not name:
                raise InputError(f"cannot read the order '{text}': write names with > between them, the best first")
            if name in values:
                raise InputError(f"an order must name each generator once, got {name} twice in '{text}'")
            values[name] = float(len(groups) - rank)
    return values


def _of_file(path: Path) -> dict[str, float]:
    values: dict[str, float] = {}
    for row in read_table(path, ("generator", "value")):
        name, text = row.values["generator"].strip(), row.values["value"].strip()
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"{row.place}: a value must be a finite number, got '{text[:40]}'")
        if not name:
            raise InputError(f"{row.place}: the generator is missing")
        if name in values:
            raise InputError(f"{row.place}: each generator must occur once, got {name} twice")
        values[name] = value
    return values
