"""Scales of the studies: numbers of sentences, networks, repetitions.

``tiny`` shows on any corpus, in minutes, that everything works. ``paper`` has the published sizes and networks, and
wants a GPU. ``laptop`` is what two cores do in an evening; in seconds of one core, with about 10 tokens a sentence:

- a network of preset ``small`` learns from 8 x 25,000 sentences at 100 % and from 3 times as many in the five fractions
  together; with its judge, 8 million tokens a family: 800 (LSTM, 10,000 tokens a second) and 1,350 (GPT-2, 6,000);
- one run of the paper's classifier: 31 steps of 0.09 s an epoch, 0.7 s to validate, 100 epochs: 360, ten times 3,600;
- our classifier, 18,000 sentences a side, 30 each, 21 times: 600;
- drawing 62,000 sentences from each generator: 450; scoring five times 10,000 under two models: 850; BLEU and FED: 250;
- exact discrepancies: 500, and the original model: 330.

That is about 8,000 a study on real text and 8,700 on synthetic text: both in two and a half hours on two cores.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from textassay.errors import OptionError

FAMILIES: Mapping[str, str] = {"LSTM": "lstm", "GPT-2": "gpt2"}  # as the tables call them, and as the catalogue does
TEMPERATURES = (0.8, 0.9, 1.0, 1.1, 1.2)
PAPER_FRACTIONS = (0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Scale:
    """Sizes of a study; counts are of sentences."""

    name: str  # Such as ``laptop``
    n_train: int | None  # Training text of the generators at 100 %; none takes all that is left
    n_drawn_train: int  # The same in the synthetic study, where the original model writes it
    # Validation and test text: of generators and classifiers
    n_valid: int
    n_test: int
    n_class: int | None  # Sentences a side that classifiers learn from; none takes as many as `n_train`
    # Whether classifiers are also given real text that no generator saw; in the synthetic study the original writes
    # more
    unseen: bool
    fractions: tuple[float, ...]  # Of the training text, rising, the last 1
    preset: str  # Of the networks; `original`: of the one that writes the synthetic text
    original: str
    networks_unseen: bool  # Whether the paper's classifier, too, is trained on unseen text, and not ours alone
    reverse_network: bool  # Whether the reverse language model score is also that of a network
    min_count: int  # Tokens that stand fewer times in the training text are ``<unk>``
    initialisations: int  # Of each generator; at other temperatures than 1, the first alone is measured
    precision: str = "float32"  # In which generators are trained; see `Recipe`
    most_judged: int | None = None  # Most sentences a side that our classifier is given; none for no limit

    def __post_init__(self) -> None:
        if list(self.fractions) != sorted(set(self.fractions)) or self.fractions[-1] != 1:
            raise OptionError(f"fractions must rise to 1, got {self.fractions}")
        if self.unseen and self.n_train is None and self.n_class is None:
            raise OptionError("where unseen text is needed, n_train or n_class must be a number")

    def n_judged(self, n_train: int) -> int:
        """Return how many sentences a side our classifier judges, where there are `n_train` to train generators on.

        Those that other classifiers learn from, and the test text, up to `most_judged`.
        """
        n = (n_train if self.n_class is None else self.n_class) + self.n_test
        return n if self.most_judged is None else min(n, self.most_judged)


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
        n_train=25_000,
        n_drawn_train=25_000,
        n_valid=4000,
        n_test=10_000,
        n_class=8000,
        unseen=True,
        fractions=PAPER_FRACTIONS,
        preset="small",
        original="small",
        networks_unseen=False,
        reverse_network=False,
        min_count=2,
        initialisations=1,
        precision="auto",
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
        precision="auto",
        most_judged=50_000,
    ),
}
