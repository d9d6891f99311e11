"""Drawing by itself: how much is drawn and kept, how it goes on, and what is wrong with a generator."""

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
from textassay.comparison.comparison import Comparison, Draw
from textassay.comparison.drawing import draw_all
from textassay.comparison.run import compare
from textassay.comparison.sources import is_source, names_model
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay_lab.generators import External, Ngram, from_pretrained

REAL = sentences(120, 1)


class Counter:
    """Draws numbered texts, and remembers what it was asked for; its first texts do not depend on how many."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def sample(self, n: int, *, seed: int) -> list[str]:
        self.calls.append((n, seed))
        return [f"text {seed} {number}" for number in range(n)]


def _drawn(source: Any, n: int = 300, **settings: Any) -> tuple[Draw, Sequence[str]]:
    """Return what `n` draws of one generator, "a", come to."""
    found = _all_drawn({"a": source}, n, **settings)
    return found["a"]


def _all_drawn(sources: dict[str, Any], n: int = 300, **settings: Any) -> dict[str, tuple[Draw, Sequence[str]]]:
    options: dict[str, Any] = {
        "named": sources, "real": REAL, "n": n, "least": 50, "seed": 0, "folder": None, "scored": False,
        "with_log_probs": (), "progress": None,
    }  # fmt: skip
    found = draw_all(sources, **{**options, **settings})
    return {draw.generator: (draw, found.texts[draw.generator]) for draw in found.draws}


class _Source(Counter):
    """Gives each text a log-probability; that of one place is 0 as a probability."""

    def __init__(self, impossible: int = -1) -> None:
        super().__init__()
        self.model, self.impossible, self.scored = self, impossible, 0

    def log_prob(self, texts: Sequence[str]) -> Any:
        self.scored += len(texts)
        return np.array([-np.inf if text.endswith(f" {self.impossible}") else -1.0 for text in texts])


def test_each_draws_as_many_as_asked_for() -> None:
    told: list[tuple[str, int, int]] = []
    found = _all_drawn({"a": Counter(), "b": Counter()}, 1200, progress=lambda *step: told.append(step))
    assert {name: (draw.n, len(set(texts))) for name, (draw, texts) in found.items()} == {
        "a": (1200, 1200), "b": (1200, 1200),
    }  # fmt: skip
    assert told[:4] == [("drawing a", done, 1200) for done in (0, 500, 1000)] + [("drawing b", 0, 1200)]


def test_by_default_there_are_as_many_as_real_texts() -> None:
    settings: Any = {"metrics": ["length"], "explain": False}
    comparison = compare({"a": Counter(), "b": sentences(90, 9)}, REAL, **settings)
    assert [draw.n for draw in comparison.draws] == [120]
    assert comparison.texts is not None
    assert list(map(len, comparison.texts.values())) == [120, 120, 90]
    more = compare({"a": Counter()}, REAL, draw=200, **settings)
    assert more.texts is not None
    assert len(more.texts["a"]) == more.draws[0].n == 200
    assert list(more.texts["a"][:120]) == list(comparison.texts["a"])


def test_every_text_is_scored_once_or_none_are_used() -> None:
    source = _Source()
    draw, _ = _drawn(source, 800, scored=True)
    assert (draw.log_probs, source.scored) == (True, 800 + 120)
    impossible, _ = _drawn(_Source(impossible=299), 800, scored=True)
    assert (impossible.log_probs, impossible.no_log_probs) == (False, "a assigns probability 0 to some texts")
    mixed = _all_drawn({"a": _Source(), "b": Counter()}, scored=True)
    assert {draw.no_log_probs for draw, _ in mixed.values()} == {
        "b has none, and dd with log-probabilities is not comparable with dd without"
    }
    assert _drawn(_Source())[0].no_log_probs == "they were not requested"


def test_what_is_drawn_does_not_depend_on_how_much() -> None:
    few, many = (_drawn(Counter(), n)[1] for n in (300, 1200))
    assert many[:300] == few
    one, other = (_all_drawn({name: Counter()})[name][1] for name in ("a", "b"))
    assert set(one).isdisjoint(other)  # each name has draws of its own
    assert set(few).isdisjoint(_drawn(Counter(), seed=1)[1])


def test_a_generator_that_begins_anew_each_time_gives_no_text_twice() -> None:
    class Fresh:
        n = 0

        def sample(self, n: int, *, seed: int) -> list[str]:
            self.n += n
            return [f"text {number}" for number in range(self.n - n, self.n)]

    texts = _drawn(Fresh(), 1200)[1]
    assert len(set(texts)) == len(texts) == 1200


def test_the_models_of_textassay_keep_their_first_texts() -> None:
    model = Ngram(order=2).fit(sentences(200, 2), sentences(50, 3))
    assert model.sample(500, seed=4)[:120] == model.sample(120, seed=4)


def test_kept_draws_are_used_again_and_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, folder = Ngram(order=2).fit(sentences(200, 2), sentences(50, 3)), tmp_path / "draws"
    first, texts = _drawn(model, 1200, folder=folder, scored=True)
    assert first.n == 1200
    (file,) = folder.glob("*.jsonl")
    assert first.file == f"draws/{file.name}"
    assert list(ta.read_texts(file).texts) == list(texts)
    document = json.loads(file.with_suffix(".json").read_text())
    assert (document["texts"], document["bytes"]) == (1200, file.stat().st_size)
    assert document["seed"] == first.seed

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("it was drawn or scored again")

    with monkeypatch.context() as patched:
        patched.setattr(Ngram, "sample", never)
        patched.setattr(Ngram, "log_prob", never)
        assert _drawn(model, 1200, folder=folder, scored=True) == (first, texts)
        fewer, prefix = _drawn(model, 600, folder=folder, scored=True)
        assert (fewer.n, fewer.log_probs, prefix) == (600, True, texts[:600])
    with file.open("ab") as damaged:
        damaged.write(b'{"text": "half a li')  # a run was killed here
    more, longer = _drawn(model, 2400, folder=folder, scored=True)
    assert (more.n, longer[:1200]) == (2400, texts)
    assert longer == _drawn(model, 2400)[1]
    assert list(ta.read_texts(file).texts) == list(longer)
    with np.load(file.with_suffix(".log-probs.npz")) as scores:
        assert scores["generated"].tolist() == model.log_prob(longer).tolist()


def test_an_interrupted_run_goes_on_with_what_every_generator_drew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {name: Ngram(order=order).fit(sentences(200, 2), sentences(50, 3)) for name, order in (("a", 1), ("b", 2))}
    sample, asked = Ngram.sample, []

    def interrupted(self: Any, n: int, **settings: Any) -> Any:
        asked.append(n)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return sample(self, n, **settings)

    with monkeypatch.context() as patched:
        patched.setattr(Ngram, "sample", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _all_drawn(models, 700, folder=tmp_path)
    assert asked == [500, 200, 500, 200]
    assert sorted(len(file.read_bytes().splitlines()) for file in tmp_path.glob("*.jsonl")) == [500, 700]
    resumed = _all_drawn(models, 700, folder=tmp_path)
    assert {name: texts for name, (_, texts) in resumed.items()} == {
        name: texts for name, (_, texts) in _all_drawn(models, 700).items()
    }


def test_damaged_draws_and_those_of_another_model_are_drawn_anew(tmp_path: Path) -> None:
    folder = tmp_path / "draws"
    model, other = (Ngram(order=order).fit(sentences(200, 2), sentences(50, 3)) for order in (1, 2))
    texts = _drawn(model, folder=folder)[1]
    (file,) = folder.glob("*.jsonl")
    content = file.read_bytes()
    file.write_bytes(content.replace(b"e", b"x", 1))
    assert _drawn(model, folder=folder)[1] == texts
    assert file.read_bytes() == content
    assert _drawn(other, folder=folder)[1] != texts
    assert len(list(folder.glob("*.jsonl"))) == 2
    assert file.read_bytes() == content


def test_python_objects_are_drawn_anew(tmp_path: Path) -> None:
    counter = Counter()
    for _ in range(2):
        _drawn(counter, 600, folder=tmp_path / "draws")
    assert counter.calls[: len(counter.calls) // 2] == counter.calls[len(counter.calls) // 2 :]


def _command(code: str) -> External:
    return External(f"{sys.executable} -u -c '{code}'")


LINES = 'import itertools\nfor i in itertools.count(): print("line", i)'
CALLED = 'import sys\nfor i in range({n}): print("text", {seed} + i)'


def test_a_command_that_is_not_told_how_many_is_read_as_far_as_needed(tmp_path: Path) -> None:
    draw, texts = _drawn(_command(LINES), 1200, folder=tmp_path)
    assert (draw.n, draw.note) == (1200, None)
    assert texts == [f"line {i}" for i in range(1200)]
    more = _drawn(_command(LINES), 2400, folder=tmp_path)[1]
    assert more == [f"line {i}" for i in range(2400)]  # what it prints again is not counted again


def test_a_command_that_ends_gives_what_it_has() -> None:
    ends = _command('for i in range(700): print("line", i)')
    draw, _ = _drawn(ends, 1000)
    assert (draw.n, draw.note) == (700, "the command printed no more sentences")
    comparison = compare({"a": ends}, REAL, metrics=["length"], draw=1000, explain=False)
    assert "700 texts were drawn from a: the command printed no more sentences." in " ".join(str(comparison).split())


def test_a_command_is_called_with_a_number_and_a_seed(tmp_path: Path) -> None:
    draw, texts = _drawn(_command(CALLED), 1200, folder=tmp_path)
    assert texts == [f"text {draw.seed + i}" for i in range(1200)]
    marker = tmp_path / "called"
    again = External(f"{_command(CALLED).model.command}; touch {marker}")
    assert _drawn(_command(CALLED), 1200, folder=tmp_path)[1] == texts
    assert not marker.exists()
    assert _drawn(again, 1200, folder=tmp_path)[1] == texts  # another key
    assert marker.exists()
    assert _drawn(_command(CALLED), 1500, folder=tmp_path)[1] == [f"text {draw.seed + i}" for i in range(1500)]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit(3)", "failed after 0 sentences; it ended with status 3"),
        ("raise SystemExit('no key')", "failed after 0 sentences; it ended with status 1: no key"),
        ("for i in range(20): print(i)", "the command printed 20 sentences, at least 50 are needed"),
        ("for i in range(20, {n}): print(i)", "printed 280 of 300 sentences; it ended with status 0"),
        ("for i in range(-1, {n}): print(i)", "printed more than 300 sentences"),
        ("import time; time.sleep(60)", "printed nothing for 1 seconds and was terminated"),
    ],
)
def test_a_command_that_fails_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    monkeypatch.setattr(sys.modules["textassay.comparison.drawing"], "PATIENCE", 1.0)
    folder = tmp_path / "draws"
    sources = {"b": Counter(), "a": _command(code.replace("'", '"'))}
    with pytest.raises(InputError, match=message):
        _all_drawn(sources, folder=folder)
    assert not folder.exists()


def test_calls_that_repeat_the_first_one_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repeating = _command("for i in range({n}): print(i)")
    _drawn(repeating, folder=tmp_path)
    with pytest.raises(InputError, match="prints the same sentences at every call"):
        _drawn(repeating, 600, folder=tmp_path)
    monkeypatch.setattr(sys.modules["textassay.comparison.drawing"], "CALL", 100)
    with pytest.raises(InputError, match="prints the same sentences at every call"):
        _drawn(repeating)


def test_how_much_to_draw_is_a_number_that_dd_can_use() -> None:
    for wrong in ("many", 1, 2.5):
        with pytest.raises(OptionError, match="draw must be a"):
            compare({"a": Counter()}, REAL, draw=wrong)  # type: ignore[arg-type]
    source = Counter()
    with pytest.raises(OptionError, match="draw must be at least 50 texts, which dd needs, got 49"):
        compare({"a": source}, REAL, draw=49)
    assert source.calls == []
    assert compare({"a": source}, REAL, draw=49, metrics=["length"], explain=False).draws[0].n == 49


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
    assert one.n == other.n == 120
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
    assert mixed.draws[0].no_log_probs == "b has none, and dd with log-probabilities is not comparable with dd without"
    alone = compare({"a": mixed.texts["a"]}, REAL, **settings)  # type: ignore[index]
    assert mixed.result("a", "dd").estimate.value == alone.result("a", "dd").estimate.value  # type: ignore[union-attr]
    assert not any("log-probabilities" in warning for warning in mixed.warnings)
    off = compare({"a": model}, REAL, own_log_probs=False, **settings)
    assert not off.draws[0].log_probs
    given = (np.full(120, -9.0), np.full(120, -8.0))
    every = compare({"a": model, "b": sentences(120, 9)}, REAL, log_probs={"b": given}, **settings)
    assert every.draws[0].log_probs
    with pytest.raises(OptionError, match="a is a model, which computes its own log-probabilities"):
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
    with pytest.raises(OptionError, match="draw applies to generators that are sampled"):
        compare({"a": sentences(120, 9)}, REAL, draw=500)
    assert from_pretrained("command:cat x").model.command == "cat x"


def test_python_explains_and_plans_with_models() -> None:
    model = Ngram(order=2).fit(sentences(300, 2), sentences(50, 3))
    settings: Any = {"effort": "quick", "seed": 3}
    explained = ta.explain(model, REAL, name="a", draw=240, **settings)
    planned = ta.plan({"a": model}, REAL, draw=240, **settings)
    compared = compare({"a": model}, REAL, metrics=["dd"], draw=240, **settings)
    assert planned.pilot is not None
    assert planned.pilot.draws == tuple(
        replace(draw, seconds=again.seconds) for draw, again in zip(compared.draws, planned.pilot.draws, strict=True)
    )
    values = explained.value, planned.pilot.generators[0].value, compared.result("a", "dd").estimate.value  # type: ignore[union-attr]
    assert len(set(values)) == 1
    assert explained.notes == ("240 texts were drawn from a.",)
    with pytest.raises(OptionError, match="draw applies to generators that are sampled"):
        ta.explain(sentences(120, 9), REAL, draw=500)
    with pytest.raises(TooFewSentencesError, match=r"\(real\): dd needs at least 50 texts a side, got 30"):
        ta.explain(model, REAL[:30])


def test_real_text_in_the_text_to_learn_from_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    source = Counter()
    with pytest.raises(InputError, match="occur in the text of --fit-real"):
        compare({"a": source}, REAL, fit_real=[*REAL[:60], *sentences(60, 8)], metrics=["dd"], out=tmp_path / "r")
    assert source.calls == []
    assert not (tmp_path / "r").exists()
