"""Which texts belong together: answers to one prompt, and rows with the same id, prompt or document.

Real text and model answers often come in files with a column such as ``id`` or ``prompt``. Where values of both sides
are the same, the texts depend on each other, whatever they look like.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.text_file import REAL_NAMES, Note, TextFile, number_groups
from textassay.corpus.texts import as_texts
from textassay.errors import InputError, OptionError

IntArray = npt.NDArray[np.int64]

PROMPTS = "(prompts)"  # name of the set of all prompts
_FEWEST_GROUPS = 20  # values that both sides have
_MOST_IN_ONE = 0.1  # of the texts of a side: a column of few values, such as a topic, is no id
_LEAST_SHARED = 0.2  # of the texts of a side have a value that the other side has


def with_prompts(texts: Mapping[str, Any], prompts: Any = None) -> dict[str, Any]:
    """Return the texts grouped by prompt, with every prompt once under `PROMPTS`; ungrouped where some have no prompts.

    `texts`: name to texts of any kind; `prompts`: one for each text, the same for all sets, or name to those of each
    set, for all of them; None: those that the texts came with.
    """
    given = _given(texts, prompts)
    read = {name: source if _is_bare(source, name, given) else as_texts(source, name) for name, source in texts.items()}
    files = {
        name: replace(file, prompts=as_texts(given[name], f"prompts of {name}").texts) if name in given else file
        for name, file in read.items()
        if isinstance(file, TextFile)
    }
    with_some = [name for name, file in files.items() if file.prompts is not None]
    lacking = [name for name in read if name not in with_some]
    if lacking and not given:
        return read
    if lacking:
        raise InputError(
            f"{lacking[0]} has no prompts, but {with_some[0]} has: give all texts their prompts, or leave them out"
        )
    if any(file.groups is not None for file in files.values()):
        raise OptionError("groups and prompts cannot be combined: leave one of them out")
    found: dict[int, str] = {}
    grouped: dict[str, Any] = {}
    for name, file in files.items():
        assert file.prompts is not None
        one = replace(file, groups=number_groups(file.prompts, f"{name} prompts"))
        one = _each_reference_once(one) if name in REAL_NAMES else one
        assert one.groups is not None
        assert one.prompts is not None
        groups = one.groups
        grouped[name] = replace(one, prompts=None)
        numbers, firsts = np.unique(groups, return_index=True)
        for number, first in zip(numbers.tolist(), firsts.tolist(), strict=True):
            if number not in found:
                found[number] = one.prompts[first]
    order = sorted(found)
    distinct = TextFile(PROMPTS, [found[number] for number in order], np.array(order, dtype=np.int64))
    return {**grouped, PROMPTS: distinct}


def _each_reference_once(file: TextFile) -> TextFile:
    """Return references that stand once for each system of a long table, each once.

    So it is where all references of a prompt are equal, and some stand there several times.
    """
    assert file.groups is not None
    groups = file.groups
    _, firsts = np.unique(groups, return_index=True)
    n_pairs = len(set(zip(groups.tolist(), file.texts, strict=True)))
    if len(firsts) == len(file.texts) or n_pairs > len(firsts):
        return file
    places = np.sort(firsts)
    note = Note(
        "references-repeated",
        f"The {len(file.texts):,} real answers are {len(places):,} different answers, repeated for the same prompt, as "
        "in a table with a row for each system. Each counts once.",
        "Nothing to do.",
        len(file.texts) - len(places),
    )
    kept = file.take(places)
    return replace(kept, notes=(*kept.notes, note))


def _is_bare(source: Any, name: str, given: Mapping[str, Any]) -> bool:
    """Return whether `source` is a corpus for which no prompts are given: it stays as it is, with its columns."""
    from textassay.corpus.corpus import Corpus  # which is made of texts

    return isinstance(source, Corpus) and name not in given


def _given(texts: Mapping[str, Any], prompts: Any) -> Mapping[str, Any]:
    """Return the prompts of each set that were given beside the texts."""
    if prompts is None:
        return {}
    if not isinstance(prompts, Mapping):
        if isinstance(prompts, str) or not isinstance(prompts, Sequence):
            prompts = list(as_texts(prompts, "prompts").texts)
        return dict.fromkeys(texts, prompts)
    names: dict[str, str] = {name.strip("()"): name for name in texts}
    for name in prompts:
        if name not in texts and name not in names:
            raise OptionError(f"prompts are given for '{name}', which is none of {', '.join(names)}")
    return {name if name in texts else names[name]: value for name, value in prompts.items()}


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
