"""What the paper on distributional discrepancy publishes, as data: tables and sizes; and the sizes of smaller runs.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", tables 1 to 7. Figures 2
and 3 are drawings without numbers and are not here.
Departs from it: "BLEU" of table 5 is BLEU-5, "test DD" is DD, "d_d" is exact DD; what does not agree with itself in the
paper is said in the note of its table.

Scale ``tiny`` shows on any corpus, in minutes, that everything works; ``laptop`` has small networks and few sentences,
for two cores; ``paper`` has the published sizes and networks, and wants a GPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from textassay.errors import OptionError
from textassay.estimate import Better
from textassay_lab.meta_evaluation.gold_order import BY_DISCREPANCY
from textassay_lab.meta_evaluation.reproduction import PublishedTable
from textassay_lab.papers.presets import Network, scales
from textassay_lab.papers.published_tables import parse_tables

DD, VALID_DD, EXACT = "DD", "valid DD", BY_DISCREPANCY
FRACTIONS = (0.2, 0.4, 0.6, 0.8, 1.0)

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

PUBLISHED = parse_tables("""
table 1: Models: settings and parameters in millions
      | parameters | layers | hidden size | embedding size | dropout | learning rate | batch
LSTM  |       30.1 |      2 |         512 |            512 |     0.5 |         0.001 |   128
GPT-2 |      268.0 |     12 |         768 |            768 |     0.1 |         2e-05 |   128
CNN   |       10.5 |        |             |            512 |     0.5 |        0.0001 |   512
The printed parameters are three times the trainable ones (10.03, 89.47 and 3.50 million with 5,690 words): they count
both moments of Adam, too.

table 2: Synthetic text: exact discrepancy, and what the classifier found
          | exact DD | accuracy |    DD
LSTM_0.2  |    0.994 |    0.721 | 0.442
GPT-2_0.2 |    0.991 |    0.691 | 0.381
LSTM_0.4  |    0.986 |    0.679 | 0.359
LSTM_0.6  |    0.980 |    0.657 | 0.314
LSTM_0.8  |    0.976 |    0.644 | 0.289
GPT-2_0.4 |    0.973 |    0.644 | 0.287
LSTM_1.0  |    0.972 |    0.628 | 0.256
GPT-2_0.6 |    0.959 |    0.621 | 0.241
GPT-2_0.8 |    0.948 |    0.609 | 0.218
GPT-2_1.0 |    0.935 |    0.596 | 0.192
LSTM_0.8 and GPT-2_0.4 differ by less than the error of sampling 10,000 sentences a side.

table 3: Real text: accuracy of the classifier and discrepancy
          | valid accuracy | valid DD | accuracy |    DD
LSTM_0.2  |          0.758 |    0.517 |    0.745 | 0.490
LSTM_0.4  |          0.718 |    0.437 |    0.706 | 0.412
LSTM_0.6  |          0.700 |    0.400 |    0.697 | 0.393
LSTM_0.8  |          0.673 |    0.347 |    0.677 | 0.353
LSTM_1.0  |          0.648 |    0.296 |    0.661 | 0.322
GPT-2_0.2 |          0.752 |    0.504 |    0.723 | 0.446
GPT-2_0.4 |          0.682 |    0.365 |    0.670 | 0.340
GPT-2_0.6 |          0.667 |    0.333 |    0.655 | 0.309
GPT-2_0.8 |          0.630 |    0.259 |    0.646 | 0.292
GPT-2_1.0 |          0.588 |    0.176 |    0.621 | 0.242

table 4: Real text: Kendall's tau with the order by training text
         | 5 LSTM | 5 GPT-2
BLEU-5   |    0.0 |     0.6
FED      |    0.6 |     0.8
LM score |   -0.2 |     1.0
DD       |    1.0 |     1.0

table 5: Synthetic text: Kendall's tau with the order by exact discrepancy
         | 5 LSTM | 5 GPT-2 | all 10
BLEU-5   |   0.80 |    0.80 |   0.38
LM score |   0.40 |    1.00 |   0.82
FED      |   0.84 |    0.84 |   0.92
DD       |   1.00 |    1.00 |   1.00
0.92 for FED does not follow from tables 2 and 6, which give 0.871: FED puts GPT-2_0.4 before LSTM_1.0, table 2 does
not. Were it the other way round there, DD's own tau would be 0.956.

table 6: Synthetic text: Fréchet embedding distance
          |   FED
