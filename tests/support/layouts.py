"""Pairs of real and generated texts whose distance is known, laid out in every way that makes texts depend on others.

Every layout is built of independent texts of one `Source`, by one rule for both sides that never asks which side a text
is on. So a real and a generated text have the same distribution, and the total variation distance is 0. With
``distance=d``, each generated text is replaced with probability d by one of another, independent pair of the same
layout in words that real text never has: generated text is then (1 - d) P + d Q, with Q on other texts than P, and the
total variation is d, whatever the layout.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.docstrings import docstring_sentences
from textassay.ngram.model import NgramModel
from unspaced import HAN

IntArray = npt.NDArray[np.int64]
Draw = Callable[[int, np.random.Generator], list[str]]  # so many independent texts
Words = list[str]


@dataclass(frozen=True)
class Source:
    """Independent texts, and what separates their words."""

    draw: Draw
    separator: str = " "

    def __call__(self, n: int, rng: np.random.Generator) -> list[Words]:
        """Return `n` texts as lists of words, none of them empty."""
        texts = [text.split(self.separator) if self.separator else list(text) for text in self.draw(n, rng)]
        if len(texts) != n or not all(map(all, texts)) or not all(texts):
            raise ValueError(f"a source must give {n} texts of one word or more, got {len(texts)}")
        return texts


@dataclass(frozen=True)
class Layout:
    """Texts of both sides, their distance, and what belongs together."""

    real: list[str]
    generated: list[str]
    truth: float  # the total variation distance of one real and one generated text; NaN where not known
    kind: str  # independent, pairs, groups, within (groups on one side each), windows, repeats, copies
    # The group of each text: texts of different groups are independent. None where no grouping parts the texts.
    real_groups: IntArray | None
    generated_groups: IntArray | None


# Sources --------------------------------------------------------------------------------------------------------------

ZIPF_WORDS = 3000
ONSETS, VOWELS, CODAS = "bdfgklmnprstvz", "aeiou", ("", "n", "r", "s")


def made_up_word(number: int) -> str:
    """Return a word of its own for every number: short ones for small numbers."""
    syllables = ""
    while True:
        number, onset = divmod(number, len(ONSETS))
        number, vowel = divmod(number, len(VOWELS))
        number, coda = divmod(number, len(CODAS))
        syllables += ONSETS[onset] + VOWELS[vowel] + CODAS[coda]
        if number == 0:
            return syllables
        number -= 1


@cache
def _vocabulary(n: int) -> npt.NDArray[np.object_]:
    return np.array([made_up_word(number) for number in range(n)], dtype=object)


@cache
def _zipf_edges(n_kinds: int) -> npt.NDArray[np.float64]:
    return np.cumsum(1 / np.arange(2, n_kinds + 2))


def _zipf(rng: np.random.Generator, n_kinds: int, size: int | tuple[int, ...]) -> IntArray:
    """Return numbers below `n_kinds`, of which number k has a probability like 1 / (k + 2)."""
    edges = _zipf_edges(n_kinds)
    return np.asarray(np.searchsorted(edges, rng.random(size) * edges[-1]))


@cache
def _followers() -> IntArray:
    """Return 20 words that like to follow each word."""
    return _zipf(np.random.default_rng(1), ZIPF_WORDS, (ZIPF_WORDS, 20))


def _texts(words: npt.NDArray[np.object_], lengths: IntArray) -> list[str]:
    return [" ".join(part) for part in np.split(words, np.cumsum(lengths)[:-1])]


def chains(n: int, rng: np.random.Generator, *, memory: float = 0.5, shortest: int = 3, longest: int = 17) -> list[str]:
    """Draw texts of a made-up language: Zipf's law, and `memory` of the words are among 20 that like to follow."""
    followers = _followers()
    lengths = rng.integers(shortest, longest + 1, n)
    words = np.empty((n, longest), dtype=np.int64)
    words[:, 0] = _zipf(rng, ZIPF_WORDS, n)
    for position in range(1, longest):
        follows = followers[words[:, position - 1], rng.integers(0, 20, n)]
        words[:, position] = np.where(rng.random(n) < memory, follows, _zipf(rng, ZIPF_WORDS, n))
    return _texts(_vocabulary(ZIPF_WORDS)[words[np.arange(longest) < lengths[:, None]]], lengths)


