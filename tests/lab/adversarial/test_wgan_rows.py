"""What the critic sees: lengths that advance, windows of text, left padding, gold tokens with one step of the model."""

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS
from textassay.errors import InputError, OptionError
from textassay_lab.adversarial.wgan import Curriculum
from textassay_lab.adversarial.wgan_training import TextWindows, helped, left_padded

torch = pytest.importorskip("torch")


@pytest.mark.feature("LM-10")
def test_lengths_advance_and_stay() -> None:
    curriculum = Curriculum(3, 2)
    assert curriculum.n_rounds == 6
    assert [curriculum.length(number) for number in range(1, 9)] == [1, 1, 2, 2, 3, 3, 3, 3]
    with pytest.raises(OptionError, match="rounds must be at least 1, got 0"):
        Curriculum(3, 0)


@pytest.mark.feature("LM-10")
def test_shorter_rows_are_padded_on_the_left() -> None:
    rows = torch.arange(1.0, 13).reshape(2, 3, 2)
    found = left_padded(rows, torch.tensor([0, 1, 1]), torch.tensor([2, 0, 1]))
    expected = [
        [[1, 2], [3, 4], [5, 6]],
        [[0, 0], [0, 0], [7, 8]],
        [[0, 0], [7, 8], [9, 10]],
    ]
    assert found.tolist() == expected


@pytest.mark.feature("LM-10")
def test_a_helped_row_is_gold_tokens_and_one_step_of_the_generator() -> None:
    gold = torch.nn.functional.one_hot(torch.tensor([[2, 0, 1], [1, 1, 0]]), 3).float()
    predicted = torch.rand(2, 3, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    which, last = torch.tensor([0, 1, 0]), torch.tensor([2, 1, 0])
    found = helped(gold, predicted, which, last)
    zero, first, second, third = [0.0] * 3, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]
    assert found[:, :-1].tolist() == [[third, first], [zero, second], [zero, zero]]
    assert found[:, -1].tolist() == [predicted[0, 2].tolist(), predicted[1, 1].tolist(), predicted[0, 0].tolist()]
    assert left_padded(gold, which, last)[:, :-1].tolist() == found[:, :-1].tolist()  # real rows have the same shape
    (gradient,) = torch.autograd.grad(found.sum(), predicted)
    assert gradient.sum(2).tolist() == [[3, 0, 3], [0, 3, 0]]  # only what was predicted and seen learns


def test_windows_of_running_text_begin_anywhere_in_a_sentence_equally_often() -> None:
    text = Corpus.from_texts(["a b c d", "e", "f g"])
    windows = TextWindows(text, 2, ends=False)
    drawn = windows.draw(8000, 2, np.random.default_rng(0))
    read, counts = np.unique([" ".join(text.vocabulary.decode(row)) for row in drawn], return_counts=True)
    assert read.tolist() == ["a b", "b c", "c d", "f g"]
    assert (abs(counts - 2000) < 200).all()
    assert windows.draw(5, 1, np.random.default_rng(0)).shape == (5, 1)
    with pytest.raises(InputError, match="no sentence has 5 tokens, the longest 4: use shorter windows"):
        TextWindows(text, 5, ends=False)


def test_windows_of_sentences_begin_where_they_begin_and_end_where_they_end() -> None:
    text = Corpus.from_texts(["a b c d", "e", ""])
    drawn = TextWindows(text, 3, ends=True).draw(200, 3, np.random.default_rng(1))
    a, b, c, e = text.vocabulary.encode(["a", "b", "c", "e"]).tolist()
    found = sorted({tuple(row) for row in drawn.tolist()})
    assert found == sorted([(a, b, c), (e, EOS, EOS), (EOS, EOS, EOS)])
