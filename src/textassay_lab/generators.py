"""Generators and language models over texts: fit to texts, sample texts, say how likely a text is, save, load.

Each class stands for one kind of model; what may be set is that of its presets (``tiny``, ``small``, ``paper`` and
others), and every setting of the model and of its training by name, such as ``Lstm(layers=1, max_epochs=3)``. Networks
need the extra ``neural``.
"""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, fields, replace
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

import textassay_lab.adversarial as systems
import textassay_lab.generator as networks
from textassay.corpus.characters import split_characters
from textassay.corpus.contexts import learn_attributes, read_contexts, with_contexts
from textassay.corpus.corpus import Corpus, Texts
from textassay.corpus.limits import running_text
from textassay.corpus.parallel import ParallelText, learn_joint_form
from textassay.corpus.split import split_last
from textassay.corpus.text_form import TextForm
from textassay.corpus.texts import TextFile, as_texts
from textassay.corpus.tokenizer import AUTO, Tokenizer
from textassay.corpus.windows import cut_windows
from textassay.errors import InputError, OptionError, TooFewSentencesError, unknown_name

__all__ = [
    "Att2Seq",
    "C2s",
    "CoT",
    "Endpoint",
    "External",
    "GatedC2s",
    "Gpt2",
    "GumbelGan",
    "LeakGan",
    "Lstm",
    "Ngram",
    "PositionUnigram",
    "Pretrained",
    "RandomLstm",
    "RankGan",
    "ScheduledSampling",
    "ScratchGan",
    "SeqGan",
    "TextGenerator",
    "TransformerXl",
    "Translation",
    "Wgan",
    "from_pretrained",
]

HELD_OUT = 10  # without validation text, one text in so many validates
LONGEST = 100  # tokens at which samples are cut, where no training text is longer
BYTE_PAIRS = 8000  # of a translation model
_TWO = 2  # texts to train on, at least

Contexts = Mapping[str, Sequence[str]] | str | os.PathLike[str]


