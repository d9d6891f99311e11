"""The model that a command names: a folder that ``textassay train`` wrote, or a pretrained one."""

from textassay.errors import InputError, OptionError
from textassay_lab.generators import Endpoint, External, TextGenerator, from_pretrained

PRECISIONS = ("float32", "bfloat16")


def open_model(name: str, precision: str = PRECISIONS[0]) -> TextGenerator:
    """Return the language model that `name` stands for; see `open_generator`."""
    opened = open_generator(name, precision)
    if not hasattr(opened.model, "log_prob"):
        raise InputError(
            f"{name} contains a generator without likelihood ({opened.model.name}): sample from it, or estimate its "
            "perplexity from samples with 'textassay approximate'"
        )
    return opened


def open_generator(name: str, precision: str = PRECISIONS[0]) -> TextGenerator:
    """Return the generator that `name` stands for, to compute in `precision`.

    It is a folder, ``pretrained:NAME_OR_PATH``, or ``random-lstm`` with a seed, and need not have a likelihood.
    """
    if name.startswith(f"{External.kind}:"):
        raise OptionError(f"'{name}' has no probabilities: use a command only with 'sample'")
    if name.startswith(f"{Endpoint.kind}:"):
        raise OptionError(f"'{name}' has no probabilities: use an endpoint only with compare, explain, plan and sample")
    opened = from_pretrained(name)
    if precision not in PRECISIONS:
        raise OptionError(f"--precision must be {' or '.join(PRECISIONS)}, got '{precision}'")
    if hasattr(opened.model, "precision"):
        opened.model.precision = precision
    elif precision != PRECISIONS[0]:
        raise OptionError(f"{opened.model.name} is not a neural network: leave --precision out")
    return opened
