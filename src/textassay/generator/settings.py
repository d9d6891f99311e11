"""What can be set of each generator, with its type, known without loading the generator.

A model is made with these settings and, where it learns by epochs, with a recipe; the file of the model says what they
mean and which values they may have.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypedDict


class NetworkSettings(TypedDict, total=False):
    """Of networks that read sentences."""

    width: int
    batch_size: int
    max_length: int


class LstmSettings(NetworkSettings, total=False):
    """Of `LstmModel`."""

    layers: int
    dropout: float
    spread: float | None
    length: int | None


class ScheduledSamplingSettings(LstmSettings, total=False):
    """Of `ScheduledSampling`."""

    mixing: str
    greedy: bool


class TiedLstmSettings(LstmSettings, total=False):
    """Of `TiedLstm`."""

    dimension: int
    fixed: int


class ConditionalSettings(NetworkSettings, total=False):
    """Of models that answer to contexts."""

    layers: int
    dropout: float
    spread: float | None
    context_width: int


class Gpt2Settings(TypedDict, total=False):
    """Of `Gpt2Model`."""

    width: int
    layers: int
    heads: int
    dropout: float
    positions: int | None
    batch_size: int
    max_length: int | None


class TransformerXlSettings(NetworkSettings, total=False):
    """Of `TransformerXlModel`."""

    inner: int
    layers: int
    heads: int
    dropout: float
    segment: int
    memory: int
    emptied: float
    cutoffs: tuple[int, ...]


class LeakGanSettings(NetworkSettings, total=False):
    """Of `LeakGanModel`."""

    goal: int
    memory: int
    dimension: int
    filters: Sequence[Sequence[int]]
    sharpness: float
    length: int | None


class NoiseGruSettings(TypedDict, total=False):
    """Of `NoiseGru`."""

    width: int
    length: int
    noise: float
    feeds: Literal["argmax", "distribution"]
    ends: bool


class RandomLstmSettings(TypedDict, total=False):
    """Of `RandomLstm`."""

    n_words: int
    length: int
    width: int


class TranslationSettings(TypedDict, total=False):
    """Of `TranslationModel`."""

    width: int
    inner: int
    encoder_layers: int
    decoder_layers: int
    heads: int
    dropout: float
    smoothing: float
    batch_tokens: int


class NgramSettings(TypedDict, total=False):
    """Of `NgramModel`."""

    order: int
    discounts: Literal["modified", "single"]
    max_length: int


class PositionUnigramSettings(TypedDict, total=False):
    """Of `PositionUnigram`."""

    strength: float


SETTING_TYPES: Mapping[str, type] = MappingProxyType(
    {
        "att2seq": ConditionalSettings,
        "c2s": ConditionalSettings,
        "gc2s": ConditionalSettings,
        "gpt2": Gpt2Settings,
        "leakgan": LeakGanSettings,
        "lstm": LstmSettings,
        "ngram": NgramSettings,
        "noise-gru": NoiseGruSettings,
        "position-unigram": PositionUnigramSettings,
        "random-lstm": RandomLstmSettings,
        "scheduled-sampling": ScheduledSamplingSettings,
        "tied-lstm": TiedLstmSettings,
        "transformer-xl": TransformerXlSettings,
        "translation": TranslationSettings,
    }
)
