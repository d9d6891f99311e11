"""The next-word task, in which people stand in for the data distribution when exposure bias is measured.

A person reads a prefix and chooses the next word among the model's five most probable ones or none of them. Half of the
prefixes on a page were written by people, half by the model, in random order.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, section 4.4 and figures 5 and 6.
Departs from it: special tokens are not candidates, except the end of the sentence, which is shown as such.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus import EOS, PAD, SOS, UNK, Corpus, Source, Vocabulary, join_tokens, parse_json, truncate
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.generator import LanguageModel
from textassay.human.json_file import check_characters
from textassay.human.study import Study, StudyItem, StudyPage
from textassay.seeding import stream

N_CANDIDATES = 5
END = "(end of the sentence)"
DATA = "data"
_BATCH = 256  # prefixes per forward pass
_ROUNDS = 20  # of sampling, before the model's texts count as too short

INSTRUCTIONS = (
    "Each item shows the beginning of a sentence. Choose the word you would expect next, and go with your first "
    "instinct. If none of the words fits, choose the last answer.\n\n"
    "Some of the beginnings were written by computer programs. If one looks strange, continue it as well as you can."
)


@dataclass(frozen=True)
class Prefix:
    """The beginning of a sentence, and the model's most probable next words, most probable first."""

    text: str
    candidates: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.candidates) < 2 or len(set(self.candidates)) != len(self.candidates):
            raise InputError(
                f"prefix {self.text[:40]!r} must have two or more distinct candidates, got {', '.join(self.candidates)}"
            )


def build_next_word(
    data: Sequence[Prefix],
    model: Sequence[Prefix],
    *,
    name: str = "model",
    page_size: int = 10,
    judgements_per_page: int = 1,
    title: str = "Which word comes next?",
    instructions: str = INSTRUCTIONS,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Study:
    """Return a study of the next-word task."""
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
    counts = Counter(prefix.text for prefix in (*data, *model))
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
                    text=prefix.text,
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
    for name, value, least in (("length", length, 1), ("n", n, 1), ("n_candidates", n_candidates, 2)):
        if value < least:
            raise OptionError(f"{name} must be at least {least}, got {value}")
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


def candidates_of(
    model: LanguageModel, prefixes: Corpus, vocabulary: Vocabulary, n_candidates: int = N_CANDIDATES
) -> list[tuple[str, ...]]:
    """Return the model's most probable next words after each prefix, most probable first.

    ``<unk>`` is excluded; the end of the sentence is called `END`. `vocabulary` is that of the model's samples.
    """
    if len(vocabulary) - 3 < n_candidates:
        raise OptionError(
            f"n_candidates must be at most {len(vocabulary) - 3}, the words of {model.name}, got {n_candidates}"
        )
    candidates: list[tuple[str, ...]] = []
    for start in range(0, len(prefixes), _BATCH):
        batch = prefixes.take(np.arange(start, min(start + _BATCH, len(prefixes))))
        log_probs = np.array(model.next_log_probs(batch), dtype=np.float64)  # (batch, vocabulary)
        log_probs[:, [PAD, SOS, UNK]] = -np.inf
        for row in _top(log_probs, n_candidates):
            words = vocabulary.decode(np.array(row))
            labels = [join_tokens(prefixes.tokenizer, [word]) for word in words]
            if len(set(labels)) < len(labels) or not all(word.strip() for word in labels):
                labels = words  # byte tokens that are not whole characters
            candidates.append(tuple(END if token == EOS else word for token, word in zip(row, labels, strict=True)))
    return candidates


def read_prefixes(path: Path) -> tuple[list[Prefix], list[Prefix], str]:
    """Return the prefixes of data, those of the model, and the model's name, from a JSON lines file.

    Each line is an object with ``prefix``, ``from`` (``data`` or the model's name) and ``candidates``, a list of words,
    most probable first.
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
            if not all(isinstance(word, str) and word for word in (text, source, *candidates)):
                raise TypeError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(
                f'{place}: must be like {{"prefix": "...", "from": "data", "candidates": ["...", ...]}}'
            ) from None
        check_characters(place, row)
        try:
            (data if source == DATA else model).append(Prefix(text, tuple(candidates)))
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
        names |= {source} - {DATA}
    if len(names) != 1:
        raise InputError(f"{path} must hold prefixes of data and of one model, got {len(names)} models")
    return data, model, names.pop()


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


def _top(log_probs: npt.NDArray[np.float64], n: int) -> list[list[int]]:
    """Return the columns of the `n` largest values of each row, largest first, ties by column."""
    border = -np.partition(-log_probs, n - 1, axis=1)[:, n - 1]  # (rows,): the n-th largest
    columns = []
    for row, bound in zip(log_probs, border, strict=True):
        places = np.flatnonzero(row >= bound)
        columns.append(places[np.argsort(-row[places], kind="stable")][:n].tolist())
    return columns
