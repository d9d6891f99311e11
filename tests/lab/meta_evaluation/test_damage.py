"""Damages: exactly as much as promised, nested in strength, and nothing else changed."""

from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest

from made_up import sentences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import OptionError, TooFewSentencesError
from textassay_lab.meta_evaluation.damage import CONTROL, DAMAGES, N_FEW, SOURCES, damage, obstacle, prepare_corpora

N = 300
STRENGTHS = (0.1, 0.2, 0.4, 0.8, 1.0)


def _capital(texts: list[str]) -> list[str]:
    """Return `texts`, two of three with a capital, and one of four without its full stop."""
    texts = [text.capitalize() if i % 3 else text for i, text in enumerate(texts)]
    return [text if i % 4 else text.removesuffix(" .") for i, text in enumerate(texts)]


@pytest.fixture(scope="module")
def texts() -> dict[str, Corpus]:
    made = {"clean": _capital(sentences(N, 1)), **{name: sentences(N, k) for k, name in enumerate(SOURCES, start=2)}}
    return prepare_corpora(corpora_from_texts(made))


def _damaged(texts: dict[str, Corpus], name: str, strength: float, seed: int = 0) -> Corpus:
    source = DAMAGES[name].source
    return damage(texts["clean"], name, strength, source=None if source is None else texts[source], seed=seed)


def _words(corpus: Corpus) -> list[list[str]]:
    return [corpus.sentence(k) for k in range(len(corpus))]


def _changed(texts: dict[str, Corpus], after: Corpus) -> npt.NDArray[np.bool_]:
    return np.array([a != b for a, b in zip(_words(texts["clean"]), _words(after), strict=True)])


def _is_part(short: list[str], long: list[str]) -> bool:
    """Return whether `short` is `long` with words left out."""
    rest = iter(long)
    return all(word in rest for word in short)


@pytest.mark.parametrize("name", DAMAGES)
def test_texts_are_what_the_tokens_say_and_strength_0_changes_nothing(texts: dict[str, Corpus], name: str) -> None:
    assert _damaged(texts, name, 0.0).fingerprint == texts["clean"].fingerprint
    for strength in STRENGTHS:
        after = _damaged(texts, name, strength)
        assert len(after) == N
        assert list(after.texts) == [" ".join(words) for words in _words(after)]
        assert after.vocabulary is texts["clean"].vocabulary
        assert after.fingerprint == _damaged(texts, name, strength).fingerprint
    assert _damaged(texts, name, 0.4).fingerprint != _damaged(texts, name, 0.4, seed=1).fingerprint


@pytest.mark.parametrize("name", [name for name, entry in DAMAGES.items() if entry.unit == "sentences"])
def test_damages_of_sentences_are_nested(texts: dict[str, Corpus], name: str) -> None:
    before, weaker = np.zeros(N, dtype=bool), texts["clean"]
    for strength in STRENGTHS:
        after = _damaged(texts, name, strength)
        now = _changed(texts, after)
        assert not np.any(before & ~now)
        if name != "duplicate":  # what is copied is what is left
            assert all(a == b for a, b, kept in zip(_words(weaker), _words(after), before, strict=True) if kept)
        before, weaker = now, after


@pytest.mark.parametrize("name", ["unknown-words", "random-words"])
def test_a_share_of_the_words_is_replaced(texts: dict[str, Corpus], name: str) -> None:
    clean, n_words = texts["clean"].tokens, len(texts["clean"].tokens)
    before = np.zeros(n_words, dtype=bool)
    for strength in STRENGTHS:
        after = _damaged(texts, name, strength)
        assert np.array_equal(after.offsets, texts["clean"].offsets)
        now = after.tokens != clean
        assert not np.any(before & ~now)
        if name == "unknown-words":
            assert now.sum() == int(strength * n_words + 0.5)
            assert set(after.texts[int(np.argmax(after.lengths))].split()) >= {"<unk>"} or strength < 1
        else:  # some are replaced by themselves
            same = np.square(np.bincount(clean) / n_words).sum()
            assert now.sum() == pytest.approx(strength * n_words * (1 - same), rel=0.1)
            assert now.sum() <= strength * n_words + 0.5
        before = now
    if name == "random-words":
        counts = np.bincount(after.tokens, minlength=clean.max() + 1)
        expected = np.bincount(clean)
        assert np.abs(counts - expected).max() < 5 * np.sqrt(2 * expected.max())


