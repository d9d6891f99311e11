"""The nearest references of each hypothesis, as metrics find them."""

from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import Encoder
from textassay.metric.overlap import TFIDF, IntArray, NearestReferences


def nearest_references(
    hypotheses: Corpus,
    references: Corpus,
    *,
    k: int = 10,
    encoder: str | Encoder = TFIDF,
    exclude_self: bool = False,
    exclude_equal: bool = False,
) -> IntArray:
    finder = NearestReferences(references, encoder)
    return finder.of(hypotheses, k=k, exclude_self=exclude_self, exclude_equal=exclude_equal)