GPT-2_1.0 | 0.010
GPT-2_0.8 | 0.011
GPT-2_0.6 | 0.011
GPT-2_0.4 | 0.011
LSTM_1.0  | 0.012
LSTM_0.8  | 0.012
LSTM_0.6  | 0.012
LSTM_0.4  | 0.014
GPT-2_0.2 | 0.014
LSTM_0.2  | 0.016

table 7: Real text: BLEU and self-BLEU
          |        BLEU-2 |        BLEU-3 |        BLEU-4 |   self-BLEU-2 |   self-BLEU-3 |   self-BLEU-4
LSTM_0.2  | 0.850 ± 0.002 | 0.587 ± 0.004 | 0.340 ± 0.004 | 0.863 ± 0.002 | 0.616 ± 0.004 | 0.370 ± 0.006
LSTM_0.4  | 0.860 ± 0.001 | 0.607 ± 0.001 | 0.362 ± 0.002 | 0.871 ± 0.001 | 0.633 ± 0.001 | 0.393 ± 0.002
LSTM_0.6  | 0.857 ± 0.001 | 0.601 ± 0.002 | 0.356 ± 0.002 | 0.869 ± 0.001 | 0.629 ± 0.003 | 0.389 ± 0.003
LSTM_0.8  | 0.860 ± 0.001 | 0.606 ± 0.001 | 0.360 ± 0.002 | 0.869 ± 0.001 | 0.631 ± 0.003 | 0.390 ± 0.004
LSTM_1.0  | 0.856 ± 0.001 | 0.598 ± 0.002 | 0.352 ± 0.003 | 0.867 ± 0.001 | 0.624 ± 0.002 | 0.383 ± 0.003
GPT-2_0.2 | 0.838 ± 0.003 | 0.577 ± 0.005 | 0.334 ± 0.005 | 0.850 ± 0.003 | 0.600 ± 0.006 | 0.360 ± 0.007
GPT-2_0.4 | 0.844 ± 0.001 | 0.590 ± 0.003 | 0.350 ± 0.003 | 0.856 ± 0.002 | 0.613 ± 0.004 | 0.379 ± 0.004
GPT-2_0.6 | 0.845 ± 0.002 | 0.591 ± 0.003 | 0.351 ± 0.002 | 0.858 ± 0.002 | 0.618 ± 0.004 | 0.383 ± 0.005
GPT-2_0.8 | 0.850 ± 0.001 | 0.601 ± 0.002 | 0.361 ± 0.002 | 0.862 ± 0.001 | 0.627 ± 0.005 | 0.392 ± 0.002
GPT-2_1.0 | 0.849 ± 0.003 | 0.598 ± 0.005 | 0.358 ± 0.005 | 0.862 ± 0.002 | 0.624 ± 0.004 | 0.390 ± 0.005
Published: mean and spread over five initialisations.
""")


def published_table(name: str) -> PublishedTable:
    """Return one table by its id, such as "table 2"; raises KeyError for an unknown one."""
    return {table.id: table for table in PUBLISHED}[name]


def published_tau(corpus: str, metric: str, group: str) -> float | None:
    """Return the printed tau of a metric on "real" or "synthetic" text; none where none is printed."""
    table = published_table({"real": "table 4", "synthetic": "table 5"}[corpus])
    return table.column(group).get(metric) if group in table.columns else None


KINDS: Mapping[str, str] = {"LSTM": "lstm", "GPT-2": "gpt2"}  # as the tables call them, and as the catalogue does
TEMPERATURES = (0.8, 0.9, 1.0, 1.1, 1.2)


@dataclass(frozen=True, kw_only=True)
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
    networks_unseen: bool = False  # Whether the paper's classifier, too, is trained on unseen text, and not ours alone
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


_LSTM, _GPT_2 = Network("small", {"width": 128}), Network("small", {"width": 128, "layers": 2})
_TINY, _PAPER = Network("tiny"), Network("paper")
SCALES: Mapping[str, Scale] = scales(
    Scale,
    n_train=(4000, 6000, None),
    n_drawn_train=(4000, 6000, 300_000),
    n_valid=(500, 1500, 10_000),
    n_test=(1000, 4000, 10_000),
    n_class=(2000, 2500, None),
    unseen=(True, True, False),
    fractions=((0.2, 0.5, 1.0), FRACTIONS, FRACTIONS),
    networks=(dict.fromkeys(KINDS, _TINY), {"LSTM": _LSTM, "GPT-2": _GPT_2}, dict.fromkeys(KINDS, _PAPER)),
    original=(_TINY, _GPT_2, _PAPER),
    reverse_network=(False, False, True),
    min_count=(2, 2, 1),
    initialisations=(1, 3, 5),
    precision=("float32", "auto", "auto"),
    most_judged=(None, None, 50_000),
)
