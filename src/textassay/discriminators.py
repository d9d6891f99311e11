"""Real or generated? Classifiers of texts with scikit-learn's habits: `fit(texts, is_real)`, `predict_proba`, `clone`.

They go into pipelines, cross-validation and searches as scikit-learn's own do; their input is a list or a column of
texts. Both classes weigh the same, whatever their sizes. Networks need the extra ``neural``, trees of XGBoost the extra
``boosting``. What their settings mean stands with each class.
"""

import inspect
import os
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import type_of_target

from textassay.corpus.corpus import Corpus, Texts, corpora_from_texts
from textassay.corpus.text_form import TextForm
from textassay.corpus.texts import as_texts
from textassay.corpus.tokenizer import AUTO, resolve_tokenizer
from textassay.discriminator.base import declared_settings
from textassay.discriminator.catalog import DISCRIMINATORS, make_family
from textassay.discriminator.saved import load_fitted, save_fitted
from textassay.discriminator.text_folds import stratified_folds, text_clusters
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.extensions import extensions
from textassay.seeding import stream

__all__ = [
    "BoostedTrees",
    "Family",
    "Logistic",
    "NaiveBayes",
    "RandomForest",
    "Stack",
    "StackQuick",
    "Svm",
    "TextClassifier",
    "Xgboost",
    "from_pretrained",
]

