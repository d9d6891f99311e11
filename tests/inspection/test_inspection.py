"""Inspection: every known damage is found and named, and two draws of the same text are left in peace."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts, truncate
from textassay.corpus.normalization import normalize
from textassay.errors import EmptyCorpusError
from textassay.inspection.finding import Finding
from textassay.inspection.inspection import inspect, inspect_corpus

Texts = list[str]

NAMES = ("Anna", "Tom", "Mary Smith", "Dr. Jones", "the old man", "A neighbour", "Peter", "Nobody", "the teacher")
VERBS = ("saw", "did n't see", "bought", "would like", "painted", "sold", "never wanted", "talked about", "repaired")
THINGS = ("a well-known house", "the red car", "three apples", "it", "the city of Rome", "her dogs ' toys", "water")
ENDS = ("", "in 2015", "for $ 1,600", "yesterday", ", and then went home", "( or so they say )", "at 9 : 30", "again")
ABOUT_DIFFERENCES = {
    "alphabet", "case", "cut-length", "digits", "glued-punctuation", "length", "masked-digits", "memorised-sentences",
    "missing-final-punctuation", "shared-sentences", "special-tokens", "unequal-samples", "unknown-tokens",
    "whitespace",
}  # fmt: skip


def sentences(n: int, seed: int) -> Texts:
    """Return made-up sentences, cased and with punctuation split off; one in twenty is in quotes."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(n):
        parts = [
            f"{NAMES[rng.integers(len(NAMES))]} {VERBS[rng.integers(len(VERBS))]} {THINGS[rng.integers(len(THINGS))]}"
            f" {ENDS[rng.integers(len(ENDS))]}".strip()
            for _ in range(1 + rng.binomial(5, 0.2))
        ]
        words = " and ".join(parts) + f" near number {rng.integers(1, 400)} of {rng.integers(10, 99)}th street"
        mark = "!" if rng.random() < 0.05 else "."
        text = f"{words[0].upper()}{words[1:]} {mark}"
        texts.append(f'" {text} "' if rng.random() < 0.05 else text)
    return texts


def inspect_pair(real: Corpus, generated: Corpus, *, name: str) -> list[Finding]:
    """Return the findings about the generated text; how texts depend on each other is examined in other tests."""
    return [found for found in inspect({name: generated}, real, independent=True) if found.generator == name]


def each(change: Callable[[str], str]) -> Callable[[Texts], Texts]:
    return lambda texts: [change(text) for text in texts]


def some(change: Callable[[str], str], every: int = 4) -> Callable[[Texts], Texts]:
    return lambda texts: [change(text) if number % every == 0 else text for number, text in enumerate(texts)]


def cut(text: str, n_tokens: int = 12) -> str:
    return " ".join(text.split()[:n_tokens])


DAMAGES = {
    "lower case": ("case", each(str.lower)),
    "upper case": ("case", each(str.upper)),
    "title case": ("case", each(str.title)),
    "small at the start": ("case", each(lambda text: text[0].lower() + text[1:])),
    "glued full stop": ("glued-punctuation", each(lambda text: text.replace(" .", "."))),
    "glued comma": ("glued-punctuation", each(lambda text: text.replace(" ,", ","))),
    "glued contraction": ("glued-punctuation", each(lambda text: text.replace(" n't", "n't"))),
    "glued brackets": ("glued-punctuation", each(lambda text: text.replace("( ", "(").replace(" )", ")"))),
    "split hyphens": ("glued-punctuation", each(lambda text: text.replace("-", " - "))),
    "split numbers": ("glued-punctuation", each(lambda text: text.replace("1,600", "1 , 600"))),
    "no full stop": ("missing-final-punctuation", each(lambda text: re.sub(r" [.!]( \")?$", "", text))),
    "cut at 12 tokens": ("cut-length", each(cut)),
    "cut at 60 characters": ("cut-length", each(lambda text: text[:60])),
    "nothing beyond 15 tokens": ("cut-length", lambda texts: [text for text in texts if len(text.split()) <= 15]),
    "unknown words": ("unknown-tokens", some(lambda text: text.replace("street", "<unk>"))),
    "UNK": ("unknown-tokens", some(lambda text: text.replace("street", "UNK"))),
    "masked numbers": ("masked-digits", each(lambda text: re.sub(r"\d+", "_num_", text))),
    "numbers as N": ("masked-digits", each(lambda text: re.sub(r"\d+", "N", text))),
    "numbers as #": ("masked-digits", each(lambda text: re.sub(r"\d", "#", text.replace("th ", " th ")))),
    "numbers as 0": ("masked-digits", each(lambda text: re.sub(r"\d", "0", text.replace("th ", " th ")))),
    "numbers in words": ("digits", each(lambda text: re.sub(r"\d+", "many", text))),
    "end of sentence left": ("special-tokens", some(lambda text: f"{text} </s>")),
    "end of text left, glued": ("special-tokens", some(lambda text: f"{text}<|endoftext|>")),
    "padding left": ("special-tokens", some(lambda text: f"{text} [PAD] [PAD]")),
    "typographic quotes": ("quotes", each(lambda text: text.replace("'", "\u2019").replace('"', "\u201c"))),
    "escapes": ("alphabet", each(lambda text: text.replace("'", "&apos;"))),
    "joiners": ("alphabet", each(lambda text: text.replace("-", " @-@ "))),
    "subword marks": ("alphabet", each(lambda text: text.replace(" ", " \u0120"))),
    "accents lost": ("alphabet", each(lambda text: text.replace("Peter", "P\u00e9ter"))),
    "brackets of treebanks": ("alphabet", each(lambda text: text.replace("(", "-LRB-").replace(")", "-RRB-"))),
    "no commas": ("alphabet", each(lambda text: text.replace(" ,", ""))),
    "five times as long": ("length", lambda texts: [" ".join(texts[n : n + 5]) for n in range(len(texts) - 5)]),
    "empty": ("empty-sentences", some(lambda text: "", every=10)),
    "one sentence in three repeated": ("repeated-sentences", lambda texts: texts[: len(texts) // 3] * 3),
}


def pair(real: Texts, generated: Texts, **options: bool | str) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"real": real, "generated": generated}, **options)  # type: ignore[arg-type]
    return corpora["real"], corpora["generated"]


def kinds(found: list[Finding], severity: str | None = None) -> set[str]:
    return {one.kind for one in found if severity in (None, one.severity)}


