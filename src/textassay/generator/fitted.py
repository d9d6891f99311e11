"""The weights of a fitted network, in float32 or bfloat16."""

import hashlib
from functools import cached_property

from textassay.corpus import Vocabulary
from textassay.errors import OptionError
from textassay.generator.reader import Weights


class Fitted:
    """Weights, float32, with vocabulary and tokeniser; `changing` during training."""

    def __init__(self, weights: Weights, vocabulary: Vocabulary, tokenizer: str, *, changing: bool = False) -> None:
        self.weights = weights
        self.vocabulary = vocabulary
        self.tokenizer = tokenizer
        self.changing = changing

    @property
    def digest(self) -> str:
        """Hash of the weights."""
        return self._digest() if self.changing else self._kept_digest

    def at(self, precision: str) -> Weights:
        """Return the weights in a precision."""
        if precision not in ("float32", "bfloat16"):
            raise OptionError(f"precision must be float32 or bfloat16, got {precision}")
        if precision == "float32":
            return self.weights
        return self._cast() if self.changing else self._kept_cast

    def _digest(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        for weight in self.weights.values():
            digest.update(weight.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def _cast(self) -> Weights:
        return {name: weight.detach().bfloat16() for name, weight in self.weights.items()}

    _kept_digest = cached_property(_digest)
    _kept_cast = cached_property(_cast)
