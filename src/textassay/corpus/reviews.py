"""Reviews with their products and users, without rare products, inactive users and long reviews.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, section 3, which gives no thresholds: nothing is left out unless asked for.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from textassay.corpus.contexts import Contexts
from textassay.corpus.texts import read_texts
from textassay.errors import EmptyCorpusError, check_range

LONG, RARE, INACTIVE = "long review", "rare product", "inactive user"


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