def test_tilted_words_are_likelier_than_those_of_real_text(texts: dict[str, Corpus]) -> None:
    clean, after = texts["clean"], _damaged(texts, "tilted-words", 1.0)
    counts = np.bincount(clean.tokens)
    expected = counts**1.5 / (counts**1.5).sum() * len(clean.tokens)
    found = np.bincount(after.tokens, minlength=len(counts))
    assert np.abs(found - expected).max() < 5 * np.sqrt(expected.max())
    assert np.log(counts[after.tokens]).mean() > np.log(counts[clean.tokens]).mean()


def test_spliced_fragments_stand_in_the_text(texts: dict[str, Corpus]) -> None:
    clean, after = texts["clean"], _damaged(texts, "spliced-fragments", 1.0)
    stream = clean.tokens.tolist()
    runs = {tuple(stream[place : place + n]) for n in (1, 2, 3, 4) for place in range(len(stream))}
    for k in range(N):
        tokens = after.tokens[after.offsets[k] : after.offsets[k + 1]].tolist()
        assert all(tuple(tokens[place : place + 4]) in runs for place in range(0, len(tokens), 4))
    assert np.array_equal(after.offsets, clean.offsets)


def test_looped_phrases_say_the_first_words_again(texts: dict[str, Corpus]) -> None:
    clean, after = texts["clean"], _damaged(texts, "looped-phrases", 1.0)
    for before, now in zip(_words(clean), _words(after), strict=True):
        assert now == [before[place % 4] for place in range(len(before))]
    few = corpora_from_texts({"few": ["a b c", "d"]})["few"]
    assert obstacle(few, "looped-phrases", 1.0) == "no sentence has more than 4 words"


def test_dropped_words(texts: dict[str, Corpus]) -> None:
    clean, weaker = texts["clean"], texts["clean"]
    for strength in STRENGTHS:
        after = _damaged(texts, "drop-words", strength)
        assert len(clean.tokens) - len(after.tokens) == min(
            int(strength * len(clean.tokens) + 0.5), len(clean.tokens) - N
        )
        assert after.lengths.min() >= 1
        assert all(map(_is_part, _words(after), _words(weaker)))
        weaker = after


def test_repeated_words(texts: dict[str, Corpus]) -> None:
    weaker = texts["clean"]
    for strength in STRENGTHS:
        after = _damaged(texts, "repeat-words", strength)
        added = len(after.tokens) - len(texts["clean"].tokens)
        assert added == int(strength * len(texts["clean"].tokens) + 0.5)
        assert all(map(_is_part, _words(weaker), _words(after)))
        weaker = after
    assert _words(after) == [[word for word in words for _ in range(2)] for words in _words(texts["clean"])]


