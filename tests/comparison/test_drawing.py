"""Drawing by itself: when it stops, what it keeps, how it goes on, and what is wrong with a generator."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textassay as ta
from made_up import sentences
from textassay.comparison import (
    Budget,
    Comparison,
    Drawing,
    Rise,
    Score,
    compare,
    is_source,
    least_drawn,
    names_model,
    sizes_to,
)
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.generators import External, Ngram, from_pretrained

REAL = sentences(120, 1)


class Counter:
    """Draws numbered texts, and remembers what it was asked for; its first texts do not depend on how many."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def sample(self, n: int, *, seed: int) -> list[str]:
        self.calls.append((n, seed))
        return [f"text {seed} {number}" for number in range(n)]


class _Estimate:
    value = 0.1
    interval = None


class _Judged:
    estimate = _Estimate()


def _drawing(source: Any, monkeypatch: pytest.MonkeyPatch, gains: Sequence[float], **settings: Any) -> Drawing:
    """Return a drawing for which each enlargement adds a gain with the standard error of about 0.01.

    `little`: so many texts of all are drawn in any case where that is five times the real ones.
    """
    left = list(gains)

    def rise(*_: Any, **__: Any) -> Rise:
        gain = left.pop(0)
        return Rise(gain, gain - 0.0196, gain + 0.0196)

    monkeypatch.setattr(sys.modules["textassay.comparison.learning_curve"], "rise_of", rise)
    monkeypatch.setattr(sys.modules["textassay.comparison.drawing"], "LITTLE", settings.pop("little", 0))
    named = settings.pop("sources", {"a": source})
    options = {
        "named": named, "n_real": 300, "real_groups": None, "budget": Budget(100_000, None), "least": 50,
        "level": 0.95, "seed": 0, "folder": None, "judge": lambda name, texts, log_probs: _Judged(), "progress": None,
    }  # fmt: skip
    return Drawing(named, **{**options, **settings})


def test_draws_double_while_the_gain_is_above_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, texts = _drawing(Counter(), monkeypatch, [0.03, 0.02, 0.009]).draw()["a"]
    assert (draw.n, draw.stopped, draw.gain) == (2400, "level", 0.009)
    assert [point.n_generated for point in draw.curve] == [300, 600, 1200, 2400]
    assert not draw.rising
    assert len(texts) == len(set(texts)) == 2400