def short_texts(n: int, rng: np.random.Generator) -> list[str]:
    """Draw texts of 1 to 4 words, many of them equal by chance."""
    return chains(n, rng, memory=0.7, longest=4, shortest=1)


def topics(n: int, rng: np.random.Generator, *, shares: Sequence[float] = (1,) * 8, length: int = 80) -> list[str]:
    """Draw texts of about `length` words, a third of them words of the one topic of the text."""
    topic = rng.choice(len(shares), n, p=np.asarray(shares) / np.sum(shares))
    lengths = rng.integers(length // 2, length * 3 // 2 + 1, n)
    own = ZIPF_WORDS + 150 * np.repeat(topic, lengths) + _zipf(rng, 150, int(lengths.sum()))
    common = _zipf(rng, ZIPF_WORDS, int(lengths.sum()))
    words = np.where(rng.random(len(own)) < 1 / 3, own, common)
    return _texts(_vocabulary(ZIPF_WORDS + 150 * len(shares))[words], lengths)


def long_documents(n: int, rng: np.random.Generator) -> list[str]:
    """Draw documents of about 150 words."""
    return topics(n, rng, length=150)


TEMPLATES = """the NOUN was very ADJECTIVE and the NOUN could not VERB it .
i would VERB this NOUN again !
we had the ADJECTIVE NOUN with NOUN , and it was ADJECTIVE .
my NOUN and i VERB here every NUMBER days .
this is the most ADJECTIVE NOUN in PLACE .
never VERB the NOUN from PLACE .
if you like NOUN , go to PLACE .
it took NUMBER hours to VERB a ADJECTIVE NOUN .
PLACE has NUMBER kinds of NOUN , all of them ADJECTIVE .
do they VERB NOUN in PLACE ?
they VERB and VERB , but the NOUN stays ADJECTIVE .
ask for the ADJECTIVE NOUN when you VERB at PLACE .""".splitlines()
SLOTS = {"NOUN": (0, 400), "ADJECTIVE": (400, 200), "VERB": (600, 200), "PLACE": (800, 300), "NUMBER": (1100, 20)}
_SLOT = re.compile("|".join(SLOTS))


def templates(n: int, rng: np.random.Generator, *, shares: Sequence[float] = (1,) * len(TEMPLATES)) -> list[str]:
    """Draw templates by their `shares` and fill their slots."""
    filled = []
    for template in rng.choice(len(TEMPLATES), n, p=np.asarray(shares) / np.sum(shares)).tolist():
        filled.append(_SLOT.sub(lambda slot: _slot_word(slot.group(), rng), TEMPLATES[template]))
    return filled


def _slot_word(slot: str, rng: np.random.Generator) -> str:
    first, n_kinds = SLOTS[slot]
    return made_up_word(first + int(_zipf(rng, n_kinds, 1)[0]))


def ngrams(n: int, rng: np.random.Generator, *, order: int = 3) -> list[str]:
    """Draw texts of a language model of the docstrings; a few empty ones are passed over."""
    drawn = _ngram_model(order).sample(n + n // 10 + 20, seed=int(rng.integers(2**31))).texts
    return list(filter(None, drawn))[:n]


@cache
def _ngram_model(order: int) -> NgramModel:
    return NgramModel(order).fit(Corpus.from_texts(_docstrings()))


@cache
def _docstrings() -> tuple[str, ...]:
    return tuple(docstring_sentences())


def docstrings(n: int, rng: np.random.Generator) -> list[str]:
    """Draw distinct sentences of the docstrings in Python's standard library: about 13,500 in all."""
    return one_of_each(_docstrings(), n, rng)


def one_of_each(texts: Sequence[str], n: int, rng: np.random.Generator) -> list[str]:
    """Draw `n` of these texts, none of them twice."""
    return [texts[row] for row in rng.permutation(len(texts))[:n].tolist()]


def characters(n: int, rng: np.random.Generator) -> list[str]:
    """Draw texts without spaces: made-up words of one to three letters of 54."""
    words = _han_words(600)
    lengths = rng.integers(4, 14, n)
    drawn = np.split(_zipf(rng, len(words), int(lengths.sum())), np.cumsum(lengths)[:-1])
    return ["".join(words[word] for word in text.tolist()) for text in drawn]


@cache
def _han_words(n: int) -> list[str]:
    rng = np.random.default_rng(2)
    return ["".join(rng.choice(list(HAN), size)) for size in rng.integers(1, 4, n).tolist()]


SOURCES = {
    "chains": Source(chains),
    "ngrams": Source(ngrams),
    "templates": Source(templates),
    "topics": Source(topics),
    "docstrings": Source(docstrings),
    "characters": Source(characters, separator=""),
}
_DATA = {
    "yelp": ("yelp/train.txt",),
    "emnlp_news": ("emnlp_news/valid.txt", "emnlp_news/test.txt"),
    "coco": ("coco/train.txt", "coco/test.txt"),
    "wikitext2": ("wikitext2/valid.txt", "wikitext2/test.txt"),  # split into sentences
}


def data_sources(folder: Path) -> dict[str, Source]:
    """Return a source of the lines of each real corpus in `folder`; a source gives no line twice."""
    found = {}
    for name, paths in _DATA.items():
        if all((folder / path).is_file() for path in paths):
            lines = [line for path in paths for line in (folder / path).read_text(encoding="utf-8").splitlines()]
            if name == "wikitext2":
                lines = [part for line in lines if "=" not in line for part in re.split(r"(?<= \.) ", line)]
            texts = [" ".join(line.split()) for line in lines]
            found[name] = Source(partial(one_of_each, [text for text in texts if text]))
    return found


# Layouts --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rows:
    real: list[Words]
    generated: list[Words]
    real_groups: IntArray
    generated_groups: IntArray
    grouped: bool = True  # whether the groups part the texts into independent ones


_Build = Callable[[list[Words], int, np.random.Generator], _Rows]  # of 4 n independent texts, n texts a side
_TEXTS_EACH = 4


def _in_pairs(real: list[Words], generated: list[Words], share: float = 1.0) -> _Rows:
    """Row i of both sides is one group, in the first `share` of rows."""
    rows = np.arange(len(real))
    return _Rows(real, generated, rows, np.where(rows < share * len(rows), rows, len(rows) + rows))


def _begun(beginning: Words, rest: Words) -> Words:
    return beginning[: (len(beginning) + 1) // 2] + rest[len(rest) // 2 :]


def _beginnings(texts: list[Words], n: int, rng: np.random.Generator, *, share: float = 1.0) -> _Rows:
    """Half a text and half of another; the first half is that of the partner in a `share` of the pairs."""
    del rng
    first, others, rest, rests = (texts[part * n : (part + 1) * n] for part in range(4))
    seconds = [own if row < share * n else other for row, (own, other) in enumerate(zip(first, others, strict=True))]
    return _in_pairs(list(map(_begun, first, rest)), list(map(_begun, seconds, rests)), share)


def _thinned(words: Words, rng: np.random.Generator, kept: float) -> Words:
    """Keep each word with probability `kept`, or one of them if none was kept."""
    keep = rng.random(len(words)) < kept
    keep[rng.integers(len(words))] |= not keep.any()
    return [word for word, stays in zip(words, keep.tolist(), strict=True) if stays]


def _word_dropped(words: Words, rng: np.random.Generator) -> Words:
    if len(words) == 1:
        return words
    dropped = int(rng.integers(len(words)))
    return words[:dropped] + words[dropped + 1 :]


def _two_versions(
    texts: list[Words],
    n: int,
    rng: np.random.Generator,
    *,
    version: Callable[[Words, np.random.Generator], Words],
) -> _Rows:
    """Two independent versions of one text, made by one rule."""
    return _in_pairs([version(text, rng) for text in texts[:n]], [version(text, rng) for text in texts[:n]])


def _paraphrases(texts: list[Words], n: int, rng: np.random.Generator) -> _Rows:
    """The content words of one text in any order, among function words drawn anew.

    Function words are the commonest, a third of all words: of all texts, so that both sides have the same.
    """
    counts = Counter(word for text in texts for word in text)
    common, seen = set(), 0
    for word, count in counts.most_common():
        if seen + count > sum(counts.values()) / 3:
            break
        common.add(word)
        seen += count
    function_words = [word for text in texts for word in text if word in common]

    def version(words: Words, rng: np.random.Generator) -> Words:
        again = [function_words[int(rng.integers(len(function_words)))] if word in common else word for word in words]
        return [again[place] for place in rng.permutation(len(again)).tolist()]

    return _two_versions(texts, n, rng, version=version)


def _mixed(words: Words, others: Words, rng: np.random.Generator, kept: float) -> Words:
    """Thin both texts, the second to what the first loses, and merge them in their orders."""
    parts = [_thinned(words, rng, kept), _thinned(others, rng, 1 - kept)]
    placed = [((place + rng.random()) / len(part), word) for part in parts for place, word in enumerate(part)]
    return [word for _, word in sorted(placed)]


def _writers(texts: list[Words], n: int, rng: np.random.Generator, *, kept: float) -> _Rows:
    """Half as many real texts, and three generated texts of the input of each: sides of n / 2 and 3 n / 2."""
    n_inputs = n // 2
    inputs, others = texts[:n_inputs], iter(texts[n_inputs:])
    by_writer = [[_mixed(text, next(others), rng, kept) for text in inputs] for _ in range(4)]
    rows = np.arange(n_inputs)
    generated = [text for written in zip(*by_writer[1:], strict=True) for text in written]
    return _Rows(by_writer[0], generated, rows, rows.repeat(3))


def _answers(texts: list[Words], n: int, rng: np.random.Generator, *, same: bool) -> _Rows:
    """Four texts a side that begin alike, as answers that repeat the question; with the same or other questions."""
    del rng
    groups = np.arange(n) // 4
    generated_groups = groups if same else groups + n
    asked, asked_too = texts[:n], texts[:n] if same else texts[n : 2 * n]
    real = [_begun(asked[group], rest) for group, rest in zip(groups.tolist(), texts[2 * n : 3 * n], strict=True)]
    generated = [_begun(asked_too[group], rest) for group, rest in zip(groups.tolist(), texts[3 * n :], strict=True)]
    return _Rows(real, generated, groups, generated_groups)


def _divided(texts: list[Words], groups: IntArray, rng: np.random.Generator, *, grouped: bool = True) -> _Rows:
    """Divide the texts between the sides at random, keeping their order."""
    is_real = rng.permutation(np.arange(len(texts)) < len(texts) // 2)
    real, generated = np.flatnonzero(is_real), np.flatnonzero(~is_real)
    sides = [[texts[row] for row in rows.tolist()] for rows in (real, generated)]
    return _Rows(sides[0], sides[1], groups[real], groups[generated], grouped)


def _paragraphs(texts: list[Words], n: int, rng: np.random.Generator, *, divided: bool) -> _Rows:
    """Sentences of paragraphs of 3 to 9, a quarter of whose words are the paragraph's own four, rare ones.

    Sentences of a paragraph are divided between the sides, or each paragraph is on one side.
    """
    sentences, spare = texts[: 2 * n], texts[2 * n :]
    counts = Counter(word for text in spare[-(n // 2) :] for word in text)  # of texts that are not used otherwise
    groups = np.repeat(np.arange(2 * n), rng.integers(3, 10, 2 * n))[: 2 * n]
    if not divided:  # so that none is on both sides
        groups[n:] += groups[n] == groups[n - 1]
    candidates = [{*spare[2 * group], *spare[2 * group + 1]} for group in range(groups.max() + 1)]
    own_words = [sorted(words, key=lambda word: (counts[word], word))[:4] for words in candidates]
    written = []
    for sentence, group in zip(sentences, groups.tolist(), strict=True):
        own = own_words[group]
        places = rng.integers(0, len(own), len(sentence)).tolist()
        swaps = (rng.random(len(sentence)) < 0.25).tolist()
        rewritten = zip(sentence, places, swaps, strict=True)
        written.append([own[place] if swap else word for word, place, swap in rewritten])
    if divided:
        return _divided(written, groups, rng)
    return _Rows(written[:n], written[n:], groups[:n], groups[n:])


def _windows(texts: list[Words], n: int, rng: np.random.Generator, *, in_turn: bool) -> _Rows:
    """Windows of one stream that each share half their words with the next; a side is drawn for each, or in turn.

    In turn, a coin says which side begins, so that neither side is told by its place.
    """
    stream = [word for text in texts for word in text]
    step = max(1, min(6, len(stream) // (2 * n + 1)))
    windows = [stream[start : start + 2 * step] for start in range(0, 2 * n * step, step)]
    chain = np.zeros(2 * n, dtype=np.int64)
    if not in_turn:
        return _divided(windows, chain, rng, grouped=False)
    first = int(rng.integers(2))
    return _Rows(windows[first::2], windows[1 - first :: 2], chain[:n], chain[:n], grouped=False)


def _copies_within(
    texts: list[Words], n: int, rng: np.random.Generator, *, times: int, share: float, sides: int, adjacent: bool
) -> _Rows:
    """Texts of which a `share` stands so many times, on both sides or the real one alone, in passes or adjacent."""
    del rng
    rows = np.empty((2, n), dtype=np.int64)
    for side in range(2):
        n_times = times if side < sides else 1
        n_distinct = round(n / (1 + share * (n_times - 1)))
        n_copied = -(-(n - n_distinct) // (n_times - 1)) if n_times > 1 else 0
        passes = np.concatenate([np.arange(n_distinct), np.tile(np.arange(n_copied), max(n_times - 1, 0))])[:n]
        rows[side] = (np.sort(passes) if adjacent else passes) + side * n
    real, generated = ([texts[row] for row in side] for side in rows.tolist())
    return _Rows(real, generated, *rows)


def _itself(texts: list[Words], n: int, rng: np.random.Generator) -> _Rows:
    del rng
    return _in_pairs(texts[:n], texts[:n])


def _tenth_copied(texts: list[Words], n: int, rng: np.random.Generator) -> _Rows:
    """A tenth of the generated texts, anywhere, is some real text."""
    rows = np.arange(n, 2 * n)
    rows[rng.permutation(n)[: n // 10]] = rng.permutation(n)[: n // 10]
    return _Rows(texts[:n], [texts[row] for row in rows.tolist()], np.arange(n), rows)


def _copies(times: int, share: float = 1.0, sides: int = 2) -> dict[str, _Build]:
    return {
        order: partial(_copies_within, times=times, share=share, sides=sides, adjacent=order == "adjacent")
        for order in ("passes", "adjacent")
    }


def _thinned_to(kept: float) -> _Build:
    return partial(_two_versions, version=partial(_thinned, kept=kept))


# kind, and how it is built, by order of rows; each has the order "shuffled" besides
_BUILDERS: dict[str, tuple[str, dict[str, _Build]]] = {
    "beginnings": ("pairs", {"in order": _beginnings}),
    "beginnings of a third": ("pairs", {"in order": partial(_beginnings, share=1 / 3)}),
    "word dropped": ("pairs", {"in order": partial(_two_versions, version=_word_dropped)}),
    "thinned .75": ("pairs", {"in order": _thinned_to(0.75)}),
    "thinned .6": ("pairs", {"in order": _thinned_to(0.6)}),
    "thinned .4": ("pairs", {"in order": _thinned_to(0.4)}),
    "paraphrases": ("pairs", {"in order": _paraphrases}),
    "itself": ("copies", {"in order": _itself}),
    "tenth copied": ("copies", {"in order": _tenth_copied}),
    "writers": ("groups", {"in order": partial(_writers, kept=0.7)}),
    "answers, same prompts": ("groups", {"in order": partial(_answers, same=True)}),
    "answers, other prompts": ("within", {"in order": partial(_answers, same=False)}),
    "paragraphs divided": ("groups", {"in order": partial(_paragraphs, divided=True)}),
    "paragraphs": ("within", {"in order": partial(_paragraphs, divided=False)}),
    "windows divided": ("windows", {"in order": partial(_windows, in_turn=False)}),
    "windows in turn": ("windows", {"in order": partial(_windows, in_turn=True)}),
    "3 times": ("repeats", _copies(3)),
    "2 times": ("repeats", _copies(2)),
    "half 2 times": ("repeats", _copies(2, 0.5)),
    "tenth 2 times": ("repeats", _copies(2, 0.1)),
    "real 3 times": ("repeats", _copies(3, sides=1)),
    "real half 2 times": ("repeats", _copies(2, 0.5, sides=1)),
}
KINDS = {
    f"{name}, {order}": kind for name, (kind, orders) in _BUILDERS.items() for order in (*orders, "shuffled")
}  # the kind of each layout
LAYOUTS = tuple(KINDS)


def layout(name: str, n: int, seed: int, *, distance: float = 0.0, source: Source | Draw = SOURCES["chains"]) -> Layout:
    """Return one of `LAYOUTS` or `INDEPENDENT`, of `n` texts a side ("writers": n / 2 and 3 n / 2).

    Layouts are built of the texts of `source`; independent pairs of different sides have sources of their own.
    """
    source = source if isinstance(source, Source) else Source(source)
    rng = np.random.default_rng([seed, len(name), *name.encode()])
    if name in _INDEPENDENT:
        return _independent(name, n, rng, distance, source)
    base, order = name.rsplit(", ", 1)
    kind, orders = _BUILDERS[base]
    build = orders.get(order, next(iter(orders.values())))
    texts = source((_TEXTS_EACH if distance == 0 else 2 * _TEXTS_EACH) * n, rng)
    rows = build(texts[: _TEXTS_EACH * n], n, rng)
    if distance > 0:
        other = build(texts[_TEXTS_EACH * n :], n, rng)
        rows = _contaminated(rows, other, distance, rng, by_group=kind == "repeats", spaced=source.separator != "")
    if order == "shuffled":
        rows = _shuffled(rows, rng)
    return _as_layout(rows, distance, kind, source.separator)


def _as_layout(rows: _Rows, truth: float, kind: str, separator: str) -> Layout:
    real, generated = ([separator.join(words) for words in side] for side in (rows.real, rows.generated))
    groups = (rows.real_groups, rows.generated_groups) if rows.grouped else (None, None)
    return Layout(real, generated, truth, kind, *groups)


def _contaminated(
    rows: _Rows, other: _Rows, distance: float, rng: np.random.Generator, *, by_group: bool, spaced: bool
) -> _Rows:
    """Replace generated texts by those of the other pair in foreign words; copies of one text, all or none."""
    draws = rng.random(len(rows.generated))
    if by_group:
        draws = draws[np.unique(rows.generated_groups, return_inverse=True)[1]]
    foreign = [list(map(_foreign_word if spaced else _foreign_letter, words)) for words in other.generated]
    if not {word for words in foreign for word in words}.isdisjoint(word for words in rows.real for word in words):
        raise ValueError("real text must have no foreign word")
    replaced = draws < distance
    pairs = zip(rows.generated, foreign, replaced.tolist(), strict=True)
    n_groups = 1 + max(rows.real_groups.max(), rows.generated_groups.max())
    return replace(
        rows,
        generated=[new if is_replaced else old for old, new, is_replaced in pairs],
        generated_groups=np.where(replaced, n_groups + other.generated_groups, rows.generated_groups),
    )


def _foreign_word(word: str) -> str:
    return f"q{word}q"


def _foreign_letter(letter: str) -> str:
    return chr(0xAC00 + ord(letter) % 11_172)  # Hangul


def _shuffled(rows: _Rows, rng: np.random.Generator) -> _Rows:
    real, generated = rng.permutation(len(rows.real)), rng.permutation(len(rows.generated))
    return replace(
        rows,
        real=[rows.real[row] for row in real.tolist()],
        generated=[rows.generated[row] for row in generated.tolist()],
        real_groups=rows.real_groups[real],
        generated_groups=rows.generated_groups[generated],
    )


# Independent pairs ----------------------------------------------------------------------------------------------------


@cache
def _pool(n: int) -> list[str]:
    return chains(n, np.random.default_rng(3))


def _stock(n: int, rng: np.random.Generator, *, share: float) -> list[str]:
    """Draw texts of which a `share` are popular sentences, by Zipf's law from 500."""
    popular = _pool(500)
    which, own = _zipf(rng, 500, n).tolist(), chains(n, rng)
    stock = (rng.random(n) < share).tolist()
    return [popular[kind] if is_stock else text for kind, is_stock, text in zip(which, stock, own, strict=True)]


def _collapsed(n: int, rng: np.random.Generator, *, n_distinct: int) -> list[str]:
    pool = _pool(n_distinct)
    return [pool[row] for row in rng.integers(0, n_distinct, n).tolist()]


@dataclass(frozen=True)
class _Pair:
    """Two sources, none for the one given, and how many generated texts there are for a real one."""

    real: Source | None = None
    generated: Source | None = None  # None: as real
    ratio: float = 1.0


_INDEPENDENT = {
    "same source": _Pair(),
    "same source, 1 to 3": _Pair(ratio=3),
    "same source, 3 to 1": _Pair(ratio=1 / 3),
    "n-gram models": _Pair(Source(ngrams)),
    "n-gram models of orders 3 and 2": _Pair(Source(ngrams), Source(partial(ngrams, order=2))),
    "chains of other memory": _Pair(Source(chains), Source(partial(chains, memory=0.2))),
    "5 % stock sentences": _Pair(Source(partial(_stock, share=0.05))),
    "15 % stock sentences": _Pair(Source(partial(_stock, share=0.15))),
    "templates": _Pair(Source(templates)),
    "templates of other shares": _Pair(Source(templates), Source(partial(templates, shares=range(1, 13)))),
    "collapsed to 200": _Pair(Source(chains), Source(partial(_collapsed, n_distinct=200))),
    "collapsed to 1,000, 1 to 3": _Pair(Source(chains), Source(partial(_collapsed, n_distinct=1000)), ratio=3),
    "topics": _Pair(Source(topics)),
    "topics of other shares": _Pair(Source(topics), Source(partial(topics, shares=range(1, 9)))),
    "1 to 4 words": _Pair(Source(short_texts)),
    "documents of 150 words": _Pair(Source(long_documents)),
    "docstrings": _Pair(Source(docstrings)),
    "without spaces": _Pair(Source(characters, separator="")),
}
INDEPENDENT = tuple(_INDEPENDENT)
OF_ONE_SOURCE = tuple(name for name, pair in _INDEPENDENT.items() if pair.generated is None)


def _independent(name: str, n: int, rng: np.random.Generator, distance: float, source: Source) -> Layout:
    pair = _INDEPENDENT[name]
    if distance > 0 and pair.generated:
        raise ValueError(f"the distance of {name} is not known")
    drawn = pair.real or source
    n_real, n_generated = (n, round(n * pair.ratio)) if pair.ratio >= 1 else (round(n / pair.ratio), n)
    if pair.generated:
        sides = drawn(n_real, rng), pair.generated(n_generated, rng)
    else:  # in one draw, since some sources give no text twice
        texts = drawn(n_real + n_generated, rng)
        sides = texts[:n_real], texts[n_real:]
    rows = _Rows(*sides, np.arange(n_real), n_real + np.arange(n_generated))
    if distance > 0:
        others = replace(rows, generated=drawn(n_generated, rng))
        rows = _contaminated(rows, others, distance, rng, by_group=False, spaced=drawn.separator != "")
    return _as_layout(rows, float("nan") if pair.generated else distance, "independent", drawn.separator)
