"""A folder of results is of one real text and one setting; generators and metrics come and go."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import sentences
from textassay.comparison.measure import check_same_comparison
from textassay.comparison.run import compare
from textassay.corpus.corpus import corpora_from_texts
from textassay.errors import InputError

REAL, FAR, NEAR = sentences(40, 1), sentences(40, 2, shift=0.9), sentences(40, 3)


def run(out: Path, **settings: Any) -> None:
    arguments = {"generated": {"far": FAR}, "metrics": ["length"], "explain": False, **settings}
    comparison = compare(real=arguments.pop("real", REAL), out=out, **arguments)
    check_same_comparison(out, comparison)
    (out / "results.json").write_text(json.dumps(comparison.to_dict()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": 3}, "seed 0, now 3"),
        ({"level": 0.9}, "level 0.95, now 0.9"),
        ({"effort": "quick"}, "effort default, now quick"),
        ({"folds": 3}, "folds 5, now 3"),
        ({"paper": True}, "paper False, now True"),
        ({"lowercase": True}, "tokenizer whitespace, now whitespace[+]lower"),
        ({"max_tokens": 3}, "tokenizer whitespace, now "),
        ({"real": NEAR}, r"[(]real text with the same name and size, 40 texts of real, but different content[)]"),
        ({"real": NEAR[:39]}, "real text 40 texts of real, now 39 texts of real"),
        ({"seed": 3, "real": NEAR}, "seed 0, now 3; real text"),
    ],
)
def test_another_setting_is_refused_before_anything_is_measured(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    run(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    with pytest.raises(InputError, match=message):
        run(tmp_path, **settings)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_other_groups_of_the_same_real_text_are_named(tmp_path: Path) -> None:
    """The same texts, in the same order: what differs is what belongs together."""
    texts = corpora_from_texts({"real": REAL, "far": FAR})
    quarters, halves = (np.arange(40) // size for size in (10, 20))

    def grouped(groups: Any) -> dict[str, Any]:
        sides = {name: replace(corpus, groups=groups) for name, corpus in texts.items()}
        return {"real": sides["real"], "generated": {"far": sides["far"]}}

    for before, now, words in (
        (None, quarters, "now with groups"),
        (quarters, None, "now without groups"),
        (quarters, halves, "now other groups"),
    ):
        folder = tmp_path / words.replace(" ", "-")
        run(folder, **grouped(before))
        run(folder, **grouped(before))
        with pytest.raises(
            InputError, match=rf"[(]the same real text, {words} [(]--group-column, --prompt-column[)][)]"
        ):
            run(folder, **grouped(now))


def test_texts_that_are_kept_as_hashes_are_named_by_their_option(tmp_path: Path) -> None:
    run(tmp_path, train=FAR)
    with pytest.raises(InputError, match=r"other settings [(]with --train before, now without[)]"):
        run(tmp_path)
    with pytest.raises(InputError, match=r"other settings [(]--train of other texts[)]"):
        run(tmp_path, train=NEAR)


def test_generators_metrics_and_other_texts_come_and_go(tmp_path: Path) -> None:
    run(tmp_path)
    run(tmp_path, generated={"near": NEAR, "far": FAR}, metrics=["length", "zipf"], workers=1)
    run(tmp_path, generated={"far": NEAR}, train=sentences(30, 7), real_heldout=sentences(30, 8))


@pytest.mark.parametrize("content", ["", "[]", "{}", "[" * 20_000, '{"seed": null, "real": [], "settings": 3}'])
def test_a_file_that_tells_nothing_forbids_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content)
    run(tmp_path)
