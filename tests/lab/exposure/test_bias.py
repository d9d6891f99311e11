"""CGD, EB-C and accumulated error: example 1 exactly, identities, error bars that agree and intervals that cover."""

import json
import math
import warnings
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from exposure_runs import exact_cgd, measure_runs
from next_word_table import NextWordTable, example_one, random_table
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.errors import InputError, OptionError
from textassay.ngram.model import NgramModel
from textassay_lab.exposure.bias import cgd_curve, eb_c, excess_error
from textassay_lab.exposure.distance import DISTANCES
from textassay_lab.exposure.runs import PrefixRun, measure_run, summarised

FloatArray = npt.NDArray[np.float64]
WORDS = Vocabulary(["x", "y", "z"])


def _run(
    values: FloatArray,
    kind: str = "data",
    *,
    seed: int = 0,
    units: npt.NDArray[np.int64] | None = None,
    n_resamples: int = 100,
) -> PrefixRun:
    """Return the run whose distances are all `values`, shape (N, K)."""
    distances = {**dict.fromkeys(map(str, DISTANCES), values), "ties": np.zeros_like(values)}
    return summarised(distances, kind, range(values.shape[1]), seed=seed, units=units, n_resamples=n_resamples)


@pytest.mark.feature("EB-02")
def test_example_one_exactly() -> None:
    model, data = example_one()
    after_data, after_model = (exact_cgd(model, data, writer, [0, 1]) for writer in (data, model))
    assert after_data["tv"] == pytest.approx([0.4, 0.2], abs=1e-15)
    assert after_model["tv"] == pytest.approx([0.4, 0.36], abs=1e-15)
    assert after_data["js"][1] == pytest.approx(0.0508746, abs=5e-8)
    assert after_model["js"][1] == pytest.approx(0.0915743, abs=5e-8)
    assert (after_data["greedy"] == 0).all()  # the uniform distribution's likeliest word is the lowest id
    assert (after_model["greedy"] == 0).all()


@pytest.mark.feature("EB-03")
def test_example_one_by_sampling() -> None:
    model, data = example_one()
    runs = measure_runs(model, data, ["data", "model"], [1], 20_000, n_runs=3)
    rate = eb_c(runs["data"], runs["model"], "tv")
    assert rate.values[0] == pytest.approx(1.8, abs=0.03)
    assert eb_c(runs["data"], runs["model"], "js").values == pytest.approx(rate.values)
    assert rate.average == pytest.approx(rate.values[0])
    interval = rate.intervals[0]
    assert interval is not None
    assert interval.low < 1.8 < interval.high
    assert runs["data"][0].ties[0] == 1.0
    with pytest.warns(UserWarning, match="undefined where the CGD .greedy. after prefixes of data is 0"):
        assert np.isnan(eb_c(runs["data"], runs["model"], "greedy").values[0])


@pytest.mark.feature("EB-03")
def test_equal_models_have_no_rate_and_data_against_data_is_one() -> None:
    one, other = (random_table(WORDS, seed=seed) for seed in (1, 2))
    same = measure_runs(one, one, ["data", "model"], [0, 1, 2], 100, n_runs=2)
    assert all((cgd_curve(same[kind], "js").values == 0).all() for kind in same)
    with pytest.warns(UserWarning, match="undefined"):
        rate = eb_c(same["data"], same["model"], "tv")
    assert np.isnan(rate.values).all()
    assert rate.intervals[0] is None
    assert rate.to_dict()["values"] == [None] * 3
    runs = measure_runs(one, other, ["data"], [0, 1, 2], 100, n_runs=2)
    assert eb_c(runs["data"], runs["data"], "tv").values == pytest.approx(1.0, abs=1e-15)


@pytest.mark.feature("EB-02")
def test_sampled_runs_agree_with_enumeration() -> None:
    model, data = (random_table(WORDS, seed=seed, name=str(seed)) for seed in (3, 4))
    runs = measure_runs(model, data, ["data", "model"], [0, 1, 3], 4000, n_runs=4)
    for kind, writer in (("data", data), ("model", model)):
        exact = exact_cgd(model, data, writer, [0, 1, 3])
        for name in DISTANCES:
            curve = cgd_curve(runs[kind], name)
            assert curve.values == pytest.approx(exact[name], abs=5e-3 + 5 * float(np.nanmax(curve.sd_runs)))
    lengths = range(4)
    runs = measure_runs(model, data, ["data", "model"], lengths, 4000, n_runs=2)
    of_data, of_model = (exact_cgd(model, data, writer, lengths)["kl"] for writer in (data, model))
    excess = excess_error(runs["data"], runs["model"])
    assert excess.lengths == (1, 2, 3, 4)
    assert excess.values == pytest.approx(of_model.cumsum() / of_data.cumsum() - 1, abs=0.03)
    with pytest.raises(InputError, match="every length from 0"):
        excess_error(*(measure_runs(model, data, ["data", "model"], [1, 2], 10, n_runs=1).values()))


