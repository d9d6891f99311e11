"""Turn texts of any kind that Python users pass into corpora that share preparation and vocabulary."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypedDict

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.download import is_url
from textassay.corpus.normalization import normalize as normalize_text
from textassay.corpus.normalization import truncate
from textassay.corpus.reader import SUFFIXES, read_texts
from textassay.corpus.spacing import AUTO
from textassay.corpus.texts import TextFile, as_texts
from textassay.corpus.tokenizer import Tokenizer

Texts: TypeAlias = Any
"""Many texts: a list of str, a column (NumPy, pandas, polars, Arrow, `datasets`), a table with one column of texts, a
path or address (see `read_texts`), what `read_texts` returned, or a `Corpus`."""


class TextOptions(TypedDict, total=False):
    """How all texts are prepared before they are measured."""

    tokenizer: str | Tokenizer
    lowercase: bool
    normalize: bool
    max_tokens: int | None


def read_if_path(source: Texts) -> Any:
    """Return `source`, or the texts of the file if it is a path or address."""
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _is_path(source)):
        return read_texts(source)
    return source


def _is_path(text: str) -> bool:
    """Return whether a string is meant as a path or an address, and not as a text."""
    if "\n" in text or "\0" in text:
        return False
    return is_url(text) or text.lower().removesuffix(".gz").endswith(SUFFIXES) or os.path.exists(text)  # noqa: PTH110


def prepare_corpora(
    sources: Mapping[str, Texts],
    *,
    tokenizer: str | Tokenizer = AUTO,
    lowercase: bool = False,
    normalize: bool = False,
    max_tokens: int | None = None,
) -> dict[str, Corpus]:
    """Return one corpus per source, all prepared alike and sharing one vocabulary; settings as in `compare`.

    If all sources are corpora of one vocabulary and need no preparation, they are returned as they are. Otherwise all
    texts are tokenised together.
    """
    unchanged = isinstance(tokenizer, str) and tokenizer == AUTO and not (lowercase or normalize or max_tokens)
    if unchanged and all(isinstance(source, Corpus) for source in sources.values()):
        vocabularies = {id(corpus.vocabulary) for corpus in sources.values()}
        if len(vocabularies) == 1:
            return dict(sources)
    files = {
        name: TextFile(name, tuple(source), source.groups)
        if isinstance(source, Corpus)
        else as_texts(read_if_path(source), name)
        for name, source in sources.items()
    }
    if normalize:
        files = {name: replace(file, texts=tuple(map(normalize_text, file.texts))) for name, file in files.items()}
    corpora = corpora_from_texts(files, tokenizer=tokenizer, lowercase=lowercase)
    if normalize:  # recorded in signatures
        corpora = {name: replace(corpus, tokenizer=f"{corpus.tokenizer}+normalize") for name, corpus in corpora.items()}
    if max_tokens is None:
        return corpora
    return {name: truncate(corpus, max_tokens) for name, corpus in corpora.items()}
