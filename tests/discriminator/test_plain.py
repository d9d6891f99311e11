"""The plain yardstick: it tells apart what n-grams tell apart, sees no sentence ends, and stays as it is."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tabled import corpus_of
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import Vocabulary
from textassay.discriminator.base import Discriminator, Pair
from textassay.discriminator.logistic import PlainLogistic
from textassay.errors import OptionError

VOCABULARY = Vocabulary([f"w{i}" for i in range(12)])


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
