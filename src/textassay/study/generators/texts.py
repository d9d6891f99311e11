"""The texts of the study ``generators``: reviews in parts that share no line, and news for a model of another domain.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, section 3.1.
Departs from it: parts are taken in the order of the file, which must have been shuffled; a model of news that learns
clauses stands for Google LM, since no sentence of the news is as short as a review.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from textassay.corpus import Attributes, Corpus, TextForm, learn_attributes, read_texts, review_contexts, with_contexts
from textassay.errors import InputError, TooFewSentencesError
from textassay.study.draws import as_written
from textassay.study.generators.scales import GeneratorsScale

REVIEWS, NEWS = "yelp", "emnlp_news"
_NEWS_FILES = ("train.txt", "valid.txt", "test.txt")
_BREAKS = frozenset(",;:.!?()\"'`-") | {"``", "''", "--"}  # tokens at which a sentence of the news falls into clauses
_STOP = "."
_SHORTEST = 3  # tokens of a clause, its full stop among them


@dataclass(frozen=True)
class GeneratorsTexts:
    """The lines of all parts."""

    # Lines that generators learn from, and lines that choose their epochs
    train: tuple[str, ...]
    valid: tuple[str, ...]
    # Lines that none of them sees: for judges, as a generator that cannot be bettered, and to answer to
    real: tuple[str, ...]
    floor: tuple[str, ...]
    contexts: tuple[str, ...]
    # Lines that the model of the oracle world learns from; `train` may hold some of them, it is another world
    original: tuple[str, ...]
    # Part to the label of each of its lines; empty where there are none
    sentiment: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    news: tuple[str, ...] = ()  # Lines of another domain, lower-cased; empty where there are none

    @property
    def missing(self) -> tuple[str, ...]:
        """Missing folders, without which some results are not measured."""
        return () if self.news else (NEWS,)


def read_generators_texts(folder: Path, scale: GeneratorsScale) -> GeneratorsTexts:
    """Return the texts of the study.

    `folder`: holds ``yelp`` with ``train.txt`` and ``valid.txt``, one sentence a line, tokens separated by spaces;
    where a ``.sentiment`` with one label a line stands beside both, it is a context. And, if it is there,
    ``emnlp_news``.
    """
    reviews = folder / REVIEWS
    if not folder.is_dir():
        raise InputError(f"no folder {folder}: --data names one that holds {REVIEWS} and, optionally, {NEWS}")
    lacking = [name for name in ("train.txt", "valid.txt") if not (reviews / name).is_file()]
    if lacking:
        raise InputError(f"{reviews} lacks {', '.join(lacking)}: the study needs them")
    lines = {name: read_texts(reviews / f"{name}.txt").texts for name in ("train", "valid")}
    labels = {name: _labels(reviews / f"{name}.sentiment", len(texts)) for name, texts in lines.items()}
    sizes = {
        "train": scale.of_people.n_train,
        "real": scale.n_real(scale.of_people),
        "floor": scale.of_people.n_drawn,
        "contexts": scale.of_people.n_drawn,
    }
    n_original = scale.n_original
    for name, needed in (("train", max(sum(sizes.values()), n_original)), ("valid", scale.n_valid)):
        if len(lines[name]) < needed:
            smaller = "" if scale.name == "tiny" else "; give more text, or --scale tiny"
            raise TooFewSentencesError(
                f"the scale {scale.name} needs {needed} sentences, {reviews / name}.txt has {len(lines[name])}{smaller}"
            )
    parts, sentiment, begin = {}, {}, 0
    for name, count in sizes.items():
        parts[name] = tuple(lines["train"][begin : begin + count])
        sentiment[name] = labels["train"][begin : begin + count]
        begin += count
    parts["valid"], sentiment["valid"] = tuple(lines["valid"][: scale.n_valid]), labels["valid"][: scale.n_valid]
    known = sentiment if labels["train"] and labels["valid"] else {}
    return GeneratorsTexts(
        **parts, original=tuple(lines["train"][:n_original]), sentiment=known, news=_news(folder / NEWS)
    )


def clauses(lines: Sequence[str], longest: int) -> list[str]:
    """Return the clauses between punctuation marks, each closed by a full stop, up to `longest` tokens."""
    parts = []
    for line in lines:
        words: list[str] = []
        for token in (*line.split(), _STOP):
            if token not in _BREAKS:
                words.append(token)
            elif words:
                if _SHORTEST <= len(words) + 1 <= longest:
                    parts.append(" ".join((*words, _STOP)))
                words = []
    return parts


def learnt_attributes(train: Corpus, sentiment: Sequence[str] | None, *, min_count: int) -> Attributes:
    """Return the contexts that a world has: `sentiment` where it is known, class of length, first content word."""
    return learn_attributes(_contexts(train, sentiment), min_count=min_count)


def in_context(corpus: Corpus, sentiment: Sequence[str] | None, attributes: Attributes) -> Corpus:
    """Return `corpus` with columns of its contexts."""
    return with_contexts(corpus, _contexts(corpus, sentiment), attributes)


def written(lines: Sequence[str], form: TextForm, longest: int) -> Corpus:
    """Return lines as a generator would write them: unknown words marked, cut after `longest` tokens."""
    return as_written(form.corpus(list(lines)), form, longest)


def _contexts(corpus: Corpus, sentiment: Sequence[str] | None) -> dict[str, list[str]]:
    contexts = review_contexts(corpus.texts, [""] * len(corpus) if sentiment is None else sentiment)
    return {name: values for name, values in contexts.items() if name != "sentiment" or sentiment is not None}


def _labels(path: Path, n: int) -> tuple[str, ...]:
    if not path.is_file():
        return ()
    labels = tuple(line.strip() for line in read_texts(path).texts)
    if len(labels) != n:
        raise InputError(f"{path} must have {n} labels, one for each sentence, got {len(labels)}")
    return labels


def _news(folder: Path) -> tuple[str, ...]:
    if not folder.is_dir():
        return ()
    there = [folder / name for name in _NEWS_FILES if (folder / name).is_file()]
    if not there:
        raise InputError(f"{folder} has none of {', '.join(_NEWS_FILES)}: add one, or remove the folder")
    return tuple(line.lower() for path in there for line in read_texts(path).texts)
