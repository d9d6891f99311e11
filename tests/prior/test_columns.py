"""Columns of a text from what a model says of its tokens, by hand, and that nothing is read twice."""

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textassay as ta
from textassay.corpus.corpus import corpora_from_texts
from textassay.errors import MissingExtraError, OptionError
from textassay.metric.discrepancy import dd
from textassay.prior import catalog
from textassay.prior.cache import ColumnCache, key_of
from textassay.prior.catalog import (
    chosen_prior,
    is_english,
    label_of,
    model_columns,
    name_of,
    read_beforehand,
    with_prior,
)
from textassay.prior.columns import COLUMNS, SCORES, columns_of
from textassay.prior.language_model import LanguageModel, ReadText
from tiny_model import TEXTS

SAMPLE = ReadText(
    log_probs=np.array([-1.0, -3.0, -0.5, -2.5]),
    ranks=np.array([0.0, 12.0, 0.0, 999.0]),
    entropies=np.array([1.5, 2.0, 0.5, 1.0]),
    variances=np.array([1.0, 2.0, 0.5, 0.5]),
    masses=np.array([0.0, 0.85, 0.0, 0.995]),
)


def test_columns_by_hand() -> None:
    (row,) = columns_of([SAMPLE])
    found = dict(zip(COLUMNS, row.tolist(), strict=True))
    logs = (np.log(13) + np.log(1000)) / 4
    expected = {
        "surprise": 7 / 4,
        "spread of surprise": np.std([1, 3, 0.5, 2.5]),
        "surprise, quantile 0.5": 1.75,
        "log-rank": logs,
        "among 1 likeliest": 0.5,
        "among 10 likeliest": 0.5,
        "among 100 likeliest": 0.75,
        "among 1000 likeliest": 1.0,
        "entropy": 5 / 4,
        "surprise over entropy": 0.5,
        "distance from entropy": (0.5 + 1.0 + 0.0 + 1.5) / 4,
        "curvature": (-7 + 5) / 2,  # the text's log-probability less its expectation, in standard deviations
        "curvature a token": -0.5,
        "surprise by entropy": 7 / 5,
        "surprise by log-rank": 7 / 4 / logs,
        "mass above 0.8": 0.5,
        "mass above 0.9": 0.25,
        "surprise of quarter 1": 1.0,
        "surprise of quarter 4": 2.5,
        "slope of surprise": (-1 * 1 - 3 / 3 + 0.5 / 3 + 2.5) / 4,
        "log-length": np.log(4),
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-6), name
    assert {column for column, _ in SCORES.values()} <= set(COLUMNS)


def test_short_and_constant_texts_have_finite_columns() -> None:
    flat = ReadText(*(np.zeros(9) for _ in range(5)))
    short = ReadText(*(np.ones(3) for _ in range(5)))
    rows = columns_of([flat, short])
    assert np.isfinite(rows).all()
    assert not rows[1].any()
    assert columns_of([]).shape == (0, len(COLUMNS))


@pytest.fixture
def prior(tiny: Path) -> str:
    return f"pretrained:{tiny}"


