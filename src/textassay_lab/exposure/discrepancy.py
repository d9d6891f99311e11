"""EB-DD: how much easier a classifier detects continuations of the model's own prefixes than of real ones.

Without an oracle, dd is measured on the continuations alone: those after prefixes of data, and those after the model's
own, each against real continuations. Their difference is 0 without exposure bias. A continuation that does not fit its
prefix goes undetected, and the model's own prefixes have no real continuations.

An oracle can continue every prefix, of the model and of the data. Whole sentences are then judged, so that what does
not fit its prefix counts. Since both sides draw their prefixes from one distribution, ``dd`` is at most the mean, over
prefixes, of the total variation between the two continuations: EB-C's distance for more than one word. No prefix is on
both sides: a classifier that saw it in training would recognise its other half.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", for dd; He et al.,
"Quantifying Exposure Bias for Neural Language Generation", 2019, section 3, for the idea. EB-DD itself is ours.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS
from textassay.errors import OptionError
from textassay.estimate import Estimate, Interval, json_ready
from textassay.metric.base import Effort
from textassay.metric.discrepancy import dd
from textassay.ngram.language_model import LanguageModel, drawn_corpus
from textassay.resampling.jackknife import terms_interval
from textassay.seeding import stream
from textassay_lab.exposure.bleu import check_not_translation
from textassay_lab.generator.next_words import Ends, check_ends, model_vocabulary
from textassay_lab.generator.prefixes import (
    chosen_sentences,
    continue_prefixes,
    first_tokens_of,
    model_prefixes,
    n_long_enough,
)

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EbDd:
    """EB-DD at one prefix length."""

    length: int  # Tokens of the prefix
    # dd after prefixes of data and of the model
    data: Estimate
    model: Estimate
    # ``model - data``: above 0 where the model's own prefixes make it worse; the interval is None where dd has none
    difference: float
    interval: Interval | None
    whole: bool  # Whether whole sentences were judged, against those of an oracle
    n_sentences: int  # On each side of each dd

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready values."""
        document: dict[str, Any] = json_ready(
            {**self.__dict__, "data": self.data.to_dict(), "model": self.model.to_dict()}
        )
        return document

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "EbDd":
        """Return the result that `to_dict` gave as `data`, without the evidence of the two dd."""
        interval = None if data["interval"] is None else Interval(**data["interval"])
        sides = {side: Estimate.from_dict(data[side]) for side in ("data", "model")}
        difference = math.nan if data["difference"] is None else data["difference"]
        return cls(**{**data, **sides, "difference": difference, "interval": interval})


def eb_dd(
    model: LanguageModel,
    text: Corpus,
    *,
    length: int,
    sentence_length: int,
    n: int = 10_000,
    oracle: LanguageModel | None = None,
    discriminator: str | Any = "auto",
    effort: Effort = "quick",
    ends: Ends = "excluded",
    level: float = 0.95,
    seed: int = 0,
) -> EbDd:
    """Return how much easier continuations are to detect after the model's own prefixes than after real ones."""
    check_not_translation(model)
    check_ends(ends)
    if not 0 <= length < sentence_length:
        raise OptionError(f"length must be at least 0 and below {sentence_length}, got {length}")
    vocabulary = model_vocabulary(model)
    others = {"the real text": text.vocabulary}
    if oracle is not None:
        others["the oracle"] = model_vocabulary(oracle)
    for what, other in others.items():
        if other is not vocabulary and other.tokens != vocabulary.tokens:
            raise OptionError(f"{model.name} and {what} have different vocabularies")
    n_usable = n_long_enough(text, sentence_length) if ends == "excluded" else len(text)
    n = min(n, n_usable // 2)

    def seed_for(purpose: str) -> int:
        return int(stream(seed, "EB-DD", purpose).integers(2**62))

    def continued(writer: LanguageModel, prefixes: IntArray, purpose: str) -> IntArray:
        return continue_prefixes(writer, prefixes, sentence_length - length, seed=seed_for(purpose), ends=ends)

    rows_of_text = chosen_sentences(text, sentence_length, max(2 * n, 1), seed=seed_for("data"), ends=ends)
    real = first_tokens_of(text, rows_of_text, sentence_length)
    data_prefixes, own_prefixes = (
        real[:, :length],
        model_prefixes(model, length, max(2 * n, 1), seed=seed_for("model"), ends=ends),
    )
    written = (
        continued(model, data_prefixes[:n], "model after data"),
        continued(model, own_prefixes[:n], "model after model"),
    )
    first = 0 if oracle is not None else length
    if oracle is None:
        references = (real[n:], real[n:])
    else:
        references = (
            continued(oracle, data_prefixes[n:], "oracle after data"),
            continued(oracle, own_prefixes[n:], "oracle after model"),
        )

    def corpus(rows: IntArray) -> Corpus:
        kept = np.cumprod(rows[:, first:] != EOS, axis=1).astype(np.bool_)
        offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(kept.sum(axis=1))))
        tokens = rows[:, first:][kept].astype(np.int32)
        return drawn_corpus(tokens, offsets, vocabulary=vocabulary, tokenizer=text.tokenizer)

    shared = [corpus(references[0])]
    shared.append(shared[0] if oracle is None else corpus(references[1]))
    metric = dd.declaration.with_settings(discriminator=discriminator, effort=effort, level=level)
    after_data, after_model = (
        metric.estimate(corpus(rows), reference, seed=seed) for rows, reference in zip(written, shared, strict=True)
    )
    difference = after_model.value - after_data.value
    return EbDd(
        length,
        after_data,
        after_model,
        difference,
        _interval(difference, after_data, after_model, paired=oracle is None, level=level),
        oracle is not None,
        n,
    )


def _interval(difference: float, data: Estimate, model: Estimate, *, paired: bool, level: float) -> Interval | None:
    """Return Student's interval of a difference of two dd; `paired` if they share their real sentences."""
    if data.evidence is None or model.evidence is None:
        return None
    real = [model.evidence.real_terms, data.evidence.real_terms]
    if paired and real[0] is not None and real[1] is not None:
        real = [real[0] - real[1]]
    terms = [*real, model.evidence.generated_terms, data.evidence.generated_terms]
    return terms_interval(
        difference, terms, level=level, method="t: variance over sentences" + (", real ones paired" if paired else "")
    )
