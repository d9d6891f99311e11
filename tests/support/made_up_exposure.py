"""Made-up results of the study of exposure bias: what each run would find is drawn around values that are known."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from made_up import sentences
from textassay.estimate import Estimate, Interval, Signature
from textassay_lab.exposure.bleu import BleuRun
from textassay_lab.exposure.distance import DISTANCES
from textassay_lab.exposure.runs import PrefixRun, summarised
from textassay_lab.exposure.switching import SwitchedSample
from textassay_lab.exposure.translation import TranslationCurve
from textassay_lab.generator.text_likelihood import Quantity
from textassay_lab.papers.exposure_bias.experiment import (
    DATA_MODEL,
    EXPOSURE_PAPER,
    FILES,
    FRESH_SAMPLES,
    RANDOM_LSTM,
    RANDOM_ORACLE,
    SYNTHETIC_MODELS,
    TEST_SET,
    TEXTS,
    ExposureResults,
    TranslationResults,
)
from textassay_lab.papers.exposure_bias.findings import check_findings, check_published
from textassay_lab.papers.exposure_bias.results import exposure_figures, exposure_tables
from textassay_lab.papers.paper import Contest, Network
from textassay_lab.papers.reproduction import Reproduction

LENGTHS = (5, 10, 15, 20, 25, 30)
RATES = (0.05, 0.1, 0.2, 0.3, 0.5)
_SMALL = {"max_epochs": 1, "width": 8}
_SHORT = {"rounds": 1, "iterations": 2, "batch_size": 8}
MICRO = EXPOSURE_PAPER.scales["tiny"].but(
    name="micro", most=dict.fromkeys(FILES), min_count=dict.fromkeys(TEXTS, 1),
    lstm=Network("tiny", _SMALL), transformer_xl=Network("tiny", _SMALL),
    data_model=Network("exposure-512", _SMALL), lstm_512=Network("exposure-512", _SMALL),
    lstm_32=Network("exposure-32", _SMALL), n_bleu=dict.fromkeys(TEXTS, 20), bleu_runs=2, n_drawn=60, n_random=60,
    n_sequences=30, n_damaged=20, runs=2, n_compared=20,
    scratchgan=Contest("tiny", {"width": 8}, _SHORT), cot=Contest("tiny", {"width": 8}, _SHORT),
    rankgan=Contest("tiny", {}, {"rounds": 1, "pretraining_rounds": 1, "negatives": 20, "roll_outs": 1}),
    n_fresh=60, translation=Network("tiny", {"max_epochs": 1}),
    byte_pairs=300, n_held_back=40, precision="float32",
)  # fmt: skip


def make_bleu_runs(
    rng: np.random.Generator,
    *,
    level: float = 0.4,
    ratios: Mapping[str, Sequence[float]],
    lengths: Sequence[int] = LENGTHS,
    n_runs: int = 10,
    error: float = 0.001,
) -> tuple[BleuRun, ...]:
    """Return runs whose EB-bleu of each kind is that of `ratios`, each score with a normal error."""
    runs = []
    for _ in range(n_runs):
        scores = {"data": np.linspace(level, 0.9 * level, len(lengths))}
        scores |= {kind: scores["data"] / np.array(values) for kind, values in ratios.items()}
        noisy = {kind: values + error * rng.normal(size=len(lengths)) for kind, values in scores.items()}
        errors = {kind: np.full(len(lengths), error) for kind in noisy}
        runs.append(BleuRun(tuple(lengths), noisy, errors, 1000, 1000))
    return tuple(runs)


def make_prefix_runs(
    rng: np.random.Generator,
    kind: str,
    rates: Sequence[float],
    *,
    n_runs: int = 3,
    n: int = 200,
    spread: float = 0.1,
    shift: float = 0.0,
) -> tuple[PrefixRun, ...]:
    """Return runs whose CGD at length l is `rates[l]` times 0.4, the lengths of a sequence correlated.

    `shift` is the standard deviation of what all sequences of a run share, as those of models trained anew.
    """
    runs = []
    for _ in range(n_runs):
        own = rng.normal(size=(n, 1)) + rng.normal(size=(n, len(rates)))
        values = 0.4 * np.array(rates) * (1 + shift * rng.normal(size=len(rates))) + spread * own / np.sqrt(2)
        distances = {**dict.fromkeys(map(str, DISTANCES), values), "ties": np.zeros_like(values)}
        runs.append(summarised(distances, kind, range(len(rates)), n_resamples=2))
    return tuple(runs)


def make_synthetic(
    rng: np.random.Generator, rises: Mapping[str, float], *, n_lengths: int = 11, n_runs: int = 3, n: int = 200
) -> dict[str, tuple[PrefixRun, ...]]:
    """Return runs of kinds whose CGD grows, by the last length, by these shares of that after data."""
    shares = np.linspace(0, 1, n_lengths)
    found = {"data": make_prefix_runs(rng, "data", np.ones(n_lengths).tolist(), n_runs=n_runs, n=n)}
    for kind, rise in rises.items():
        found[kind] = make_prefix_runs(rng, kind, (1 + rise * shares).tolist(), n_runs=n_runs, n=n)
    return found


@cache
def make_exposure_results(*, seed: int = 0) -> ExposureResults:
    """Return results that look like the paper's: a little exposure bias, much harm by shuffling and corruption."""
    rng = np.random.default_rng(seed)
    flat: dict[str, list[float]] = {
        "model": [1.015] * 6,
        "shuffled": np.linspace(1.02, 1.06, 6).tolist(),
        "random": np.linspace(1.03, 1.09, 6).tolist(),
    }
    bleu = {
        "wikitext2": {
            "LSTM": make_bleu_runs(rng, ratios=flat),
            "Transformer-XL": make_bleu_runs(rng, level=0.5, ratios=flat),
            "position unigram": make_bleu_runs(rng, level=0.2, ratios=dict.fromkeys(flat, [1.0] * 6), error=0.0003),
        },
        "yelp": {
            "LSTM": make_bleu_runs(rng, ratios={k: v[:4] for k, v in flat.items()}, lengths=(2, 4, 6, 8), n_runs=3)
        },
    }
    corrupted = {f"corrupted:{rate:g}": 0.05 + 2 * rate for rate in RATES}
    damaged = {"model": 0.03, "shuffled": 0.3, "random": 1.5}
    synthetic = {
        "LSTM-512": make_synthetic(rng, {**damaged, **corrupted}, n=10_000),
        "LSTM-32": make_synthetic(rng, damaged, n=10_000),
        RANDOM_ORACLE: make_synthetic(rng, damaged, n=10_000),
    }
    perplexity = {
        model: {text: quantity(value * more) for text, more in ((TEST_SET, 1.0), (FRESH_SAMPLES, 0.8))}
        for model, value in zip((DATA_MODEL, *SYNTHETIC_MODELS), (55.0, 80.0, 120.0), strict=True)
    }
    held_out = {text: {model: quantity(100.0) for model in models} for text, models in bleu.items()}
    forced = (
        SwitchedSample("source", "", "ein Hund"), SwitchedSample("reference", "", "a dog"),
        *(
            SwitchedSample(mode, prefix, " dog runs")
            for mode, prefix in (("NORMAL", ""), ("DATA3", "a dog is"), ("UNREL3", "two men are"), ("RAND3", "x y z"))
        ),
    )  # fmt: skip
    rises = {"ScratchGAN": -0.1, "CoT": 0.01, "RankGAN": 0.015}
    others = {model: make_synthetic(rng, {"model": rise}, n=10_000) for model, rise in rises.items()}
    costs = {RANDOM_LSTM: quantity(5.8), RANDOM_ORACLE: quantity(9.2), "RankGAN": quantity(8.5)}
    return ExposureResults(
        bleu=bleu,
        synthetic=synthetic,
        perplexity=perplexity,
        held_out_perplexity=held_out,
        translation=TranslationResults(
            estimate("translation_bleu", 0.25),
            {name: make_translation_curve(name) for name in ("tv", "js", "greedy")},
            forced,
        ),
        others=others,
        oracle_costs=costs,
    )


