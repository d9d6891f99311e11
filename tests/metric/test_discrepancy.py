"""Distributional Discrepancy: exact values, equation (6), damage, doors, evidence, groups."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Pair
from textassay.discriminator.cross_fitting import CrossFit
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError
from textassay.estimate import Estimate
from textassay.execution.threads import workers
from textassay.metric.base import measure
from textassay.metric.catalog import parse_metric
from textassay.metric.discrepancy import dd, dd_and_fits, exact_discrepancy
from textassay.resampling.betting import ShareDifference
from textassay.resampling.bounds import choose_bound
from textassay.resampling.proportions import certified_lower_bound, newcombe_interval
from textassay.seeding import stream

TOY_P = {"AA": 0.25, "AB": 0.25, "BA": 0.25, "BB": 0.25}
TOY_Q = {"AA": 0.81, "AB": 0.09, "BA": 0.05, "BB": 0.05}


def chains(n: int, seed: int, stay: float = 0.3, length: int = 9) -> list[str]:
    """Return sentences of a Markov chain over twelve words; `stay` is the probability to repeat a word."""
    rng = np.random.default_rng(seed)
    words = np.zeros((n, length), dtype=np.int64)
    words[:, 0] = rng.integers(12, size=n)
    for position in range(1, length):
        moved = (words[:, position - 1] + rng.integers(1, 4, n)) % 12
        words[:, position] = np.where(rng.random(n) < stay, words[:, position - 1], moved)
    return [" ".join(f"w{word}" for word in row) for row in words.tolist()]


def shuffled(texts: list[str], seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.permutation(text.split())) for text in texts]


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    real, copied = chains(600, 1), chains(600, 2)
    rng = np.random.default_rng(5)
    return corpora_from_texts(
        {
            "real": real,
            "same": chains(600, 2),
            "worse": chains(500, 3, stay=0.5),
            "bad": chains(500, 3, stay=0.7),
            "shuffled": shuffled(chains(600, 2)),
            "copier": [copied[index] for index in rng.integers(50, size=600)],
            "disjoint": [text.replace("w", "v") for text in chains(300, 4)],
            "few": real[:49],
            "none": [],
        }
    )


Measured = Callable[[str], tuple[Estimate, CrossFit]]


@pytest.fixture(scope="module")
def measured(corpora: dict[str, Corpus]) -> Measured:
    """Return what gives dd of a generated corpus and its cross-fit, measured once for all tests."""

    @cache
    def measured_once(name: str) -> tuple[Estimate, CrossFit]:
        estimate, (fit,) = dd_and_fits(parse_metric("dd"), corpora[name], corpora["real"])
        return estimate, fit

    return measured_once


@pytest.fixture(scope="module")
def estimate(measured: Measured) -> Estimate:
    return measured("worse")[0]


@pytest.mark.feature("DD-01")
def test_exact_discrepancy_of_enumerable_spaces() -> None:
    assert exact_discrepancy(TOY_P, TOY_Q) == pytest.approx(0.56, abs=1e-15)
    assert exact_discrepancy(TOY_Q, TOY_P) == pytest.approx(0.56, abs=1e-15)
    assert exact_discrepancy(TOY_P, dict(TOY_P)) == 0
    assert exact_discrepancy(TOY_P, {"CC": 0.5, "CA": 0.5}) == 1
    assert exact_discrepancy({"A": 1.0}, {"A": 0.75, "B": 0.25}) == 0.25


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ({"A": 0.5}, "got a sum of 0.5"),
        ({"A": 1.5, "B": -0.5}, "sum to 1"),
        ({}, "got a sum of 0"),
        ({"A": np.nan}, "sum"),
    ],
)
def test_what_is_no_distribution_is_an_error(p: dict[str, float], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        exact_discrepancy(p, {"A": 1.0})


@pytest.mark.feature("DD-07")
def test_the_value_is_equation_6_on_sentences_the_classifier_did_not_see(measured: Measured) -> None:
    """Unequal sizes: the mean over each side counts, never the raw accuracy."""
    estimate, fit = measured("worse")
    real, generated = fit.correct()  # 1 for each sentence judged rightly, 0 for the others
    assert (len(real), len(generated)) == (600, 500)
    assert set(np.concatenate([real, generated])) == {0.0, 1.0}
    true_correct, fake_correct = real.sum(), generated.sum()
    by_hand = 0.5 * ((true_correct - (600 - true_correct)) / 600 + (fake_correct - (500 - fake_correct)) / 500)
    assert estimate.value == pytest.approx(by_hand)
    raw = (true_correct + fake_correct) / 1100
    assert estimate.value != pytest.approx(2 * raw - 1, abs=1e-6)
    plain = real.var(ddof=1) / 600 + generated.var(ddof=1) / 500
    assert estimate.details["se_sampling"] == pytest.approx(np.sqrt(1.64 * plain))


@pytest.mark.feature("DD-07")
def test_with_equal_sizes_it_is_twice_the_accuracy_less_one(measured: Measured) -> None:
    estimate, fit = measured("shuffled")
    assert estimate.value == pytest.approx(2 * np.concatenate(fit.correct()).mean() - 1)


def test_evidence_has_the_mean_and_the_variance_of_the_value(estimate: Estimate) -> None:
    evidence = estimate.evidence
    assert evidence is not None
    assert evidence.real_terms is not None
    assert evidence.generated_terms is not None
    assert evidence.real_terms.mean() + evidence.generated_terms.mean() - 1 == pytest.approx(estimate.value)
    variance = evidence.real_terms.var(ddof=1) / 600 + evidence.generated_terms.var(ddof=1) / 500
    assert estimate.details["se_sampling"] == pytest.approx(np.sqrt(variance))


def test_interval_bound_and_folds_agree_with_the_counts(measured: Measured) -> None:
    estimate, fit = measured("worse")
    real, generated = fit.correct()
    expected = newcombe_interval(real.sum() / 1.64, 600 / 1.64, (500 - generated.sum()) / 1.64, 500 / 1.64, level=0.95)
    assert estimate.interval is not None
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx((expected.low, expected.high))
    assert estimate.interval.method == "newcombe, approximate under cross-fitting (variance x 1.64)"
    assert np.mean(estimate.details["fold_values"]) == pytest.approx(estimate.value)
    bound = estimate.details["certified_bound"]
    assert (bound["level"], bound["fold"]) == (0.95, 0)
    called_real = [
        int(np.sum(scores[folds == 0] > bound["threshold"]))
        for scores, folds in ((fit.real_scores, fit.real_folds), (fit.generated_scores, fit.generated_folds))
    ]
    assert bound["value"] == certified_lower_bound(called_real[0], 120, called_real[1], 100, alpha=0.05)
    assert (bound["kind"], bound["exact"]) == ("threshold", True)
    assert 0 < bound["value"] < called_real[0] / 120 - called_real[1] / 100


def test_the_threshold_of_the_bound_is_chosen_without_the_test_text(measured: Measured) -> None:
    estimate, fit = measured("worse")
    fold = fit.folds[0]
    rule = choose_bound(*fold.valid_scores, n_real=120, n_generated=100, alpha=0.05, usual=fold.threshold)
    assert estimate.details["certified_bound"]["threshold"] == rule.threshold


def test_the_e_value_is_large_where_the_p_value_is_small(measured: Measured) -> None:
    assert measured("worse")[0].details["e_value"] > 1000
    assert measured("same")[0].details["e_value"] < 20


def test_the_plug_in_lies_near_or_above_the_value(measured: Measured, estimate: Estimate) -> None:
    assert estimate.value - 0.1 < estimate.details["plug_in"] <= 1
    assert measured("disjoint")[0].details["plug_in"] > 0.99


def test_details_are_complete_and_json_ready(estimate: Estimate) -> None:
    details = json.loads(json.dumps(estimate.to_dict()))["details"]
    assert len(details["thresholds"]) == len(details["chosen"]) == len(details["fold_values"]) == 5
    assert sum(details["score_histogram"]["real"]) == 600
    assert sum(details["score_histogram"]["generated"]) == 500
    assert len(details["score_histogram"]["edges"]) == 41
    assert details["p_value"] == 1 / 1000
    assert details["n_permutations"] == 999
    assert details["accuracy_real"] + details["accuracy_generated"] - 1 == pytest.approx(estimate.value)
    assert details["n_train"] == {"real": 420, "generated": 350}
    assert details["n_valid"] == {"real": 60, "generated": 50}
    assert details["n_test"] == {"real": 120, "generated": 100}
    assert details["sd_seeds"] is None
    assert details["se_total"] >= details["se_sampling"]
    assert 0.5 < details["auc"] <= 1
    assert details["mean_score_real"] > 0.5 > details["mean_score_generated"]
    assert estimate.sizes["n_generated"] == 500


def test_the_signature_names_everything_that_matters(estimate: Estimate) -> None:
    settings = estimate.signature.settings
    assert settings["metric"] == "dd"
    assert settings["clf"] == "best of stack, logistic"
    assert "logistic: 1-4-grams" in settings["feats"]
    assert settings["effort"] == "default"
    for key, value in {
        "folds": "5",
        "repeats": "1",
        "selection": "balanced-accuracy",
        "threshold": "validation",
        "ci": "newcombe x1.64",
        "split": "draw",
        "seed": "0",
    }.items():
        assert settings[key] == value


@pytest.mark.feature("DD-08")
@pytest.mark.parametrize("seed", range(3))
def test_two_samples_of_one_model_are_within_three_standard_errors_of_zero(seed: int) -> None:
    both = corpora_from_texts({"real": chains(800, 10 + seed), "generated": chains(800, 20 + seed)})
    estimate = dd(both["generated"], both["real"], seed=seed)
    assert abs(estimate.value) < 3 * estimate.details["se_sampling"]
    assert estimate.details["p_value"] > 0.001
    assert estimate.details["certified_bound"]["value"] == 0


@pytest.mark.feature("DD-25")
def test_shuffled_words_raise_it(measured: Measured) -> None:
    same, mixed = measured("same")[0], measured("shuffled")[0]
    assert mixed.value > same.value + 0.3
    assert mixed.interval is not None
    assert same.interval is not None
    assert mixed.interval.low > same.interval.high


@pytest.mark.feature("DD-26")
def test_a_copier_of_fifty_sentences_is_far_from_real_text(corpora: dict[str, Corpus]) -> None:
    assert dd(corpora["copier"], corpora["real"]).value > 0.9
    estimate = dd(corpora["copier"], corpora["real"], discriminator="logistic")
    assert estimate.value > 0.9
    assert estimate.details["dd_distinct_texts"] < estimate.value  # as a list without repeats it looks real enough


def test_disjoint_vocabularies_give_one(measured: Measured) -> None:
    estimate = measured("disjoint")[0]
    assert estimate.value == 1
    assert estimate.interval is not None
    assert 0.97 < estimate.interval.low < estimate.interval.high == 1
    assert estimate.details["certified_bound"]["value"] > 0.9


def test_it_grows_with_the_distance_and_knows_no_sides(corpora: dict[str, Corpus], measured: Measured) -> None:
    values = [measured(name)[0].value for name in ("same", "worse", "bad")]
    assert values == sorted(values)
    swapped = dd(corpora["real"], corpora["bad"]).value
    assert swapped == pytest.approx(values[2], abs=0.1)


def test_all_doors_give_the_same(corpora: dict[str, Corpus], estimate: Estimate) -> None:
    assert measure(parse_metric("dd"), corpora["worse"], corpora["real"]) == estimate  # which is of `dd_and_fits`
    with workers(2):
        assert dd(corpora["worse"], corpora["real"]) == estimate
    assert dd(corpora["worse"], corpora["real"], seed=1).value != estimate.value


def test_another_level_changes_interval_and_bound_alone(corpora: dict[str, Corpus], estimate: Estimate) -> None:
    wide = dd(corpora["worse"], corpora["real"], level=0.99)
    assert wide.value == estimate.value
    assert wide.interval is not None
    assert estimate.interval is not None
    assert wide.interval.low < estimate.interval.low
    assert wide.details["certified_bound"]["value"] < estimate.details["certified_bound"]["value"]
    assert parse_metric("dd", level=0.99).key == parse_metric("dd").key


def test_repeats_average_partitions_and_tell_their_spread(corpora: dict[str, Corpus], estimate: Estimate) -> None:
    three = dd(corpora["worse"], corpora["real"], repeats=3)
    assert three.metric == "dd(repeats=3)"
    assert len(three.details["fold_values"]) == 15
    assert np.mean(three.details["fold_values"][:5]) == pytest.approx(estimate.value)
    assert np.mean(three.details["fold_values"]) == pytest.approx(three.value)
    seeds = np.reshape(three.details["fold_values"], (3, 5)).mean(axis=1)
    assert three.details["sd_seeds"] == pytest.approx(seeds.std(ddof=1))
    total = np.hypot(three.details["se_sampling"], three.details["sd_seeds"] / np.sqrt(3))
    assert three.details["se_total"] == pytest.approx(total)
    assert three.interval is not None
    assert three.interval.method.endswith("(variance x 2)")


def test_one_split_tests_a_tenth(corpora: dict[str, Corpus]) -> None:
    estimate = dd(corpora["worse"], corpora["real"], folds=1)
    assert estimate.metric == "dd(folds=1)"
    assert estimate.evidence is not None
    assert estimate.evidence.real_terms is not None
    assert len(estimate.evidence.real_terms) == estimate.sizes["n_real_tested"] == 60
    assert estimate.interval is not None
    assert estimate.interval.method == "newcombe"
    assert estimate.details["sd_classifiers"] is None


def grouped(n_groups: int, per_group: int, seed: int, first: int = 0) -> tuple[list[str], np.ndarray]:
    """Return sentences of which those of a group are nearly alike."""
    texts = [text for text in chains(n_groups, seed) for _ in range(per_group)]
    return texts, np.repeat(np.arange(first, first + n_groups), per_group)


def test_groups_give_wider_intervals_group_terms_and_a_bound_by_group() -> None:
    real, real_groups = grouped(60, 5, 1)
    generated, generated_groups = grouped(60, 5, 2, first=60)
    texts = {"real": real, "generated": generated}
    by_group = corpora_from_texts(texts, groups={"real": real_groups, "generated": generated_groups})
    by_draw = corpora_from_texts(texts)
    leaky = dd(by_draw["generated"], by_draw["real"], independent=True)
    fair = dd(by_group["generated"], by_group["real"])
    assert leaky.value > 0.9  # copies on both sides of the split give the generator away
    assert abs(fair.value) < 0.4
    assert fair.evidence is not None
    assert fair.evidence.real_terms is not None
    assert len(fair.evidence.real_terms) == 60
    assert fair.interval is not None
    assert fair.interval.method == "student over groups, approximate under cross-fitting (variance x 1.64)"
    naive = newcombe_interval(150, 300, 150, 300, level=0.95)
    assert fair.interval.high - fair.interval.low > 1.5 * (naive.high - naive.low)
    bound = fair.details["certified_bound"]
    assert (bound["value"], bound["kind"], bound["n_groups"]) == (0, "betting", 24)  # of one fold of five
    assert fair.details["e_value"] < 20
    assert fair.details["p_value"] > 0.001
    assert fair.signature.settings["split"] == "group"


def test_shared_groups_count_once_in_the_interval() -> None:
    """Prompts on both sides: the interval rests on as many units as there are prompts."""
    texts = chains(300, 1)
    groups = np.repeat(np.arange(30), 10)
    corpora = corpora_from_texts(
        {"real": texts, "generated": chains(300, 2, stay=0.6)}, groups={"real": groups, "generated": groups}
    )
    estimate = dd(corpora["generated"], corpora["real"])
    assert estimate.interval is not None
    assert estimate.interval.low < estimate.value < estimate.interval.high
    assert estimate.value > 0.3
    assert estimate.details["p_value"] < 0.05


def mixed_groups(stay: float, *, seed: int = 1) -> dict[str, Corpus]:
    """Return texts of both sides in groups of any mix of them."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(700), rng.geometric(0.4, 700))
    is_real = rng.random(len(groups)) < 0.5
    sides = {"real": is_real, "generated": ~is_real}
    texts = {
        name: chains(int(rows.sum()), seed + place, stay=(0.3, stay)[place])
        for place, (name, rows) in enumerate(sides.items())
    }
    return corpora_from_texts(texts, groups={name: groups[rows] for name, rows in sides.items()})


