"""The base of all public generators: fit to texts, sample texts, say how likely a text is, save, load.

A model is declared in a file of its own, such as `textassay_lab.generator.lstm`: a dataclass of its settings, each with
its help and its range, and a class that derives from `TextGenerator` and has the presets. The command ``textassay train
MODEL`` is made of the same declaration. What computes is in the file beside it, such as `lstm_model`, and loaded when
it is used.

What a preset ``paper`` follows, its comment says; where a paper says nothing it has our best. ``small`` trains well on
two processors within minutes, ``tiny`` within seconds, for trying things out.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from textassay.corpus.limits import MAX_TOKENS
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.fields import Between, Field, Option, check_fields, fields_of
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from textassay.corpus.corpus import Corpus, Texts
    from textassay.corpus.text_file import TextFile
    from textassay.corpus.text_form import TextForm
    from textassay.corpus.tokenizer import Tokenizer


Presets = Mapping[str, Mapping[str, Any]]

MAX_WINDOW = 100_000  # the longest fixed length of all samples
MAX_LAYERS = 1000  # a limit for files: names and shapes of weights are listed by layer before anything is checked

SMALL = Recipe(max_epochs=6, learning_rate=4e-3, schedule="linear", max_norm=5.0)

# Fields without an option are decided by the text, or by options that all models have
BatchSize = Annotated[int, Option("Sentences in a batch.", panel="Training"), Between(1)]
Length = Annotated[int | None, Between(1, MAX_WINDOW)]  # tokens of every sentence; None: sentences end
MaxLength = Annotated[int, Between(1, MAX_TOKENS)]  # most tokens of a sample

HELD_OUT = 10  # without validation text, one text in so many validates
LONGEST = 100  # tokens at which samples are cut, where no training text is longer


@dataclass(eq=False, repr=False)
class Settings:
    """Settings are fields; the class of a model inherits them first, and they are checked when one is made."""

    def __post_init__(self) -> None:
        after = getattr(super(), "__post_init__", None)  # of the model
        if after is not None:
            after()
        check_fields(self)

    @property
    def settings(self) -> dict[str, Any]:
        return {each.name: _json_ready(getattr(self, each.name)) for each in fields(self)}


def _json_ready(value: Any) -> Any:
    if isinstance(value, Recipe):
        return asdict(value)
    return (
        [_json_ready(each) for each in value] if isinstance(value, Sequence) and not isinstance(value, str) else value
    )


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

    kind: ClassVar[str]  # name on the command line, and of the folder's model unless `saved_as` says another
    saved_as: ClassVar[str | None] = None
    implementation: ClassVar[
        str
    ]  # the model that works on corpora, as ``package.module:class``; loaded when it is used
    settings_class: ClassVar[type]  # a dataclass; what can be set, with its help and its range
    presets: ClassVar[Mapping[str, Any]]  # name to settings
    default_preset: ClassVar[str] = "small"
    command_options: ClassVar[tuple[str, ...]]  # classes of `textassay_lab.cli.train`: what its command takes besides
    is_network: ClassVar[bool] = True
    preset: str | None = None
    seed: int = 0
    window: int | None = None
    document: Mapping[str, Any] = MappingProxyType({})
    source: str | None = None  # what it was loaded from
    _is_loaded = False

    def __init__(
        self,
        *,
        preset: str | None = None,
        seed: int = 0,
        tokenizer: "str | Tokenizer" = "auto",
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
        self.form_settings: dict[str, Any] = {
            "tokenizer": tokenizer,
            "lowercase": lowercase,
            "max_size": vocabulary_size,
            "min_count": min_count,
        }
        self.like = like
        self._fitted: tuple[Any, TextForm] | None = None
        self.check()

    @classmethod
    def setting_fields(cls) -> dict[str, Mapping[str, Field]]:
        """Return what can be set by name, in groups: of the model (``network``), and of its training by gradients."""
        own = fields_of(cls.settings_class)
        training = fields_of(own["recipe"].kind) if "recipe" in own else {}
        return {"network": _with_option(own), "training": _with_option(training)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model.name if self._fitted else 'not fitted'})"

    @property
    def model(self) -> Any:
        """The fitted model."""
        return self._known()[0]

    @property
    def form(self) -> "TextForm":
        """The tokens of the fitted model."""
        return self._known()[1]

    def check(self) -> None:
        """Raise for a setting that cannot be."""
        self.new_model({})

    def fit(self, train: "Texts", valid: "Texts" = None, **how: Any) -> Self:
        """Learn from `train`, choose by `valid`, and return itself.

        Parameters
        ----------
        train
            Lists of str, a column, a path or a corpus, as in `textassay.compare`; at least 2 texts.
        valid
            Decides when training has been enough; without it, the last tenth of `train` does and is not learnt from.
        how
            Of networks: `checkpoint` (a file to go on from), `progress` and others, see
            `textassay_lab.training.loop.train`.

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

    def log_prob(self, texts: "Texts", *, temperature: float = 1.0) -> "npt.NDArray[np.float64]":
        """Return the log-probability of each text, its end included, in nats, shape (N,).

        Raises
        ------
        UnavailableError, InputError
            If the model cannot say how likely a text is.
        """
        return self._log_prob(self.corpus(texts), temperature)

    def corpus(self, texts: "Texts") -> "Corpus":
        """Return texts in the tokens of the model; those it does not know are ``<unk>``."""
        return self.form.corpus(read(texts, "texts"))

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
        from textassay_lab.generator.catalog import class_of
        from textassay_lab.generator.saved import load_generator

        saved = load_generator(Path(folder))
        kind = saved.document["kind"]
        if kind not in (cls.kind, cls.saved_as):
            raise InputError(f"{folder} holds a model of the kind {kind}: use {class_of(kind).__name__}")
        return cls.of(saved.model, saved.form)

    @classmethod
    def of(cls, model: Any, form: "TextForm") -> Self:
        """Return a generator whose fitted model and tokens are these."""
        generator = cls.__new__(cls)
        generator.settings = dict(getattr(model, "settings", {}))
        generator._fitted = model, form
        generator._is_loaded = True
        return generator

    def _known(self) -> "tuple[Any, TextForm]":
        if self._fitted is None:
            raise InputError(f"{type(self).__name__} is not fitted: call fit first")
        return self._fitted

    def _check_new(self) -> None:
        if self._is_loaded:
            raise OptionError(f"this {type(self).__name__} was loaded: make a new one to fit it")

    def new_model(self, known: Mapping[str, Any]) -> Any:
        """Return a model with these settings that has learnt nothing; `known` are those that the text decides."""
        from textassay_lab.generator.catalog import make_generator

        return make_generator(self.kind, preset=self.preset, seed=self.seed, **{**known, **self.settings})

    def lengths(self, longest: int, max_length: int) -> Mapping[str, Any]:
        """Return what the model is told of lengths: texts have up to `longest` tokens, samples up to `max_length`."""
        return {"max_length": max_length}

    def unfitted_model(self, longest: int) -> Any:
        """Return a model with these settings that has learnt nothing, for texts of up to `longest` tokens."""
        return self.new_model(self.lengths(longest, max(longest, LONGEST)))

    def learn_form(self, *texts: Iterable[str]) -> "TextForm":
        """Return the tokens of a training text, or those of `like`."""
        from textassay.corpus.text_form import TextForm

        return self.like.form if self.like is not None else TextForm.learn(texts[0], **self.form_settings)

    def _learn(self, form: "TextForm", train: Callable[[Callable[[Any], Any]], Any]) -> None:
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

    def _train(self, train: "Corpus", valid: "Corpus", longest: int, tell: Callable[[Any], Any], **how: Any) -> None:
        tell(self.unfitted_model(longest)).fit(train, valid, **how)

    def training_sides(self, train: "TextFile", valid: "TextFile | None") -> "tuple[TextFile, TextFile]":
        """Return what is learnt from and what validates, by default the last tenth; running text is one text each."""
        from textassay.corpus.text_file import TextFile
        from textassay_lab.generator.running_text import split_characters

        if valid is not None and train.texts == valid.texts:
            raise InputError(
                f"{valid.name} contains the same texts as {train.name}: give validation text that is not in the "
                "training text"
            )
        if self.window is None:
            if valid is not None:
                return train, valid
            if len(train) < 2:
                raise TooFewSentencesError(
                    f"{train.name} has one text: to train on it as running text, give a window of tokens"
                )
            return last_held_out(train)
        running = " ".join(train)
        if valid is not None:
            return TextFile(train.name, (running,)), TextFile(valid.name, (" ".join(valid),))
        first, last = split_characters(running, (1 - 1 / HELD_OUT, 1 / HELD_OUT))
        name = f"the last {len(last)} characters of {train.name}"
        return TextFile(train.name, (first,)), TextFile(name, (last,))

    def corpora(self, train: "TextFile", valid: "TextFile") -> "tuple[TextForm, Corpus, Corpus]":
        """Return the tokens of the training text, and both sides in them, cut into windows where there are any."""
        from textassay_lab.generator.running_text import cut_windows

        form = self.learn_form(train)
        sides = [form.corpus(side) for side in (train, valid)]
        if self.window is not None:
            sides = [cut_windows(side, self.window) for side in sides]
        return form, sides[0], sides[1]

    def _corpora(self, train: "Texts", valid: "Texts") -> "tuple[TextForm, Corpus, Corpus]":
        """Return the tokens of the training text, and what is learnt from and what validates in them."""
        from textassay.corpus.limits import running_text

        self._check_new()
        with running_text(self.window is not None):
            files = read(train, "train"), None if valid is None else read(valid, "valid")
            form, of_train, of_valid = self.corpora(*self.training_sides(*files))
        if len(of_train) < 2:
            raise TooFewSentencesError(f"training needs at least 2 texts or windows, got {len(of_train)}")
        return form, of_train, of_valid

    def _sample(
        self,
        n: int,
        seed: int,
        temperature: float,
        top_k: int | None,
        top_p: float | None,
        prefix: str | Sequence[str] | None,
        context: "Corpus | None" = None,
    ) -> list[str]:
        settings: dict[str, Any] = {"top_k": top_k, "top_p": top_p, "context": context}
        if prefix is not None:
            settings["prefix"] = self.form.corpus([prefix] if isinstance(prefix, str) else prefix)
        settings = {name: value for name, value in settings.items() if value is not None}
        return list(self.model.sample(n, seed=seed, temperature=temperature, **settings).texts)

    def _log_prob(self, corpus: "Corpus", temperature: float) -> "npt.NDArray[np.float64]":
        if not hasattr(self.model, "log_prob"):
            raise InputError(f"{self.model.name} has no likelihood; `textassay.approximate` estimates it")
        log_probs: npt.NDArray[np.float64] = self.model.log_prob(corpus, temperature=temperature)
        return log_probs


def read(source: "Texts", name: str) -> "TextFile":
    """Return texts as they were read, from whatever the user has."""
    from textassay.corpus.texts import as_texts

    file = as_texts(source, name)
    if not any(text and not text.isspace() for text in file):
        raise InputError(f"{name} is empty: all of its {len(file)} texts are blank")
    return file


def last_held_out(file: "TextFile") -> "tuple[TextFile, TextFile]":
    """Return all but the last tenth, and that."""
    from textassay.corpus.split import split_last
    from textassay.corpus.text_file import TextFile

    first, last = split_last(len(file), math.ceil(len(file) / HELD_OUT))
    held_out = f"the last {len(last)} of {file.name}"
    return TextFile(file.name, file[first[0] : first[-1] + 1]), TextFile(held_out, file[last[0] : last[-1] + 1])


def _with_option(settings: Mapping[str, Field]) -> Mapping[str, Field]:
    return {name: field for name, field in settings.items() if field.option is not None}
