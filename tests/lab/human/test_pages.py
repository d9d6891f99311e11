"""Pages of a real-or-fake study, and the file that keeps a study."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay_lab.human.pages import CHECK_TEXT, assign_generators, build_study, side_cues, skipped_blanks
from textassay_lab.human.study import STUDY_FILE, Study, StudyItem, StudyPage, load_study, save_study

REAL = [f"real {number}" for number in range(2_000)]
GENERATED = {f"g{number}": [f"generated {number} {text}" for text in range(150)] for number in range(12)}


@pytest.mark.feature("JJ-16")
def test_the_published_design_3600_texts_on_180_pages() -> None:
    study = build_study(REAL, GENERATED)
    assert len(study.pages) == 180
    texts = [item.text for item in study.items if not item.check]
    assert len(texts) == len(set(texts)) == 3_600  # each text once
    per_page = []
    for page in study.pages:
        checks = [item for item in page.items if item.check]
        assert [check.text for check in checks] == [CHECK_TEXT]
        assert len(page.items) == 21
        authors = Counter(item.generator for item in page.items if not item.check)
        assert authors.pop(None) == 10
        assert set(authors.values()) == {1}  # ten of the twelve, each once
        per_page.append(set(authors))
    assert set(Counter(item.generator for item in study.items).values()) == {150, 1_800 + 180}
    # what stands together is not fixed: each pair of generators shares about 180 * 10 * 9 / (12 * 11) = 123 pages
    pairs = Counter(frozenset((one, other)) for page in per_page for one in page for other in page if one != other)
    assert len(pairs) == 66
    assert max(abs(count / 2 - 122.7) for count in pairs.values()) < 15


def test_slots_are_drawn_evenly() -> None:
    study = build_study(REAL, GENERATED, per_generator=150)
    slots: dict[str, list[int]] = {"check": [], "real": []}
    for page in study.pages:
        for slot, item in enumerate(page.items):
            if item.check:
                slots["check"].append(slot)
            elif item.generator is None:
                slots["real"].append(slot)
    counts = np.bincount(slots["check"], minlength=21)
    assert counts.min() >= 1  # of 8.6 expected
    assert counts.max() <= 22
    counts = np.bincount(slots["real"], minlength=21)
    assert np.abs(counts - 1_800 / 21).max() < 30


def test_a_seed_gives_the_same_study_and_another_another() -> None:
    assert build_study(REAL, GENERATED, seed=4) == build_study(REAL, GENERATED, seed=4)
    assert build_study(REAL, GENERATED, seed=4).pages != build_study(REAL, GENERATED, seed=5).pages


@pytest.mark.parametrize(("n_pages", "per_page", "n_generators"), [(12, 10, 8), (5, 3, 15), (7, 10, 2), (4, 2, 1)])
def test_generators_are_dealt_evenly(n_pages: int, per_page: int, n_generators: int) -> None:
    pages = assign_generators(n_pages, per_page, n_generators, np.random.default_rng(0))
    total = np.zeros(n_generators, dtype=np.int64)
    for page in pages:
        counts = np.bincount(page, minlength=n_generators)
        assert len(page) == per_page
        assert counts.max() - counts.min() <= 1
        total += counts
    assert set(total.tolist()) == {n_pages * per_page // n_generators}


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"per_generator": 151}, OptionError, "any multiple of 5 up to 150"),
        ({"per_generator": 155}, TooFewSentencesError, "g0 has 150 texts: per_generator may be any multiple of 5 up"),
        ({"page_size": 21}, OptionError, "page_size 20 or 22"),
        ({"page_size": 1}, OptionError, "at least 2, got 1"),
        ({"real_per_page": 20}, OptionError, "from 1 to 19, got 20"),
        ({"real_per_page": 14}, TooFewSentencesError, "300 pages need 4,200 real texts, got 2,000: give 2200 more"),
        ({"judgements_per_page": 0}, InputError, "at least 1, got 0"),
    ],
)
def test_what_does_not_fit_is_said_with_numbers_that_do(settings: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build_study(REAL, GENERATED, **settings)


def test_blank_texts_are_passed_over_and_counted() -> None:
    texts = [f"x {number}" for number in range(20)]
    blank = ["", " \t", "\u200b\u00a0", "\x07"]
    study = build_study([*blank[:2], *REAL[:30]], {"a": [*blank, *texts]}, per_generator=20)
    shown = {item.text for item in study.items if item.generator == "a"}
    assert shown == set(texts)
    assert [(side["given"], side["blank"]) for side in (study.settings["real"], study.settings["generators"]["a"])] == [
        (32, 2), (24, 4)]  # fmt: skip
    assert skipped_blanks(study) == [
        "2 of 32 real texts are blank and left out",
        "4 of 24 texts of a are blank and left out",
    ]
    assert skipped_blanks(build_study(REAL, GENERATED)) == []
    # A blank text changes nothing of which others are drawn.
    assert study.pages == build_study(REAL[:30], {"a": texts}, per_generator=20).pages


def test_too_few_that_are_not_blank_are_refused() -> None:
    with pytest.raises(TooFewSentencesError, match="per_generator is 10, but a has 9 texts besides 3 blank ones"):
        build_study(REAL, {"a": ["x"] * 9 + [""] * 3}, per_generator=10, page_size=4)
    with pytest.raises(TooFewSentencesError, match="need 10 real texts, got 9 besides 1 blank one: give 1 more"):
        build_study([*REAL[:9], " "], {"a": ["x"] * 10})
    with pytest.raises(OptionError, match=r"\(a 9 besides 1 blank one, b 10\)"):
        build_study(REAL, {"a": ["x"] * 9 + [""], "b": ["y"] * 10}, page_size=2)
    with pytest.raises(OptionError, match="0 texts of each of 1 generators"):
        build_study(REAL, {"a": [""] * 10})


def test_generators_of_different_sizes_are_refused() -> None:
    with pytest.raises(OptionError, match=r"\(a 20, b 30\): per_generator may be any multiple of 5 up to 20"):
        build_study(REAL, {"a": ["x"] * 20, "b": ["y"] * 30})
    with pytest.raises(OptionError, match="at least one generator"):
        build_study(REAL, {})


def test_instructions_say_only_what_is_so_and_giveaways_are_told() -> None:
    plain = build_study(["A b"] * 10, {"a": ["C d"] * 10}, check_text=None)
    assert "underscores" not in plain.instructions
    assert "lower case" not in plain.instructions
    assert "which answer to choose" not in plain.instructions
    assert side_cues(plain) == []
    marked = build_study(["a __"] * 10, {"a": ["c __"] * 10})
    assert "underscores" in marked.instructions
    assert "lower case" in marked.instructions
    assert "which answer to choose" in marked.instructions
    assert side_cues(marked) == []
    uneven = build_study(["A b"] * 10, {"a": ["c __"] * 10})
    assert "underscores" not in uneven.instructions
    assert "lower case" not in uneven.instructions
    assert [line.partition(",")[0] for line in side_cues(uneven)] == [
        "only real texts have capital letters",
        "only generated texts have words shown as underscores",
    ]


def test_a_text_that_both_sides_have_is_counted() -> None:
    settings = build_study(["same", *REAL[:9]], {"a": ["same", *GENERATED["g0"][:9]]}).settings
    assert settings["generators"]["a"]["also_real"] == 1


def test_a_study_is_kept_whole(tmp_path: Path) -> None:
    study = build_study(REAL[:20], {"\u00e9": ['<b>"\U0001f600\n\\', *GENERATED["g0"][:9]]})
    path = save_study(study, tmp_path / "new" / "study")
    assert load_study(path.parent) == load_study(path) == study
    assert study.fingerprint == load_study(path).fingerprint
    assert [file.name for file in path.parent.iterdir()] == [STUDY_FILE]


def _change(document: dict[str, Any], change: str) -> None:
    page = document["pages"][0]
    if change == "twice":
        page["items"][1]["id"] = page["items"][0]["id"]
    elif change == "number":
        page["items"][0]["text"] = 3
    elif change == "missing":
        del page["items"][0]["check"]
    elif change == "kind":
        document["kind"] = "potato"
    elif change == "format":
        document["format"] = 99
    elif change == "choices":
        page["items"][0]["choices"] = ["a", "b"]
    elif change == "empty":
        document["pages"] = []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("twice", "item ids must be unique, got 1/0"),
        ("number", "damaged"),
        ("missing", "damaged"),
        ("kind", "real-or-fake or next-word, got 'potato'"),
        ("format", "this version"),
        ("choices", "items of the next-word task, and only these, must have choices"),
        ("empty", "at least one page"),
    ],
)
def test_a_damaged_study_is_refused_in_one_line(tmp_path: Path, change: str, message: str) -> None:
    path = save_study(build_study(REAL[:10], {"a": GENERATED["g0"][:10]}), tmp_path)
    document = json.loads(path.read_text())
    _change(document, change)
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=message) as caught:
        load_study(tmp_path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe\x00", "UTF-16"),
        (b"[1]", "not a study"),
        (b'"a"', "not a study"),
        (b'{"a": "\\ud800"}', "lone surrogate"),
    ],
)
def test_what_is_no_study_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / STUDY_FILE).write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_study(tmp_path)


def test_a_folder_without_study_and_choices_without_top() -> None:
    with pytest.raises(InputError, match="no study in nowhere"):
        load_study(Path("nowhere"))
    item = StudyItem("1/0", "a", choices=("b", "c"), top=1)
    study = Study("next-word", "t", "i", (StudyPage("1", (item,)),), 1, 0)
    assert study.items[0].labels == ("0", "1", "2")
    with pytest.raises(InputError, match="top must be from 0 to 1, got 2"):
        replace(study, pages=(StudyPage("1", (replace(item, top=2),)),))
