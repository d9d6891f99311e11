"""The contexts that a command names: read, and put beside the sentences that they belong to."""

import hashlib
import json
from collections import Counter
from typing import Any

import numpy as np

from textassay.cli.messages import print_line
from textassay.corpus.corpus import Corpus
from textassay.errors import InputError, OptionError
from textassay_lab.generator.conditional import ContextSettings
from textassay_lab.generator.contexts import (
    COLUMN,
    Attributes,
    Contexts,
    context_places,
    read_contexts,
    with_contexts,
)
from textassay_lab.generators import TextGenerator

_LISTED = 5  # unknown categories that are named


def context_lines(train: Corpus, valid: Corpus, attributes: Attributes) -> list[str]:
    """Return lines that say what contexts training has, and which of them it cannot learn from."""
    lines = []
    for name, categories in attributes.items():
        places, of_valid = (corpus.columns[COLUMN + name] for corpus in (train, valid))
        n_categories, n_rare, n_new = len(np.unique(places)), int((places == 0).sum()), int((of_valid == 0).sum())
        lines.append(
            f"context '{name}': {len(categories) - 1:,} categories; others occur with {n_rare:,} of {len(train):,} "
            f"training sentences, and with {n_new:,} of {len(valid):,} validation sentences"
        )
        if n_categories < 2:
            lines.append(f"warning: all training sentences have the same '{name}', which is not informative")
        elif n_new and not n_rare:
            lines.append(
                f"warning: no '{name}' of the training text is rare, so new values cannot be learnt: use "
                "--context-count 2 or more"
            )
    return lines


def contexts_hash(corpus: Corpus, attributes: Attributes) -> str:
    """Return what changes where a context of the corpus does."""
    named = f"{corpus.columns_fingerprint} of {json.dumps(dict(attributes))}"
    return hashlib.blake2b(named.encode(), digest_size=16).hexdigest()


def contexts_to_answer(opened: TextGenerator, path: str, n: int | None) -> Corpus:
    """Return empty sentences with the contexts in a file, for a model to answer to."""
    model = opened.model
    if not isinstance(model, ContextSettings):
        raise OptionError(f"{model.name} takes no contexts: leave --contexts out")
    rows = read_contexts(path)
    n_contexts = len(next(iter(rows.values())))
    if n_contexts == 0 or (n is not None and n_contexts not in (1, n)):
        raise InputError(f"{path} has {n_contexts} contexts: give 1, or as many as -n")
    return _known(model, opened.form.corpus([""] * n_contexts), rows)


def scored_contexts(opened: TextGenerator, corpus: Corpus, path: str | None, *, option: str) -> Corpus:
    """Return a text with the contexts that the model is to be asked beside, if it answers to any."""
    model = opened.model
    if not isinstance(model, ContextSettings):
        if path is not None:
            raise OptionError(f"{model.name} takes no contexts: leave {option} out")
        return corpus
    if path is None:
        raise OptionError(
            f"{opened.model.name} needs a context for every sentence: add {option}, a table of "
            f"{', '.join(model.attributes)}"
        )
    return _known(model, corpus, contexts_of(path, len(corpus)))


def _known(model: Any, corpus: Corpus, rows: Contexts) -> Corpus:
    """Return a corpus with contexts; say how many of them the model does not know."""
    result = with_contexts(corpus, rows, model.attributes)
    trained = context_places(np.asarray(model.record["contexts"]["numbers"]), model.attributes)
    for name, categories in model.attributes.items():
        known = set(categories[1:])
        unknown = Counter(value for value in rows[name] if value not in known)
        if not unknown:
            continue
        few = ", ".join(repr(value) for value in [*unknown][:_LISTED]) + (", ..." if len(unknown) > _LISTED else "")
        taken = "they count as the rare ones of training"
        if (trained[name] != 0).all():
            taken = "the model was not trained on unknown contexts: train with --context-count 2 or more"
        print_line(
            f"warning: the model does not know the '{name}' of {unknown.total()} of {len(corpus)} ({few}): {taken}"
        )
    return result


def contexts_of(path: str, n: int) -> dict[str, list[str]]:
    """Return the contexts in a file that must be those of `n` sentences."""
    rows: Contexts = read_contexts(path)
    n_contexts = len(next(iter(rows.values())))
    if n_contexts != n:
        raise InputError(
            f"{path} has contexts of {n_contexts:,} sentences below its first line, but there are {n:,} sentences"
        )
    return {name: list(values) for name, values in rows.items()}
