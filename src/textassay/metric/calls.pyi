"""What type checkers read of each metric; `python tests/support/metric_calls.py --write` makes it."""

from typing import Any, Literal, Protocol, Unpack

import numpy.typing as npt

from textassay.corpus.corpus import TextOptions, Texts
from textassay.discriminator.base import Discriminator
from textassay.embedding.encoder import Encoder
from textassay.estimate import Estimate
from textassay.metric.base import MetricFunction
from textassay.metric.lm_score import Trained
from textassay.ngram.language_model import LanguageModel

class _Dd(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        discriminator: str | Discriminator | Any = ...,
        effort: Literal["quick", "default", "max"] = ...,
        folds: int = ...,
        repeats: int = ...,
        threshold: Literal["validation", "half"] = ...,
        fit_real: Texts = ...,
        trained_on: Texts = ...,
        prior: str | None = ...,
        prompts: Texts = ...,
        encoder: str | Encoder | None = ...,
        unit: Literal["sentence", "document"] | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

dd: _Dd

class _ConditionalDd(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        prompts: Texts = ...,
        discriminator: str | Discriminator | Any = ...,
        effort: Literal["quick", "default", "max"] = ...,
        folds: int = ...,
        unit: Literal["sentence", "document"] | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

conditional_dd: _ConditionalDd

class _Bleu(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        order: int = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

bleu: _Bleu

class _SelfBleu(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        order: int = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

self_bleu: _SelfBleu

class _DistinctN(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        order: int = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

distinct_n: _DistinctN

class _Length(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

length: _Length

class _Vocabulary(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        of: Literal["tokens", "types"] = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

vocabulary: _Vocabulary

class _Fed(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        encoder: str | Encoder = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

fed: _Fed

class _Mmd(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        encoder: str | Encoder = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

mmd: _Mmd

class _Mauve(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        encoder: str | Encoder = ...,
        effort: Literal["quick", "default", "max"] = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

mauve: _Mauve

class _Precision(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        k: int = ...,
        encoder: str | Encoder = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

precision: _Precision

class _Recall(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        k: int = ...,
        encoder: str | Encoder = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

recall: _Recall

class _Density(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        k: int = ...,
        encoder: str | Encoder = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

density: _Density

class _Coverage(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        k: int = ...,
        encoder: str | Encoder = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

coverage: _Coverage

class _LmScore(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        model: str | LanguageModel | Trained = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

lm_score: _LmScore

class _ReverseLmScore(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        model: str | LanguageModel = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

reverse_lm_score: _ReverseLmScore

class _CompressionRatio(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

compression_ratio: _CompressionRatio

class _Zipf(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

zipf: _Zipf

class _TextEntropy(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

text_entropy: _TextEntropy

class _Memorization(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        train: Texts = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

memorization: _Memorization

class _Huse(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        log_probs: tuple[npt.ArrayLike, npt.ArrayLike] | None = ...,
        ratings: tuple[npt.ArrayLike, npt.ArrayLike] | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

huse: _Huse

class _BleuNearest(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        order: int = ...,
        references: int | Literal["all"] = ...,
        nearest: str | Encoder = ...,
        equal: Literal["keep", "drop"] = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

bleu_nearest: _BleuNearest

class _Rouge(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        kind: Literal["1", "2", "l"] = ...,
        beta: float = ...,
        references: int | Literal["all"] = ...,
        nearest: str | Encoder = ...,
        equal: Literal["keep", "drop"] = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

rouge: _Rouge

class _Meteor(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        synonyms: Literal["none", "wordnet"] = ...,
        references: int = ...,
        nearest: str | Encoder = ...,
        equal: Literal["keep", "drop"] = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

meteor: _Meteor

class _Cider(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        documents: Literal["real", "sets"] = ...,
        references: int = ...,
        nearest: str | Encoder = ...,
        equal: Literal["keep", "drop"] = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

cider: _Cider

class _CiderD(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        documents: Literal["real", "sets"] = ...,
        references: int = ...,
        nearest: str | Encoder = ...,
        equal: Literal["keep", "drop"] = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

cider_d: _CiderD

class _BleuTrain(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        train: Texts = ...,
        order: int = ...,
        references: int = ...,
        nearest: str | Encoder = ...,
        equal: Literal["keep", "drop"] = ...,
        texts: int | None = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

bleu_train: _BleuTrain

class _FastDetectgpt(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        prior: str | None = ...,
        prompts: Texts = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

fast_detectgpt: _FastDetectgpt

class _Binoculars(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        prior: str | None = ...,
        prompts: Texts = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

binoculars: _Binoculars

class _Lrr(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        prior: str | None = ...,
        prompts: Texts = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

lrr: _Lrr

class _LogRank(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        prior: str | None = ...,
        prompts: Texts = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

log_rank: _LogRank

class _LogLikelihood(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        prior: str | None = ...,
        prompts: Texts = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

log_likelihood: _LogLikelihood

class _Entropy(MetricFunction, Protocol):
    def __call__(
        self,
        generated: Texts,
        real: Texts = ...,
        *,
        prior: str | None = ...,
        prompts: Texts = ...,
        level: float = ...,
        seed: int = ...,
        independent: bool = ...,
        **text: Unpack[TextOptions],
    ) -> Estimate: ...

entropy: _Entropy
