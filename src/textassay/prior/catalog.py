"""Priors by name, and what each says of the texts of a corpus, as a column."""

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
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
_BLOCK = 64  # texts that are read before what was said of them is kept
_TOKENS_A_WORD = 1.4
_MOST_SECONDS = 900
_FUNCTION_WORD = re.compile(
    "a|an|and|are|as|at|be|but|by|for|from|had|he|his|i|in|is|it|of|on|or|that|the|they|this|to|was|were|with"
)
_LEAST_ENGLISH = 0.15  # share of tokens; .27 to .35 of English news, reviews and captions, .04 of German captions


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


def is_model(prior: str | None) -> bool:
    """Return whether a prior is a language model."""
    return prior is not None and (prior == SMOLLM2 or prior.startswith(PRETRAINED))


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
    cache = _kept(f"{model.key} {' '.join(COLUMNS)}", len(COLUMNS))
    before: Sequence[str | None] = [None] * len(texts) if prompts is None else prompts
    keys = [key_of(text, prompt) for text, prompt in zip(texts, before, strict=True)]
    distinct = dict(zip(keys, zip(texts, before, strict=True), strict=True))
    known = cache.get(list(distinct))
    if len(known) < len(distinct):
        known |= _read(model, cache, distinct, known, progress)
    return np.array([known[key] for key in keys], dtype=np.float64).reshape(-1, len(COLUMNS))


@lru_cache(maxsize=4)
def _kept(model: str, n_columns: int) -> "ColumnCache":
    from textassay.prior.cache import ColumnCache

    return ColumnCache(model, n_columns)


def _read(
    model: "LanguageModel",
    cache: "ColumnCache",
    texts: Mapping[bytes, tuple[str, str | None]],
    known: Collection[bytes],
    progress: Progress | None,
) -> dict[bytes, FloatArray]:
    """Return the columns of texts by key that are not known, the longest first; what was read is kept block by block.

    Blocks are those of all texts, so that a run that goes on reads the same texts together: in bfloat16 a text's
    numbers depend a little on the others of its batch.
    """
    from textassay.prior.columns import columns_of

    order = sorted(texts, key=lambda key: (-len(texts[key][0]), key))
    blocks = [order[start : start + _BLOCK] for start in range(0, len(order), _BLOCK)]
    waiting = [rest for block in blocks if (rest := [key for key in block if key not in known])]
    ids = [(model.encode([texts[key][0] for key in some]), [model.encode_prompt(texts[key][1]) for key in some])
           for some in waiting]  # fmt: skip
    sizes = [sum(map(len, (*own, *before))) for own, before in ids]
    found = dict[bytes, FloatArray]()
    begin, left = time.monotonic(), sum(sizes) / model.tokens_a_second
    n_waiting = sum(map(len, waiting))
    for number, (some, (own, before)) in enumerate(zip(waiting, ids, strict=True), start=1):
        if progress is not None:
            progress(f"texts read by the language model, about {_time(left)} left", len(found), n_waiting)
        rows = dict(zip(some, columns_of(model.read(own, before)), strict=True))
        cache.put(rows)
        found |= rows
        left = (time.monotonic() - begin) * sum(sizes[number:]) / max(sum(sizes[:number]), 1)
    return found


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
