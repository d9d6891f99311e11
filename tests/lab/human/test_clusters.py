"""Clustered means: against statsmodels, by hand, and by simulation."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import integrate, stats

from textassay.errors import EmptyCorpusError
from textassay_lab.human.clusters import clustered_means


def _draw(rng: np.random.Generator, n: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    clusters, crossed, groups = rng.integers(0, 15, n), rng.integers(0, 12, n), rng.integers(0, 3, n)
    values = rng.normal(size=15)[clusters] + rng.normal(size=12)[crossed] + rng.normal(size=n) + groups
    return values, groups, clusters, crossed


def _covariance(values: np.ndarray, groups: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return what statsmodels makes of it, without its correction for the number of parameters."""
    design = np.eye(groups.max() + 1)[groups]
    model = sm.OLS(values, design).fit(cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False})
    return np.asarray(model.cov_params())


def test_means_and_variances_are_those_of_a_regression_with_clustered_errors() -> None:
    values, groups, clusters, _ = _draw(np.random.default_rng(0))
    found = clustered_means(values, groups, clusters)
    assert found.values == pytest.approx([values[groups == group].mean() for group in range(3)])
    n = np.array([len(np.unique(clusters[groups == group])) for group in range(3)])
    assert found.n_clusters.tolist() == n.tolist()
    scale = np.sqrt(n / (n - 1))
    assert found.covariances[0] == pytest.approx(_covariance(values, groups, clusters) * np.outer(scale, scale))


def test_two_kinds_of_clusters_add_up_less_their_intersections() -> None:
    values, groups, clusters, crossed = _draw(np.random.default_rng(1))
    groups = np.zeros_like(groups)
    both = clusters * 100 + crossed
    parts = []
    for kind in (clusters, crossed, both):
        n = len(np.unique(kind))
        parts.append(_covariance(values, groups, kind)[0, 0] * n / (n - 1))
    found = clustered_means(values, groups, clusters, crossed)
    assert found.covariances[:, 0, 0] == pytest.approx([parts[0], parts[1], parts[0] + parts[1] - parts[2]])
    assert found.variance(0) == pytest.approx(max(parts[0], parts[1], parts[0] + parts[1] - parts[2]))
    assert found.n_clusters.tolist() == [12]


def test_raters_of_one_page_each_add_nothing_to_pages() -> None:
    rng = np.random.default_rng(2)
    pages = np.repeat(np.arange(10), 12)
    raters = np.repeat(np.arange(30), 4)
    values = rng.normal(size=10)[pages] + rng.normal(size=120)
    crossed = clustered_means(values, np.zeros(120, dtype=int), pages, raters).covariances[2, 0, 0]
    plain = clustered_means(values, np.zeros(120, dtype=int), pages).variance(0)
    assert crossed == pytest.approx(plain, rel=0.05)  # but for the corrections n / (n - 1)


def test_singletons_give_the_intervals_of_independent_values() -> None:
    values = np.array([1.0, 0, 0, 1, 1, 1, 0, 1])
    found = clustered_means(values, np.zeros(8, dtype=int), np.arange(8))
    assert found.variance(0) == pytest.approx(values.var(ddof=1) / 8)
    interval = found.interval(0, level=0.9, method="t")
    assert interval is not None
    expected = stats.t.interval(0.9, 7, loc=0.625, scale=math.sqrt(values.var(ddof=1) / 8))
    assert (interval.low, interval.high) == pytest.approx(expected)


def test_a_share_of_all_or_nothing_has_an_interval_by_the_number_of_clusters() -> None:
    found = clustered_means(np.ones(50), np.zeros(50, dtype=int), np.repeat(np.arange(5), 10))
    interval = found.share_interval(0, level=0.95, method="w")
    assert interval is not None
    quantile = stats.t.ppf(0.975, 4)
    assert interval.high == 1.0
    assert interval.low == pytest.approx(5 / (5 + quantile**2))


def test_one_cluster_has_no_interval_and_nothing_is_no_mean() -> None:
    found = clustered_means(np.array([1.0, 0, 1, 1]), np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]))
    assert found.interval(0, level=0.95, method="t") is None
    assert found.share_interval(0, level=0.95, method="t") is None
    difference = found.difference(0, 1, level=0.95)
    assert difference.value == -0.5
    assert math.isnan(difference.p_value)
    with pytest.raises(EmptyCorpusError, match="at least one value"):
        clustered_means(np.zeros(0), np.zeros(0, dtype=int), np.zeros(0, dtype=int))


