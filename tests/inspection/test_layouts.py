"""The layouts that independence is tested on are what they say: equal sides, known distance, true groups."""

from functools import cache, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from layouts import (
    INDEPENDENT,
    KINDS,
    LAYOUTS,
    OF_ONE_SOURCE,
    SOURCES,
    Layout,
    Source,
    data_sources,
    layout,
    made_up_word,
)

N, N_SEEDS = 40, 12
DISTANCE = 0.5
LIMIT = 5.0  # standard errors; over the 12 seeds, chance exceeds it once in 2,500
COMMON = frozenset(map(made_up_word, range(20)))
DEPENDENT = [name for name in LAYOUTS if not name.endswith(", shuffled")]  # to shuffle a side changes no text
EQUAL = [*DEPENDENT, *OF_ONE_SOURCE]


@cache
def draws(name: str, distance: float = 0.0) -> list[Layout]:
    return [layout(name, N, seed, distance=distance) for seed in range(N_SEEDS)]


def errors(differences: list[float]) -> float:
    """Return how many standard errors the mean of these lies from 0."""
    return float(np.mean(differences) / (np.std(differences, ddof=1) / np.sqrt(len(differences))))


def share_of_rare_words(text: str) -> float:
    return float(np.mean([word not in COMMON for word in text.split() or text]))


def share_of_word(text: str, word: str) -> float:
    return text.count(word) / len(text)


def first_letter(text: str) -> float:
    return ord(text[0])


@pytest.mark.parametrize("name", EQUAL)
def test_sides_have_the_same_distribution(name: str) -> None:
    common = "水马雨" if name == "without spaces" else "ba"
    for feature in (len, share_of_rare_words, first_letter, partial(share_of_word, word=common)):
        values = [[np.mean(list(map(feature, side))) for side in (pair.real, pair.generated)] for pair in draws(name)]
        differences = [float(real - generated) for real, generated in values]
        assert not any(differences) or abs(errors(differences)) < LIMIT


def is_foreign(text: str) -> bool:
    return all(word[0] == word[-1] == "q" for word in text.split()) or "\uac00" <= text[0] <= "\ud7a3"


@pytest.mark.parametrize("name", EQUAL)
def test_distance_is_the_share_of_foreign_texts(name: str) -> None:
    pairs = draws(name, DISTANCE)
    for pair in pairs:
        assert pair.truth == DISTANCE
        assert not any(map(is_foreign, pair.real))
    shares = [float(np.mean(list(map(is_foreign, pair.generated)))) for pair in pairs]
    assert abs(errors([share - DISTANCE for share in shares])) < LIMIT
    lengths: dict[bool, list[int]] = {True: [], False: []}
    for text in (text for pair in pairs for text in pair.generated):
        lengths[is_foreign(text)].append(len(text.split()))
    assert np.mean(lengths[True]) == pytest.approx(np.mean(lengths[False]), rel=0.1)


def shared_rare_words(texts: list[str], others: list[str]) -> npt.NDArray[np.float64]:
    """Return how many rare words each text shares with each other, shape (n_texts, n_others)."""
    held = [{*text.split()} - COMMON for text in others]
    return np.array([[len(words & each) for each in held] for words in ({*text.split()} - COMMON for text in texts)])


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name.endswith(", shuffled")])
def test_texts_of_a_group_belong_together_and_of_others_do_not(name: str) -> None:
    within, beyond = [], []
    for pair, other in zip(draws(name), draws(name)[1:] + draws(name)[:1], strict=True):
        if pair.real_groups is None or pair.generated_groups is None:
            assert pair.kind == "windows"
            return
        texts = pair.real + pair.generated
        groups = np.concatenate([pair.real_groups, pair.generated_groups])
        shared = shared_rare_words(texts, texts)
        by_chance = shared_rare_words(texts, other.real + other.generated).mean()
        distinct = ~np.eye(len(texts), dtype=bool)
        together = groups[:, None] == groups
        within.append(shared[together & distinct].mean() - by_chance)
        beyond.append(shared[~together].mean() - by_chance)
    assert errors(within) > LIMIT
    assert abs(errors(beyond)) < LIMIT


@pytest.mark.parametrize("name", [name for name in LAYOUTS if KINDS[name] in ("repeats", "copies")])
def test_groups_of_copies_are_equal_texts(name: str) -> None:
    for pair in draws(name):
        assert pair.real_groups is not None
        assert pair.generated_groups is not None
        groups = np.concatenate([pair.real_groups, pair.generated_groups]).tolist()
        texts = pair.real + pair.generated
        assert len(set(zip(groups, texts, strict=True))) == len(set(groups)) == len(set(texts)) < len(texts)


def check_source(source: Source) -> None:
    for name in DEPENDENT:
        pair = layout(name, 30, 1, distance=0.5, source=source)
        assert len(pair.real) + len(pair.generated) == 60
        assert all(pair.real)
        assert all(pair.generated)
        assert sum(map(is_foreign, pair.generated)) > 0


def test_the_same_seed_gives_the_same_texts() -> None:
    for name in (*LAYOUTS, *INDEPENDENT):
        pair, again, other = (layout(name, 20, seed) for seed in (1, 1, 2))
        assert (pair.real, pair.generated) == (again.real, again.generated)
        assert pair.real != other.real
        assert pair.generated != other.generated


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_makes_every_layout(source: str) -> None:
    check_source(SOURCES[source])


def test_real_lines_make_every_layout(data_dir: Path) -> None:
    sources = data_sources(data_dir)
    assert set(sources) == {"yelp", "emnlp_news", "coco", "wikitext2"}
    check_source(sources["coco"])
