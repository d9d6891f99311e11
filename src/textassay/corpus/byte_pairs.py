"""Byte-pair encoding: subword tokens learnt from the user's own text; every text can be written in them.

Text is split before each word, number and run of punctuation (a space belongs to what follows it). Inside these pieces
the most frequent pair of tokens is merged, repeatedly. The 256 bytes are the first tokens, so nothing is unknown.

Sources: Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words with Subword Units", ACL 2016; Radford et
al., "Language Models are Unsupervised Multitask Learners", 2019 (bytes). The library ``tokenizers`` does the work.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.tokenizer import BYTE_LETTERS
from textassay.errors import EmptyCorpusError, InputError, MissingExtraError, OptionError

if TYPE_CHECKING:
    import tokenizers


MIN_SIZE = len(BYTE_LETTERS) + 1  # all bytes and one pair


class BytePairs:
    """A byte-pair `SubwordTokenizer`; `join_tokens` restores any text exactly. Needs the extra ``neural``."""

    def __init__(self, merges: Sequence[tuple[str, str]]) -> None:
        _require_library()
        known = set(BYTE_LETTERS)
        for left, right in merges:
            if left not in known or right not in known:
                raise InputError(f"byte pairs: {left!r} and {right!r} cannot be merged: both must be tokens before")
            known.add(left + right)
        self.merges = tuple((left, right) for left, right in merges)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """All tokens in the order of their ids: the bytes, then the merges in the order learnt."""
        return tuple(dict.fromkeys((*sorted(BYTE_LETTERS), *(left + right for left, right in self.merges))))

    @cached_property
    def name(self) -> str:
        """Number of tokens and a hash of the merges, such as ``bpe-8000-1a2b3c4d``."""
        learnt = "\n".join(f"{left} {right}" for left, right in self.merges)
        return f"bpe-{len(self.types)}-{hashlib.blake2b(learnt.encode(), digest_size=4).hexdigest()}"

    def __call__(self, text: str) -> list[str]:
        ids, _ = self.encode([text])
        return [self.types[number] for number in ids.tolist()]

    def encode(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the ids of all tokens, shape (T,), and the number of tokens of each text, shape (N,)."""
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        rows = [encoding.ids for encoding in encodings]
        counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        ids = np.fromiter((number for row in rows for number in row), dtype=np.int32, count=int(counts.sum()))
        return ids, counts

    @cached_property
    def _tokenizer(self) -> "tokenizers.Tokenizer":
        from tokenizers import models

        ids = {token: number for number, token in enumerate(self.types)}
        return _tokenizer_of(models.BPE(vocab=ids, merges=list(self.merges)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BytePairs) and self.merges == other.merges

    def __hash__(self) -> int:
        return hash(self.merges)

    def __repr__(self) -> str:
        return f"BytePairs({self.name})"

    def __getstate__(self) -> dict[str, Any]:
        return {"merges": self.merges}


def learn_byte_pairs(texts: Sequence[str], *, size: int) -> BytePairs:
    """Return the byte pairs learnt from `texts`; their order does not matter."""
    _require_library()
    if size < MIN_SIZE:
        raise OptionError(f"byte pairs: size must be at least {MIN_SIZE} (256 bytes and one pair), got {size}")
    if not any(texts):
        raise EmptyCorpusError("byte pairs: the texts contain no character")
    import json

    from tokenizers import models, trainers

    tokenizer = _tokenizer_of(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=list(BYTE_LETTERS), show_progress=False)
    try:
        tokenizer.train_from_iterator(texts, trainer, length=len(texts))
    except UnicodeEncodeError:
        raise InputError("byte pairs: the texts contain a lone surrogate, which is not a character") from None
    return BytePairs([(left, right) for left, right in json.loads(tokenizer.to_str())["model"]["merges"]])


def _require_library() -> None:
    if find_spec("tokenizers") is None:
        raise MissingExtraError("a byte-pair tokenizer", "neural")


def _tokenizer_of(model: "tokenizers.models.BPE") -> "tokenizers.Tokenizer":
    """Return the tokeniser of `model` with GPT-2's split into words, without a space before the first."""
    from tokenizers import Tokenizer, pre_tokenizers

    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer
