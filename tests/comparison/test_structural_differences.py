"""Structural differences: shares and means with intervals, and none where there are none."""

from typing import Any

import pytest

from textassay.comparison.explanation import Explanation, StructuralDifference
from textassay.comparison.explanation_document import structure_statement
from textassay.comparison.structural_differences import structural_differences
from textassay.corpus.corpus import corpora_from_texts
from textassay.resampling.proportions import newcombe_interval
from textassay.seeding import stream

_LISTS = ("more_generated", "more_real", "lengths", "positions", "most_generated", "most_lifelike", "mistaken", "curve")


def document(side: str, number: int, *, opening: str = "", joint: str = "\n", n: int = 60) -> str:
    rng = stream(0, "structural differences", side, number)
    words = [f"w{word}" for word in rng.integers(0, 400, n).tolist()]
    return joint.join([opening + " ".join(words[: n // 2]), " ".join(words[n // 2 :])])


def differences(real: list[str], generated: list[str]) -> dict[str, StructuralDifference]:
    corpora = corpora_from_texts({"real": real, "generated": generated}, tokenizer="whitespace")
    found = structural_differences(corpora["real"], corpora["generated"], level=0.95)
    return {one.trait: one for one in found}


def test_openings_and_lists_are_named_with_their_shares() -> None:
    """Of openings that hold one another, the longest that nine tenths share; the interval is Newcombe's."""
    real = [document("real", number, joint="\n- " if number < 8 else "\n") for number in range(100)]
    generated = [
        document("generated", number, opening="Certainly , here is " if number < 91 else "",
                 joint="\n- " if number < 64 else "\n")
        for number in range(100)
    ]  # fmt: skip
    found = differences(real, generated)
    opening = found["begins with \u201cCertainly , here is\u201d"]
    assert (opening.real, opening.generated) == (0.0, 0.91)
    listed = found["has a bulleted list"]
    assert (listed.real, listed.generated) == (0.08, 0.64)
    interval = newcombe_interval(64, 100, 8, 100, level=0.95)
    assert (listed.low, listed.high) == (interval.low, interval.high)
    assert listed.p_adjusted < 1e-10
    assert structure_statement(listed) == "64.0 % have a bulleted list, real 8.0 %"
    assert structure_statement(opening) == "91.0 % begin with \u201cCertainly , here is\u201d, real 0.0 %"
    assert found["bulleted items"].kind == "mean"
    assert found["bulleted items"].generated == pytest.approx(0.64)
    assert not any("\u201cCertainly\u201d" in trait for trait in found)


def test_lengths_and_repetition_are_means() -> None:
    """Longer documents that say things twice."""
    real = [document("real", number) for number in range(60)]
    generated = [text + "\n" + text for text in (document("generated", number, n=80 + number) for number in range(60))]
    found = differences(real, generated)
    assert found["tokens"].generated == 219
    assert found["tokens"].real == 60
    repeated = found["share of the trigrams of the second half that occur in the first"]
    assert repeated.generated == 1.0
    assert repeated.low > 0.9
    assert structure_statement(found["tokens"]) == "Tokens: 219.0 on average, real 60.0"


def test_equal_documents_have_no_differences() -> None:
    """Nor have those that are all alike."""
    real, generated = ([document(side, number) for number in range(80)] for side in ("real", "generated"))
    assert not differences(real, generated)
    assert not differences(["a\nb"] * 20, ["a\nb"] * 20)


def test_an_explanation_keeps_its_structure_in_json() -> None:
    """And has no such key without one."""
    one = StructuralDifference("has headings", "share", 0.1, 0.5, 0.2, 0.6, 1e-4)
    settings: Any = dict.fromkeys(_LISTS, ())
    explanation = Explanation("x", 0.5, **settings, n_tested=0, level=0.95, rising=None, structure=(one,))
    assert Explanation.from_dict(explanation.to_dict()) == explanation
    plain = Explanation("x", 0.5, **settings, n_tested=0, level=0.95, rising=None)
    assert "structure" not in plain.to_dict()