def test_the_budget_ends_drawing_though_dd_rises(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, _ = _drawing(Counter(), monkeypatch, [0.03] * 9, budget=Budget(1500, None)).draw()["a"]
    assert (draw.n, draw.stopped, draw.rising) == (1500, "budget", True)
    assert [point.n_generated for point in draw.curve] == [300, 600, 1200, 1500]
    draw, _ = _drawing(Counter(), monkeypatch, [0.03, 0.0], budget=Budget(500, None)).draw()["a"]
    assert (draw.n, draw.stopped) == (500, "budget")  # less than a doubling says nothing
    draw, _ = _drawing(Counter(), monkeypatch, [], budget=Budget(100, None)).draw()["a"]
    assert (draw.n, draw.stopped, draw.gain) == (100, "budget", None)


def test_little_text_is_drawn_five_times_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    gains = [0.0, 0.0]  # to 750, and to 1,500: dd does not rise at all
    draw, _ = _drawing(Counter(), monkeypatch, gains, little=20_000).draw()["a"]
    assert (draw.n, draw.stopped) == (1500, "level")
    assert [point.n_generated for point in draw.curve] == [300, 750, 1500]
    draw, _ = _drawing(Counter(), monkeypatch, [0.0, 0.03, 0.0], little=20_000).draw()["a"]
    assert (draw.n, draw.stopped) == (3000, "level")  # and more where it still rises
    draw, _ = _drawing(Counter(), monkeypatch, gains, little=20_000, budget=Budget(1500, None)).draw()["a"]
    assert (draw.n, draw.stopped) == (1500, "level")  # the default budget: always so many
    draw, _ = _drawing(Counter(), monkeypatch, [0.0], little=20_000, budget=Budget(500, None)).draw()["a"]
    assert (draw.n, draw.stopped) == (500, "budget")


def test_five_times_is_for_all_generators_together() -> None:
    no_limit = Budget(None, None)
    assert [least_drawn(n, 1, no_limit) for n in (100, 4000, 4001)] == [500, 20_000, 4001]
    assert [least_drawn(1000, n, no_limit) for n in (4, 5)] == [5000, 1000]
    assert least_drawn(300, 1, Budget(800, None)) == 800
    assert least_drawn(300, 1, Budget(200, None)) == 200
    assert [sizes_to(n, 301) for n in (1505, 301, 500, 200)] == [[301, 753, 1505], [301], [301, 500], [200]]


class _Scored:
    """Judges, and remembers whose log-probabilities it got."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, list[float] | None]] = []

    def __call__(self, name: str, texts: Sequence[str], log_probs: Any) -> Any:
        self.calls.append((len(texts), None if log_probs is None else [len(side) for side in log_probs]))
        return _Judged()


class _Source(Counter):
    """Gives each text a log-probability; from a place on, 0 as a probability."""

    def __init__(self, impossible: int) -> None:
        super().__init__()
        self.impossible, self.scored = impossible, 0

    def log_prob(self, texts: Sequence[str]) -> Any:
        self.scored += len(texts)
        return np.array([-np.inf if text.endswith(f" {self.impossible}") else -1.0 for text in texts])


def test_every_size_is_measured_by_one_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, source = _Scored(), _Source(impossible=499)
    kinds: dict[str, Any] = {"judge": judge, "budget": Budget(1000, None)}
    real = ["real"] * 100
    draw, _ = _drawing(
        source, monkeypatch, [0.03] * 9, **kinds, n_real=100, least=50, score=Score({"a": source}, real)
    ).draw()["a"]
    assert judge.calls[:2] == [(100, [100, 100]), (200, [200, 100])]
    first_without = judge.calls.index((100, None))
    assert all(log_probs is not None for _, log_probs in judge.calls[:first_without])
    assert all(log_probs is None for _, log_probs in judge.calls[first_without:])
    assert [point.n_generated for point in draw.curve] == [n for n, _ in judge.calls[first_without:]]


def test_each_text_is_scored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, source = _Scored(), _Source(impossible=-1)
    score = Score({"a": source}, ["real"] * 100)
    _drawing(source, monkeypatch, [0.03, 0.03, 0.0], judge=judge, n_real=100, score=score).draw()
    assert judge.calls[-1] == (800, [800, 100])
    assert source.scored == 800 + 100


def test_time_ends_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, _ = _drawing(Counter(), monkeypatch, [0.03] * 40, budget=Budget(None, 1e-9), n_real=700).draw()["a"]
    assert (draw.n, draw.stopped) == (500, "time")  # one block
    with pytest.raises(InputError, match=r"a: 500 sentences were drawn in 0 seconds, at least 600 are needed"):
        _drawing(Counter(), monkeypatch, [], budget=Budget(None, 1e-9), n_real=700, least=600).draw()


def test_all_draw_as_many_as_the_one_that_needs_most(monkeypatch: pytest.MonkeyPatch) -> None:
    gains = [0.03, 0.0, 0.03, 0.0]  # of a, b, then a alone
    found = _drawing(None, monkeypatch, gains, sources={"a": Counter(), "b": Counter()}).draw()
    assert {name: (draw.n, draw.stopped) for name, (draw, _) in found.items()} == {
        "a": (2400, "level"), "b": (2400, "level"),
    }  # fmt: skip
    assert [len(draw.curve) for draw, _ in found.values()] == [4, 2]


def test_without_dd_there_are_as_many_as_real_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, _ = _drawing(Counter(), monkeypatch, [], judge=None).draw()["a"]
    assert (draw.n, draw.stopped, draw.curve) == (300, "no dd", ())


def test_what_is_drawn_does_not_depend_on_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    few = _drawing(Counter(), monkeypatch, [0.0]).draw()["a"][1]
    many = _drawing(Counter(), monkeypatch, [0.03, 0.03, 0.0]).draw()["a"][1]
    assert many[: len(few)] == few
    one, other = (_drawing(Counter(), monkeypatch, [0.0], sources={name: Counter()}).draw() for name in ("a", "b"))
    assert set(one["a"][1]).isdisjoint(other["b"][1])  # each name has draws of its own
    assert set(few).isdisjoint(_drawing(Counter(), monkeypatch, [0.0], seed=1).draw()["a"][1])


def test_a_generator_that_begins_anew_each_time_gives_no_text_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fresh:
        n = 0

        def sample(self, n: int, *, seed: int) -> list[str]:
            self.n += n
            return [f"text {number}" for number in range(self.n - n, self.n)]

    texts = _drawing(Fresh(), monkeypatch, [0.03, 0.0]).draw()["a"][1]
    assert len(set(texts)) == len(texts) == 1200


def test_the_models_of_textassay_keep_their_first_texts() -> None:
    model = Ngram(order=2).fit(sentences(200, 2), sentences(50, 3))
    assert model.sample(500, seed=4)[:120] == model.sample(120, seed=4)


def test_kept_draws_are_used_again_and_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Ngram(order=2).fit(sentences(200, 2), sentences(50, 3))
    first, texts = _drawing(model, monkeypatch, [0.03, 0.0], folder=tmp_path / "draws").draw()["a"]
    assert first.n == 1200
    (file,) = (tmp_path / "draws").glob("*.jsonl")
    assert first.file == f"draws/{file.name}"
    assert list(ta.read_texts(file).texts) == list(texts)
    document = json.loads(file.with_suffix(".json").read_text())
    assert (document["texts"], document["bytes"]) == (1200, file.stat().st_size)
    assert document["seed"] == first.seed

    def no_sample(*_: Any, **__: Any) -> Any:
        raise AssertionError("it was drawn again")

    with monkeypatch.context() as patched:
        patched.setattr(Ngram, "sample", no_sample)
        again = _drawing(model, patched, [0.03, 0.0], folder=tmp_path / "draws").draw()["a"]
        assert again == (first, texts)
        fewer, prefix = _drawing(model, patched, [0.0], folder=tmp_path / "draws").draw()["a"]
        assert (fewer.n, prefix) == (600, texts[:600])
    with file.open("ab") as damaged:
        damaged.write(b'{"text": "half a li')  # a run was killed here
    more, longer = _drawing(model, monkeypatch, [0.03, 0.03, 0.0], folder=tmp_path / "draws").draw()["a"]
    assert (more.n, longer[:1200]) == (2400, texts)
    assert longer == _drawing(model, monkeypatch, [0.03, 0.03, 0.0]).draw()["a"][1]
    assert list(ta.read_texts(file).texts) == list(longer)


def test_damaged_draws_and_those_of_another_model_are_drawn_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "draws"
    model, other = (Ngram(order=order).fit(sentences(200, 2), sentences(50, 3)) for order in (1, 2))
    texts = _drawing(model, monkeypatch, [0.0], folder=folder).draw()["a"][1]
    (file,) = folder.glob("*.jsonl")
    content = file.read_bytes()
    file.write_bytes(content.replace(b"e", b"x", 1))
    assert _drawing(model, monkeypatch, [0.0], folder=folder).draw()["a"][1] == texts
    assert file.read_bytes() == content
    assert _drawing(other, monkeypatch, [0.0], folder=folder).draw()["a"][1] != texts
    assert len(list(folder.glob("*.jsonl"))) == 2
    assert file.read_bytes() == content


def test_python_objects_are_drawn_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter()
    for _ in range(2):
        _drawing(counter, monkeypatch, [0.0], folder=tmp_path / "draws").draw()
    assert counter.calls[: len(counter.calls) // 2] == counter.calls[len(counter.calls) // 2 :]


def _command(code: str) -> External:
    return External(f"{sys.executable} -u -c '{code}'")


LINES = 'import itertools\nfor i in itertools.count(): print("line", i)'
CALLED = 'import sys\nfor i in range({n}): print("text", {seed} + i)'


def test_a_command_that_is_not_told_how_many_is_read_as_far_as_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, texts = _drawing(_command(LINES), monkeypatch, [0.03, 0.0], folder=tmp_path).draw()["a"]
    assert draw.n == 1200
    assert texts == [f"line {i}" for i in range(1200)]
    more = _drawing(_command(LINES), monkeypatch, [0.03, 0.03, 0.0], folder=tmp_path).draw()["a"][1]
    assert more == [f"line {i}" for i in range(2400)]  # what it prints again is not counted again


def test_a_command_that_ends_gives_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = _command('for i in range(700): print("line", i)')
    draw, _ = _drawing(ends, monkeypatch, [0.03, 0.03, 0.03]).draw()["a"]
    assert (draw.n, draw.stopped) == (700, "ended")


def test_a_command_is_called_with_a_number_and_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, texts = _drawing(_command(CALLED), monkeypatch, [0.03, 0.0], folder=tmp_path).draw()["a"]
    assert texts == [f"text {draw.seed + i}" for i in range(1200)]
    marker = tmp_path / "called"
    again = External(f"{_command(CALLED).model.command}; touch {marker}")
    assert _drawing(_command(CALLED), monkeypatch, [0.03, 0.0], folder=tmp_path).draw()["a"][1] == texts
    assert not marker.exists()
    assert _drawing(again, monkeypatch, [0.03, 0.0], folder=tmp_path).draw()["a"][1] == texts  # another key
    assert marker.exists()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit(3)", "failed after 0 sentences; it ended with status 3"),
        ("raise SystemExit('no key')", "failed after 0 sentences; it ended with status 1: no key"),
        ("for i in range(20): print(i)", "the command printed 20 sentences, at least 50 are needed"),
        ("for i in range(20, {n}): print(i)", "printed 280 of 300 sentences; it ended with status 0"),
        ("for i in range(-1, {n}): print(i)", "printed more than 300 sentences"),
        ("for i in range({n}): print(i)", "prints the same sentences at every call"),
        ("import time; time.sleep(60)", "printed nothing for 1 seconds and was ended"),
    ],
)
def test_a_command_that_fails_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    monkeypatch.setattr(sys.modules["textassay.comparison.kept_draws"], "PATIENCE", 1.0)
    folder = tmp_path / "draws"
    sources = {"b": Counter(), "a": _command(code.replace("'", '"'))}
    with pytest.raises(InputError, match=message):
        _drawing(None, monkeypatch, [0.03] * 9, sources=sources, folder=folder).draw()
    assert not folder.exists() or "every call" in message


def test_a_budget_is_texts_seconds_or_both() -> None:
    assert Budget.of(None, 200) == Budget(1000, None)
    assert Budget.of(None, 50_000) == Budget(100_000, None)
    assert Budget.of(None, 200_000) == Budget(200_000, None)
    assert Budget.of(700, 200) == Budget(700, None)
    assert Budget.of("600s", 200) == Budget(None, 600.0) == Budget.of("10m", 200)
    assert str(Budget.of("100000,1.5h", 200)) == "100000,5400s"
    for wrong in ("", "many", "10 m", "-5", "0", "0s", "10m,20m", "1e5"):
        with pytest.raises(OptionError, match="budget must be"):
            Budget.of(wrong, 200)
    with pytest.raises(OptionError, match="at least 50 texts, which dd needs, got 49"):
        compare({"a": Counter()}, REAL, budget=49)


def test_tables_that_can_be_sampled_are_texts() -> None:
    import pandas as pd

    assert not is_source(pd.Series(REAL))
    assert not is_source(REAL)
    assert is_source(Counter())
    assert not names_model("real.txt")
    assert names_model("command:cat x")
    assert names_model("random-lstm:3")


def test_python_compares_models() -> None:
    models = {name: Ngram(order=order).fit(sentences(300, 2), sentences(50, 3)) for name, order in (("a", 1), ("b", 2))}
    comparison = ta.compare(models, REAL, metrics=["dd", "length"], effort="quick", explain=False)
    (one, other) = comparison.draws
    assert one.n == other.n >= 240
    assert (one.source, one.model, one.file) == (None, "ngram(order=1)", None)
    assert comparison.texts is not None
    assert len(comparison.texts["a"]) == one.n
    assert one.log_probs
    assert comparison.result("a", "dd").estimate is not None
    assert comparison.result("a", "dd").estimate.details["log_probs"] == "a"  # type: ignore[union-attr]
    assert Comparison.from_dict(comparison.to_dict()).draws == comparison.draws
    assert "texts were drawn from a" in " ".join(str(comparison).split())


def test_log_probabilities_are_used_by_all_or_none(tmp_path: Path) -> None:
    model = Ngram(order=2).fit(sentences(300, 2), sentences(50, 3))
    settings: Any = {"metrics": ["dd"], "effort": "quick", "explain": False}
    mixed = compare({"a": model, "b": sentences(120, 9)}, REAL, **settings)
    assert mixed.draws[0].no_log_probs == "b has none, and dd with them cannot be compared with dd without"
    alone = compare({"a": mixed.texts["a"]}, REAL, **settings)  # type: ignore[index]
    assert mixed.result("a", "dd").estimate.value == alone.result("a", "dd").estimate.value  # type: ignore[union-attr]
    assert not any("log-probabilities" in warning for warning in mixed.warnings)
    off = compare({"a": model}, REAL, own_log_probs=False, **settings)
    assert not off.draws[0].log_probs
    given = (np.full(120, -9.0), np.full(120, -8.0))
    every = compare({"a": model, "b": sentences(120, 9)}, REAL, log_probs={"b": given}, **settings)
    assert every.draws[0].log_probs
    with pytest.raises(OptionError, match="a is a model, which gives its own log-probabilities"):
        compare({"a": model}, REAL, log_probs={"a": given}, **settings)
    with pytest.raises(OptionError, match="--ratings belong to texts"):
        compare({"a": model}, REAL, ratings={"a": given}, **settings)
    kept = compare({"a": model}, REAL, out=tmp_path, **settings)
    (file,) = (tmp_path / "draws").glob("*.log-probs.npz")
    with np.load(file) as scores:
        assert scores["generated"].tolist() == model.log_prob(kept.texts["a"]).tolist()  # type: ignore[index]


def test_a_model_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not fitted"):
        compare({"a": Ngram()}, REAL)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="write pretrained:"):
        compare({"a": str(tmp_path)}, REAL)
    with pytest.raises(OptionError, match="budget is for generators that are drawn from"):
        compare({"a": sentences(120, 9)}, REAL, budget=500)
    assert from_pretrained("command:cat x").model.command == "cat x"


def test_python_explains_and_plans_with_models() -> None:
    model = Ngram(order=2).fit(sentences(300, 2), sentences(50, 3))
    settings: Any = {"effort": "quick", "seed": 3}
    explained = ta.explain(model, REAL, name="a", budget=240, **settings)
    planned = ta.plan({"a": model}, REAL, budget=240, **settings)
    compared = compare({"a": model}, REAL, metrics=["dd"], budget=240, **settings)
    assert planned.pilot is not None
    assert planned.pilot.draws == tuple(
        replace(draw, seconds=again.seconds) for draw, again in zip(compared.draws, planned.pilot.draws, strict=True)
    )
    values = explained.value, planned.pilot.generators[0].value, compared.result("a", "dd").estimate.value  # type: ignore[union-attr]
    assert len(set(values)) == 1
    assert explained.notes == ("240 texts were drawn from a.",)
    with pytest.raises(OptionError, match="budget is for generators that are drawn from"):
        ta.explain(sentences(120, 9), REAL, budget=500)
    with pytest.raises(TooFewSentencesError, match=r"\(real\): dd needs at least 50 texts a side, got 30"):
        ta.explain(model, REAL[:30])


def test_what_decides_on_drawing_learns_what_dd_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def noted(*args: Any, **settings: Any) -> Any:
        calls.append((args, settings))
        return judge(*args, **settings)

    judge = sys.modules["textassay.comparison.learning_curve"].judge
    monkeypatch.setattr(sys.modules["textassay.comparison.learning_curve"], "judge", noted)
    model = Ngram(order=2).fit(sentences(300, 2), sentences(50, 3))
    settings: Any = {"metrics": ["dd"], "effort": "quick", "explain": False, "budget": 240}
    more: Any = {"train": sentences(300, 2), "fit_real": sentences(200, 5)}
    compared = compare({"a": model}, REAL, **more, **settings)
    assert len(calls) == 2
    for (real, generated), given in calls:
        assert set(real.columns) == set(generated.columns) == {"log_probs/a"}
        assert list(given["trained_on"].texts) == more["train"]
        assert list(given["fit_real"].texts) == more["fit_real"]
    assert len({id(side.vocabulary) for side in (*calls[1][0], given["trained_on"], given["fit_real"])}) == 1
    estimate = compared.result("a", "dd").estimate
    assert estimate is not None
    assert compared.draws[0].curve[-1].value == estimate.value  # at this effort they are one
    calls.clear()
    compare({"a": model}, REAL, **more, paper=False, **{**settings, "metrics": ["dd(discriminator=naive-bayes)"]})
    ((real, _), given), *_ = calls
    assert given["trained_on"] is None
    assert real.columns == {}
    calls.clear()
    known = compare({"a": model}, [*REAL[:60], *sentences(60, 8)], train=REAL, **settings)
    assert all(given["trained_on"] is None for _, given in calls)  # too much of the real text stands in it
    assert any("did not learn from the training text" in warning for warning in known.warnings)


def test_real_text_in_the_text_to_learn_from_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    source = Counter()
    with pytest.raises(InputError, match="occur in the text of --fit-real"):
        compare({"a": source}, REAL, fit_real=[*REAL[:60], *sentences(60, 8)], metrics=["dd"], out=tmp_path / "r")
    assert source.calls == []
    assert not (tmp_path / "r").exists()
