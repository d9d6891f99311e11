"""Explanations: they agree with dd, evidence adds up, planted giveaways are found where they were planted."""

import json
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from made_up import sentences, shuffled
from textassay.comparison.explain import explain, explain_generators
from textassay.comparison.explanation import Explanation
from textassay.comparison.learning_curve import learning_curve
from textassay.comparison.measure import EstimateStore
from textassay.comparison.run import compare
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.cross_fitting import cross_fit
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.errors import OptionError, TooFewSentencesError
from textassay.inspection.dependence import Examined
from textassay.metric.discrepancy import dd
from textassay.settings import Measuring

REAL, FAR = sentences(600, 1), sentences(500, 3, shift=0.6)


def _corpora(real: list[str], generated: list[str]) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"real": real, "generated": generated})
    return corpora["real"], corpora["generated"]


@pytest.fixture(scope="module")
def pair() -> tuple[Corpus, Corpus]:
    return _corpora(REAL, FAR)


@pytest.fixture(scope="module")
def explanation(pair: tuple[Corpus, Corpus]) -> Explanation:
    return explain(*pair[::-1], name="far", effort="quick", seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("folds", [1, 3, 5])
def test_the_value_is_that_of_dd(pair: tuple[Corpus, Corpus], folds: int) -> None:
    found = explain(*pair[::-1], folds=folds, seed=7)
    estimate = dd(pair[1], pair[0], folds=folds, seed=7)
    assert found.value == estimate.value
    assert estimate.interval is not None
    last = found.curve[-1]
    assert (last.n_real, last.n_generated, last.value) == (600, 500, estimate.value)
    assert (last.low, last.high) == (estimate.interval.low, estimate.interval.high)


@pytest.mark.parametrize("weighting", ["binary", "tfidf"])
def test_evidence_of_tokens_adds_up_to_the_log_odds(pair: tuple[Corpus, Corpus], weighting: str) -> None:
    real, generated = pair
    judge = LogisticDiscriminator(grid={weighting: (1.0,)}).fit((real, generated), (real, generated))  # type: ignore[dict-item]
    twice = corpora_from_texts({"x": [f"{text} {text}" for text in REAL[:50]]})["x"].with_vocabulary(real.vocabulary)
    for corpus in (generated, twice):
        evidence = judge.token_evidence(corpus)
        assert evidence.shape == (len(corpus.tokens) + 2 * len(corpus),)
        starts = corpus.offsets[:-1] + 2 * np.arange(len(corpus))
        odds = judge.prob_real(corpus)
        assert np.add.reduceat(evidence, starts) == pytest.approx(np.log(odds / (1 - odds)), abs=1e-9)


def test_evidence_stands_at_the_last_token_of_an_ngram() -> None:
    real, generated = _corpora(["a b c d"] * 20, ["a b c e"] * 20)
    judge = LogisticDiscriminator(grid={"binary": (1.0,)}).fit((real, generated), (real, generated))
    evidence = judge.token_evidence(real.take(np.array([0])))
    # Nothing differs before the last word; the end is told by n-grams that hold it, too.
    assert evidence[1:4] == pytest.approx(0, abs=1e-9)
    assert evidence[4] > 0.1
    assert evidence[5] > 0.1


def test_evidence_needs_a_fitted_discriminator(pair: tuple[Corpus, Corpus]) -> None:
    with pytest.raises(OptionError, match="must be fitted"):
        LogisticDiscriminator().token_evidence(pair[0])


@pytest.mark.parametrize(("place", "tenths"), [(0, {0}), (4, {4, 5}), (9, {8, 9})])
def test_the_place_of_a_planted_word_is_found(place: int, tenths: set[int]) -> None:
    rng = np.random.default_rng(place)
    words = rng.integers(0, 30, (2, 300, 10)).astype(str)
    words[1, :200, place] = "planted"
    found = explain(*_corpora(*([" ".join(row) for row in side] for side in words))[::-1], folds=2, halvings=1)
    gaps = [part.evidence_real - part.evidence_generated for part in found.positions]
    assert int(np.argmax(gaps)) in tenths
    assert [part.begin for part in found.positions] == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert found.more_generated[0].ngram == "planted"
    assert all("planted" in example.text for example in found.most_generated)
    assert not any("planted" in example.text for example in found.most_lifelike)


def test_positions_share_out_all_evidence_but_that_of_the_beginning(explanation: Explanation) -> None:
    gap = sum(part.evidence_real - part.evidence_generated for part in explanation.positions)
    assert gap > 0.5  # nats: what tells the two apart, on text that the classifiers did not see


def test_lengths_cover_all_sentences_once(explanation: Explanation, pair: tuple[Corpus, Corpus]) -> None:
    bins = explanation.lengths
    assert sum(part.n_real for part in bins) == 600
    assert sum(part.n_generated for part in bins) == 500
    assert all(one.longest + 1 == other.shortest for one, other in pairwise(bins))
    longest = max(corpus.lengths.max() for corpus in pair)
    assert bins[-1].longest == longest
    for part in bins:
        if part.value is None:
            assert part.low is None
            assert min(part.n_real, part.n_generated) < 30
        else:
            assert part.low is not None
            assert part.high is not None
            assert part.low <= part.value <= part.high


def test_a_difference_among_long_sentences_alone_is_found_there() -> None:
    rng = np.random.default_rng(0)

    def side(long_word: str) -> list[str]:
        texts = [" ".join(rng.integers(0, 20, 4).astype(str)) for _ in range(300)]
        return texts + [" ".join([*rng.integers(0, 20, 9).astype(str), long_word]) for _ in range(300)]

    bins = explain(*_corpora(side("x"), side("y"))[::-1], folds=2, halvings=1).lengths
    assert [(part.shortest, part.longest) for part in bins] == [(4, 4), (5, 10)]
    assert bins[0].high is not None
    assert bins[1].value is not None
    assert bins[0].high < 0.3
    assert bins[1].value > 0.95


def test_examples_are_distinct_and_in_order() -> None:
    found = explain(*_corpora(REAL, FAR[:100] * 4)[::-1], folds=2, halvings=1)
    for examples, sign in ((found.most_generated, 1), (found.most_lifelike, -1), (found.mistaken, 1)):
        assert len({example.text for example in examples}) == len(examples)
        scores = [sign * example.score for example in examples]
        assert scores == sorted(scores)
    assert len(found.most_generated) == len(found.most_lifelike) == 5
    assert 0 < len(found.mistaken) <= 5
    assert {example.text for example in found.mistaken} <= set(REAL)
    assert {example.text for example in found.most_generated} <= set(FAR[:100])


def test_nobody_is_mistaken_where_all_is_told() -> None:
    corpora = _corpora([f"{text} x" for text in REAL], [f"{text} y" for text in FAR])
    found = explain(*corpora[::-1], effort="quick", folds=2)
    assert found.value == 1
    assert found.mistaken == ()
    assert found.rising is False


def test_an_explanation_round_trips(explanation: Explanation) -> None:
    text = json.dumps(explanation.to_dict(), allow_nan=False)
    assert Explanation.from_dict(json.loads(text)) == explanation


def test_groups_are_said_to_be_passed_over() -> None:
    groups = np.repeat(np.arange(40), 5)
    corpora = corpora_from_texts({"real": REAL[:200], "gen": FAR[:200]}, groups={"real": groups, "gen": groups + 1000})
    found = explain(corpora["gen"], corpora["real"], folds=2, halvings=1)
    assert "treat texts as independent" in found.notes[0]
    assert explain(*_corpora(REAL[:200], FAR[:200])[::-1], folds=2, halvings=1).notes == ()


def test_empty_sentences_are_no_trouble() -> None:
    found = explain(*_corpora([*REAL, ""], ["", "", *FAR])[::-1], folds=2, halvings=1)
    assert found.lengths[0].shortest == 0


def test_too_little_text_and_wrong_settings_are_refused(pair: tuple[Corpus, Corpus]) -> None:
    with pytest.raises(TooFewSentencesError, match="at least 50 texts a side"):
        explain(*_corpora(REAL[:49], FAR)[::-1])
    with pytest.raises(OptionError, match="top must be at least 0"):
        explain(*pair[::-1], top=-1)
    with pytest.raises(OptionError, match="level must be between"):
        explain(*pair[::-1], level=1.0)


def test_a_comparison_explains_keeps_and_finds_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generated = {"far": FAR[:200], "shuffled": shuffled(REAL[:200], 0)}
    real = REAL[:200]
    of_dd: dict[str, Any] = {"metrics": ["dd"], "seed": 2, "folds": 3, "effort": "quick"}
    first = compare(generated, real, out=tmp_path, **of_dd)
    assert [found.generator for found in first.explanations] == ["far", "shuffled"]
    alone = compare({"far": generated["far"]}, real, explain=False, **of_dd)
    estimate = alone.result("far", "dd(folds=3)").estimate
    assert estimate is not None
    assert first.explanations[0].value == estimate.value
    monkeypatch.setattr(
        import_module("textassay.comparison.explain"), "judge", lambda *_, **__: pytest.fail("computed again")
    )
    generated["renamed"] = generated.pop("far")
    again = compare(generated, real, out=tmp_path, **of_dd)
    assert {found.generator: found.value for found in again.explanations} == {
        "renamed": first.explanations[0].value,
        "shuffled": first.explanations[1].value,
    }
    for settings in ({"metrics": ["dd"], "explain": False}, {"metrics": ["length"]}):
        assert compare(generated, real, seed=3, effort="quick", **settings).explanations == ()


def test_dd_is_kept_before_its_explanation_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    module = import_module("textassay.comparison.explain")
    monkeypatch.setattr(module, "_explanation", killed)
    with pytest.raises(KeyboardInterrupt):
        compare({"far": FAR[:200]}, REAL[:200], metrics=["dd"], folds=2, effort="quick", out=tmp_path)
    store = EstimateStore(tmp_path / "estimates")
    kept = [store.load(file.stem) for file in (tmp_path / "estimates").glob("*.npz")]
    full, half = sorted((found[0] for found in kept if found is not None), key=lambda one: -one.sizes["n_real"])
    assert full.value == dd(FAR[:200], REAL[:200], folds=2, effort="quick").value
    assert (half.sizes["n_generated"], half.sizes["n_real"]) == (100, 100)


@pytest.mark.parametrize("size", [200, 201])
def test_the_half_of_the_learning_curve_is_the_row_at_the_size_of_the_floor(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cross_fits = Mock(wraps=cross_fit)
    monkeypatch.setattr("textassay.metric.discrepancy.cross_fit", cross_fits)
    found = compare({"far": FAR[:size]}, REAL[:size], metrics=["dd"], folds=2, effort="quick")
    half, matched = found.explanations[0].curve[0], found.result("far", "dd").matched
    assert matched is not None
    assert (half.value, half.n_real, half.n_generated) == (matched.value, size // 2, size - size // 2)
    assert cross_fits.call_count == 3  # all texts, the half, and the floor


def test_too_little_text_has_no_explanation_but_a_reason() -> None:
    corpora = corpora_from_texts({"real": REAL, "few": FAR[:20]})
    found, reasons = explain_generators(
        {"few": Examined.unexamined(corpora["few"], corpora["real"])},
        Measuring().of_dd(),
        seed=0,
        store=EstimateStore(None),
        version="1",
    )
    assert found == ()
    assert reasons == (
        "few: no explanation of what gives it away: dd needs at least 50 texts a side, the generated corpus has 20",
    )


def test_quick_work_halves_the_sample_once() -> None:
    found = compare({"far": FAR}, REAL, metrics=["dd"], effort="quick").explanations[0]
    assert [point.n_real for point in found.curve] == [len(REAL) // 2, len(REAL)]


def test_a_broken_document_counts_as_absent(tmp_path: Path) -> None:
    first = compare({"far": FAR[:200]}, REAL[:200], metrics=["dd"], folds=2, effort="quick", out=tmp_path)
    for path in (tmp_path / "estimates").glob("*.json"):
        path.write_text('{"generator": 1}', encoding="ascii")
    assert (
        compare({"far": FAR[:200]}, REAL[:200], metrics=["dd"], folds=2, effort="quick", out=tmp_path).explanations
        == first.explanations
    )


@pytest.mark.parametrize("folds", [1, 5])
def test_one_length_has_the_interval_of_dd(folds: int) -> None:
    words = np.random.default_rng(0).integers(0, 30, size=(800, 6)).astype(str)
    texts = [" ".join(row) for row in words]
    corpora = corpora_from_texts({"real": texts[:400], "generated": texts[400:]})
    (only,) = explain(corpora["generated"], corpora["real"], folds=folds, halvings=1).lengths
    interval = dd(corpora["generated"], corpora["real"], folds=folds).interval
    assert interval is not None
    assert (only.low, only.high) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_the_learning_curve_is_that_of_the_effort(pair: tuple[Corpus, Corpus]) -> None:
    for effort in ("quick", "default"):
        curve = learning_curve(*pair, Measuring(effort=effort, folds=2).of_dd(), halvings=1)
        assert explain(*pair[::-1], effort=effort, folds=2, halvings=1).curve == curve.points


def test_explanations_with_other_log_probabilities_are_kept_apart(tmp_path: Path) -> None:
    corpora = corpora_from_texts({"real": REAL, "far": FAR})
    store = EstimateStore(tmp_path)

    def value(gap: float) -> float:
        real, far = (
            replace(corpora[name], columns={"log_probs/far": np.linspace(-9, -5, len(corpora[name])) - step})
            for name, step in (("real", 0.0), ("far", gap))
        )
        (found,), _ = explain_generators(
            {"far": Examined.unexamined(far, real)},
            Measuring(effort="quick", folds=2).of_dd(),
            seed=0,
            store=store,
            version="1",
        )
        return found.value

    assert value(9.0) > value(0.0)


def test_explanations_of_other_settings_are_kept_apart(tmp_path: Path) -> None:
    corpora = corpora_from_texts({"real": REAL[:200], "far": FAR[:200]})
    store = EstimateStore(tmp_path)

    def high(level: float, halvings: int) -> tuple[float | None, int]:
        (found,), _ = explain_generators(
            {"far": Examined.unexamined(corpora["far"], corpora["real"])},
            Measuring(effort="quick", folds=2, level=level).of_dd(),
            seed=0,
            halvings=halvings,
            store=store,
            version="1",
        )
        return found.curve[-1].high, len(found.curve)

    assert len({high(0.95, 1), high(0.8, 1), high(0.95, 2)}) == 3


def test_of_much_text_linear_classifiers_see_a_drawn_part(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = explain(FAR, REAL, effort="quick")
    monkeypatch.setattr(import_module("textassay.comparison.explain"), "MOST_LINEAR", 150)
    found = explain(FAR, REAL, effort="quick")
    assert found.value == whole.value
    assert found.lengths == whole.lengths
    assert found.prefixes != whole.prefixes
    assert found.positions != whole.positions
    assert whole.notes == ()
    assert "were measured on 150 drawn texts of each side" in found.notes[0]