@pytest.mark.feature("EB-07")
def test_deviation_grows_with_the_rate_of_corruption() -> None:
    after = {"x": [0.9, 0.06, 0.04], "y": [0.8, 0.1, 0.1], "z": [0.7, 0.2, 0.1]}
    wrong = {"x": [0.88, 0.07, 0.05], "y": [0.1, 0.8, 0.1], "z": [0.1, 0.1, 0.8]}  # seldom needed, never learnt

    def table(rows: dict[str, list[float]], name: str) -> NextWordTable:
        def chances(prefix: tuple[str, ...]) -> dict[str, float]:
            return dict(zip("xyz", rows.get(prefix[-1] if prefix else "x", rows["z"]), strict=True))

        return NextWordTable(WORDS, chances, name=name)

    model, data = table(wrong, "model"), table(after, "data")
    kinds = ["data", "model", "corrupted:0", "corrupted:0.1", "corrupted:0.4", "corrupted:1"]
    runs = measure_runs(model, data, kinds, [1, 3], 3000, n_runs=1)
    means = [cgd_curve(runs[kind], "tv").values for kind in kinds]
    assert np.array_equal(means[1], means[2])
    assert all((more > less).all() for less, more in pairwise(means[2:]))
    random = measure_run(model, data, "random", [1, 3], 3000)
    assert means[-1] == pytest.approx(random.means["tv"], abs=0.03)


