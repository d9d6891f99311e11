"""What the paper on distributional discrepancy publishes, as data: tables and sizes; and the sizes of smaller runs.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", tables 1 to 7. Figures 2
and 3 are drawings without numbers and are not here.
Departs from it: "BLEU" of table 5 is BLEU-5, "test DD" is DD, "d_d" is exact DD; what does not agree with itself in the
paper is said in the note of its table.

Scale ``tiny`` shows on any corpus, in minutes, that everything works. ``paper`` has the published sizes and networks,
and wants a GPU. ``laptop`` is what two cores do in an evening; in seconds of one core, with about 10 tokens a sentence:

- a network of preset ``small`` learns from 8 x 25,000 sentences at 100 % and from 3 times as many in the five fractions
  together; with its judge, 8 million tokens a family: 800 (LSTM, 10,000 tokens a second) and 1,350 (GPT-2, 6,000);
- one run of the paper's classifier: 31 steps of 0.09 s an epoch, 0.7 s to validate, 100 epochs: 360, ten times 3,600;
- our classifier, 18,000 sentences a side, 30 each, 21 times: 600;
- drawing 62,000 sentences from each generator: 450; scoring five times 10,000 under two models: 850; BLEU and FED: 250;
- exact discrepancies: 500, and the original model: 330.

That is about 8,000 a study on real text and 8,700 on synthetic text: both in two and a half hours on two cores; with
several trainings of each generator nearly as many times that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from textassay.errors import OptionError
from textassay.estimate import Better
from textassay.meta_evaluation import BY_DISCREPANCY, MetricValues, PublishedTable
from textassay.study.presets import Network

DD, VALID_DD, EXACT = "DD", "valid DD", BY_DISCREPANCY
FRACTIONS = (0.2, 0.4, 0.6, 0.8, 1.0)
ALL = "all 10"

# As the paper ranks generators; "closer" (to what real text scores) is ours.
DIRECTIONS: Mapping[str, Better] = {
    **{f"BLEU-{order}": "higher" for order in (2, 3, 4, 5)},
    **{f"self-BLEU-{order}": "lower" for order in (2, 3, 4, 5)},
    "LM score": "lower",
    "reverse LM score": "lower",
    "FED": "lower",
    DD: "lower",
    VALID_DD: "lower",
    EXACT: "lower",
}


def generator_name(family: str, fraction: float) -> str:
    """Return the name of a generator in the tables, such as LSTM_0.2."""
    return f"{family}_{fraction:.1f}"


def group_name(family: str, n: int = len(FRACTIONS)) -> str:
    """Return what the `n` generators of a family are called together, such as "5 LSTM"."""
    return f"{n} {family}"


FAMILIES: Mapping[str, tuple[str, ...]] = {
    family: tuple(generator_name(family, fraction) for fraction in FRACTIONS) for family in ("LSTM", "GPT-2")
}
_GENERATORS = (*FAMILIES["LSTM"], *FAMILIES["GPT-2"])

PUBLISHED = (
    PublishedTable(
        "table 1",
        "Models: settings and parameters in millions",
        ("LSTM", "GPT-2", "CNN"),
        ("parameters", "layers", "hidden size", "embedding size", "dropout", "learning rate", "batch"),
        (
            (30.1, 2, 512, 512, 0.5, 1e-3, 128),
            (268.0, 12, 768, 768, 0.1, 2e-5, 128),
            (10.5, None, None, 512, 0.5, 1e-4, 512),
        ),
        note="The printed parameters are three times the trainable ones (10.03, 89.47 and 3.50 million with 5,690 "
        "words): they count both moments of Adam, too.",
    ),
    PublishedTable(
        "table 2",
        "Synthetic text: exact discrepancy, and what the classifier found",
        ("LSTM_0.2", "GPT-2_0.2", "LSTM_0.4", "LSTM_0.6", "LSTM_0.8", "GPT-2_0.4", "LSTM_1.0", "GPT-2_0.6", "GPT-2_0.8",
         "GPT-2_1.0"),
        (EXACT, "accuracy", DD),
        (
            (0.994, 0.721, 0.442),
            (0.991, 0.691, 0.381),
            (0.986, 0.679, 0.359),
            (0.980, 0.657, 0.314),
            (0.976, 0.644, 0.289),
            (0.973, 0.644, 0.287),
            (0.972, 0.628, 0.256),
            (0.959, 0.621, 0.241),
            (0.948, 0.609, 0.218),
            (0.935, 0.596, 0.192),
        ),
        note="LSTM_0.8 and GPT-2_0.4 differ by less than the error of sampling 10,000 sentences a side.",
    ),
    PublishedTable(
        "table 3",
        "Real text: accuracy of the classifier and discrepancy",
        _GENERATORS,
        ("valid accuracy", VALID_DD, "accuracy", DD),
        (
            (0.758, 0.517, 0.745, 0.490),
            (0.718, 0.437, 0.706, 0.412),
            (0.700, 0.400, 0.697, 0.393),
            (0.673, 0.347, 0.677, 0.353),
            (0.648, 0.296, 0.661, 0.322),
            (0.752, 0.504, 0.723, 0.446),
            (0.682, 0.365, 0.670, 0.340),
            (0.667, 0.333, 0.655, 0.309),
            (0.630, 0.259, 0.646, 0.292),
            (0.588, 0.176, 0.621, 0.242),
        ),
    ),
    PublishedTable(
        "table 4",
        "Real text: Kendall's tau with the order by training text",
        ("BLEU-5", "FED", "LM score", DD),
        tuple(map(group_name, FAMILIES)),
        ((0.0, 0.6), (0.6, 0.8), (-0.2, 1.0), (1.0, 1.0)),
    ),
    PublishedTable(
        "table 5",
        "Synthetic text: Kendall's tau with the order by exact discrepancy",
        ("BLEU-5", "LM score", "FED", DD),
        (*map(group_name, FAMILIES), ALL),
        ((0.80, 0.80, 0.38), (0.40, 1.0, 0.82), (0.84, 0.84, 0.92), (1.0, 1.0, 1.0)),
        note="0.92 for FED does not follow from tables 2 and 6, which give 0.871: FED puts GPT-2_0.4 before LSTM_1.0, "
        "table 2 does not. Were it the other way round there, DD's own tau would be 0.956.",
    ),
    PublishedTable(
        "table 6",
        "Synthetic text: Fréchet embedding distance",
        ("GPT-2_1.0", "GPT-2_0.8", "GPT-2_0.6", "GPT-2_0.4", "LSTM_1.0", "LSTM_0.8", "LSTM_0.6", "LSTM_0.4",
         "GPT-2_0.2", "LSTM_0.2"),
        ("FED",),
        tuple((value,) for value in (0.01, 0.011, 0.011, 0.011, 0.012, 0.012, 0.012, 0.014, 0.014, 0.016)),
    ),
    PublishedTable(
        "table 7",
        "Real text: BLEU and self-BLEU",
        _GENERATORS,
        (*(f"BLEU-{n}" for n in (2, 3, 4)), *(f"self-BLEU-{n}" for n in (2, 3, 4))),
        (
            (0.850, 0.587, 0.340, 0.863, 0.616, 0.370),
            (0.860, 0.607, 0.362, 0.871, 0.633, 0.393),
            (0.857, 0.601, 0.356, 0.869, 0.629, 0.389),
            (0.860, 0.606, 0.360, 0.869, 0.631, 0.390),
            (0.856, 0.598, 0.352, 0.867, 0.624, 0.383),
            (0.838, 0.577, 0.334, 0.850, 0.600, 0.360),
            (0.844, 0.590, 0.350, 0.856, 0.613, 0.379),
            (0.845, 0.591, 0.351, 0.858, 0.618, 0.383),
            (0.850, 0.601, 0.361, 0.862, 0.627, 0.392),
            (0.849, 0.598, 0.358, 0.862, 0.624, 0.390),
        ),
        spreads=(
            (0.002, 0.004, 0.004, 0.002, 0.004, 0.006),
            (0.001, 0.001, 0.002, 0.001, 0.001, 0.002),
            (0.001, 0.002, 0.002, 0.001, 0.003, 0.003),
            (0.001, 0.001, 0.002, 0.001, 0.003, 0.004),
            (0.001, 0.002, 0.003, 0.001, 0.002, 0.003),
            (0.003, 0.005, 0.005, 0.003, 0.006, 0.007),
            (0.001, 0.003, 0.003, 0.002, 0.004, 0.004),
            (0.002, 0.003, 0.002, 0.002, 0.004, 0.005),
            (0.001, 0.002, 0.002, 0.001, 0.005, 0.002),
            (0.003, 0.005, 0.005, 0.002, 0.004, 0.005),
        ),
        note="Published: mean and spread over five initialisations.",
    ),
)  # fmt: skip


def published_table(name: str) -> PublishedTable:
    """Return one table by its id, such as "table 2"; raises KeyError for an unknown one."""
    return {table.id: table for table in PUBLISHED}[name]


def published_values(table: str, column: str) -> MetricValues:
    """Return a column of a table as values without errors, with the direction in which the paper ranks by it."""
    return MetricValues.exact(column, DIRECTIONS[column], published_table(table).column(column))


def published_tau(corpus: str, metric: str, group: str) -> float | None:
    """Return the printed tau of a metric on "real" or "synthetic" text; none where none is printed."""
    table = published_table({"real": "table 4", "synthetic": "table 5"}[corpus])
    return table.column(group).get(metric) if group in table.columns else None


KINDS: Mapping[str, str] = {"LSTM": "lstm", "GPT-2": "gpt2"}  # as the tables call them, and as the catalogue does
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
    networks: Mapping[str, Network]  # Family to its network
    original: Network  # That writes the synthetic text
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


_GPT_2 = Network("small", {"width": 128, "layers": 2})
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
        networks=dict.fromkeys(KINDS, Network("tiny")),
        original=Network("tiny"),
        networks_unseen=False,
        reverse_network=False,
        min_count=2,
        initialisations=1,
    ),
    "laptop": Scale(
        name="laptop",
        n_train=6000,
        n_drawn_train=6000,
        n_valid=1500,
        n_test=4000,
        n_class=2500,
        unseen=True,
        fractions=PAPER_FRACTIONS,
        networks={"LSTM": Network("small", {"width": 128}), "GPT-2": _GPT_2},
        original=_GPT_2,
        networks_unseen=False,
        reverse_network=False,
        min_count=2,
        initialisations=3,
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
        networks=dict.fromkeys(KINDS, Network("paper")),
        original=Network("paper"),
        networks_unseen=False,
        reverse_network=True,
        min_count=1,
        initialisations=5,
        precision="auto",
        most_judged=50_000,
    ),
}
