"""The whole analysis: what is in its document, and what it does where there is little to go by."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up_judgements import from_table, simulate
from textassay.errors import InputError, OptionError
from textassay_lab.human.analysis import analyse
from textassay_lab.human.judgements import Comment, Judgements
from textassay_lab.human.mechanical_turk import read_mechanical_turk


def _document(judgements: Judgements, **settings: Any) -> dict[str, Any]:
    found = analyse(judgements, **settings).to_dict()
    json.dumps(found, allow_nan=False)
    return found


def test_the_document_of_a_study() -> None:
    drawn = simulate(np.random.default_rng(0), generators={"(real)": 1.5, "lstm": 0.0, "gan": -1.5})
    found = _document(drawn)
    assert set(found) == {
        "version", "scale", "settings", "sizes", "votes", "h1", "h2", "variants", "agreement", "raters", "disputed",
        "taken_for_real", "taken_for_fake", "reasons", "notes", "warnings",
    }  # fmt: skip
    assert found["settings"] == {"ties": "fake", "votes": 4, "level": 0.95, "seed": 0, "min_seconds": 2.0}
    assert found["votes"] == {"4": 72}
    assert [row["generator"] for row in found["h1"]["generators"]] == ["lstm", "gan", "(real)"]
    for name in ("h1", "h2"):
        for row in (found[name]["accuracy"], found[name]["true_negative_rate"]):
            assert row["low"] < row["value"] < row["high"]
    rules = [variant["rule"] for variant in found["variants"]]
    assert len(rules) == 2  # four votes may be tied; all items are those with four votes
    assert found["reasons"] is None
    (warning,) = found["warnings"]  # four judges, so some texts are tied
    assert f"{found['h2']['n_ties']} of 72 texts are tied in H2" in warning


def test_generators_stand_by_what_people_say_of_them() -> None:
    analysis = analyse(simulate(np.random.default_rng(0), generators={"(real)": 1.5, "gan": -1.5, "lstm": 0.0}))
    assert analysis.is_vote
    assert [row.generator for row in analysis.best_first] == ["lstm", "gan"]
    assert list(analysis.by_judgement.rows) == [*(row.generator for row in analysis.by_judgement.generators), "(real)"]
    assert analysis.by_judgement.rows["(real)"] == analysis.by_judgement.real


def test_the_same_seed_gives_the_same_document_and_the_order_of_judgements_does_not_matter() -> None:
    drawn = simulate(np.random.default_rng(1))
    order = np.random.default_rng(2).permutation(len(drawn))
    shuffled = Judgements(
        drawn.items, drawn.raters, drawn.item[order], drawn.rater[order], drawn.value[order], drawn.scale
    )
    first, second = _document(drawn), _document(shuffled)
    assert first["h1"]["accuracy"]["low"] == pytest.approx(second["h1"]["accuracy"]["low"], rel=1e-12)
    assert first["agreement"] == second["agreement"]
    assert first["raters"] == second["raters"]
    assert _document(drawn) == first


def test_votes_and_ties_are_as_asked_for() -> None:
    mixed = from_table(
        {"a": (None, (1, 1, 0)), "b": ("g", (1, 0, None)), "c": ("g", (0, 0, 0)), "d": (None, (1, None, None))}
    )
    usual = analyse(mixed)
    assert usual.settings["votes"] == 3
    assert [variant.n_items for variant in usual.variants] == [4, 4, 3]
    assert any("kappa leaves out 2 texts" in warning for warning in usual.warnings)
    every = analyse(mixed, votes="all", ties="real")
    assert every.settings["votes"] is None
    assert every.by_majority is not None
    assert every.by_majority.n_items == 4
    assert every.by_majority.generators[0].share.value == 0.5
    assert analyse(mixed, votes=2).by_majority.rule.endswith("items with 2 votes, ties count as fake")  # type: ignore[union-attr]


def test_one_item_and_one_rater() -> None:
    found = analyse(from_table({"a": ("g", (1,))}))
    assert found.by_judgement.true_positive_rate is None
    assert found.by_judgement.generators[0].share.interval is None
    assert found.agreement == ()
    told = " ".join(found.warnings)
    for part in ("no real text", "one rater", "one page"):
        assert part in told
    _document(from_table({"a": ("g", (1,))}))


def test_no_generated_item() -> None:
    found = analyse(from_table({"a": (None, (1, 0)), "b": (None, (1, 1))}))
    assert found.by_judgement.generators == ()
    assert found.by_judgement.true_negative_rate is None
    assert found.by_judgement.accuracy is not None
    assert found.taken_for_real == ()
    assert any("no generated text" in warning for warning in found.warnings)


def test_all_answers_equal() -> None:
    judgements = from_table({"a": (None, (1, 1)), "b": ("g", (1, 1)), "c": ("g", (1, 1))})
    found = analyse(judgements)
    values = {(one.measure, one.labels, one.items): one.value for one in found.agreement}
    assert math.isnan(values["fleiss-kappa", "real/fake", "all"])
    assert math.isnan(values["krippendorff-alpha", "real/fake", "all"])
    assert values["fleiss-kappa", "correct/mistaken", "all"] == 1.0
    assert any("undefined, because all judgements are equal" in warning for warning in found.warnings)
    document = _document(judgements)
    assert next(one["value"] for one in document["agreement"] if one["labels"] == "real/fake") is None


def test_ties_are_told_with_what_each_rule_makes_of_them() -> None:
    # Real texts: three judged real by all, four tied, three judged fake by all. Generated: one tied, one judged fake.
    votes = [(1, 1)] * 3 + [(1, 0)] * 4 + [(0, 0)] * 3
    rows: dict[str, Any] = {str(n): (None, given) for n, given in enumerate(votes)}
    rows |= {"a": ("g", (0, 1)), "b": ("g", (0, 0))}
    (told,) = (warning for warning in analyse(from_table(rows)).warnings if "tied" in warning)
    assert told == (
        "5 of 12 texts are tied in H2, because they have an even number of judgements (2): real text judged real in "
        "30.0 % (ties as fake), 70.0 % (ties as real), 50.0 % (ties left out), 50.0 % (H1, which has no ties); "
        "generated text judged fake in 100.0 % (ties as fake), 50.0 % (ties as real), 100.0 % (ties left out), "
        "75.0 % (H1, which has no ties). An odd number of judges per text avoids ties"
    )
    for rule in ("real", "drop"):
        assert any(told == warning for warning in analyse(from_table(rows), ties=rule).warnings)
    odd = {name: (generator, (*given, 1)) for name, (generator, given) in rows.items()}
    assert not any("tied" in warning for warning in analyse(from_table(odd)).warnings)
    agreed = {name: (generator, (given[0], given[0])) for name, (generator, given) in rows.items()}
    assert not any("tied" in warning for warning in analyse(from_table(agreed)).warnings)


def test_all_texts_tied() -> None:
    (told,) = (warning for warning in analyse(from_table({"a": ("g", (1, 0)), "b": (None, (1, 0))})).warnings
               if "tied" in warning)  # fmt: skip
    assert "left out" not in told


def test_suspicious_raters_are_counted_and_told() -> None:
    rows = {str(n): (None if n % 2 else "g", (0, n % 3 == 0)) for n in range(12)}
    found = analyse(from_table(rows), seconds={"r0": 0.004, "r1": 9.0}, checks={"r1": (1, 2)})
    assert [one.flags for one in found.raters] == [("too fast", "one answer"), ("pattern", "failed check")]
    assert found.sizes["n_judgements"] == 24
    assert any("2 of 2 raters are suspicious, but counted like all others" in warning for warning in found.warnings)
    assert _document(from_table(rows))["raters"][0]["reasons"] == ["answered fake to all 12 texts, 6 of them real"]


def test_ratings() -> None:
    rng = np.random.default_rng(3)
    rows = {
        f"{generator}{n}": (generator, tuple((good + rng.normal(size=3)).tolist()))
        for generator, good in ((None, 3.0), ("a", 2.0), ("b", 0.0))
        for n in range(12)
    }
    found = analyse(from_table(rows, scale="number"))
    assert found.by_majority is None
    assert found.variants == ()
    ranks = {row.generator: row.rank_low for row in found.by_judgement.generators}
    assert ranks == {"a": 1, "b": 2}
    assert "ratings" in _document(from_table(rows, scale="number"))


def test_ratings_are_told_as_means_and_ranges_and_have_neither_votes_nor_shares() -> None:
    rows = {str(n): (None if n % 2 else "g", (3.0, 1 + n % 5, 5 - n % 4)) for n in range(12)}
    ratings = from_table(rows, scale="number")
    document = _document(ratings)
    first, second, _ = document["raters"]
    assert set(first) == {
        "rater",
        "n",
        "mean_rating",
        "lowest",
        "highest",
        "correlation",
        "seconds",
        "flags",
        "reasons",
    }
    assert (first["mean_rating"], first["lowest"], first["highest"], first["correlation"]) == (3.0, 3.0, 3.0, None)
    assert (second["lowest"], second["highest"]) == (1.0, 5.0)
    assert set(document["settings"]) == {"level", "seed", "min_seconds"}
    assert not {"taken_for_real", "taken_for_fake"} & set(document)
    (highest, *_) = document["rated_highest"]
    given = rows[highest["id"]][1]
    assert (highest["mean"], highest["variance"]) == pytest.approx((np.mean(given), np.var(given, ddof=1)))
    assert "agreement" not in highest
    with pytest.raises(
        OptionError, match="votes apply to judgements of real or fake, but these are ratings: got votes 3"
    ):
        analyse(ratings, votes=3)


def test_comments_are_coded() -> None:
    rows = {"a": (None, (1, 0)), "b": ("g", (0, 0))}
    comments = [Comment("a", "r0", "Too vague"), Comment("a", "r1", "{}")]
    found = analyse(from_table(rows, comments=comments)).reasons
    assert found is not None
    assert (found.n_comments, found.n_empty, found.counts["vague"]) == (1, 1, 1)


def test_bad_settings_are_refused() -> None:
    judgements = from_table({"a": ("g", (1, 0)), "b": (None, (1, 1))})
    for settings, message in (
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"votes": 0}, "votes must be at least 1"),
        ({"votes": "most"}, "votes must be a number or 'all'"),
        ({"k": 0}, "k must be at least 1"),
        ({"ties": "none"}, "unknown ties"),
        ({"seed": -1}, "seed must be at least 0"),
    ):
        with pytest.raises(OptionError, match=message):
            analyse(judgements, **settings)
    with pytest.raises(InputError, match="there is no judgement to analyse yet"):
        analyse(from_table({"a": ("g", (None,))}))


@pytest.mark.feature("JJ-22")
def test_all_published_numbers_in_one_document(data_dir: Path) -> None:
    found = _document(read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv"))
    for name, rates in (("h1", (66.61, 78.96, 54.26)), ("h2", (72.63, 88.31, 56.95))):
        for key, rate in zip(("accuracy", "true_positive_rate", "true_negative_rate"), rates, strict=True):
            assert round(100 * found[name][key]["value"], 2) == rate
            assert found[name][key]["low"] < found[name][key]["value"] < found[name][key]["high"]
    kappas = {(one["labels"], one["items"]): one["value"] for one in found["agreement"] if one["n_votes"] == 5}
    expected = {
        ("correct/mistaken", "all"): 0.2748,
        ("correct/mistaken", "real"): 0.1243,
        ("correct/mistaken", "generated"): 0.2872,
        ("real/fake", "all"): 0.3122,
    }
    assert {key: round(value, 4) for key, value in kappas.items()} == expected
    assert sum(found["reasons"]["counts"].values()) > 500
