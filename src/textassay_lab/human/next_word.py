"""The next-word task, in which people stand in for the data distribution when exposure bias is measured.

A person reads a prefix and chooses the next word among the model's five most probable ones or none of them. Half of the
prefixes on a page were written by people, half by the model, in random order. Prefixes of translations stand below
their sources; the model's own are begun as beam search would begin them. ``CGD(M|H)`` is the fraction of judgements
after prefixes from H in which the person did not choose the model's most probable word; ``EB-C = CGD(M|M) / CGD(M|D)``
is 1 without exposure bias and larger with it.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, equations 3 to 5, section 4.4 and
figures 5 and 6.
Departs from it: special tokens are not candidates, except the end of the sentence, which is shown as such; of a
translation, pieces inside a word are marked at their beginning, not words that go on at their end; a source is shown
once, and counts only if both its translations are as long as the prefix; intervals, clustered by rater and prefix,
besides the spread of five evaluations.
"""

import math
import warnings
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
from textassay.estimate import Interval, json_ready
from textassay.ngram.language_model import LanguageModel
from textassay.seeding import stream
from textassay_lab.generator.parallel import ParallelText
from textassay_lab.human.clusters import clustered_means
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.reading import check_characters
from textassay_lab.human.study import Study, StudyItem, StudyPage
from textassay_lab.human.submissions import Submission

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
            f"both sides need equally many prefixes, a multiple of {half}: got {len(data):,} of data and "
            f"{len(model):,} of the model; {fit:,} of each would fit"
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
            f"{len(rows):,} sources have {length} tokens in both translations, by {model.name} and in the pairs, but "
            f"{2 * n:,} are needed. Use fewer or shorter prefixes, or more pairs"
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


BoolArray = npt.NDArray[np.bool_]

_EVALUATIONS = 5


