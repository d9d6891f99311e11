"""The command ``discrepancy`` against enumeration, for models opened as the command opens them."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabled import all_sentences
from textassay.cli.main import main
from textassay_lab.cli.models import open_model
from textassay_lab.generator.saved import load_model
from textassay_lab.generator.scored import AsDrawn

Run = Callable[..., Any]
Refused = Callable[..., str]

EVERYTHING = all_sentences(("a", "b", "c", "d", "<unk>"), 3)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models of three tokens at most: ``p`` knows a, b and c; ``q`` and ``lstm`` a, b and d."""
    root = tmp_path_factory.mktemp("small")
    for side, text in (("p", "a b a\nb a c\na a b\nb\na c\n"), ("q", "a b\nd a\nb b a\na\na a a\n")):
        for name, times in ((f"{side}.txt", 8), (f"{side}-valid.txt", 7)):
            (root / name).write_text(text * times)
    for name, side, *model in (
        ("p", "p", "ngram", "--order", "2"),
        ("q", "q", "ngram", "--order", "1"),
        ("lstm", "q", "lstm", "--preset", "tiny", "--epochs", "2"),
    ):
        texts = ["--real", root / f"{side}.txt", "--valid", root / f"{side}-valid.txt", "--max-tokens", 3]
        assert (
            main(["train", *model, *map(str, texts), "--out", str(root / name), "--quiet", "--json", "--workers", "1"])
            == 0
        )
    return root


def _enumerated(folder: Path, names: tuple[str, str], temperatures: tuple[float, float] = (1.0, 1.0)) -> float:
    probabilities = []
    for name, temperature in zip(names, temperatures, strict=True):
        saved = load_model(folder / name)
        drawn = AsDrawn(saved.model, saved.form.vocabulary, temperature=temperature, max_length=3)
        probabilities.append(np.exp(drawn.log_prob(EVERYTHING)))
        assert probabilities[-1].sum() == pytest.approx(1, abs=1e-5)
    return float(np.abs(probabilities[0] - probabilities[1]).sum() / 2)


