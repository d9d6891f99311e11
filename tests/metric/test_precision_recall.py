"""precision, recall, density, coverage: a plain implementation, closed forms, copies, groups left out, simulation."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError
from textassay.estimate import Estimate
from textassay.execution.threads import workers
from textassay.metric import neighbours
from textassay.metric.catalog import parse_metric
from textassay.metric.neighbours import parts_of
from textassay.metric.precision_recall import coverage, density, precision, recall
from textassay.resampling.jackknife import assign_groups, jackknife_terms
from textassay.seeding import stream

Array = npt.NDArray[np.float64]
METRICS = (precision, recall, density, coverage)
FUNCTIONS = (precision, recall, density, coverage)


def corpora(generated: Array, real: Array) -> tuple[Corpus, Corpus]:
    arrays = {"generated": generated, "real": real}
    made = corpora_from_texts({name: [f"{name} {name}{i}" for i in range(len(rows))] for name, rows in arrays.items()})
    first, second = (replace(made[name], columns={"features": rows}) for name, rows in arrays.items())
    return first, second


def scores(generated: Array, real: Array, *, k: int = 5, seed: int = 0) -> list[Estimate]:
    pair = corpora(generated, real)
    return [metric(*pair, k=k, encoder="given", seed=seed) for metric in METRICS]


def values(generated: Array, real: Array, *, k: int = 5) -> list[float]:
    return [estimate.value for estimate in scores(generated, real, k=k)]


def directly(generated: Array, real: Array, k: int, *, left: npt.NDArray[np.bool_] | None = None) -> list[float]:
    """Return the four from the whole matrices of distances, in double precision; without some real centres."""

    def distances(first: Array, second: Array) -> Array:
        found: Array = np.sqrt(((first[:, None] - second[None]) ** 2).sum(axis=-1))
        return found

    centres = real if left is None else real[left]
    real_radii = np.sort(distances(centres, centres), axis=1)[:, k]
    generated_radii = np.sort(distances(generated, generated), axis=1)[:, k]
    to_real, to_generated = distances(generated, centres), distances(real, generated)
    inside = (to_real < real_radii) | (to_real == 0)
    reached = (to_generated < generated_radii) | (to_generated == 0)
    return [
        float(inside.any(axis=1).mean()),
        float(reached.any(axis=1).mean()),
        float(inside.sum(axis=1).mean() / k),
        float(inside.any(axis=0).mean()),
    ]


def standard_error(estimate: Estimate) -> float:
    assert estimate.evidence is not None
    sides = estimate.evidence.real_terms, estimate.evidence.generated_terms
    return math.sqrt(sum(float(np.var(terms, ddof=1)) / len(terms) for terms in sides if terms is not None))


def made(n: int, seed: int, *, shift: float = 0.0, dimensions: int = 6) -> Array:
    rows: Array = np.random.default_rng(seed).standard_normal((n, dimensions)) + shift * np.eye(dimensions)[0]
    return rows


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize(("n_generated", "n_real", "shift"), [(90, 120, 0.7), (150, 60, 2.0), (7, 6, 0.0)])
def test_they_are_what_whole_matrices_of_distances_say(n_generated: int, n_real: int, shift: float, k: int) -> None:
    generated, real = made(n_generated, 1, shift=shift), made(n_real, 2)
    assert values(generated, real, k=k) == pytest.approx(directly(generated, real, k), abs=1e-12)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    generated, real = made(90, 1, shift=0.7), made(120, 2)
    once = [estimate.to_dict() for estimate in scores(generated, real)]
    monkeypatch.setattr(neighbours, "_ROWS", 17)
    monkeypatch.setattr(neighbours, "_COLUMNS", 23)
    assert [estimate.to_dict() for estimate in scores(generated, real)] == once


def test_a_hand_worked_line() -> None:
    """Real sentences at 0, 1, 3 and generated ones at 1.5, 10, 11 with k = 1: radii 1, 1, 2 and 8.5, 1, 1.

    1.5 lies in the balls around 1 and 3, 10 and 11 in none; all real sentences lie in the ball around 1.5; the balls
    around 1 and 3 hold a generated sentence.
    """
    real, generated = np.array([[0.0], [1.0], [3.0]]), np.array([[1.5], [10.0], [11.0]])
    assert values(generated, real, k=1) == pytest.approx([1 / 3, 1, 2 / 3, 2 / 3])


def test_copies_lie_at_distance_zero_and_neighbours_on_the_rim_outside() -> None:
    """A copy of the real text lies in its own ball and in those inside whose rim it is: k of them on average.

    Far from the origin and at many scales, so that distances suffer from rounding.
    """
    for scale, offset, dimensions in ((1.0, 0.0, 1000), (1e-3, 5.0, 40), (1e3, 1e4, 40)):
        real = made(400, 3, dimensions=dimensions) * scale + offset
        assert values(real.copy(), real) == pytest.approx([1, 1, 1, 1])


def test_a_sentence_equally_far_from_all_others_holds_none_of_them() -> None:
    """Vectors of length 1 in three dimensions, and one or two along a fourth: at distance sqrt(2) from all."""
    real, generated = (np.pad(made(200, seed, dimensions=3), ((0, 0), (0, 1))) for seed in (1, 2))
    real, generated = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (real, generated))
    real, generated = real[real[:, 0] > 0], generated[generated[:, 1] > 0]
    apart = np.eye(4)[[3, 3]]
    plain = values(generated, real)
    assert values(np.concatenate([generated, apart]), real)[1] == plain[1] < 1
    n = len(real) + len(apart)
    with_real = values(generated, np.concatenate([real, apart]))
    assert with_real[0] == plain[0]
    assert with_real[2] == pytest.approx(plain[2])
    assert with_real[3] == pytest.approx(plain[3] * len(real) / n)


def test_repeated_sentences() -> None:
    """k copies of each sentence are each other's neighbours at distance 0; collapsed text reaches only itself."""
    real = np.repeat(made(20, 4), 6, axis=0)
    assert values(real, real) == pytest.approx([1, 1, 6 / 5, 1])
    collapsed = np.repeat(real[:1], 50, axis=0)
    assert values(collapsed, real) == pytest.approx([1, 6 / 120, 6 / 5, 6 / 120])
    assert values(collapsed + 1e-2, real) == pytest.approx([0, 0, 0, 0])
    assert values(np.ones((8, 3)), np.ones((9, 3))) == pytest.approx([1, 1, 9 / 5, 1])


