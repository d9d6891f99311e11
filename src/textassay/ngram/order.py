"""The order of an n-gram model, chosen on text it has not seen.

All orders come from one count of the longest n-grams. The smallest cross-entropy wins, the lower order where two are
equal.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from textassay.corpus.corpus import Corpus
from textassay.errors import EmptyCorpusError
from textassay.ngram.kneser_ney import DiscountKind, NgramCounts
from textassay.ngram.sentence_ends import with_ends


@dataclass(frozen=True)
class OrderChoice:
    """The `order` chosen, and the cross-entropy of each order on the validation text, nats per token, ends counted."""

    order: int
    nll_per_token: Mapping[int, float]


def choose_order(
    counts: NgramCounts, valid: Corpus, *, discounts: DiscountKind = "modified", without: Collection[int] = ()
) -> OrderChoice:
    """Return the best order from 1 to that of `counts`."""
    if len(valid) == 0:
        raise EmptyCorpusError("the order of an n-gram model is chosen on validation text, which has no sentence")
    text, offsets = with_ends(valid.tokens, valid.offsets)
    nll_per_token = {}
    for order in range(1, counts.order + 1):
        model, _ = counts.fit(order, discounts=discounts, without=without)
        nll_per_token[order] = -float(model.traced_log_probs(model.trace(text, offsets)).mean())
    return OrderChoice(min(nll_per_token, key=lambda order: (nll_per_token[order], order)), nll_per_token)
