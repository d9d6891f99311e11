"""A random LSTM as the known truth: every probability is known, and nothing is learnt from text.

All its weights are drawn from N(0, 1). All sentences have one length; its words are numbers.

Source: Yu et al., "SeqGAN: Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017 (its oracle: 5,000
words, 20 tokens, hidden size 32), which He et al., "Quantifying Exposure Bias for Neural Language Generation", call
M_32^rand.
Departs from it: the beginning of a sentence is a token of its own, not word 0.
"""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS, UNK, Vocabulary
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.errors import InputError, OptionError, check_range
from textassay.seeding import stream
from textassay_lab.generator.fitted_network import Fitted
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.training.history import History

_TOKENIZER = "whitespace"


class RandomLstm(LstmModel):
    """LSTM with random weights; a `LanguageModel` that needs no `fit` and takes none. Needs the extra ``neural``.

    `n_words`: words, named ``0`` to ``n_words - 1``, at least 1.

    A sentence of another length, or with an unknown word, has log-probability -inf.
    """

    kind: ClassVar[str] = "random-lstm"

    def __init__(self, n_words: int = 5000, *, length: int = 20, width: int = 32, seed: int = 0) -> None:
        super().__init__(width, dropout=0.0, length=length, max_length=length, seed=seed)
        check_range("n_words", n_words, 1)
        self.n_words = n_words
        self.record = {"history": asdict(History())}

    @cached_property
    def form(self) -> TextForm:
        return TextForm(resolve_tokenizer(_TOKENIZER), Vocabulary(map(str, range(self.n_words))))

    @property
    def excluded(self) -> tuple[int, ...]:
        """All types but words."""
        return (*super().excluded, UNK)

    def require(self) -> Fitted:
        """Return the network, its weights drawn at first use."""
        if self._fitted is None:
            form, rng = self.form, stream(self.seed, self.kind)
            arrays = {
                name: rng.standard_normal(shape).astype("float32")
                for name, shape in self.shapes(len(form.vocabulary)).items()
            }
            record = self.record
            self.restore(arrays, vocabulary=form.vocabulary, tokenizer=form.tokenizer.name, record=record)
        assert self._fitted is not None
        return self._fitted

    def check_arrays(self, arrays: Mapping[str, npt.NDArray[Any]], n_types: int) -> None:
        """Raise `InputError` unless they fit the settings and the vocabulary has its words; see `FittedNetwork`."""
        if n_types != self.n_words + len(SPECIAL_TOKENS):
            n_words = n_types - len(SPECIAL_TOKENS)
            raise InputError(f"{self.name} has {self.n_words} words, but the vocabulary {n_words}")
        super().check_arrays(arrays, n_types)

    @property
    def settings(self) -> dict[str, Any]:
        return {"n_words": self.n_words, "length": self.length, "width": self.width, "seed": self.seed}

    @property
    def _title(self) -> str:
        return f"random-lstm(words={self.n_words}, length={self.length}, width={self.width}, seed={self.seed})"

    def fit(self, train: Corpus, valid: Corpus | None = None, **settings: Any) -> Self:
        """Raise: it has nothing to learn."""
        raise OptionError(f"{self.name} cannot be fitted: draw from it, and train another model on the draws")
