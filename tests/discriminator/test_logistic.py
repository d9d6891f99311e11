"""The logistic discriminator: its objective, its optimum on toys, what it looks at, determinism."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from tabled import corpus_of
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import Vocabulary
from textassay.discriminator.base import Discriminator, Pair, balanced_accuracy, balanced_cross_entropy
from textassay.discriminator.logistic import LogisticDiscriminator, PlainLogistic
from textassay.discriminator.solvers import fit_logistic
from textassay.errors import OptionError
from textassay.execution.threads import parallel_map, workers

SPACE = ["A A", "A B", "B A", "B B"]
P = np.array([0.25, 0.25, 0.25, 0.25])
Q = np.array([0.81, 0.09, 0.05, 0.05])

VOCABULARY = Vocabulary([f"w{i}" for i in range(12)])


def toy(n_real: int, n_generated: int, seed: int = 0) -> dict[str, Corpus]:
    """Return draws of the toy distributions and, as "space", each sentence once."""
    rng = np.random.default_rng(seed)
    return corpora_from_texts(
        {
            "real": [SPACE[index] for index in rng.choice(4, n_real, p=P)],
            "generated": [SPACE[index] for index in rng.choice(4, n_generated, p=Q)],
            "space": SPACE,
        }
    )


def random_scores(n_real: int = 60, n_generated: int = 25) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.beta(3, 2, n_real), rng.beta(2, 3, n_generated)


@pytest.mark.feature("DD-05")
def test_the_objective_is_binary_cross_entropy_with_balanced_classes() -> None:
    real, generated = random_scores()
    labels = np.repeat([1, 0], [len(real), len(generated)])
    weights = np.where(labels == 1, 1 / len(real), 1 / len(generated))
    expected = log_loss(labels, np.concatenate([real, generated]), sample_weight=weights)
    objective = np.mean(np.log(real)) + np.mean(np.log(1 - generated))  # (3)
    assert balanced_cross_entropy(real, generated) == pytest.approx(expected)
    assert balanced_cross_entropy(real, generated) == pytest.approx(-objective / 2)


def test_sure_mistakes_cost_much_but_not_infinitely_much() -> None:
    assert 30 < balanced_cross_entropy(np.zeros(1), np.ones(1)) < math.inf


def test_balanced_accuracy_calls_a_tie_generated() -> None:
    assert balanced_accuracy(np.array([0.5, 0.7]), np.array([0.5, 0.5, 0.5, 0.6])) == pytest.approx((0.5 + 0.75) / 2)


@pytest.mark.feature("DD-05")
@pytest.mark.parametrize("weighting", ["binary", "tfidf"])
@pytest.mark.parametrize(("n_real", "n_generated"), [(20_000, 20_000), (6_000, 30_000)])
def test_the_optimum_on_the_toy_approaches_the_ratio_of_densities(
    weighting: str, n_real: int, n_generated: int
) -> None:
    corpora = toy(n_real, n_generated)
    pair = (corpora["real"], corpora["generated"])
    fitted = LogisticDiscriminator(grid={weighting: (1e4,)}).fit(pair, pair)  # type: ignore[dict-item]
    assert fitted.prob_real(corpora["space"]) == pytest.approx(P / (P + Q), abs=0.03)


@pytest.mark.feature("DD-05")
def test_the_fit_minimises_the_objective() -> None:
    corpora = toy(3_000, 1_000)
    pair = (corpora["real"], corpora["generated"])
    fitted = LogisticDiscriminator(grid={"binary": (1e4,)}).fit(pair, pair)
    found = balanced_cross_entropy(*(fitted.prob_real(corpus) for corpus in pair))
    shares = [np.bincount([SPACE.index(text) for text in corpus.texts], minlength=4) / len(corpus) for corpus in pair]
    best = shares[0] / (shares[0] + shares[1])
    lowest = -(shares[0] @ np.log(best) + shares[1] @ np.log(1 - best)) / 2
    assert lowest <= found <= lowest + 1e-3


def contrast(first: str, second: str) -> float:
    """Return the validation accuracy of telling `first` from `second`, amid filler."""
    rng = np.random.default_rng(0)
    filler = rng.choice(["x", "y", "z"], (400, 3))
    texts = [" ".join(words) for words in filler]
    corpora = corpora_from_texts(
        {
            "real": [first.format(text) for text in texts[:200]],
            "generated": [second.format(text) for text in texts[200:]],
        }
    )
    halves = [tuple(corpora[side].take(np.arange(100) + start) for side in ("real", "generated")) for start in (0, 100)]
    fitted = LogisticDiscriminator().fit(halves[0], halves[1])  # type: ignore[arg-type]
    real, generated = (fitted.prob_real(corpus) for corpus in halves[1])
    return balanced_accuracy(real, generated)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("{0} good", "{0} bad"),  # a word
        ("a b {0}", "b a {0}"),  # an order
        ("a {0} b b {0} a", "b {0} a a {0} b"),  # where words stand at the edges
        ("{0} .", "{0}"),  # how a sentence ends
    ],
)
def test_it_sees_words_order_and_ends(first: str, second: str) -> None:
    assert contrast(first, second) > 0.97


def test_the_order_of_words_is_not_seen_by_unigrams() -> None:
    """The test above would pass were n-grams not looked at, unless this one holds."""
    corpora = corpora_from_texts({"real": ["a b c"] * 20, "generated": ["b c a"] * 20})
    pair = (corpora["real"], corpora["generated"])
    unigrams = LogisticDiscriminator(max_order=1).fit(pair, pair)
    assert unigrams.prob_real(corpora["real"]) == pytest.approx(unigrams.prob_real(corpora["generated"]))


def test_settings_are_chosen_on_validation_text() -> None:
    """Where validation text agrees with training text being sure is best, else being unsure; accuracies are equal."""
    corpora = corpora_from_texts(
        {
            "real": ["good a", "b"] * 20,
            "generated": ["a", "b bad"] * 20,
            "valid real": ["good a"] * 10,
            "valid generated": ["b bad"] * 10,
        }
    )
    train = (corpora["real"], corpora["generated"])
    fitted = LogisticDiscriminator(grid={"binary": (1e-4, 1.0)}).fit(
        train, (corpora["valid real"], corpora["valid generated"])
    )
    flipped = LogisticDiscriminator(grid={"binary": (1e-4, 1.0)}).fit(
        train, (corpora["valid generated"], corpora["valid real"])
    )
    assert fitted.chosen["c"] == 1.0
    assert flipped.chosen["c"] == 1e-4


def test_fits_are_equal_bit_by_bit_in_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice([f"w{number}" for number in range(3000)], 12)) for _ in range(1600)]
    wide = corpora_from_texts({"real": words[:800], "generated": words[800:]})
    pair = (wide["real"], wide["generated"])

    def scores(_: int) -> np.ndarray:
        return LogisticDiscriminator(min_sentences=1).fit(pair, pair).prob_real(wide["real"])

    alone = scores(0)
    with workers(2):
        together = parallel_map(scores, range(2))
    assert all(np.array_equal(alone, other) for other in together)


def test_fit_leaves_the_discriminator_as_it_was() -> None:
    corpora = toy(50, 50)
    pair = (corpora["real"], corpora["generated"])
    discriminator = LogisticDiscriminator()
    fitted = discriminator.fit(pair, pair)
    assert discriminator.chosen == {}
    assert set(fitted.chosen) == {"weighting", "c", "n_features"}
    with pytest.raises(OptionError, match="must be fitted"):
        discriminator.prob_real(corpora["space"])


def test_sentences_without_known_words_and_empty_ones_get_a_probability() -> None:
    corpora = corpora_from_texts(
        {"real": ["a b", "a c"] * 9, "generated": ["d", "e d"] * 9, "new": ["zzz", "", "a unknown b"]}
    )
    pair = (corpora["real"], corpora["generated"])
    scores = LogisticDiscriminator().fit(pair, pair).prob_real(corpora["new"])
    assert np.all((scores > 0) & (scores < 1))


def test_nothing_to_look_at_gives_one_half() -> None:
    corpora = corpora_from_texts({"real": ["a"], "generated": ["b"]})
    pair = (corpora["real"], corpora["generated"])
    assert LogisticDiscriminator(min_sentences=5).fit(pair, pair).prob_real(corpora["real"]) == [0.5]


def test_the_signature_says_all_settings() -> None:
    features = LogisticDiscriminator(max_order=3, min_sentences=5, grid={"binary": (0.5, 0.1)}).features
    assert features == "1-3-grams with ends in >=5 sentences, binary C=0.1,0.5"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_order": 0}, "max_order must be at least 1, got 0"),
        ({"min_sentences": 0}, "min_sentences must be at least 1, got 0"),
        ({"grid": {}}, "at least one weighting"),
        ({"grid": {"tfidf": ()}}, "numbers above 0 for tfidf"),
        ({"grid": {"tfidf": (0.0,)}}, "numbers above 0 for tfidf"),
        ({"grid": {"tf": (1.0,)}}, "did you mean tfidf"),
    ],
)
def test_bad_settings_are_errors(settings: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        LogisticDiscriminator(**settings)  # type: ignore[arg-type]


def problem(n_rows: int = 300, n_features: int = 80, share: float = 0.3) -> tuple[csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    features = csr_matrix(rng.random((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.1))
    truth = rng.normal(size=n_features)
    signal = np.asarray(features @ truth)
    return features, signal + rng.normal(size=n_rows) > np.quantile(signal, 1 - share)


@pytest.mark.parametrize("c", [0.01, 1.0, 100.0])
def test_equals_scikit_learn(c: float) -> None:
    features, is_real = problem()
    peer = LogisticRegression(C=c, class_weight="balanced", tol=1e-10, max_iter=10_000).fit(features, is_real)
    found = fit_logistic(features, is_real, c=c, tolerance=1e-10)
    assert found[:-1] == pytest.approx(peer.coef_[0], abs=1e-4)
    assert found[-1] == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_the_intercept_balances_the_classes() -> None:
    features, is_real = problem(share=0.1)
    found = fit_logistic(features, is_real, c=1.0, tolerance=1e-10)
    scores = 1 / (1 + np.exp(-(features @ found[:-1] + found[-1])))
    assert scores[is_real].mean() + scores[~is_real].mean() == pytest.approx(1)


def test_a_warm_start_leads_to_the_same_place() -> None:
    features, is_real = problem()
    start = fit_logistic(features, is_real, c=0.1, tolerance=0.01)
    given = start.copy()
    warm = fit_logistic(features, is_real, c=3.0, tolerance=1e-9, start=start)
    assert warm == pytest.approx(fit_logistic(features, is_real, c=3.0, tolerance=1e-9), abs=1e-6)
    assert np.array_equal(start, given)


def test_separable_classes_and_huge_strengths_end() -> None:
    features = csr_matrix(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    found = fit_logistic(features, np.array([True, True, False]), c=1e8, tolerance=1e-6)
    assert np.isfinite(found).all()
    assert found[0] > 0 > found[1]


def test_features_that_never_occur_get_nothing() -> None:
    features = csr_matrix(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert fit_logistic(features, np.array([True, False]), c=1.0, tolerance=1e-6)[1] == 0


def _pair(seed: int, n: int = 150) -> Pair:
    rng = np.random.default_rng(seed)
    words = np.array(VOCABULARY.tokens[4:])
    sides = [
        [" ".join(rng.choice(words, 6, p=share)) for _ in range(n)]
        for share in (np.full(12, 1 / 12), np.r_[np.full(6, 1 / 8), np.full(6, 1 / 24)])
    ]
    real, generated = (Corpus.from_texts(side, vocabulary=VOCABULARY) for side in sides)
    return real, generated


def test_scores_are_those_of_a_logistic_regression_over_present_ngrams() -> None:
    train, valid, test = _pair(0), _pair(1), _pair(2)
    judge = PlainLogistic().fit(train, valid)
    assert isinstance(judge, Discriminator)

    def grams(corpus: Corpus) -> list[set[tuple[str, ...]]]:
        rows = [corpus.sentence(i) for i in range(len(corpus))]
        return [{tuple(row[i : i + n]) for n in range(1, 5) for i in range(len(row) - n + 1)} for row in rows]

    texts = [gram for corpus in train for gram in grams(corpus)]
    names = [gram for gram in sorted(set().union(*texts)) if sum(gram in row for row in texts) >= 2]
    assert judge.chosen["n_features"] == len(names)
    features = np.array([[gram in row for gram in names] for row in texts], dtype=float)
    peer = LogisticRegression(C=judge.chosen["c"], tol=1e-8, max_iter=5000).fit(features, [1] * 150 + [0] * 150)
    tested = np.array([[gram in row for gram in names] for row in grams(test[0])], dtype=float)
    scores, expected = judge.prob_real(test[0]), peer.predict_proba(tested)[:, 1]
    np.testing.assert_allclose(scores, expected, atol=0.06)  # fits are stopped early
    assert np.corrcoef(scores, expected)[0, 1] > 0.99


def test_it_sees_no_sentence_ends() -> None:
    corpora = corpora_from_texts({"real": ["a b"] * 40 + ["b a"] * 40, "generated": ["b a"] * 40 + ["a b"] * 40})
    pair = corpora["real"], corpora["generated"]
    scores = PlainLogistic().fit(pair, pair).prob_real(corpora["real"])
    np.testing.assert_allclose(scores, 0.5, atol=1e-6)


def test_it_must_be_fitted() -> None:
    with pytest.raises(OptionError, match="must be fitted before it scores texts"):
        PlainLogistic().prob_real(corpus_of(["a"]))
