"""The published tables of the paper on distributional discrepancy, as data, and what follows from them.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", tables 1 to 7. Figures 2
and 3 are drawings without numbers and are not here.
Departs from it: "BLEU" of table 5 is BLEU-5, "test DD" is DD, "d_d" is exact DD; what does not agree with itself in the
paper is said in the note of its table.
"""

from collections.abc import Mapping

from textassay.estimate import Better
from textassay.meta_evaluation import BY_DISCREPANCY, MetricValues, PublishedTable

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
