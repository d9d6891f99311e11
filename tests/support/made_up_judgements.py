"""Judgements made up for tests: small tables, and raters who judge pages by a known rule."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from textassay_lab.human.judgements import Comment, Item, Judgements, Scale


def from_table(
    rows: Mapping[str, tuple[str | None, Sequence[float | None]]],
    *,
    scale: Scale = "real-or-fake",
    pages: Mapping[str, str] | None = None,
    comments: Sequence[Comment] = (),
) -> Judgements:
    """Return judgements from item to (generator, a value or None of each rater).

    An item is a page of its own unless `pages` says where it stands.
    """
    items, places, raters, values = [], [], [], []
    for number, (name, (generator, given)) in enumerate(rows.items()):
        items.append(Item(name, (pages or {}).get(name, name), f"the text of {name}", generator))
        for rater, value in enumerate(given):
            if value is not None:
                places.append(number)
                raters.append(rater)
                values.append(float(value))
    n_raters = max(len(given) for _, given in rows.values())
    return Judgements(
        items=tuple(items),
        raters=tuple(f"r{rater}" for rater in range(n_raters)),
        item=np.array(places, dtype=np.int64),
        rater=np.array(raters, dtype=np.int64),
        value=np.array(values),
        scale=scale,
        comments=tuple(comments),
    )


def simulate(
    rng: np.random.Generator,
    *,
    n_pages: int = 12,
    n_raters: int = 4,
    generators: Mapping[str, float] | None = None,
    spread: float = 0.7,
    per_page: int = 2,
) -> Judgements:
    """Return judgements of pages by raters of their own, `per_page` texts of each writer on a page.

    `generators` has the log-odds of being taken for real; ``(real)`` is people. Pages, texts and raters add deviations
    of standard deviation `spread` each.
    """
    odds = {"(real)": 1.0, "lstm": 0.0} if generators is None else generators
    items, item, rater, logits = [], [], [], []
    for page in range(n_pages):
        for name in odds:
            for slot in range(per_page):
                items.append(Item(f"{page}/{name}/{slot}", str(page), "", None if name == "(real)" else name))
    page_of = np.array([int(one.page) for one in items])
    base = np.array([odds[one.generator or "(real)"] for one in items])
    base = base + spread * rng.normal(size=n_pages)[page_of] + spread * rng.normal(size=len(items))
    for number in range(len(items)):
        for one in range(n_raters):
            item.append(number)
            rater.append(page_of[number] * n_raters + one)
    biases = spread * rng.normal(size=n_pages * n_raters)
    logits = base[np.array(item)] + biases[np.array(rater)]
    value: npt.NDArray[np.float64] = (rng.random(len(item)) < 1 / (1 + np.exp(-logits))).astype(np.float64)
    return Judgements(
        items=tuple(items),
        raters=tuple(f"w{number}" for number in range(n_pages * n_raters)),
        item=np.array(item),
        rater=np.array(rater),
        value=value,
        scale="real-or-fake",
    )


def few_raters(rng: np.random.Generator, n_raters: int, odds: Mapping[str, float], n_texts: int = 50) -> Judgements:
    """Return judgements of `n_texts` texts of each writer by raters who all judge all of them.

    `odds`: log-odds of being judged fake; raters differ in these, and in how they like a writer.
    """
    strict, likings = rng.normal(size=n_raters) / 2, 0.3 * rng.normal(size=(len(odds), n_raters))
    rows: dict[str, tuple[str | None, Sequence[float | None]]] = {}
    for place, (name, base) in enumerate(odds.items()):
        for number in range(n_texts):
            logits = base + 0.8 * rng.normal() + strict + likings[place]
            real = rng.random(n_raters) > 1 / (1 + np.exp(-logits))
            rows[f"{name}/{number}"] = (None if name == "(real)" else name, real.astype(float).tolist())
    return from_table(rows)
