"""The next-word task, in which people stand in for the data distribution when exposure bias is measured.

A person reads a prefix and chooses the next word among the model's five most probable ones or none of them. Half of the
prefixes on a page were written by people, half by the model, in random order. Prefixes of translations stand below
their sources; the model's own are begun as beam search would begin them.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, section 4.4 and figures 5 and 6.
Departs from it: special tokens are not candidates, except the end of the sentence, which is shown as such; of a
translation, pieces inside a word are marked at their beginning, not words that go on at their end; a source is shown
once, and counts only if both its translations are as long as the prefix.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus, truncate
from textassay.corpus.documents import parse_json
from textassay.corpus.encoding import EOS, PAD, SOS, UNK, Vocabulary
from textassay.corpus.source import Source
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import InputError, OptionError, TooFewSentencesError, check_range
from textassay.ngram.language_model import LanguageModel
from textassay.seeding import stream
from textassay_lab.generator.parallel import ParallelText
from textassay_lab.human.json_file import check_characters
from textassay_lab.human.study import Study, StudyItem, StudyPage

if TYPE_CHECKING:
    from textassay_lab.generator.translation_model import TranslationModel

FloatArray = npt.NDArray[np.float64]

N_CANDIDATES = 5
END = "(end of the sentence)"
INSIDE, NEW_WORD = "…", "(a new word)"  # begins what continues the last word of a translation; a space alone
DATA = "data"
_BATCH = 256  # prefixes per forward pass
_ROUNDS = 20  # of sampling, before the model's texts count as too short

_STRANGE = (
    "Some of the beginnings were written by computer programs. If one looks strange, continue it as well as you can."
)
INSTRUCTIONS = (
    "Each item shows the beginning of a sentence. Choose the word you would expect next, and go with your first "
    f"instinct. If none of the words fits, choose the last answer.\n\n{_STRANGE}"
)
TRANSLATION_INSTRUCTIONS = (
    "Each item shows a sentence and the beginning of its translation. Choose what you would expect next in the "
    f"translation, and go with your first instinct. What begins with {INSIDE} continues the last word, anything else "
    f"begins a new one. If none of the answers fits, choose the last one.\n\n{_STRANGE}"
)


@dataclass(frozen=True)
class Prefix:
    """The beginning of a sentence, and the model's most probable next words, most probable first."""

    text: str
    candidates: tuple[str, ...]
    source: str | None = None  # The sentence that `text` begins to translate; None where nothing is translated

    def __post_init__(self) -> None:
        if len(self.candidates) < 2 or len(set(self.candidates)) != len(self.candidates):
            raise InputError(
                f"prefix {self.text[:40]!r} must have two or more distinct candidates, got {', '.join(self.candidates)}"
            )

    @property
    def shown(self) -> str:
        """What people read on the page."""
        return self.text if self.source is None else f"Source: {self.source}\nTranslation: {self.text}"