class TextGenerator:
    """A generator of texts: the base of all classes here.

    Parameters
    ----------
    preset
        Where settings come from that are not named: ``tiny`` trains within seconds, ``small`` within minutes,
        ``paper`` is as published.
    seed
        Decides everything random in training.
    tokenizer, lowercase
        How a text becomes tokens: ``auto``, a name such as ``words``, ``chars`` or ``bpe-8000``, or a callable.
    vocabulary_size, min_count
        Which tokens of the training text are known: the most frequent so many, those that stand so often.
    window
        For running text: all texts are joined and cut into windows of so many tokens, which have no end.
    like
        A fitted generator whose tokens are used instead.
    settings
        Of the model and of its training.

    Attributes
    ----------
    model
        The fitted model, for `textassay_lab.generator` and others that work on corpora.
    form
        Its tokens: ``form.corpus(texts)`` is a corpus that the model reads.
    document
        What its folder says of it; empty where it was not loaded from one.

    Raises
    ------
    OptionError
        If a preset or a setting is unknown or out of range.
    MissingExtraError
        If the model needs PyTorch, which is not installed.
    """

    kind: ClassVar[str]
    preset: str | None = None
    seed: int = 0
    window: int | None = None
    document: Mapping[str, Any] = MappingProxyType({})
    source: str | None = None  # what it was loaded from
    _saved_as: ClassVar[tuple[str, ...]] = ()  # other kinds of models that a folder of this class may hold
    _is_loaded = False

    def __init__(
        self,
        *,
        preset: str | None = None,
        seed: int = 0,
        tokenizer: str | Tokenizer = AUTO,
        lowercase: bool = False,
        vocabulary_size: int | None = None,
        min_count: int = 1,
        window: int | None = None,
        like: "TextGenerator | None" = None,
        **settings: Any,
    ) -> None:
        self.window = window
        self.preset = preset
        self.seed = seed
        self.settings = settings
        self._form: dict[str, Any] = {"tokenizer": tokenizer, "lowercase": lowercase, "max_size": vocabulary_size}
        self._form["min_count"] = min_count
        self._like = like
        self._fitted: tuple[Any, TextForm] | None = None
        self.check()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model.name if self._fitted else 'not fitted'})"

    @property
    def model(self) -> Any:
        """The fitted model."""
        return self._known()[0]

    @property
    def form(self) -> TextForm:
        """The tokens of the fitted model."""
        return self._known()[1]

    def check(self) -> None:
        """Raise for a setting that cannot be."""
        self._new_model({})

    def fit(self, train: Texts, valid: Texts = None, **how: Any) -> Self:
        """Learn from `train`, choose by `valid`, and return itself.

        Parameters
        ----------
        train
            Lists of str, a column, a path or a corpus, as in `textassay.compare`; at least 2 texts.
        valid
            Decides when training has been enough; without it, the last tenth of `train` does and is not learnt from.
        how
            Of networks: `checkpoint` (a file to go on from), `progress` and others, see `textassay_lab.training.train`.

        Raises
        ------
        EmptyCorpusError, TooFewSentencesError
            If there is too little text.
        InputError
            If a text cannot be read, or both are the same.
        """
        form, train_corpus, valid_corpus = self._corpora(train, valid)
        longest = max(1, int(max(train_corpus.lengths.max(), valid_corpus.lengths.max())))
        self._learn(form, lambda tell: self._train(train_corpus, valid_corpus, longest, tell, **how))
        return self

    def sample(
        self,
        n: int,
        *,
        seed: int = 0,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        prefix: str | Sequence[str] | None = None,
    ) -> list[str]:
        """Return `n` texts, drawn independently.

        Parameters
        ----------
        n
            How many, at least 1. The first k of them do not depend on n.
        seed
            At least 0.
        temperature
            Above 0; below 1 likely tokens become likelier.
        top_k, top_p
            Draw each token from the k likeliest; from the fewest that have this probability together.
        prefix
            What all texts, or each of them, begin with.
        """
        return self._sample(n, seed, temperature, top_k, top_p, prefix)

    def log_prob(self, texts: Texts, *, temperature: float = 1.0) -> npt.NDArray[np.float64]:
        """Return the log-probability of each text, its end included, in nats, shape (N,).

        Raises
        ------
        UnavailableError, InputError
            If the model cannot say how likely a text is.
        """
        return self._log_prob(self.corpus(texts), temperature)

    def corpus(self, texts: Texts) -> Corpus:
        """Return texts in the tokens of the model; those it does not know are ``<unk>``."""
        return self.form.corpus(_texts(texts, "texts"))

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model into a folder, which `from_pretrained` and the command line read.

        It is ``config.json`` and ``model.safetensors``, laid out as Hugging Face's; what else is in a folder stays. A
        GPT-2 opens in transformers, too, with its tokenizer where the tokens are byte pairs, characters or what stands
        between white space, without lower case.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        from textassay_lab.generator.saved import save_model

        save_model(self.model, Path(folder), form=self.form)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the generator that `save_pretrained`, or ``textassay train``, wrote into a folder.

        `Gpt2` opens those of transformers' GPT-2 with byte-pair tokens, too.

        Raises
        ------
        InputError
            If there is none, it is damaged, or it is of another kind.
        """
        from textassay_lab.generator.saved import load_generator

        saved = load_generator(Path(folder))
        kind = saved.document["kind"]
        if kind not in (cls.kind, *cls._saved_as):
            raise InputError(f"{folder} holds a model of the kind {kind}: use {class_of(kind).__name__}")
        return cls._of(saved.model, saved.form)

    @classmethod
    def _of(cls, model: Any, form: TextForm) -> Self:
        generator = cls.__new__(cls)
        generator.settings = dict(getattr(model, "settings", {}))
        generator._fitted = model, form
        generator._is_loaded = True
        return generator

    def _known(self) -> tuple[Any, TextForm]:
        if self._fitted is None:
            raise InputError(f"{type(self).__name__} is not fitted: call fit first")
        return self._fitted

    def _check_new(self) -> None:
        if self._is_loaded:
            raise OptionError(f"this {type(self).__name__} was loaded: make a new one to fit it")

    def _new_model(self, lengths: Mapping[str, Any]) -> Any:
        from textassay_lab.generator.catalog import make_generator

        return make_generator(self.kind, preset=self.preset, seed=self.seed, **{**lengths, **self.settings})

    def _lengths(self, longest: int) -> dict[str, Any]:
        """Return what the model must be told of lengths."""
        return {"max_length": max(longest, LONGEST)}

    def unfitted_model(self, longest: int) -> Any:
        """Return a model with these settings that has learnt nothing, for texts of up to `longest` tokens."""
        return self._new_model(self._lengths(longest))

    def _learn(self, form: TextForm, train: Callable[[Callable[[Any], Any]], Any]) -> None:
        """Call `train` with a function that makes a model known, so that monitors can sample while it learns."""

        def tell(model: Any) -> Any:
            self._fitted = model, form
            return model

        self._fitted = None
        try:
            train(tell)
        except BaseException:
            self._fitted = None
            raise

    def _train(self, train: Corpus, valid: Corpus, longest: int, tell: Callable[[Any], Any], **how: Any) -> None:
        tell(self._new_model(self._lengths(longest))).fit(train, valid, **how)

    def _corpora(self, train: Texts, valid: Texts) -> tuple[TextForm, Corpus, Corpus]:
        """Return the form of the training text, and both texts in it."""
        self._check_new()
        with running_text(self.window is not None):
            sides = self._sides(train, valid)
            form = self._like.form if self._like is not None else TextForm.learn(sides[0], **self._form)
            corpora = [form.corpus(side) for side in sides]
        if self.window is not None:
            corpora = [cut_windows(corpus, self.window) for corpus in corpora]
        if len(corpora[0]) < _TWO:
            raise TooFewSentencesError(f"training needs at least 2 texts or windows, got {len(corpora[0])}")
        return form, corpora[0], corpora[1]

    def _sides(self, train: Texts, valid: Texts) -> tuple[TextFile, TextFile]:
        """Return what is learnt from and what validates; with windows, one running text each."""
        file = _texts(train, "train")
        other = None if valid is None else _texts(valid, "valid")
        if other is not None and file.texts == other.texts:
            raise InputError("valid holds the same texts as train: validate with others, or leave it out")
        if self.window is not None:
            running = [" ".join(side) for side in (file, other) if side is not None]
            parts = running if other is not None else split_characters(running[0], (1 - 1 / HELD_OUT, 1 / HELD_OUT))
            return TextFile("train", (parts[0],)), TextFile("valid", (parts[1],))
        if other is not None:
            return file, other
        if len(file) < _TWO:
            raise TooFewSentencesError(
                f"training needs at least 2 texts, got {len(file)}: of running text, give window"
            )
        return _last_held_out(file)

    def _sample(
        self,
        n: int,
        seed: int,
        temperature: float,
        top_k: int | None,
        top_p: float | None,
        prefix: str | Sequence[str] | None,
        context: Corpus | None = None,
    ) -> list[str]:
        settings: dict[str, Any] = {"top_k": top_k, "top_p": top_p, "context": context}
        if prefix is not None:
            settings["prefix"] = self.form.corpus([prefix] if isinstance(prefix, str) else prefix)
        settings = {name: value for name, value in settings.items() if value is not None}
        return list(self.model.sample(n, seed=seed, temperature=temperature, **settings).texts)

    def _log_prob(self, corpus: Corpus, temperature: float) -> npt.NDArray[np.float64]:
        if not hasattr(self.model, "log_prob"):
            raise InputError(f"{self.model.name} cannot say how likely a text is; `textassay.approximate` estimates it")
        log_probs: npt.NDArray[np.float64] = self.model.log_prob(corpus, temperature=temperature)
        return log_probs


class Ngram(TextGenerator):
    """An interpolated Kneser-Ney model of n-grams; settings: `order`, `max_length`."""

    kind = "ngram"


class PositionUnigram(TextGenerator):
    """Draws each token by how often it stands at that place of a text."""

    kind = "position-unigram"

    def _lengths(self, longest: int) -> dict[str, Any]:
        return {}


class Lstm(TextGenerator):
    """A recurrent language model; settings: `width`, `layers`, `dropout`, `batch_size`, and those of training.

    Those of training: `max_epochs`, `learning_rate`, `schedule`, `max_norm`, `patience` and others of the recipe.
    """

    kind = "lstm"

    def _lengths(self, longest: int) -> dict[str, Any]:
        if self.window is not None:  # no end of windows is learnt
            return {"length": self.window, "max_length": self.window}
        return super()._lengths(longest)


class ScheduledSampling(Lstm):
    """An LSTM that learns from its own words, too; settings of `Lstm`, and `mixing`."""

    kind = "scheduled-sampling"


class Gpt2(TextGenerator):
    """A transformer as GPT-2; settings: `width`, `layers`, `heads`, `dropout`, `batch_size`, and those of training."""

    kind = "gpt2"

    def _lengths(self, longest: int) -> dict[str, Any]:
        return {"positions": longest + 1}


class TransformerXl(TextGenerator):
    """A transformer with a memory of earlier segments; settings of `Gpt2`, and `inner`, `segment`, `memory`."""

    kind = "transformer-xl"


class Conditional(TextGenerator):
    """A generator that answers to contexts, such as a rating or a product: one category of each attribute.

    Contexts are a mapping from the name of each attribute to the categories of all texts (a data frame will do), or the
    path of a table (.tsv, .csv) whose first line names the attributes.
    """

    def __init__(self, *, context_count: int = 1, **settings: Any) -> None:
        self.context_count = context_count
        super().__init__(**settings)

    def check(self) -> None:
        """Raise for a setting that cannot be."""
        self._new_model({"attributes": {"none": ["<other>"]}})

    def unfitted_model(self, longest: int) -> Any:
        """Refuse: the attributes of the contexts are learnt."""
        raise InputError(f"a {type(self).__name__} has a network for the attributes of its contexts: call fit first")

    def fit(  # type: ignore[override]
        self,
        train: Texts,
        valid: Texts = None,
        *,
        contexts: Contexts,
        valid_contexts: Contexts | None = None,
        **how: Any,
    ) -> Self:
        """Learn from `train` and the contexts of its texts; as `TextGenerator.fit`.

        Categories that stand more seldom than `context_count` times are one.
        """
        if (valid is None) != (valid_contexts is None):
            raise OptionError("valid and valid_contexts belong together: give both, or none for a tenth of train")
        form, train_corpus, valid_corpus = self._corpora(train, valid)
        rows = _contexts(contexts)
        n = len(train_corpus)
        of_train = {name: values[:n] for name, values in rows.items()}
        rest = {name: values[n:] for name, values in rows.items()}
        of_valid = rest if valid_contexts is None else _contexts(valid_contexts)
        attributes = learn_attributes(of_train, min_count=self.context_count)
        longest = max(1, int(max(train_corpus.lengths.max(), valid_corpus.lengths.max())))
        sides = (with_contexts(train_corpus, of_train, attributes), with_contexts(valid_corpus, of_valid, attributes))
        lengths = {**self._lengths(longest), "attributes": attributes}
        self._learn(form, lambda tell: tell(self._new_model(lengths)).fit(*sides, **how))
        return self

    def sample(  # type: ignore[override]
        self,
        n: int,
        *,
        contexts: Contexts,
        seed: int = 0,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        prefix: str | Sequence[str] | None = None,
    ) -> list[str]:
        """Return `n` texts that answer to `contexts`, one or `n`; as `TextGenerator.sample`."""
        rows = _contexts(contexts)
        empty = self.form.corpus([""] * len(next(iter(rows.values()))))
        context = with_contexts(empty, rows, self.model.attributes)
        return self._sample(n, seed, temperature, top_k, top_p, prefix, context)

    def log_prob(  # type: ignore[override]
        self, texts: Texts, *, contexts: Contexts, temperature: float = 1.0
    ) -> npt.NDArray[np.float64]:
        """Return the log-probability of each text in its context; as `TextGenerator.log_prob`."""
        corpus = with_contexts(self.corpus(texts), _contexts(contexts), self.model.attributes)
        return self._log_prob(corpus, temperature)


class Att2Seq(Conditional):
    """An LSTM that begins from an attended encoding of the context."""

    kind = "att2seq"


class C2s(Conditional):
    """An LSTM that begins from an encoding of the context."""

    kind = "c2s"


class GatedC2s(Conditional):
    """An LSTM that reads the context at every token, through a gate."""

    kind = "gc2s"


class Translation(TextGenerator):
    """A translation model (an encoder and decoder with attention); it learns byte pairs of both sides."""

    kind = "translation"

    def __init__(self, *, byte_pairs: int = BYTE_PAIRS, **settings: Any) -> None:
        self.byte_pairs = byte_pairs
        super().__init__(**settings)

    def _lengths(self, longest: int) -> dict[str, Any]:
        return {}

    def fit(  # type: ignore[override]
        self,
        sources: Texts,
        translations: Texts,
        valid_sources: Texts = None,
        valid_translations: Texts = None,
        **how: Any,
    ) -> Self:
        """Learn to translate text k of `sources` into text k of `translations`; without validation text as `fit`."""
        if (valid_sources is None) != (valid_translations is None):
            raise OptionError("valid_sources and valid_translations belong together: give both, or none")
        self._check_new()
        train = [_texts(sources, "sources"), _texts(translations, "translations")]
        if len(train[0]) != len(train[1]):
            raise InputError(f"each source needs its translation, got {len(train[0])} and {len(train[1])}")
        if valid_sources is None:
            if len(train[0]) < _TWO:
                raise TooFewSentencesError(f"training needs at least 2 pairs, got {len(train[0])}")
            parts = [_last_held_out(side) for side in train]
            train, valid = [part[0] for part in parts], [part[1] for part in parts]
        else:
            valid = [_texts(valid_sources, "valid_sources"), _texts(valid_translations, "valid_translations")]
        if self._like is None:
            form = learn_joint_form(*train, size=self.byte_pairs, lowercase=bool(self._form["lowercase"]))
        else:
            form = self._like.form
        pairs = [ParallelText.from_texts(sides[0], sides[1], form) for sides in (train, valid)]
        self._learn(form, lambda tell: tell(self._new_model({})).fit(*pairs, **how))
        return self

    def sample(  # type: ignore[override]
        self,
        sources: Texts,
        *,
        seed: int = 0,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> list[str]:
        """Return a drawn translation of each source; as `TextGenerator.sample`."""
        corpus = self.corpus(sources)
        return self._sample(len(corpus), seed, temperature, top_k, top_p, None, corpus)

    def translate(self, sources: Texts, *, beam: int = 5, length_power: float = 1.0) -> list[str]:
        """Return the best translation of each source that beam search finds."""
        from textassay_lab.generator.translation_decoding import translate

        return list(translate(self.model, self.corpus(sources), width=beam, power=length_power).corpus.texts)

    def log_prob(  # type: ignore[override]
        self, texts: Texts, *, sources: Texts, temperature: float = 1.0
    ) -> npt.NDArray[np.float64]:
        """Return the log-probability of each text as the translation of its source, in nats, shape (N,)."""
        corpora = self.corpus(texts), self.corpus(sources)
        log_probs: npt.NDArray[np.float64] = self.model.log_prob(corpora[0], temperature=temperature, source=corpora[1])
        return log_probs


@dataclass(frozen=True)
class Rounds:
    """A training against a discriminator that can begin; `finish` makes of its history the generator as it is kept."""

    name: str
    training: Any
    phases: Sequence[Any]
    collapse: Any
    best: str  # what validation has lowest where it is best
    sample: Callable[..., Corpus]  # from the generator as it is
    finish: Callable[[Any], None]


class Adversarial(TextGenerator):
    """A generator that is trained against a discriminator, in rounds.

    Settings are those of the network, of its training by maximum likelihood where there is one, and of the rounds:
    `rounds`, and all others of the recipe; where two have a name, that of the rounds begins with ``rounds_``, such as
    `rounds_learning_rate`. `length` is the number of tokens of every text, where texts do not end.

    Attributes
    ----------
    history
        What validation said after each round.
    """

    history: Any = None
    _network: ClassVar[str] = "LstmModel"  # in textassay_lab.generator
    _training: ClassVar[str]  # in textassay_lab.adversarial
    _may_have_oracle: ClassVar[bool] = False
    _needs_length: ClassVar[bool] = True  # every text must have `length` tokens, if given

    def __init__(self, *, length: int | None = None, keep: str = "last", **settings: Any) -> None:
        self.length = length
        self.keep = keep
        if keep not in ("last", "best"):
            raise OptionError(f"keep must be last or best, got '{keep}'")
        super().__init__(**settings)

    def check(self) -> None:
        """Raise for a setting that cannot be."""
        self._plan()

    @classmethod
    def presets(cls) -> Mapping[str, Any]:
        """Return name to settings of the network and recipe of the rounds."""
        presets: Mapping[str, Any] = getattr(systems, f"{cls.kind.upper()}_PRESETS")
        return presets

    @classmethod
    def plan(
        cls,
        preset: str | None,
        settings: Mapping[str, Mapping[str, Any]],
        *,
        length: int | None = None,
        naming: Callable[..., AbstractContextManager[None]] = lambda *groups: nullcontext(),
    ) -> tuple[dict[str, Any], Any]:
        """Return all settings of the network, and the recipe of the rounds.

        `settings` are those that differ from the preset, by group: network, training, rounds. An error inside
        ``naming(group)`` is about one of that group.
        """
        preset = preset or "tiny"
        if preset not in cls.presets():
            raise unknown_name(f"preset of {cls.kind}", preset, cls.presets())
        before, recipe = cls.presets()[preset]
        network = {**before, **settings.get("network", {})}
        if settings.get("training"):
            with naming("training"):
                network["recipe"] = replace(network["recipe"], **settings["training"])
        with naming("network", "training"):
            cls.untrained(network, recipe, length=length)
        with naming("rounds"):
            return network, replace(recipe, **cls._of_rounds(settings, length))

    @classmethod
    def _of_rounds(cls, settings: Mapping[str, Mapping[str, Any]], length: int | None) -> Mapping[str, Any]:
        return settings.get("rounds", {})

    @classmethod
    def untrained(
        cls, network: Mapping[str, Any], recipe: Any, *, length: int | None, longest: int | None = None, seed: int = 0
    ) -> Any:
        """Return a generator that has learnt nothing, of texts with `length` tokens, or up to `longest`."""
        lengths = {} if length is None and longest is None else {"max_length": length or longest}
        return getattr(networks, cls._network)(**network, length=length, **lengths, seed=seed)

    @classmethod
    def begin(
        cls, model: Any, recipe: Any, train: Corpus, valid: Corpus, *, oracle_name: str | None = None, **how: Any
    ) -> Rounds:
        """Return the training of `model`; `how` goes to it: `seed`, an `oracle` that has this name, and others."""
        training = getattr(systems, cls._training)(model, train, valid, recipe=recipe, **how)
        oracle = {"oracle": oracle_name} if cls._may_have_oracle else {}
        record = {"recipe": json.loads(json.dumps(asdict(recipe))), **oracle}
        return Rounds(
            name=f"{cls.kind}({model.name})",
            training=training,
            phases=cls._phases(training, recipe),
            collapse=systems.COLLAPSE,
            best=systems.VALID if oracle_name is None else systems.ORACLE,
            sample=getattr(training, "sample", model.sample),
            finish=lambda history: cls._finish(training, history, record),
        )

    @classmethod
    def _phases(cls, training: Any, recipe: Any) -> Sequence[Any]:
        phases: Sequence[Any] = training.phases
        return phases

    @classmethod
    def _finish(cls, training: Any, history: Any, record: Mapping[str, Any]) -> None:
        training.finish({"kind": cls.kind, **history.ending, **record})

    def unfitted_model(self, longest: int) -> Any:
        """Return a generator that has learnt nothing; the discriminator is no part of it."""
        network, recipe = self._plan()
        return self.untrained(network, recipe, length=self.length, longest=longest, seed=self.seed)

    def _plan(self) -> tuple[dict[str, Any], Any]:
        """Return the settings of the generator, and the recipe of the rounds."""
        network, recipe = self.plan(self.preset, {})
        of_rounds = {field.name for field in fields(recipe)}
        known = set(signature(getattr(networks, self._network)).parameters)
        known -= {"recipe", "seed", "length", "max_length", "ends"}
        of_training = {field.name for field in fields(network["recipe"])} if "recipe" in network else set()
        if not of_training:
            known -= of_rounds
        settings: dict[str, dict[str, Any]] = {"network": {}, "training": {}, "rounds": {}}
        for name, value in self.settings.items():
            of_round = name.removeprefix("rounds_")
            if name in known:
                settings["network"][name] = value
            elif name in of_training:
                settings["training"][name] = value
            elif name in of_rounds or of_round in of_rounds:
                settings["rounds"][name if name in of_rounds else of_round] = value
            else:
                raise unknown_name(f"setting of {self.kind}", name, known | of_training | of_rounds)
        return self.plan(self.preset, settings, length=self.length)

    def _train(self, train: Corpus, valid: Corpus, longest: int, tell: Callable[[Any], Any], **how: Any) -> None:
        if self.length is not None and self._needs_length:
            for corpus in (train, valid):
                if (corpus.lengths != self.length).any():
                    raise InputError(f"every text must have {self.length} tokens, as `length` says")
        network, recipe = self._plan()
        model = self.unfitted_model(longest)
        if "recipe" in network:  # maximum likelihood first
            model.fit(train, valid)
        rounds = self.begin(model, recipe, train, valid, seed=self.seed)
        tell(model)
        keep = rounds.best if self.keep == "best" else None
        self.history = systems.train_in_rounds(
            rounds.training, rounds.phases, keep=keep, collapse=rounds.collapse, **how
        )
        rounds.finish(self.history)


class SeqGan(Adversarial):
    """SeqGAN: an LSTM by maximum likelihood first, then by policy gradient from a discriminator's rewards."""

    kind = "seqgan"
    _saved_as = ("lstm",)
    _training = "SeqGan"
    _may_have_oracle = True

    @classmethod
    def begin(cls, model: Any, recipe: Any, *texts: Corpus, **how: Any) -> Rounds:
        """Return the training; without rounds it is that of MLE SeqGAN."""
        rounds = super().begin(model, recipe, *texts, **how)
        return rounds if recipe.rounds else replace(rounds, name=f"mle-{rounds.name}")

    @classmethod
    def _phases(cls, training: Any, recipe: Any) -> Sequence[Any]:
        """Return the phases; without rounds nobody asks the discriminator, which then learns nothing."""
        pretraining = recipe.pretraining_rounds if recipe.rounds else 0
        first = systems.Phase("discriminator", pretraining, validated=False)
        return first, systems.Phase("adversarial", recipe.rounds)


