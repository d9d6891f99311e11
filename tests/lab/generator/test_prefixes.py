"""Sources of prefixes, going on from them, blocks of running text, halves that share no sentence."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chisquare

from next_word_table import NextWordTable, example_one
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, UNK, Vocabulary
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.execution.threads import workers
from textassay.ngram.language_model import LanguageModel
from textassay.ngram.model import NgramModel
from textassay_lab.generator.gpt2_model import Gpt2Model
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.next_words import Ends
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.prefixes import (
    blocks,
    continue_prefixes,
    corrupted,
    data_prefixes,
    model_prefixes,
    random_prefixes,
    shuffled,
    unseen_halves,
)
from textassay_lab.training.recipe import Recipe

IntArray = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def text() -> Corpus:
    rng = np.random.default_rng(0)
    return Corpus.from_texts([" ".join(rng.choice(list("abcdefgh"), rng.integers(2, 12))) for _ in range(400)])


@pytest.fixture(scope="module")
def models(text: Corpus) -> dict[str, LanguageModel]:
    once = Recipe(max_epochs=1)
    return {
        "lstm": LstmModel(6, recipe=once, seed=1).fit(text),
        "gpt2": Gpt2Model(8, layers=1, heads=2, recipe=once, seed=1).fit(text),
        "ngram": NgramModel(2).fit(text),
        "unigram": PositionUnigram().fit(text),
    }


NAMES = ("lstm", "gpt2", "ngram", "unigram")


@pytest.mark.feature("EB-05")
def test_prefixes_of_data_are_beginnings_of_different_sentences(text: Corpus) -> None:
    n_left = int((text.lengths >= 6).sum())
    rows = data_prefixes(text, 6, seed=1)
    begun = [tuple(text.tokens[start : start + 6]) for start, n in zip(text.offsets[:-1], text.lengths) if n >= 6]  # noqa: B905
    assert sorted(map(tuple, rows.tolist())) == sorted(begun)
    assert np.array_equal(data_prefixes(text, 6, 50, seed=1), rows[:50])
    with pytest.raises(
        TooFewSentencesError, match=f"^{n_left} of 400 sentences have at least 6 tokens, 401 are needed"
    ):
        data_prefixes(text, 6, 401, seed=1)
    filled = data_prefixes(text, 6, seed=1, ends="absorbing")
    assert len(filled) == 400
    assert sorted((filled != EOS).sum(axis=1)) == sorted(np.minimum(text.lengths, 6))


@pytest.mark.feature("EB-05")
def test_shuffled_keeps_the_words_of_each_prefix_and_every_order_is_as_likely() -> None:
    rows = np.tile([[4, 5, 6, EOS]], (60_000, 1))
    mixed = shuffled(rows, seed=3)
    assert (np.sort(mixed, axis=1) == np.sort(rows, axis=1)).all()
    assert (mixed[:, 3] == EOS).all()
    _, counts = np.unique(mixed, axis=0, return_counts=True)
    assert len(counts) == 6
    assert chisquare(counts).pvalue > 0.001
    assert np.array_equal(shuffled(rows[:, :1], seed=3), rows[:, :1])


@pytest.mark.feature("EB-05")
def test_random_prefixes_are_uniform_over_words_and_unknown() -> None:
    rows = random_prefixes(23, 4, 20_000, seed=5)
    for column in rows.T:
        counts = np.bincount(column, minlength=23)
        assert counts[:UNK].sum() == 0
        assert chisquare(counts[UNK:]).pvalue > 0.001
    pairs = np.bincount((rows[:, 0] - UNK) * 20 + rows[:, 1] - UNK, minlength=400)
    assert chisquare(pairs).pvalue > 0.001


@pytest.mark.feature("EB-07")
def test_corruption_changes_the_share_it_says() -> None:
    n_types = 8
    rows = random_prefixes(n_types, 10, 20_000, seed=1)
    rows[:, 9] = EOS
    before = rows.copy()
    assert np.array_equal(corrupted(rows, 0.0, n_types, seed=2), rows)
    changed = {}
    for rate in (0.1, 0.5, 1.0):
        damaged = corrupted(rows, rate, n_types, seed=2)
        assert (damaged[:, 9] == EOS).all()
        changed[rate] = damaged[:, :9] != rows[:, :9]
        expected = rate * (1 - 1 / (n_types - UNK))
        assert changed[rate].mean() == pytest.approx(expected, abs=4 * np.sqrt(expected / 180_000))
    assert not (changed[0.1] & ~changed[0.5]).any()
    assert chisquare(np.bincount(corrupted(rows, 1.0, n_types, seed=2)[:, :9].ravel())[UNK:]).pvalue > 0.001
    assert np.array_equal(rows, before)
    with pytest.raises(OptionError, match=r"at most 1, got 1\.5"):
        corrupted(rows, 1.5, n_types, seed=0)


@pytest.mark.feature("EB-06")
@pytest.mark.parametrize("ends", ["excluded", "absorbing"])
@pytest.mark.parametrize("name", NAMES)
def test_a_continuation_begins_with_its_prefix(
    name: str, ends: Ends, models: dict[str, LanguageModel], text: Corpus
) -> None:
    prefixes = data_prefixes(text, 3, 100, seed=0, ends=ends)
    with workers(2):
        rows = continue_prefixes(models[name], prefixes, 4, seed=7, ends=ends)
    assert rows.shape == (100, 7)
    assert np.array_equal(rows[:, :3], prefixes)
    assert ((rows[:, :-1] != EOS) | (rows[:, 1:] == EOS)).all()
    assert ((rows == EOS).any()) == (ends == "absorbing")
    fewer = continue_prefixes(models[name], prefixes[:60], 4, seed=7, ends=ends)
    assert np.array_equal(fewer, rows[:60])
    assert not np.array_equal(continue_prefixes(models[name], prefixes, 4, seed=8, ends=ends), rows)


@pytest.mark.feature("EB-06")
@pytest.mark.parametrize("name", ["lstm", "gpt2"])
def test_from_empty_prefixes_a_network_draws_what_it_samples(name: str, models: dict[str, LanguageModel]) -> None:
    rows = model_prefixes(models[name], 5, 200, seed=3, ends="absorbing")
    sampled = models[name].sample(200, seed=3)
    expected = [sampled.tokens[a:b][:5].tolist() for a, b in zip(sampled.offsets[:-1], sampled.offsets[1:])]  # noqa: B905
    assert [row[row != EOS].tolist() for row in rows] == expected


@pytest.mark.feature("EB-06")
@pytest.mark.parametrize("name", NAMES)
def test_draws_are_as_frequent_as_the_model_says_after_what_was_drawn_or_forced(
    name: str, models: dict[str, LanguageModel]
) -> None:
    model = models[name]
    for ends in ("excluded", "absorbing"):
        rows = model_prefixes(model, 2, 20_000, seed=4, ends=ends)
        vocabulary = model.vocabulary  # type: ignore[attr-defined]
        first = np.exp(model.next_log_probs(Corpus.from_texts([""], vocabulary=vocabulary))[0])
        after_a = np.exp(model.next_log_probs(Corpus.from_texts(["a"], vocabulary=vocabulary))[0])
        (a,) = vocabulary.encode(["a"])
        forced = continue_prefixes(model, np.full((20_000, 1), a), 1, seed=5, ends=ends)
        of = (first, rows[:, 0]), (after_a, rows[rows[:, 0] == a, 1]), (after_a, forced[:, 1])
        for chances, drawn in of:
            if ends == "excluded":
                chances[:UNK] = 0.0
            expected = chances / chances.sum() * len(drawn)
            counts = np.bincount(drawn, minlength=len(expected))
            assert counts[expected == 0].sum() == 0
            likely = expected > 5
            seen, hoped = counts[likely], expected[likely]
            assert chisquare(np.append(seen, counts[~likely].sum() + 1), np.append(hoped, expected[~likely].sum() + 1)).pvalue > 0.001  # fmt: skip # noqa: E501


def test_a_model_that_only_tells_the_next_word_goes_on() -> None:
    model, _ = example_one()
    rows = model_prefixes(model, 2, 20_000, seed=1)
    _, counts = np.unique(rows, axis=0, return_counts=True)
    assert chisquare(counts, np.array([0.81, 0.09, 0.05, 0.05]) * 20_000).pvalue > 0.001
    with pytest.raises(InputError, match="nothing but the end can follow 2 tokens"):
        model_prefixes(model, 3, 10, seed=1)
    ended = model_prefixes(model, 4, 10, seed=1, ends="absorbing")
    assert (ended[:, 2:] == EOS).all()


def test_rounding_never_draws_an_impossible_word() -> None:
    vocabulary = Vocabulary([f"w{number}" for number in range(50)])
    chances = {f"w{number}": 1 / 30 for number in range(30)}
    model = NextWordTable(vocabulary, lambda prefix: chances)
    assert model_prefixes(model, 3, 3000, seed=0).max() == UNK + 30


def test_bad_settings_of_continuations(models: dict[str, LanguageModel]) -> None:
    model = models["gpt2"]
    with pytest.raises(InputError, match=r"reads at most \d+ tokens, got sequences of 5003"):
        continue_prefixes(model, np.full((2, 3), 5), 5000, seed=0)
    with pytest.raises(OptionError, match="n_tokens"):
        continue_prefixes(model, np.full((2, 3), 5), -1, seed=0)
    with pytest.raises(InputError, match="goes on after the end"):
        continue_prefixes(model, np.array([[EOS, 5]]), 1, seed=0, ends="absorbing")
    with pytest.raises(OptionError, match="treatment of ends 'never'"):
        continue_prefixes(model, np.full((2, 3), 5), 1, seed=0, ends="never")  # type: ignore[arg-type]


def test_blocks_of_running_text() -> None:
    text = Corpus.from_texts(["a b c", "d e", "f g h i", "j"])
    plain = blocks(text, 4)
    assert list(plain.texts) == ["a b c d", "e f g h"]
    assert plain.groups is None
    assert list(blocks(text, 4, step=3).texts) == ["a b c d", "d e f g", "g h i j"]
    documents = Corpus.from_texts(["a b c", "d e", "f g h i", "j"], groups=np.array([0, 0, 1, 1]))
    apart = blocks(documents, 4)
    assert list(apart.texts) == ["a b c d", "f g h i"]
    assert apart.groups is not None
    assert apart.groups.tolist() == [0, 1]
    with pytest.raises(TooFewSentencesError, match="no block of 11"):
        blocks(text, 11)


def test_overlapping_blocks_share_groups_of_neighbours() -> None:
    text = Corpus.from_texts([" ".join("abcd"[number % 4] for number in range(60))] * 100)
    found = blocks(text, 10, step=2)
    assert found.groups is not None
    assert (np.diff(found.groups) >= 0).all()
    sizes = np.bincount(found.groups)
    assert len(sizes) == 60  # each begins in a hundred of 6,000 tokens
    assert (sizes[:-1] == 50).all()


@pytest.mark.feature("EB-08")
def test_no_sentence_of_the_reference_half_is_in_training() -> None:
    rng = np.random.default_rng(2)
    texts = [f"{word} {other}" for word, other in rng.choice(list("abcdefghij"), (1000, 2))]  # many equal ones
    for groups in (None, np.arange(1000) // 2 + 7):
        text = Corpus.from_texts(texts if groups is None else [f"{t} {i}" for i, t in enumerate(texts)], groups=groups)
        train, unseen = unseen_halves(text, seed=1)
        assert not set(train.texts) & set(unseen.texts)
        assert sorted((*train.texts, *unseen.texts)) == sorted(text.texts)
        assert abs(len(train) - len(unseen)) < 100
        if train.groups is not None and unseen.groups is not None:
            assert not set(train.groups) & set(unseen.groups)
    linked = Corpus.from_texts(
        ["x", "y", "y", "z"] + [f"w{i}" for i in range(9)], groups=np.array([0, 0, 1, 1, *range(2, 11)])
    )
    halves = unseen_halves(linked, seed=0)
    assert any({"x", "y", "z"} <= set(half.texts) for half in halves)
