"""The text form of a model: its tokeniser and vocabulary, saved together."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

from textassay.corpus.byte_pairs import BytePairs, learn_byte_pairs
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS, Vocabulary
from textassay.corpus.texts import as_texts
from textassay.corpus.tokenizer import (
    AUTO,
    TOKENIZERS,
    NamedTokenizer,
    SubwordTokenizer,
    Tokenizer,
    choose_tokenizer,
    resolve_tokenizer,
    tokenize_segment,
)
from textassay.errors import EmptyCorpusError, InputError, OptionError, check_type, unknown_name

_LEARNT = re.compile(r"bpe-(\d+)")
_KINDS: Mapping[str, Any] = {
    "tokenizer": str,
    "lowercase": bool,
    "merges": Sequence[Sequence[str]],
    "tokens": Sequence[str],
    "hash": str,
}


class TextForm:
    """A tokeniser and a vocabulary; tokens that are not in the vocabulary become ``<unk>``."""

    def __init__(self, tokenizer: NamedTokenizer, vocabulary: Vocabulary) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary

    @classmethod
    def learn(
        cls,
        texts: Any,
        *,
        tokenizer: str | Tokenizer = AUTO,
        lowercase: bool = False,
        max_size: int | None = None,
        min_count: int = 1,
    ) -> Self:
        """Return the form learnt from `texts`, with their most frequent tokens.

        `tokenizer`: a name in `TOKENIZERS`; ``auto`` as in `corpora_from_texts`; ``bpe-SIZE`` to learn byte pairs; or
        a callable.
        """
        source = as_texts(texts, "texts")
        if len(source) == 0:
            raise EmptyCorpusError("a vocabulary needs at least one text, got 0")
        bpe = _LEARNT.fullmatch(tokenizer) if isinstance(tokenizer, str) else None
        if bpe is not None:
            cased = [text.lower() for text in source.texts] if lowercase else source.texts
            tokenizer = learn_byte_pairs(cased, size=int(bpe[1]))
        if isinstance(tokenizer, str) and tokenizer == AUTO:
            tokenizer = choose_tokenizer(source.texts)
        if isinstance(tokenizer, str) and tokenizer not in TOKENIZERS:
            raise unknown_name("tokenizer", tokenizer, (AUTO, *TOKENIZERS, "bpe-SIZE"))
        named = resolve_tokenizer(tokenizer, lowercase=lowercase)
        if isinstance(named.function, SubwordTokenizer):
            if max_size is not None or min_count != 1:
                raise OptionError(f"{named.name} has a fixed number of tokens: max_size and min_count do not apply")
            return cls(named, Vocabulary(named.function.types))
        corpus = Corpus.from_texts(source, tokenizer=named)
        return cls(named, Vocabulary.build(corpus, max_size=max_size, min_count=min_count))

    def corpus(self, texts: Any) -> Corpus:
        """Return the corpus of `texts` in this form; all corpora of one form share its vocabulary."""
        return Corpus.from_texts(texts, tokenizer=self.tokenizer, vocabulary=self.vocabulary)

    @cached_property
    def hash(self) -> str:
        """Hash of the tokeniser's name (which hashes byte pairs) and the vocabulary in order: 32 hexadecimal digits."""
        digest = hashlib.blake2b(self.tokenizer.name.encode(), digest_size=16)
        for token in self.vocabulary.tokens:
            digest.update(f"\n{len(token)} {token}".encode())
        return digest.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        function = self.tokenizer.function
        name = self.tokenizer.name.removesuffix("+lower")
        is_named = function is TOKENIZERS.get(name) or function is tokenize_segment
        if not is_named and not isinstance(function, BytePairs):
            raise OptionError(
                f"tokenizer {name} cannot be saved, since it is code or part of a pretrained model: use one of "
                f"{', '.join(TOKENIZERS)}, bpe-SIZE"
            )
        merges = {"merges": [list(pair) for pair in function.merges]} if isinstance(function, BytePairs) else {}
        return {
            "tokenizer": name,
            "lowercase": self.tokenizer.lowercase,
            **merges,
            "tokens": list(self.vocabulary.tokens[len(SPECIAL_TOKENS) :]),
            "hash": self.hash,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        if document.keys() | {"merges"} != _KINDS.keys():
            raise InputError(f"a text form must have {', '.join(sorted(_KINDS))}, got {', '.join(sorted(document))}")
        name, lowercase, tokens = document["tokenizer"], document["lowercase"], document["tokens"]
        merges = document.get("merges")
        try:
            for part, kind in _KINDS.items():
                if part in document:
                    check_type(f"{part} of a text form", document[part], kind)
            function = name if merges is None else BytePairs([(left, right) for left, right in merges])
            form = cls(resolve_tokenizer(function, lowercase=lowercase), Vocabulary(tokens))
            unchanged = form.hash == document["hash"]
        except (TypeError, ValueError) as error:
            raise InputError(f"text form '{name}' cannot be read: {error}") from error
        if len({*SPECIAL_TOKENS, *tokens}) < len(SPECIAL_TOKENS) + len(tokens):
            twice = next(token for token, count in Counter([*SPECIAL_TOKENS, *tokens]).items() if count > 1)
            raise InputError(f"text form '{name}' has the token '{twice}' twice")
        if not unchanged:
            raise InputError(f"text form '{name}' was changed after it was written: its hash does not match")
        return form

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextForm) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        return f"TextForm({self.tokenizer.name}, {len(self.vocabulary)} tokens)"
