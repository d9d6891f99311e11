"""The stack finds what was planted and nothing else, whatever the sizes, groups and threads."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import Vocabulary
from textassay.discriminator.base import CrossValidated, Discriminator, Part, Pool
from textassay.discriminator.cross_fitting import CrossFit, cross_fit
from textassay.discriminator.logistic import LogisticDiscriminator, count_texts
from textassay.discriminator.solvers import dense_logistic_path, fit_dense_logistic
from textassay.discriminator.stack import LinearMargins, StackDiscriminator, StackFeatures
from textassay.errors import OptionError, UnavailableError
from textassay.execution.threads import workers
from textassay.metric.base import Effort
from textassay.metric.catalog import parse_metric
from textassay.metric.discrepancy import dd
from textassay.ngram.index import mark_ends
from textassay.ngram.side_counts import SideCounts
from textassay.ngram.skip_counts import SkipCounts

WORDS = [f"w{number}" for number in range(60)]
COMMON = 1 / np.arange(1, 61)
VOCABULARY = Vocabulary(WORDS)


def texts(n: int, seed: int, *, keep: float = 0.0) -> list[str]:
    """Return sentences of which a word is followed by its successor with probability `keep`, else by any."""
    rng = np.random.default_rng(seed)
    shares = COMMON / COMMON.sum()
    sentences = []
    for length in rng.integers(0, 9, size=n):
        words: list[int] = []
        for word in rng.choice(60, size=length, p=shares):
            words.append((words[-1] + 1) % 60 if words and rng.random() < keep else int(word))
        sentences.append(" ".join(WORDS[word] for word in words))
    return sentences


def pair(n: int, seed: int, *, keep: float = 0.0, n_generated: int | None = None) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts(
        {
            "real": texts(n, 2 * seed, keep=keep),
            "generated": texts(n if n_generated is None else n_generated, 2 * seed + 1),
        },
        vocabulary=VOCABULARY,
    )
    return corpora["real"], corpora["generated"]


def discrepancy(fit: CrossFit) -> float:
    real, generated = fit.correct()
    return float(real.mean() + generated.mean() - 1)


def test_it_is_a_cross_validated_discriminator() -> None:
    real, generated = pair(60, 0)
    fitted = StackDiscriminator().fit((real, generated), pair(20, 1))
    assert isinstance(fitted, Discriminator)
    assert isinstance(fitted, CrossValidated)
    assert [scores.shape for scores in fitted.valid_scores] == [(20,), (20,)]
    assert fitted.chosen["c"] in StackDiscriminator().grid


@pytest.mark.parametrize("margins", [False, True])
def test_equal_distributions_are_not_told_apart(margins: bool) -> None:
    judge = StackDiscriminator(margins=margins)
    values = [discrepancy(cross_fit(judge, *pair(150, seed), folds=3, seed=seed)) for seed in range(6)]
    # standard error of one: sqrt(2 * 0.25 / 150) = 0.058, times 1.22 for cross-fitting
    assert abs(np.mean(values)) < 3 * 0.07 / np.sqrt(6)
    assert max(np.abs(values)) < 4 * 0.07


def test_validation_scores_promise_no_more_than_new_text_keeps() -> None:
    differences = []
    for seed in range(8):
        train, valid, test = pair(400, 100 + seed), pair(200, 200 + seed), pair(400, 300 + seed)
        fitted = StackDiscriminator().fit(train, valid)
        told = fitted.valid_scores
        kept = [fitted.prob_real(side) for side in test]
        differences.append(
            np.mean(told[0] > 0.5) - np.mean(told[1] > 0.5) - np.mean(kept[0] > 0.5) + np.mean(kept[1] > 0.5)
        )
    assert abs(np.mean(differences)) < 3 * np.sqrt(2 * 0.25 / 200 + 2 * 0.25 / 400) / np.sqrt(8)


@pytest.mark.parametrize("margins", [False, True])
def test_a_planted_difference_is_found(margins: bool) -> None:
    found = cross_fit(StackDiscriminator(margins=margins), *pair(1000, 3, keep=0.3), folds=2, seed=0)
    assert discrepancy(found) > 0.38


def test_a_kind_that_is_left_out_is_found_in_a_corner() -> None:
    """Real text is short and common, short and rare, long and common or long and rare; generated never the last."""
    rng = np.random.default_rng(0)

    def sentences(kinds: np.ndarray) -> list[str]:
        return [
            " ".join(rng.choice(WORDS[30:] if kind % 2 else WORDS[:30], size=rng.integers(2, 5) + 6 * (kind // 2)))
            for kind in kinds
        ]

    corpora = corpora_from_texts(
        {"real": sentences(rng.integers(0, 4, size=1500)), "generated": sentences(rng.integers(0, 3, size=1500))}
    )
    both = corpora["real"], corpora["generated"]
    bent = cross_fit(StackDiscriminator(margins=False), *both, folds=2, seed=0)
    assert discrepancy(bent) > 0.2  # the truth is 0.25
    assert any(fold.chosen["bend"] > 0 for fold in bent.folds)


def test_sizes_may_differ_and_sentences_be_empty_or_few() -> None:
    real, generated = pair(30, 4, n_generated=90, keep=0.5)
    found = cross_fit(StackDiscriminator(), real, generated, folds=3, seed=0)
    assert np.isfinite(found.real_scores).all()
    assert 0.2 < found.real_scores.mean() + found.generated_scores.mean() < 1.8  # sides weigh the same
    empty = corpora_from_texts({"real": [""] * 20, "generated": [""] * 20})
    found = cross_fit(StackDiscriminator(), empty["real"], empty["generated"], folds=2, seed=0)
    assert found.real_scores == pytest.approx(found.generated_scores)


def test_groups_that_share_a_sentence_do_not_leak() -> None:
    """Each group repeats one sentence of its own on both sides; nothing tells the sides apart."""
    rows = np.repeat(np.arange(60), 4)
    lines = texts(60, 5)
    made = corpora_from_texts({"real": [lines[row] for row in rows], "generated": [lines[row] for row in rows]})
    real, generated = (replace(made[name], groups=rows) for name in ("real", "generated"))
    found = cross_fit(StackDiscriminator(), real, generated, folds=3, seed=0)
    assert discrepancy(found) == pytest.approx(0, abs=0.25)
    one = StackDiscriminator().fit((real, generated), (real, generated))
    assert one.prob_real(real) == pytest.approx(one.prob_real(generated))


def test_columns_of_training_sentences_know_nothing_of_their_group() -> None:
    groups = np.arange(90) % 25
    real, generated = (replace(side, groups=groups) for side in pair(90, 10))
    everything = Part(Pool(real, generated), (np.arange(90), np.arange(90)))
    marked, joint = (mark_ends(real), mark_ends(generated)), np.concatenate([groups, groups])
    counts = SideCounts.build(*marked, max_order=3)
    skips, every = SkipCounts.build(*marked), np.ones(180, bool)
    features, columns, _ = StackFeatures.fit(counts, skips, everything, every, margin_order=4, column=None)
    sums = counts.describe_own(joint)
    gaps = skips.describe_own(joint)
    named = dict(zip([*counts.names, *skips.names], columns.T, strict=False))
    described = dict(zip([*counts.names, *skips.names], np.concatenate([sums, gaps], axis=1).T, strict=True))
    for name, expected in described.items():
        if "generated" in name:  # told as the difference from the same of the real side
            expected = 0.0
        elif "real" in name:
            expected = expected - described[name.replace("real", "generated")]
        assert named[name] == pytest.approx(expected)
    counted = count_texts(real, generated, max_order=4, min_sentences=2, with_ends=True)
    margins = LinearMargins.fit(counted, everything.numbers, everything.is_real, joint)[1]
    assert columns[:, features.n_straight - 1] == pytest.approx(margins)


@pytest.mark.parametrize("discriminator", [StackDiscriminator(), StackDiscriminator(bends=(0.3,), grid=(3.0,))])
def test_partners_in_different_groups_are_not_turned_into_a_difference(discriminator: StackDiscriminator) -> None:
    """Each text stands on both sides: a partner in the training text is wrong of its text each time."""
    lines = [" ".join(line) for line in np.random.default_rng(1).choice(WORDS, (400, 8))]
    sides = {"real": lines, "generated": lines}
    real, generated = corpora_from_texts(sides, vocabulary=VOCABULARY).values()
    assert discrepancy(cross_fit(discriminator, real, generated, folds=3, seed=0)) > 0.5
    grouped = (replace(side, groups=1000 * which + np.arange(400)) for which, side in enumerate((real, generated)))
    assert discrepancy(cross_fit(discriminator, *grouped, folds=3, seed=0)) < 0.05


def test_the_same_bits_at_any_number_of_threads_and_in_any_company() -> None:
    real, generated = pair(200, 6, keep=0.2)
    alone = cross_fit(StackDiscriminator(), real, generated, folds=3, seed=0)
    with workers(3):
        together = cross_fit(StackDiscriminator(), real, generated, folds=3, seed=0)
    assert (alone.real_scores == together.real_scores).all()
    fitted = StackDiscriminator().fit((real, generated), pair(40, 7))
    rows = np.arange(0, 200, 7)
    assert (fitted.prob_real(real)[rows] == fitted.prob_real(real.take(rows))).all()
    other = real.with_vocabulary(Vocabulary(sorted(real.vocabulary.tokens, reverse=True)))
    assert fitted.prob_real(other) == pytest.approx(fitted.prob_real(real))


def test_log_probabilities_that_tell_are_used() -> None:
    real, generated = pair(400, 8)
    rng = np.random.default_rng(0)
    told = [
        replace(side, columns={"log_probs/g": rng.normal(-20 - 2 * number, 1, size=len(side))})
        for number, side in enumerate((real, generated))
    ]
    blind = cross_fit(StackDiscriminator(margins=False), real, generated, folds=2, seed=0)
    seeing = cross_fit(StackDiscriminator(margins=False), told[0], told[1], folds=2, seed=0)
    assert abs(discrepancy(blind)) < 0.2
    assert discrepancy(seeing) == pytest.approx(0.683, abs=0.08)  # two normal distributions two deviations apart
    half = cross_fit(StackDiscriminator(margins=False), told[0], generated, folds=2, seed=0)
    assert (half.real_scores == blind.real_scores).all()


@pytest.mark.parametrize("lowest", [-1e2, -1e4, -1e12])
def test_a_few_nearly_impossible_sentences_do_not_hide_what_the_others_tell(lowest: float) -> None:
    sides = pair(600, 8)
    rng = np.random.default_rng(0)
    given = [rng.normal(-4 * (side.lengths + 1) - 2 * number, 1) for number, side in enumerate(sides)]
    given[0][:8] = lowest
    told = [replace(s, columns={"log_probs/g": v}) for s, v in zip(sides, given, strict=True)]
    found = cross_fit(StackDiscriminator(margins=False), told[0], told[1], folds=2, seed=0)
    assert discrepancy(found) > 0.35  # two normal distributions two deviations apart, and sentences of all lengths


def test_log_probabilities_must_be_there_where_they_were_learnt_from() -> None:
    real, generated = pair(40, 12)
    train = [replace(side, columns={"log_probs/g": np.linspace(-9, -1, 40)}) for side in (real, generated)]
    fitted = StackDiscriminator().fit((train[0], train[1]), (train[0], train[1]))
    with pytest.raises(UnavailableError, match="log_probs/g, which these sentences do not have"):
        fitted.prob_real(real)


@pytest.mark.parametrize("effort", ["quick", "default", "max"])
def test_dd_at_every_effort_hands_them_over(effort: Effort) -> None:
    assert parse_metric("dd", effort=effort).reads_columns
    if effort != "quick":
        return
    sides = pair(200, 11)
    real, generated = (
        replace(side, columns={"log_probs/g": np.full(len(side), -10.0 - 5 * number)})
        for number, side in enumerate(sides)
    )
    found = dd(generated, real, effort=effort)
    assert found.value > 0.95
    assert found.signature.settings["log_probs"] == "g"
    assert abs(dd(sides[1], sides[0], effort=effort).value) < 0.3


@pytest.mark.parametrize("in_groups", [False, True])
@pytest.mark.parametrize(
    "judge_of", [partial(StackDiscriminator, margins=False), LogisticDiscriminator], ids=["stack", "logistic"]
)
def test_the_signature_says_to_how_many_texts_weights_were_fitted(judge_of: Any, in_groups: bool) -> None:
    real, generated = pair(300, 13, keep=0.3)
    if in_groups:
        real, generated = (replace(side, groups=np.arange(300) // 2) for side in (real, generated))
    judges = [judge_of(most_fitted=most) for most in (100, 250, 251)]
    few, all_but_few, every = (dd(generated, real, discriminator=judge) for judge in judges)
    assert few.signature.settings["fit"] == "100"
    assert few.value == pytest.approx(every.value, abs=0.1)
    assert "fit" not in all_but_few.signature.settings  # 240 texts a side are left to learn from
    assert all_but_few.value == every.value


def test_settings_out_of_range() -> None:
    for settings, message in (
        ({"max_order": 0}, "max_order must be at least 1, got 0"),
        ({"grid": (0.0,)}, "grid must hold numbers above 0"),
        ({"bends": ()}, "bends must hold numbers of at least 0"),
    ):
        with pytest.raises(OptionError, match=message):
            StackDiscriminator(**settings)
    with pytest.raises(OptionError, match="must be fitted"):
        StackDiscriminator().prob_real(pair(20, 0)[0])


@pytest.mark.parametrize("c", [0.01, 1.0, 100.0])
def test_the_top_equals_scikit_learns(c: float) -> None:
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(300, 6)) * [1, 10, 0.1, 1, 1, 1] + 5
    columns[:, 4] = 7.0  # says nothing
    is_real = columns[:, 0] + columns[:, 1] / 10 + rng.normal(size=300) > 6.5
    found = fit_dense_logistic(columns, is_real, c=c)
    scaled = (columns - columns.mean(axis=0)) / np.where(columns.std(axis=0) > 1e-9, columns.std(axis=0), 1)
    peer = LogisticRegression(C=c, class_weight="balanced", tol=1e-10, max_iter=10_000).fit(scaled, is_real)
    assert expit(found.log_odds(columns)) == pytest.approx(peer.predict_proba(scaled)[:, 1], abs=1e-3)
    halved = fit_dense_logistic(columns, is_real, c=c, emphasis=np.full(6, 0.5))
    same = fit_dense_logistic(columns, is_real, c=c / 4)
    assert halved.log_odds(columns) == pytest.approx(same.log_odds(columns), abs=1e-2)


@pytest.mark.parametrize("n", [2, 5, 300])
@pytest.mark.parametrize("columns", ["equal", "collinear", "separated", "far out", "as good as equal"])
def test_the_top_takes_any_columns(columns: str, n: int) -> None:
    rng = np.random.default_rng(n)
    rows, is_real = rng.normal(size=(n, 4)) * [1e-6, 1, 1e3, 1e6], np.arange(n) < max(1, n // 5)
    made = {
        "equal": np.full((n, 4), 5.0),
        "collinear": np.repeat(rows[:, :1], 4, axis=1),
        "separated": rows + 1e3 * is_real[:, None],
        "far out": rows * np.where(np.arange(n) == 0, 1e9, 1)[:, None],
        "as good as equal": 1 + 1e-12 * np.repeat(is_real[:, None], 4, axis=1),
    }[columns]
    for c in (1e-5, 1.0, 1e3):
        odds = fit_dense_logistic(made, is_real, c=c, emphasis=np.full(4, 0.3)).log_odds(made)
        assert np.all(np.isfinite(odds))
        assert columns not in ("equal", "as good as equal") or odds == pytest.approx(0, abs=1e-6)


def test_margins_of_training_sentences_are_those_of_models_that_did_not_see_them() -> None:
    real, generated = pair(600, 9)
    is_real = np.arange(1200) < 600
    counted = {"max_order": 4, "min_sentences": 2, "with_ends": True}
    model, own = LinearMargins.fit(count_texts(real, generated, **counted), np.arange(1200), is_real)
    seen = np.concatenate([model.margins(real), model.margins(generated)])
    assert abs(np.mean(own[is_real] > 0) - np.mean(own[~is_real] > 0)) < 4 * np.sqrt(2 * 0.25 / 600)
    assert np.mean(seen[is_real] > 0) - np.mean(seen[~is_real] > 0) > 0.4  # by those that did, noise is known by heart
    groups = np.concatenate([np.arange(600), np.arange(600)])
    doubled = LinearMargins.fit(count_texts(real, real, **counted), np.arange(1200), is_real, groups)[1]
    assert doubled[:600] == pytest.approx(doubled[600:])


@pytest.mark.parametrize("n_rows", [400, 5000])
def test_the_top_is_where_the_gradient_vanishes_wherever_it_starts(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    columns = rng.normal(size=(n_rows, 30))
    columns[:, 20:] = columns[:, :10] + 1e-3 * columns[:, 20:]  # nearly collinear
    is_real = columns[:, :3].sum(axis=1) + rng.normal(size=n_rows) > 1.0
    strengths = [0.01, 1.0, 100.0]
    path = list(dense_logistic_path(columns, is_real, strengths))
    share = is_real.mean()
    weights = np.where(is_real, 1 / (2 * share), 1 / (2 * (1 - share)))
    for c, top in zip(strengths, path, strict=True):
        scaled = (columns - top.means) / top.scales
        wrong = is_real - top.prob_real(columns)
        gradient = top.coefficients - c * (weights * wrong) @ scaled
        assert np.linalg.norm(gradient) < 2e-7 * c * n_rows
        again = fit_dense_logistic(columns, is_real, c=c, start=path[-1])
        assert again.log_odds(columns) == pytest.approx(top.log_odds(columns), abs=1e-4)


def test_coefficients_that_have_a_least_value_are_where_no_other_is_better() -> None:
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(600, 8))
    is_real = columns @ [1.0, -1.0, 0.5, -0.5, 0, 0, 0, 0] + rng.normal(size=600) > 0.3
    least = np.array([0, 0, 0, -np.inf, -np.inf, 0, 0, 0.2])
    for c, top in zip((0.01, 1.0), dense_logistic_path(columns, is_real, (0.01, 1.0), least=least), strict=True):
        assert (top.coefficients >= least).all()
        assert top.coefficients[1] == 0
        share = is_real.mean()
        wrong = np.where(is_real, 1 / (2 * share), 1 / (2 * (1 - share))) * (is_real - top.prob_real(columns))
        gradient = top.coefficients - c * wrong @ ((columns - top.means) / top.scales)
        at_least = top.coefficients <= least
        assert np.abs(gradient[~at_least]).max() < 1e-3 * c * 600  # inside, nothing is gained either way
        assert (gradient[at_least] > -1e-3 * c * 600).all()  # at the least value, nothing by going up
