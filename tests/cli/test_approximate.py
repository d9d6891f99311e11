"""The command ``approximate``: what it prints and writes, and what it refuses."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.corpus.text_form import TextForm
from textassay_lab.adversarial.noise_gru import NoiseGru
from textassay_lab.generator.saved import load_model, save_model

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a generator driven by noise, whose weights are random."""
    import torch

    form = TextForm.learn(["abcdefghijklmnopqrstuvwxyz ."], tokenizer="chars")
    model = NoiseGru(8, length=12, ends=False)
    rng = torch.Generator().manual_seed(0)
    shapes = model.shapes(len(form.vocabulary))
    arrays = {name: (0.3 * torch.randn(shape, generator=rng)).numpy() for name, shape in shapes.items()}
    model.restore(arrays, vocabulary=form.vocabulary, tokenizer="chars", record={})
    folder = tmp_path_factory.mktemp("noisy") / "gan"
    save_model(model, folder, form=form)
    return folder


def test_a_language_model_by_lines(folder: Path, models: Path, run: Run) -> None:
    done = run("approximate", models / "lstm", "real.txt", "--json")
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    saved = load_model(models / "lstm")
    lines = (folder / "real.txt").read_text().splitlines()
    corpus = saved.form.corpus(lines)
    exact = -saved.model.log_prob(corpus).sum() / math.log(2) / (len(corpus.tokens) + 300)
    assert found["mode"] == "multinomial"
    assert found["exact"]["bits_per_token"]["value"] == pytest.approx(exact)
    assert found["exact"]["perplexity"]["value"] == pytest.approx(2**exact)
    likelihood = json.loads(run("likelihood", models / "lstm", "real.txt", "--json").stdout)["texts"]["real.txt"]
    told = likelihood["bits_per_character"]["value"]
    assert found["exact"]["bits_per_character"]["value"] == pytest.approx(told)
    assert found["plain"]["bits_per_token"]["value"] > exact
    assert found["corrected"]["bits_per_token"]["value"] == pytest.approx(exact, abs=0.02)
    assert found["window"] is None
    for name in ("plain", "corrected", "exact", "gap", "second_order"):
        assert found[name]["bits_per_token"]["low"] < found[name]["bits_per_token"]["value"]
    table = " ".join(run("approximate", models / "lstm", "real.txt").stdout.split())
    for part in (
        "300 sentences with their ends",
        "expected difference",
        "second-order bias",
        "perplexity",
        "per character",
        "N = 2,000",
    ):
        assert part in table


def test_windows_the_curve_and_its_figures(folder: Path, models: Path, run: Run) -> None:
    lines = (folder / "real.txt").read_text().splitlines()[:100]
    (folder / "some.txt").write_text("\n".join(lines))
    command = ("approximate", models / "chars", "some.txt", "--window", 20, "--curve", "--out", "found")
    done = run(*command)
    assert done.status == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "windows of 20 tokens, each without context" in told
    assert "tokens in none" in told
    assert "requires a change below 0.001" in told
    assert "66.44 bits (floor 1e-20)" in told
    found = json.loads((folder / "found" / "approximation.json").read_text())
    rule = found["rule"]
    assert rule["slope"] == pytest.approx(-1, abs=0.1)
    assert rule["error_slope"] == pytest.approx(-0.5, abs=0.1)
    n_types = len(load_model(models / "chars").form.vocabulary) - 4
    assert found["bound"] == math.floor(math.log(2 * n_types / 1e-2) / 2e-6) + 1
    svg = (folder / "found" / "figures" / "stopping-rule.svg").read_text()
    assert "true error" in svg
    assert "0.001, which the rule requires" in svg
    curve = (folder / "found" / "figures" / "bits-against-draws.svg").read_text()
    for part in ("approximate", "corrected", "exact", "bits per character", "2,000"):
        assert part in curve
    before = (folder / "found" / "approximation.json").read_bytes()
    assert run(*command, "--quiet").stderr == ""
    assert (folder / "found" / "approximation.json").read_bytes() == before


@pytest.mark.feature("LM-03")
def test_the_share_of_zeros_is_printed(folder: Path, models: Path, run: Run) -> None:
    done = run("approximate", models / "chars", "real.txt", "--window", 20, "-n", 20, "--floor", "1e-4", "--json")
    found = json.loads(done.stdout)
    assert 0 < found["zero_share"] < 1
    assert found["zero_bits"] == pytest.approx(found["zero_share"] * math.log2(1e4))
    told = " ".join(run("approximate", models / "chars", "real.txt", "--window", 20, "-n", 20).stdout.split())
    assert f"{100 * found['zero_share']:.2f} % of tokens were never drawn; one costs 66.44 bits" in told


