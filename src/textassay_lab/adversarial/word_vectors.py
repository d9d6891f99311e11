"""Word vectors from a text file such as GloVe's: one line per word, the word and then its numbers.

Source: Pennington, Socher, Manning, "GloVe: Global Vectors for Word Representation", EMNLP 2014 (the format).
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from textassay.corpus.encoding import Vocabulary
from textassay.errors import InputError
from textassay.seeding import stream


def word_vector_size(path: Path) -> int:
    """Return the dimension of the vectors in the file; raise `InputError` if it holds none."""
    for _, _, numbers in _lines(path):
        return _size(numbers)
    raise InputError(f"{path} contains no word vector")


def read_word_vectors(path: Path, vocabulary: Vocabulary, *, seed: int) -> npt.NDArray[np.float32]:
    """Return the vector of each word of `vocabulary`, shape (V, size).

    Words that are not in the file get normal random vectors with the mean and deviation of the known ones.
    """
    size, ids = word_vector_size(path), {token: index for index, token in enumerate(vocabulary.tokens)}
    vectors = np.zeros((len(ids), size), dtype=np.float32)
    known = np.zeros(len(ids), dtype=np.bool_)
    for number, word, numbers in _lines(path):
        if _size(numbers) != size:
            raise InputError(f"{path}, line {number}: {_size(numbers)} numbers, but the vectors before have {size}")
        place = ids.get(word)
        if place is None or known[place]:
            continue
        try:
            vectors[place] = [float(each) for each in numbers.split(" ")]
        except ValueError:
            raise InputError(f"{path}, line {number}: the vector of '{word}' is not all numbers") from None
        if not np.isfinite(vectors[place]).all():
            raise InputError(f"{path}, line {number}: the vector of '{word}' is not finite")
        known[place] = True
    if not known.any():
        raise InputError(f"{path} contains vectors for none of the {len(ids):,} words of the vocabulary")
    rest = stream(seed, "word vectors").standard_normal((int((~known).sum()), size))
    known_vectors = vectors[known].astype(np.float64)
    vectors[~known] = known_vectors.mean(axis=0) + known_vectors.std(axis=0) * rest
    return vectors


def _size(numbers: str) -> int:
    return numbers.count(" ") + 1


def _lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield number, word and unparsed numbers of each line; most words are not needed, so parsing would waste time."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                word, blank, numbers = line.rstrip().partition(" ")
                if number == 1 and blank and _size(numbers) == 1:
                    continue
                if not blank:
                    raise InputError(f"{path}, line {number}: expected a word and its numbers, got '{word[:40]}'")
                yield number, word, numbers
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the word vectors {path}: {error}") from None