@pytest.mark.feature("DD-02")
@pytest.mark.feature("DD-03")
@pytest.mark.parametrize("names", [("p", "q"), ("p", "lstm")])
def test_estimators_agree_with_each_other_and_with_enumeration(small: Path, run: Run, names: tuple[str, str]) -> None:
    done = run("discrepancy", *(small / name for name in names), "-n", 20_000, "--json")
    assert (done.status, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    truth = _enumerated(small, names)
    assert found["agrees"]
    assert found["disagreement"] < 4
    for estimator in ("discrepancy", "ratio", "sign"):
        told = found[estimator]
        assert abs(told["value"] - truth) < 2 * (told["high"] - told["low"]), estimator  # four standard errors
    assert 0.05 < truth < 0.95


def test_temperatures_are_of_each_side(small: Path, run: Run) -> None:
    found = json.loads(
        run("discrepancy", small / "p", small / "q", "-n", 20_000, "--temperature-p", 0.6, "--json").stdout
    )
    assert found["discrepancy"]["value"] == pytest.approx(_enumerated(small, ("p", "q"), (0.6, 1.0)), abs=0.02)


def test_words_of_one_side_alone_are_never_drawn_by_the_other(small: Path, run: Run) -> None:
    found = json.loads(run("discrepancy", small / "p", small / "q", "-n", 5_000, "--json").stdout)
    assert found["p"]["foreign_share"] > 0.1
    assert found["q"]["foreign_share"] > 0.05


def test_one_model_twice(small: Path, run: Run) -> None:
    found = json.loads(run("discrepancy", small / "lstm", small / "lstm", "-n", 500, "--json").stdout)
    assert found["discrepancy"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert found["p"]["cut_share"] != found["q"]["cut_share"], "both sides drew the same sentences"
    trained_alike = json.loads(
        run("discrepancy", small / "p", small / "p", "-n", 500, "--temperature-q", 1.0001, "--json").stdout
    )
    assert trained_alike["discrepancy"]["value"] < 1e-3


def test_table_and_files(folder: Path, small: Path, run: Run) -> None:
    done = run("discrepancy", small / "p", small / "q", "-n", 200, "--out", "report")
    told = " ".join(done.stdout.split())
    for part in ("both sides", "read this", "ratio", "sign", "The estimators agree", "200 sentences of ngram(order=2)",
                 "reach 3 tokens, where both are cut", "the other never draws"):  # fmt: skip
        assert part in told
    assert "wrote discrepancy.json, log-ratios.npz, discrepancy.md, " in done.stderr
    document = json.loads((folder / "report" / "discrepancy.json").read_text())
    with np.load(folder / "report" / "log-ratios.npz") as ratios:
        value = (np.abs(np.tanh(ratios["p"] / 2)).mean() + np.abs(np.tanh(ratios["q"] / 2)).mean()) / 2
    assert document["discrepancy"]["value"] == pytest.approx(value)


def test_the_seed_decides(small: Path, run: Run) -> None:
    first, again, other = (
        json.loads(run("discrepancy", small / "p", small / "q", "-n", 300, "--seed", seed, "--json").stdout)["sign"][
            "value"
        ]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_models_must_see_text_alike(models: Path, refused: Refused) -> None:
    message = refused("discrepancy", models / "ngram", models / "chars", "-n", 10)
    assert "the two models see text differently" in message
    assert "'whitespace'" in message
    assert "'chars'" in message


def _pretrained(folder: Path, seed: int) -> Path:
    """Save a GPT-2 of random weights that knows three words."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    core = Tokenizer(models.WordLevel({"<end>": 0, "a": 1, "b": 2, "c": 3}, unk_token="<end>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<end>").save_pretrained(folder)
    config = transformers.GPT2Config(
        vocab_size=4, n_positions=4, n_embd=8, n_layer=1, n_head=1, bos_token_id=None, eos_token_id=0,
        initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("default:.*were cut at:UserWarning")
def test_pretrained_models_against_enumeration(folder: Path, run: Run) -> None:
    names = [f"pretrained:{_pretrained(folder / name, seed)}" for name, seed in (("one", 1), ("two", 2))]
    found = json.loads(run("discrepancy", *names, "-n", 4_000, "--json").stdout)
    assert found["max_length"] == 3
    probabilities = []
    for name in names:
        opened = open_model(name)
        everything = opened.form.corpus([" ".join(s) for n in range(4) for s in product("abc", repeat=n)])
        drawn = AsDrawn(opened.model, opened.form.vocabulary)
        probabilities.append(np.exp(drawn.log_prob(everything)))
        assert probabilities[-1].sum() == pytest.approx(1, abs=1e-5)
    truth = np.abs(probabilities[0] - probabilities[1]).sum() / 2
    for estimator in ("discrepancy", "ratio", "sign"):
        told = found[estimator]
        assert abs(told["value"] - truth) < 2 * (told["high"] - told["low"]), estimator
    (folder / "two.txt").write_text("a b\nc\n")
    lines = run("sample", names[0], "-n", 50).stdout.splitlines()
    assert len(lines) == 50
    assert {word for line in lines for word in line.split()} <= set("abc")
    assert json.loads(run("likelihood", names[0], "two.txt", "--json").stdout)["texts"]["two.txt"]["n_tokens"] == 3


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("-n", "1"), "--sentences must be at least 2, got 1"),
        (("--level", "0"), "level must be between 0 and 1"),
        (("--seed", "-1"), "--seed must be at least 0"),
        (("--temperature-p", "0"), "--temperature-p must be above 0, got 0"),
        (("--temperature-q", "inf"), "--temperature-q must be above 0, got inf"),
        (("--out", "real.txt/x"), "cannot write into real.txt/x"),
    ],
)
def test_mistakes(models: Path, refused: Refused, arguments: tuple[str, ...], line: str) -> None:
    assert line in refused("discrepancy", models / "ngram", models / "lstm", *arguments)
