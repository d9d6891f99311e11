"""All metrics by name, with what each promises.

The properties declared here are checked for every metric by the tests in `tests/properties`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any


@dataclass(frozen=True)
class Entry:
    """What a metric promises."""

    class_name: str  # The metric's class in `textassay.metric`; its fields are the parameters
    summary: str  # One sentence for lists and reports
    # Range of the value
    low: float
    high: float
    symmetric: bool  # Whether swapping real and generated leaves the value as it is (up to the noise of sampling folds)
    looks_at_real: bool  # Whether the value depends on the real text at all
    size_sensitive: bool  # Whether the expected value changes with the number of sentences
    # Whether the order of sentences leaves the value exactly as it is; else only in distribution
    exact_under_reordering: bool
    # What it needs beside real and generated text (an option of ``compare``), such as ``train``; it joins the default
    # set where that is given
    needs: tuple[str, ...] = ()
    only_named: bool = False  # Whether it is computed only where it is named: never in the default set
    most: int | None = None  # Sentences a side up to which it belongs to the default set; any number where none

    @property
    def make(self) -> type[Any]:
        """The metric's class, loaded when it is first needed."""
        return resolve_name(f"textassay.metric:{self.class_name}")  # type: ignore[no-any-return]


CATALOG: Mapping[str, Entry] = {
    "dd": Entry(
        "DistributionalDiscrepancy",
        "Distributional Discrepancy: how much better than chance a classifier tells real from generated sentences",
        low=-1,
        high=1,
        symmetric=True,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=False,
    ),
    "bleu": Entry(
        "Bleu",
        "mean BLEU of each generated sentence against all real sentences",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "self-bleu": Entry(
        "SelfBleu",
        "mean BLEU of each generated sentence against all other generated ones: how much they repeat each other",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "distinct-n": Entry(
        "DistinctN",
        "share of generated n-grams that differ from one another",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "length": Entry(
        "Length",
        "Kolmogorov-Smirnov distance between the sentence lengths, in tokens",
        low=0,
        high=1,
        symmetric=True,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "vocabulary": Entry(
        "UnseenVocabulary",
        "share of generated tokens, or of token types, that the real text does not have",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "fed": Entry(
        "FrechetDistance",
        "Fréchet distance between Gaussians fitted to the sentence vectors of both sides",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "mmd": Entry(
        "MaximumMeanDiscrepancy",
        "maximum mean discrepancy between the sentence vectors: a kernel two-sample test with its p-value",
        low=-1,
        high=2,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=False,
        exact_under_reordering=False,  # to 1e-7: distances in single precision
    ),
    "mauve": Entry(
        "Mauve",
        "MAUVE: area under the frontier of divergences between the shares of sentences in clusters of an embedding",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "precision": Entry(
        "Precision",
        "share of generated sentences that lie among real ones, within reach of their nearest neighbours",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        most=120_000,
    ),
    "recall": Entry(
        "Recall",
        "share of real sentences that lie among generated ones, within reach of their nearest neighbours",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        most=120_000,
    ),
    "density": Entry(
        "Density",
        "how densely real sentences lie around generated ones, where 1 is usual",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        most=120_000,
    ),
    "coverage": Entry(
        "Coverage",
        "share of real sentences that have a generated one among their nearest neighbours",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        most=120_000,
    ),
    "lm-score": Entry(
        "LmScore",
        "mean cost (nats) of a generated token under a language model of the real text",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "reverse-lm-score": Entry(
        "ReverseLmScore",
        "mean cost (nats) of a real token under a language model of the generated text",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "compression-ratio": Entry(
        "CompressionRatio",
        "how many times smaller gzip makes the generated text: how much it repeats itself",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "zipf": Entry(
        "Zipf",
        "exponent of the rank-frequency curve of generated words; higher where frequencies fall faster",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "memorization": Entry(
        "Memorization",
        "share of generated sentences that stand in the training text",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=False,
        exact_under_reordering=True,
        needs=("train",),
    ),
    "huse": Entry(
        "Huse",
        "HUSE: twice the error of telling real from generated by people's ratings and log-probabilities",
        low=0,
        high=2,
        symmetric=True,
        looks_at_real=True,
        size_sensitive=False,
        exact_under_reordering=True,
        needs=("log-probs", "ratings"),
    ),
    "bleu-nearest": Entry(
        "BleuNearest",
        "BLEU of the generated text, each sentence against the ten real ones nearest to it",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        only_named=True,
    ),
    "rouge": Entry(
        "Rouge",
        "mean ROUGE of each generated sentence against the ten real ones nearest to it",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        only_named=True,
    ),
    "meteor": Entry(
        "Meteor",
        "mean METEOR of each generated sentence against the best of the ten real ones nearest to it",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        only_named=True,
    ),
    "cider": Entry(
        "Cider",
        "mean CIDEr of each generated sentence against the ten real ones nearest to it",
        low=0,
        high=10,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        only_named=True,
    ),
    "cider-d": Entry(
        "CiderD",
        "mean CIDEr-D of each generated sentence against the ten real ones nearest to it",
        low=0,
        high=10,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        only_named=True,
    ),
    "bleu-train": Entry(
        "BleuTrain",
        "BLEU of the generated text, each sentence against the ten training sentences nearest to it",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=False,
        exact_under_reordering=True,
        needs=("train",),
        only_named=True,
    ),
    "naturalness": Entry(
        "Naturalness",
        "how much likelier words are where they stand than anywhere, where nothing said again counts; by n-gram models",
        low=-math.inf,
        high=math.inf,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        only_named=True,
    ),
}
