"""The study of exposure bias as a graph of stages: its texts, what is trained, and what is measured.

Of translation, the first model is trained on pairs and then serves as the data distribution, P_D: it draws a
translation of each source, on which the second model is trained. So the next words of P_D are known exactly, and
references of held-back sources are further samples of it.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4 to 6 and appendix C,
equations (7) and (8).
Departs from it: WikiText is parted by document, and both halves are cut into blocks of running text, which are the
sentences; sentences of other texts are cut at one length (but those that the data model learns from). In translation
people choose the next word there; here a known model does. CoT, for which the paper has no result, is added. RankGAN
begins with the weights of the model trained by maximum likelihood, with sentences of the oracle's length, without ends,
as wherever EB-C is measured.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.split import split_last
from textassay.corpus.text_file import TextFile
from textassay.corpus.text_form import TextForm
from textassay.corpus.texts import read_texts
from textassay.errors import InputError, TooFewSentencesError
from textassay.estimate import Estimate, Interval
from textassay.ngram.language_model import LanguageModel
from textassay.report.text import join_words
from textassay.resampling.jackknife import terms_interval
from textassay_lab.adversarial.cot import CoT
from textassay_lab.adversarial.rankgan import RankGan
from textassay_lab.adversarial.rounds import RoundsHistory
from textassay_lab.adversarial.scratchgan import ScratchGan
from textassay_lab.adversarial.system import Rounds
from textassay_lab.exposure.bleu import BleuRun, measure_bleu_run
from textassay_lab.exposure.distance import Distance
from textassay_lab.exposure.runs import PrefixRun, measure_run
from textassay_lab.exposure.switching import SwitchedSample, switch_prefixes
from textassay_lab.exposure.translation import TranslationCurve, translation_eb_c
from textassay_lab.exposure.translation_bleu import translation_bleu
from textassay_lab.generator.catalog import make_generator, presets_of
from textassay_lab.generator.parallel import (
    PREFIX_MODES,
    ParallelText,
    forced_prefixes,
    held_out_pairs,
    learn_joint_form,
)
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.prefixes import blocks, unseen_halves
from textassay_lab.generator.random_lstm import RandomLstm
from textassay_lab.generator.saved import load_model, save_model
from textassay_lab.generator.text_likelihood import Quantity, text_likelihood
from textassay_lab.generator.translation_decoding import BEAM, translate
from textassay_lab.generator.translation_model import TranslationModel
from textassay_lab.papers.paper import Contest, Network, Scale, read_paper
from textassay_lab.papers.stages import Stage, Work, leaves
from textassay_lab.papers.training import (
    MODEL,
    Part,
    adversarial_stage,
    as_written,
    fitted,
    load_draws,
    numbered,
    of_contest,
    opened,
    sampling,
    save_draws,
    seed_for,
    training,
)

EXPOSURE_PAPER = read_paper("textassay_lab.papers.exposure_bias")
DISTANCES: Mapping[Distance, str] = {"tv": "total variation", "js": "Jensen-Shannon", "greedy": "greedy"}
CORRUPTION = (0.05, 0.1, 0.2, 0.3, 0.5)  # rates of figure 3; the paper does not say which it has
TEXTS = ("wikitext2", "emnlp_news", "yelp")
BLEU_MODELS = ("LSTM", "Transformer-XL", "position unigram")
SYNTHETIC_MODELS = ("LSTM-512", "LSTM-32")  # trained on samples of the data model
RANDOM_ORACLE = "LSTM-32 (random oracle)"  # trained on samples of a random LSTM
DATA_MODEL, RANDOM_LSTM = "data model", "random LSTM"
SCRATCHGAN, COT, RANKGAN = "ScratchGAN", "CoT", "RankGAN"
OTHERS: Mapping[str, str] = {  # not trained by maximum likelihood alone, and the model that was
    SCRATCHGAN: "LSTM-512",
    COT: "LSTM-32",
    RANKGAN: RANDOM_ORACLE,
}
TEST_SET, FRESH_SAMPLES = "EMNLP test set", "samples of the data model"
TRANSLATION = "multi30k"


@dataclass(frozen=True)
class TranslationResults:
    """Results on translation.

    P_D is a translation model trained on the pairs; the model under test is trained on samples of P_D for their
    sources, and the reference of a held-back source is another sample of P_D: its next words are known exactly.
    """

    bleu: Estimate  # Of the model trained on pairs, P_D, on the test set
    curves: Mapping[str, TranslationCurve]  # Distance to CGD and EB-C of the model under test, on held-back sources
    # Of P_D, for the first sentences of the test set: source, reference, then each of
    # `textassay_lab.generator.parallel.PREFIX_MODES`: what was forced, and what beam search made after it
    samples: tuple[SwitchedSample, ...]


@dataclass(frozen=True)
class ExposureResults:
    """All measurements; those of missing texts are left out of the mappings."""

    # text (of `TEXTS`) to model (of `BLEU_MODELS`; the Transformer-XL on ``wikitext2`` alone) to runs, each with the
    # kinds ``data``, ``model``, ``shuffled`` and ``random``
    bleu: Mapping[str, Mapping[str, tuple[BleuRun, ...]]]
    # model to kind of prefixes (``data``, ``model``, ``corrupted:RATE``, ``shuffled``, ``random``) to runs, as many of
    # each kind, with lengths 0, 1, 2, ... . `SYNTHETIC_MODELS` against the data model, `RANDOM_ORACLE` against the
    # random LSTM. ``corrupted`` of LSTM-512 alone.
    synthetic: Mapping[str, Mapping[str, tuple[PrefixRun, ...]]]
    others: Mapping[str, Mapping[str, tuple[PrefixRun, ...]]]  # model of `OTHERS` to the same of ``data``, ``model``
    # table 7: `DATA_MODEL`, `SYNTHETIC_MODELS`, `SCRATCHGAN` and `COT` to `TEST_SET` and `FRESH_SAMPLES`;
    # `RANDOM_ORACLE` and `RANKGAN` to `FRESH_SAMPLES`, which are the random LSTM's there
    perplexity: Mapping[str, Mapping[str, Quantity]]
    # text to model, as in `bleu`, to its perplexity on the text that prefixes and references come from
    held_out_perplexity: Mapping[str, Mapping[str, Quantity]]
    translation: TranslationResults | None  # None without ``multi30k``
    # `RANDOM_LSTM`, `RANDOM_ORACLE` and `RANKGAN` to the nats per token of what they draw under the random LSTM
    oracle_costs: Mapping[str, Quantity] = field(default_factory=dict)
    retrained: bool = False  # whether each run trained models of its own


BLEU_KINDS = ("model", "shuffled", "random")  # beside those of data


@dataclass(frozen=True)
class Subject:
    """A fitted model under test."""

    title: str  # its name in the study
    stage: Stage | None = None  # the stage that trained it; None for a position unigram
    counted: Corpus | None = field(default=None, repr=False)  # training text of a position unigram
    precision: str = "float32"

    @property
    def inputs(self) -> tuple[Stage, ...]:
        """The stages it depends on."""
        return () if self.stage is None else (self.stage,)

    @property
    def settings(self) -> dict[str, Any]:
        """Its settings, beside `inputs`."""
        counted = {} if self.counted is None else {"counted": self.counted.fingerprint}
        return {"model": self.title, "precision": self.precision, **counted}

    def open(self, work: Work) -> LanguageModel:
        """Return the fitted model."""
        if self.stage is not None:
            return opened(work, self.stage, precision=self.precision)
        assert self.counted is not None
        return PositionUnigram().fit(self.counted)


def random_oracle(title: str, *, seed: int) -> tuple[Stage, TextForm]:
    """Return the stage that keeps a random LSTM, and the form of what it writes."""
    model = RandomLstm(seed=seed)

    def run(work: Work) -> dict[str, Any]:
        save_model(model, work.folder / MODEL, form=model.form)
        return {"model": model.name}

    return Stage("train", title, {"model": model.settings}, run), model.form


def quantity_from_dict(data: Mapping[str, Any]) -> Quantity:
    """Return the quantity that a stage kept as `data`."""
    interval = None if data["interval"] is None else Interval(**data["interval"])
    return Quantity(math.inf if data["value"] is None else data["value"], interval)


def quantity_to_dict(quantity: Quantity) -> dict[str, Any]:
    """Return what a stage keeps of a quantity."""
    return {
        "value": quantity.value if math.isfinite(quantity.value) else None,
        "interval": None if quantity.interval is None else dict(quantity.interval.__dict__),
    }


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
    others: Mapping[str, int]  # How much there is of what else: what it was read from, and what was left out

    @property
    def sizes(self) -> dict[str, int]:
        """How much there is of what."""
        parts = {"train": self.train, "valid": self.valid, "unseen": self.unseen}
        sizes = {f"{name} sentences": len(corpus) for name, corpus in parts.items()}
        sizes |= {f"{name} tokens": len(corpus.tokens) for name, corpus in parts.items()}
        return {**sizes, "vocabulary": len(self.form.vocabulary), **self.others}

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


def read_exposure_texts(folder: Path, scale: Scale, *, seed: int) -> ExposureTexts:
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


def _wikitext(folder: Path, scale: Scale, seed: int) -> FreeText:
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
    return FreeText(form, train, choosing, far, {"documents": n_documents, "lines left out": len(lines) - len(kept)})


def _news(folder: Path, scale: Scale, seed: int) -> FreeText:
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
    return FreeText(form, train, valid, far, {"test sentences left out: trained on": len(test) - len(far)})


def _reviews(folder: Path, scale: Scale, seed: int) -> FreeText:
    """Return the beginnings of all sentences that are long enough, cut at one length."""
    lines = _lines(folder / "train.txt")[: scale.most["yelp"]]
    length = scale.sentence_length["yelp"]
    beginnings = [" ".join(words[:length]) for words in map(str.split, lines) if len(words) >= length]
    if len(beginnings) < 4:
        raise TooFewSentencesError(f"{folder}: {len(beginnings):,} sentences have {length} tokens, 4 are needed")
    seen, unseen = unseen_halves(Corpus.from_texts(beginnings), seed=seed)
    first, last = split_last(len(seen), math.ceil(len(seen) / _VALIDATE))
    form = TextForm.learn(seen.take(first).texts, min_count=scale.min_count["yelp"])
    train, valid, far = (_in_form(part, form) for part in (seen.take(first), seen.take(last), unseen))
    return FreeText(form, train, valid, far, {"sentences left out: too short": len(lines) - len(beginnings)})


def _pairs(folder: Path, scale: Scale, seed: int) -> PairTexts:
    most = scale.most[TRANSLATION]
    read = {part: [_lines(folder / f"{part}.{side}")[:most] for side in ("de", "en")] for part in _PARTS}
    for part, (source, target) in read.items():
        if len(source) != len(target):
            raise InputError(f"{folder / part}: .de has {len(source):,} lines, .en {len(target):,}: they must be pairs")
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


_FEWEST = 30  # pairs that a length is measured on
_LSTM, _TRANSFORMER, _UNIGRAM = BLEU_MODELS
_ORACLE_LENGTH = 20  # tokens that the random LSTM writes
_SHOWN, _PREFIX = 4, 10  # samples of each kind (of translation, the first sentences), tokens of their prefixes
_SWITCHED: Mapping[str, tuple[str, ...]] = {
    "wikitext2": ("model", "data", "shuffled", "random"),  # tables 1 and 8
    "emnlp_news": ("model", "data", "random"),  # table 9
}


def trainings(scale: Scale) -> int:
    """Return how often the models are trained whose EB-bleu is measured."""
    return int(min(scale.runs, scale.bleu_runs)) if scale.retrained else 1


@dataclass
class ExposureExperiment:
    """All stages of the study, named as in `ExposureResults`; nothing is computed yet.

    `precision`: ``float32`` or ``bfloat16``: in which models draw and are measured; perplexities are measured in
    float32.
    """

    texts: ExposureTexts
    scale: Scale
    precision: str
    seed: int
    bleu: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    synthetic: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    others: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    # of each training
    perplexity: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    held_out_perplexity: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    adversarial: dict[str, Stage] = field(default_factory=dict)  # model of `others` to its first training
    switching: dict[str, Stage] = field(default_factory=dict)  # by title
    # ``quality``: BLEU and samples of the first model; ``bias``: exposure bias of the second; none without pairs
    translation: dict[str, Stage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in self.texts.free.items():
            self.free_text(name, text)
        self.random_setting()
        if self.texts.pairs is not None:
            _Translation(self, self.texts.pairs).add()

    @property
    def targets(self) -> list[Stage]:
        """The stages that a report needs."""
        trees = (self.bleu, self.synthetic, self.others, self.perplexity, self.held_out_perplexity, self.adversarial)
        return list(leaves((*trees, self.switching, self.translation)))

    def free_text(self, name: str, text: FreeText) -> None:
        """Add what is measured on one text without an oracle and, on news, against the data model."""
        scale = self.scale
        lstm = scale.data_model if name == "emnlp_news" else scale.lstm
        subjects = {_LSTM: self._trained(f"{name} {_LSTM}", "lstm", lstm, text)}
        if name == "wikitext2":
            own = self._trained(f"{name} {_TRANSFORMER}", "transformer-xl", scale.transformer_xl, text)
            subjects[_TRANSFORMER] = own
        subjects[_UNIGRAM] = [Subject(f"{name} {_UNIGRAM}", counted=text.train)]
        self.bleu[name] = {
            model: tuple(self._bleu(name, text, trained[run % len(trained)], run) for run in range(scale.bleu_runs))
            for model, trained in subjects.items()
        }
        self.held_out_perplexity[name] = {
            model: self._perplexity(trained, "unseen text", Part(text.unseen), text.form)
            for model, trained in subjects.items()
        }
        if name in _SWITCHED:
            model = _TRANSFORMER if name == "wikitext2" else _LSTM
            self._switching(f"{model} on {name}", subjects[model][0], text.unseen, _SWITCHED[name])
        if name == "emnlp_news":
            self._synthetic(text, subjects[_LSTM][0])

    def random_setting(self) -> None:
        """Add what is measured against a random LSTM."""
        scale, title = self.scale, RANDOM_LSTM
        stage, form = random_oracle(title, seed=seed_for(self.seed, title))
        oracle = Subject(title, stage, precision=self.precision)
        draws = self._drawn(title, stage, scale.n_random, fresh=0)
        models = self._learners(RANDOM_ORACLE, scale.lstm_32, draws, form, _ORACLE_LENGTH)
        self._deviations(models, oracle, _ORACLE_LENGTH, corrupted=False)
        ranked = [
            _rankgan_stage(
                numbered(RANKGAN, number), before.inputs[0], stage, scale.rankgan, Part(stage=drawn, file="train"),
                form, n=scale.n_fresh, length=_ORACLE_LENGTH, seed=seed_for(self.seed, RANKGAN, number),
            )
            for number, (before, drawn) in enumerate(zip(models, draws, strict=True))
        ]  # fmt: skip
        after = self._compared(RANKGAN, ranked, oracle, _ORACLE_LENGTH)
        drawn = sampling(
            f"{title} fresh", stage, {"fresh": scale.n_fresh}, seed=seed_for(self.seed, title, "fresh"),
            precision=self.precision,
        )  # fmt: skip
        fresh = Part(stage=drawn, file="fresh")
        self.perplexity |= {
            trained[0].title: {FRESH_SAMPLES: self._perplexity(trained, FRESH_SAMPLES, fresh, form)}
            for trained in (models, after)
        }

    def _synthetic(self, text: FreeText, oracle: Subject) -> None:
        """Add what is measured of models that learnt from samples of the data model."""
        scale, length = self.scale, self.scale.sentence_length["emnlp_news"]
        draws = self._drawn(DATA_MODEL, oracle.inputs[0], scale.n_drawn, fresh=scale.n_fresh)
        judged = {DATA_MODEL: [oracle]}
        for title, network in zip(SYNTHETIC_MODELS, (scale.lstm_512, scale.lstm_32), strict=True):
            judged[title] = self._learners(title, network, draws, text.form, text.longest)
            self._deviations(judged[title], oracle, length, corrupted=title == SYNTHETIC_MODELS[0])
        for title, contest in ((SCRATCHGAN, scale.scratchgan), (COT, scale.cot)):
            stages = [
                _from_scratch_stage(
                    numbered(title, number), title, contest, Part(stage=drawn, file="train"), text.form,
                    longest=text.longest, seed=seed_for(self.seed, title, number),
                )
                for number, drawn in enumerate(draws)
            ]  # fmt: skip
            judged[title] = self._compared(title, stages, oracle, length)
        texts = {TEST_SET: Part(text.unseen), FRESH_SAMPLES: Part(stage=draws[0], file="fresh")}
        self.perplexity |= {
            title: {name: self._perplexity(trained, name, part, text.form) for name, part in texts.items()}
            for title, trained in judged.items()
        }

    def _trained(self, title: str, kind: str, network: Network, text: FreeText) -> list[Subject]:
        """Return a network that learns from real text, each of its trainings."""
        parts = Part(text.train), Part(text.valid)
        return [
            self._training(title, number, kind, network, *parts, text.form, text.longest,
                           seed=seed_for(self.seed, title, *([number] if number else [])))
            for number in range(trainings(self.scale))
        ]  # fmt: skip

    def _learners(
        self, title: str, network: Network, draws: list[Stage], form: TextForm, longest: int
    ) -> list[Subject]:
        """Return the networks that learn from each of `draws`."""
        return [
            self._training(title, number, "lstm", network, Part(stage=drawn, file="train"),
                           Part(stage=drawn, file="valid"), form, longest,
                           seed=seed_for(self.seed, title, number))
            for number, drawn in enumerate(draws)
        ]  # fmt: skip

    def _training(
        self, title: str, number: int, kind: str, network: Network, text: Part, valid: Part, form: TextForm,
        longest: int, *, seed: int,
    ) -> Subject:  # fmt: skip
        stage = training(
            numbered(title, number), kind, network, text, valid, form, longest=longest, seed=seed,
            precision=self.scale.precision,
        )  # fmt: skip
        return Subject(title, stage, precision=self.precision)

    def _drawn(self, title: str, oracle: Stage, n: int, *, fresh: int) -> list[Stage]:
        """Return what a model writes for others to learn from: once, or anew for each run."""
        counts = {"train": n, "valid": max(1, n // 10), **({"fresh": fresh} if fresh else {})}
        return [
            sampling(
                numbered(title, number), oracle, counts, seed=seed_for(self.seed, "drawn", title, number),
                precision=self.precision,
            )
            for number in range(self.scale.runs if self.scale.retrained else 1)
        ]  # fmt: skip

    def _compared(self, title: str, stages: Sequence[Stage], oracle: Subject, length: int) -> list[Subject]:
        """Add EB-C of a model that has two sides, trained once or anew for each run; return its trainings."""
        models = [Subject(title, stage, precision=self.precision) for stage in stages]
        counts = dict.fromkeys(("data", "model"), self.scale.n_compared)
        self.adversarial[title] = stages[0]
        self.others[title] = self._eb_c(counts, models, oracle, length)
        return models

    def _deviations(self, models: Sequence[Subject], oracle: Subject, length: int, *, corrupted: bool) -> None:
        """Add EB-C of a model trained by maximum likelihood, and CGD after damaged prefixes."""
        damaged = ("shuffled", "random", *(f"corrupted:{rate:g}" for rate in CORRUPTION if corrupted))
        counts = dict.fromkeys(("data", "model"), self.scale.n_sequences) | dict.fromkeys(damaged, self.scale.n_damaged)
        self.synthetic[models[0].title] = self._eb_c(counts, models, oracle, length)

    def _eb_c(
        self, counts: Mapping[str, int], models: Sequence[Subject], oracle: Subject, length: int
    ) -> dict[str, tuple[Stage, ...]]:
        """Return kind of prefixes to runs of so many sequences; see `measure_run`."""

        def stage(kind: str, n: int, run: int) -> Stage:
            subject, lengths = models[run % len(models)], list(range(length))
            own = seed_for(self.seed, "EB-C", subject.title, run)

            def measure(work: Work) -> dict[str, Any]:
                return measure_run(subject.open(work), oracle.open(work), kind, lengths, n, seed=own).to_dict()

            settings = {"kind": kind, "lengths": lengths, "n": n, "seed": own}
            settings |= {"model": subject.settings, "oracle": oracle.settings}
            return Stage(
                "eb-c",
                f"{subject.title} after {kind} run {run + 1}",
                settings,
                measure,
                (*subject.inputs, *oracle.inputs),
            )

        return {kind: tuple(stage(kind, n, run) for run in range(self.scale.runs)) for kind, n in counts.items()}

    def _bleu(self, name: str, text: FreeText, subject: Subject, run: int) -> Stage:
        """Return a run of EB-bleu, from 0; see `measure_bleu_run`."""
        lengths, n = self.scale.lengths[name], self.scale.n_bleu[name]
        options: dict[str, Any] = {
            "lengths": lengths, "sentence_length": self.scale.sentence_length[name], "n": n, "kinds": BLEU_KINDS,
            "seed": seed_for(self.seed, "EB-bleu", name, run),
        }  # fmt: skip
        return Stage(
            "eb-bleu",
            f"{subject.title} run {run + 1}",
            {**options, **subject.settings, "text": text.unseen.fingerprint},
            lambda work: measure_bleu_run(subject.open(work), text.unseen, **options).to_dict(),
            subject.inputs,
        )

    def _perplexity(self, trained: Sequence[Subject], title: str, part: Part, form: TextForm) -> tuple[Stage, ...]:
        """Return the perplexity of a text by each training, in float32."""

        def stage(subject: Subject) -> Stage:
            def measure(work: Work) -> dict[str, Any]:
                found = text_likelihood(subject.open(work), part.load(work, form))
                costs = {"perplexity": found.perplexity, "nll_per_token": found.nll_per_token}
                kept = {name: quantity_to_dict(cost) for name, cost in costs.items()}
                return {**kept, "sentences": found.n_sentences}

            settings = {**subject.settings, **part.settings, "form": form.hash}
            inputs = (*subject.inputs, *part.inputs)
            return Stage("perplexity", f"{subject.title} of {title}", settings, measure, inputs)

        return tuple(stage(replace(one, precision="float32")) for one in trained)

    def _switching(self, title: str, subject: Subject, unseen: Corpus, kinds: tuple[str, ...]) -> None:
        """Add samples after prefixes of several kinds; nothing is chosen among them. See `switch_prefixes`."""
        options: dict[str, Any] = {
            "kinds": kinds, "length": _PREFIX, "n_tokens": 2 * _PREFIX, "n": _SHOWN,
            "seed": seed_for(self.seed, "switching", title),
        }  # fmt: skip
        self.switching[title] = Stage(
            "switching",
            title,
            {**subject.settings, **options, "text": unseen.fingerprint},
            lambda work: [dict(one.__dict__) for one in switch_prefixes(subject.open(work), unseen, **options)],
            subject.inputs,
        )


_ADVERSARIAL = "two-sided"  # kind of the stages
_FROM_SCRATCH: Mapping[str, Any] = {SCRATCHGAN: ScratchGan.presets, COT: CoT.presets}


def _from_scratch_stage(
    name: str, kind: str, contest: Contest, text: Part, form: TextForm, *, longest: int, seed: int,
) -> Stage:  # fmt: skip
    """Return the stage that trains and saves `SCRATCHGAN` or `COT`."""
    network, recipe = of_contest(contest, _FROM_SCRATCH[kind])
    return adversarial_stage(
        _ADVERSARIAL, name, kind.lower(), network, recipe, text, form,
        settings={"network": network, "longest": longest, "train": text.settings}, inputs=text.inputs, seed=seed,
        longest=longest,
    )  # fmt: skip


def _rankgan_stage(
    name: str, before: Stage, oracle: Stage, contest: Contest, text: Part, form: TextForm, *, n: int, length: int,
    seed: int,
) -> Stage:  # fmt: skip
    """Return the stage of RankGAN's rounds on samples of a random LSTM, which writes `length` tokens.

    Its result has also ``oracle``, the values of `ExposureResults.oracle_costs`.
    """
    _, recipe = of_contest(contest, RankGan.presets)

    def ask_oracle(work: Work, rounds: Rounds) -> Any:
        truth = load_model(work.inputs[oracle].folder / MODEL).model
        costs = {RANDOM_LSTM: _cost(truth, truth.sample(n, seed=seed_for(seed, "own")))}
        costs[RANDOM_ORACLE] = _cost(truth, rounds.sample(n, seed=seed_for(seed, "before")))

        def after(history: RoundsHistory) -> dict[str, Any]:
            costs[RANKGAN] = _cost(truth, rounds.sample(n, seed=seed_for(seed, "after")))
            return {"oracle": {title: quantity_to_dict(cost) for title, cost in costs.items()}}

        return after

    return adversarial_stage(
        _ADVERSARIAL, name, "rankgan", before, recipe, text, form, settings={"n": n, "train": text.settings},
        inputs=tuple(dict.fromkeys((before, oracle, *text.inputs))), seed=seed, length=length,
        watch=ask_oracle,
    )  # fmt: skip


def _cost(oracle: LanguageModel, drawn: Corpus) -> Quantity:
    """Return the mean nats per token of sentences of one length under the oracle, with an interval over them."""
    costs = -oracle.log_prob(drawn) / drawn.lengths
    value = float(costs.mean())
    return Quantity(value, terms_interval(value, [costs], level=0.95, method="t: sentences; model fixed", low=0.0))


@dataclass(frozen=True)
class _Translation:
    """Adds what is measured of translation to a plan."""

    plan: ExposureExperiment
    texts: PairTexts

    def add(self) -> None:
        """Add BLEU, samples and next words of the first model, and exposure bias of the second."""
        plan, texts = self.plan, self.texts
        data = self._training("translation data model", None, seed=self._seed("data"))
        pair_sets = {"train": texts.train, "valid": texts.valid, "held": texts.held}
        drawn = self._drawing(data, pair_sets)
        own = self._training("translation model", (drawn, pair_sets), seed=self._seed("model"))
        plan.translation |= {"quality": self._quality(data), "bias": self._bias(own, data, drawn)}

    def _seed(self, purpose: str) -> int:
        return seed_for(self.plan.seed, "translation", purpose)

    def _open(self, work: Work, trained: Stage) -> TranslationModel:
        return cast(TranslationModel, opened(work, trained, precision=self.plan.precision))

    def _with_drawn_targets(self, work: Work, drawn: Stage, pairs: ParallelText, name: str) -> ParallelText:
        """Return the sources with what was drawn for them."""
        return ParallelText(pairs.source, load_draws(work.inputs[drawn].folder / f"{name}.npz", self.texts.form))

    def _training(self, name: str, drawn: tuple[Stage, Mapping[str, ParallelText]] | None, *, seed: int) -> Stage:
        """Return the training on pairs, or on what a stage drew for their sources."""
        texts, scale, network = self.texts, self.plan.scale, self.plan.scale.translation

        def run(work: Work) -> dict[str, Any]:
            train, valid = texts.train, texts.valid
            if drawn is not None:
                train, valid = (
                    self._with_drawn_targets(work, drawn[0], drawn[1][part], part) for part in ("train", "valid")
                )
            generator = make_generator(
                "translation", preset=network.preset, seed=seed, precision=scale.precision, **network.changes
            )
            return fitted(work, generator, train, valid, texts.form)

        settings = {
            "preset": f"{network.preset} {presets_of('translation')[network.preset]}", "changes": dict(network.changes),
            "precision": scale.precision, "seed": seed, "form": texts.form.hash,
            "pairs": [texts.train.fingerprint, texts.valid.fingerprint] if drawn is None else None,
        }  # fmt: skip
        return Stage("train", name, settings, run, () if drawn is None else (drawn[0],))

    def _drawing(self, data: Stage, pair_sets: Mapping[str, ParallelText]) -> Stage:
        """Return what the data model answers to sources, one file a set."""
        seed = self._seed("draw")

        def run(work: Work) -> dict[str, Any]:
            model = self._open(work, data)
            for number, (name, pairs) in enumerate(pair_sets.items()):
                work.tell(f"{len(pairs)} translations, set {number + 1} of {len(pair_sets)}")
                translations = model.sample(len(pairs), seed=seed_for(seed, "draw", name), context=pairs.source)
                save_draws(work.folder / f"{name}.npz", translations)
            return {name: len(pairs) for name, pairs in pair_sets.items()}

        sources = {name: pairs.source.fingerprint for name, pairs in pair_sets.items()}
        settings = {"sources": sources, "precision": self.plan.precision, "seed": seed}
        return Stage("sample", "translation data model", settings, run, (data,))

    def _quality(self, data: Stage) -> Stage:
        """Return BLEU of the test set, and translations of its first sentences with forced beginnings."""
        texts, test, seed = self.texts, self.texts.test, self._seed("forced")

        def run(work: Work) -> dict[str, Any]:
            model = self._open(work, data)
            work.tell(f"beam search, {len(test)} sentences")
            translations = translate(model, test.source).corpus
            bleu = translation_bleu(translations.texts, texts.references, seed=seed)
            first_rows = np.arange(min(_SHOWN, len(test)))
            source = test.source.take(first_rows)
            samples = []
            for mode in PREFIX_MODES:
                begin = forced_prefixes(mode, test.target, seed=seed).take(first_rows)
                whole = translate(model, source, prefix=begin).corpus
                for number, (text, first) in enumerate(zip(whole.texts, begin.texts, strict=True)):
                    shared = takewhile(lambda pair: pair[0] == pair[1], zip(text, first, strict=False))
                    length = sum(1 for _ in shared)  # all of `first`, but where a letter of its last token goes on
                    parts = {"prefix": text[:length], "continuation": text[length:]}
                    samples.append({"number": number, "mode": mode, **parts})
            return {"bleu": bleu.to_dict(), "samples": samples, "n": len(translations)}

        settings = {
            "test": test.fingerprint, "form": texts.form.hash, "beam": BEAM, "shown": _SHOWN,
            "precision": self.plan.precision, "seed": seed,
        }  # fmt: skip
        return Stage("translate", "multi30k", settings, run, (data,))

    def _bias(self, own: Stage, data: Stage, drawn: Stage) -> Stage:
        """Return CGD and EB-C of translation on held-back sources."""
        held, lengths = self.texts.held, self.plan.scale.translation_lengths

        def run(work: Work) -> dict[str, Any]:
            model, oracle = (self._open(work, stage) for stage in (own, data))
            pairs = self._with_drawn_targets(work, drawn, held, "held")
            work.tell(f"beam search, {len(pairs)} sentences")
            translations = model.translations(pairs.source, width=BEAM)
            shorter = np.minimum(pairs.target.lengths, translations.lengths)
            enough = [length for length in lengths if np.count_nonzero(shorter >= length) >= _FEWEST]
            if len(enough) < len(lengths):
                left_out = join_words([str(length) for length in lengths if length not in enough])
                warnings.warn(
                    f"of {len(pairs):,} pairs, fewer than {_FEWEST} have so many tokens in both reference and "
                    f"translation: {left_out}; left out",
                    stacklevel=2,
                )
            curves = translation_eb_c(
                model, oracle, pairs, enough or [0], distances=tuple(DISTANCES), translations=translations
            )
            return {name: curve.to_dict() for name, curve in curves.items()}

        settings = {
            "held": held.source.fingerprint, "lengths": list(lengths), "distances": list(DISTANCES), "beam": BEAM,
            "fewest": _FEWEST, "precision": self.plan.precision,
        }  # fmt: skip
        return Stage("eb-c", "translation", settings, run, (own, data, drawn))
