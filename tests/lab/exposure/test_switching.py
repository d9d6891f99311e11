"""Prefix switching: what each kind of prefix is, which model wrote what follows it, and how it is shown."""

import io

import numpy as np
import pytest
from rich.console import Console

from made_up import sentences
from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.errors import OptionError, TooFewSentencesError
from textassay.ngram.model import NgramModel
from textassay.report.document import Document
from textassay.report.markdown import to_markdown
from textassay.report.page import to_fragment
from textassay.report.terminal import print_document
from textassay_lab.exposure.document import switching_section
from textassay_lab.exposure.switching import SwitchedSample, switch_prefixes

KINDS = ("data", "shuffled", "model", "random", "corrupted:0.5")


@pytest.fixture(scope="module")
def unseen() -> Corpus:
    return Corpus.from_texts(sentences(400, 1))


@pytest.fixture(scope="module")
def model(unseen: Corpus) -> NgramModel:
    return NgramModel(2).fit(Corpus.from_texts(sentences(400, 2), vocabulary=unseen.vocabulary))


@pytest.mark.feature("EB-33")
def test_each_kind_of_prefix_is_what_it_says(model: NgramModel, unseen: Corpus) -> None:
    found = switch_prefixes(model, unseen, kinds=KINDS, length=4, n_tokens=5, n=6, seed=3)
    assert [sample.kind for sample in found] == [kind for kind in KINDS for _ in range(6)]
    of = {kind: [sample for sample in found if sample.kind == kind] for kind in KINDS}
    for sample in found:
        assert len(sample.prefix.split(" ")) == 4
        assert len(sample.continuation.split()) == 5
        assert sample.continuation.startswith(" ")
    for data, mixed in zip(of["data"], of["shuffled"], strict=True):
        assert any(text.startswith(data.prefix) for text in unseen.texts)
        assert sorted(data.prefix.split()) == sorted(mixed.prefix.split())
    assert [one.prefix for one in of["data"]] != [one.prefix for one in of["shuffled"]]
    changed = [
        sum(a != b for a, b in zip(own.prefix.split(), damaged.prefix.split(), strict=True))
        for own, damaged in zip(of["model"], of["corrupted:0.5"], strict=True)
    ]
    assert 0 < sum(changed) < 4 * 6
    again = switch_prefixes(model, unseen, kinds=("model", "data"), length=4, n_tokens=5, n=6, seed=3)
    assert again == (*of["model"], *of["data"])  # a kind does not depend on the others
    nothing_corrupted = switch_prefixes(model, unseen, kinds=("corrupted:0",), length=4, n_tokens=5, n=6, seed=3)
    assert [one.prefix for one in nothing_corrupted] == [one.prefix for one in of["model"]]


@pytest.mark.feature("EB-33")
def test_prefixes_are_of_the_data_of_the_model_or_of_all_words() -> None:
    """The data has other words than the model writes, and some words neither has."""
    text = Corpus.from_texts(["a b c d a b c d", "d c b a d c b a"] * 20 + ["e f g h e f g h"] + ["i j k l m n o p"])
    own = text.take(np.array([40] * 20))
    data = text.take(np.arange(40))
    found = switch_prefixes(NgramModel(2).fit(own), data, length=4, n_tokens=4, n=12, seed=1)
    words = {kind: [set(one.prefix.split()) for one in found if one.kind == kind] for kind in KINDS[:4]}
    assert all(one <= set("abcd") for kind in ("data", "shuffled") for one in words[kind])
    assert len(set.union(*words["random"])) > 12
    followed = [one for one in found if one.kind == "model"]
    assert sum(word in set("efgh") for one in followed for word in one.prefix.split()) > 36
    assert [one.kind for one in found] == [kind for kind in ("data", "model", "shuffled", "random") for _ in range(12)]


@pytest.mark.feature("EB-33")
def test_the_model_goes_on_from_the_prefix() -> None:
    """A model that repeats the last word for ever tells which words it was given."""
    text = Corpus.from_texts([" ".join([word] * 8) for word in "abcdefgh" for _ in range(50)])
    model = NgramModel(2).fit(text)
    found = switch_prefixes(model, text, kinds=("data", "random"), length=3, n_tokens=4, n=20, seed=0)
    same = [sample.continuation.split() == [sample.prefix.split()[-1]] * 4 for sample in found]
    assert np.mean(same) > 0.8


@pytest.mark.parametrize("tokenizer", ["chars", "bpe-300", "words"])
def test_the_parts_joined_are_the_text(tokenizer: str) -> None:
    texts = [f"{line} ü€{k % 7}" for k, line in enumerate(sentences(200, 1))]
    form = TextForm.learn(texts, tokenizer=tokenizer)
    corpus = form.corpus(texts)
    found = switch_prefixes(NgramModel(3).fit(corpus), corpus, kinds=("data", "model"), length=5, n_tokens=6, n=40)
    assert all(sample.prefix and sample.continuation for sample in found)
    for sample in found[:40]:
        assert any(text.startswith(sample.prefix.rstrip("\N{REPLACEMENT CHARACTER}")) for text in corpus.texts) or (
            tokenizer == "words"
        )


def test_ends_are_not_shown(model: NgramModel, unseen: Corpus) -> None:
    found = switch_prefixes(model, unseen, kinds=("model",), length=2, n_tokens=30, n=30, ends="absorbing")
    lengths = [len(sample.continuation.split()) for sample in found]
    assert min(lengths) < 30
    assert not any("<eos>" in sample.continuation for sample in found)


def test_mistakes(model: NgramModel, unseen: Corpus) -> None:
    n_left = int((unseen.lengths >= 9).sum())
    with pytest.raises(TooFewSentencesError, match=f"^{n_left} of 400 sentences have at least 9 tokens"):
        switch_prefixes(model, unseen, kinds=("data",), length=9, n=400)
    with pytest.raises(OptionError, match="must be at least 1, got 0"):
        switch_prefixes(model, unseen, length=0)
    with pytest.raises(OptionError, match="unknown kind of prefixes 'date': did you mean data"):
        switch_prefixes(model, unseen, kinds=("date",), length=2)
    with pytest.raises(OptionError, match="different vocabularies"):
        switch_prefixes(model, Corpus.from_texts(["a b c d"]), length=2)


SAMPLES = (
    SwitchedSample("data", "the cat", " sat on <b>"),
    SwitchedSample("data", "a | b", "\x1b[31m c"),
    SwitchedSample("model", "a dog", " ran ."),
    SwitchedSample("model", "x", "yz"),
)


@pytest.mark.feature("EB-33")
def test_samples_stand_side_by_side_with_their_prefixes_marked() -> None:
    document = Document("Samples", sections=(switching_section(SAMPLES),))
    console = Console(file=io.StringIO(), width=60)
    print_document(document, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    first = text.index("sample 1")
    second = text.index("sample 2")
    assert first < text.index("data      [the cat] sat on <b>") < text.index("model     [a dog] ran .") < second
    assert "[x]yz" in text
    assert "\x1b" not in text
    lines = to_markdown(document).splitlines()
    place = lines.index("| **sample 1** |  |")
    assert lines[place + 1] == r"| data | \[the cat\] sat on &lt;b&gt; |"
    assert lines[place + 2].startswith("| model |")
    assert r"\[a \| b\]" in lines[place + 4]
    page = to_fragment(document)
    assert "[the cat] sat on &lt;b&gt;" in page
    assert "\x1b" not in page
