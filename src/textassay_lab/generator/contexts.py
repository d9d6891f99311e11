"""Contexts of texts: one category of each attribute, such as a rating, on which a generator is conditioned.

They are read from a table whose first line names the attributes; row k belongs to text k. A corpus holds them in the
columns ``contexts/NAME``, as indices into the categories that a model knows.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019.
Departs from it: without products and users, length and first content word take their place; section 3 gives no
thresholds, so `read_reviews` leaves nothing out unless asked for.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from textassay.addresses import place_of
from textassay.corpus.corpus import Corpus
from textassay.corpus.csv_files import csv_rows, csv_text, delimiter_of, plain_cell
from textassay.corpus.source import Source
from textassay.corpus.texts import read_texts
from textassay.errors import EmptyCorpusError, InputError, OptionError, check_range

Attributes = Mapping[str, Sequence[str]]  # name of an attribute to its categories
Contexts = Mapping[str, Sequence[str]]  # name of an attribute to the category of each of N sentences

COLUMN = "contexts/"  # prefix of the names of corpus columns
OTHER = "<other>"  # the first category of each attribute: everything a model does not know

_OTHER_TABLES = (".json", ".jsonl", ".parquet")
_MAX_COMBINATIONS = 1 << 62  # so that each combination has an int64 number
LONG, RARE, INACTIVE = "long review", "rare product", "inactive user"


def read_contexts(source: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the contexts in a table, name of an attribute to categories, in the order of the file."""
    file = Source(place_of(source))
    if file.kind in _OTHER_TABLES:
        raise InputError(f"contexts must be a .tsv or .csv table, got {file.place}")
    rows = csv_rows(file, delimiter=delimiter_of(file))
    _, header = next(rows, (0, []))
    names = list(map(plain_cell, header))
    if not names or "" in names or len(set(names)) != len(names):
        raise InputError(f"the first line of {file.place} must name the attributes, each once")
    columns: list[list[str]] = [[] for _ in names]
    known: dict[str, str] = {}  # keeps one string per category in memory
    for _, row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(known.setdefault(value, plain_cell(value)))
    return dict(zip(names, columns, strict=True))


def contexts_text(contexts: Contexts) -> str:
    """Return contexts as the tab-separated text that `read_contexts` reads."""
    return csv_text(contexts, zip(*contexts.values(), strict=True), delimiter="\t")