def test_coverage_and_density_of_one_distribution_are_those_expected() -> None:
    """Means over 30 pairs of samples, within three standard errors of the closed forms."""
    found, expected = [], []
    for draw in range(30):
        estimates = scores(made(120, 2 * draw), made(80, 2 * draw + 1))
        found.append([estimate.value for estimate in estimates[2:]])
        expected = [estimate.details["expected"] for estimate in estimates[2:]]
    assert expected[1] == pytest.approx(1 - math.comb(79, 5) / math.comb(199, 5))
    means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(30)
    assert (np.abs(means - expected) < 3 * errors).all()


def test_the_balls_are_made_anew_without_each_group_of_real_sentences() -> None:
    generated, real = made(80, 1, shift=0.5), made(110, 2)
    estimates = scores(generated, real, k=3, seed=4)
    groups = assign_groups(110, stream(4, "groups", "real"))
    without = np.array([directly(generated, real, 3, left=groups != group) for group in range(50)])
    for at in (0, 2):
        evidence = estimates[at].evidence
        assert evidence is not None
        expected = jackknife_terms(estimates[at].value, without[:, at], np.bincount(groups))
        assert evidence.real_terms == pytest.approx(expected, abs=1e-9)
        assert evidence.generated_terms is not None
        assert len(evidence.generated_terms) == 80


def test_coverage_without_each_group_of_generated_sentences() -> None:
    generated, real = made(80, 1, shift=0.5), made(110, 2)
    estimate = scores(generated, real, seed=4)[3]
    groups = assign_groups(80, stream(4, "groups", "generated"))
    without = np.array([directly(generated[groups != group], real, 5)[3] for group in range(50)])
    assert estimate.evidence is not None
    assert estimate.evidence.generated_terms == pytest.approx(
        jackknife_terms(estimate.value, without, np.bincount(groups)), abs=1e-9
    )


