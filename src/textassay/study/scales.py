"""How large a study is: sentences, networks, repetitions; the same code runs at every scale.

``tiny`` shows on any corpus, in minutes, that everything works. ``laptop`` is what two cores do in an evening.
``paper`` has the published sizes and networks and wants a GPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from textassay.errors import OptionError, unknown_name

__all__ = ["FAMILIES", "SCALES", "TEMPERATURES", "Scale", "scale_of"]

FAMILIES: Mapping[str, str] = {"LSTM": "lstm", "GPT-2": "gpt2"}  # as the tables call them, and as the catalogue does
TEMPERATURES = (0.8, 0.9, 1.0, 1.1, 1.2)
PAPER_FRACTIONS = (0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Scale:
    """Sizes of a study; counts are of sentences.

    Attributes
    ----------
    name
        Such as ``laptop``.
    n_train
        Training text of the generators at 100 %; none takes all that is left.
    n_drawn_train
        The same in the synthetic study, where the original model writes it.
    n_valid, n_test
        Validation and test text: of generators and classifiers.
    n_class
        Sentences a side that classifiers learn from; none takes as many as `n_train`.
    unseen
        Whether classifiers are also given real text that no generator saw; in the synthetic study the original writes
        more.
    fractions
        Of the training text, rising, the last 1.
    preset
        Of the networks; `original`: of the one that writes the synthetic text.
    networks_unseen
        Whether the paper's classifier, too, is trained on unseen text, and not ours alone.
    reverse_network
        Whether the reverse language model score at temperature 1 is also that of a network.
    min_count
        Tokens that stand fewer times in the training text are ``<unk>``.
    initialisations
        Of each generator; those after the first are measured by BLEU and FED alone.
    """

    name: str
    n_train: int | None
    n_drawn_train: int
    n_valid: int
    n_test: int
    n_class: int | None
    unseen: bool
    fractions: tuple[float, ...]
    preset: str
    original: str
    networks_unseen: bool
    reverse_network: bool
    min_count: int
    initialisations: int

    def __post_init__(self) -> None:
        if list(self.fractions) != sorted(set(self.fractions)) or self.fractions[-1] != 1:
            raise OptionError(f"fractions must rise to 1, got {self.fractions}")

    @property
    def n_judged(self) -> int:
        """Sentences a side that our classifier judges: those that others learn from, and the test text."""
        return (self.n_drawn_train if self.n_class is None else self.n_class) + self.n_test


SCALES: Mapping[str, Scale] = {
    "tiny": Scale(
        name="tiny",
        n_train=4000,
        n_drawn_train=4000,
        n_valid=500,
        n_test=1000,
        n_class=2000,
        unseen=True,
        fractions=(0.2, 0.5, 1.0),
        preset="tiny",
        original="tiny",
        networks_unseen=False,
        reverse_network=False,
        min_count=2,
        initialisations=1,
    ),
    "laptop": Scale(
        name="laptop",
        n_train=50_000,
        n_drawn_train=50_000,
        n_valid=5000,
        n_test=10_000,
        n_class=20_000,
        unseen=True,
        fractions=PAPER_FRACTIONS,
        preset="small",
        original="small",
        networks_unseen=True,
        reverse_network=False,
        min_count=2,
        initialisations=1,
    ),
    "paper": Scale(
        name="paper",
        n_train=None,
        n_drawn_train=300_000,
        n_valid=10_000,
        n_test=10_000,
        n_class=None,
        unseen=False,
        fractions=PAPER_FRACTIONS,
        preset="paper",
        original="paper",
        networks_unseen=False,
        reverse_network=True,
        min_count=1,
        initialisations=5,
    ),
}


def scale_of(name: str) -> Scale:
    """Return the scale called `name`.

    Raises
    ------
    OptionError
        If there is none of that name.
    """
    if name not in SCALES:
        raise unknown_name("scale", name, SCALES)
    return SCALES[name]
