"""Text in many languages: the right tokens are chosen and named, and dd tells two generators apart, and equal ones not.

Words are names of countries and languages as each language writes them, from Babel; a text is a chain of them, in which
each word decides how likely the next are, with the spaces and full stops of the language.
"""

import unicodedata
from functools import cache
from itertools import chain

import numpy as np
import pytest
from babel import Locale

import textassay as ta
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.tokenizer import SpacingWarning, resolve_tokenizer
from textassay.metric.base import measure
from textassay.metric.bleu import bleu
from textassay.metric.diversity import distinct_n
from textassay.metric.length import length
from textassay.metric.vocabulary import vocabulary
from textassay.metric.zipf import zipf

N, N_WORDS = 200, 40
STOPS = {
    "Chinese": ("zh", "", "。"),
    "Japanese": ("ja", "", "。"),
    "Thai": ("th", "", ""),
    "Lao": ("lo", "", ""),
    "Khmer": ("km", "", "។"),
    "Burmese": ("my", "", "။"),
    "Arabic": ("ar", " ", "."),
    "Hebrew": ("he", " ", "."),
    "Hindi": ("hi", " ", "।"),
    "Korean": ("ko", " ", "."),
    "Russian": ("ru", " ", "."),
    "Greek": ("el", " ", "."),
    "Vietnamese": ("vi", " ", "."),
    "English": ("en", " ", "."),
    "emoji": ("", "", ""),
}
EMOJI = [first + second for first in "😀😂👍🔥🎉❤🙏" for second in ("", "\ufe0f", "👍🏽", "🇩🇪", "👩\u200d🚀", "😭")]
pytestmark = pytest.mark.filterwarnings("ignore::textassay.corpus.tokenizer.SpacingWarning")


@cache
def words(code: str) -> list[str]:
    """Return the shortest names of one word in a language."""
    if not code:
        return EMOJI[:N_WORDS]
    locale = Locale.parse(code)
    names = {
        name
        for name in chain(locale.languages.values(), locale.territories.values())
        if all(unicodedata.category(character)[0] in "LM" for character in name)
    }
    return sorted(names, key=lambda name: (len(name), name))[:N_WORDS]


def texts(language: str, *, seed: int, shift: float = 0.0, n: int = N) -> list[str]:
    """Return `n` texts of 4 to 9 words; `shift` moves how likely the words are."""
    code, space, stop = STOPS[language]
    names = words(code)
    size = len(names)
    first, second = (np.random.default_rng(kind).dirichlet(np.full(size, 0.1), size) for kind in (0, 1))
    edges = np.cumsum((1 - shift) * first + shift * second, axis=1)
    rng = np.random.default_rng([seed, 7])
    made = []
    for n_words in rng.integers(4, 10, n).tolist():
        line = [int(rng.integers(size))]
        for chance in rng.random(n_words - 1).tolist():
            line.append(min(size - 1, int(np.searchsorted(edges[line[-1]], chance))))
        made.append(space.join(names[word] for word in line) + stop)
    return made


def dd(language: str, *, shift: float, seed: int, tokenizer: str = "auto") -> ta.Estimate:
    sides = {"real": texts(language, seed=2 * seed), "generated": texts(language, seed=2 * seed + 1, shift=shift)}
    corpora = corpora_from_texts(sides, tokenizer=tokenizer)
    return ta.dd(corpora["generated"], corpora["real"], effort="quick", folds=2)


@pytest.mark.parametrize("language", STOPS)
def test_two_generators_are_told_apart_and_equal_ones_are_not(language: str) -> None:
    apart, equal = (dd(language, shift=shift, seed=1) for shift in (0.8, 0.0))
    tokenizer = "whitespace" if STOPS[language][1] else "mixed"
    assert apart.signature.settings["tok"] == tokenizer
    assert apart.interval is not None
    assert equal.interval is not None
    assert apart.interval.low > 0.2
    assert equal.interval.low <= 0.0 <= equal.interval.high


@pytest.mark.parametrize("language", ["Chinese", "Thai"])
def test_so_they_are_by_words_that_icu_finds(language: str) -> None:
    icu = pytest.importorskip("icu4py")
    apart = dd(language, shift=0.8, seed=1, tokenizer="segment")
    assert apart.signature.settings["tok"] == f"segment-icu{icu.icu_version}"
    assert apart.interval is not None
    assert apart.interval.low > 0.2


def test_what_a_tenth_of_the_texts_hides_is_seen() -> None:
    """Chinese texts among English ones: both generators write the same English."""

    def mixed(shift: float, seed: int) -> list[str]:
        return [*texts("English", seed=seed), *texts("Chinese", seed=seed, shift=shift, n=N // 8)]

    with pytest.warns(SpacingWarning, match="25 of 225 texts have no spaces between words"):
        corpora = corpora_from_texts({"real": mixed(0, 1), "generated": mixed(0.8, 2)})
    assert corpora["real"].tokenizer == "mixed"
    assert corpora["real"].lengths[N:].min() > 4
    spaced = Corpus.from_texts(mixed(0, 1), tokenizer=resolve_tokenizer("whitespace"))
    assert spaced.lengths[N:].max() == 1
    assert spaced.lengths[:N].tolist() == corpora["real"].lengths[:N].tolist()
    chinese = {name: corpus.take(np.arange(N, len(corpus))) for name, corpus in corpora.items()}
    assert measure(bleu, chinese["generated"], chinese["real"]).value > 0.1


def test_all_metrics_of_tokens_follow_the_tokenizer() -> None:
    corpora = corpora_from_texts({"real": texts("Thai", seed=1), "generated": texts("Thai", seed=2, shift=0.5)})
    for metric in (bleu, length, distinct_n, zipf, vocabulary):
        estimate = measure(metric, corpora["generated"], corpora["real"])
        assert estimate.signature.settings["tok"] == "mixed"
        assert np.isfinite(estimate.value)


def test_sides_of_which_one_has_spaces_are_warned_of_and_told_apart() -> None:
    spaced, unspaced = texts("English", seed=1), texts("Chinese", seed=1)
    for real, generated in ((spaced, unspaced), (unspaced, spaced)):
        corpora = corpora_from_texts({"real": real, "generated": generated})
        kinds = {finding.kind for finding in ta.inspect({"g": corpora["generated"]}, corpora["real"])}
        assert kinds >= {"word-spacing", "scripts"}
        estimate = ta.dd(corpora["generated"], corpora["real"], effort="quick", folds=2)
        assert estimate.interval is not None
        assert estimate.interval.low > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("language", "tokenizer"), [("Chinese", "auto"), ("Thai", "auto"), ("Khmer", "segment")])
def test_intervals_of_equal_generators_hold_0(language: str, tokenizer: str) -> None:
    """Of 100 pairs, at most 8 intervals of 95 % lie above 0, and 8 below it."""
    intervals = [dd(language, shift=0.0, seed=seed, tokenizer=tokenizer).interval for seed in range(10, 110)]
    assert sum(interval is not None and interval.low > 0 for interval in intervals) <= 8
    assert sum(interval is not None and interval.high < 0 for interval in intervals) <= 8
