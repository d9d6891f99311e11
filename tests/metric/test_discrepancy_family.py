"""dd of a family: who won, what each alone gives, which effort, whose log-probabilities; and what it is kept under."""

import json
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pytest

from made_up import sentences
from textassay.comparison.measure import cell_key
from textassay.comparison.run import compare
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator import catalog
from textassay.discriminator.base import Discriminator, Pair, log_probs_column
from textassay.discriminator.catalog import Member, make_family
from textassay.discriminator.family import BLEND
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.errors import MissingExtraError, OptionError
from textassay.execution.threads import workers
from textassay.inspection.dependence import Examined
from textassay.metric.base import Shared
from textassay.metric.catalog import parse_metric
from textassay.metric.discrepancy import dd


class Teller:
    """Knows one column: says real where the log-probability is high; without the column, that all are alike."""

    name, features, reads_log_probs = "teller", "log-probabilities", True

    def __init__(self) -> None:
        self.chosen: dict[str, Any] = {}
        self.column: str | None = None

    def fit(self, train: Pair, valid: Pair) -> Self:
        fitted = type(self)()
        fitted.column = log_probs_column(*train)
        return fitted

    def prob_real(self, corpus: Corpus) -> np.ndarray:
        return np.full(len(corpus), 0.5) if self.column is None else np.exp(corpus.columns[self.column])


class Small(LogisticDiscriminator):
    """A quick logistic regression of another name."""

    name = "small"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "max_order": 1, "grid": {"binary": (0.1,)}})