def test_the_logarithm_of_a_ratio_varies_as_the_delta_method_has_it() -> None:
    rng = np.random.default_rng(3)
    page = np.repeat(np.arange(30), 8)
    side = np.tile([0, 1], 120)
    values = rng.random(240) + rng.random(30)[page]
    found = clustered_means(values, side, page)
    first, second = found.values
    slopes = np.array([1 / first, -1 / second])
    expected = stats.t.ppf(0.975, 29) * math.sqrt(slopes @ found.covariances[0] @ slopes)
    assert found.log_ratio_margin(0, 1, level=0.95) == pytest.approx(expected)
    # Two sides that rise and fall together from page to page: their ratio is surer than if they did not.
    apart = clustered_means(values, side, page + 30 * side)
    assert found.log_ratio_margin(0, 1, level=0.95) < 0.8 * apart.log_ratio_margin(0, 1, level=0.95)


def test_where_nothing_varies_a_cluster_counts_as_one_answer() -> None:
    for n_pages in (2, 5):
        page = np.repeat(np.arange(n_pages), 20)
        side = np.tile([0, 1], 10 * n_pages)
        found = clustered_means(1.0 - side, side, page).difference(0, 1, level=0.95, shares=True)
        # All real texts judged real, all generated ones fake: of the ways to deal 2 n answers out, 2 are as extreme.
        assert found.p_value == pytest.approx(2 / math.comb(2 * n_pages, n_pages))
        quantile = stats.t.ppf(0.975, n_pages - 1)
        own = quantile**2 / (n_pages + quantile**2)  # how far below 1 Wilson's interval of each share reaches
        assert found.low == pytest.approx(1 - math.sqrt(2) * own)
        assert found.high == 1.0
    alike = clustered_means(np.ones(40), np.tile([0, 1], 20), np.repeat(np.arange(4), 10))
    none = alike.difference(0, 1, level=0.95, shares=True)
    assert none.p_value == 1.0
    assert none.low == -none.high < -0.3  # four pages of each do not prove that there is no difference


def test_clusters_that_vary_less_than_chance_are_no_larger_sample() -> None:
    # Each page has one right and one wrong: its mean never varies, yet 40 answers say no more than 40 do.
    values, page = np.tile([1.0, 0.0], 20), np.repeat(np.arange(20), 2)
    values[:2] = 1.0  # and a little variance
    interval = clustered_means(values, np.zeros(40, dtype=int), page).share_interval(0, level=0.95, method="w")
    assert interval is not None
    ratio = stats.t.ppf(0.975, 19) ** 2 / 40
    share = values.mean()
    half = math.sqrt(ratio * share * (1 - share) + ratio**2 / 4) / (1 + ratio)
    assert interval.high - interval.low == pytest.approx(2 * half)


