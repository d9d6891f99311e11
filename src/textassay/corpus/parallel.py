"""Parallel text: pairs of a source sentence and its translation over one vocabulary; pairs held out from training.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, section 6: pairs are held out
before training, because prefixes must come from pairs that the model never saw.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.corpus.texts import as_texts
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ParallelText:
    """Sentence k of `target` translates sentence k of `source`; they share one vocabulary."""

    source: Corpus
    target: Corpus

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise InputError(
                f"line k of one side must translate line k of the other, but the source has {len(self.source)} "
                f"sentences and the translation {len(self.target)}"
            )
        if self.source.vocabulary is not self.target.vocabulary:
            raise OptionError("source and translation have different vocabularies: encode both with one TextForm")

    @classmethod
    def from_texts(cls, source: Any, target: Any, form: TextForm) -> "ParallelText":
        """Return the pairs of two lists of texts (see `as_texts`), encoded by the `form` of a model."""
        return cls(form.corpus(source), form.corpus(target))

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def fingerprint(self) -> str:
        both = f"{self.source.fingerprint} {self.target.fingerprint}"
        return hashlib.blake2b(both.encode(), digest_size=16).hexdigest()

    def take(self, indices: IntArray) -> "ParallelText":
        return ParallelText(self.source.take(indices), self.target.take(indices))


def learn_joint_form(source: Any, target: Any, *, size: int, lowercase: bool = False) -> TextForm:
    """Return byte pairs learnt from both sides together, so that names and numbers have the same tokens in both."""
    texts = [*as_texts(source, "source").texts, *as_texts(target, "target").texts]
    return TextForm.learn(texts, tokenizer=f"bpe-{size}", lowercase=lowercase)


def held_out_pairs(n_pairs: int, n: int, *, seed: int) -> tuple[IntArray, IntArray]:
    """Return the indices of the pairs to train on and of `n` pairs to hold out, each in increasing order.

    The indices are disjoint. Equal pairs may be in both: leaving them out would change the distribution.
    """
    if n < 0:
        raise OptionError(f"pairs to hold out must be at least 0, got {n}")
    if n_pairs - n < 2:
        raise TooFewSentencesError(f"of {n_pairs} pairs, {n} cannot be held out: at least 2 must be left to train on")
    order = stream(seed, "pairs", "held back").permutation(n_pairs)
    return np.sort(order[n:]), np.sort(order[:n])
