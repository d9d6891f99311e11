"""What is planted is found, beside held-out text that is not; what is shown of it; and what is refused."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import textassay as ta
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay.leakage.passages import differing
from textassay.report.page import to_html

SECRET = "please write to anna@example.org before noon , she has the keys of the house ."


def texts(n: int, seed: int) -> list[str]:
    """Return texts of 5 to 15 words, in which short ones are common property."""
    rng = np.random.default_rng(seed)
    short = ["great food and service .", "i love this place .", "we will be back soon ."]
    words = [f"w{k}" for k in range(400)]
    return [
        short[rng.integers(3)] if rng.random() < 0.1 else " ".join([*rng.choice(words, rng.integers(8, 15)), "."])
        for _ in range(n)
    ]


TRAIN = [*texts(3000, 1), SECRET]
REAL, OWN = texts(1500, 2), texts(1500, 3)
LONG = [text for text in TRAIN if len(text.split()) > 9]


def nearly(text: str) -> str:
    tokens = text.split()
    return " ".join([*tokens[:4], "another", *tokens[5:]])


LEAKY = [*OWN[:1400], *LONG[:50], *map(nearly, LONG[50:99]), SECRET]
SIDES: Mapping[str, list[str]] = {"own": OWN, "leaky": LEAKY}


@pytest.fixture(scope="module")
def found() -> Any:
    return ta.leaks(SIDES, REAL, train=TRAIN)


def test_a_generator_with_copies_has_an_excess_and_one_without_has_none(found: Any) -> None:
    own, leaky = found.generators
    assert (own.verdict, leaky.verdict, found.status) == ("no excess", "excess", 1)
    assert own.excesses["copies"].count_generated > 100  # which real text has, too
    assert leaky.excesses["near copies"].count_generated == 100
    assert leaky.n_sources["near copies"] == 100
    assert leaky.excesses["near copies"].interval.low > 0.05
    assert set(leaky.significant) >= {"copies", "near copies"}
    assert ta.leaks(OWN, REAL, train=TRAIN).status == 0


def test_repeats_of_one_text_are_one_training_text() -> None:
    (one,) = ta.leaks([*OWN, *[SECRET] * 60], REAL, train=TRAIN).generators
    assert one.excesses["near copies"].count_generated == 60
    assert one.n_sources["near copies"] == 1


def test_passages_are_side_by_side_longest_first_and_masked(found: Any) -> None:
    ours = [passage for passage in found.passages if passage.generator == "leaky"]
    assert len(ours) == 100
    assert [one.n_shared for one in ours] == sorted((one.n_shared for one in ours), reverse=True)
    secret = next(one for one in ours if "house" in str(one.generated))
    assert (
        secret.generated
        == secret.training
        == (("please write to [e-mail] before noon , she has the keys of the house .", False),)
    )
    assert LEAKY[secret.generated_line - 1] == TRAIN[secret.training_line - 1] == SECRET
    near = next(one for one in ours if one.n_edits == 1)
    assert [text.strip() for text, is_other in near.generated if is_other] == ["another"]
    shown = ta.leaks(SIDES, REAL, train=TRAIN, show_personal=True)
    assert any("anna@example.org" in str(one.generated) for one in shown.passages)


def test_personal_data_is_counted_beside_held_out_text(found: Any) -> None:
    own, leaky = found.generators
    assert (own.personal_data.n_texts, leaky.personal_data.n_texts, leaky.personal_data.n_real_texts) == (0, 1, 0)
    assert leaky.personal_data.kinds == {"e-mail": 1}


def test_nothing_written_holds_personal_data(found: Any) -> None:
    document = ta.document(found)
    assert "anna@" not in json.dumps(found.to_dict()) + json.dumps(document.to_dict()) + to_html(document) + str(found)
    assert "leaky repeats more of the training text" in str(found)
    assert "<mark>another" in to_html(document)


def test_few_held_out_texts_cannot_tell() -> None:
    found = ta.leaks(OWN, REAL[:80], train=TRAIN)
    (one,) = found.generators
    assert (one.verdict, found.status) == ("unknown", 3)
    assert one.texts_needed is not None
    n, _ = one.texts_needed
    assert 300 < n < 4000
    assert "inconclusive" in str(found)
    assert ta.leaks(texts(n, 8), texts(n, 9), train=TRAIN).status == 0


def test_held_out_text_that_is_training_text_is_refused_or_warned_of() -> None:
    with pytest.raises(InputError, match="100 % of the held-out text occurs in the training text"):
        ta.leaks(OWN, LONG[:500], train=TRAIN)
    found = ta.leaks(OWN, [*REAL[:700], *LONG[:300]], train=TRAIN)
    assert any("may be training text, which hides leaks" in text for text in found.warnings)


def test_lengths_that_the_control_does_not_have_are_told() -> None:
    found = ta.leaks([f"{text} {text}" for text in OWN], REAL, train=TRAIN)
    assert any("shorter or longer than nearly all held-out texts" in text for text in found.warnings)


def test_texts_that_hang_together_are_tested_in_groups() -> None:
    grouped = [text for text in REAL[:400] for _ in range(2)]
    found = ta.leaks(OWN, grouped, train=TRAIN)
    assert "copied nearly word by word" in found.dependence or "occur exactly twice" in found.dependence
    assert ta.leaks(OWN, grouped, train=TRAIN, independent=True).dependence == ""


def test_canaries_are_ranked_among_texts_that_were_never_planted() -> None:
    rng = np.random.default_rng(5)
    planted = [f"my code is {rng.integers(10**9)} {rng.integers(10**9)}" for _ in range(30)]
    controls = [f"my code is {rng.integers(10**9)} {rng.integers(10**9)}" for _ in range(30)]
    generated = [*OWN, *planted[:12], "she said my code is"]
    found = ta.leaks(generated, REAL, train=[*TRAIN, *planted[:29]], canaries=planted, canary_controls=controls)
    (one,) = found.generators
    assert found.canaries_in_train == 29
    written: Any = one.canaries
    assert (written.n_whole, written.n_controls_whole) == (12, 0)
    assert [canary.n_shared for canary in written.canaries] == [5] * 12 + [3] * 18
    assert written.p_value < 0.01
    assert "canaries" in one.significant
    unplanted = ta.leaks(OWN, REAL, train=[*TRAIN, *planted], canaries=planted, canary_controls=controls)
    written = unplanted.generators[0].canaries
    assert written.p_value > 0.5
    assert "29 of 30 occur in the training text" in str(found)


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(EmptyCorpusError, match="no text has a token"):
        ta.leaks(["", " "], REAL, train=TRAIN)
    with pytest.raises(OptionError, match="level must be between 0 and 1"):
        ta.leaks(OWN, REAL, train=TRAIN, level=1.5)
    with pytest.raises(OptionError, match="give both, or leave the controls out"):
        ta.leaks(OWN, REAL, train=TRAIN, canary_controls=["a b"])


def test_empty_texts_are_not_counted() -> None:
    found = ta.leaks(["", *OWN], REAL, train=["", *TRAIN])
    assert found.generators[0].n_texts == 1500
    assert found.generators[0].excesses["copies"].n_generated == 1500
    assert any("1 of 1,501 texts have no token" in text for text in found.warnings)


def test_any_number_of_threads_gives_the_same() -> None:
    from textassay.execution.threads import workers

    with workers(2):
        two = ta.leaks(SIDES, REAL, train=TRAIN)
    assert two.to_dict() == ta.leaks(SIDES, REAL, train=TRAIN).to_dict()


def test_of_long_texts_what_is_around_the_run_is_shown() -> None:
    rng = np.random.default_rng(6)
    document = [" ".join(f"u{k}" for k in rng.integers(5000, size=400)) for _ in range(40)]
    mine = " ".join([*(f"v{k}" for k in range(300)), *document[7].split()[100:140], *(f"v{k}" for k in range(200))])
    (passage,) = ta.leaks([mine], document[20:], train=document[:20]).passages
    assert passage.n_shared == 40
    shared = [text for text, is_other in passage.generated if not is_other]
    assert sum(len(text.split()) for text in shared) >= 40
    assert sum(len(text.split()) for text, _ in passage.generated) <= 82


def test_letters_are_compared_as_tokens_are() -> None:
    words = ["The ", "cat"], ["the ", "cat"]
    assert differing(*words, ignore_case=True) == ((("The cat", False),), (("the cat", False),))
    assert differing(*words, ignore_case=False)[0] == (("The ", True), ("cat", False))
