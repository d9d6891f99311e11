"""Contexts of texts: one category of each attribute, such as a rating, on which a generator is conditioned.

They are read from a table whose first line names the attributes; row k belongs to text k. A corpus holds them in the
columns ``contexts/NAME``, as indices into the categories that a model knows.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019.
Departs from it: without products and users, length and first content word take their place.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from textassay.addresses import place_of
from textassay.corpus.corpus import Corpus
from textassay.corpus.csv_text import csv_text, plain_cell
from textassay.corpus.source import Source
from textassay.corpus.tables import csv_rows
from textassay.errors import InputError, OptionError

Attributes = Mapping[str, Sequence[str]]  # name of an attribute to its categories
Contexts = Mapping[str, Sequence[str]]  # name of an attribute to the category of each of N sentences

COLUMN = "contexts/"  # prefix of the names of corpus columns
OTHER = "<other>"  # the first category of each attribute: everything a model does not know

_OTHER_TABLES = (".json", ".jsonl", ".parquet")
_MAX_COMBINATIONS = 1 << 62  # so that each combination has an int64 number


def read_contexts(source: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the contexts in a table, name of an attribute to categories, in the order of the file."""
    file = Source(place_of(source))
    if file.kind in _OTHER_TABLES:
        raise InputError(f"contexts must be a .tsv or .csv table, got {file.place}")
    rows = csv_rows(file, delimiter="," if file.kind == ".csv" else "\t")
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
        raise InputError(f"there are {len(texts)} texts, but {len(sentiment)} labels of sentiment")
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
            raise InputError(f"there are {len(corpus)} texts, but contexts of {len(contexts[name])}")
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