@dataclass(frozen=True)
class NextWordScore:
    model: str  # Its name
    # Fraction in [0, 1] after prefixes of data and of the model; lower is better
    cgd_data: float
    cgd_model: float
    eb_c: float  # Their ratio; NaN if nobody disagreed after prefixes of data
    # None if a side has a single prefix; that of the ratio also if it is 0
    cgd_data_interval: Interval | None
    cgd_model_interval: Interval | None
    eb_c_interval: Interval | None
    # Judgements of each side
    n_data: int
    n_model: int
    # Prefixes judged, and raters who judged them
    n_prefixes: int
    n_raters: int
    # As in the paper: standard deviations of CGD after prefixes of data and of the model, and of EB-C, over five groups
    # of pages. None if a group lacks prefixes of one side, NaN if EB-C is undefined in one.
    spreads: tuple[float, float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = json_ready(self.__dict__)
        return document

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "NextWordScore":
        intervals = {
            name: None if data[name] is None else Interval(**data[name]) for name in data if name.endswith("_interval")
        }
        eb_c = math.nan if data["eb_c"] is None else data["eb_c"]
        spreads = data["spreads"] and tuple(math.nan if one is None else one for one in data["spreads"])
        return cls(**{**data, **intervals, "eb_c": eb_c, "spreads": spreads})


def score_next_word(judgements: Judgements, *, level: float = 0.95) -> NextWordScore:
    """Return the scores of one model.

    Intervals of fractions are Wilson's with the effective sample size, that of the ratio is Student's on the log scale.
    With a single rater, the intervals hold for that rater only.
    """
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, got {level}")
    names = judgements.generators
    if judgements.scale != "number" or not np.all((judgements.value == 0) | (judgements.value == 1)) or len(names) != 1:
        raise InputError("these are not judgements of a next-word study of one model")
    is_model = ~judgements.is_real[judgements.item]
    if is_model.all() or not is_model.any():
        raise InputError("the next-word task needs judgements of prefixes of both sides, of data and of the model")
    several = all(len(np.unique(judgements.rater[side])) > 1 for side in (is_model, ~is_model))
    how = "clustered by prefix" + (" and rater" if several else "")
    means = clustered_means(
        1 - judgements.value, is_model.astype(np.int64), judgements.item, judgements.rater if several else None
    )
    data, model = means.values.tolist()
    ratio, ratio_interval = math.nan, None
    if data == 0:
        warnings.warn("EB-C is undefined: nobody disagreed with the model after prefixes of data", stacklevel=2)
    else:
        ratio = model / data
        half = means.log_ratio_margin(1, 0, level=level) if model > 0 else math.nan
        if math.isfinite(half):
            ratio_interval = Interval(ratio * math.exp(-half), ratio * math.exp(half), level, f"t: {how}")
    method = f"wilson with the effective size, t, {how}"
    return NextWordScore(
        model=names[0],
        cgd_data=data,
        cgd_model=model,
        eb_c=ratio,
        cgd_data_interval=means.share_interval(0, level=level, method=method),
        cgd_model_interval=means.share_interval(1, level=level, method=method),
        eb_c_interval=ratio_interval,
        n_data=int((~is_model).sum()),
        n_model=int(is_model.sum()),
        n_prefixes=len(np.unique(judgements.item)),
        n_raters=len(np.unique(judgements.rater)),
        spreads=_spreads(judgements, is_model),
    )


def _spreads(judgements: Judgements, is_model: BoolArray) -> tuple[float, float, float] | None:
    """Return the spread over evaluations; page k belongs to evaluation k modulo 5."""
    order = {page: place for place, page in enumerate(dict.fromkeys(item.page for item in judgements.items))}
    group = np.array([order[item.page] for item in judgements.items])[judgements.item] % _EVALUATIONS
    cell = is_model * _EVALUATIONS + group
    counts = np.bincount(cell, minlength=2 * _EVALUATIONS)
    if not counts.all():
        return None
    means = (np.bincount(cell, weights=1 - judgements.value) / counts).reshape(2, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(means[0] > 0, means[1] / means[0], np.nan)
    data, model, ratio = np.std([*means, rates], axis=1, ddof=1).tolist()
    return data, model, ratio


def simulate_raters(
    study: Study, *, after_data: float, after_own: float, n_raters: int, seed: int = 0
) -> list[Submission]:
    """Return the answers of `n_raters` who take turns until each page has all its judgements.

    After prefixes of data each chooses the model's most probable word with the chance `after_data`, after the model's
    with `after_own`, else one of the other answers, "none of them" among them, each as likely.
    """
    if n_raters < study.judgements_per_page:
        raise OptionError(f"n_raters must be at least {study.judgements_per_page}, as a page needs, got {n_raters}")
    rng = stream(seed, "next word", "simulated raters")
    submissions: list[Submission] = []
    for page in study.pages:
        for _ in range(study.judgements_per_page):
            answers = {}
            for item in page.items:
                others = [label for label in item.labels if label != str(item.top)]
                agrees = rng.random() < (after_data if item.generator is None else after_own)
                answers[item.id] = str(item.top) if agrees else others[rng.integers(len(others))]
            submissions.append(Submission(page.id, f"simulated {len(submissions) % n_raters + 1}", answers))
    return submissions


def share_foreseen(
    model: "LanguageModel | TranslationModel", texts: Corpus, length: int, *, source: Corpus | None = None
) -> float:
    """Return how often what follows the first `length` tokens is the model's most probable next word, NaN of no text.

    So often would a reader agree with the model who knows the texts by heart. All texts must have `length` tokens.
    """
    likeliest = [log_probs.argmax(1) for log_probs in next_log_probs(model, truncate(texts, length), source)]
    ends = texts.offsets[1:]
    places = texts.offsets[:-1] + length
    following = np.where(places < ends, np.append(texts.tokens, EOS)[places], EOS)
    return float(np.mean(np.concatenate(likeliest) == following)) if likeliest else float("nan")
