"""Estimates as documents: everything that JSON has no number for is None, at any depth."""

import json
import math
from dataclasses import replace

import numpy as np

import textassay as ta
from textassay.estimate import Interval, json_ready


def test_what_is_json_ready_is_valid_json() -> None:
    value = {
        "numbers": np.array([[1.0, math.nan], [math.inf, 2.0]]),
        "count": np.int64(3),
        "intervals": (Interval(-math.inf, 1.0, 0.95, "t"), None),
        "told": {"name": "a", "share": np.float32(0.5)},
    }
    assert json.loads(json.dumps(json_ready(value), allow_nan=False)) == {
        "numbers": [[1.0, None], [None, 2.0]],
        "count": 3,
        "intervals": [{"low": None, "high": 1.0, "level": 0.95, "method": "t"}, None],
        "told": {"name": "a", "share": 0.5},
    }


def test_the_ends_of_the_interval_are_attributes_and_nan_without_one() -> None:
    found = ta.length(["a b", "c"], ["a", "b c d"], independent=True)
    assert found.interval is not None
    assert (found.low, found.high) == (found.interval.low, found.interval.high)
    without = replace(found, interval=None)
    assert math.isnan(without.low)
    assert math.isnan(without.high)
