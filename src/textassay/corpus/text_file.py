"""Texts as they were read, with what came with them: groups, prompts, who wrote them, and what a reader must know."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from textassay.corpus.limits import current_limits, text_too_long
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.paths import listed
from textassay.errors import InputError

REAL_NAMES = ("(real)", "real")  # of the real text


class Note(NamedTuple):
    """What a reader of the texts must know, and what to do."""

    kind: str  # a stable name
    message: str
    remedy: str
    n: int  # of the texts, or of what was left out
    is_warning: bool = False


@dataclass(frozen=True, eq=False)
class TextFile:
    """Texts as they were read.

    Attributes
    ----------
    name
        Their name in messages: the file's, or the caller's.
    texts
        N texts, empty ones included: a `PackedTexts`, whatever sequence it was made from.
    groups
        Group number of each text, shape (N,), from `number_groups`; None without groups.
    path
        The file or folder; None for standard input and for texts from Python.
    prompts
        What each text answers, N texts, whole and as they are: a `PackedTexts`; None without prompts.
    cut_off
        Whether a limit of length ended each text, shape (N,), dtype bool, where the file gives the reason for which a
        model stopped (``finish_reason``); else None.
    ids
        Columns of ids, prompts or documents that nobody named, name to the number of each text's, shape (N,).
    sources
        Who wrote each text, N names; None where no column was named for it.
    form
        What was read, such as "JSON lines, column 'text'".
    notes
        What was left out or not asked for.
    has_columns
        Whether the texts were one column of several, so that another can be named.
    """

    name: str
    texts: Sequence[str]
    groups: npt.NDArray[np.int64] | None = None
    path: Path | None = None
    prompts: Sequence[str] | None = None
    cut_off: npt.NDArray[np.bool_] | None = None
    ids: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    sources: Sequence[str] | None = None
    form: str = ""
    notes: tuple[Note, ...] = ()
    has_columns: bool = True

    def __post_init__(self) -> None:
        """Pack texts and prompts; raise `InputError` if one is longer than `InputLimits.max_text`."""
        place = str(self.name if self.path is None else self.path)
        texts = PackedTexts.of(self.texts)
        object.__setattr__(self, "texts", texts)
        _check_lengths(texts, f"{place}: text")
        if self.prompts is not None:
            prompts = PackedTexts.of(self.prompts)
            object.__setattr__(self, "prompts", prompts)
            _check_lengths(prompts, f"{place}: prompt")
            if len(prompts) != len(texts):
                raise InputError(
                    f"{place}: {len(prompts):,} prompts for {len(texts):,} texts; give each text its prompt"
                )

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self.texts[place]

    def take(self, places: npt.NDArray[np.int64]) -> "TextFile":
        """Return the texts at `places`, with what came with them."""

        def part(values: Any) -> Any:
            return (
                None if values is None else values.take(places) if isinstance(values, PackedTexts) else values[places]
            )

        return replace(
            self, texts=part(self.texts), groups=part(self.groups), prompts=part(self.prompts),
            cut_off=part(self.cut_off), ids={name: ids[places] for name, ids in self.ids.items()},
            sources=None if self.sources is None else [self.sources[place] for place in places.tolist()],
        )  # fmt: skip

    def sides(self, real: str) -> "tuple[TextFile, dict[str, TextFile]]":
        """Return the texts of the source `real`, and those of each other source."""
        by_source = self.by_source()
        if real not in by_source:
            raise InputError(f"{self.name}: it has no text by '{real}'; the texts are by: {listed([*by_source])}")
        own = by_source.pop(real)
        if not by_source:
            raise InputError(f"{self.name}: all texts are by '{real}', so there is nothing to compare them with")
        return own, by_source

    def by_source(self) -> "dict[str, TextFile]":
        """Return the texts of each source, in the order in which they appear."""
        names = dict.fromkeys(self.sources or ())
        numbers = {name: number for number, name in enumerate(names)}
        of = np.array([numbers[name] for name in self.sources or ()], dtype=np.int64)
        return {
            name: replace(self.take(np.flatnonzero(of == number)), name=name, sources=None, path=None)
            for name, number in numbers.items()
        }


def _check_lengths(texts: PackedTexts, place: str) -> None:
    """Raise if a text is longer than one may be; `place`: what stands before its number in the message."""
    limit = current_limits().max_text
    for number in np.flatnonzero(texts.lengths > limit).tolist():  # in bytes, which are at least as many
        if len(texts[number]) > limit:
            raise text_too_long(f"{place} {number + 1}", len(texts[number]), limit)


def group_number(text: str) -> int:
    """Return a 62-bit hash: among a million texts two share one with a probability below 1e-6."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


def number_groups(labels: Sequence[Any], place: str) -> npt.NDArray[np.int64]:
    """Return a number for each label, shape (N,): equal for equal labels in all files.

    It is a hash of the label as text (`group_number`), so that a prompt or document in both the real and the generated
    file is one group.
    """
    numbers: dict[str, int] = {}
    result = np.empty(len(labels), dtype=np.int64)
    for position, label in enumerate(labels):
        if is_missing(label):
            raise InputError(f"{place}[{position}] is missing ({label}); every text needs a group")
        text = str(label)
        if text not in numbers:
            numbers[text] = group_number(text)
        result[position] = numbers[text]
    return result


def is_missing(item: Any) -> bool:
    """Return whether `item` is None, NaN or pandas' NA."""
    return item is None or (isinstance(item, float) and item != item) or type(item).__name__ in ("NAType", "NaTType")