class RankGan(SeqGan):
    """RankGAN: SeqGAN whose rewards are ranks among real texts."""

    kind = "rankgan"
    _training = "RankGan"


class CoT(Adversarial):
    """Cooperative training: an LSTM and a mediator, from their first step."""

    kind = "cot"
    _saved_as = ("lstm",)
    _training = "CoT"
    _may_have_oracle = True

    @classmethod
    def begin(cls, model: Any, recipe: Any, *texts: Corpus, **how: Any) -> Rounds:
        """Return the training; few pairs of neighbours are how it begins, so only very few are a collapse."""
        rounds = super().begin(model, recipe, *texts, **how)
        return replace(rounds, collapse=systems.Collapse("variety", least=0.05))

    @classmethod
    def _finish(cls, training: Any, history: Any, record: Mapping[str, Any]) -> None:
        training.finish(history, record)


class ScratchGan(CoT):
    """ScratchGAN: an LSTM with tied vectors against a recurrent discriminator, without pretraining."""

    kind = "scratchgan"
    _saved_as = ("tied-lstm",)
    _network = "TiedLstm"
    _training = "ScratchGan"


class GumbelGan(Adversarial):
    """A GAN through Gumbel-softmax: an LSTM by maximum likelihood first, then by gradients through its draws."""

    kind = "gumbelgan"
    _saved_as = ("lstm",)
    _training = "GumbelGan"
    _may_have_oracle = True


