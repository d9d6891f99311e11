"""The judge of characters: what it counts, and that it sees what a tokeniser hides."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.structure import TextKind
from textassay.discriminator.base import Discriminator, Pair
from textassay.discriminator.catalog import Seen, make_discriminator, make_family
from textassay.discriminator.cross_fitting import cross_fit
from textassay.discriminator.family import BLEND, FamilyDiscriminator
from textassay.discriminator.letters import N_SLOTS, LettersDiscriminator, count_characters
from textassay.errors import OptionError
from textassay.execution.threads import workers
from textassay.metric.discrepancy import dd
from textassay.seeding import stream

WORDS = [f"w{number}w" for number in range(20)]


def plain(n: int, *path: str) -> list[str]:
    """Return texts of two sentences in four lines."""
    rng = stream(0, "letters of tests", *path)
    drawn = (rng.choice(WORDS, 24).tolist() for _ in range(n))
    return ["\n".join(" ".join(words[place : place + 6]) for place in range(0, 24, 6)) for words in drawn]


def right(judge: Discriminator, sides: dict[str, list[str]]) -> float:
    """Return the shares of both sides' texts that a judge in two folds calls right, added up."""
    corpora = corpora_from_texts(sides)
    real, generated = cross_fit(judge, corpora["real"], corpora["generated"], folds=2, seed=0).correct()
    return float(np.mean(real) + np.mean(generated))


@pytest.mark.parametrize(
    "hidden",
    [
        lambda text: text.replace(" ", "  ", 3),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace("\n", "\t"),
        lambda text: f"{text} ",
        lambda text: f"{text}\n",
    ],
    ids=["spaces", "lines", "tabs", "a last space", "a last line"],
)
def test_it_sees_the_white_space_that_a_tokeniser_drops(hidden) -> None:  # type: ignore[no-untyped-def]
    sides = {"real": plain(80, "real"), "generated": list(map(hidden, plain(80, "generated")))}
    assert right(make_discriminator("letters"), sides) > 1.9
    assert right(make_discriminator("stack"), sides) < 1.3


@pytest.mark.parametrize(
    "change",
    [
        lambda word: word.upper(),
        lambda word: word + "!" * (1 + len(word) % 3),
        lambda word: f"**{word}**",
        lambda word: f"`{word}`",
    ],
    ids=["case", "runs of marks", "bold", "code"],
)
def test_it_sees_what_rare_words_have_in_common(change) -> None:  # type: ignore[no-untyped-def]
    """Each word stands in one text alone, so that tokens of the changed ones tell nothing of other texts."""
    numbers = stream(0, "rare words of letters").permutation(np.arange(100, 900)).reshape(2, -1)[:, :80]
    rare = {side: [f"x{n}q" for n in row] for side, row in zip(("real", "generated"), numbers.tolist(), strict=True)}
    rare["generated"] = list(map(change, rare["generated"]))
    sides = {
        side: [f"{text} {word}" for text, word in zip(plain(80, side), words, strict=True)]
        for side, words in rare.items()
    }
    assert right(make_discriminator("letters"), sides) > 1.8
    assert right(make_discriminator("stack"), sides) < 1.5


def counted(text: str, max_order: int) -> list[float]:
    """Return the counts of all slots of one text that are not empty, largest first."""
    corpus = corpora_from_texts({"one": [text]}, tokenizer="chars")["one"]
    return sorted(count_characters(corpus, max_order).data.tolist(), reverse=True)


@pytest.mark.parametrize("text", ["", "a", "aab", "\0\0", "a\n b", "😀é😀", "你好吗你好"])
@pytest.mark.parametrize("max_order", [1, 2, 4])
def test_counts_are_those_of_plain_python(text: str, max_order: int) -> None:
    """With both ends, which are alike; no two of so few n-grams share a slot here."""
    marked = ["end", *text, "end"]
    grams = Counter(
        tuple(marked[first : first + order])
        for order in range(1, max_order + 1)
        for first in range(len(marked) - order + 1)
    )
    assert counted(text, max_order) == sorted(grams.values(), reverse=True)


def differ(one: Corpus, other: Corpus) -> bool:
    """Return whether the counts of two corpora differ."""
    return not np.array_equal(count_characters(one, 4).toarray(), count_characters(other, 4).toarray())


def test_counts_of_a_tiny_text_by_hand() -> None:
    """``aa`` with ends: |, a, a, |; |a, aa, a|."""
    assert counted("aa", 2) == [2, 2, 1, 1, 1]


def test_a_corpus_in_lower_case_is_read_in_lower_case() -> None:
    corpora = corpora_from_texts({"upper": ["ÀB c"], "lower": ["àb c"]}, lowercase=True)
    assert not differ(corpora["upper"], corpora["lower"])
    cased = corpora_from_texts({"upper": ["ÀB c"], "lower": ["àb c"]})
    assert differ(cased["upper"], cased["lower"])