def test_recall_is_precision_with_the_sides_swapped() -> None:
    generated, real = made(90, 1, shift=0.7), made(120, 2)
    recalled, precise = scores(generated, real)[1], scores(real, generated)[0]
    assert recalled.value == precise.value
    assert recalled.evidence is not None
    assert precise.evidence is not None
    assert recalled.evidence.real_terms == pytest.approx(precise.evidence.generated_terms)
    assert recalled.evidence.generated_terms is not None
    assert len(recalled.evidence.generated_terms) == 50


@pytest.mark.slow
def test_the_intervals_hold_what_other_samples_score() -> None:
    """Of 40 pairs of samples of two Gaussians; they are wide rather than narrow."""
    estimates = [
        scores(made(250, 2 * draw, shift=1.0, dimensions=8), made(250, 2 * draw + 1, dimensions=8))
        for draw in range(40)
    ]
    for column in zip(*estimates, strict=True):
        mean = float(np.mean([estimate.value for estimate in column]))
        held = [e for e in column if e.interval is not None and e.interval.low <= mean <= e.interval.high]
        assert len(held) >= 36
        spread = float(np.std([estimate.value for estimate in column], ddof=1))
        errors = [standard_error(estimate) for estimate in column]
        assert 0.8 < float(np.mean(errors)) / spread < 2.2


@pytest.mark.slow
def test_they_move_with_the_number_of_sentences() -> None:
    """Means over ten draws: precision and recall rise, coverage falls."""
    few, many = (
        np.mean(
            [
                values(made(n, 2 * draw, shift=1.5, dimensions=3), made(n, 2 * draw + 1, dimensions=3))
                for draw in range(10)
            ],
            axis=0,
        )
        for n in (60, 1500)
    )
    assert many[0] > few[0] + 0.03
    assert many[1] > few[1] + 0.03
    assert many[3] < few[3] - 0.03


def test_dropped_and_scattered_text_moves_them_the_stated_way() -> None:
    real = made(500, 1)
    half = made(1000, 2)
    half = half[half[:, 0] > 0][:400]
    dropped = values(half, real)
    same = values(made(400, 3), real)
    assert dropped[0] == pytest.approx(same[0], abs=0.05)
    assert dropped[1] < same[1] - 0.2
    assert dropped[3] < same[3] - 0.15
    scattered = values(3 * made(400, 4), real)
    assert scattered[0] < same[0] - 0.2
    assert scattered[2] < same[2] - 0.3


def test_the_same_bits_at_any_number_of_threads() -> None:
    results = []
    for n_workers in (1, 3):
        with workers(n_workers):
            results.append([estimate.to_dict() for estimate in scores(made(1200, 1, shift=0.3), made(1300, 2))])
    assert results[0] == results[1]


def test_too_few_sentences_and_wrong_settings() -> None:
    for function in FUNCTIONS:
        with pytest.raises(TooFewSentencesError, match="at least 6 texts a side"):
            function(*corpora(made(5, 1), made(20, 2)), encoder="given")
        with pytest.raises(TooFewSentencesError, match="at least 6 texts a side"):
            function(*corpora(made(20, 1), made(5, 2)), encoder="given")
        with pytest.raises(EmptyCorpusError):
            function(*corpora(made(0, 1), made(20, 2)), encoder="given")
        assert math.isfinite(function(*corpora(made(6, 1), made(6, 2)), encoder="given").value)
    for metric in METRICS:
        with pytest.raises(OptionError, match="k must be at least 1"):
            metric.declaration.with_settings(k=0)
        with pytest.raises(OptionError, match="level"):
            metric.declaration.with_settings(level=0.0)


def test_names_and_what_is_shared() -> None:
    assert [metric.declaration.name for metric in METRICS] == ["precision", "recall", "density", "coverage"]
    assert parse_metric("precision(k=3,encoder=given)").name == "precision(k=3,encoder=given)"
    assert len({metric.declaration.family for metric in METRICS}) == 1
    assert parse_metric("density(encoder=given)").reads_columns
    assert not parse_metric("density").reads_columns