class LeakGan(Adversarial):
    """LeakGAN: a manager that sees the discriminator's features sets goals for a worker."""

    kind = "leakgan"
    _network = "LeakGanModel"
    _training = "LeakGan"

    @classmethod
    def begin(cls, model: Any, recipe: Any, *texts: Corpus, **how: Any) -> Rounds:
        """Return the training: cycles of both sides, then rounds."""
        return replace(super().begin(model, recipe, *texts, **how), name=model.name)

    @classmethod
    def _phases(cls, training: Any, recipe: Any) -> Sequence[Any]:
        return systems.Phase("pretraining", recipe.cycles), systems.Phase("adversarial", recipe.rounds)


class Wgan(Adversarial):
    """A recurrent Wasserstein GAN: a noise-driven network without likelihood; `textassay.approximate` estimates it."""

    kind = "wgan"
    _saved_as = ("noise-gru",)
    _network = "NoiseGru"
    _training = "WganTraining"
    _needs_length = False  # windows of that length are cut

    @classmethod
    def _of_rounds(cls, settings: Mapping[str, Mapping[str, Any]], length: int | None) -> Mapping[str, Any]:
        """Return settings of the rounds; the critic is as wide as the generator unless it is said."""
        network = settings.get("network", {})
        as_wide = {"critic_width": network["width"]} if "width" in network else {}
        return {**as_wide, **settings.get("rounds", {}), **({} if length is None else {"length": length})}

    @classmethod
    def untrained(
        cls, network: Mapping[str, Any], recipe: Any, *, length: int | None, longest: int | None = None, seed: int = 0
    ) -> Any:
        """Return a generator that has learnt nothing."""
        return networks.NoiseGru(**network, length=length or recipe.length, ends=length is None)

    @classmethod
    def begin(cls, model: Any, recipe: Any, *texts: Corpus, **how: Any) -> Rounds:
        """Return the training."""
        from textassay_lab.adversarial.wgan import COLLAPSE, VALID

        rounds = super().begin(model, recipe, *texts, **how)
        return replace(rounds, collapse=COLLAPSE, best=VALID)

    @classmethod
    def _finish(cls, training: Any, history: Any, record: Mapping[str, Any]) -> None:
        training.finish(history)