def reproduction(results: ExposureResults) -> Reproduction:
    """Return the tables, findings and figures of results."""
    findings = (*check_findings(results), *check_published())
    return Reproduction("Study", {}, exposure_tables(results), findings, figures=tuple(exposure_figures(results)))


def quantity(value: float) -> Quantity:
    """Return a value with an interval of two percent."""
    return Quantity(value, Interval(0.98 * value, 1.02 * value, 0.95, "made up"))


def estimate(name: str, value: float) -> Estimate:
    """Return an estimate with an interval of 0.02."""
    interval = Interval(value - 0.02, value + 0.02, 0.95, "made up")
    return Estimate(name, value, interval, "fraction", "neither", {"n": 100}, Signature({"metric": name}))


def make_translation_curve(distance: str, rate: float = 1.02, error: float = 0.005) -> TranslationCurve:
    """Return a curve with EB-C `rate` at every length."""
    lengths = (1, 5, 10)
    data = np.array([0.3, 0.35, 0.4])

    def intervals(values: np.ndarray) -> tuple[Interval, ...]:
        return tuple(Interval(v - 1.96 * error, v + 1.96 * error, 0.95, "made up") for v in values.tolist())

    rates = np.full(3, rate)
    return TranslationCurve(distance, lengths, (500, 480, 300), data, rate * data, rates, intervals(data),
                            intervals(rate * data), intervals(rates), 0.0)  # fmt: skip


def write_lines(path: Path, lines: list[str]) -> None:
    """Write a file, and the folder it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def long_sentences(n: int, seed: int) -> list[str]:
    """Return sentences of 22 words."""
    words = " ".join(sentences(8 * n, seed)).split()
    return [" ".join(words[22 * k : 22 * (k + 1)]) for k in range(n)]


def write_exposure_texts(folder: Path) -> Path:
    """Write small texts of all four kinds into a folder, and return it."""
    for seed, name in enumerate(("valid.txt", "test.txt")):
        documents = [
            [
                f" = Title {k} = ",
                " ",
                " = = Part = = ",
                *(f" {name[0]}{k} {line} " for line in long_sentences(12, 10 * seed + k)),
            ]
            for k in range(4)
        ]
        write_lines(folder / "wikitext2" / name, [line for document in documents for line in document])
        write_lines(folder / "emnlp_news" / name, long_sentences(120, 50 + seed))
    write_lines(folder / "yelp" / "train.txt", [*long_sentences(80, 60), *long_sentences(10, 60), *sentences(20, 61)])
    for part, n in (("train", 160), ("val", 10), ("test_2016_flickr", 10)):
        lines = sentences(n, len(part))
        write_lines(folder / "multi30k" / f"{part}.en", lines)
        write_lines(folder / "multi30k" / f"{part}.de", [line.upper() for line in lines])
    return folder