def test_swapped_neighbours(texts: dict[str, Corpus]) -> None:
    clean, lengths = texts["clean"].tokens, texts["clean"].lengths
    found = []
    for strength in STRENGTHS:
        after = _damaged(texts, "swap-neighbours", strength)
        moved = np.flatnonzero(after.tokens != clean)
        for place in moved:
            assert any(
                after.tokens[a] == clean[b] and after.tokens[b] == clean[a]
                for a, b in ((place, place + 1), (place - 1, place))
                if a >= 0 and b < len(clean)
            )
        assert all(sorted(a) == sorted(b) for a, b in zip(_words(after), _words(texts["clean"]), strict=True))
        found.append(len(moved))
    assert found == sorted(found)
    assert found[-1] <= 2 * (lengths // 2).sum()
    assert found[-1] > 0.85 * 2 * ((lengths - 1) // 2).sum()  # equal neighbours do not show
    assert found[1] == pytest.approx(found[-1] * 0.2, rel=0.1)


def test_exactly_the_share_of_pairs_is_swapped() -> None:
    corpus = Corpus.from_texts([" ".join(f"{i}-{k}" for k in range(2 + i % 5)) for i in range(50)])
    n_pairs = (_damaged({"clean": corpus}, "swap-neighbours", 1.0).tokens != corpus.tokens).sum() // 2
    for strength in STRENGTHS:
        moved = _damaged({"clean": corpus}, "swap-neighbours", strength).tokens != corpus.tokens
        assert moved.sum() == 2 * int(strength * n_pairs + 0.5)


@pytest.mark.parametrize(("name", "reach"), [("shuffle-words", None), ("shuffle-nearby", 2)])
def test_shuffled_words(texts: dict[str, Corpus], name: str, reach: int | None) -> None:
    long = Corpus.from_texts([" ".join(f"{i}-{k}" for k in range(20)) for i in range(N)])
    for strength in STRENGTHS:
        after = _damaged({"clean": long}, name, strength)
        same = [a == b for a, b in zip(_words(long), _words(after), strict=True)]
        assert sum(not kept for kept in same) == int(strength * N + 0.5)
        assert all(sorted(a) == sorted(b) for a, b in zip(_words(long), _words(after), strict=True))
        places = np.array([[int(word.split("-")[1]) for word in words] for words in _words(after)])
        moves = np.abs(places - np.arange(20))
        assert moves.max() <= (19 if reach is None else reach)
    firsts = Counter(places[:, 0].tolist())
    assert (max(firsts) > 10) == (reach is None)
    assert len({tuple(row) for row in places.tolist()}) > 0.9 * N


def test_truncated_sentences(texts: dict[str, Corpus]) -> None:
    able = (texts["clean"].lengths > 1).sum()
    for strength in STRENGTHS:
        after = _damaged(texts, "truncate", strength)
        assert _changed(texts, after).sum() == int(strength * able + 0.5)
        assert all(b[: len(a)] == a and a for a, b in zip(_words(after), _words(texts["clean"]), strict=True))
    part = (after.lengths / texts["clean"].lengths)[texts["clean"].lengths > 1]
    assert part.mean() == pytest.approx(0.5, abs=0.05)


def test_slips(texts: dict[str, Corpus]) -> None:
    clean = texts["clean"].texts
    upper = sum(text != text.lower() for text in clean)
    full_stop = sum(text.endswith(" .") for text in clean)
    assert 0 < upper < N
    assert 0 < full_stop < N
    for strength in STRENGTHS:
        lower = _damaged(texts, "lowercase", strength)
        assert sum(a != b for a, b in zip(lower.texts, clean, strict=True)) == int(strength * upper + 0.5)
        assert all(a in (b, b.lower()) for a, b in zip(lower.texts, clean, strict=True))
        glued = _damaged(texts, "glue-full-stop", strength)
        assert sum(a != b for a, b in zip(glued.texts, clean, strict=True)) == int(strength * full_stop + 0.5)
        assert all(a in (b, b[:-2] + ".") for a, b in zip(glued.texts, clean, strict=True))
        assert len(texts["clean"].tokens) - len(glued.tokens) == int(strength * full_stop + 0.5)


def test_lower_case_of_text_that_ends_in_a_capital_word() -> None:
    made = [f"we saw {'Rome' if k % 2 else 'rome'} ." for k in range(20)]
    clean = prepare_corpora(corpora_from_texts({"clean": [text.replace("rome", "it") for text in made]}))["clean"]
    assert damage(clean, "lowercase", 1).texts == tuple(text.replace("rome", "it").lower() for text in made)
    assert sum(text.endswith("Rome.") for text in damage(clean, "glue-full-stop", 1).texts) == 10


@pytest.mark.parametrize(
    ("name", "source"),
    [(CONTROL, "spare"), ("copy-train", "train"), ("copy-reference", "reference"), ("other-text", "other")],
)
def test_sentences_of_another_text_come_once_each(name: str, source: str) -> None:
    made = {who: [f"{who} {k}" for k in range(N)] for who in ("clean", *SOURCES)}
    corpora = prepare_corpora(corpora_from_texts(made))
    for strength in STRENGTHS:
        after = _damaged(corpora, name, strength)
        taken = [text for text in after.texts if text.startswith(source)]
        assert len(taken) == len(set(taken)) == int(strength * N + 0.5)
        assert all(text.startswith(source) or text == f"clean {k}" for k, text in enumerate(after.texts))


def test_repeated_sentences() -> None:
    corpora = prepare_corpora(corpora_from_texts({who: [f"{who} {k}" for k in range(N)] for who in ("clean", "train")}))
    for strength in STRENGTHS:
        replaced = int(strength * N + 0.5)
        few = Counter(_damaged(corpora, "copy-few", strength).texts)
        copies = [n for text, n in few.items() if text.startswith("train")]
        assert (sum(copies), len(copies)) == (replaced, N_FEW)
        assert max(copies) - min(copies) <= 1
        collapsed = Counter(_damaged(corpora, "collapse", strength).texts)
        assert len(collapsed) == max(N - replaced, N_FEW)
        assert sum(n > 1 for n in collapsed.values()) == N_FEW
        twice = Counter(_damaged(corpora, "duplicate", strength).texts)
        assert len(twice) == max(N - replaced, 1)
        assert max(twice.values()) - min(twice.values()) <= 1


def test_what_cannot_be_damaged_is_told() -> None:
    short = Corpus.from_texts(["a", "b"] * 5)
    assert obstacle(short, "truncate", 0.1) == "no sentence has two words"
    assert obstacle(short, "lowercase", 0.1) == "the text has no upper case"
    assert obstacle(short, "collapse", 0.1) == "it needs more than 10 sentences, got 10"
    assert obstacle(short, "glue-full-stop", 0.1) == "no sentence ends in a full stop that is a token of its own"
    assert obstacle(short, "unknown-words", 0.1) is None
    few = short.take(np.arange(3))
    assert obstacle(short, "copy-train", 0.3, source=few) is None
    told = "it needs 4 different sentences of the text 'train', got 3"
    assert obstacle(short, "copy-train", 0.4, source=few) == told
    with pytest.raises(TooFewSentencesError, match=told):
        damage(short, "copy-train", 0.4, source=few)
    with pytest.raises(OptionError, match="copy-train takes sentences from the text 'train', which is missing"):
        damage(short, "copy-train", 0.4)
    with pytest.raises(OptionError, match="another vocabulary"):
        damage(short, "copy-train", 0.4, source=Corpus.from_texts(["a"] * 10))
    with pytest.raises(OptionError, match="unknown damage 'drop'"):
        damage(short, "drop", 0.4)
    with pytest.raises(OptionError, match="strength must be between 0 and 1"):
        damage(short, "truncate", 1.1)
    with pytest.raises(OptionError, match="lowercase needs a corpus from prepare_corpora"):
        damage(Corpus.from_texts(["A"]), "lowercase", 1)
    with pytest.raises(OptionError, match="glue-full-stop needs a corpus from prepare_corpora"):
        damage(Corpus.from_texts(["A ."]), "glue-full-stop", 1)


def test_text_of_characters_and_with_white_space() -> None:
    texts = prepare_corpora({"clean": Corpus.from_texts(["ab.", "a  b"] * 20, tokenizer="chars")})
    assert texts["clean"].texts[1] == "a  b"
    assert set(_damaged(texts, "repeat-words", 1.0).texts) == {"aabb..", "aa    bb"}
    assert obstacle(texts["clean"], "glue-full-stop", 0.1) is not None
    words = prepare_corpora({"clean": Corpus.from_texts(["One,  two."] * 20, tokenizer="words")})
    assert words["clean"].texts[0] == "One , two ."
