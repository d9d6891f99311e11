"""Text whose words are not parted by spaces is recognised and taken apart, from the real text alone."""

import warnings

import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import Spacing, SpacingWarning, check_tokenizer, resolve_tokenizer, tokenize_mixed
from textassay.errors import OptionError
from textassay_lab.monitoring.monitor import TextMonitor
from unspaced import HAN, HANGUL, KANA, LATIN, THAI, chains, sentences, words

N = 60
ENGLISH_WORDS = words(LATIN, 100, 3, 9)
ENGLISH = sentences(ENGLISH_WORDS, " ", N)
CHINESE = chains(N, seed=1)
THAI_PHRASES = sentences(["".join(words(THAI, 3, 2, 6, seed=seed)) for seed in range(40)], " ", N)
JAPANESE_PHRASES = sentences(["".join(words(KANA, 3, 2, 4, seed=seed)) for seed in range(40)], "\u3000", N)


def cut(lines: list[str], every: int, separator: str) -> list[str]:
    return [separator.join(line[at : at + every] for at in range(0, len(line), every)) for line in lines]


UNSPACED = {
    "Chinese": CHINESE,
    "Chinese with punctuation": [f"{line[:5]}、{line[5:]}。" for line in CHINESE],
    "Chinese phrases with spaces": cut(CHINESE, 6, " "),
    "Chinese with an English name": [f"{line[:8]}iPhone{line[8:]}" for line in CHINESE],
    "Thai": ["".join(phrases.split()) for phrases in THAI_PHRASES],
    "Thai phrases with spaces": THAI_PHRASES,
    "Japanese with full-width spaces": JAPANESE_PHRASES,
    "half Chinese, half English": CHINESE[: N // 2] + ENGLISH[: N // 2],
    "a tenth Chinese": CHINESE[: N // 10] + ENGLISH[: N * 9 // 10],
    "English with a Chinese sentence": [f"{text} {line}{line}" for text, line in zip(ENGLISH, CHINESE, strict=True)],
    "emoji": words("😀😂👍🔥🎉", N, 5, 9),
}
SINGLE = {
    "hashes": [f"{line * 2_654_435_761:064x}" for line in range(1, N)],
    "addresses": [f"https://host.example/{word}/{number}" for number, word in enumerate(words(LATIN, N, 3, 9))],
    "glued English": ["".join(text.split()) for text in sentences(words(LATIN, 100, 4, 9), " ", N)],
}
SPACED = {
    "English": ENGLISH,
    "English with a Chinese name": [f"{text} {HAN[:4]}" for text in sentences(ENGLISH_WORDS, " ", N, shortest=6)],
    "English with emoji": [f"{text} 😂😂😂" for text in ENGLISH],
    "Chinese split into words": cut(CHINESE, 2, " "),
    "Chinese split into words, and a tenth of one long word": cut(CHINESE, 2, " ") + [line[:4] for line in CHINESE[:6]],
    "Thai split into words": sentences(words(THAI, 100, 2, 6), " ", N),
    "Japanese split into words": sentences(words(KANA, 100, 1, 3), " ", N),
    "Korean": sentences(words(HANGUL, 100, 2, 5), " ", N),
    "Vietnamese": sentences(words("aăâbcdđeêghiklmnoôơpqrstuưvxyáàảãạ", 100, 2, 6), " ", N),
    "Hindi": sentences(words("कखगघचछजझटठडढतथदधन", 100, 2, 6), " ", N),
    "labels": ["yes", "no"] * (N // 2),
    "Chinese labels": ["是", "否", "不确定"] * (N // 3),
    "words": words(LATIN, N, 3, 9),
    "code": [f"    return {word}({word}, 0)" for word in words(LATIN, N, 3, 9)],
    "blank": [""] * N,
    "labels and blank lines": ["", "yes", "no", " "] * (N // 4),
    "one long token": ["a" * 1000],
    "one Chinese text in a hundred": CHINESE[:1] + ENGLISH + ENGLISH[:39],
    "none": [],
}


@pytest.mark.parametrize("kind", UNSPACED)
def test_letters_are_taken_where_words_are_not_parted_and_it_is_said(kind: str) -> None:
    with pytest.warns(SpacingWarning, match=r"no spaces between words: tokens are single letters there, words elsewh"):
        corpus = Corpus.from_texts(UNSPACED[kind])
    assert corpus.tokenizer == "mixed"
    assert corpus.sentence(0) == tokenize_mixed(UNSPACED[kind][0])
    assert corpus.lengths.min() > 2


@pytest.mark.parametrize("kind", SINGLE)
def test_characters_are_taken_of_lines_of_one_token(kind: str) -> None:
    with pytest.warns(SpacingWarning, match=r"no spaces between words: tokens are characters \(--tokenizer chars\)"):
        corpus = Corpus.from_texts(SINGLE[kind])
    assert corpus.tokenizer == "chars"
    assert corpus.sentence(0) == list(SINGLE[kind][0])


@pytest.mark.parametrize("kind", SPACED)
def test_text_with_spaces_is_split_at_them_as_ever_and_nothing_is_said(kind: str) -> None:
    corpus = Corpus.from_texts(SPACED[kind])
    named = Corpus.from_texts(SPACED[kind], tokenizer=resolve_tokenizer("whitespace"))
    assert corpus.tokenizer == "whitespace"
    assert corpus.fingerprint == named.fingerprint


def test_the_share_of_texts_that_decides() -> None:
    few, enough = (Spacing.of(CHINESE[:n] + (ENGLISH * 2)[: 100 - n]) for n in (1, 2))
    assert (few.n_lacking, few.tokenizer) == (1, "whitespace")
    assert (enough.n_lacking, enough.tokenizer) == (2, "mixed")


@pytest.mark.parametrize("name", ["(real)", "real"])
def test_the_real_text_alone_decides_for_all(name: str) -> None:
    with pytest.warns(SpacingWarning):
        corpora = corpora_from_texts({"a": ENGLISH, "b": CHINESE, name: CHINESE})
    assert {corpus.tokenizer for corpus in corpora.values()} == {"mixed"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpora = corpora_from_texts({"a": CHINESE, name: ENGLISH})
    assert {corpus.tokenizer for corpus in corpora.values()} == {"whitespace"}


def test_without_a_real_text_the_first_decides() -> None:
    assert corpora_from_texts({"a": ENGLISH, "b": CHINESE})["b"].tokenizer == "whitespace"


@pytest.mark.parametrize("tokenizer", ["whitespace", "words", "13a"])
def test_a_named_tokenizer_is_obeyed_with_a_warning(tokenizer: str) -> None:
    with pytest.warns(SpacingWarning, match=f"--tokenizer {tokenizer} turns whole phrases into single"):
        corpus = Corpus.from_texts(CHINESE, tokenizer=tokenizer)
    assert corpus.tokenizer == tokenizer
    assert corpus.lengths.max() == 1


def test_named_characters_and_own_tokenizers_are_nobodys_business() -> None:
    assert Corpus.from_texts(CHINESE, tokenizer="chars", lowercase=True).tokenizer == "chars+lower"
    assert Corpus.from_texts(CHINESE, tokenizer=str.split).lengths.max() == 1


def test_a_form_takes_letters_too() -> None:
    with pytest.warns(SpacingWarning):
        form = TextForm.learn(CHINESE)
    assert form.tokenizer.name == "mixed"
    assert TextForm.from_dict(form.to_dict()) == form
    assert TextForm.learn(ENGLISH).tokenizer.name == "whitespace"


def test_a_monitor_reads_what_is_drawn_as_it_reads_the_real_text() -> None:
    with pytest.warns(SpacingWarning):
        monitor = TextMonitor(CHINESE, metrics="length", n=N // 2)
    drawn = monitor.measure(lambda n, seed: ["甲 乙"] * n, step=1)
    assert drawn.values == {"length": 1.0}  # two letters each
    spaced = TextMonitor(ENGLISH, metrics="length", n=N)
    assert spaced.measure(lambda n, seed: chains(n, seed=seed), step=1).values == {"length": 1.0}  # and no warning


def test_auto_is_a_name_where_text_comes_in() -> None:
    check_tokenizer("auto")
    with pytest.raises(OptionError, match=r"unknown tokenizer 'atuo'.*auto"):
        check_tokenizer("atuo")
    with pytest.raises(OptionError, match="unknown tokenizer 'word'"):
        corpora_from_texts({}, tokenizer="word")


def test_letters_of_han_are_told_from_words() -> None:
    assert Spacing.of([HAN[:6]]).unspaced.tolist() == [True]
    assert Spacing.of([" ".join(HAN[:6])]).unspaced.tolist() == [False]
