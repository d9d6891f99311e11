"""EB-DD: 0 where prefixes do not matter, above 0 where own beginnings lead astray; intervals that cover."""

import json

import numpy as np
import pytest

from next_word_table import NextWordTable, random_table
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.errors import OptionError
from textassay_lab.exposure.discrepancy import EbDd, eb_dd
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.prefixes import model_prefixes

WORDS = Vocabulary("abcdef")


def _drawn(model: NextWordTable, n: int, *, seed: int = 0) -> Corpus:
    rows = model_prefixes(model, 8, n, seed=seed)
    return Corpus.from_texts([" ".join(WORDS.decode(row)) for row in rows], vocabulary=WORDS)


def _astray(*, lost: bool) -> NextWordTable:
    """Return data that keeps to one half of the words, or a model that slips to the other half and stays there."""

    def chances(prefix: tuple[str, ...]) -> dict[str, float]:
        if "d" in prefix:
            return {"d": 0.4, "e": 0.3, "f": 0.3}
        slip = 0.5 if lost and not prefix else 1e-9
        return {"a": (1 - slip) / 3, "b": (1 - slip) / 3, "c": (1 - slip) / 3, "d": slip}

    return NextWordTable(WORDS, chances, name=f"astray {lost}")


def test_a_model_that_never_recovers_is_told_by_its_own_beginnings() -> None:
    data, model = _astray(lost=False), _astray(lost=True)
    text = _drawn(data, 400)
    found = eb_dd(model, text, length=2, sentence_length=8, n=200, discriminator="logistic")
    assert found.n_sentences == 200
    assert found.data.value == pytest.approx(0.0, abs=0.15)
    assert found.model.value == pytest.approx(0.5, abs=0.12)
    assert found.difference == found.model.value - found.data.value
    assert found.interval is not None
    assert found.interval.low > 0
    assert not found.whole
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert EbDd.from_dict(document).to_dict() == document


def test_with_an_oracle_what_does_not_fit_its_prefix_counts() -> None:
    """The model writes continuations of the right kind, but always those of the other beginning."""

    def chances(prefix: tuple[str, ...], *, turned: bool) -> dict[str, float]:
        if not prefix:
            return {"a": 0.5, "b": 0.5}
        kind = (prefix[0] == "a") != turned
        return {"c": 0.9, "d": 0.1} if kind else {"c": 0.1, "d": 0.9}

    data = NextWordTable(WORDS, lambda prefix: chances(prefix, turned=False), name="data")
    model = NextWordTable(WORDS, lambda prefix: chances(prefix, turned=True), name="model")
    text = _drawn(data, 400)
    alone = eb_dd(model, text, length=1, sentence_length=8, n=200, discriminator="logistic")
    whole = eb_dd(model, text, length=1, sentence_length=8, n=200, discriminator="logistic", oracle=data)
    assert alone.data.value < 0.2
    assert whole.whole
    assert whole.data.value > 0.8
    assert whole.model.value > 0.8
    assert whole.difference == pytest.approx(0.0, abs=0.1)


def test_prefixes_that_do_not_matter_make_no_difference() -> None:
    text = _drawn(random_table(WORDS, seed=1, name="data"), 1200)
    model = PositionUnigram().fit(text.take(np.arange(200)))
    hits = 0
    for seed in range(12):
        found = eb_dd(model, text, length=3, sentence_length=8, n=150, discriminator="logistic", seed=seed)
        assert found.interval is not None
        hits += found.interval.low <= 0 <= found.interval.high
    assert hits >= 10


def test_bad_settings() -> None:
    text = _drawn(_astray(lost=False), 100)
    with pytest.raises(OptionError, match="at least 0 and below 8, got 8"):
        eb_dd(_astray(lost=True), text, length=8, sentence_length=8)


def test_equal_models_are_not_told_apart_by_prefixes_that_a_classifier_has_seen() -> None:
    """Long prefixes hardly come twice; one that stood on both sides would give its side away."""
    oracle, model = (random_table(WORDS, seed=5, name=name) for name in ("oracle", "model"))
    text = _drawn(oracle, 800)
    found = eb_dd(model, text, length=6, sentence_length=8, n=400, oracle=oracle)
    for side in (found.data, found.model):
        assert side.value == pytest.approx(0.0, abs=0.15)
