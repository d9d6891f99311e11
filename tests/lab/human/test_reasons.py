"""Comments coded into groups of reasons: comments made up for this test, each with the groups it belongs to."""

from pathlib import Path

import pytest

from textassay.errors import InputError
from textassay_lab.human.judgements import Comment
from textassay_lab.human.mechanical_turk import read_mechanical_turk
from textassay_lab.human.reasons import code_comments, read_reasons

LABELLED = {
    "Awful grammar throughout.": {"grammar"},
    "Full of typos and misspelled names": {"grammar"},
    "the gramar is off": {"grammar"},
    "Commas and other punctuation in odd places": {"grammar"},
    "Verbs were in the wrong tense": {"grammar"},
    "Reads like it was translated by a tool": {"grammar"},
    "Too vague to be useful": {"vague"},
    "It could apply to any gadget at all": {"vague"},
    "Hardly anything specific; so generic!": {"vague"},
    "They lacked real details": {"vague"},
    "Didn\u2019t go into detail about the plot": {"vague"},
    "just superficial praise": {"vague"},
    "Odd word choices": {"words"},
    "No slang anywhere": {"words"},
    "It was phrased like nobody would": {"words"},
    "a person would never say that": {"words"},
    "The wording is peculiar": {"words"},
    "does not sound natural": {"words"},
    "It didn't make any sense": {"logic"},
    "Complete gibberish": {"logic"},
    "didnt flow": {"logic"},
    "The thoughts were jumbled": {"logic"},
    "Incoherent from start to finish": {"logic"},
    "I could not understand the point": {"logic"},
    "choppy and disjointed": {"logic"},
    "it contradicts itself": {"contradiction"},
    "First it praises, then says the opposite": {"contradiction"},
    "The two halves were inconsistent": {"contradiction"},
    "Conflicting statements": {"contradiction"},
    "No emotion at all": {"emotion"},
    "sounds robotic": {"emotion"},
    "There was no personality behind it": {"emotion"},
    "No genuine opinion was given": {"emotion"},
    "very mechanical and stiff": {"emotion"},
    "Repeats itself": {"repetition"},
    "the same phrase again": {"repetition"},
    "It is repetitive": {"repetition"},
    "said everything twice": {"repetition"},
    "It was written like an advertisement": {"perfect"},
    "far too formal": {"perfect"},
    "Sounds like a sales pitch": {"perfect"},
    "too good to be true, over the top": {"perfect"},
    "Bad spelling, and it kept repeating words": {"grammar", "repetition"},
    "Vague, contradictory, or just nonsense": {"vague", "contradiction", "logic"},
    "I trusted my gut": set(),
    "Interesting task, thank you": set(),
}


@pytest.mark.feature("JJ-39")
@pytest.mark.parametrize("text", LABELLED)
def test_labelled_comments(text: str) -> None:
    assert set(read_reasons().code(text)) == LABELLED[text]


@pytest.mark.feature("JJ-39")
def test_counts_and_what_falls_in_no_group() -> None:
    said = ["Too vague", "Vague and repetitive", "My gut", "{}", " N/A ", "Thank you!", ""]
    found = code_comments([Comment("1", str(rater), text) for rater, text in enumerate(said)])
    assert (found.n_comments, found.n_empty) == (3, 4)
    assert {name: n for name, n in found.counts.items() if n} == {"vague": 2, "repetition": 1}
    assert [comment.text for comment in found.uncoded] == ["My gut"]
    assert len(found.counts) == 8
    assert set(found.titles) == set(found.counts)


def test_most_published_comments_fall_in_a_group(data_dir: Path) -> None:
    found = code_comments(read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv").comments)
    assert found.n_comments + found.n_empty == 896
    assert len(found.uncoded) < 0.1 * found.n_comments
    assert max(found.counts, key=lambda name: found.counts[name]) == "logic"


def test_gaps_end_with_the_sentence_and_words_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("groups:\n  a:\n    keywords: ['no .. sense', 'ad']\nignored: [x]\n")
    reasons = read_reasons(path)
    assert reasons.code("it makes NO real sense") == ("a",)
    assert reasons.code("no. that is sense") == ()
    assert reasons.code("no one two three four five sense") == ()
    assert reasons.code("an ad, really") == ("a",)
    assert reasons.code("bad") == reasons.code("add") == ()
    assert reasons.gives_no_reason("X.")
    assert reasons.groups[0].title == "a"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("groups: {}", "must have 'groups'"),
        ("- a", "must have 'groups'"),
        ("groups: {a: {title: b}}", "group 'a' has no keywords"),
        ("groups: {a: {keywords: [no]}}", "must be a list of texts"),
        ("groups: {a: {keywords: ['..']}}", "must have a letter"),
        ("groups: {a: {keywords: [b]}}\nextra: 1", "got 'extra'"),
        ("groups: [", "broken YAML"),
    ],
)
def test_bad_lists_are_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_reasons(path)
    with pytest.raises(InputError, match="cannot read"):
        read_reasons(tmp_path / "missing.yaml")
