"""How many numbers a network learns."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Protocol, runtime_checkable

from textassay.discriminators import TextClassifier
from textassay.errors import InputError, OptionError, check_range
from textassay.ngram.model import NgramModel
from textassay_lab.generator.ready import Model, label, open_generator

FIXED_VECTORS = "fixed.weight"  # name among the weights of word vectors that are not learnt


@runtime_checkable
class Shaped(Protocol):
    """A network that knows the shapes of its weights before it is fitted."""

    def shapes(self, n_types: int, longest: int = 0) -> Mapping[str, tuple[int, ...]]:
        """Return names and shapes of the weights for `n_types` of tokens and sentences up to `longest` tokens."""
        ...


@dataclass(frozen=True)
class ParameterCounts:
    """Number of weights that are learnt, alone and with the two moments that Adam keeps of each.

    Attributes
    ----------
    trainable
        The weights themselves.
    """

    trainable: int

    @property
    def with_moments(self) -> int:
        """Three times as many, which the main paper prints as parameters."""
        return 3 * self.trainable


def parameter_counts(
    model: Model | TextClassifier, n_types: int | None = None, *, longest: int | None = None
) -> ParameterCounts:
    """Return how many numbers a network learns: `trainable`, and `with_moments`, which is three times as many.

    Adam keeps two moments of each weight; papers sometimes print all three together as the number of parameters. Fixed
    word vectors are not learnt and do not count; nor does the discriminator that a generator is trained against.

    Parameters
    ----------
    model
        A generator of `textassay_lab.generators`, fitted or not, or a folder of one; or a fitted network of
        `textassay.discriminators`.
    n_types
        Of a generator that is not fitted: types of its vocabulary, the 4 special ones among them, at least 4. A fitted
        one knows its own.
    longest
        Tokens of the longest text, at least 1, where a network that is not fitted has weights for each place, as GPT-2;
        51 by default.

    Raises
    ------
    OptionError
        If `n_types` is missing, or given for a fitted model, or out of range.
    InputError
        If the model is no network, or cannot say before it is fitted.
    """
    if isinstance(model, TextClassifier):
        counted = getattr(model, "chosen_", {}).get("n_parameters")
        if counted is None:
            raise InputError(f"{type(model).__name__} is not fitted, or is no network")
        return ParameterCounts(int(counted))
    opened = open_generator(model)
    check_range("n_types", n_types, 4)
    check_range("longest", longest, 1)
    network = opened.unfitted_model(51 if longest is None else longest) if opened._fitted is None else opened.model
    if isinstance(network, NgramModel) or not (isinstance(network, Shaped) or hasattr(network, "n_parameters")):
        raise InputError(f"{type(opened).__name__} is no network: it has no weights")
    if opened._fitted is not None:
        if (n_types, longest) != (None, None):
            raise OptionError(f"{label(opened)} is fitted and knows its vocabulary: leave n_types and longest out")
        fixed = getattr(network, "weights", {}).get(FIXED_VECTORS)
        return ParameterCounts(network.n_parameters - (0 if fixed is None else fixed.numel()))
    if n_types is None:
        raise OptionError(f"{type(opened).__name__} is not fitted: give n_types, the size of its vocabulary")
    return counts_by_shapes(network, n_types, longest=51 if longest is None else longest)


def counts_by_shapes(model: Shaped, n_types: int, *, longest: int = 51) -> ParameterCounts:
    """Return the parameter counts of a network for a vocabulary of `n_types`, computed from shapes alone."""
    if n_types < 4 or longest < 1:
        raise OptionError(f"n_types must be at least 4 and longest at least 1, got {n_types} and {longest}")
    shapes = model.shapes(n_types, longest)
    return ParameterCounts(sum(prod(shape) for name, shape in shapes.items() if name != FIXED_VECTORS))
