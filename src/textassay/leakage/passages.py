"""Generated texts beside the training texts that they carry over: which are shown, how much of them, what differs."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.leakage.carried import COPIES, LONG, NEAR, QUANTITIES, RARE, Carried
from textassay.leakage.personal_data import masked

IntArray = npt.NDArray[np.int64]
Pieces = tuple[tuple[str, bool], ...]  # parts of a text, and whether the other text lacks them

_MOST_WORDS = 80  # shown of a text; of a text without spaces four times as many letters


@dataclass(frozen=True)
class Passage:
    """A generated text beside a training text."""

    generator: str
    kind: str  # The quantity by which it was chosen
    generated: Pieces
    training: Pieces
    generated_line: int  # Number of the text in its file, from 1
    training_line: int
    n_shared: int  # Tokens of the longest run that they share
    n_edits: int | None  # Tokens that differ, where it is a copy or near copy
    is_rare: bool  # Whether the run stands in this training text only
    n_times: int  # Generated texts that carry over this training text

    @property
    def label(self) -> str:
        """What it is, in words."""
        what = {0: "copy", 1: "near copy, 1 token differs"}.get(
            -1 if self.n_edits is None else self.n_edits,
            f"run of {self.n_shared} tokens" if self.n_edits is None else f"near copy, {self.n_edits} tokens differ",
        )
        times = f", {self.n_times:,} times" if self.n_times > 1 else ""
        return f"{what}{', in one training text only' if self.is_rare else ''}{times}"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        texts = {name: "".join(piece for piece, _ in getattr(self, name)) for name in ("generated", "training")}
        return asdict(self) | texts


def choose_passages(
    generator: str, carried: Carried, train: Corpus, limits: Mapping[str, int], *, most: int, show_personal: bool
) -> list[Passage]:  # fmt: skip
    """Return passages, one a training text: those in one training text only first, then the longest.

    Where a text has nothing longer, copies of short texts are shown.
    """
    masks = {quantity: carried.has(quantity, limits) for quantity in QUANTITIES}
    chosen = masks[NEAR] | masks[LONG] | masks[RARE]
    if not chosen.any():
        chosen = masks[COPIES]
    places = np.flatnonzero(chosen)
    if not len(places):
        return []
    runs, near = carried.runs, carried.near
    is_rare = masks[RARE][places]
    is_near = near.texts[places] >= 0
    n_shared = np.where(is_rare, runs.sole_lengths[places], runs.lengths[places])
    of_run = np.where(is_rare, runs.sole_texts[places], runs.texts[places])
    of_copy = np.where(is_near, near.texts[places], carried.copies[places])
    sources = np.where(of_copy >= 0, of_copy, of_run)
    is_rare &= sources == of_run  # else it is the run of another text
    _, which, n_times = np.unique(sources, return_inverse=True, return_counts=True)
    order = np.lexsort((places, -n_shared, ~is_rare))
    seen: set[int] = set()
    passages = []
    for entry in order.tolist():
        place, source = int(places[entry]), int(sources[entry])
        if source in seen:
            continue
        seen.add(source)
        n_edits = None if of_copy[entry] < 0 else 0 if carried.copies[place] >= 0 else int(near.distances[place])
        begin = int((runs.sole_starts if masks[RARE][place] else runs.starts)[place])
        texts = _shown(carried.corpus, place, train, source, begin, int(n_shared[entry]), show_personal)
        kind = RARE if is_rare[entry] else NEAR if is_near[entry] else LONG if masks[LONG][place] else COPIES
        passages.append(
            Passage(
                generator, kind, *texts, place + 1, source + 1, int(n_shared[entry]), n_edits, bool(is_rare[entry]),
                int(n_times[which.reshape(-1)[entry]]),
            )
        )  # fmt: skip
        if len(passages) == most:
            break
    return passages


def _shown(
    corpus: Corpus, place: int, train: Corpus, source: int, begin: int, n_shared: int, show_personal: bool
) -> tuple[Pieces, Pieces]:
    """Return both texts, in pieces; of long ones what is around the run."""
    at = _place_of(corpus.tokens[corpus.offsets[place] + begin :][:n_shared], train, source)
    pairs = ((corpus, place, begin), (train, source, at))
    return differing(*(
        _around(
            side.texts[number] if show_personal else masked(side.texts[number]),
            (start + n_shared / 2) / max(1, int(side.lengths[number])),
            joined=side.separator == "",
        )
        for side, number, start in pairs
    ), ignore_case=not {"lower", "normalize"}.isdisjoint(corpus.tokenizer.split("+")))  # fmt: skip


def _place_of(run: npt.NDArray[np.int32], train: Corpus, source: int) -> int:
    """Return where a run stands in a training text; 0 where it stands in another."""
    tokens = train.tokens[train.offsets[source] : train.offsets[source + 1]]
    for start in np.flatnonzero(tokens == run[0]).tolist() if len(run) else ():
        if np.array_equal(tokens[start : start + len(run)], run):
            return int(start)
    return 0


def _around(text: str, middle: float, *, joined: bool) -> list[str]:
    """Return the words of a text, or its letters where words are not apart, around a place, a fraction of the whole."""
    words = list(text) if joined else re.findall(r"\S+\s*", text)
    most = 4 * _MOST_WORDS if joined else _MOST_WORDS
    start = max(0, min(len(words) - most, int(middle * len(words)) - most // 2))
    shown = words[start : start + most]
    return ["… "] * (start > 0) + shown + [" …"] * (start + most < len(words))


def differing(one: list[str], other: list[str], *, ignore_case: bool) -> tuple[Pieces, Pieces]:
    """Return the pieces of two lists of words, and for each whether the other text lacks it."""
    bare = ([word.strip() for word in words] for words in (one, other))
    keys = [[word.lower() for word in words] if ignore_case else words for words in bare]
    blocks = SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes()
    pieces: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
    for kind, start, stop, other_start, other_stop in blocks:
        for side, words in ((0, one[start:stop]), (1, other[other_start:other_stop])):
            if words:
                pieces[side].append(("".join(words), kind != "equal"))
    return tuple(pieces[0]), tuple(pieces[1])