def review_contexts(
    texts: Sequence[str], sentiment: Sequence[str], *, bounds: Sequence[int] = (6, 9, 12)
) -> dict[str, list[str]]:
    """Return the contexts of reviews: sentiment, class of length (bounds in words), and first content word.

    A content word has letters only and is not one of scikit-learn's English stop words; ``none`` where there is none.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    if len(texts) != len(sentiment):
        raise InputError(f"there are {len(texts):,} texts, but {len(sentiment):,} labels of sentiment")
    lengths = [f"to {bound}" for bound in bounds] + ["longer"]

    def content(words: Sequence[str]) -> Iterator[str]:
        return (word for word in words if word.isalpha() and word.lower() not in ENGLISH_STOP_WORDS)

    split = [text.split() for text in texts]
    places = np.searchsorted(np.asarray(bounds), [len(words) for words in split])
    return {
        "sentiment": list(sentiment),
        "length": [lengths[place] for place in places],
        "word": [next(content(words), "none") for words in split],
    }


def learn_attributes(contexts: Contexts, *, min_count: int = 1) -> dict[str, list[str]]:
    """Return the categories of each attribute: `OTHER`, then those seen at least `min_count` times, frequent first."""
    learnt = {}
    for name, values in contexts.items():
        counted = Counter(values)
        counted.pop(OTHER, None)
        learnt[name] = [OTHER, *(value for value, count in counted.most_common() if count >= min_count)]
    n_contexts(learnt)
    return learnt


def n_contexts(attributes: Attributes) -> int:
    """Return the number of combinations of categories; raise `OptionError` if they are too many to number."""
    n = 1
    for categories in attributes.values():
        n *= len(categories)
    if n > _MAX_COMBINATIONS:
        raise OptionError(
            f"{len(attributes)} attributes have too many combinations to number, above 2^62: name fewer, or merge "
            "rare categories with a higher minimum count"
        )
    return n


def with_contexts(corpus: Corpus, contexts: Contexts, attributes: Attributes) -> Corpus:
    """Return `corpus` with its contexts as columns; unknown categories become `OTHER`."""
    columns = dict(corpus.columns)
    for name, categories in attributes.items():
        if name not in contexts:
            raise InputError(f"the contexts lack '{name}': they have {', '.join(contexts)}")
        if len(contexts[name]) != len(corpus):
            raise InputError(f"there are {len(corpus):,} texts, but contexts of {len(contexts[name]):,}")
        places = {category: place for place, category in enumerate(categories)}
        columns[COLUMN + name] = np.array([places.get(value, 0) for value in contexts[name]], dtype=np.float64)
    return replace(corpus, columns=columns)


def context_numbers(corpus: Corpus, attributes: Attributes) -> npt.NDArray[np.int64]:
    """Return the number of each text's combination of categories, shape (N,), from 0 to `n_contexts` - 1.

    Mixed radix, the last attribute most significant: number = index 1 + size 1 * (index 2 + size 2 * (...)).
    """
    missing = [name for name in attributes if COLUMN + name not in corpus.columns]
    if missing:
        raise InputError(f"the texts have no contexts: {', '.join(missing)}")
    numbers = np.zeros(len(corpus), dtype=np.int64)
    for name, categories in reversed(list(attributes.items())):
        places = corpus.columns[COLUMN + name].astype(np.int64)
        if len(places) and not (places.min() >= 0 and places.max() < len(categories)):
            raise InputError(f"contexts of '{name}' must be from 0 to {len(categories) - 1}, its categories")
        numbers = numbers * len(categories) + places
    return numbers


def context_places(numbers: npt.NDArray[np.int64], attributes: Attributes) -> dict[str, npt.NDArray[np.int64]]:
    """Return the category indices of each attribute, shape (N,), from `context_numbers`."""
    places = {}
    for name, categories in attributes.items():
        numbers, places[name] = np.divmod(numbers, len(categories))
    return places


@dataclass(frozen=True)
class Reviews:
    """The reviews that are kept, in the order of the file.

    Attributes
    ----------
    texts
        N reviews: lower-cased words, one space between them.
    contexts
        Their products and users, as `with_contexts` takes them: ``product`` and ``user``, N each.
    left_out
        How many reviews are left out for which reason: long review, rare product, inactive user.
    """

    texts: Sequence[str]
    contexts: Contexts
    left_out: Mapping[str, int]


def read_reviews(
    source: str | os.PathLike[str],
    *,
    column: str = "reviewText",
    product_column: str = "asin",
    user_column: str = "reviewerID",
    min_product: int = 1,
    min_user: int = 1,
    max_words: int | None = None,
) -> Reviews:
    """Return the reviews of a table, each kept product and user with enough of the kept reviews.

    Parameters
    ----------
    source
        A table that `read_texts` reads.
    column, product_column, user_column
        Where text, product and user stand; by default as in the public collection of Amazon reviews.
    min_product, min_user
        Fewest reviews of a product and by a user, at least 1. Both hold among the reviews that are kept: leaving out an
        inactive user may make a product rare, so both are asked again until nothing more is left out.
    max_words
        Most words of a review, separated by white space, at least 1; longer ones are left out first. None: any length.

    Raises
    ------
    OptionError
        For a threshold below 1.
    EmptyCorpusError
        If no review is kept.
    """
    for name, least in (("min_product", min_product), ("min_user", min_user), ("max_words", max_words)):
        check_range(name, least, 1)
    texts, products, users = (read_texts(source, column=name).texts for name in (column, product_column, user_column))
    words = [text.lower().split() for text in texts]
    keep = np.array([max_words is None or len(of_text) <= max_words for of_text in words], dtype=np.bool_)
    left_out = {LONG: int((~keep).sum()), RARE: 0, INACTIVE: 0}
    sides = [
        (reason, np.unique(np.array(labels, dtype=object), return_inverse=True)[1], least)
        for reason, labels, least in ((RARE, list(products), min_product), (INACTIVE, list(users), min_user))
    ]
    n_before = -1
    while n_before != (n_before := int(keep.sum())):
        for reason, numbers, least in sides:
            too_few = keep & (np.bincount(numbers, weights=keep)[numbers] < least)
            left_out[reason] += int(too_few.sum())
            keep &= ~too_few
    kept = np.flatnonzero(keep).tolist()
    if not kept:
        reasons = ", ".join(f"{n} {reason}" for reason, n in left_out.items())
        raise EmptyCorpusError(f"{source}: no review of {len(words)} is kept ({reasons})")
    contexts = {"product": [products[place] for place in kept], "user": [users[place] for place in kept]}
    return Reviews([" ".join(words[place]) for place in kept], contexts, left_out)


def trained_contexts(
    train: Corpus, valid: Corpus, contexts: Contexts, valid_contexts: Contexts | None, *, min_count: int
) -> tuple[Corpus, Corpus, Attributes]:
    """Return both corpora with contexts, and the attributes with the categories that training knows.

    Without `valid_contexts` the last of `contexts` are those.
    """
    of_train = {name: values[: len(train)] for name, values in contexts.items()}
    of_valid = {name: values[len(train) :] for name, values in contexts.items()}
    attributes = learn_attributes(of_train, min_count=min_count)
    return (
        with_contexts(train, of_train, attributes),
        with_contexts(valid, of_valid if valid_contexts is None else valid_contexts, attributes),
        attributes,
    )