REAL, OTHER = sentences(3000, 1), sentences(3000, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("tokenizer", ["whitespace", "words", "chars"])
def test_two_draws_of_one_text_differ_in_nothing(seed: int, tokenizer: str) -> None:
    real, generated = pair(sentences(1500, 2 * seed), sentences(1500, 2 * seed + 1), tokenizer=tokenizer)
    assert inspect_pair(real, generated, name="same") == []


@pytest.mark.parametrize("damaged_side", ["generated", "real"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_each_damage_is_found_named_and_shown(damage: str, damaged_side: str) -> None:
    kind, change = DAMAGES[damage]
    real, other = REAL[:1000], OTHER[:1000]
    texts = (real, change(other)) if damaged_side == "generated" else (change(real), other)
    found = inspect_pair(*pair(*texts), name="damaged")
    only_a_note = damaged_side == "real" and kind == "repeated-sentences"
    assert kind in kinds(found, "note" if only_a_note else "warning"), found
    named = next(one for one in found if one.kind == kind)
    assert named.generator == "damaged"
    assert named.count_generated != named.count_real
    if kind not in ("empty-sentences", "repeated-sentences"):
        assert named.example_generated
        assert named.example_real
        assert max(len(named.example_generated), len(named.example_real)) <= 170


def test_counts_are_those_of_the_sentences_that_show_it() -> None:
    generated = [text.lower() if number < 1000 else text for number, text in enumerate(OTHER)]
    named = next(one for one in inspect_pair(*pair(REAL, generated), name="a") if one.kind == "case")
    assert (named.count_generated, named.n_generated) == (2000, 3000)
    assert (named.count_real, named.n_real) == (3000, 3000)
    assert named.severity == "warning"
    assert "--lowercase" in named.remedy


def test_the_example_is_cut_around_the_spot() -> None:
    real = [f"w{number} " + "x y z . " * 100 + "w ." for number in range(3000)]
    generated = [f"w{number} " + "x y z . " * 60 + "<unk> " + "x y z . " * 39 + "w ." for number in range(3000)]
    named = next(one for one in inspect_pair(*pair(real, generated), name="a") if one.kind == "unknown-tokens")
    assert named.example_generated is not None
    assert "<unk>" in named.example_generated
    assert named.example_generated.startswith("…")
    assert named.example_generated.endswith("…")


def test_what_the_tokeniser_makes_equal_is_not_reported() -> None:
    assert inspect_pair(*pair(REAL, [text.lower() for text in OTHER], lowercase=True), name="a") == []
    glued = [re.sub(r" ([.,!])", r"\1", text) for text in OTHER]
    assert inspect_pair(*pair(REAL, glued, tokenizer="words"), name="a") == []


def test_a_tokeniser_of_characters_sees_case_glue_and_space() -> None:
    for change, kind in (
        (str.lower, "case"),
        (lambda text: text.replace(" .", "."), "glued-punctuation"),
        (lambda text: f" {text}", "whitespace"),
    ):
        found = inspect_pair(*pair(REAL, [change(text) for text in OTHER], tokenizer="chars"), name="a")
        assert kind in kinds(found, "warning")
    assert inspect_pair(*pair(REAL, [f"  {text}" for text in OTHER]), name="a") == []


def test_markers_are_found_whatever_the_tokeniser() -> None:
    generated = [f"{text} </s>" if number % 3 else text for number, text in enumerate(OTHER)]
    for tokenizer in ("whitespace", "words", "13a", "chars"):
        found = inspect_pair(*pair(REAL, generated, tokenizer=tokenizer), name="a")
        assert "special-tokens" in kinds(found, "warning"), tokenizer


@pytest.mark.parametrize(
    "damage",
    ["lower case", "glued full stop", "glued comma", "glued contraction", "glued brackets", "split hyphens",
     "split numbers", "typographic quotes", "escapes", "joiners", "brackets of treebanks"],
)  # fmt: skip
def test_normalising_both_sides_repairs_it(damage: str) -> None:
    damaged = DAMAGES[damage][1](OTHER)
    repaired = [normalize(text) for text in damaged]
    assert repaired == [normalize(text) for text in OTHER]
    assert inspect_pair(*pair([normalize(text) for text in REAL], repaired), name="a") == []


def test_cutting_both_sides_repairs_a_cut() -> None:
    real, generated = pair(REAL, [cut(text) for text in OTHER])
    assert "cut-length" in kinds(inspect_pair(real, generated, name="a"))
    assert kinds(inspect_pair(truncate(real, 12), truncate(generated, 12), name="a"), "warning") == set()


def test_a_shuffler_has_notes_on_order_and_no_warning_on_preparation() -> None:
    rng = np.random.default_rng(0)
    shuffled = [" ".join(rng.permutation(text.split())) for text in OTHER]
    found = inspect_pair(*pair(REAL, shuffled), name="shuffled")
    assert kinds(found, "warning") == set()
    assert kinds(found) == {"case", "missing-final-punctuation"}


@pytest.mark.parametrize("seed", range(5))
def test_what_fifty_repeated_sentences_happen_to_show_is_no_habit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    copied = sentences(50, seed + 100)
    copies = [copied[index] for index in rng.integers(50, size=3000)]
    assert kinds(inspect_pair(*pair(REAL, copies), name="copier")) == {"repeated-sentences"}


def test_copies_of_the_real_text_are_counted_against_what_is_natural() -> None:
    common = ["It was great ."] * 300
    real, natural = pair(REAL + common, OTHER + common)
    assert "shared-sentences" not in kinds(inspect_pair(real, natural, name="a"))
    real, copier = pair(REAL + common, OTHER[:2000] + REAL[:1000] + common)
    named = next(one for one in inspect_pair(real, copier, name="a") if one.kind == "shared-sentences")
    assert named.severity == "warning"
    assert (named.count_generated, named.count_real) == (1300, 300)
    assert "generated" in named.message


def continued(real: Texts, texts: Texts, share: float, n_tokens: int, seed: int = 0) -> Texts:
    """Return texts, a share of which begin as a text of `real` does, as if a prompt had been left in."""
    rng = np.random.default_rng(seed)
    return [
        " ".join(real[rng.integers(len(real))].split()[:n_tokens] + text.split()[n_tokens:])
        if rng.random() < share
        else text
        for text in texts
    ]


@pytest.mark.parametrize("n_tokens", [5, 9, 20])
@pytest.mark.parametrize("tokenizer", ["whitespace", "chars"])
def test_prompts_left_in_are_found_with_the_real_text_that_they_begin(n_tokens: int, tokenizer: str) -> None:
    rng = np.random.default_rng(0)
    real, other = ([f"w{rng.integers(300)} w{rng.integers(300)} {text}" for text in texts] for texts in (REAL, OTHER))
    texts = continued(real, other, 1, n_tokens)
    (named,) = (
        one for one in inspect_pair(*pair(real, texts, tokenizer=tokenizer), name="a") if one.kind == "real-beginnings"
    )
    assert named.severity == "warning"
    assert named.count_generated > 0.85 * named.n_generated  # the rest are whole copies
    assert named.count_real < 0.03 * named.n_real
    assert named.example_generated
    assert named.example_real
    assert named.example_generated.split()[:5] == named.example_real.split()[:5]
    assert named.example_generated != named.example_real
    assert "--prompt-column" in named.remedy
    quarter = inspect_pair(*pair(real, continued(real, other, 0.2, n_tokens), tokenizer=tokenizer), name="a")
    assert "real-beginnings" in kinds(quarter, "note")


def test_phrases_and_copies_are_no_prompts_left_in() -> None:
    """Common beginnings, beginnings written again and again, whole copies, and texts that the real side has, too."""
    rng = np.random.default_rng(1)
    for texts in (
        OTHER,  # a made-up grammar whose beginnings are shared
        [" ".join(REAL[rng.integers(20)].split()[:8] + text.split()[8:]) for text in OTHER],
        [*REAL[:1500], *OTHER[:1500]],
    ):
        assert "real-beginnings" not in kinds(inspect_pair(*pair(REAL, texts), name="a"))
    assert "real-beginnings" not in kinds(inspect_pair(*pair(["a b", "c"], ["a b", "d e"]), name="a"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coco", "emnlp_news", "yelp"])
def test_beginnings_of_real_halves_are_shared_by_chance_alone(data_dir: Path, name: str) -> None:
    lines = (data_dir / name / "test.txt").read_text(encoding="utf-8").splitlines()
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(lines))[:4000]
        halves = [[lines[place] for place in order[start::2]] for start in (0, 1)]
        assert "real-beginnings" not in kinds(inspect_pair(*pair(*halves), name="a"))


def test_training_text_that_comes_back_is_reported_on_both_sides() -> None:
    train = sentences(4000, 5)
    corpora = corpora_from_texts({"real": REAL, "fresh": OTHER, "copier": train[:3000], "train": train})
    found = inspect({n: corpora[n] for n in ("fresh", "copier")}, corpora["real"], train=corpora["train"])
    assert [(one.generator, one.kind) for one in found] == [("copier", "memorised-sentences")]
    assert (found[0].count_generated, found[0].count_real) == (3000, 0)
    corpora = corpora_from_texts({"real": REAL, "train": REAL[1000:] + train})
    found = inspect({}, corpora["real"], train=corpora["train"])
    assert [(one.generator, one.kind, one.count_real) for one in found] == [("(real)", "memorised-sentences", 2000)]


def test_the_same_text_is_named_and_nothing_else() -> None:
    for generated in (REAL, REAL[::-1]):
        found = inspect_pair(*pair(REAL, generated), name="a")
        assert [(one.kind, one.severity) for one in found] == [("same-text", "warning")]
    assert "another order" in inspect_pair(*pair(REAL, REAL[::-1]), name="a")[0].message


def test_small_and_unequal_samples() -> None:
    found = inspect_pair(*pair(REAL, OTHER[:250]), name="a")
    assert [(one.kind, one.severity) for one in found] == [("small-sample", "note"), ("unequal-samples", "note")]
    found = inspect_corpus(Corpus.from_texts(REAL[:50]), name="(real)")
    assert [(one.kind, one.severity) for one in found] == [("small-sample", "warning")]
    assert (found[0].n_real, found[0].n_generated) == (50, 0)
    assert (inspect_corpus(Corpus.from_texts(REAL[:50]), name="a")[0].n_generated) == 50


def test_one_text_by_itself() -> None:
    assert inspect_corpus(Corpus.from_texts(REAL), name="a") == []
    texts = REAL + ["", " "] + REAL[:100] + [f"{text} </s>" for text in OTHER[:200]]
    found = inspect_corpus(Corpus.from_texts(texts), name="a")
    assert [(one.kind, one.count_generated) for one in found] == [
        ("empty-sentences", 2), ("repeated-sentences", 100), ("special-tokens", 200)
    ]  # fmt: skip
    spaced = inspect_corpus(Corpus.from_texts([f" {text}" for text in REAL], tokenizer="chars"), name="a")
    assert kinds(spaced) == {"whitespace"}


def test_findings_stand_by_generator_with_warnings_first() -> None:
    texts = {
        "real": REAL,
        "heldout": sentences(2000, 3),
        "good": OTHER,
        "bad": [text.lower() for text in sentences(300, 4)],
    }
    corpora = corpora_from_texts(texts)
    generated = {name: corpora[name] for name in ("good", "bad")}
    found = inspect(generated, corpora["real"], heldout=corpora["heldout"])
    assert [(one.generator, one.kind, one.severity) for one in found] == [
        ("bad", "case", "warning"),
        ("bad", "small-sample", "note"),
    ]
    lower = corpora_from_texts(texts | {"heldout": [text.lower() for text in sentences(2000, 3)]})
    found = inspect({"bad": lower["bad"]}, lower["real"], heldout=lower["heldout"])
    assert [one.generator for one in found] == ["(real-heldout)", "bad", "bad"]
    assert found[0].to_dict()["kind"] == "case"


def test_what_cannot_be_inspected_is_an_error() -> None:
    real, empty = pair(REAL, [])
    with pytest.raises(EmptyCorpusError, match="at least one text"):
        inspect_pair(real, empty, name="a")


def test_corpora_of_different_vocabularies_are_encoded_together() -> None:
    assert inspect({"a": Corpus.from_texts(OTHER[:250])}, Corpus.from_texts(REAL)) == inspect({"a": OTHER[:250]}, REAL)


def test_nothing_but_empty_sentences_and_single_ones_are_inspected() -> None:
    assert "empty-sentences" in kinds(inspect_pair(*pair(REAL, [""] * 500), name="a"), "warning")
    assert kinds(inspect_pair(*pair(["a ."], ["b ."]), name="a")) == {"small-sample"}
    assert kinds(inspect_pair(*pair([""], ["", ""]), name="a")) == {"small-sample", "empty-sentences"}
    assert kinds(inspect_pair(*pair([""] * 3, ["\n"] * 2, tokenizer="chars"), name="a")) >= {"small-sample"}


def read(path: Path) -> Texts:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["coco/train.txt", "coco/test.txt", "emnlp_news/valid.txt", "emnlp_news/test.txt", "yelp/valid.txt",
     "leakgan_coco/real.txt", "wikitext2/valid.txt", "wikitext2/test.txt", "multi30k/train.de"],
)  # fmt: skip
@pytest.mark.parametrize("halves", ["mixed", "first and second"])
def test_halves_of_real_text_have_no_difference_to_warn_of(data_dir: Path, name: str, halves: str) -> None:
    texts = read(data_dir / name)
    if halves == "mixed":
        texts = [texts[index] for index in np.random.default_rng(0).permutation(len(texts))]
    half = len(texts) // 2
    found = inspect_pair(*pair(texts[:half], texts[half:]), name="other half")
    assert kinds(found, "warning") == set()
    assert not kinds([one for one in found if "on both sides" not in one.message]) & ABOUT_DIFFERENCES


def test_the_known_damages_of_news_are_found_and_repaired(data_dir: Path) -> None:
    valid, test = read(data_dir / "emnlp_news" / "valid.txt"), read(data_dir / "emnlp_news" / "test.txt")
    assert inspect_pair(*pair(test, valid), name="valid") == []
    damages: tuple[tuple[str, Callable[[str], str]], ...] = (
        ("case", str.lower),
        ("glued-punctuation", lambda text: re.sub(r" \.\s*$", ".", text)),
        ("cut-length", lambda text: cut(text, 20)),
    )
    for kind, damage in damages:
        damaged = [damage(text) for text in valid]
        assert kinds(inspect_pair(*pair(test, damaged), name="a")) == {kind}
        assert kinds(inspect_pair(*pair(damaged, test), name="a")) == {kind}
        if kind == "cut-length":
            real, generated = pair(test, damaged)
            assert inspect_pair(truncate(real, 20), truncate(generated, 20), name="a") == []
        else:
            repaired = pair([normalize(text) for text in test], [normalize(text) for text in damaged])
            assert inspect_pair(*repaired, name="a") == []


def test_text_without_capitals_begins_with_none_whatever_marks_it_begins_with() -> None:
    rng = np.random.default_rng(0)
    words = ["we", "ate", "there", "and", "liked", "it", "a", "lot"]
    real = [" ".join([*rng.permutation(words), "."]) for _ in range(2000)]
    generated = [" ".join(rng.permutation([*words, "."])) for _ in range(2000)]
    corpora = corpora_from_texts({"real": real, "generated": generated})
    found = inspect_pair(corpora["real"], corpora["generated"], name="generated")
    assert "case" not in {finding.kind for finding in found}


def test_repeats_are_called_as_frequent_only_where_they_are() -> None:
    real = [f"one word{number} here" for number in range(630)]
    generated = [f"two word{number % 615} there" for number in range(630)]
    remedies = [one.remedy for one in inspect({"m": generated}, real) if one.kind == "repeated-sentences"]
    assert remedies == ["Nothing to repair: a difference of this size may be chance; more texts would tell."]
    both = [f"three word{number % 600} here" for number in range(630)]
    remedies = [
        one.remedy
        for one in inspect({"m": generated[:600] + generated[:30]}, both)
        if one.generator == "m" and one.kind == "repeated-sentences"
    ]
    assert remedies == ["Nothing to repair: real text repeats itself about as often."]


def test_normalize_is_advised_only_where_it_helps() -> None:
    plain = [f"one word{number} here" for number in range(300)]

    def remedy(character: str, *, normalize: bool = False) -> str:
        with_it = [f"one word{number} {character} here" for number in range(300)]
        (one,) = [one for one in inspect({"m": with_it}, plain, normalize=normalize) if one.kind == "alphabet"]
        return one.remedy

    assert remedy("\u2026").startswith("Use --normalize, which unifies")
    assert remedy("\u00a7") == "Prepare both sides the same way."  # it stays as it is
    assert remedy("\u00a7", normalize=True) == "Prepare both sides the same way."