@pytest.fixture(autouse=True)
def families(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = {"logistic": LogisticDiscriminator, "small": Small, "teller": Teller}
    monkeypatch.setattr(catalog, "DISCRIMINATORS", registry)
    small, logistic, teller = map(Member, ("small", "logistic", "teller"))
    efforts = {"quick": (small,), "default": (small, logistic), "max": (small, logistic, teller)}
    monkeypatch.setattr(catalog, "FAMILIES", efforts)


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    """Return text, of which `white` has log-probabilities that tell it from real text."""
    made = corpora_from_texts({"real": sentences(200, 1), "far": sentences(200, 2, shift=0.5)})
    rng = np.random.default_rng(0)

    def told(corpus: Corpus, low: float, high: float, *names: str) -> Corpus:
        return replace(
            corpus, columns={f"log_probs/{name}": np.log(rng.uniform(low, high, len(corpus))) for name in names}
        )

    white = {"white real": told(made["real"], 0.4, 0.9, "white"), "white": told(made["far"], 0.1, 0.6, "white")}
    two = {"two real": told(made["real"], 0.4, 0.9, "a", "b"), "two": told(made["far"], 0.1, 0.6, "a", "b")}
    return {**made, **white, **two}


def test_details_say_who_won_and_what_each_alone_gives(corpora: dict[str, Corpus]) -> None:
    estimate = dd(corpora["far"], corpora["real"])
    details = json.loads(json.dumps(estimate.to_dict()))["details"]
    assert set(details["alone"]) == {"small", "logistic", BLEND}
    assert len(details["won"]["folds"]) == 5
    assert details["won"]["most"] in details["won"]["folds"]
    for name in ("small", "logistic"):
        single = dd(corpora["far"], corpora["real"], discriminator=name)
        alone = details["alone"][name]
        assert single.interval is not None
        assert alone["value"] == single.value
        assert (alone["low"], alone["high"]) == (single.interval.low, single.interval.high)
        assert alone["se_sampling"] == single.details["se_sampling"]
        assert single.details["won"] is None
        assert single.details["alone"] is None
    values = [details["alone"][name]["value"] for name in details["won"]["folds"]]
    assert min(values) - 0.1 < estimate.value < max(values) + 0.1


def test_repeats_average_each_alone(corpora: dict[str, Corpus]) -> None:
    two = dd(corpora["far"], corpora["real"], repeats=2)
    single = dd(corpora["far"], corpora["real"], repeats=2, discriminator="logistic")
    assert two.details["alone"]["logistic"]["value"] == single.value
    assert len(two.details["won"]["folds"]) == 10


def test_threads_change_nothing(corpora: dict[str, Corpus]) -> None:
    alone = dd(corpora["far"], corpora["real"])
    with workers(2):
        assert dd(corpora["far"], corpora["real"]) == alone


def test_the_effort_picks_the_family_and_stands_in_the_signature_only(corpora: dict[str, Corpus]) -> None:
    found = {effort: dd(corpora["far"], corpora["real"], effort=effort) for effort in ("quick", "default", "max")}
    assert {estimate.metric for estimate in found.values()} == {"dd"}
    assert {effort: estimate.signature.settings["effort"] for effort, estimate in found.items()} == {
        effort: effort for effort in found
    }
    names = {effort: estimate.signature.settings["clf"] for effort, estimate in found.items()}
    assert names == {
        "quick": "small",
        "default": "best of small, logistic",
        "max": "best of small, logistic, teller",
    }
    assert found["quick"].details["won"] is None
    metrics = [parse_metric("dd", effort=effort) for effort in ("quick", "default", "max")]
    keys = {
        cell_key(metric, Examined.unexamined(corpora["far"], corpora["real"]), seed=0, version="1")
        for metric in metrics
    }
    assert len(keys) == 3
    explicit = [parse_metric("dd(discriminator=logistic)", effort=effort).key for effort in ("quick", "max")]
    assert explicit[0] == explicit[1]
    assert "effort" not in dd(corpora["far"], corpora["real"], discriminator="logistic").signature.settings
    with pytest.raises(OptionError, match=r"unknown value of dd\(effort\) 'much'"):
        parse_metric("dd", effort="much")


def test_log_probabilities_are_used_named_and_part_of_the_key(corpora: dict[str, Corpus]) -> None:
    plain = dd(corpora["far"], corpora["real"], effort="max")
    white = dd(corpora["white"], corpora["white real"], effort="max")
    assert "log_probs" not in plain.signature.settings
    assert plain.details["log_probs"] is None
    assert white.signature.settings["log_probs"] == white.details["log_probs"] == "white"
    assert plain.details["alone"]["teller"]["value"] == 0
    assert white.details["alone"]["teller"]["value"] > 0.4
    assert white.value > plain.value
    assert white.details["alone"]["small"] == plain.details["alone"]["small"]
    with Shared().used():  # work is told apart by columns, too
        assert dd(corpora["far"], corpora["real"], effort="max") == plain
        assert dd(corpora["white"], corpora["white real"], effort="max") == white
    metric = parse_metric("dd", effort="max")
    assert metric.reads_columns
    keys = {
        cell_key(metric, Examined.unexamined(corpora[generated], corpora[real]), seed=0, version="1")
        for generated, real in (("far", "real"), ("white", "white real"))
    }
    assert len(keys) == 2


@pytest.mark.parametrize(("generated", "real"), [("two", "two real"), ("far", "white real"), ("white", "real")])
def test_without_one_shared_column_dd_is_plain(corpora: dict[str, Corpus], generated: str, real: str) -> None:
    found = dd(corpora[generated], corpora[real], effort="max")
    assert found.details["log_probs"] is None
    assert found.value == dd(corpora["far"], corpora["real"], effort="max").value


def test_a_family_that_does_not_read_them_leaves_them_out(corpora: dict[str, Corpus]) -> None:
    assert not parse_metric("dd").reads_columns
    found = dd(corpora["white"], corpora["white real"])
    assert "log_probs" not in found.signature.settings
    assert found == dd(corpora["far"], corpora["real"])


def test_a_comparison_of_white_and_black_boxes_says_so() -> None:
    real, one, other = sentences(120, 1), sentences(120, 2, shift=0.5), sentences(120, 3, shift=0.5)
    rng = np.random.default_rng(1)
    of_real, of_one = np.log(rng.uniform(0.4, 0.9, 120)), np.log(rng.uniform(0.1, 0.6, 120))
    log_probs = {"one": (of_one, of_real)}
    settings: dict[str, Any] = {"metrics": ["dd"], "effort": "max"}
    mixed = compare({"one": one, "other": other}, real, log_probs=log_probs, **settings)
    (warning,) = [text for text in mixed.warnings if "log-probabilities" in text]
    assert warning.startswith("dd of one was measured with the generator's log-probabilities, dd of other without")
    alone = compare({"one": one}, real, log_probs=log_probs, **settings)
    assert not any("log-probabilities" in text for text in alone.warnings)
    estimate = alone.result("one", "dd").estimate
    assert estimate is not None
    assert alone.explanations[0].value == estimate.value == mixed.explanations[0].value


def test_a_family_without_a_member_is_named_and_kept_apart(
    corpora: dict[str, Corpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Discriminator:
        raise MissingExtraError("the teller", "neural")

    whole = parse_metric("dd", effort="max")
    pair = Examined.unexamined(corpora["far"], corpora["real"])
    key = cell_key(whole, pair, seed=0, version="1")
    monkeypatch.setitem(catalog.DISCRIMINATORS, "teller", missing)
    assert cell_key(whole, pair, seed=0, version="1") != key
    estimate = dd(corpora["far"], corpora["real"], effort="max")
    assert estimate.signature.settings["clf"] == "best of small, logistic"
    assert list(estimate.details["left_out"]) == ["teller"]


def test_the_family_of_one_is_its_member() -> None:
    assert isinstance(make_family("quick"), Small)


def test_the_size_decides_on_members_and_all_say_so(
    corpora: dict[str, Corpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = parse_metric("dd").key
    members = (Member("small"), Member("logistic", least=151))
    monkeypatch.setitem(catalog.FAMILIES, "default", members)
    assert parse_metric("dd").key != key
    few = {name: corpora[name].take(np.arange(150)) for name in ("far", "real")}
    at_150, at_200 = dd(few["far"], few["real"]), dd(corpora["far"], corpora["real"])
    assert (at_150.signature.settings["clf"], at_200.signature.settings["clf"]) == ("small", "best of small, logistic")
    assert at_150.details["by_size"] == at_150.signature.settings["clf_for"] == "up to 150 texts a side"
    assert "by_size" not in at_200.details
    assert "clf_for" not in at_200.signature.settings
    assert at_150.value == dd(few["far"], few["real"], discriminator="small").value
    assert dd(corpora["far"], few["real"]).signature.settings["clf"] == "small"


def test_text_to_learn_from_counts_to_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalog.FAMILIES, "default", (Member("small"), Member("logistic", least=151)))
    texts = {"real": sentences(100, 1), "more": sentences(60, 3), "far": sentences(160, 2, shift=0.5)}
    corpora = corpora_from_texts(texts)
    names = {
        fit_real is not None: dd(corpora["far"], corpora["real"], fit_real=fit_real).signature.settings["clf"]
        for fit_real in (None, corpora["more"])
    }
    assert names == {False: "small", True: "best of small, logistic"}
