"""One rule for `generated`: texts, name to texts, or a table with `by`; every misuse is a `TextassayError`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import textassay as ta
from made_up import sentences
from textassay.corpus.named_texts import named_texts, one_text
from textassay.testing.closeness import assert_close

REAL, A, B = sentences(120, 1), sentences(110, 2, shift=0.3), sentences(100, 3, shift=0.6)
TRAIN = sentences(120, 4)
ROWS = [(text, name) for name, texts in (("human", REAL), ("a", A), ("b", B)) for text in texts]
FRAME = pd.DataFrame(ROWS, columns=["text", "model"]).sample(frac=1.0, random_state=0)
QUICK_SHARE: dict[str, Any] = {"effort": "quick", "independent": True}
QUICK: dict[str, Any] = {"effort": "quick", "folds": 2}


def _compare(generated: Any, real: Any = REAL, **more: Any) -> Any:
    return ta.compare(generated, real, metrics=["length"], explain=False, **more)


def _explain(generated: Any, real: Any = REAL) -> Any:
    return ta.explain(generated, real, halvings=1, **QUICK)


def _plan(generated: Any, real: Any = REAL, **more: Any) -> Any:
    return ta.plan(generated, real, margins=[0.1], **QUICK, **more)


def _judge(generated: Any, real: Any = REAL, **more: Any) -> Any:
    return ta.judge(generated, real, gold=["a>b"], metrics=["length"], n_resamples=20, **more)


def _leaks(generated: Any, real: Any = REAL, **more: Any) -> Any:
    return ta.leaks(generated, real, train=TRAIN, **more)


def _share(generated: Any, real: Any = REAL, **more: Any) -> Any:
    return ta.share(generated, real, **{**QUICK_SHARE, **more})


def _close(generated: Any, real: Any = REAL) -> Any:
    return assert_close(generated, real, length=9)


FORMS = {
    "list": A, "tuple": tuple(A), "Series": pd.Series(A, index=np.arange(5, 5 + len(A))), "polars": pl.Series(A),
    "Arrow": pa.array(A), "table": pd.DataFrame({"text": A}), "named": {"generated": A},
    "named Series": {"generated": pd.Series(A)}, "corpus": ta.Corpus.from_texts(A),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_texts_are_texts_in_any_form(form: Any) -> None:
    compared = _compare(form)
    assert compared.generators == ("generated",)
    assert compared.result("generated", "length").estimate == _compare(A).result("generated", "length").estimate
    assert {one.generator for one in ta.inspect(form, REAL)} == {one.generator for one in ta.inspect(A, REAL)}
    assert one_text(form)[0] == "generated"


def test_every_call_takes_texts_alone() -> None:
    assert _explain(pd.Series(A)).generator == "generated"
    assert _explain({"a": A}).generator == "a"
    assert _plan(A).pilot.generators[0].generator == "generated"
    assert _close({"mine": A}).generators == ("generated",)


TABLES = {"pandas": FRAME, "polars": pl.DataFrame(FRAME), "Arrow": pa.Table.from_pandas(FRAME)}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_names_its_generators(table: Any) -> None:
    compared = _compare(table, "human", by="model")
    assert set(compared.generators) == {"a", "b"}
    assert (compared.real.n_sentences, compared.result("b", "length").estimate.sizes["n_generated"]) == (120, 100)
    others = {name: list(FRAME.text[FRAME.model == name]) for name in "ab"}
    real = list(FRAME.text[FRAME.model == "human"])
    same = _compare(others, real)
    assert compared.result("a", "length").estimate == same.result("a", "length").estimate
    assert {one.generator for one in ta.inspect(table, "human", by="model")} >= {"a", "b"}
    assert {one.generator for one in _plan(table, "human", by="model").pilot.generators} == {"a", "b"}
    assert {one.name for one in _judge(table, "human", by="model").evaluations} >= {"length"}
    assert {one.name for one in _share(table, "human", by="model").corpora} == {"a", "b"}
    assert {one.generator for one in _leaks(table, "human", by="model").generators} == {"a", "b"}


WRONG: dict[str, Any] = {
    "number": 5, "nothing": {}, "a number by name": {"a": 5}, "a number as name": {5: A}, "text": "the cat sat",
    "empty": "", "bytes": b"a b", "object": object(), "numbers": [1, 2, 3], "empty list": [], "nested": [A, B],
    "text by name": {"a": "the cat sat"}, "nested names": {"a": {"b": A}}, "class": dict, "array": np.zeros((3, 2)),
    "table of numbers": pd.DataFrame({"x": [1.0, 2.0]}), "two columns": pd.DataFrame({"x": A, "y": A}), "none": None,
}  # fmt: skip
CALLS: dict[str, Callable[..., Any]] = {
    "compare": _compare, "inspect": ta.inspect, "explain": _explain, "plan": _plan, "judge": _judge, "close": _close,
    "leaks": _leaks, "share": _share, "metric": ta.length,
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_every_misuse_is_an_error_of_ours(call: Callable[..., Any], wrong: Any) -> None:
    if call is ta.inspect and (wrong is None or (isinstance(wrong, dict) and not wrong)):
        return  # it looks at the real text alone
    with pytest.raises(ta.TextassayError) as raised:
        call(wrong, REAL)
    assert "\n" not in str(raised.value)


def test_every_misuse_of_by_is_one() -> None:
    with pytest.raises(ta.TextassayError, match="has no column 'modle'; it has: text, model"):
        named_texts(FRAME, "human", by="modle")
    with pytest.raises(ta.TextassayError, match="it has no text by 'people'; the texts are by: "):
        named_texts(FRAME, "people", by="model")
    with pytest.raises(ta.TextassayError, match="name the column of their sources: by='model', real='human'"):
        named_texts(FRAME, "human")
    with pytest.raises(ta.TextassayError):
        named_texts(A, "human", by="model")
    with pytest.raises(ta.TextassayError, match="expected the texts of one generator, got 2: a, b"):
        _explain({"a": A, "b": B})
