"""Running text as one string of characters, its splits and its windows, for language models that have no sentences.

Source: Mahoney, "Large Text Compression Benchmark", 2006, for text8: 100 million characters of Wikipedia, 26 lower-case
letters and the space; the first 90 % train, the next 5 % validation, the last 5 % test, as in Mikolov et al., "Subword
language modeling with neural networks", 2012.
"""

import os
from itertools import pairwise

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.limits import running_text
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.split import contiguous_bounds
from textassay.corpus.texts import read_texts
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError


def read_running_text(source: str | os.PathLike[str], *, column: str | None = None) -> str:
    """Return a whole file as one string, with a space for each line break or between two rows of a table."""
    with running_text():
        text = " ".join(read_texts(source, column=column).texts)
    if not text or text.isspace():
        raise EmptyCorpusError(f"{source} is empty: it holds only white space")
    return text


def split_characters(text: str, shares: tuple[float, ...] = (0.9, 0.05, 0.05)) -> list[str]:
    """Return consecutive parts of a text, by default 90, 5 and 5 % of its characters."""
    return [text[start:stop] for start, stop in pairwise(contiguous_bounds(len(text), shares, items="characters"))]


def symbols(text: str) -> str:
    """Return the distinct characters of a text, sorted; text8 has 27."""
    return "".join(sorted(set(text)))


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