def test_groups_of_any_mix_have_a_bound_in_which_every_text_weighs_the_same() -> None:
    corpora = mixed_groups(0.9)
    sides = corpora["real"], corpora["generated"]
    metric = parse_metric("dd(discriminator=naive-bayes)")
    estimate, fits = dd_and_fits(metric, corpora["generated"], corpora["real"])
    bound = estimate.details["certified_bound"]
    folds = fits[0].real_folds, fits[0].generated_folds
    scores = fits[0].real_scores, fits[0].generated_scores
    sizes, called = np.zeros((700, 2)), np.zeros((700, 2))
    for place, side in enumerate(sides):
        assert side.groups is not None
        np.add.at(sizes[:, place], side.groups, 1)
        np.add.at(called[:, place], side.groups, scores[place] > bound["threshold"])
    inside = np.zeros(700, dtype=bool)
    for side, fold in zip(sides, folds, strict=True):
        assert side.groups is not None
        inside[side.groups[fold == 0]] = True
    bets = ShareDifference(
        called[inside], sizes[inside], elsewhere=sizes[~inside], alpha=0.05, rng=stream(0, "dd", "bets")
    )
    assert bound["value"] == bets.lower_bound
    assert 0.3 < bound["value"] < estimate.value
    assert (bound["kind"], bound["exact"], bound["n_groups"]) == ("betting", True, inside.sum())
    assert tuple(bound["largest"].values()) == bets.largest
    assert "independent groups" in bound["assumes"]
    assert "reason" not in bound
    assert estimate.details["e_value"] == bets.e_value > 20


