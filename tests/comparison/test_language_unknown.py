"""Where dd starts from nothing on long English texts, a comparison says so."""

from typing import Any

import pytest

import textassay as ta
from made_up import sentences
from textassay.inspection.finding import LANGUAGE_UNKNOWN

ENGLISH = "and it was as the cat that is in the house of a king who was with his son on the way to it "
OTHER = "und es war wie die Katze im Haus eines Konigs der mit seinem Sohn auf dem Weg dahin war und "


def compared(text: str, words: int, **options: Any) -> Any:
    real, generated = ([f"{text * (words // 24 + 1)}{line}" for line in sentences(60, seed)] for seed in (1, 2))
    return ta.compare({"g": generated}, real, effort="quick", explain=False, independent=True, **options)


@pytest.mark.parametrize(
    ("text", "words", "metrics", "told"),
    [
        (ENGLISH, 60, ["dd"], True),
        (OTHER, 60, ["dd"], False),
        (ENGLISH, 1, ["dd"], False),
        (ENGLISH, 60, ["length"], False),
    ],
)
def test_long_english_texts_alone_are_told(text: str, words: int, metrics: list[str], told: bool) -> None:
    comparison = compared(text, words, metrics=metrics)
    assert (LANGUAGE_UNKNOWN in [finding.kind for finding in comparison.findings]) == told
    page = " ".join(str(comparison).split())
    assert ("--prior smollm2 adds a language model" in page) == told
