"""What a comparison says of itself: who shares first place, in which order, who is tied, who is told from real text."""

from dataclasses import replace

import pytest

from made_up_comparisons import make_comparison, make_measured
from textassay.comparison import Rank, Standings


def test_order_best_and_pairs_agree_with_the_table() -> None:
    comparison = make_comparison(("a", "b", "c"))
    assert comparison.headline == "dd"
    assert comparison.order() == comparison.order("dd") == ("a", "b", "c")
    assert comparison.best("dd") == ("a",)
    assert comparison.order("bleu(order=4)") == ("a", "b", "c")
    names = {(pair.a, pair.b) for pair in comparison.separated("dd")}
    assert names | {(pair.a, pair.b) for pair in comparison.tied("dd")} == {("a", "b"), ("a", "c"), ("b", "c")}
    assert comparison.verdict("a") == "separated"


@pytest.mark.parametrize("seed", range(5))
def test_who_shares_first_place_is_separated_from_nobody_better(seed: int) -> None:
    comparison = make_measured(seed)
    for metric in comparison.metrics:
        best = comparison.best(metric)
        assert best
        assert not [pair for pair in comparison.separated(metric) if {pair.a, pair.b} <= set(best)]
        assert all(pair.p_adjusted is not None and pair.p_adjusted >= 0.05 for pair in comparison.tied(metric))


def test_all_share_first_place_where_none_is_separated() -> None:
    comparison = make_comparison(("a", "b"))
    ranks = tuple(Rank(rank.generator, rank.metric, 1, 2) for rank in comparison.ranks)
    assert replace(comparison, ranks=ranks).best("dd") == ("a", "b")
    assert make_comparison(("only",)).best() == ("only",)
    assert comparison.best("vocabulary(of=types)") == ()


def test_details_and_last_places() -> None:
    comparison = make_comparison(("a", "b", "c"))
    standings = Standings(comparison)
    last = [name for name in standings.generators if standings.is_last(name, "dd")]
    assert last == [rank.generator for rank in comparison.ranks if rank.metric == "dd" and rank.high == 3]
    assert not standings.is_last("nobody", "dd")
    kept = standings.first_detail("a", "p_value")
    assert kept == ("dd", standings.detail("a", "dd", "p_value"))
    assert standings.first_detail("a", "no such detail") is None
    assert not standings.is_white_box("a", "dd")


@pytest.mark.parametrize("seed", range(3))
def test_which_metrics_disagree_and_which_separate_clearly(seed: int) -> None:
    standings = Standings(make_measured(seed))
    for metric in standings.comparison.metrics:
        for names, others in standings.disagreeing(metric).items():
            assert not {*names} & standings.marked(metric)
            assert all(standings.marked(other) == {*names} for other in others)
        for generator in standings.generators:
            clearest = standings.clearest(generator, besides=metric)
            clear = [standings.clearness(generator, other) or 0.0 for other in clearest]
            assert metric not in clearest
            assert clear == sorted(clear, reverse=True)
            assert all(one > 2 for one in clear)


def test_a_metric_may_be_named_by_its_family_where_that_says_which() -> None:
    comparison = make_comparison(("a", "b"))
    assert comparison.result("a", "length").metric == "length"
    with pytest.raises(KeyError, match="choose from bleu"):
        comparison.best("bleu")
    with pytest.raises(KeyError, match="choose from dd"):
        comparison.order("blue")
    with pytest.raises(KeyError, match="the generators are"):
        comparison.verdict("nobody")
