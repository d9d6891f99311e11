"""Cut running text into windows of equal length, which become the texts of a corpus."""

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import OptionError, TooFewSentencesError


def cut_windows(text: Corpus, length: int) -> Corpus:
    """Return consecutive windows of `length` tokens of each text; the rest at its end is dropped."""
    if length < 1:
        raise OptionError(f"length must be at least 1, got {length}")
    counts = text.lengths // length
    if counts.sum() == 0:
        raise TooFewSentencesError(
            f"no window of {length} tokens: the longest text has {text.lengths.max(initial=0)}; use a smaller window"
        )
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = np.repeat(text.offsets[:-1], counts) + within * length
    rows = text.tokens[starts[:, None] + np.arange(length)]
    words = np.array(text.vocabulary.tokens, dtype=object)[rows].tolist()
    return Corpus(
        rows.reshape(-1),
        np.arange(len(rows) + 1, dtype=np.int64) * length,
        text.vocabulary,
        PackedTexts.of(join_tokens(text.tokenizer, row) for row in words),
        tokenizer=text.tokenizer,
    )