def build_next_word(
    data: Sequence[Prefix],
    model: Sequence[Prefix],
    *,
    name: str = "model",
    page_size: int = 10,
    judgements_per_page: int = 1,
    title: str = "Which word comes next?",
    instructions: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Study:
    """Return a study of the next-word task; `instructions` tell what to do with or without sources, if not given."""
    if page_size < 2 or page_size % 2:
        raise OptionError(f"page_size must be even and at least 2, got {page_size}")
    half = page_size // 2
    if len(data) != len(model) or not data or len(data) % half:
        fit = min(len(data), len(model)) // half * half
        raise OptionError(
            f"pages with {half} prefixes of each side need equally many, a multiple of {half}: got {len(data)} of data "
            f"and {len(model)} of the model; {fit} of each would fit"
            if fit
            else f"a page needs {half} prefixes of each side, got {len(data)} of data and {len(model)} of the model"
        )
    if len({prefix.source is None for prefix in (*data, *model)}) > 1:
        raise InputError("either all prefixes must have a source, or none")
    if instructions is None:
        instructions = INSTRUCTIONS if data[0].source is None else TRANSLATION_INSTRUCTIONS
    counts = Counter(prefix.shown for prefix in (*data, *model))
    text, most = counts.most_common(1)[0]
    if most > 1:
        raise InputError(f"prefixes must be distinct, but {text[:60]!r} occurs {most} times")
    if len({len(prefix.candidates) for prefix in (*data, *model)}) > 1:
        raise InputError("all prefixes must have the same number of candidates")
    rng = stream(seed, "next word", "order")
    orders = [rng.permutation(len(side)) for side in (data, model)]
    pages = []
    for number in range(len(data) // half):
        rows = slice(number * half, (number + 1) * half)
        page_prefixes = [(data[place], None) for place in orders[0][rows]] + [
            (model[place], name) for place in orders[1][rows]
        ]
        items = []
        for slot, place in enumerate(rng.permutation(page_size).tolist()):
            prefix, generator = page_prefixes[place]
            order = rng.permutation(len(prefix.candidates)).tolist()
            items.append(
                StudyItem(
                    id=f"{number + 1}/{slot}",
                    text=prefix.shown,
                    generator=generator,
                    choices=tuple(prefix.candidates[candidate] for candidate in order),
                    top=order.index(0),
                )
            )
        pages.append(StudyPage(str(number + 1), tuple(items)))
    return Study(
        kind="next-word",
        title=title,
        instructions=instructions,
        pages=tuple(pages),
        judgements_per_page=judgements_per_page,
        seed=seed,
        settings={"page_size": page_size, "model": name, **(settings or {})},
    )


def draw_prefixes(
    model: LanguageModel, real: Corpus, *, length: int, n: int, n_candidates: int = N_CANDIDATES, seed: int = 0
) -> tuple[list[Prefix], list[Prefix]]:
    """Return `n` distinct prefixes of `length` tokens from real text, and as many from the model."""
    _check_sizes(length, n, n_candidates)
    long = real.take(np.flatnonzero(real.lengths >= length))
    shuffled = truncate(long.take(stream(seed, "next word", "data").permutation(len(long))), length)
    taken: set[str] = set()
    from_data = _different(shuffled, n, taken)
    if len(from_data) < n:
        raise TooFewSentencesError(
            f"real text has {len(from_data)} distinct prefixes of {length} tokens, but {n} are needed: use fewer or "
            "shorter prefixes, or give more text"
        )
    drawn: list[Corpus] = []
    n_drawn = 0
    for attempt in range(_ROUNDS):
        sample = model.sample(2 * n, seed=int(stream(seed, "next word", "model", attempt).integers(2**31)))
        fit = truncate(sample.take(np.flatnonzero(sample.lengths >= length)), length)
        drawn.append(_different(fit, n - n_drawn, taken))
        n_drawn += len(drawn[-1])
        if n_drawn == n:
            break
    else:
        raise TooFewSentencesError(
            f"{model.name} wrote {n_drawn} distinct prefixes of {length} tokens in {_ROUNDS * 2 * n} texts, but {n} "
            "are needed: use fewer or shorter prefixes"
        )
    from_model = Corpus.concatenate(drawn)
    sides = []
    for corpus in (from_data, from_model):
        words = candidates_of(model, corpus, from_model.vocabulary, n_candidates)
        texts = _texts(corpus)
        sides.append([Prefix(text, chosen) for text, chosen in zip(texts, words, strict=True)])
    return sides[0], sides[1]


def draw_translation_prefixes(
    model: "TranslationModel",
    pairs: ParallelText,
    *,
    length: int,
    n: int,
    n_candidates: int = N_CANDIDATES,
    seed: int = 0,
) -> tuple[list[Prefix], list[Prefix]]:
    """Return `n` prefixes of `length` tokens from translations in `pairs`, and as many from the model's, of others."""
    _check_sizes(length, n, n_candidates)
    known = model.pairs(pairs.source, pairs.target)
    order = stream(seed, "next word", "pairs").permutation(len(pairs)).tolist()
    distinct = {pairs.source.texts[row]: row for row in order if known.target.lengths[row] >= length}
    waiting = np.array(list(distinct.values()), dtype=np.int64)
    rows: list[int] = []
    written: list[Corpus] = []
    while len(rows) < 2 * n and len(waiting):
        block, waiting = np.split(waiting, [2 * n - len(rows)])
        translations = model.translations(known.source.take(block))
        long = np.flatnonzero(translations.lengths >= length)
        rows += block[long].tolist()
        written.append(translations.take(long))
    if len(rows) < 2 * n:
        raise TooFewSentencesError(
            f"{len(rows)} sources have {length} tokens in both translations, that of {model.name} and that in the "
            f"pairs, but {2 * n} are needed: use fewer or shorter prefixes, or give more pairs"
        )
    parts = np.array(rows[:n]), np.array(rows[n:])
    own = Corpus.concatenate(written).take(np.arange(n, 2 * n))
    sides = []
    for places, corpus in zip(parts, (known.target.take(parts[0]), own), strict=True):
        prefixes = truncate(corpus, length)
        pieces = candidates_of(model, prefixes, known.target.vocabulary, n_candidates, source=known.source.take(places))
        sources = [" ".join(pairs.source.texts[place].split()) for place in places.tolist()]
        sides.append([Prefix(*one) for one in zip(_texts(prefixes), pieces, sources, strict=True)])
    return sides[0], sides[1]


def candidates_of(
    model: "LanguageModel | TranslationModel",
    prefixes: Corpus,
    vocabulary: Vocabulary,
    n_candidates: int = N_CANDIDATES,
    *,
    source: Corpus | None = None,
) -> list[tuple[str, ...]]:
    """Return the model's most probable next words after each prefix, most probable first.

    ``<unk>`` is excluded; the end of the sentence is called `END`. `vocabulary` is that of the model's samples. With a
    `source` for each prefix, byte pairs inside a word begin with `INSIDE`.
    """
    if len(vocabulary) - 3 < n_candidates:
        raise OptionError(
            f"n_candidates must be at most {len(vocabulary) - 3}, the words of {model.name}, got {n_candidates}"
        )
    candidates: list[tuple[str, ...]] = []
    for log_probs in next_log_probs(model, prefixes, source):
        for row in _top(log_probs, n_candidates):
            words = vocabulary.decode(np.array(row))
            labels = [join_tokens(prefixes.tokenizer, [word]) for word in words]
            if source is not None and prefixes.tokenizer.startswith("bpe-"):
                labels = [word[1:] or NEW_WORD if word.startswith(" ") else INSIDE + word for word in labels]
            if len(set(labels)) < len(labels) or not all(word.strip() for word in labels):
                labels = words  # byte tokens that are not whole characters
            candidates.append(tuple(END if token == EOS else word for token, word in zip(row, labels, strict=True)))
    return candidates


def next_log_probs(
    model: "LanguageModel | TranslationModel", prefixes: Corpus, source: Corpus | None
) -> Iterator[FloatArray]:
    """Yield the log-probabilities of next words after some prefixes at a time; special tokens but the end have none."""
    for start in range(0, len(prefixes), _BATCH):
        rows = np.arange(start, min(start + _BATCH, len(prefixes)))
        context: dict[str, Any] = {} if source is None else {"source": source.take(rows)}
        log_probs = np.array(model.next_log_probs(prefixes.take(rows), **context), dtype=np.float64)
        log_probs[:, [PAD, SOS, UNK]] = -np.inf
        yield log_probs  # (batch, vocabulary)


def read_prefixes(path: Path) -> tuple[list[Prefix], list[Prefix], str]:
    """Return the prefixes of data, those of the model, and the model's name, from a JSON lines file.

    Each line is an object with ``prefix``, ``from`` (``data`` or the model's name) and ``candidates``, a list of words,
    most probable first; of translations also ``source``.
    """
    data: list[Prefix] = []
    model: list[Prefix] = []
    names: set[str] = set()
    for number, line in enumerate(Source(path).lines(), start=1):
        if not line.strip():
            continue
        place = f"{path} line {number}"
        try:
            row = parse_json(line)
            text, source, candidates = row["prefix"], row["from"], row["candidates"]
            translated = row.get("source")
            parts = (text, source, *candidates, *([] if translated is None else [translated]))
            if not all(isinstance(word, str) and word for word in parts):
                raise TypeError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(
                f'{place}: must be like {{"prefix": "...", "from": "data", "candidates": ["...", ...]}}'
            ) from None
        check_characters(place, row)
        try:
            (data if source == DATA else model).append(Prefix(text, tuple(candidates), translated))
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
        names |= {source} - {DATA}
    if len(names) != 1:
        raise InputError(f"{path} must hold prefixes of data and of one model, got {len(names)} models")
    return data, model, names.pop()


def _check_sizes(length: int, n: int, n_candidates: int) -> None:
    for name, value, least in (("length", length, 1), ("n", n, 1), ("n_candidates", n_candidates, 2)):
        check_range(name, value, least)


def _different(corpus: Corpus, n: int, taken: set[str]) -> Corpus:
    """Return the first `n` texts of `corpus` that are not in `taken`, and add them to it."""
    places: list[int] = []
    for place, text in enumerate(_texts(corpus)):
        if len(places) == n:
            break
        if text not in taken:
            taken.add(text)
            places.append(place)
    return corpus.take(np.array(places, dtype=np.int64))


def _texts(corpus: Corpus) -> list[str]:
    """Return the texts as the model sees them, with ``<unk>`` for unknown words."""
    return [join_tokens(corpus.tokenizer, corpus.sentence(place)) for place in range(len(corpus))]


def _top(log_probs: FloatArray, n: int) -> list[list[int]]:
    """Return the columns of the `n` largest values of each row, largest first, ties by column."""
    border = -np.partition(-log_probs, n - 1, axis=1)[:, n - 1]  # (rows,): the n-th largest
    columns = []
    for row, bound in zip(log_probs, border, strict=True):
        places = np.flatnonzero(row >= bound)
        columns.append(places[np.argsort(-row[places], kind="stable")][:n].tolist())
    return columns
