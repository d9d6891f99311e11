"""How many numbers a network learns."""

from textassay.discriminators import TextClassifier
from textassay.errors import InputError, OptionError, check_range
from textassay.ngram.model import NgramModel
from textassay_lab.generator.catalog import FIXED_VECTORS as FIXED
from textassay_lab.generator.catalog import ParameterCounts, Shaped
from textassay_lab.generator.catalog import parameter_counts as counts_by_shapes
from textassay_lab.generator.ready import Model, label, open_generator


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
        weights = getattr(network, "weights", {})
        return ParameterCounts(network.n_parameters - (weights[FIXED].numel() if FIXED in weights else 0))
    if n_types is None:
        raise OptionError(f"{type(opened).__name__} is not fitted: give n_types, the size of its vocabulary")
    return counts_by_shapes(network, n_types, longest=51 if longest is None else longest)