class _Ready(TextGenerator):
    """A generator that need not be fitted."""

    def check(self) -> None:
        """Nothing to check: what there is was made."""

    def unfitted_model(self, longest: int) -> Any:
        """Return the model, which need not be fitted."""
        return self.model

    def fit(self, train: Texts, valid: Texts = None, **how: Any) -> Self:
        """Refuse: there is nothing to learn."""
        raise OptionError(f"{self.model.name} is ready: there is nothing to fit")


class Pretrained(_Ready):
    """A causal language model of Hugging Face transformers, by its name or its folder."""

    kind = "pretrained"

    def __init__(self, name_or_path: str | os.PathLike[str], *, batch_size: int = 32, max_length: int = 200) -> None:
        from textassay_lab.generator.pretrained import PretrainedModel

        super().__init__()
        model = PretrainedModel(os.fspath(name_or_path), batch_size=batch_size, max_length=max_length)
        self._fitted = model, model.form

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the model of that name or in that folder."""
        return cls(folder)


class RandomLstm(_Ready):
    """An LSTM with random weights that learns nothing: a language whose probabilities are known."""

    kind = "random-lstm"

    def __init__(self, *, seed: int = 0) -> None:
        from textassay_lab.generator.random_lstm import RandomLstm as Model

        super().__init__(seed=seed)
        model = Model(seed=seed)
        self._fitted = model, model.form


class External(_Ready):
    """A command that prints texts, such as ``my-model --n {n} --seed {seed}``; it has no probabilities.

    Parameters
    ----------
    command
        For the shell. ``{n}`` and ``{seed}`` in it become the number of texts, which it must print one a line, and the
        seed, which should decide them.
    column
        The key of the text in each line, where the lines are JSON.
    timeout
        Seconds that a call may take.
    """

    kind = "command"

    def __init__(self, command: str, *, column: str | None = None, timeout: float | None = None) -> None:
        from textassay.source.external import ExternalCommand

        super().__init__()
        self._command = ExternalCommand(command, column=column, timeout=timeout)

    @property
    def model(self) -> Any:
        """The command."""
        return self._command


@dataclass(frozen=True)
class EndpointAnswers:
    """Answers of an endpoint, each beside its prompt.

    Attributes
    ----------
    prompts, texts
        As many of each, the answers to one prompt one after another.
    finish_reasons
        Why the endpoint stopped: ``stop``, ``length`` (cut off), ``content_filter`` and others; None where it does
        not say.
    note
        What they took: tokens, and the price where prices are set.
    """

    prompts: tuple[str, ...]
    texts: tuple[str, ...]
    finish_reasons: tuple[str | None, ...]
    note: str

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self) -> list[dict[str, str | None]]:
        """Return a dict for each answer: ``prompt``, ``text`` and ``finish_reason``."""
        columns = zip(self.prompts, self.texts, self.finish_reasons, strict=True)
        return [{"prompt": prompt, "text": text, "finish_reason": finish} for prompt, text, finish in columns]


class Endpoint(_Ready):
    """A model of an OpenAI-compatible endpoint; it has no probabilities.

    The key is read from the environment when a request is sent. Answers that have come are kept and not asked for
    again, so that equal seeds give equal texts, though endpoints need not heed a seed.

    Parameters
    ----------
    model
        As the endpoint calls it.
    url
        Such as ``https://api.example.com/v1``; without one, ``OPENAI_BASE_URL``, or else OpenAI's own.
    keep
        A folder in which answers are kept; without one they are kept as long as the process lives.
    settings
        What is asked: `prompt` (one for all texts) or `prompts` (a list, or a file), `system`, `mode` (``chat`` or
        ``completions``), `temperature`, `top_p`, `max_tokens`, `send_seed`, `extra`. How: `key_variable`
        (``OPENAI_API_KEY``), `concurrency` (4), `retries` (5), `timeout` (120 seconds), `requests_per_minute`,
        `tokens_per_minute`. `input_price` and `output_price` of a million tokens, for `note`.
    """

    kind = "openai"

    def __init__(
        self, model: str, *, url: str | None = None, keep: str | os.PathLike[str] | None = None, **settings: Any
    ) -> None:
        from textassay.endpoints import PREFIX, checked
        from textassay.source.endpoint import EndpointModel, EndpointSettings

        super().__init__()
        known = checked(EndpointSettings, {"model": model, "url": url, **settings}, PREFIX)
        self._endpoint = EndpointModel(known, folder=None if keep is None else Path(keep))

    @property
    def model(self) -> Any:
        """The model of the endpoint."""
        return self._endpoint

    @property
    def form(self) -> TextForm:
        """Raises: an endpoint has no tokens of its own that are known here."""
        raise InputError(f"{self.model.name} is at an endpoint, which tells neither tokens nor probabilities")

    def answers(self, prompts: Texts = None, n_per_prompt: int = 1, *, seed: int = 0) -> EndpointAnswers:
        """Return `n_per_prompt` answers to each prompt, of those of the settings where none are given.

        Raises
        ------
        InputError
            If the endpoint gives no answer; the message says how many there are. They are kept: call it again.
        """
        if n_per_prompt < 1:
            raise OptionError(f"n_per_prompt must be at least 1, got {n_per_prompt}")
        model = self.model
        if prompts is not None:
            model = model.changed(prompt=None, prompts=tuple(as_texts(prompts, "prompts")))
        n_prompts = len(model.prompts)
        drawn = model.answers(n_prompts * n_per_prompt, seed=seed)
        order = [turn * n_prompts + place for place in range(n_prompts) for turn in range(n_per_prompt)]
        return EndpointAnswers(
            tuple(model.prompt_of(number) for number in order),
            tuple(drawn[number].text for number in order),
            tuple(drawn[number].finish for number in order),
            model.note(drawn),
        )

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the model of a name such as ``openai:gpt-4o-mini@https://api.example.com/v1?prompt=...``."""
        from textassay.endpoints import settings_of
        from textassay.source.endpoint import EndpointModel, EndpointSettings

        generator = cls.__new__(cls)
        _Ready.__init__(generator)
        generator._endpoint = EndpointModel(settings_of(EndpointSettings, os.fspath(folder)))
        generator._endpoint.prompts  # noqa: B018  (raises where there are none)
        return generator


