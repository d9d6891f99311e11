"""The contexts that a command names: read, and put beside the sentences that they belong to."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np

from textassay.cli.messages import print_line
from textassay.corpus import (
    COLUMN,
    Attributes,
    Contexts,
    Corpus,
    context_places,
    learn_attributes,
    read_contexts,
    with_contexts,
)
from textassay.errors import InputError, OptionError
from textassay.generators import TextGenerator
from textassay.network import ContextModel

_LISTED = 5  # unknown categories that are named


def check_contexts(
    model: str, contexts: str | None, valid: str | None, valid_contexts: str | None, window: int | None
) -> None:
    """Raise `OptionError` where the options do not fit a model that answers to contexts."""
    if contexts is None:
        raise OptionError(f"{model} answers to contexts: name with --contexts those of the sentences")
    if (valid is None) != (valid_contexts is None):
        raise OptionError("--valid and --valid-contexts belong together: give both, or none for a tenth of --real")
    if window is not None:
        raise OptionError(f"contexts are those of sentences: {model} has no --window")


def trained_contexts(
    train: Corpus, valid: Corpus, contexts: str, valid_contexts: str | None, *, min_count: int
) -> tuple[Corpus, Corpus, Attributes]:
    """Return both corpora with contexts, and the attributes with the categories that training knows."""
    told = _rows(contexts, len(train) + (len(valid) if valid_contexts is None else 0))
    of_train = {name: values[: len(train)] for name, values in told.items()}
    of_valid = {name: values[len(train) :] for name, values in told.items()}
    if valid_contexts is not None:
        of_valid = _rows(valid_contexts, len(valid))
    attributes = learn_attributes(of_train, min_count=min_count)
    return with_contexts(train, of_train, attributes), with_contexts(valid, of_valid, attributes), attributes


def contexts_told(train: Corpus, valid: Corpus, attributes: Attributes) -> list[str]:
    """Return lines that say what contexts training has, and which of them it cannot learn from."""
    lines = []
    for name, categories in attributes.items():
        places, of_valid = (corpus.columns[COLUMN + name] for corpus in (train, valid))
        n_found, n_rare, n_new = len(np.unique(places)), int((places == 0).sum()), int((of_valid == 0).sum())
        lines.append(
            f"context '{name}': {len(categories) - 1:,} categories; others stand with {n_rare:,} of {len(train):,} "
            f"sentences to train on, and with {n_new:,} of {len(valid):,} to validate with"
        )
        if n_found < 2:
            lines.append(f"warning: all sentences to train on have one '{name}': it tells nothing")
        elif n_new and not n_rare:
            lines.append(
                f"warning: no '{name}' to train on is rare, so nothing teaches what to make of new ones: "
                "--context-count 2, or more, does"
            )
    return lines


def contexts_hash(corpus: Corpus, attributes: Attributes) -> str:
    """Return what changes where a context of the corpus does."""
    named = f"{corpus.columns_fingerprint} of {json.dumps(dict(attributes))}"
    return hashlib.blake2b(named.encode(), digest_size=16).hexdigest()


def asked_contexts(opened: TextGenerator, path: str, n: int | None) -> Corpus:
    """Return empty sentences with the contexts in a file, for a model to answer to."""
    model = opened.model
    if not isinstance(model, ContextModel):
        raise OptionError(f"{model.name} answers to no contexts: leave --contexts out")
    told = read_contexts(Path(path))
    found = len(next(iter(told.values())))
    if found == 0 or (n is not None and found not in (1, n)):
        raise InputError(f"{path} has {found} contexts: give 1, or as many as -n")
    return _known(model, opened.form.corpus([""] * found), told)


def scored_contexts(opened: TextGenerator, corpus: Corpus, path: str | None, *, option: str) -> Corpus:
    """Return a text with the contexts that the model is to be asked beside, if it answers to any."""
    model = opened.model
    if not isinstance(model, ContextModel):
        if path is not None:
            raise OptionError(f"{model.name} answers to no contexts: leave {option} out")
        return corpus
    if path is None:
        raise OptionError(
            f"{model.name} knows how likely a sentence is only beside its context: name with {option} a table of "
            f"{', '.join(model.attributes)}"
        )
    return _known(model, corpus, _rows(path, len(corpus)))


def _known(model: ContextModel, corpus: Corpus, told: Contexts) -> Corpus:
    """Return a corpus with contexts; say how many of them the model does not know."""
    found = with_contexts(corpus, told, model.attributes)
    trained = context_places(np.asarray(model.record["contexts"]["numbers"]), model.attributes)
    for name, categories in model.attributes.items():
        known = set(categories[1:])
        unknown = Counter(value for value in told[name] if value not in known)
        if not unknown:
            continue
        few = ", ".join(repr(value) for value in [*unknown][:_LISTED]) + (", ..." if len(unknown) > _LISTED else "")
        taken = "they count as the rare ones of training"
        if (trained[name] != 0).all():
            taken = "nothing taught it what to make of such: train with --context-count 2 or more"
        print_line(
            f"warning: the model does not know the '{name}' of {unknown.total()} of {len(corpus)} ({few}): {taken}"
        )
    return found


def _rows(path: str, n: int) -> dict[str, list[str]]:
    """Return the contexts in a file that must be those of `n` sentences."""
    told: Contexts = read_contexts(Path(path))
    found = len(next(iter(told.values())))
    if found != n:
        raise InputError(f"{path} has contexts of {found} sentences below its first line, but there are {n} sentences")
    return {name: list(values) for name, values in told.items()}