def test_sentences_of_one_document_stay_together() -> None:
    generated, real = corpora(made(60, 1), made(60, 2))
    documents: Any = np.arange(60) // 20
    real, generated = replace(real, groups=documents), replace(generated, groups=documents)
    for function in FUNCTIONS:
        evidence = function(generated, real, encoder="given").evidence
        assert evidence is not None
        for terms in (evidence.real_terms, evidence.generated_terms):
            assert terms is not None
            assert len(terms) == 3


def test_the_side_with_too_few_sentences_is_named() -> None:
    corpora = corpora_from_texts({"few": ["a b"] * 5, "many": ["a b"] * 50})
    with pytest.raises(TooFewSentencesError, match="the real corpus has 5"):
        precision(corpora["many"], corpora["few"])
    with pytest.raises(TooFewSentencesError, match="the generated corpus has 5"):
        precision(corpora["few"], corpora["many"])


def test_groups_of_columns_by_hand() -> None:
    """Columns 0 and 2 meet in a row, 1 and 3 in one of the other side; 4 is always zero, and so is the last row."""
    first = np.array([[1, 0, 2, 0, 0], [0, 3, 0, 0, 0], [0, 0, 4, 0, 0]], dtype=np.float32)
    second = np.array([[0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], dtype=np.float32)
    parts = [(columns.tolist(), [rows.tolist() for rows in sides]) for columns, sides in parts_of(first, second)]
    assert parts == [([0, 2], [[0, 2], [1]]), ([1, 3], [[1], [0]])]
    assert [columns.tolist() for columns, _ in parts_of(np.ones((2, 3), dtype=np.float32))] == [[0, 1, 2]]


def at_right_angles(n: int, seed: int, spread: float) -> Array:
    """Return vectors in one of three spaces each, of lengths from near 0: balls reach into other spaces."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((n, 9))
    for row, space in enumerate(rng.integers(0, 3, n)):
        rows[row, 3 * space : 3 * space + 3] = (rng.standard_normal(3) + 1) * rng.random() ** spread
    return rows


@pytest.mark.parametrize("spread", [0.0, 1.0])
@pytest.mark.parametrize(("n_generated", "n_real", "k"), [(90, 120, 3), (150, 40, 5), (7, 6, 5)])
def test_vectors_at_right_angles(n_generated: int, n_real: int, k: int, spread: float) -> None:
    generated, real = at_right_angles(n_generated, 1, spread), at_right_angles(n_real, 2, spread)
    assert len(parts_of(real.astype(np.float32))) > 1
    assert values(generated, real, k=k) == pytest.approx(directly(generated, real, k), abs=1e-12)


@pytest.mark.parametrize("spread", [0.5, 2.0, 6.0])
def test_products_of_vectors_at_right_angles_are_not_needed(spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where lengths differ so much that squared distances agree up to rounding."""
    generated, real = at_right_angles(150, 1, spread), at_right_angles(120, 2, spread)
    real[:, 6:] = 0
    pairs = [(generated, real), (real, generated)]
    found = [[estimate.to_dict() for estimate in scores(*pair)] for pair in pairs]
    monkeypatch.setattr(
        neighbours, "parts_of", lambda *sides: [(np.arange(9), [np.arange(len(side)) for side in sides])]
    )
    assert [[estimate.to_dict() for estimate in scores(*pair)] for pair in pairs] == found


def test_vectors_at_right_angles_without_each_group() -> None:
    generated, real = at_right_angles(80, 1, 1.0), at_right_angles(110, 2, 1.0)
    estimates = scores(generated, real, seed=4)
    for at, side in ((0, "real"), (3, "generated")):
        groups = assign_groups(len(real) if side == "real" else len(generated), stream(4, "groups", side))
        without = np.array(
            [
                directly(generated, real, 5, left=groups != group)[0]
                if side == "real"
                else directly(generated[groups != group], real, 5)[3]
                for group in range(50)
            ]
        )
        evidence = estimates[at].evidence
        assert evidence is not None
        terms = evidence.real_terms if side == "real" else evidence.generated_terms
        assert terms == pytest.approx(jackknife_terms(estimates[at].value, without, np.bincount(groups)), abs=1e-9)
