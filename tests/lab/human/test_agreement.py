"""Agreement: published worked examples, NLTK, and simulation."""

import math

import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask
from nltk.metrics.distance import interval_distance
from statsmodels.stats.inter_rater import fleiss_kappa as peer_kappa

from made_up_judgements import from_table, simulate
from textassay.errors import InputError, OptionError
from textassay_lab.human.agreement import Level, agreements, fleiss_kappa, krippendorff_alpha, rater_correlation

# Fleiss 1971 as worked in textbooks: 10 subjects, 14 raters, 5 categories.
TEXTBOOK = np.array(
    [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]
)  # fmt: skip

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability": four observers, twelve units; 0 is missing.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ]
)


def _long(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    raters, units = np.nonzero(table)
    return units, raters, table[raters, units].astype(float)


@pytest.mark.feature("JJ-22")
def test_kappa_is_that_of_the_textbook_and_of_statsmodels() -> None:
    assert fleiss_kappa(TEXTBOOK) == pytest.approx(0.210, abs=5e-4)
    assert fleiss_kappa(TEXTBOOK) == pytest.approx(peer_kappa(TEXTBOOK))
    votes = np.random.default_rng(0).multinomial(5, [0.3, 0.7], size=40)
    assert fleiss_kappa(votes) == pytest.approx(peer_kappa(votes))


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_that_of_krippendorffs_example(level: Level, alpha: float) -> None:
    units, _, values = _long(OBSERVERS)
    assert krippendorff_alpha(units, values, level=level) == pytest.approx(alpha, abs=5e-4)


@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_nltks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 5, size=(4, 15)) * (rng.random((4, 15)) < 0.8)
    units, raters, values = _long(table)
    answers = list(zip(raters.tolist(), units.tolist(), values.tolist(), strict=True))
    assert krippendorff_alpha(units, values) == pytest.approx(AnnotationTask(data=answers).alpha())
    numbers = AnnotationTask(data=answers, distance=interval_distance).alpha()
    assert krippendorff_alpha(units, values, level="interval") == pytest.approx(numbers)


def test_undefined_agreement_is_nan_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="undefined"):
        assert math.isnan(fleiss_kappa(np.array([[0, 3], [0, 3]])))
    with pytest.warns(RuntimeWarning, match="undefined"):
        assert math.isnan(krippendorff_alpha(np.array([0, 0, 1, 1]), np.ones(4)))
    with pytest.warns(RuntimeWarning, match="undefined"):
        assert math.isnan(krippendorff_alpha(np.array([0, 1, 2]), np.arange(3.0)))


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="same number of votes"):
        fleiss_kappa(np.array([[1, 2], [2, 2]]))
    with pytest.raises(OptionError, match="unknown level"):
        krippendorff_alpha(np.zeros(2, dtype=int), np.ones(2), level="ratio")  # type: ignore[arg-type]


def test_rater_correlation_by_hand() -> None:
    units = np.repeat(np.arange(4), 3)
    raters = np.tile(np.arange(3), 4)
    table = np.array([[1.0, 2, 1], [2, 3, 3], [3, 3, 4], [5, 4, 2]])
    expected = [np.corrcoef(table[:, rater], np.delete(table, rater, axis=1).mean(axis=1))[0, 1] for rater in range(3)]
    assert rater_correlation(units, raters, table.ravel()) == pytest.approx(np.mean(expected))
    assert math.isnan(rater_correlation(np.arange(3), np.zeros(3, dtype=int), np.arange(3.0)))


def test_all_coefficients_and_what_they_are_made_of() -> None:
    judgements = from_table(
        {
            "a": (None, (1, 1, 0)),
            "b": (None, (1, 1, 1)),
            "c": ("g", (0, 0, 1)),
            "d": ("g", (0, 1, 1)),
            "e": ("g", (0, None, None)),
        }
    )
    found = {(one.measure, one.labels, one.items): one for one in agreements(judgements, votes=3)}
    kappa = found["fleiss-kappa", "correct/mistaken", "all"]
    assert kappa.value == pytest.approx(peer_kappa(np.array([[2, 1], [3, 0], [2, 1], [1, 2]])))
    assert (kappa.n_items, kappa.n_votes) == (4, 3)
    labels = found["fleiss-kappa", "real/fake", "all"]
    assert labels.value == pytest.approx(peer_kappa(np.array([[1, 2], [0, 3], [2, 1], [1, 2]])))
    assert found["fleiss-kappa", "correct/mistaken", "generated"].n_items == 2
    assert found["krippendorff-alpha", "real/fake", "all"].n_items == 4  # the fifth has one judgement
    assert len(found) == 5


def test_items_of_a_page_are_left_out_together() -> None:
    # Two items a page with the same votes: a page says no more than one item, and the interval must not shrink.
    votes = [tuple(float(vote) for vote in row) for row in np.random.default_rng(0).random((25, 3)) < 0.5]
    once: dict[str, tuple[str | None, tuple[float, ...]]] = {str(page): ("g", row) for page, row in enumerate(votes)}
    twice = {f"{page}{copy}": row for page, row in once.items() for copy in "ab"}
    widths = []
    for rows in (once, twice):
        found = agreements(from_table(rows, pages={name: name.rstrip("ab") for name in rows}), votes=3)
        kappa = next(one for one in found if (one.labels, one.items) == ("real/fake", "all"))
        assert kappa.interval is not None
        widths.append(kappa.interval.high - kappa.interval.low)
    assert widths[1] == pytest.approx(widths[0], rel=0.05)


def test_ratings_have_alpha_and_correlation() -> None:
    units, raters, values = _long(OBSERVERS)
    rows: dict[str, tuple[str | None, tuple[float | None, ...]]] = {
        str(unit): ("g", tuple(float(v) or None for v in OBSERVERS[:, unit])) for unit in range(12)
    }
    found = {(one.measure, one.labels): one.value for one in agreements(from_table(rows, scale="number"), votes=4)}
    assert found["krippendorff-alpha", "ordinal"] == pytest.approx(0.815, abs=5e-4)
    assert found["krippendorff-alpha", "interval"] == pytest.approx(0.849, abs=5e-4)
    assert found["rater-correlation", "interval"] == pytest.approx(rater_correlation(units, raters, values))


def test_intervals_of_kappa_cover_and_do_not_depend_on_the_number_of_threads() -> None:
    odds = {"(real)": 1.5, "lstm": 0.0, "gan": -1.5}

    def kappas(seed: int, n_pages: int) -> dict[str, float]:
        drawn = simulate(np.random.default_rng(seed), n_pages=n_pages, generators=odds)
        return {one.labels: one.value for one in agreements(drawn, votes=4) if one.items == "all"}

    truth = kappas(0, 1500)["real/fake"]
    covered = 0
    for seed in range(1, 61):
        drawn = simulate(np.random.default_rng(seed), n_pages=30, generators=odds)
        kappa = next(one for one in agreements(drawn, votes=4) if one.labels == "real/fake")
        assert kappa.interval is not None
        covered += kappa.interval.low <= truth <= kappa.interval.high
    assert 0.87 <= covered / 60 <= 0.995
