"""Encode texts as token ids: one pass over the text, one vocabulary for all sets."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from textassay.corpus.interning import Interner, Unit
from textassay.corpus.tokenizer import SPACERS, NamedTokenizer, SubwordTokenizer
from textassay.corpus.vocabulary import SPECIAL_TOKENS, Vocabulary
from textassay.errors import InputError, OptionError

Arrays = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]
_BLOCK = 1 << 20  # characters handled at once: memory beyond text and tokens stays small


def encode(sets: Mapping[str, Sequence[str]], tokenize: NamedTokenizer) -> tuple[dict[str, Arrays], Vocabulary]:
    """Return token ids, shape (T,), and offsets, shape (N + 1,), of each set of texts, and their shared vocabulary."""
    interner = Interner()
    interner.add(SPECIAL_TOKENS, Unit.STRING)
    arrays = {}
    for name, sentences in sets.items():
        numbers, counts = [np.empty(0, dtype=np.int32)], [np.zeros(1, dtype=np.int64)]
        for start, stop in _blocks(sentences):
            try:
                block_numbers, block_counts = _encode_block(sentences[start:stop], tokenize, interner)
            except UnicodeEncodeError:
                raise _surrogate_error(name, sentences, start) from None
            numbers.append(block_numbers)
            counts.append(block_counts)
        arrays[name] = (np.concatenate(numbers), np.cumsum(np.concatenate(counts)))
    return arrays, Vocabulary.from_interner(interner)


def _blocks(sentences: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of runs of texts with about `_BLOCK` characters each."""
    ends = np.cumsum(np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences)))
    start = 0
    while start < len(sentences):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _BLOCK)))
        yield start, stop
        start = stop


def _encode_block(texts: Sequence[str], tokenize: NamedTokenizer, interner: Interner) -> Arrays:
    """Return token numbers, shape (T,), and the number of tokens of each text, shape (N,)."""
    if tokenize.lowercase:
        texts = [text.lower() for text in texts]
    if tokenize.function is list:
        return interner.add(texts, Unit.CHARACTER)
    if tokenize.function is str.split:
        return interner.add(texts, Unit.WORD)
    for function, space in SPACERS.items():
        if tokenize.function is function:
            return interner.add(space(texts), Unit.WORD)
    if isinstance(tokenize.function, SubwordTokenizer):
        return _intern_subwords(tokenize.function, texts, interner)
    tokenised = [tokenize.function(text) for text in texts]
    for text, tokens in zip(texts, tokenised, strict=True):
        if not isinstance(tokens, list | tuple) or not all(isinstance(token, str) for token in tokens):
            raise OptionError(f"tokenizer {tokenize.name} must return a list of strings, got {tokens!r} for {text!r}")
    numbers, _ = interner.add([token for tokens in tokenised for token in tokens], Unit.STRING)
    return numbers, np.array([len(tokens) for tokens in tokenised], dtype=np.int64)


def _intern_subwords(tokenizer: SubwordTokenizer, texts: Sequence[str], interner: Interner) -> Arrays:
    """Return the same for subwords; only distinct ones become strings."""
    "".join(texts).encode()  # raises for a lone surrogate, which the tokeniser may accept
    ids, counts = tokenizer.encode(texts)
    distinct, first, places = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    types = tokenizer.types
    numbers = np.empty(len(distinct), dtype=np.int32)
    numbers[order] = interner.add([types[number] for number in distinct[order].tolist()], Unit.STRING)[0]
    return numbers[places.reshape(-1)], counts


def _surrogate_error(name: str, sentences: Sequence[str], start: int) -> InputError:
    """Return the error for the first lone surrogate at or after text `start`."""
    for number in range(start, len(sentences)):
        for character in sentences[number]:
            if "\ud800" <= character <= "\udfff":
                return InputError(
                    f"{name}: text {number + 1} holds a lone surrogate (U+{ord(character):04X}), which is not a "
                    "character; write the text as valid UTF-8"
                )
    return InputError(f"{name}: the tokenizer returned a lone surrogate, which is not a character")
