"""Sentences passed between stages, as files of token ids."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import InputError
from textassay.storage import atomic_write


def save_draws(path: Path, corpus: Corpus) -> None:
    """Write the tokens of `corpus` to `path`, atomically."""
    with atomic_write(path) as file:
        np.savez(file, tokens=corpus.tokens, offsets=corpus.offsets)


def load_draws(path: Path, form: TextForm) -> Corpus:
    """Return the corpus whose tokens `save_draws` wrote, as `form` writes them."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            tokens, offsets = kept["tokens"], kept["offsets"]
    except Exception:  # a damaged file raises anything
        raise InputError(f"{path} is damaged: delete its folder to compute it again") from None
    if tokens.max(initial=0) >= len(form.vocabulary):
        raise InputError(f"{path} was drawn over another vocabulary: delete its folder to compute it again")
    return _written(tokens, offsets, form)


def as_written(corpus: Corpus, form: TextForm, longest: int | None = None) -> Corpus:
    """Return `corpus`, which is in `form`, as a generator would write it.

    Sentences are cut after `longest` tokens, and a token that the vocabulary does not have reads ``<unk>`` in the text,
    too.
    """
    lengths = corpus.lengths if longest is None else np.minimum(corpus.lengths, longest)
    inside = np.arange(len(corpus.tokens)) - np.repeat(corpus.offsets[:-1], corpus.lengths) < np.repeat(
        lengths, corpus.lengths
    )
    return _written(corpus.tokens[inside], np.concatenate(([0], np.cumsum(lengths))), form)


def _written(tokens: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], form: TextForm) -> Corpus:
    words = np.array(form.vocabulary.tokens, dtype=object)[tokens].tolist()
    name = form.tokenizer.name
    texts = [join_tokens(name, words[begin:end]) for begin, end in pairwise(offsets.tolist())]
    return Corpus(tokens, offsets, form.vocabulary, texts, tokenizer=name)
