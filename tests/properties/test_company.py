"""What a comparison says of a generator depends on the real text, its own text and the settings, on nothing else.

Every metric of the catalogue and every discriminator: value, interval, details, value at the floor's size and floor are
equal to the bit alone, beside others of any size and vocabulary, in any order, and after resuming in a folder.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import sentences, shuffled
from textassay.comparison.comparison import FLOOR, TRAIN, Comparison
from textassay.comparison.run import compare
from textassay.discriminator.catalog import DISCRIMINATORS
from textassay.metric.catalog import CATALOG, GROUPS, default_metrics, parse_metric

pytestmark = pytest.mark.usefixtures("stand_in_model")
N = 80
DETECTORS = GROUPS["detectors"]  # which need a model to be named
METRICS = (
    "dd(folds=2)",
    *default_metrics(("train", "log-probs", "ratings"))[1:],
    *(name if name in DETECTORS else parse_metric(name).name for name in CATALOG if CATALOG[name].only_named),
)
# Those that learn from the training text itself: a setting of theirs, which shows in their signature.
OF_TRAIN = ("memorization", "bleu-train(order=4)", "dd(folds=2)")  # whose value depends on it
SLOW = (
    "boosted-trees",
    "cnn",
    "cnn-lstm",
    "cnn-paper",
    "cnn-paper-120",
    "lstm",
    "ngram-network",
    "random-forest",
    "transformer",
)


def with_rare_words(texts: list[str], seed: int) -> list[str]:
    """Return the texts, each with a word that is rare or unknown elsewhere, some with words of special meaning."""
    rare = np.random.default_rng(seed).zipf(1.6, len(texts))
    return [
        f"r{word} {text}" + (" <unk>" if i % 9 == 0 else "")
        for i, (word, text) in enumerate(zip(rare, texts, strict=True))
    ]


REAL = with_rare_words(sentences(N, 1), 1)
OWN = with_rare_words(sentences(N - 10, 2, shift=0.4), 2)
SMALL = with_rare_words(sentences(30, 5), 9)
LIKE = with_rare_words(shuffled(sentences(N + 20, 7, shift=0.2), 3), 4)
STRANGE = [" ".join(f"x{i}y{j}" for j in range(i % 7 + 1)) + " <pad> <unk> Ünder" for i in range(2 * N)]
TRAINED_ON = with_rare_words(sentences(N, 6), 5) + OWN[:20] + [f"only{i} there" for i in range(50)]
HELD_OUT = with_rare_words(sentences(N, 8), 6) + [f"held{i} out" for i in range(30)]

COMPANIES: Mapping[str, Mapping[str, list[str]]] = {
    "a few sentences, before": {"other": SMALL, "own": OWN},
    "both sides": {"other": STRANGE, "own": OWN, "small": SMALL, "like": LIKE},
}


def beside(generated: Mapping[str, list[str]], seed: int) -> dict[str, tuple[Any, Any]]:
    """Return a number a sentence, of both sides, that a generator's name and its own text decide."""
    found = {}
    for name, texts in generated.items():
        rng = np.random.default_rng([seed, len(name), len(texts)])
        real = -np.round(9 * rng.random(N), 1)
        found[name] = (-np.round(9 * rng.random(len(texts)), 1), real)
    return found


def run(generated: Mapping[str, list[str]], **settings: Any) -> Comparison:
    metrics = [name for name in METRICS if "train" in settings or "train" not in CATALOG[name.split("(")[0]].needs]
    return compare(
        generated,
        REAL,
        **{
            "metrics": metrics,
            "log_probs": beside(generated, 1),
            "ratings": beside(generated, 2),
            "explain": False,
            "effort": "quick",
            **settings,
        },
    )


def rows(document: dict[str, Any], name: str = "own") -> dict[str, Any]:
    """Return all that a comparison's document says of one row, by metric."""
    return {result["metric"]: result for result in document["results"] if result["generator"] == name}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def alone(folder: Path) -> dict[str, Any]:
    return run({"own": OWN}, out=folder).to_dict()


@pytest.fixture(scope="module")
def in_company(folder: Path, alone: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return documents of comparisons with others: one by itself, one that goes on in the folder of the first."""
    before, sides = COMPANIES
    return {before: run(COMPANIES[before]).to_dict(), sides: run(COMPANIES[sides], out=folder).to_dict()}


@pytest.fixture(scope="module")
def beside_references() -> dict[str, Any]:
    return run(COMPANIES["both sides"], real_heldout=HELD_OUT, train=TRAINED_ON).to_dict()


@pytest.mark.parametrize("metric", [name for name in METRICS if "train" not in CATALOG[name.split("(")[0]].needs])
def test_a_value_does_not_depend_on_its_company(
    alone: dict[str, Any], in_company: dict[str, dict[str, Any]], beside_references: dict[str, Any], metric: str
) -> None:
    for row in ("own", FLOOR):
        expected = rows(alone, row)[metric]
        assert expected["value"] is not None or (row, metric) == (FLOOR, "huse")
        for company in in_company.values():
            assert rows(company, row)[metric] == expected
        if metric not in OF_TRAIN:
            assert rows(beside_references, row)[metric] == expected


def test_training_text_gives_the_same_in_any_company(beside_references: dict[str, Any]) -> None:
    own = run({"own": OWN}, train=TRAINED_ON).to_dict()
    for row in ("own", FLOOR, TRAIN):
        assert rows(beside_references, row) == rows(own, row)
    assert all(rows(own)[metric]["value"] is not None for metric in METRICS)


def test_a_folder_gives_back_what_it_holds_with_fewer_generators(
    folder: Path, alone: dict[str, Any], in_company: dict[str, dict[str, Any]]
) -> None:
    kept = {path: path.stat().st_mtime_ns for path in folder.rglob("*.npz")}
    assert run({"own": OWN}, out=folder).to_dict() == alone
    assert rows(run({"like": LIKE, "own": OWN}, out=folder).to_dict(), "like") == rows(in_company["both sides"], "like")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.npz")} == kept


def test_explanations_do_not_depend_on_their_company() -> None:
    found = [
        run(generated, metrics=["dd"], explain=True, folds=2).explanations
        for generated in ({"own": OWN}, COMPANIES["both sides"])
    ]
    assert found[0][0] == next(each for each in found[1] if each.generator == "own")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in DISCRIMINATORS
        if name not in ("transformer-pretrained", "vectors")  # as others, but for what they learn from first, or read
    ],
)
def test_no_discriminator_sees_other_generators(name: str) -> None:
    pytest.importorskip({"xgboost": "xgboost", "ngram-network": "torch"}.get(name, "numpy"))
    generated = {"own": OWN[:60]}
    settings = {
        "metrics": [f"dd(discriminator={name},folds=2)"],
        "log_probs": None,
        "ratings": None,
        "prior": "smollm2" if name == "language-model" else None,
    }
    expected = rows(run(generated, **settings).to_dict())
    assert rows(run({"other": STRANGE[:50], **generated, "small": SMALL}, **settings).to_dict()) == expected
