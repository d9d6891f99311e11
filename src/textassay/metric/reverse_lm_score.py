"""Reverse language model score: how likely real text is under a language model of generated text.

Source: Zhao, Kim, Zhang, Rush, LeCun, "Adversarially regularized autoencoders", ICML 2018 (reverse perplexity); Cífka,
Severyn, Alfonseca, Filippova, "Eval all, trust a few, do wrong to none", 2018.
Departs from them: the model is by default an interpolated modified Kneser-Ney model, not a network; real text that made
a choice is not scored; the model's dependence on its training text is in the interval.
"""

import copy
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus import UNK, Corpus, TextOptions, Texts
from textassay.errors import unknown_name
from textassay.estimate import Better, Estimate
from textassay.generator import LanguageModel, LeaveOutModels
from textassay.metric.base import check_corpora, check_level, measure
from textassay.metric.token_cost import (
    AT_LEAST,
    EventSpace,
    Scored,
    cost_estimate,
    jackknife_groups,
    ngram_details,
    share,
)


def reverse_lm_score(
    generated: Texts,
    real: Texts,
    *,
    model: str | LanguageModel = "ngram",
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the mean cost of a real token under a language model of the generated text, in nats.

    Parameters
    ----------
    generated, real
        At least 10 sentences each.
    model
        ``ngram``: own n-gram model. A language model: a copy of it is fitted to the generated text. In both cases a
        tenth of the real text makes the choices (order, epoch) and is not scored.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides which generated sentences form a jackknife group.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Nats per token (ends of sentences counted), at least 0, lower is better: text that lacks variety, or is bad,
        teaches little about real text. It falls as the generated text grows: compare equal sizes. Details as for
        `lm_score`; `oov_rate` is the share of scored real tokens that the generated text does not have, and
        `unk_rate` that of generated tokens that the real text does not have.

    Raises
    ------
    TooFewSentencesError
        If a side has fewer than 10 sentences or fewer than two groups.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    The interval is that of `lm_score` with the sides swapped; the choice of the order is held fixed.
    """
    return measure(ReverseLmScore(model=model, level=level), generated, real, seed=seed, **text)


@dataclass(frozen=True)
class ReverseLmScore:
    """Cost of real text under a model of generated text as a `Metric`."""

    model: str | LanguageModel = "ngram"
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)
        if isinstance(self.model, str) and self.model != "ngram":
            raise unknown_name("language model", self.model, ["ngram"])

    @property
    def name(self) -> str:
        """The metric, with its model where that is not the usual one."""
        return "reverse-lm-score" if isinstance(self.model, str) else f"reverse-lm-score(model={self.model.name})"

    @property
    def better(self) -> Better:
        """Generated text that teaches more about real text is better."""
        return "lower"

    @property
    def shares(self) -> Hashable:
        """The model."""
        return self.name

    def prepare(self, real: Corpus) -> "_RealParts":
        """Return the real text, of which a tenth makes choices and the rest is scored."""
        check_corpora(real, real, metric=self.name, at_least=AT_LEAST)
        groups = jackknife_groups(real, 0, metric=self.name)
        space = EventSpace.of(real)
        return _RealParts(real, space, space.encode(real), groups < max(1, (int(groups.max()) + 1) // 10))

    def statistics(self, state: "_RealParts", generated: Corpus, *, seed: int) -> "_Statistics":
        """Return what real sentences cost."""
        real = state.real
        check_corpora(generated, real, metric=self.name, at_least=AT_LEAST)
        encoded = state.space.encode(generated)
        valid = state.encoded.take(np.flatnonzero(state.chooses))
        is_scored = np.flatnonzero(~state.chooses)
        tested, rest = state.encoded.take(is_scored), real.take(is_scored)
        seen = np.bincount(encoded.tokens, minlength=len(encoded.vocabulary)) > 0
        details: dict[str, Any] = {
            "oov_rate": share(~seen[tested.tokens]),
            "unk_rate": share(encoded.tokens == UNK),
        }
        if isinstance(self.model, str):
            groups = jackknife_groups(generated, seed, metric=self.name)
            models = LeaveOutModels.fit(encoded, groups, valid=valid)
            details = {**ngram_details(models), **details}
            scored = Scored(rest, models.nll(tested), models.nll_without(tested), np.bincount(groups))
        else:
            scored = Scored(rest, -copy.deepcopy(self.model).fit(encoded, valid).log_prob(tested))
        return _Statistics(generated, real, seed, scored, is_scored, details)

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the cost of a token."""
        real_scores = np.full(len(statistics.real), np.nan)
        real_scores[statistics.is_scored] = statistics.scored.per_sentence
        return cost_estimate(
            self,
            statistics.generated,
            statistics.real,
            statistics.scored,
            scores_real=True,
            seed=statistics.seed,
            details=statistics.details,
            real_scores=real_scores,
            generated_scores=None,
        )


@dataclass(frozen=True)
class _RealParts:
    """The real text, as it came and in its own events; `chooses` is a mask of sentences, shape (n_real,)."""

    real: Corpus
    space: EventSpace
    encoded: Corpus
    chooses: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Statistics:
    """What real sentences cost; `is_scored` are their numbers."""

    generated: Corpus
    real: Corpus
    seed: int
    scored: Scored
    is_scored: npt.NDArray[np.int64]
    details: dict[str, Any]
