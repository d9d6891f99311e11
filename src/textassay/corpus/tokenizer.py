"""Tokenisers: from a sentence to its tokens."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textassay.errors import unknown_name

__all__ = ["TOKENIZERS", "Tokenizer", "resolve_tokenizer"]

Tokenizer = Callable[[str], Sequence[str]]

_WORDS = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
TOKENIZERS: dict[str, Tokenizer] = {
    "whitespace": str.split,
    "words": _WORDS.findall,
    "chars": list,
}


@dataclass(frozen=True)
class NamedTokenizer:
    """A tokeniser with the name that stands in signatures."""

    name: str
    function: Tokenizer
    lowercase: bool

    def __call__(self, text: str) -> Sequence[str]:
        return self.function(text.lower() if self.lowercase else text)


def resolve_tokenizer(tokenizer: str | Tokenizer, *, lowercase: bool = False) -> NamedTokenizer:
    """Return the tokeniser of that name, or the callable given, named for signatures."""
    if callable(tokenizer):
        name = getattr(tokenizer, "__qualname__", type(tokenizer).__qualname__)
        function = tokenizer
    elif tokenizer in TOKENIZERS:
        name, function = tokenizer, TOKENIZERS[tokenizer]
    else:
        raise unknown_name("tokenizer", tokenizer, TOKENIZERS)
    return NamedTokenizer(f"{name}+lower" if lowercase else name, function, lowercase)
