"""The text of the study ``gan-as-lm``: running characters in three parts, and windows of it.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, section 4 (text8; windows
that follow one another and begin without context, of their authors' code).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from textassay.corpus import (
    SPECIAL_TOKENS,
    Corpus,
    TextForm,
    cut_windows,
    read_running_text,
    running_text,
    split_characters,
    symbols,
)
from textassay.errors import InputError, TooFewSentencesError
from textassay.study.gan_as_lm.scales import GanScale

FILES = ("train.txt", "valid.txt", "test.txt")


@dataclass(frozen=True)
class GanText:
    """Running text in one form, that of the training text; each part is one sentence."""

    form: TextForm  # A character is a token
    # What generators learn from, what chooses an epoch of those that have epochs, and what is measured on
    train: Corpus
    valid: Corpus
    test: Corpus
    sizes: Mapping[str, int]  # How much there is of what

    @property
    def n_types(self) -> int:
        """Different characters of the training text; 27 in text8."""
        return len(self.form.vocabulary) - len(SPECIAL_TOKENS)


def read_gan_text(source: Path, scale: GanScale) -> GanText:
    """Return the text of the study."""
    if source.is_dir():
        lacking = [name for name in FILES if not (source / name).is_file()]
        if lacking:
            raise InputError(f"{source} lacks {', '.join(lacking)}: --data names a folder of {', '.join(FILES)}")
        parts = [read_running_text(source / name) for name in FILES]
    else:
        parts = split_characters(read_running_text(source))
    most = (scale.n_train, scale.n_valid, scale.n_test)
    parts = [part[:n] for part, n in zip(parts, most, strict=True)]
    longest = max(scale.lstm_length, scale.length)
    for name, part, least in zip(FILES, parts, (longest, longest, max(scale.window, *scale.windows)), strict=True):
        if len(part) < scale.rule_parts * least:
            raise TooFewSentencesError(
                f"{source}: {name.removesuffix('.txt')} has {len(part)} characters, the scale {scale.name} needs at "
                f"least {scale.rule_parts * least}: give more text"
            )
    with running_text():
        form = TextForm.learn([parts[0]], tokenizer="chars")
        train, valid, test = (form.corpus([part]) for part in parts)
    sizes = {f"{name} characters": len(part) for name, part in zip(("train", "valid", "test"), parts, strict=True)}
    return GanText(form, train, valid, test, {**sizes, "symbols": len(symbols(parts[0]))})


def evenly_spread(text: Corpus, n_characters: int, length: int) -> Corpus:
    """Return about `n_characters` of a text, all where it has no more: stretches of `length`, evenly spread."""
    stretches = cut_windows(text, length)
    n = max(1, min(len(stretches), n_characters // length))
    return stretches.take(np.linspace(0, len(stretches) - 1, n).round().astype(np.int64))