def _true_share(base: float, spread: float) -> float:
    density = stats.norm(base, spread).pdf
    found = integrate.quad(lambda logit: density(logit) / (1 + math.exp(-logit)), base - 9, base + 9)
    return float(found[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_pages", "n_raters", "n_items", "base", "crossed"),
    [(20, 5, 10, 0.5, False), (15, 5, 6, 2.5, False), (60, 5, 1, 1.0, False), (30, 8, 5, 0.5, True)],
)
def test_intervals_of_shares_cover_with_effects_of_pages_texts_and_raters(
    n_pages: int, n_raters: int, n_items: int, base: float, crossed: bool
) -> None:
    rng = np.random.default_rng(5)
    page = np.repeat(np.arange(n_pages), n_raters * n_items)
    item = np.tile(np.arange(n_items), n_pages * n_raters) + page * n_items
    rater = np.tile(np.repeat(np.arange(n_raters), n_items), n_pages) + (0 if crossed else page * n_raters)
    spreads = (0.3, 1.0, 0.5)
    truth = _true_share(base, math.sqrt(sum(spread**2 for spread in spreads)))
    groups, n_runs, covered, p_values = np.arange(len(page)) % 2, 400, 0, []
    for _ in range(n_runs):
        logit = base + sum(
            spread * rng.normal(size=kind.max() + 1)[kind]
            for spread, kind in zip(spreads, (page, item, rater), strict=True)
        )
        values = (rng.random(len(page)) < 1 / (1 + np.exp(-logit))).astype(float)
        means = clustered_means(values, np.zeros_like(groups), page, rater if crossed else None)
        interval = means.share_interval(0, level=0.95, method="w")
        assert interval is not None
        covered += interval.low <= truth <= interval.high
        p_values.append(clustered_means(values, groups, page, rater if crossed else None).difference(0, 1, level=0.95))
    assert covered / n_runs > 0.92
    below = np.mean([one.p_value < 0.05 for one in p_values])
    assert below < 0.085
    if not crossed:
        assert covered / n_runs < 0.99
        assert below > 0.02


def _study(
    rng: np.random.Generator, n_raters: int, odds: list[float], likings: float, *, nested: bool
) -> tuple[np.ndarray, ...]:
    """Return judgements of generators, and their generators, texts and raters.

    Each rater judges 50 texts of each generator, or, nested, texts of their own, about 100 of each generator in all.
    `likings`: how much raters differ in how they like a generator.
    """
    n_generators, n_texts = len(odds), max(4, 100 // n_raters) if nested else 50
    rater, group, text = (place.ravel() for place in np.indices((n_raters, n_generators, n_texts)))
    text = text + n_texts * (group + n_generators * rater * nested)
    logit = np.array(odds)[group] + 0.8 * rng.normal(size=text.max() + 1)[text] + 0.5 * rng.normal(size=n_raters)[rater]
    logit = logit + likings * rng.normal(size=(n_raters, n_generators))[rater, group]
    return (rng.random(len(logit)) < 1 / (1 + np.exp(-logit))).astype(float), group, text, rater


def _coverage_and_power(n_raters: int, likings: float, *, nested: bool, n_runs: int) -> tuple[float, float, float]:
    """Return how often intervals hold a difference of 0 and one of about 0.24, and how often the latter is seen."""
    rng = np.random.default_rng(n_raters)
    odds = 1.2
    truth = _true_share(odds, math.sqrt(0.8**2 + 0.5**2 + likings**2)) - 0.5
    held_null, held, seen = 0, 0, 0
    for _ in range(n_runs):
        alike = [(0, 1), (0, 2), (1, 2)]
        drawn = clustered_means(*_study(rng, n_raters, [0, odds, 0], likings, nested=nested))
        null = drawn.difference(0, 2, level=0.95, shares=True, alike=alike)
        apart = drawn.difference(1, 0, level=0.95, shares=True, alike=alike)
        held_null += null.low <= 0 <= null.high
        held += apart.low <= truth <= apart.high
        seen += apart.p_value < 0.05
    return held_null / n_runs, held / n_runs, seen / n_runs


def test_intervals_with_three_raters_cover_and_see_a_clear_difference() -> None:
    # With 2 degrees of freedom, those of three raters, all intervals held, and a third saw the difference.
    null, away, power = _coverage_and_power(3, 0.2, nested=False, n_runs=300)
    assert 0.93 <= null <= 0.99
    assert 0.93 <= away <= 0.99
    assert power > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("likings", [0.0, 0.2, 0.5])
@pytest.mark.parametrize(("n_raters", "least_power"), [(2, 0.15), (3, 0.3), (5, 0.55), (10, 0.75), (20, 0.8)])
def test_intervals_of_differences_cover_whatever_the_number_of_raters(
    n_raters: int, least_power: float, likings: float, nested: bool
) -> None:
    null, away, power = _coverage_and_power(n_raters, likings, nested=nested, n_runs=500)
    assert 0.92 <= null <= 0.995
    assert 0.92 <= away <= 0.995
    assert power > least_power


def test_degrees_of_freedom_weigh_both_kinds_of_clusters_by_their_variance() -> None:
    values, groups, clusters, crossed = _study(np.random.default_rng(4), 4, [0.0, 1.0], 0.4, nested=False)
    found = clustered_means(values, groups, clusters, crossed)
    contrast = np.array([1.0, -1.0])
    by_kind = [part @ contrast @ contrast for part in found.covariances]
    n = found.counts.min(axis=1)
    variance = max(by_kind)
    df = variance**2 / (by_kind[0] ** 2 / (n[0] - 1) + by_kind[1] ** 2 / (n[1] - 1))
    difference = found.difference(0, 1, level=0.9)
    assert n.min() - 1 < df < n.max() - 1
    assert difference.high - difference.value == pytest.approx(stats.t.ppf(0.95, df) * math.sqrt(variance))
    assert difference.p_value == pytest.approx(2 * stats.t.sf(abs(difference.value) / math.sqrt(variance), df))
    # Of these clusters of the second kind and no others: as if there were the first kind alone.
    these = found.of_first_kind().difference(0, 1, level=0.9)
    assert these == clustered_means(values, groups, clusters).difference(0, 1, level=0.9)


def test_what_raters_add_is_the_mean_over_pairs_that_are_alike() -> None:
    values, groups, clusters, crossed = _draw(np.random.default_rng(5))
    values = values + np.random.default_rng(6).normal(size=(12, 3))[crossed, groups]
    found = clustered_means(values, groups, clusters, crossed)
    pairs = [(0, 1), (0, 2), (1, 2)]
    parts = []
    for one, other in pairs:
        contrast = np.zeros(3)
        contrast[[one, other]] = 1, -1
        parts.append([part @ contrast @ contrast for part in found.covariances])
    pages, raters, both = np.transpose(parts)
    variance = max(pages[0], raters.mean(), pages[0] + (both - pages).mean())
    n_pages, n_raters = found.counts[0, :2].min(), found.counts[1].min()
    df = variance**2 / (pages[0] ** 2 / (n_pages - 1) + raters.mean() ** 2 / (2 * (n_raters - 1)))
    assert n_pages - 1 < df < 2 * (n_raters - 1)
    difference = found.difference(0, 1, level=0.95, alike=pairs)
    assert difference.high - difference.value == pytest.approx(stats.t.ppf(0.975, df) * math.sqrt(variance))