def test_progress_says_how_long_it_takes(prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_BLOCK", 2)
    told: list[tuple[str, int, int]] = []
    corpora = corpora_from_texts({"a": TEXTS[:3], "b": TEXTS[1:]})
    read_beforehand(prior, list(corpora.values()), None, lambda *line: told.append(line))
    assert [line[1:] for line in told] == [(0, 5), (2, 5), (4, 5)]
    assert told[0][0] == "texts read by the language model, about 0 s left"
    monkeypatch.setattr(LanguageModel, "read", never)
    assert with_prior(corpora["a"], prior).columns[catalog.MODEL_COLUMN].shape == (3, len(COLUMNS))
    read_beforehand("english", list(corpora.values()))


@pytest.mark.parametrize("metric", ["dd", "lrr"])
def test_a_comparison_reads_each_text_once_before_it_measures(
    metric: str, prior: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Halves of the real text, too, are measured, by several threads."""
    read, n_read = LanguageModel.read, list[int]()

    def counted(self: LanguageModel, tokens: Any, prompts: Any = None) -> Any:
        n_read.append(len(tokens))
        return read(self, tokens, prompts)

    monkeypatch.setattr(LanguageModel, "read", counted)
    sides = [[f"{text} {side} {number}" for number in range(40) for text in TEXTS[:3]] for side in ("a", "b", "c")]
    told: list[str] = []
    options: Any = {"prior": prior, "effort": "quick", "explain": False, "independent": True}
    ta.compare({"g": sides[0], "h": sides[1]}, sides[2], metrics=[metric], workers=2, **options,
               progress=lambda what, *_: told.append(what))  # fmt: skip
    assert sum(n_read) == 360
    assert any("texts read by the language model" in line for line in told)


def test_texts_are_read_in_lower_case_where_they_are_compared_so(prior: str) -> None:
    texts = ["The CAT sat on the mat"]
    plain, lower = (
        with_prior(corpora_from_texts({"a": texts}, lowercase=low)["a"], prior).columns[catalog.MODEL_COLUMN]
        for low in (False, True)
    )
    np.testing.assert_array_equal(lower, model_columns(prior, [texts[0].lower()]))
    assert not np.array_equal(plain, lower)


def never(*_: Any) -> Any:
    raise AssertionError("read again")


def test_a_text_is_read_once(prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = model_columns(prior, [*TEXTS, TEXTS[0]])
    np.testing.assert_array_equal(first[0], first[-1])
    monkeypatch.setattr(LanguageModel, "read", never)
    np.testing.assert_array_equal(model_columns(prior, TEXTS[::-1]), first[:-1][::-1])
    assert model_columns(prior, []).shape == (0, len(COLUMNS))
    with pytest.raises(AssertionError, match="read again"):
        model_columns(prior, TEXTS[:1], ["a prompt makes it another text"])


def test_a_run_that_was_killed_goes_on(prior: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(catalog, "_BLOCK", 2)
    read, done = LanguageModel.read, list[int]()

    def killed(self: LanguageModel, tokens: Any, prompts: Any) -> Any:
        if done:
            raise KeyboardInterrupt
        done.append(len(tokens))
        return read(self, tokens, prompts)

    whole = model_columns(prior, TEXTS)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    monkeypatch.setattr(LanguageModel, "read", killed)
    with pytest.raises(KeyboardInterrupt):
        model_columns(prior, TEXTS)
    rest: list[int] = []

    def counted(self: LanguageModel, tokens: Any, prompts: Any) -> Any:
        rest.append(len(tokens))
        return read(self, tokens, prompts)

    monkeypatch.setattr(LanguageModel, "read", counted)
    np.testing.assert_array_equal(model_columns(prior, TEXTS), whole)
    assert sum(rest) == len(TEXTS) - 2


def test_a_cache_that_is_damaged_or_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    cache = ColumnCache("model", 2)
    key = key_of("text", None)
    cache.put({key: np.array([1.0, 2.0])})
    assert cache.get([key, key_of("other", None)])[key].tolist() == [1.0, 2.0]
    assert ColumnCache("model", 3).get([key]) == {}
    cache.path.write_bytes(b"no database")
    assert cache.get([key]) == {}
    cache.put({key: np.array([1.0, 2.0])})
    assert cache.get([key])[key].tolist() == [1.0, 2.0]
    cache.path.unlink()
    cache.path.parent.rmdir()
    cache.path.parent.write_text("a file")
    assert ColumnCache("model", 2).get([key]) == {}
    cache.put({key: np.array([3.0, 4.0])})
    assert cache.get([key])[key].tolist() == [3.0, 4.0]  # in memory


def test_the_cache_holds_no_text(prior: str, tmp_path: Path) -> None:
    model_columns(prior, ["a most confidential sentence"])
    (file,) = (tmp_path / "cache").rglob("*.sqlite")
    assert b"confidential" not in file.read_bytes()
    assert sqlite3.connect(file).execute("SELECT count(*) FROM texts").fetchone() == (1,)


def test_keys_tell_a_prompt_from_a_part_of_the_text() -> None:
    assert len({key_of("ab", None), key_of("ab", ""), key_of("a", "b"), key_of("b", "a"), key_of("", "ab")}) == 5


def test_names_of_priors(prior: str) -> None:
    assert label_of("english") == name_of("english") == "english"
    label = label_of(prior)
    assert label.startswith(f"{prior}:")
    assert name_of(label) == prior
    assert name_of("smollm2:0123abcd:bfloat16") == "smollm2"
    with pytest.raises(OptionError, match="unknown prior 'smolm2': did you mean smollm2"):
        catalog.check_prior("smolm2")


ENGLISH = ["the cat sat on the mat and it was as happy as a cat can be"] * 3
GERMAN = ["die Katze sass auf der Matte und war so froh wie es eine Katze nur sein kann"] * 3


def test_auto_is_the_small_model_where_it_pays(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    texts = corpora_from_texts({"english": ENGLISH, "german": GERMAN})
    assert is_english(texts["english"])
    assert not is_english(texts["german"])
    assert chosen_prior(None, texts["english"]) == (None, "")
    assert chosen_prior("english", texts["german"]) == ("english", "")

    def absent(name: str) -> Any:
        raise MissingExtraError("the prior 'smollm2'", "prior-lm")

    monkeypatch.setattr("textassay.prior.language_model.language_model", absent)
    assert "needs the 'prior-lm' extra" in chosen_prior("auto", texts["english"])[1]
    monkeypatch.setattr("textassay.prior.language_model.language_model", lambda name: LanguageModel(tiny))
    assert chosen_prior("auto", *texts.values()) == ("smollm2", "")
    assert chosen_prior("auto", texts["german"]) == (None, "the real text is not English")
    monkeypatch.setattr(catalog, "_MOST_SECONDS", 0)
    assert "would take about" in chosen_prior("auto", texts["english"])[1]


def test_dd_reads_answers_after_their_prompts_and_says_so(prior: str) -> None:
    rng = np.random.default_rng(0)
    words = ["cat", "dog", "sat", "ran", "mat", "on", "the"]
    prompts = [f"prompt {k}" for k in range(60)]
    real = [" ".join(rng.choice(words, 8)) for _ in prompts]
    generated = [" ".join(rng.choice(words[:5], 8)) for _ in prompts]
    plain, given = (dd(generated, real, prior=prior, prompts=asked) for asked in (None, prompts))
    for estimate in (plain, given):
        assert f"prior:{label_of(prior)}" in str(estimate.signature)
    assert "prompts:" not in str(plain.signature)
    assert "prompts:" in str(given.signature)
    assert "language-model" in given.details["alone"]
    ignored = dd(generated, real, prompts=prompts)
    assert "prompts:" not in str(ignored.signature)


def test_prompts_stand_before_the_texts_of_their_group(prior: str) -> None:
    answers = ["sat on the mat", "ran on", "sat on the mat"]
    sides = corpora_from_texts({"texts": answers, "prompts": ["the cat", "the dog"]})
    texts = replace(sides["texts"], groups=np.array([5, 3, 3]))
    prompts = replace(sides["prompts"], groups=np.array([3, 5]))
    found = with_prior(texts, prior, prompts).columns[catalog.MODEL_COLUMN]
    expected = model_columns(prior, answers, ["the dog", "the cat", "the cat"])
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(found[0], found[2])
