"""The corpus: ordered sentences as one flat array of token ids, with their texts and their vocabulary."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from textassay.corpus.encoding import encode
from textassay.corpus.tokenizer import Tokenizer, resolve_tokenizer
from textassay.corpus.vocabulary import Vocabulary

__all__ = ["Corpus", "corpora_from_texts"]


class Corpus:
    """An immutable set of sentences.

    Attributes
    ----------
    tokens
        Token ids of all sentences, one after another, shape (T,), int32.
    offsets
        Where each sentence starts in `tokens`, and the end of the last, shape (N + 1,), int64.
    vocabulary
        What the ids mean; all corpora of one comparison share one.
    texts
        The sentences as they were read, N strings.
    tokenizer
        Name of the tokeniser (and of what was done before it), as it stands in signatures.
    groups
        Group number of each sentence, shape (N,), or none: sentences of a group are never split.
    """

    def __init__(
        self,
        tokens: npt.NDArray[np.int32],
        offsets: npt.NDArray[np.int64],
        vocabulary: Vocabulary,
        texts: Sequence[str],
        *,
        tokenizer: str,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> None:
        if len(offsets) != len(texts) + 1 or offsets[-1] != len(tokens):
            raise ValueError("offsets do not fit texts and tokens")
        if groups is not None and len(groups) != len(texts):
            raise ValueError(f"groups must have one number a sentence: {len(texts)}, got {len(groups)}")
        tokens.flags.writeable = False
        offsets.flags.writeable = False
        self.tokens = tokens
        self.offsets = offsets
        self.vocabulary = vocabulary
        self.texts = texts
        self.tokenizer = tokenizer
        self.groups = groups

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Corpus({len(self)} sentences, {len(self.tokens)} tokens, tokenizer={self.tokenizer!r})"

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens in each sentence, shape (N,)."""
        return np.diff(self.offsets)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of texts, groups and tokeniser, in order: equal for equal content, 32 hexadecimal digits."""
        digest = hashlib.blake2b(self.tokenizer.encode(), digest_size=16)
        blob = "\n".join(self.texts).encode("utf-8", "surrogatepass")
        digest.update(self.offsets.tobytes())
        digest.update(np.array([len(text) for text in self.texts], dtype=np.int64).tobytes())
        digest.update(blob)
        if self.groups is not None:
            digest.update(self.groups.tobytes())
        return digest.hexdigest()

    def sentence(self, index: int) -> list[str]:
        """Return the tokens of one sentence."""
        return self.vocabulary.decode(self.tokens[self.offsets[index] : self.offsets[index + 1]])

    def take(self, indices: npt.NDArray[np.int64]) -> "Corpus":
        """Return the corpus of the sentences at `indices`, in that order; the vocabulary is shared."""
        lengths = self.lengths[indices]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[indices] - offsets[:-1], lengths)
        return Corpus(
            self.tokens[positions],
            offsets,
            self.vocabulary,
            [self.texts[index] for index in indices],
            tokenizer=self.tokenizer,
            groups=None if self.groups is None else self.groups[indices],
        )


def corpora_from_texts(
    texts: Mapping[str, Iterable[str]],
    *,
    tokenizer: str | Tokenizer = "whitespace",
    lowercase: bool = False,
    groups: Mapping[str, npt.NDArray[np.int64]] | None = None,
) -> dict[str, Corpus]:
    """Return one corpus for each named set of sentences, all sharing one vocabulary.

    Parameters
    ----------
    texts
        Name to sentences.
    tokenizer
        Name of a tokeniser or a callable from a sentence to its tokens.
    lowercase
        Whether to lower-case before tokenising.
    groups
        Name to group numbers, shape (N,), for the sets that have them.
    """
    tokenize = resolve_tokenizer(tokenizer, lowercase=lowercase)
    named = {name: list(sentences) for name, sentences in texts.items()}
    arrays, vocabulary = encode(list(named.values()), tokenize)
    return {
        name: Corpus(
            tokens,
            offsets,
            vocabulary,
            sentences,
            tokenizer=tokenize.name,
            groups=None if groups is None else groups.get(name),
        )
        for (name, sentences), (tokens, offsets) in zip(named.items(), arrays, strict=True)
    }
