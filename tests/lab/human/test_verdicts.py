"""H1 and H2: by hand, on the published judgements, and by simulation."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from made_up_judgements import from_table, simulate
from textassay.errors import InputError, OptionError
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.mechanical_turk import read_mechanical_turk
from textassay_lab.human.verdicts import Ties, judgement_verdict, majority_verdict, usual_votes

# Specification, section 5.2: share judged fake by H1 and H2 (variant B), and texts with five votes.
PUBLISHED = {
    "WordRNN10": (0.548732, 0.597315, 149),
    "WordRNN07": (0.339119, 0.281879, 149),
    "WordRNN05": (0.267114, 0.178082, 146),
    "GoogleLM": (0.681941, 0.791667, 144),
    "AttentionAC": (0.323056, 0.272109, 147),
    "NoAttentionAC": (0.387183, 0.342282, 149),
    "SkipConnectionsAC": (0.246319, 0.148649, 148),
    "MLESeqGAN": (0.762350, 0.899329, 149),
    "SS": (0.752674, 0.872483, 149),
    "SeqGAN": (0.744966, 0.850340, 147),
    "RankGAN": (0.778226, 0.842466, 146),
    "LeakGAN": (0.681392, 0.761905, 147),
}


@pytest.fixture(scope="module")
def published(data_dir: Path) -> Judgements:
    return read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv")


def _rates(verdict: object) -> list[float]:
    return [round(100 * share.value, 2) for share in verdict.rates]  # type: ignore[attr-defined]


@pytest.mark.feature("JJ-19")
def test_h1_of_the_published_judgements(published: Judgements, data_dir: Path) -> None:
    assert _rates(judgement_verdict(published)) == [66.61, 78.96, 54.26]
    every = read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv", attention_checks=False)
    assert _rates(judgement_verdict(every)) == [66.60, 78.94, 54.26]


@pytest.mark.feature("JJ-20")
def test_h2_of_the_published_judgements_under_every_rule(published: Judgements) -> None:
    assert usual_votes(published) == 5
    five = majority_verdict(published, votes=5)
    assert _rates(five) == [72.63, 88.31, 56.95]
    assert (five.n_items, five.n_ties) == (3540, 0)
    ties: dict[Ties, float] = {"fake": 72.75, "real": 72.69}
    for rule, accuracy in ties.items():
        found = majority_verdict(published, ties=rule)
        assert _rates(found)[0] == accuracy
        assert (found.n_items, found.n_ties) == (3600, 4)
    assert majority_verdict(published, ties="drop").n_items == 3596


@pytest.mark.feature("JJ-20")
def test_h2_of_all_accepted_submissions(data_dir: Path) -> None:
    every = read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv", attention_checks=False)
    assert _rates(majority_verdict(every, ties="fake"))[0] == 72.72
    assert _rates(majority_verdict(every, ties="real"))[0] == 72.75
    assert _rates(majority_verdict(every, votes=5))[0] == 72.61


@pytest.mark.feature("JJ-21")
def test_the_twelve_generators(published: Judgements) -> None:
    h1 = {row.generator: row for row in judgement_verdict(published).generators}
    h2 = {row.generator: row for row in majority_verdict(published, votes=5).generators}
    assert set(h1) == set(h2) == set(PUBLISHED)
    for name, (by_judgement, by_majority, n_items) in PUBLISHED.items():
        assert h1[name].share.value == pytest.approx(by_judgement, abs=1e-6)
        assert h2[name].share.value == pytest.approx(by_majority, abs=1e-6)
        assert (h1[name].n_items, h2[name].n_items) == (150, n_items)
    best = min(h1.values(), key=lambda row: row.share.value)
    assert best.generator == "SkipConnectionsAC"
    assert best.rank_low == 1


SMALL = from_table(
    {
        "p": (None, (1, 1, 0)),
        "q": (None, (0, 0, 1)),
        "s": ("a", (0, 0, 1)),
        "t": ("a", (1, 0, None)),
        "u": ("b", (1, 1, 1)),
        "v": ("b", (None, None, None)),
    }
)


def test_by_hand() -> None:
    h1 = judgement_verdict(SMALL)
    assert [share.value for share in h1.rates if share] == pytest.approx([6 / 14, 3 / 6, 3 / 8])
    assert [row.share.value for row in h1.generators] == pytest.approx([3 / 5, 0.0])
    assert h1.real is not None
    assert h1.real.share.value == 0.5
    assert [row.n_items for row in h1.generators] == [2, 1]
    assert usual_votes(SMALL) == 3
    for ties, fake in (("fake", 1.0), ("real", 0.5)):
        h2 = majority_verdict(SMALL, ties=ties)  # type: ignore[arg-type]
        assert [row.share.value for row in h2.generators] == [fake, 0.0]
        assert (h2.n_items, h2.n_ties) == (5, 1)
    assert majority_verdict(SMALL, votes=2).n_items == 1  # exactly two, not two or more
    dropped = majority_verdict(SMALL, ties="drop")
    assert dropped.generators[0].n_items == 1
    assert [pair.difference for pair in h1.pairs] == pytest.approx([0.6])
    assert [pair.difference for pair in h1.from_real] == pytest.approx([0.1, -0.5])


def test_ratings_are_means() -> None:
    ratings = from_table(
        {"a": ("g", (3, 5)), "b": ("g", (1, None)), "c": (None, (5, 4)), "d": (None, (2, 5))}, scale="number"
    )
    found = judgement_verdict(ratings)
    assert found.name == "ratings"
    assert found.generators[0].share.value == 3.0
    assert found.real is not None
    assert found.real.share.value == 4.0
    assert found.rates == (None, None, None)
    with pytest.raises(InputError, match="counted as votes"):
        majority_verdict(ratings)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(OptionError, match="unknown ties"):
        majority_verdict(SMALL, ties="both")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="exactly 4 judgements: they have 0, 2, 3"):
        majority_verdict(SMALL, votes=4)
    with pytest.raises(InputError, match="all texts are tied"):
        majority_verdict(from_table({"a": ("g", (1, 0))}), ties="drop")


def test_one_page_and_one_rater() -> None:
    names = ("a", "b", "c")
    one_page = from_table(dict.fromkeys(names, ("g", (1, 0))), pages=dict.fromkeys(names, "1"))
    found = judgement_verdict(one_page)
    assert found.generators[0].share.interval is None
    assert found.real is None
    one_rater = judgement_verdict(from_table({"a": ("g", (1,)), "b": ("g", (0,)), "c": (None, (1,))}))
    interval = one_rater.generators[0].share.interval
    assert interval is not None
    assert interval.method.endswith("clustered by pages")


def test_raters_of_several_pages_count_as_clusters() -> None:
    found = judgement_verdict(simulate(np.random.default_rng(0), n_raters=4))
    assert found.accuracy is not None
    assert found.accuracy.interval is not None
    assert found.accuracy.interval.method.endswith("by pages")
    crossing = judgement_verdict(SMALL).generators[0].share.interval
    assert crossing is not None
    assert crossing.method.endswith("by pages and raters")


def test_ranks_of_equal_generators_overlap_and_those_of_unlike_ones_do_not() -> None:
    rng = np.random.default_rng(3)
    false, n_runs = 0, 80
    for _ in range(n_runs):
        drawn = simulate(rng, n_pages=15, generators={"(real)": 1.0, "a": 0.0, "b": 0.0, "c": 0.0})
        found = judgement_verdict(drawn)
        false += any(pair.p_adjusted < 0.05 for pair in found.pairs)
        false += any(row.rank_low != 1 or row.rank_high != 3 for row in found.generators) != any(
            pair.p_adjusted < 0.05 for pair in found.pairs
        )
    assert false / n_runs < 0.1
    drawn = simulate(rng, n_pages=40, generators={"(real)": 1.0, "a": 2.5, "b": 0.0, "c": -2.5})
    ranks = {row.generator: (row.rank_low, row.rank_high) for row in judgement_verdict(drawn).generators}
    assert ranks == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}


def test_differences_of_pairs_are_antisymmetric_to_the_order_of_items() -> None:
    drawn = simulate(np.random.default_rng(4), generators={"(real)": 1.0, "a": 0.5, "b": -0.5})
    found = judgement_verdict(drawn)
    shares = {row.generator: row.share.value for row in found.generators}
    for pair, (a, b) in zip(found.pairs, combinations(shares, 2), strict=True):
        assert (pair.a, pair.b) == (a, b)
        assert pair.difference == pytest.approx(shares[a] - shares[b])
        assert pair.low < pair.difference < pair.high