def test_prefixes_of_real_text_are_resampled_in_their_groups() -> None:
    rng = np.random.default_rng(1)
    text = Corpus.from_texts([" ".join(rng.choice(list("abc"), 6)) for _ in range(60)], groups=np.arange(60) // 6)
    model, data = NgramModel(2).fit(text), NgramModel(1).fit(text)
    run = measure_run(model, data, "data", [1, 5], 60, text=text)
    assert (run.n_sequences, run.n_units) == (60, 10)
    mixed = measure_run(model, data, "shuffled", [1, 5], 60, text=text)
    assert mixed.means["tv"][0] == pytest.approx(run.means["tv"][0], abs=1e-12)  # one word has one order
    assert mixed.means["tv"][1] != pytest.approx(run.means["tv"][1], abs=1e-12)


@pytest.mark.feature("EB-15")
def test_curves_are_made_again_from_stored_runs() -> None:
    model, data = (random_table(WORDS, seed=seed, name=str(seed)) for seed in (5, 6))
    runs = measure_runs(model, data, ["data", "model"], [0, 2], 300, n_runs=5)
    stored = json.loads(json.dumps({kind: [run.to_dict() for run in of_kind] for kind, of_kind in runs.items()}))
    again = {kind: [PrefixRun.from_dict(run) for run in of_kind] for kind, of_kind in stored.items()}
    assert np.array_equal(again["model"][3].ties, runs["model"][3].ties)
    rate, same = (eb_c(found["data"], found["model"], "js") for found in (runs, again))
    assert json.dumps(rate.to_dict(), allow_nan=False) == json.dumps(same.to_dict(), allow_nan=False)
    by_hand = np.array([m.means["js"] / d.means["js"] for d, m in zip(runs["data"], runs["model"], strict=True)])
    assert rate.values == pytest.approx(by_hand.mean(axis=0), abs=1e-14)
    assert rate.sd_runs == pytest.approx(by_hand.std(axis=0, ddof=1), abs=1e-14)
    assert rate.average == pytest.approx(by_hand.mean(), abs=1e-14)
    assert rate.average_interval is not None
    assert rate.average_interval.method == "t: over 5 runs"


def _gamma(mean: Sequence[float], n: int, rng: np.random.Generator) -> FloatArray:
    """Return correlated positive distances, shape (n, K)."""
    common = rng.gamma(2.0, 0.5, (n, 1))
    return np.asarray(common * rng.gamma(4.0, 0.25, (n, len(mean))) * np.asarray(mean))


@pytest.mark.feature("EB-15")
def test_error_bars_of_runs_and_of_resamplings_agree() -> None:
    rng = np.random.default_rng(7)
    runs = {
        kind: [_run(_gamma(mean, 800, rng), kind, seed=run) for run in range(60)]
        for kind, mean in (("data", [0.2, 0.3]), ("model", [0.21, 0.33]))
    }
    rate = eb_c(runs["data"], runs["model"], "tv")
    assert rate.values == pytest.approx([1.05, 1.1], abs=0.02)
    assert ((rate.sd_runs / rate.sd_resampled > 1 / 1.3) & (rate.sd_runs / rate.sd_resampled < 1.3)).all()
    one = eb_c(runs["data"][:1], runs["model"][:1], "tv")
    interval = one.intervals[0]
    assert interval is not None
    assert (interval.high - interval.low) / 2 / 1.96 == pytest.approx(float(one.sd_resampled[0]), rel=0.25)
    assert np.isnan(one.sd_runs).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_runs", [1, 5])
def test_intervals_cover(n_runs: int) -> None:
    rng = np.random.default_rng(8)
    truth = {"eb-c": np.array([1.05, 1.1]), "cgd": np.array([0.2, 0.3])}
    hits = {"eb-c": 0, "average": 0, "cgd": 0, "excess": 0}
    n = 300
    for _ in range(n):
        data = [_run(_gamma([0.2, 0.3], 150, rng), n_resamples=2) for _ in range(n_runs)]
        model = [_run(_gamma([0.21, 0.33], 150, rng), "model", n_resamples=2) for _ in range(n_runs)]
        rate, excess = eb_c(data, model, "tv"), excess_error(data, model)
        found = {
            "eb-c": (rate.intervals[1], truth["eb-c"][1]),
            "average": (rate.average_interval, 1.075),
            "cgd": (cgd_curve(data, "tv").intervals[1], truth["cgd"][1]),
            "excess": (excess.intervals[1], 0.54 / 0.5 - 1),
        }
        for name, (interval, value) in found.items():
            assert interval is not None
            hits[name] += interval.low <= value <= interval.high
    assert all(0.9 < count / n < 0.99 for count in hits.values()), hits


def test_overlapping_sequences_are_resampled_together() -> None:
    rng = np.random.default_rng(9)
    units = np.repeat(np.arange(50), 8)
    ratios = []
    for _ in range(200):
        run = _run(_gamma([0.3], 50, rng)[units], units=units)
        ratios.append((run.means["tv"][0], math.sqrt(run.covariances["tv"][0, 0]), run.resampled["tv"].std()))
    table = np.array(ratios)
    assert table[:, 1].mean() == pytest.approx(table[:, 0].std(), rel=0.15)
    assert table[:, 2].mean() == pytest.approx(table[:, 0].std(), rel=0.15)


def test_one_seed_gives_one_result_and_kinds_are_independent() -> None:
    model, data = (random_table(WORDS, seed=seed, name=str(seed)) for seed in (5, 6))
    one, same, other = (measure_run(model, data, "model", [1, 2], 50, seed=seed) for seed in (1, 1, 2))
    assert json.dumps(one.to_dict()) == json.dumps(same.to_dict())
    assert one.means["tv"][0] != other.means["tv"][0]


def test_bad_settings() -> None:
    model, data = example_one()
    for kind in ("dataset", "corrupted", "corrupted:often", "model:0.1"):
        with pytest.raises(OptionError, match="unknown kind of prefixes"):
            measure_run(model, data, kind, [1], 10)
    with pytest.raises(OptionError, match="corruption rate"):
        measure_run(model, data, "corrupted:2", [1], 10)
    with pytest.raises(OptionError, match="n must be at least 1"):
        measure_run(model, data, "data", [1], 0)
    runs = measure_runs(model, data, ["data", "model"], [1], 10, n_runs=2)
    with pytest.raises(InputError, match="each kind of prefix needs the same number of runs"):
        eb_c(runs["data"], runs["model"][:1], "tv")
    with pytest.raises(OptionError, match="distance must be one of tv, js, greedy, kl"):
        cgd_curve(runs["data"], "cosine")  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cgd_curve(runs["data"][:1], "tv")
