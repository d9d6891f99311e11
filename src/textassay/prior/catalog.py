"""Priors by name, and what each says of the texts of a corpus, as a column."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import MissingExtraError, UnavailableError, unknown_name
from textassay.prior import english

if TYPE_CHECKING:
    from textassay.prior.cache import ColumnCache
    from textassay.prior.language_model import LanguageModel

FloatArray = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

AUTO, ENGLISH, SMOLLM2 = "auto", "english", "smollm2"
PRETRAINED = "pretrained:"
COUNTS_COLUMN = english.COLUMN
MODEL_COLUMN = "language-model"  # of corpora, shape (N, n_columns)
_BLOCK = 128  # texts that are read before what was said of them is kept
_TOKENS_A_WORD = 1.4
_MOST_SECONDS = 900
_FUNCTION_WORD = re.compile(
    "a|an|and|are|as|at|be|but|by|for|from|had|he|his|i|in|is|it|of|on|or|that|the|they|this|to|was|were|with"
)
_LEAST_ENGLISH = 0.15  # share of tokens; about .35 of English, below .05 of other languages


def check_prior(prior: str) -> str:
    """Return `prior`; raise if it is unknown, or its extra is not installed."""
    if prior == AUTO:
        return prior
    if is_model(prior):
        from textassay.prior.language_model import language_model

        language_model(prior)
    elif prior != ENGLISH:
        raise unknown_name("prior", prior, [AUTO, ENGLISH, SMOLLM2, f"{PRETRAINED}NAME"])
    elif find_spec("wordfreq") is None or find_spec("wordsegment") is None:
        raise MissingExtraError("a prior of English", "prior")
    return prior


def is_model(prior: str) -> bool:
    """Return whether a prior is a language model."""
    return prior == SMOLLM2 or prior.startswith(PRETRAINED)


def chosen_prior(prior: str | None, *texts: Corpus) -> tuple[str | None, str]:
    """Return the prior that ``auto`` stands for with these texts, the real ones first, and why it is none.

    It is ``smollm2`` where that is installed, the real text is English, and reading takes minutes.
    """
    if prior != AUTO:
        return prior, ""
    try:
        check_prior(SMOLLM2)
    except (MissingExtraError, UnavailableError) as error:
        return None, str(error)
    if not is_english(texts[0]):
        return None, "the real text is not English"
    from textassay.prior.language_model import language_model

    seconds = sum(len(corpus.tokens) for corpus in texts) * _TOKENS_A_WORD / language_model(SMOLLM2).tokens_a_second
    if seconds > _MOST_SECONDS:
        return None, f"reading the texts would take about {_time(seconds)}: give --prior smollm2 for that"
    return SMOLLM2, ""


def is_english(corpus: Corpus) -> bool:
    """Return whether function words of English are as frequent as they are in English text."""
    known = np.array(
        [_FUNCTION_WORD.fullmatch(word.lower()) is not None for word in corpus.vocabulary.tokens], dtype=np.bool_
    )
    return bool(len(corpus.tokens)) and float(known[corpus.tokens].mean()) >= _LEAST_ENGLISH


def name_of(label: str) -> str:
    """Return the name of a prior from what `label_of` says."""
    return label.rsplit(":", 2)[0] if is_model(label.partition(":")[0]) or label.startswith(PRETRAINED) else label


def label_of(prior: str) -> str:
    """Return the prior as a signature names it: of a model with a hash of its files and its precision."""
    if not is_model(prior):
        return prior
    from textassay.prior.language_model import language_model

    model = language_model(prior)
    return f"{prior}:{model.key[:8]}:{model.precision}"


def with_prior(corpus: Corpus, prior: str, prompts: Corpus | None = None) -> Corpus:
    """Return `corpus` with the column of a prior; a model reads each text after its prompt, that of its group."""
    check_prior(prior)
    if not is_model(prior):
        return english.with_counts(corpus)
    values = model_columns(prior, *_read_of(corpus, prompts))
    return replace(corpus, columns={**corpus.columns, MODEL_COLUMN: values})


def read_beforehand(
    prior: str, corpora: Sequence[Corpus], prompts: Corpus | None = None, progress: Progress | None = None
) -> None:
    """Let a model read all texts at once, so that how far it is and how long it takes can be told."""
    if is_model(prior):
        parts = [_read_of(corpus, prompts) for corpus in corpora]
        texts = [text for own, _ in parts for text in own]
        model_columns(prior, texts, [prompt for _, before in parts for prompt in before], progress)


def _read_of(corpus: Corpus, prompts: Corpus | None) -> tuple[list[str], list[str | None]]:
    """Return what a model reads: texts, in lower case where they are compared so, and the prompt of each, if any."""
    texts = corpus.texts_for_models()
    if prompts is None or prompts.groups is None or corpus.groups is None:
        return texts, [None] * len(texts)
    known = dict(zip(prompts.groups.tolist(), prompts.texts_for_models(), strict=True))
    return texts, [known.get(group) for group in corpus.groups.tolist()]


def model_columns(
    prior: str,
    texts: Sequence[str],
    prompts: Sequence[str | None] | None = None,
    progress: Progress | None = None,
) -> FloatArray:
    """Return what a model says of texts, shape (N, len(columns.COLUMNS)); those that were read before are not again."""
    from textassay.prior.cache import key_of
    from textassay.prior.columns import COLUMNS
    from textassay.prior.language_model import language_model

    model = language_model(prior)
    cache = _kept(model.key, len(COLUMNS))
    keys = [key_of(text, None if prompts is None else prompts[row]) for row, text in enumerate(texts)]
    firsts = dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))  # of equal texts the first
    known = cache.get(list(firsts))
    rows = [row for key, row in firsts.items() if key not in known]
    if rows:
        wanted = {keys[row]: (texts[row], None if prompts is None else prompts[row]) for row in rows}
        known |= _read(model, cache, wanted, progress)
    return np.array([known[key] for key in keys], dtype=np.float64).reshape(-1, len(COLUMNS))


@lru_cache(maxsize=4)
def _kept(model: str, n_columns: int) -> "ColumnCache":
    from textassay.prior.cache import ColumnCache

    return ColumnCache(model, n_columns)


def _read(
    model: "LanguageModel",
    cache: "ColumnCache",
    texts: dict[bytes, tuple[str, str | None]],
    progress: Progress | None,
) -> dict[bytes, FloatArray]:
    """Return the columns of texts by key, the longest first; what was read is kept block by block."""
    from textassay.prior.columns import columns_of

    ids = model.encode([text for text, _ in texts.values()])
    before = [model.encode_prompt(prompt) for _, prompt in texts.values()]
    total = sum(map(len, ids)) + sum(map(len, before))
    order = sorted(range(len(ids)), key=lambda row: (-len(ids[row]), row))
    keys, found = list(texts), dict[bytes, FloatArray]()
    begin, done, left = time.monotonic(), 0, total / model.tokens_a_second
    for start in range(0, len(order), _BLOCK):
        if progress is not None:
            progress(f"texts read by the language model, about {_time(left)} left", start, len(order))
        block = order[start : start + _BLOCK]
        read = model.read([ids[row] for row in block], [before[row] for row in block])
        some = dict(zip((keys[row] for row in block), columns_of(read), strict=True))
        cache.put(some)
        found |= some
        done += sum(len(ids[row]) + len(before[row]) for row in block)
        left = (time.monotonic() - begin) * (total - done) / max(done, 1)
    return found


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
