"""Word vectors from files: what is there is taken, what is not is drawn like it, what is damaged is named."""

from pathlib import Path

import numpy as np
import pytest

from textassay.corpus.encoding import Vocabulary
from textassay.errors import InputError
from textassay_lab.adversarial.word_vectors import read_word_vectors, word_vector_size


def test_words_get_their_vectors_and_others_get_such_as_these(tmp_path: Path) -> None:
    path, vocabulary = tmp_path / "glove.txt", Vocabulary(["b", "a", *map(str, range(5000))])
    path.write_text("a 1 10\nz 50 50\nb 3 14.5\na 7 7\n")
    assert word_vector_size(path) == 2
    found = read_word_vectors(path, vocabulary, seed=3)
    assert found[vocabulary.encode(["a", "b"])].tolist() == [[1, 10], [3, 14.5]]
    drawn = found[vocabulary.encode(list(map(str, range(5000))))]
    np.testing.assert_allclose(drawn.mean(axis=0), [2, 12.25], atol=0.15)
    np.testing.assert_allclose(drawn.std(axis=0), [1, 2.25], rtol=0.05)
    assert (read_word_vectors(path, vocabulary, seed=3) == found).all()
    path.write_text("2 2\na 1 10\nb 3 14.5\n")
    assert (read_word_vectors(path, vocabulary, seed=3) == found).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no word vector"),
        ("z 1 2\n", "contains vectors for none of the 5 words"),
        ("a 1 2\nz 1\n", "line 2: 1 numbers, but the vectors before have 2"),
        ("a 1 x\n", "line 1: the vector of 'a' is not all numbers"),
        ("a 1 nan\n", "line 1: the vector of 'a' is not finite"),
        ("a 1 2\nb\n", "line 2: expected a word and its numbers, got 'b'"),
    ],
)
def test_a_damaged_file_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "glove.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        read_word_vectors(tmp_path / "glove.txt", Vocabulary(["a"]), seed=0)
    with pytest.raises(InputError, match="cannot read the word vectors"):
        word_vector_size(tmp_path / "absent.txt")