@pytest.mark.feature("LM-11")
@pytest.mark.parametrize("mode", ["onehot", "soft"])
def test_a_generator_without_likelihood_resumes(folder: Path, noisy: Path, run: Run, mode: str) -> None:
    command = ("approximate", noisy, "real.txt", "--window", 7, "-n", 40, "--mode", mode, "--json", "--out", "found")
    done = run(*command, "--curve")
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["mode"], found["exact"], found["gap"]) == (mode, None, None)
    assert (found["second_order"] is None) == (mode == "onehot")
    assert 0 < found["plain"]["bits_per_character"]["value"] < 66.44
    assert found["rule"]["error_slope"] is None
    parts = sorted((folder / "found" / "parts").iterdir())
    assert len(parts) >= 2
    parts[0].unlink()
    kept = parts[1].stat().st_mtime_ns
    again = json.loads(run(*command).stdout)
    assert again["plain"] == found["plain"]
    assert parts[0].exists()
    assert parts[1].stat().st_mtime_ns == kept
    told = " ".join(run(*command[:-3]).stdout.split())
    assert "without context" in told
    assert "exact" not in told


def test_unknown_characters_are_counted_and_said(folder: Path, noisy: Path, run: Run) -> None:
    (folder / "odd.txt").write_text("abc" * 30 + "ÄÖÜ" * 4, encoding="utf-8")
    done = run("approximate", noisy, "odd.txt", "--window", 6, "-n", 20)
    assert done.status == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "11.76 % unknown" in told
    assert "Unknown tokens are scored as <unk>" in told


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("lstm", "gone.txt"), "no file gone.txt"),
        (("lstm", "blank.txt"), "blank.txt is empty"),
        (("lstm", "blank.txt", "--window", 5), "blank.txt is empty"),
        (("lstm", "one.txt"), "one.txt has one line: to read it as running text, add --window T"),
        (("chars", "one.txt", "--window", 500), "fewer than a window of 500 tokens"),
        (("lstm", "real.txt", "-n", 19), "--samples must be at least 20"),
        (("lstm", "real.txt", "--floor", 0), "--floor must be above 0 and at most 1 / samples (0.0005), got 0"),
        (("lstm", "real.txt", "--floor", 0.1), "--floor must be above 0"),
        (("lstm", "real.txt", "--window", 0), "--window must be at least 1"),
        (("lstm", "real.txt", "--context", 3), "--context needs windows of running text"),
        (("lstm", "real.txt", "--mode", "sofd"), "unknown mode 'sofd': did you mean soft?"),
        (
            ("lstm", "real.txt", "--mode", "soft"),
            "mode 'soft' needs a generator driven by noise, and lstm(width=32) is not: use onehot",
        ),
        (("lstm", "real.txt", "--seed", -1), "--seed must be at least 0"),
        (("lstm", "real.txt", "--level", 1), "level must be between 0 and 1"),
        (("nothing", "real.txt"), "no folder"),
        (("gpt2", "one.txt", "--window", 90), "reads at most"),
    ],
)
def test_mistakes(folder: Path, models: Path, refused: Refused, arguments: tuple[object, ...], line: str) -> None:
    (folder / "blank.txt").write_text("\n \n")
    (folder / "one.txt").write_text("a b c " * 40)
    name, *rest = arguments
    assert line in refused("approximate", models / str(name), *rest)


def test_mistakes_with_a_generator_without_likelihood(folder: Path, noisy: Path, refused: Refused) -> None:
    assert "never ends a sentence: add --window T" in refused("approximate", noisy, "real.txt")
    assert "mode 'exact' needs a generator with a softmax, and noise-gru" in refused(
        "approximate", noisy, "real.txt", "--window", 7, "--mode", "exact"
    )


def test_the_same_numbers_at_any_number_of_workers(folder: Path, models: Path, run: Run) -> None:
    command = ("approximate", models / "lstm", "real.txt", "--window", 10, "--json", "--workers")
    one, two = (json.loads(run(*command, n).stdout) for n in (1, 2))
    assert one == two
    assert np.isfinite(one["plain"]["bits_per_token"]["value"])