def test_equal_texts_in_groups_of_any_mix_are_not_told_apart() -> None:
    corpora = mixed_groups(0.3)
    details = parse_metric("dd(discriminator=naive-bayes)").estimate(corpora["generated"], corpora["real"]).details
    assert details["certified_bound"]["value"] == 0
    assert details["e_value"] < 20
    assert details["p_value"] > 0.01


class Fixed:
    """A user's own discriminator: real is what has an even number of w1."""

    name = "parity"
    features = "count of w1"
    chosen: dict[str, Any] = {}  # noqa: RUF012

    def fit(self, train: Pair, valid: Pair) -> Self:
        return self

    def prob_real(self, corpus: Corpus) -> np.ndarray:
        return np.array([0.9 if text.split().count("w1") % 2 == 0 else 0.2 for text in corpus.texts])


def test_own_and_scikit_learn_discriminators(corpora: dict[str, Corpus], measured: Measured) -> None:
    own = dd(corpora["worse"], corpora["real"], discriminator=Fixed(), threshold="half")
    assert own.metric == "dd(discriminator=parity,threshold=half)"
    assert own.signature.settings["feats"] == "count of w1"
    shares = [
        np.mean([text.split().count("w1") % 2 == 0 for text in corpora[name].texts]) for name in ("real", "worse")
    ]
    assert own.value == pytest.approx(shares[0] - shares[1])
    bayes = make_pipeline(CountVectorizer(ngram_range=(1, 2)), MultinomialNB())
    peer = dd(corpora["bad"], corpora["real"], discriminator=bayes)
    assert peer.metric == "dd(discriminator=MultinomialNB)"
    assert peer.value == pytest.approx(measured("bad")[0].value, abs=0.1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"folds": 0}, "folds must be at least 1, got 0"),
        ({"repeats": 0}, "repeats must be at least 1, got 0"),
        ({"folds": 1, "repeats": 2}, "repeats must be between 1 and 1, got 2"),
        ({"level": 1.0}, "level must be between 0 and 1, got 1.0"),
        ({"discriminator": "logistik"}, "did you mean logistic"),
        ({"discriminator": 3}, "int has neither"),
        ({"threshold": "none"}, "[Vv]alid: half, validation"),
        ({"effort": "much"}, r"unknown value of dd\(effort\) 'much'"),
    ],
)
def test_bad_settings_are_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        dd.declaration.with_settings(**settings)


