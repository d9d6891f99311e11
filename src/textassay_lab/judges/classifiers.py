"""The neural discriminators as scikit-learn's classifiers over texts; `textassay.discriminators` hands them out."""

from textassay.discriminators import TextClassifier

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