def from_pretrained(folder: str | os.PathLike[str]) -> TextGenerator:
    """Return the generator that a folder holds, of whatever kind: what `save_pretrained` or ``textassay train`` wrote.

    Names such as ``pretrained:gpt2``, ``command:...``, ``openai:MODEL@URL?prompt=...`` and ``random-lstm:SEED`` are
    taken, too, as on the command line.
    """
    from textassay_lab.generator.saved import load_generator

    name = os.fspath(folder)
    before, colon, after = name.partition(":")
    path = Path(folder)
    if colon and before == Pretrained.kind:
        if not after:
            raise OptionError("name a model after 'pretrained:', such as pretrained:gpt2 or pretrained:FOLDER")
        generator: TextGenerator = Pretrained(after)
    elif colon and before == External.kind:
        generator = External(after)
    elif colon and before == Endpoint.kind:
        generator = Endpoint.from_pretrained(name)
    elif before == RandomLstm.kind:
        if after and not (after.isascii() and after.isdigit()):
            raise OptionError(f"name the seed of random-lstm as a number, such as random-lstm:3, got '{after}'")
        generator = RandomLstm(seed=int(after or 0))
    elif not path.exists():
        raise InputError(f"no folder {path}: name what 'textassay train --out' wrote, or pretrained:NAME")
    elif not path.is_dir():
        raise InputError(f"{path} is a file: name the folder that 'textassay train --out' wrote")
    else:
        saved = load_generator(path)
        generator = class_of(saved.document["kind"])._of(saved.model, saved.form)
        generator.document = saved.document
    generator.source = name
    return generator