def test_too_little_text_is_an_error(corpora: dict[str, Corpus]) -> None:
    with pytest.raises(EmptyCorpusError, match="dd: the generated corpus has no text"):
        dd(corpora["none"], corpora["real"])
    with pytest.raises(TooFewSentencesError, match="needs at least 50 texts a side, the generated corpus has 49"):
        dd(corpora["few"], corpora["real"])
    with pytest.raises(TooFewSentencesError, match="needs at least 100 texts a side"):
        dd(corpora["real"], corpora["few"], folds=10)
    assert dd(corpora["few"], corpora["real"], folds=4).value < 1


def test_empty_sentences_and_one_sided_lengths_are_just_text(corpora: dict[str, Corpus]) -> None:
    both = corpora_from_texts({"real": chains(60, 1), "generated": [""] * 60})
    assert dd(both["generated"], both["real"]).value == 1
    blank = corpora_from_texts({"real": [""] * 60, "generated": [""] * 60})
    assert dd(blank["generated"], blank["real"]).value == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("real", "generated", "low", "high"),
    [
        ("emnlp_news/test.txt", "emnlp_news/valid.txt", 0.20, 0.26),
        ("leakgan_coco/real.txt", "leakgan_coco/generated.txt", 0.88, 0.93),
        ("coco/test.txt", "coco/train.txt", 0.83, 0.88),
    ],
)
def test_known_facts_on_real_data(data_dir: Path, real: str, generated: str, low: float, high: float) -> None:
    corpora = corpora_from_texts(
        {
            name: (data_dir / path).read_text(encoding="utf-8").splitlines()
            for name, path in (("real", real), ("generated", generated))
        }
    )
    with workers(2):
        assert low < dd(corpora["generated"], corpora["real"]).value < high
