"""Arrays that come with sentences are checked at the door, and follow their sentences wherever those go."""

from typing import Any

import numpy as np
import pytest

from textassay.comparison.columns import attach_columns
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import InputError, OptionError

CORPORA = corpora_from_texts({"(real)": ["a b", "c", "d"], "lstm": ["a", "b"]})
GOOD = {"real": np.arange(6.0).reshape(3, 2), "lstm": np.ones((2, 2), dtype=np.float32)}


def test_columns_follow_their_sentences() -> None:
    corpora = attach_columns(CORPORA, ["lstm"], features=GOOD, log_probs={"lstm": ([-4.0, -5.0], [-1.0, -2.0, -3.0])})
    real = corpora["(real)"].take(np.array([2, 0]))
    assert real.columns["features"].tolist() == [[4.0, 5.0], [0.0, 1.0]]
    assert real.columns["log_probs/lstm"].tolist() == [-3.0, -1.0]
    assert corpora["lstm"].columns["log_probs/lstm"].tolist() == [-4.0, -5.0]
    both = Corpus.concatenate([real, corpora["lstm"]])
    assert both.columns["log_probs/lstm"].tolist() == [-3.0, -1.0, -4.0, -5.0]
    with pytest.raises(ValueError, match="read-only"):
        real.columns["features"][0] = 0


def test_columns_have_a_fingerprint_of_their_own() -> None:
    corpora = attach_columns(CORPORA, ["lstm"], features=GOOD)
    other = attach_columns(CORPORA, ["lstm"], features={**GOOD, "real": GOOD["real"] + 1})
    assert corpora["(real)"].fingerprint == other["(real)"].fingerprint == CORPORA["(real)"].fingerprint
    prints = {corpus["(real)"].columns_fingerprint for corpus in (CORPORA, corpora, other)}
    assert len(prints) == 3
    assert CORPORA["(real)"].columns_fingerprint == ""


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ({**GOOD, "lstm": np.ones((3, 2))}, InputError, "features of lstm must have 2 rows, one for each text, got 3"),
        ({**GOOD, "lstm": np.ones(2)}, InputError, "features of lstm must have shape"),
        ({**GOOD, "lstm": [[1.0, 2.0], [np.nan, 0.0]]}, InputError, "row 2 holds NaN"),
        ({**GOOD, "lstm": [[1.0, -np.inf], [0.0, 0.0]]}, InputError, "row 1 holds -infinity"),
        ({**GOOD, "lstm": [[1.0, 0.0], [-1e200, 0.0]]}, InputError, r"between -1e\+15 and 1e\+15, row 2 exceeds that"),
        ({**GOOD, "lstm": [["a", "b"], ["c", "d"]]}, InputError, "must be numbers"),
        ({**GOOD, "lstm": np.ones((2, 3))}, InputError, "must have one width, got .*lstm 3"),
        ({"real": GOOD["real"]}, OptionError, "--features of lstm are missing"),
        ({**GOOD, "gpt": GOOD["lstm"]}, OptionError, "unknown name in --features 'gpt'"),
    ],
)
def test_features_that_do_not_fit_are_refused(features: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        attach_columns(CORPORA, ["lstm"], features=features)


@pytest.mark.parametrize(
    ("log_probs", "error", "message"),
    [
        (
            {"lstm": ([-1.0, -2.0], [-1.0, -2.0])},
            InputError,
            "log-probs of lstm, real side must have 3 rows",
        ),
        ({"lstm": ([-np.inf, -2.0], [-1.0, -2.0, -3.0])}, InputError, "generated side must be finite numbers, row 1"),
        ({"gpt": ([-1.0], [-1.0])}, OptionError, "unknown generator in --log-probs 'gpt'"),
    ],
)
def test_log_probs_that_do_not_fit_are_refused(log_probs: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        attach_columns(CORPORA, ["lstm"], log_probs=log_probs)


def test_a_generator_called_as_the_real_text_has_no_features_of_its_own() -> None:
    corpora = {"(real)": CORPORA["(real)"], "real": CORPORA["lstm"]}
    with pytest.raises(OptionError, match="must not be named 'real'"):
        attach_columns(corpora, ["real"], features={"real": GOOD["real"]})
