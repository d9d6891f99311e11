"""What a comparison says of itself: who shares first place, in which order, who is tied, who is told from real text."""

from dataclasses import replace

import numpy as np
import pytest

from made_up import sentences
from made_up_comparisons import make_comparison, make_measured
from textassay.comparison.comparison import FLOOR, Comparison, Rank
from textassay.comparison.run import compare
from textassay.comparison.standings import Standings


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


def test_what_moves_with_size_is_shown_at_the_size_of_the_floor_but_for_what_is_tested_against_guessing() -> None:
    comparison = make_comparison(("a", "b"))
    for found in (comparison, Comparison.from_dict(comparison.to_dict())):
        standings = Standings(found)
        for metric in found.metrics:
            result = found.result("a", metric)
            at_size = metric != "dd"
            assert standings.at_floor_size(metric) == at_size
            assert result.shown_by == ("matched_value" if at_size else "value")
            assert standings.shown("a", metric) == (result.matched if at_size else result.estimate)
            assert standings.shown(FLOOR, metric) == found.result(FLOOR, metric).estimate
            ranked = result.better == "closer"
            assert standings.beside("a", metric) == (
                result.matched if not at_size else None if ranked else result.estimate
            )
    unmoved = tuple(replace(one, size_sensitive=one.better == "closer") for one in comparison.results)
    standings = Standings(Comparison.from_dict(replace(comparison, results=unmoved).to_dict()))
    assert [standings.at_floor_size(metric) for metric in ("bleu(order=4)", "self-bleu(order=4)")] == [False, True]
    alone = tuple(replace(one, matched=None) for one in comparison.results)
    assert not Standings(replace(comparison, results=alone)).at_floor_size("bleu(order=4)")


@pytest.mark.slow
def test_text_of_the_same_source_is_shown_as_far_as_real_text_is() -> None:
    metrics = ["bleu(order=3)", "self-bleu(order=3)", "distinct-n(order=2)"]
    shown, of_all = np.zeros((40, 3)), np.zeros((40, 3))
    for draw in range(40):
        texts = sentences(400, 1000 + draw)
        standings = Standings(compare({"same": texts[:200]}, texts[200:], metrics=metrics, seed=draw))
        for place, metric in enumerate(metrics):
            floor, like, own = (
                standings.value(FLOOR, metric), standings.value("same", metric), standings.estimate("same", metric)
            )  # fmt: skip
            assert floor is not None
            assert like is not None
            assert own is not None
            shown[draw, place], of_all[draw, place] = like - floor, own.value - floor
    error = shown.std(axis=0, ddof=1) / np.sqrt(len(shown))
    assert (np.abs(shown.mean(axis=0)) < 3.3 * error).all()
    assert (np.abs(of_all.mean(axis=0)) > 10 * error).all()  # what the values of all texts would say


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