def class_of(kind: str) -> type[TextGenerator]:
    """Return the class of a kind of model."""
    waiting: list[type[TextGenerator]] = [TextGenerator]
    fallback: type[TextGenerator] | None = None
    while waiting:
        candidate = waiting.pop()
        if getattr(candidate, "kind", None) == kind:
            return candidate
        if kind in candidate._saved_as and fallback is None:
            fallback = candidate
        waiting += candidate.__subclasses__()
    return fallback or TextGenerator


def _texts(source: Texts, name: str) -> TextFile:
    """Return texts as they were read, from whatever the user has."""
    file = as_texts(source, name)
    if not any(text and not text.isspace() for text in file):
        raise InputError(f"{name} is empty: all of its {len(file)} texts are blank")
    return file


def _last_held_out(file: TextFile) -> tuple[TextFile, TextFile]:
    """Return all but the last tenth, and that."""
    first, last = split_last(len(file), math.ceil(len(file) / HELD_OUT))
    return TextFile("train", file[first[0] : first[-1] + 1]), TextFile("valid", file[last[0] : last[-1] + 1])


def _contexts(contexts: Contexts) -> dict[str, list[str]]:
    if isinstance(contexts, str | os.PathLike):
        return read_contexts(contexts)
    return {str(name): [str(value) for value in contexts[name]] for name in contexts}


Model = TextGenerator | str | os.PathLike[str]


def open_generator(model: Model) -> TextGenerator:
    """Return a generator, or the one in a folder."""
    return model if isinstance(model, TextGenerator) else from_pretrained(model)


def label(generator: TextGenerator) -> str:
    """Return what messages call a generator: its folder, or else its name."""
    return generator.source or str(generator.model.name)


def precision_of(generator: TextGenerator) -> str:
    """Return the precision that a generator computes in."""
    return str(getattr(generator.model, "precision", "float32"))