@pytest.mark.parametrize("lowercase", [False, True])
def test_what_was_cut_off_is_not_read(lowercase: bool) -> None:
    """Nor the white space of texts that are short enough: it would tell which were cut."""
    texts = {"long": ["A  b c D e"], "short": ["A \n b c"], "as tokens": ["A b c"]}
    corpora = corpora_from_texts(texts, tokenizer="whitespace", max_tokens=3, lowercase=lowercase)
    assert not any(differ(corpora["as tokens"], corpus) for corpus in corpora.values())


def pair(n: int, name: str) -> Pair:
    corpora = corpora_from_texts(
        {"real": plain(n, "real", name), "generated": [text.upper() for text in plain(n, name)]}
    )
    return corpora["real"], corpora["generated"]


def test_it_is_the_same_in_any_number_of_threads_and_from_parts() -> None:
    real, generated = pair(60, "threads")
    fits = []
    for n_workers in (1, 3):
        with workers(n_workers):
            fits.append(cross_fit(LettersDiscriminator(), real, generated, folds=3, seed=0))
    assert np.array_equal(fits[0].real_scores, fits[1].real_scores)
    rows = np.flatnonzero(fits[0].real_folds == 0)
    valid_scores = fits[0].folds[0].valid_scores
    assert len(valid_scores[0]) == fits[0].folds[0].n_valid[0]
    assert np.all(fits[0].real_scores[rows] > 0.5)


def test_fit_and_parts_agree() -> None:
    train, valid = pair(40, "train"), pair(10, "valid")
    shared = Corpus.concatenate([train[0]]).vocabulary
    sides = [[side.with_vocabulary(shared) for side in both] for both in (train, valid)]
    fitted = LettersDiscriminator().fit((sides[0][0], sides[0][1]), (sides[1][0], sides[1][1]))
    again = LettersDiscriminator().fit(train, valid)  # the vocabulary does not matter
    assert np.array_equal(fitted.prob_real(valid[0]), again.prob_real(valid[0]))
    assert [len(side) for side in fitted.valid_scores] == [10, 10]
    assert fitted.model.theta.shape == (N_SLOTS + 1,)


def test_settings_are_checked() -> None:
    with pytest.raises(OptionError, match="grid must hold numbers above 0"):
        LettersDiscriminator(grid=(0.0,))
    with pytest.raises(OptionError, match="max_order must be at least 1"):
        LettersDiscriminator(max_order=0)


@pytest.mark.parametrize("prior", [None, "smollm2"])
@pytest.mark.parametrize("effort", ["default", "max"])
@pytest.mark.parametrize("kind", ["document", "raw sentence"])
def test_it_is_in_the_family_of_what_no_tool_tokenised(kind: TextKind, prior: str | None, effort: str) -> None:
    family, sentences = (make_family(effort, Seen(each, prior)) for each in (kind, "sentence"))
    assert isinstance(family, FamilyDiscriminator)
    assert isinstance(sentences, FamilyDiscriminator)
    assert "letters" in [member.name for member in family.members]
    assert family.prefer == BLEND
    assert "letters" not in [member.name for member in sentences.members]
    assert sentences.prefer == (BLEND if prior else "stack")


@pytest.mark.parametrize("end", [".", " ."])
def test_dd_reads_letters_of_sentences_whose_marks_stick_to_words(end: str) -> None:
    sides = {side: [text.replace("\n", " ") + end for text in plain(60, side)] for side in ("real", "generated")}
    corpora = corpora_from_texts(sides)
    found = dd(corpora["generated"], corpora["real"], unit="sentence")
    assert ("letters" in found.details["alone"]) == (end == ".")
    assert ("letters" in str(found.signature)) == (end == ".")


def test_two_samples_of_one_distribution_in_pairs_are_not_told_apart() -> None:
    """Three standard errors of ten draws; partners of a prompt share rare words, and their group."""
    values = []
    for draw in range(10):
        rng = stream(draw, "pairs of letters")
        prompts = [" ".join(rng.choice(WORDS, 8)) + f" x{draw}{number}q" for number in range(60)]
        sides = {side: [f"{prompt} {' '.join(rng.choice(WORDS, 12))}" for prompt in prompts] for side in ("r", "g")}
        corpora = corpora_from_texts(sides)
        real, generated = (replace(corpora[side], groups=np.arange(60)) for side in ("r", "g"))
        answers = cross_fit(LettersDiscriminator(), real, generated, folds=5, seed=0).correct()
        values.append(np.mean(answers[0]) + np.mean(answers[1]) - 1)
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(10)