VALIDATION_PARTS = 8  # of the training text, one part in so many is for choices
_SHARED: Mapping[str, Any] = {"tokenizer": AUTO, "lowercase": False, "seed": 0}


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of texts: the base of all classes here.

    Parameters
    ----------
    tokenizer, lowercase
        How a text becomes tokens; ``auto`` as in `textassay.compare`.
    seed
        Decides which eighth of the training text choices are made on, and what else is random.
    settings
        Those of the class.

    Attributes
    ----------
    classes_
        The two classes, in order; the second is what counts as real (True of booleans).
    chosen_
        What was chosen on validation text.
    discriminator_, form_
        The fitted discriminator of `textassay.discriminator`, and the tokens it knows.
    """

    _make: ClassVar[Any]
    classes_: npt.NDArray[Any]
    chosen_: Mapping[str, Any]
    discriminator_: Any
    form_: TextForm
    tokenizer: Any
    lowercase: bool
    seed: int

    def __init_subclass__(cls, kind: str | None = None, **keywords: Any) -> None:
        """Give the class the parameters of the discriminator called `kind`."""
        super().__init_subclass__(**keywords)
        if kind is None:
            return
        make: Any = DISCRIMINATORS[kind]
        cls._make = staticmethod(make)
        discriminator = getattr(make, "func", make)
        factories = {
            one.name: one.default_factory for one in fields(discriminator) if one.default_factory is not MISSING
        }
        taken = inspect.signature(make).parameters
        own = {name: factories[name]() if name in factories else one.default for name, one in taken.items()}
        own.pop("name", None)
        _set_parameters(cls, own)
        declared = declared_settings(discriminator)
        meanings = {name: declared[name]["meaning"] for name in own}
        settings = [f"{name}\n    {meaning[0].upper()}{meaning[1:]}." for name, meaning in meanings.items()]
        cls.__doc__ = "\n".join([f"{cls.__doc__}\n", "Parameters", "----------", *settings])

    def __sklearn_tags__(self) -> Any:
        """Say that the input is texts and the classes are two."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Texts, y: Any) -> Self:  # noqa: N803
        """Learn which texts are real, and return itself.

        Parameters
        ----------
        X
            Texts: a list of str, a column, a path or a corpus, as in `textassay.compare`.
        y
            For each whether it is real, shape (N,): booleans, or any two classes of which the second in order is real.

        Raises
        ------
        InputError, OptionError, TooFewSentencesError
            If texts and classes differ in number, there are not two classes, or a class has fewer than 2 different
            texts.
        """
        file = as_texts(X, "X")
        labels = np.asarray(y)
        if labels.ndim != 1 or len(labels) != len(file):
            raise InputError(f"y must have shape ({len(file)},), one class a text, got {labels.shape}")
        kind = type_of_target(labels, raise_unknown=True)
        self.classes_ = np.unique(labels)
        if len(self.classes_) > 2 or kind.startswith("continuous"):
            raise OptionError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) < 2:
            raise OptionError(f"classifier needs two classes, real and generated, got one class: {self.classes_[0]}")
        sides = [[text for text, label in zip(file, labels, strict=True) if label == each] for each in self.classes_]
        corpora = corpora_from_texts(
            {"real": sides[1], "generated": sides[0]}, tokenizer=self.tokenizer, lowercase=self.lowercase
        )
        real, generated = corpora["real"], corpora["generated"]
        name = real.tokenizer.removesuffix("+lower")
        tokenizer = resolve_tokenizer(
            self.tokenizer if callable(self.tokenizer) else name, lowercase=bool(self.lowercase)
        )
        self.form_ = TextForm(tokenizer, real.vocabulary)
        train, valid = _parts(real, generated, self.seed)
        self.discriminator_ = self.new_discriminator().fit(train, valid)
        self.chosen_ = dict(self.discriminator_.chosen)
        return self

    def predict_proba(self, X: Texts) -> npt.NDArray[np.float64]:  # noqa: N803
        """Return the probabilities of both classes for each text, shape (N, 2), if both were equally frequent."""
        real = self.prob_real(X)
        return np.stack([1 - real, real], axis=1)

    def predict(self, X: Texts) -> npt.NDArray[Any]:  # noqa: N803
        """Return the class of each text, shape (N,); a probability of one half is no reason to call it real."""
        is_real = self.prob_real(X) > 0.5
        return self.classes_[is_real.astype(np.int64)]

    def prob_real(self, texts: Texts) -> npt.NDArray[np.float64]:
        """Return the probability that each text is real, shape (N,)."""
        if not hasattr(self, "discriminator_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit first")
        scores: npt.NDArray[np.float64] = self.discriminator_.prob_real(self.form_.corpus(as_texts(texts, "X")))
        return scores

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted classifier into a folder, which `from_pretrained` reads.

        Raises
        ------
        OutputError
            If it cannot be written.
        OptionError
            If its tokeniser is code of the user's.
        """
        if not hasattr(self, "discriminator_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit first")
        document = self.form_.to_dict()  # raises for tokenisers that cannot be written down
        parts = {name: document[name] for name in ("tokenizer", "lowercase")}
        save_fitted(
            {
                "class": type(self).__name__,
                "settings": self.get_params(deep=False),
                "form": parts,
                "vocabulary": self.form_.vocabulary,
                "classes": self.classes_.tolist(),
                "discriminator": self.discriminator_,
            },
            Path(folder),
        )

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the classifier that `save_pretrained` wrote: it judges new texts without being fitted again.

        Raises
        ------
        InputError
            If there is none in the folder, it is damaged, or it is of another class.
        """
        saved = load_fitted(Path(folder))
        if saved["class"] != cls.__name__:
            raise InputError(f"{folder} holds a {saved['class']}: use that class, or from_pretrained of the module")
        classifier = cls(**saved["settings"])
        classifier.classes_ = np.asarray(saved["classes"])
        form = saved["form"]
        classifier.form_ = TextForm(
            resolve_tokenizer(form["tokenizer"], lowercase=form["lowercase"]), saved["vocabulary"]
        )
        classifier.discriminator_ = saved["discriminator"]
        classifier.chosen_ = dict(classifier.discriminator_.chosen)
        return classifier

    def new_discriminator(self) -> Any:
        """Return the discriminator of `textassay.discriminator` that `fit` fits, with these settings."""
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in _SHARED}
        if "seed" in inspect.signature(self._make).parameters:
            settings["seed"] = self.seed
        return self._make(**settings)


