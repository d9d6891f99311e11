"""Columns of ids, prompts and documents that nobody named: texts that have the same one belong together.

Real text and model answers often come in files with a column such as ``id`` or ``prompt``. Where values of both sides
are the same, the texts depend on each other, whatever they look like.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.texts import TextFile

IntArray = npt.NDArray[np.int64]

_FEWEST_GROUPS = 20  # values that both sides have
_MOST_IN_ONE = 0.1  # of the texts of a side: a column of few values, such as a topic, is no id
_LEAST_SHARED = 0.2  # of the texts of a side have a value that the other side has


def with_shared_ids(texts: Mapping[str, Any], real: str, beside: Iterable[str]) -> tuple[dict[str, Any], str]:
    """Return the texts in groups by the column of ids that most of them share with the real text, and its name.

    As they are, and an empty name, where texts come in groups or with prompts, or no column is shared. `real`: the name
    of the real text; `beside`: those of texts that may belong to real ones.
    """
    files = {name: file for name in (real, *beside) if isinstance(file := texts.get(name), TextFile)}
    if real not in files or any(file.groups is not None or file.prompts is not None for file in files.values()):
        return dict(texts), ""
    for column, of_real in files[real].ids.items():
        sharing = [
            name for name, file in files.items() if name != real and column in file.ids
            and _share(of_real, file.ids[column])
        ]  # fmt: skip
        if sharing:
            grouped = {name: replace(files[name], groups=files[name].ids[column]) for name in (real, *sharing)}
            return {**texts, **grouped}, column
    return dict(texts), ""


def _share(ours: IntArray, theirs: IntArray) -> bool:
    """Return whether two sides share ids; equal numbers mean equal ids."""
    for side in (ours, theirs):
        _, counts = np.unique(side, return_counts=True)
        if counts.max(initial=0) > max(1, _MOST_IN_ONE * len(side)):
            return False
    both = np.intersect1d(ours, theirs)
    shares = [float(np.isin(side, both).mean()) for side in (ours, theirs)]
    return len(both) >= _FEWEST_GROUPS and min(shares) >= _LEAST_SHARED
