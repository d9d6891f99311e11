"""The study of exposure bias as a graph of stages: its texts, what is trained, and what is measured.

Of translation, the first model is trained on pairs and then serves as the data distribution, P_D: it draws a
translation of each source, on which the second model is trained. So the next words of P_D are known exactly, and
references of held-back sources are further samples of it.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4 to 6 and appendix C,
equations (7) and (8).
Departs from it: WikiText is parted by document, and both halves are cut into blocks of running text, which are the
sentences; sentences of other texts are cut at one length (but those that the data model learns from). In translation
people choose the next word there; here a known model does.
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
from textassay.execution import workers
from textassay.exposure import translation_eb_c
from textassay.generator import (
    BEAM,
    PREFIX_MODES,
    TranslationModel,
    blocks,
    forced_prefixes,
    make_generator,
    presets_of,
    save_model,
    translate,
    unseen_halves,
)
from textassay.metric import translation_bleu
from textassay.report import join_words
from textassay.study.draws import as_written, load_draws, save_draws
from textassay.study.exposure_bias.adversarial import from_scratch_stage, rankgan_stage
from textassay.study.exposure_bias.measures import (
    BLEU_MODELS,
    COT,
    DATA_MODEL,
    FRESH_SAMPLES,
    RANDOM_LSTM,
    RANDOM_ORACLE,
    RANKGAN,
    SCRATCHGAN,
    SYNTHETIC_MODELS,
    TEST_SET,
    TEXTS,
    TRANSLATION,
    Subject,
    bleu_stage,
    eb_c_stage,
    eb_dd_stage,
    perplexity_stage,
    random_oracle,
    switching_stage,
)
from textassay.study.exposure_bias.next_word import next_word_stages
from textassay.study.exposure_bias.published import CORRUPTION, NEXT_WORD, ExposureScale
from textassay.study.network_stages import MODEL, Part, opened, sampling, seed_for, tell_step, training
from textassay.study.presets import Network
from textassay.study.stages import Stage, Work

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


_COST = 30.0  # of a pair in training, beside a sentence elsewhere
_CHECKPOINT = "training.safetensors"
_SHOWN = 4  # sentences of the test set whose translations are shown: the first
_DISTANCES = ("tv", "js", "greedy")
_FEWEST = 30  # pairs that a length is measured on


@dataclass(frozen=True)
class TranslationStages:
    """What is measured of translation: BLEU, samples and next words of the first model, exposure bias of the second."""

    quality: Stage
    bias: Stage
    next_word: dict[int, Stage]  # Of the first model, by prefix length


def translation_stages(texts: PairTexts, scale: ExposureScale, *, precision: str, seed: int) -> TranslationStages:
    """Return the stages; nothing is computed yet."""
    train = texts.train
    data = _training("translation data model", scale, texts, None, seed=seed_for(seed, "translation", "data"))
    n_drawn = len(train) if scale.n_drawn_pairs is None else min(scale.n_drawn_pairs, len(train))
    pair_sets = {"train": train.take(np.arange(n_drawn)), "valid": texts.valid, "held": texts.held}
    drawn = _drawing(data, pair_sets, precision=precision, seed=seed_for(seed, "translation", "draw"))
    own = _training("translation model", scale, texts, (drawn, pair_sets), seed=seed_for(seed, "translation", "model"))
    return TranslationStages(
        _quality(data, texts, precision=precision, seed=seed_for(seed, "translation", "forced")),
        _bias(own, data, drawn, texts, scale.translation_lengths, precision=precision),
        next_word_stages(
            NEXT_WORD[1],
            Subject(NEXT_WORD[1], data, precision=precision),
            texts.held,
            scale.translation_lengths,
            scale,
            seed=seed,
        ),
    )  # fmt: skip


def _training(
    name: str,
    scale: ExposureScale,
    texts: PairTexts,
    drawn: tuple[Stage, Mapping[str, ParallelText]] | None,
    *,
    seed: int,
) -> Stage:
    """Return the training on pairs, or on what a stage drew for their sources."""
    network: Network = scale.translation

    def run(work: Work) -> dict[str, Any]:
        train, valid = texts.train, texts.valid
        if drawn is not None:
            train, valid = (
                _with_drawn_targets(work, drawn[0], drawn[1][part], part, texts.form) for part in ("train", "valid")
            )
        generator = make_generator(
            "translation", preset=network.preset, seed=seed, precision=scale.precision, **network.changes
        )
        model = cast(TranslationModel, generator)
        checkpoint = work.folder / _CHECKPOINT
        with workers(1):  # another number of threads sums in another order, and gives other weights
            model.fit(train, valid, checkpoint=checkpoint, progress=lambda step: tell_step(work, step))
        save_model(generator, work.folder / MODEL, form=texts.form)
        checkpoint.unlink(missing_ok=True)
        return {"model": model.name, "n_parameters": model.n_parameters}

    settings = {
        "preset": f"{network.preset} {presets_of('translation')[network.preset]}",
        "changes": dict(network.changes),
        "precision": scale.precision,
        "seed": seed,
        "form": texts.form.hash,
        "pairs": [texts.train.fingerprint, texts.valid.fingerprint] if drawn is None else None,
    }
    cost = _COST * (len(texts.train) if drawn is None else len(drawn[1]["train"]))
    return Stage("train", name, settings, run, () if drawn is None else (drawn[0],), cost)


def _drawing(data: Stage, pair_sets: Mapping[str, ParallelText], *, precision: str, seed: int) -> Stage:
    """Return what the data model answers to sources, one file a set."""

    def run(work: Work) -> dict[str, Any]:
        model = opened(work, data, precision=precision)
        for number, (name, pairs) in enumerate(pair_sets.items()):
            work.tell(f"{len(pairs)} translations, set {number + 1} of {len(pair_sets)}")
            translations = model.sample(len(pairs), seed=seed_for(seed, "draw", name), context=pairs.source)
            save_draws(work.folder / f"{name}.npz", translations)
        return {name: len(pairs) for name, pairs in pair_sets.items()}

    sources = {name: pairs.source.fingerprint for name, pairs in pair_sets.items()}
    settings = {"sources": sources, "precision": precision, "seed": seed}
    return Stage("sample", "translation data model", settings, run, (data,), float(len(pair_sets["train"])))


def _with_drawn_targets(work: Work, drawn: Stage, pairs: ParallelText, name: str, form: TextForm) -> ParallelText:
    """Return the sources with what was drawn for them."""
    return ParallelText(pairs.source, load_draws(work.inputs[drawn].folder / f"{name}.npz", form))


def _quality(data: Stage, texts: PairTexts, *, precision: str, seed: int) -> Stage:
    """Return BLEU of the test set, and translations of its first sentences with forced beginnings."""

    def run(work: Work) -> dict[str, Any]:
        model = opened(work, data, precision=precision)
        assert isinstance(model, TranslationModel)
        work.tell(f"beam search, {len(texts.test)} sentences")
        translations = translate(model, texts.test.source).corpus
        bleu = translation_bleu(translations.texts, texts.references, seed=seed)
        forced = {mode: forced_prefixes(mode, texts.test.target, seed=seed) for mode in PREFIX_MODES}
        first_rows = np.arange(min(_SHOWN, len(texts.test)))
        source = texts.test.source.take(first_rows)
        samples = []
        for mode, prefixes in forced.items():
            begin = prefixes.take(first_rows)
            whole = translate(model, source, prefix=begin).corpus
            for number, (text, first) in enumerate(zip(whole.texts, begin.texts, strict=True)):
                shared = takewhile(lambda pair: pair[0] == pair[1], zip(text, first, strict=False))
                length = sum(1 for _ in shared)  # all of `first`, but where a letter of its last token goes on
                parts = {"prefix": text[:length], "continuation": text[length:]}
                samples.append({"number": number, "mode": mode, **parts})
        return {"bleu": bleu.to_dict(), "samples": samples, "n": len(translations)}

    settings = {
        "test": texts.test.fingerprint, "form": texts.form.hash, "beam": BEAM, "shown": _SHOWN, "precision": precision,
        "seed": seed,
    }  # fmt: skip
    return Stage("translate", "multi30k", settings, run, (data,), float(len(texts.test)))


def _bias(
    own: Stage, data: Stage, drawn: Stage, texts: PairTexts, lengths: Sequence[int], *, precision: str
) -> Stage:  # fmt: skip
    """Return CGD and EB-C of translation on held-back sources."""

    def run(work: Work) -> dict[str, Any]:
        model, oracle = (cast(TranslationModel, opened(work, stage, precision=precision)) for stage in (own, data))
        pairs = _with_drawn_targets(work, drawn, texts.held, "held", texts.form)
        work.tell(f"beam search, {len(pairs)} sentences")
        translations = model.translations(pairs.source, width=BEAM)
        enough = [length for length in lengths if _n_at(length, pairs.target, translations) >= _FEWEST]
        if len(enough) < len(lengths):
            warnings.warn(
                f"of {len(pairs)} pairs, fewer than {_FEWEST} have so many tokens in both reference and translation: "
                f"{join_words([str(length) for length in lengths if length not in enough])}; left out",
                stacklevel=2,
            )
        curves = translation_eb_c(
            model, oracle, pairs, enough or [0], distances=_DISTANCES, translations=translations
        )  # fmt: skip
        return {name: curve.to_dict() for name, curve in curves.items()}

    settings = {
        "held": texts.held.source.fingerprint, "lengths": list(lengths), "distances": list(_DISTANCES), "beam": BEAM,
        "fewest": _FEWEST, "precision": precision,
    }  # fmt: skip
    return Stage("eb-c", "translation", settings, run, (own, data, drawn), float(10 * len(texts.held)))


def _n_at(length: int, references: Corpus, translations: Corpus) -> int:
    """Return how many pairs have so many tokens on both sides."""
    return int(np.count_nonzero(np.minimum(references.lengths, translations.lengths) >= length))


_LSTM, _TRANSFORMER, _UNIGRAM = BLEU_MODELS
_ORACLE_LENGTH = 20  # tokens that the random LSTM writes
_SHOWN, _PREFIX = 4, 10  # samples of each kind, tokens of their prefixes
_SWITCHED: Mapping[str, tuple[str, ...]] = {
    "wikitext2": ("model", "data", "shuffled", "random"),  # tables 1 and 8
    "emnlp_news": ("model", "data", "random"),  # table 9
}


@dataclass
class ExposureExperiment:
    """All stages of the study; names as in `ExposureResults`."""

    bleu: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)  # Text to model to runs
    # Model to kind of prefixes to runs
    synthetic: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    others: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    # Model of `others` to where it is trained, first of several
    adversarial: dict[str, Stage] = field(default_factory=dict)
    # Model to text, and text to model, to trainings
    perplexity: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    held_out_perplexity: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    # By title
    eb_dd: dict[str, Stage] = field(default_factory=dict)
    switching: dict[str, Stage] = field(default_factory=dict)
    # Task of `NEXT_WORD` to prefix length
    next_word: dict[str, dict[int, Stage]] = field(default_factory=dict)
    translation: TranslationStages | None = None  # None without pairs

    @property
    def targets(self) -> list[Stage]:
        """The stages that a report needs."""
        stages = [stage for models in self.bleu.values() for runs in models.values() for stage in runs]
        for models in (self.synthetic, self.others):
            stages += [stage for kinds in models.values() for runs in kinds.values() for stage in runs]
        for table in (self.perplexity, self.held_out_perplexity):
            stages += [stage for row in table.values() for trained in row.values() for stage in trained]
        stages += [*self.adversarial.values(), *self.eb_dd.values(), *self.switching.values()]
        stages += [stage for lengths in self.next_word.values() for stage in lengths.values()]
        return stages if self.translation is None else [*stages, self.translation.quality, self.translation.bias]


def build_exposure(texts: ExposureTexts, scale: ExposureScale, *, precision: str, seed: int) -> ExposureExperiment:
    """Return the stages of the study; nothing is computed yet.

    `precision`: ``float32`` or ``bfloat16``: in which models draw and are measured; perplexities are measured in
    float32.
    """
    experiment = ExposureExperiment()
    plan = _Plan(scale, precision, seed, experiment)
    for name, text in texts.free.items():
        plan.free_text(name, text)
    plan.random_setting()
    if texts.pairs is not None:
        experiment.translation = translation_stages(texts.pairs, scale, precision=precision, seed=seed)
        experiment.next_word[NEXT_WORD[1]] = experiment.translation.next_word
    return experiment


@dataclass(frozen=True)
class _Plan:
    """Settings of the study, and the experiment to which its parts add their stages."""

    scale: ExposureScale
    precision: str
    seed: int
    experiment: ExposureExperiment

    def free_text(self, name: str, text: FreeText) -> None:
        """Add what is measured on one text without an oracle and, on news, against the data model."""
        scale = self.scale
        lstm = scale.data_model if name == "emnlp_news" else scale.lstm[name]
        subjects = {_LSTM: self._trained(f"{name} {_LSTM}", "lstm", lstm, text)}
        if name == "wikitext2":
            title = f"{name} {_TRANSFORMER}"
            subjects[_TRANSFORMER] = self._trained(title, "transformer-xl", scale.transformer_xl, text)
            self.experiment.next_word[NEXT_WORD[0]] = next_word_stages(
                NEXT_WORD[0], subjects[_TRANSFORMER][0], text.unseen, scale.next_word_lengths, scale, seed=self.seed
            )
        subjects[_UNIGRAM] = [Subject(f"{name} {_UNIGRAM}", counted=text.train)]
        self.experiment.bleu[name] = {
            model: tuple(self._bleu(name, text, trained[run % len(trained)], run) for run in range(scale.bleu_runs))
            for model, trained in subjects.items()
        }
        self.experiment.held_out_perplexity[name] = {
            model: self._perplexity(trained, "unseen text", Part(text.unseen), text.form)
            for model, trained in subjects.items()
        }
        if name in _SWITCHED:
            model = _TRANSFORMER if name == "wikitext2" else _LSTM
            title = f"{model} on {name}"
            self.experiment.switching[title] = switching_stage(
                title, subjects[model][0], text.unseen, kinds=_SWITCHED[name], length=_PREFIX, n_tokens=2 * _PREFIX,
                n=_SHOWN, seed=self.seed,
            )  # fmt: skip
        if name == "emnlp_news":
            self._synthetic(text, subjects[_LSTM][0])

    def random_setting(self) -> None:
        """Add what is measured against a random LSTM."""
        scale, title = self.scale, RANDOM_LSTM
        stage, form = random_oracle(title, seed=seed_for(self.seed, title))
        oracle = Subject(title, stage, precision=self.precision)
        draws = self._drawn(title, oracle, scale.n_random, _ORACLE_LENGTH, fresh=0)
        models = self._learners(RANDOM_ORACLE, scale.lstm_32, draws, form, _ORACLE_LENGTH)
        self.experiment.synthetic[RANDOM_ORACLE] = self._deviations(models, oracle, _ORACLE_LENGTH, corrupted=False)
        ranked = [
            rankgan_stage(
                RANKGAN if number == 0 else f"{RANKGAN} again {number}",
                before.stage,
                stage,
                scale.rankgan,
                Part(stage=drawn, file="train"),
                form,
                n=scale.n_fresh,
                seed=seed_for(self.seed, RANKGAN, number),
                cost=float(scale.n_random * _ORACLE_LENGTH),
            )
            for number, (before, drawn) in enumerate(zip(models, draws, strict=True))
            if before.stage is not None
        ]
        after = self._compared(RANKGAN, ranked, oracle, _ORACLE_LENGTH)
        drawn = sampling(
            f"{title} fresh", stage, {"fresh": scale.n_fresh}, seed=seed_for(self.seed, title, "fresh"),
            longest=_ORACLE_LENGTH, precision=self.precision,
        )  # fmt: skip
        self.experiment.perplexity |= {
            trained[0].title: {
                FRESH_SAMPLES: self._perplexity(trained, FRESH_SAMPLES, Part(stage=drawn, file="fresh"), form)
            }
            for trained in (models, after)
        }

    def _synthetic(self, text: FreeText, oracle: Subject) -> None:
        """Add what is measured of models that learnt from samples of the data model."""
        scale, length = self.scale, self.scale.sentence_length["emnlp_news"]
        draws = self._drawn(DATA_MODEL, oracle, scale.n_drawn, text.longest, fresh=scale.n_fresh)
        fresh = Part(stage=draws[0], file="fresh")
        judged = {DATA_MODEL: [oracle]}
        for title, network in zip(SYNTHETIC_MODELS, (scale.lstm_512, scale.lstm_32), strict=True):
            models = self._learners(title, network, draws, text.form, text.longest)
            corrupted = title == SYNTHETIC_MODELS[0]
            self.experiment.synthetic[title] = self._deviations(models, oracle, length, corrupted=corrupted)
            self._eb_dd(f"{title} against the {DATA_MODEL}", models[0], None, oracle)
            judged[title] = models
        self._eb_dd(f"{DATA_MODEL} against real text", oracle, text.unseen, None)
        for title, contest in ((SCRATCHGAN, scale.scratchgan), (COT, scale.cot)):
            stages = [
                from_scratch_stage(
                    title if number == 0 else f"{title} again {number}",
                    title,
                    contest,
                    Part(stage=drawn, file="train"),
                    text.form,
                    longest=text.longest,
                    seed=seed_for(self.seed, title, number),
                    cost=float(scale.n_drawn * text.longest),
                )
                for number, drawn in enumerate(draws)
            ]
            judged[title] = self._compared(title, stages, oracle, length)
        self.experiment.perplexity |= {
            title: {
                TEST_SET: self._perplexity(trained, TEST_SET, Part(text.unseen), text.form),
                FRESH_SAMPLES: self._perplexity(trained, FRESH_SAMPLES, fresh, text.form),
            }
            for title, trained in judged.items()
        }

    def _trained(self, title: str, kind: str, network: Network, text: FreeText) -> list[Subject]:
        """Return a network that learns from real text, each of its trainings."""
        return [self._training(title, kind, network, text, number) for number in range(self.scale.trainings)]

    def _training(self, title: str, kind: str, network: Network, text: FreeText, number: int) -> Subject:
        stage = training(
            title if number == 0 else f"{title} again {number}",
            kind,
            preset=network.preset,
            changes=network.changes,
            precision=self.scale.precision,
            text=Part(text.train),
            valid=Part(text.valid),
            form=text.form,
            longest=text.longest,
            seed=seed_for(self.seed, title, *([number] if number else [])),
            cost=float(len(text.train.tokens)) * (1 if kind == "lstm" else 3),
        )
        return Subject(title, stage, precision=self.precision)

    def _drawn(self, title: str, oracle: Subject, n: int, longest: int, *, fresh: int) -> list[Stage]:
        """Return what a model writes for others to learn from: once, or anew for each run."""
        assert oracle.stage is not None
        counts = {"train": n, "valid": max(1, n // 10), **({"fresh": fresh} if fresh else {})}
        return [
            sampling(
                title if number == 0 else f"{title} again {number}",
                oracle.stage,
                counts,
                seed=seed_for(self.seed, "drawn", title, number),
                longest=longest,
                precision=self.precision,
            )
            for number in range(self.scale.runs if self.scale.retrained else 1)
        ]

    def _learners(
        self, title: str, network: Network, draws: list[Stage], form: TextForm, longest: int
    ) -> list[Subject]:  # fmt: skip
        """Return the networks that learn from each of `draws`."""
        models = []
        for number, drawn in enumerate(draws):
            stage = training(
                title if number == 0 else f"{title} again {number}",
                "lstm",
                preset=network.preset,
                changes=network.changes,
                precision=self.scale.precision,
                text=Part(stage=drawn, file="train"),
                valid=Part(stage=drawn, file="valid"),
                form=form,
                longest=longest,
                seed=seed_for(self.seed, title, number),
                cost=float(self.scale.n_drawn * longest),
            )
            models.append(Subject(title, stage, precision=self.precision))
        return models

    def _compared(self, title: str, stages: Sequence[Stage], oracle: Subject, length: int) -> list[Subject]:
        """Add EB-C of a model that has two sides, trained once or anew for each run; return its trainings."""
        models = [Subject(title, stage, precision=self.precision) for stage in stages]
        counts = dict.fromkeys(("data", "model"), self.scale.n_compared)
        self.experiment.adversarial[title] = stages[0]
        self.experiment.others[title] = self._after(counts, models, oracle, length)
        return models

    def _deviations(
        self, models: Sequence[Subject], oracle: Subject, length: int, *, corrupted: bool
    ) -> dict[str, tuple[Stage, ...]]:
        """Return kind of prefixes to runs."""
        damaged = ("shuffled", "random", *(f"corrupted:{rate:g}" for rate in CORRUPTION if corrupted))
        counts = dict.fromkeys(("data", "model"), self.scale.n_sequences) | dict.fromkeys(damaged, self.scale.n_damaged)
        return self._after(counts, models, oracle, length)

    def _after(
        self, counts: Mapping[str, int], models: Sequence[Subject], oracle: Subject, length: int
    ) -> dict[str, tuple[Stage, ...]]:
        """Return kind of prefixes to runs of so many sequences."""
        return {
            kind: tuple(
                eb_c_stage(
                    models[run % len(models)],
                    oracle,
                    kind,
                    lengths=range(length),
                    n=n,
                    run=run,
                    seed=self.seed,
                    cost=float(n * (5 if kind == "shuffled" else 1)),
                )
                for run in range(self.scale.runs)
            )
            for kind, n in counts.items()
        }

    def _bleu(self, name: str, text: FreeText, subject: Subject, run: int) -> Stage:
        scale = self.scale
        return bleu_stage(
            name,
            subject,
            text.unseen,
            sentence_length=scale.sentence_length[name],
            lengths=scale.lengths[name],
            n=scale.n_bleu[name],
            run=run,
            seed=self.seed,
            cost=float(scale.n_bleu[name] * len(scale.lengths[name])) * (3 if _TRANSFORMER in subject.title else 1),
        )

    def _perplexity(self, trained: Sequence[Subject], title: str, part: Part, form: TextForm) -> tuple[Stage, ...]:
        n = self.scale.n_fresh if part.corpus is None else len(part.corpus)
        return tuple(
            perplexity_stage(replace(one, precision="float32"), title, part, form, cost=float(n)) for one in trained
        )

    def _eb_dd(self, title: str, subject: Subject, text: Corpus | None, oracle: Subject | None) -> None:
        length = self.scale.sentence_length["emnlp_news"]
        self.experiment.eb_dd[title] = eb_dd_stage(
            title, subject, text=text, oracle=oracle, length=length // 2, sentence_length=length,
            n=self.scale.n_dd, seed=self.seed, cost=float(10 * self.scale.n_dd),
        )  # fmt: skip