def _set_parameters(cls: type, defaults: Mapping[str, Any]) -> None:
    """Give a class an ``__init__`` that keeps these parameters, as scikit-learn asks, and looks at none of them."""
    defaults = {**defaults, **_SHARED}

    def __init__(self: Any, **settings: Any) -> None:  # noqa: N807
        unknown = sorted(settings.keys() - defaults.keys())
        if unknown:
            raise TypeError(f"{cls.__name__} has no parameter '{unknown[0]}'; valid: {', '.join(sorted(defaults))}")
        for name, default in defaults.items():
            setattr(self, name, settings.get(name, default))

    kinds = inspect.Parameter
    parameters = [kinds(name, kinds.KEYWORD_ONLY, default=value) for name, value in defaults.items()]
    signature = inspect.Signature([kinds("self", kinds.POSITIONAL_OR_KEYWORD), *parameters])
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    cls.__init__ = __init__  # type: ignore[misc]


def _parts(real: Corpus, generated: Corpus, seed: int) -> tuple[tuple[Corpus, Corpus], tuple[Corpus, Corpus]]:
    """Return what is learnt from and what choices are made on, real and generated; equal texts stay together."""
    clusters = text_clusters([real, generated])
    fewest = min(len(np.unique(numbers)) for numbers in clusters)
    if fewest < 2:
        raise TooFewSentencesError("a class has 1 distinct text: at least 2 are needed, for training and validation")
    folds = stratified_folds(clusters, min(VALIDATION_PARTS, fewest), stream(seed, "classifier", "valid"))
    sides = list(zip((real, generated), folds, strict=True))
    train = [corpus.take(np.flatnonzero(fold != 0)) for corpus, fold in sides]
    valid = [corpus.take(np.flatnonzero(fold == 0)) for corpus, fold in sides]
    if not all(len(corpus) for corpus in (*train, *valid)):
        raise TooFewSentencesError("the classes have too few distinct texts of their own for training and validation")
    return (train[0], train[1]), (valid[0], valid[1])


class BoostedTrees(TextClassifier, kind="boosted-trees"):
    """Boosted trees over n-gram likelihood ratios, out of fold."""


class Logistic(TextClassifier, kind="logistic"):
    """Logistic regression over n-grams."""


class NaiveBayes(TextClassifier, kind="naive-bayes"):
    """Multinomial naive Bayes over n-grams."""


class RandomForest(TextClassifier, kind="random-forest"):
    """A random forest over n-grams."""


class Stack(TextClassifier, kind="stack"):
    """A logistic regression over what n-gram models of both sides say: the best of the fast ones."""


class StackQuick(TextClassifier, kind="stack-quick"):
    """The stack without its slow parts."""


class Svm(TextClassifier, kind="svm"):
    """A linear support vector machine over n-grams."""


class Xgboost(TextClassifier, kind="xgboost"):
    """Trees of XGBoost over n-grams."""


class Family(TextClassifier):
    """The family that dd chooses from at an effort; validation text chooses.

    Parameters
    ----------
    effort
        ``quick``, ``default`` or ``max``.
    """

    effort: str

    def new_discriminator(self) -> Any:
        return make_family(self.effort)


_set_parameters(Family, {"effort": "default"})


def from_pretrained(folder: str | os.PathLike[str]) -> TextClassifier:
    """Return the classifier that a folder holds, of whatever class."""
    name = load_fitted(Path(folder))["class"]
    if name not in __dir__():
        raise InputError(f"{folder} holds a {name}, which is no discriminator of textassay")
    cls: type[TextClassifier] = globals().get(name) or __getattr__(name)
    return cls.from_pretrained(folder)


def __getattr__(name: str) -> type[TextClassifier]:
    """Return one of the neural classifiers, which the laboratory registers."""
    for module in () if name.startswith("_") else extensions("textassay.classifiers"):
        if name in module.__all__:
            cls: type[TextClassifier] = getattr(module, name)
            return cls
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for module in extensions("textassay.classifiers") for name in module.__all__)})
