"""Judgements of texts by people: the common result of all readers and input of all analyses."""

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError, OptionError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Scale = Literal["real-or-fake", "number"]


@dataclass(frozen=True)
class Item:
    """A text that was judged."""

    id: str  # Unique: page and slot, such as ``17/3``, because equal texts may be on several pages
    page: str  # The page it was judged on; an item without a page is a page of its own
    text: str  # Empty if the results came without texts
    generator: str | None  # None for a text by a person


@dataclass(frozen=True)
class Comment:
    page: str
    rater: str
    text: str


@dataclass(frozen=True, eq=False)
class Judgements:
    """J judgements of N items by R raters, without attention checks."""

    items: tuple[Item, ...]  # N items, some perhaps without judgements
    raters: tuple[str, ...]  # R distinct names
    # Indices of the item and the rater of each judgement, shape (J,), read-only. Nobody judges an item twice.
    item: IntArray
    rater: IntArray
    # Shape (J,), read-only: 1 for real and 0 for fake, or any finite rating (higher is better) on the scale "number"
    value: FloatArray
    scale: Scale  # Of `value`
    comments: tuple[Comment, ...] = ()
    notes: tuple[str, ...] = ()  # How much of the file was left out, and why

    def __post_init__(self) -> None:
        for name, kind in (("item", np.int64), ("rater", np.int64), ("value", np.float64)):
            array = np.array(getattr(self, name), dtype=kind)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not self.item.shape == self.rater.shape == self.value.shape == (self.item.size,):
            raise InputError("item, rater and value must have one number per judgement")
        _check_once("item", [item.id for item in self.items])
        _check_once("rater", self.raters)
        _check_places("item", self.item, len(self.items))
        _check_places("rater", self.rater, len(self.raters))
        pairs, counts = np.unique(self.item * max(1, len(self.raters)) + self.rater, return_counts=True)
        if np.any(counts > 1):
            item, rater = divmod(int(pairs[np.argmax(counts > 1)]), len(self.raters))
            raise InputError(f"rater {self.raters[rater]} judged item {self.items[item].id} twice")
        if not np.all(np.isfinite(self.value)):
            raise InputError("a judgement must be a finite number")
        if self.scale == "real-or-fake" and not np.all((self.value == 0) | (self.value == 1)):
            raise InputError("a judgement of real or fake must be 1 or 0")

    @classmethod
    def of(
        cls,
        items: Sequence[Item],
        raters: Iterable[str],
        rows: Sequence[tuple[int, int, float]],
        scale: Scale,
        *,
        comments: Iterable[Comment] = (),
        notes: Iterable[str] = (),
    ) -> "Judgements":
        """Return judgements from one row each: indices of item and rater, value.

        Of a rater who judged an item again, the mean counts, or of real or fake the first judgement; a note says how
        often that was.
        """
        values: dict[tuple[int, int], list[float]] = {}
        for item, rater, value in rows:
            values.setdefault((item, rater), []).append(value)
        n_again = len(rows) - len(values)
        counts = "their mean counts" if scale == "number" else "the first judgement counts"
        again = [f"judged again by the same rater: {n_again} times; {counts}"] if n_again else []
        found = [float(np.mean(several)) if scale == "number" else several[0] for several in values.values()]
        places = np.array([*values], dtype=np.int64).reshape(-1, 2)
        return cls(
            tuple(items), tuple(raters), places[:, 0], places[:, 1], np.array(found), scale, tuple(comments),
            (*notes, *again),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.value)

    @property
    def is_real(self) -> npt.NDArray[np.bool_]:
        """Whether a person wrote each item, shape (N,)."""
        return np.array([item.generator is None for item in self.items], dtype=np.bool_)

    @property
    def generators(self) -> tuple[str, ...]:
        """The generators' names, each once, in the order of their first items."""
        return tuple(dict.fromkeys(item.generator for item in self.items if item.generator is not None))

    def votes(self) -> IntArray:
        """Return how many raters judged each item fake, and how many real, shape (N, 2)."""
        if self.scale != "real-or-fake":
            raise InputError("only judgements of real or fake can be counted as votes, got ratings")
        places = 2 * self.item + self.value.astype(np.int64)
        return np.bincount(places, minlength=2 * len(self.items)).reshape(-1, 2).astype(np.int64)

    def select(self, mask: npt.NDArray[np.bool_]) -> "Judgements":
        """Return the items where `mask`, shape (N,), is true, with their judgements and comments; all raters stay."""
        mask = np.asarray(mask, dtype=np.bool_)
        if mask.shape != (len(self.items),):
            raise InputError(f"the mask must have one value per item: {len(self.items)}, got shape {mask.shape}")
        items = tuple(item for item, keep in zip(self.items, mask, strict=True) if keep)
        pages = {item.page for item in items}
        kept = mask[self.item]
        return replace(
            self,
            items=items,
            item=(np.cumsum(mask) - 1)[self.item[kept]],
            rater=self.rater[kept],
            value=self.value[kept],
            comments=tuple(comment for comment in self.comments if comment.page in pages),
        )

    def without(self, raters: Collection[str]) -> "Judgements":
        """Return the judgements and comments of all other raters; all items stay."""
        unknown = [name for name in raters if name not in self.raters]
        if unknown:
            near = difflib.get_close_matches(unknown[0], self.raters, n=3, cutoff=0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise OptionError(f"there is no rater {unknown[0][:40]!r} among the {len(self.raters)} raters{hint}")
        places = [place for place, name in enumerate(self.raters) if name not in raters]
        kept = np.isin(self.rater, places)
        return replace(
            self,
            raters=tuple(self.raters[place] for place in places),
            item=self.item[kept],
            rater=np.searchsorted(places, self.rater[kept]),
            value=self.value[kept],
            comments=tuple(comment for comment in self.comments if comment.rater not in raters),
        )


def _check_once(what: str, names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(f"{what} {twice} is listed twice")


def _check_places(what: str, places: IntArray, n: int) -> None:
    if places.size and not (places.min() >= 0 and places.max() < n):
        raise InputError(
            f"{what} numbers of judgements must be from 0 to {n - 1}, got {places.min()} to {places.max()}"
        )
