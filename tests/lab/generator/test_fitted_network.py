"""The base of fitted networks, with one that others train: what it is while it is trained, after it, from arrays."""

from typing import Any, ClassVar

import numpy as np
import pytest

from textassay.corpus.encoding import Vocabulary
from textassay.errors import InputError, OptionError
from textassay_lab.generator.fitted_network import FittedNetwork
from textassay_lab.generator.module import Network
from textassay_lab.generator.text_generator import Settings

torch = pytest.importorskip("torch")

WORDS = Vocabulary(["a", "b"])


class Numbers(Network):
    def __init__(self, n_types: int) -> None:
        super().__init__()
        self.numbers = torch.nn.Parameter(torch.empty(n_types))
        self.scale = torch.nn.Parameter(torch.empty(()))

    def initialise(self, rng: Any) -> None:
        self.numbers.copy_(torch.arange(len(self.numbers)))
        self.scale.fill_(1.0)


class Table(Settings, FittedNetwork):
    """A number for each token, trained by nobody here."""

    kind: ClassVar[str] = "table"

    @property
    def _title(self) -> str:
        return "table(width=1)"

    def new_module(self, n_types: int, longest: int = 0) -> "Numbers":
        return Numbers(n_types)


def began() -> Any:
    return Table().begun(len(WORDS), 0, torch.Generator())


@pytest.fixture
def learnt() -> Table:
    table = Table()
    with table.in_training(began(), WORDS, "words") as module:
        weights = list(module.parameters())
        slopes = torch.autograd.grad((module.scale * module.numbers).sum(), weights)
        with torch.no_grad():
            for weight, slope in zip(weights, slopes, strict=True):
                weight -= slope
    return table


def test_nothing_is_there_before_it_was_fitted() -> None:
    table = Table()
    assert (table.name, table.precision, table.record) == ("table(width=1)", "float32", {})
    for ask in (lambda: table.vocabulary, lambda: table.weights, lambda: table.digest, table.arrays, table.require):
        with pytest.raises(InputError, match=r"table\(width=1\) is not fitted: call fit first"):
            ask()


def test_what_was_learnt_is_there_and_learns_no_more(learnt: Table) -> None:
    assert (learnt.vocabulary, learnt.tokenizer, learnt.n_parameters) == (WORDS, "words", len(WORDS) + 1)
    arrays = learnt.arrays()
    np.testing.assert_array_equal(arrays["numbers"], np.arange(len(WORDS)) - 1)
    assert arrays["scale"] == 1 - np.arange(len(WORDS)).sum()
    assert not any(weight.requires_grad for weight in learnt.weights.values())
    learnt.precision = "bfloat16"
    assert learnt.name == "table(width=1, precision=bfloat16)"
    assert {weight.dtype for weight in learnt.working_module.parameters()} == {torch.bfloat16}
    learnt.precision = "half"
    with pytest.raises(OptionError, match="precision must be float32 or bfloat16, got half"):
        learnt.working_module  # noqa: B018


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_in_training_it_is_as_it_is_then(precision: str) -> None:
    table = Table()
    table.precision = precision
    with table.in_training(began(), WORDS, "words") as module:
        seen = []
        for _ in range(2):
            seen.append((table.digest, table.arrays()["numbers"][0]))
            assert table.working_module.numbers[0].item() == seen[-1][1]
            with torch.no_grad():
                module.numbers += 1
    assert [value for _, value in seen] == [0.0, 1.0]
    assert len({table.digest, *(digest for digest, _ in seen)}) == 3


@pytest.mark.parametrize("fitted_before", [True, False])
def test_a_training_that_fails_leaves_what_was_there(learnt: Table, fitted_before: bool) -> None:
    table = learnt if fitted_before else Table()
    before = table.digest if fitted_before else None

    def interrupted() -> None:
        with table.in_training(began(), WORDS, "words") as module, torch.no_grad():
            module.numbers += 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    if fitted_before:
        assert table.digest == before
        assert not any(weight.requires_grad for weight in table.weights.values())
    else:
        with pytest.raises(InputError, match="is not fitted"):
            table.require()


def test_it_goes_into_arrays_and_back(learnt: Table) -> None:
    arrays, again = learnt.arrays(), Table()
    again.restore(arrays, vocabulary=WORDS, tokenizer="words", record={"rounds": 3})
    assert (again.digest, again.tokenizer, again.record) == (learnt.digest, "words", {"rounds": 3})
    arrays["numbers"] += 1
    assert again.digest == learnt.digest  # arrays are copied
    for wrong, found in (
        ({**arrays, "numbers": arrays["numbers"][1:]}, r"'numbers' must have shape \(6,\), got \(5,\)"),
        ({"numbers": arrays["numbers"]}, r"'scale' must have shape \(\), got None"),
        ({**arrays, "more": arrays["scale"]}, r"'more' must have shape None, got \(\)"),
    ):
        with pytest.raises(InputError, match="do not fit the settings and a vocabulary of 6 tokens: " + found):
            again.restore(wrong, vocabulary=WORDS, tokenizer="words", record={})
    assert (again.digest, again.record) == (learnt.digest, {"rounds": 3})
