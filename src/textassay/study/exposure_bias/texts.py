"""The texts of the study of exposure bias: read from a folder, and split into training and unseen text.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4.1, 4.2 and 6.
Departs from it: WikiText is parted by document, and both halves are cut into blocks of running text, which are the
sentences; sentences of other texts are cut at one length (but those that the data model learns from).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from textassay.corpus import (
    Corpus,
    ParallelText,
    TextFile,
    TextForm,
    held_out_pairs,
    learn_joint_form,
    read_texts,
    split_last,
)
from textassay.errors import InputError, TooFewSentencesError
from textassay.generator import blocks, unseen_halves
from textassay.study.draws import as_written
from textassay.study.exposure_bias.results import TEXTS, TRANSLATION
from textassay.study.exposure_bias.scales import ExposureScale

IntArray = npt.NDArray[np.int64]

FILES: Mapping[str, tuple[str, ...]] = {  # of the folders, those without which nothing is measured
    "wikitext2": ("valid.txt", "test.txt"),
    "emnlp_news": ("valid.txt", "test.txt"),
    "yelp": ("train.txt",),
    TRANSLATION: ("train.de", "train.en", "val.de", "val.en", "test_2016_flickr.de", "test_2016_flickr.en"),
}
_VALIDATE = 10  # one sentence (or document) in so many chooses the epoch


@dataclass(frozen=True)
class FreeText:
    """A text that language models learn from, in three parts of one form."""

    form: TextForm  # How a model reads it: the words of `train`
    # What models learn from, and what chooses their epoch
    train: Corpus
    valid: Corpus
    # Where prefixes and references come from; where it is blocks of documents, its groups are the documents
    unseen: Corpus
    sizes: Mapping[str, int]  # How much there is of what

    @property
    def longest(self) -> int:
        """Tokens of the longest sentence that models learn from."""
        return int(self.train.lengths.max())


@dataclass(frozen=True)
class PairTexts:
    """Pairs of sentences in one form; `references` are those of `test` as they were read."""

    form: TextForm
    train: ParallelText
    valid: ParallelText
    held: ParallelText
    test: ParallelText
    references: tuple[str, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """How many pairs there are."""
        parts = {"train": self.train, "valid": self.valid, "held back": self.held, "test": self.test}
        return {f"{name} pairs": len(pairs) for name, pairs in parts.items()}


@dataclass(frozen=True)
class ExposureTexts:
    """The texts in the folder: free texts by name, pairs, and the missing ones."""

    free: Mapping[str, FreeText]
    pairs: PairTexts | None
    missing: tuple[str, ...]


def read_exposure_texts(folder: Path, scale: ExposureScale, *, seed: int) -> ExposureTexts:
    """Return the texts of the study.

    `folder`: holds a folder for each text; see `FILES`. A ``train.txt`` beside those of ``wikitext2`` or ``emnlp_news``
    is read, too.
    """
    if not folder.is_dir():
        raise InputError(f"no folder {folder}: --data names one that holds {', '.join(FILES)}")
    there = [name for name in FILES if (folder / name).is_dir()]
    if not there:
        raise InputError(f"{folder} has none of the folders {', '.join(FILES)}")
    for name in there:
        lacking = [file for file in FILES[name] if not (folder / name / file).is_file()]
        if lacking:
            raise InputError(
                f"{folder / name} lacks {', '.join(lacking)}: add it, or remove the folder to leave out {name}"
            )
    readers = {"wikitext2": _wikitext, "emnlp_news": _news, "yelp": _reviews}
    free = {name: readers[name](folder / name, scale, seed) for name in TEXTS if name in there}
    pairs = _pairs(folder / TRANSLATION, scale, seed) if TRANSLATION in there else None
    return ExposureTexts(free, pairs, tuple(name for name in FILES if name not in there))


def _wikitext(folder: Path, scale: ExposureScale, seed: int) -> FreeText:
    """Return blocks of documents; headings and empty lines are left out, so that no two documents share a line."""
    names = [name for name in ("train.txt", "valid.txt", "test.txt") if (folder / name).is_file()]
    lines = [line for name in names for line in _lines(folder / name)][: scale.most["wikitext2"]]
    kept: list[str] = []
    documents: list[int] = []
    document = 0
    for line in map(str.strip, lines):
        if line.startswith("= "):
            document += not line.startswith("= =")
        elif line:
            kept.append(line)
            documents.append(document)
    n_documents = len(set(documents))
    if n_documents < 4:
        raise TooFewSentencesError(f"{folder} has {n_documents} documents ('= Title =' begins one), 4 are needed")
    read = TextFile("wikitext2", tuple(kept), np.array(documents, dtype=np.int64))
    seen, unseen = unseen_halves(Corpus.from_texts(read), seed=seed)
    assert seen.groups is not None  # they came with the lines
    numbers = np.unique(seen.groups)
    valid = np.isin(seen.groups, numbers[-math.ceil(len(numbers) / _VALIDATE) :])
    parts = [seen.take(np.flatnonzero(~valid)), seen.take(np.flatnonzero(valid)), unseen]
    form = TextForm.learn(parts[0].texts, min_count=scale.min_count["wikitext2"])
    train, choosing, far = (blocks(_in_form(part, form), scale.sentence_length["wikitext2"]) for part in parts)
    sizes = _sizes(train, choosing, far, form) | {"documents": n_documents, "lines left out": len(lines) - len(kept)}
    return FreeText(form, train, choosing, far, sizes)


def _news(folder: Path, scale: ExposureScale, seed: int) -> FreeText:
    """Return whole sentences to learn from, and the test set without sentences that stand there."""
    name = "train.txt" if (folder / "train.txt").is_file() else "valid.txt"
    most = scale.most["emnlp_news"]
    seen, test = (_lines(folder / file)[:most] for file in (name, "test.txt"))
    first, last = split_last(len(seen), math.ceil(len(seen) / _VALIDATE))
    form = TextForm.learn([seen[number] for number in first], min_count=scale.min_count["emnlp_news"])
    train, valid = (as_written(form.corpus([seen[number] for number in part]), form) for part in (first, last))
    known = set(seen)
    far = form.corpus([line for line in test if line not in known])
    length = scale.sentence_length["emnlp_news"]
    n_long = int((far.lengths >= length).sum())
    if n_long < 2:
        raise TooFewSentencesError(f"{folder}: {n_long} test sentences have {length} tokens, 2 are needed")
    sizes = _sizes(train, valid, far, form) | {"test sentences left out: trained on": len(test) - len(far)}
    return FreeText(form, train, valid, far, sizes)


def _reviews(folder: Path, scale: ExposureScale, seed: int) -> FreeText:
    """Return the beginnings of all sentences that are long enough, cut at one length."""
    lines = _lines(folder / "train.txt")[: scale.most["yelp"]]
    length = scale.sentence_length["yelp"]
    beginnings = [" ".join(words[:length]) for words in map(str.split, lines) if len(words) >= length]
    if len(beginnings) < 4:
        raise TooFewSentencesError(f"{folder}: {len(beginnings)} sentences have {length} tokens, 4 are needed")
    seen, unseen = unseen_halves(Corpus.from_texts(beginnings), seed=seed)
    first, last = split_last(len(seen), math.ceil(len(seen) / _VALIDATE))
    form = TextForm.learn(seen.take(first).texts, min_count=scale.min_count["yelp"])
    train, valid, far = (_in_form(part, form) for part in (seen.take(first), seen.take(last), unseen))
    sizes = _sizes(train, valid, far, form) | {"sentences left out: too short": len(lines) - len(beginnings)}
    return FreeText(form, train, valid, far, sizes)


def _pairs(folder: Path, scale: ExposureScale, seed: int) -> PairTexts:
    most = scale.most[TRANSLATION]
    read = {part: [_lines(folder / f"{part}.{side}")[:most] for side in ("de", "en")] for part in _PARTS}
    for part, (source, target) in read.items():
        if len(source) != len(target):
            raise InputError(f"{folder / part}: .de has {len(source)} lines, .en {len(target)}: they must be pairs")
    kept, out = held_out_pairs(len(read["train"][0]), scale.n_held_back, seed=seed)
    sides = [[side[number] for number in kept] for side in read["train"]]
    form = learn_joint_form(*sides, size=scale.byte_pairs)

    def pairs(source: list[str], target: list[str]) -> ParallelText:
        return ParallelText.from_texts(source, target, form)

    held = [[side[number] for number in out] for side in read["train"]]
    return PairTexts(
        form,
        pairs(*sides),
        pairs(*read["val"]),
        pairs(*held),
        pairs(*read["test_2016_flickr"]),
        tuple(read["test_2016_flickr"][1]),
    )


_PARTS = ("train", "val", "test_2016_flickr")


def _lines(path: Path) -> list[str]:
    return list(read_texts(path).texts)


def _in_form(corpus: Corpus, form: TextForm) -> Corpus:
    """Return `corpus` as a model of this form would write it; groups stay."""
    written = form.corpus(TextFile("text", tuple(corpus.texts), corpus.groups))
    rewritten = as_written(written, form)
    return Corpus(
        rewritten.tokens,
        rewritten.offsets,
        rewritten.vocabulary,
        rewritten.texts,
        tokenizer=rewritten.tokenizer,
        groups=corpus.groups,
    )


def _sizes(train: Corpus, valid: Corpus, unseen: Corpus, form: TextForm) -> dict[str, int]:
    parts = {"train": train, "valid": valid, "unseen": unseen}
    sizes = {f"{name} sentences": len(corpus) for name, corpus in parts.items()}
    sizes |= {f"{name} tokens": len(corpus.tokens) for name, corpus in parts.items()}
    return {**sizes, "vocabulary": len(form.vocabulary)}
