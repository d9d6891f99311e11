"""A comparison of documents: what is measured, what is left out, and what is said."""

import pytest

import textassay as ta
from textassay.comparison.prefix_curve import prefix_lengths
from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay.metric.catalog import DEFAULT_METRICS, default_metrics
from textassay.seeding import stream


def documents(side: str, n: int = 60) -> list[str]:
    """Return documents of 40 words; those of ``listing`` are lists that open alike."""
    texts = []
    for number in range(n):
        words = [f"w{word}" for word in stream(0, "of documents", side, number).integers(0, 300, 40).tolist()]
        parts = [" ".join(words[first : first + 10]) for first in range(0, 40, 10)]
        texts.append("Certainly !\n- " + "\n- ".join(parts) if side == "listing" else "\n".join(parts))
    return texts


@pytest.fixture(scope="module")
def comparison() -> ta.Comparison:
    return ta.compare(
        {"listing": documents("listing")}, documents("real"), metrics=["dd", "bleu"], effort="quick", folds=2
    )


def test_documents_are_measured_as_such(comparison: ta.Comparison) -> None:
    """The signature, the settings and the explanation say so; a metric of sentences that was named has its warning."""
    assert comparison.settings["unit"] == "document"
    estimate = comparison.result("listing", "dd").estimate
    assert estimate is not None
    assert estimate.signature.settings["unit"] == "document"
    explanation = comparison.explanations[0]
    assert {"begins with \u201cCertainly ! -\u201d", "has a bulleted list"} <= {
        one.trait for one in explanation.structure
    }
    assert [point.n_tokens for point in explanation.prefixes] == [5, 10, 20]
    assert any("but bleu is made for sentences" in warning for warning in comparison.warnings)
    assert "structure" in comparison.to_dict()["explanations"][0]


def test_sentences_are_as_they_were() -> None:
    """No word of units, and the same numbers whether sentences are recognised or named."""
    texts = [" ".join(text.split("\n")) for text in documents("real", 120)]
    recognised, named = (
        ta.compare({"same": texts[60:]}, texts[:60], metrics=["dd"], effort="quick", explain=False, unit=unit)
        for unit in ("auto", "sentence")
    )
    assert "unit" not in recognised.settings
    assert recognised.to_dict() == named.to_dict()
    assert "unit" not in str(recognised.result("same", "dd").estimate)


def test_the_default_metrics_of_documents_leave_out_those_of_sentences() -> None:
    """BLEU and self-BLEU alone."""
    left_out = [name for name in DEFAULT_METRICS if name not in default_metrics(unit="document")]
    assert {name.partition("(")[0] for name in left_out} == {"bleu", "self-bleu"}
    assert default_metrics() == [*DEFAULT_METRICS]


def test_a_unit_that_is_unknown_or_lost_is_refused() -> None:
    """In one line."""
    with pytest.raises(OptionError, match="unknown unit 'page'"):
        ta.compare({"x": ["a"]}, ["b"], unit="page")
    with pytest.raises(OptionError, match="max_tokens"):
        ta.compare({"x": documents("listing", 5)}, documents("real", 5), unit="document", max_tokens=5)


@pytest.mark.parametrize(
    ("n_tokens", "lengths"), [(4, ()), (60, (5, 10, 20, 50)), (2500, (5, 10, 20, 50, 100, 200, 500, 1000, 2000))]
)
def test_prefixes_of_documents_double_or_so(n_tokens: int, lengths: tuple[int, ...]) -> None:
    """All points together read twice what the last one reads, at most about."""
    corpus = Corpus.from_texts(["w " * n_tokens] * 3, tokenizer="whitespace")
    assert prefix_lengths(corpus, corpus, "document") == lengths
    assert sum(lengths) <= 2 * max(lengths, default=0)
