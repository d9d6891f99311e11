"""The neural discriminators as scikit-learn's classifiers over texts; `textassay.discriminators` hands them out."""

from collections.abc import Mapping
from typing import Any, Unpack

from textassay.comparison.comparison import FLOOR
from textassay.corpus.corpus import TextOptions, Texts, corpora_from_texts
from textassay.discriminator.base import Discriminator
from textassay.discriminator.catalog import as_discriminator
from textassay.discriminators import TextClassifier
from textassay_lab.judges.meta_evaluator import Balance, MetaEvaluation
from textassay_lab.judges.meta_evaluator import meta_evaluate as cross_fitted_meta_evaluation

__all__ = ["Cnn", "CnnLstm", "CnnPaper", "CnnPaper120", "Lstm", "NgramNetwork", "Transformer", "TransformerPretrained"]


class Cnn(TextClassifier, kind="cnn"):
    """A convolutional network, fast to train."""


class CnnLstm(TextClassifier, kind="cnn-lstm"):
    """An LSTM over windows of words."""


class CnnPaper(TextClassifier, kind="cnn-paper"):
    """The convolutional network of the paper of dd, trained as there."""


class CnnPaper120(TextClassifier, kind="cnn-paper-120"):
    """The same, trained for 120 epochs as in the code of that paper, without an early stop."""


class Lstm(TextClassifier, kind="lstm"):
    """A recurrent network."""


class NgramNetwork(TextClassifier, kind="ngram-network"):
    """A network that reads how often each side has the n-grams of a text."""


class Transformer(TextClassifier, kind="transformer"):
    """A transformer that learns from scratch."""


class TransformerPretrained(TextClassifier, kind="transformer-pretrained"):
    """A transformer that learns to predict words first."""


def meta_evaluate(
    generated: Mapping[str, Texts],
    real: Texts,
    *,
    discriminator: str | Discriminator | Any = "svm",
    individual: bool = False,
    balance: Balance = "equal",
    folds: int = 5,
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> MetaEvaluation:
    """Return which texts a discriminator takes for real, each judged by one that did not see it or an equal text.

    Parameters
    ----------
    generated, real
        Each generator's texts, and real ones, as in `textassay.compare`.
    discriminator
        A name, such as ``svm``, or a classifier over texts of `textassay.discriminators` or scikit-learn.
    individual
        Whether each generator has one of its own; else one learns from all generators together.
    balance
        ``equal`` draws as many real texts as generated ones; ``weights`` uses all, with equal weights of the sides.
    folds
        At least 2.
    level, seed
        As in `textassay.compare`.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`.
    """
    corpora = corpora_from_texts({FLOOR: real, **generated}, **text)
    return cross_fitted_meta_evaluation(
        as_discriminator(discriminator),
        corpora.pop(FLOOR),
        corpora,
        individual=individual,
        balance=balance,
        folds=folds,
        level=level,
        seed=seed,
    )
