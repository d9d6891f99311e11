"""Language model score: how likely generated text is under a language model of real text.

Source: Cífka, Severyn, Alfonseca, Filippova, "Eval all, trust a few, do wrong to none: Comparing sentence generation
models", 2018; de Masson d'Autume, Rosca, Rae, Mohamed, "Training language GANs from scratch", NeurIPS 2019.
Departs from them: the model is by default an interpolated modified Kneser-Ney model, not a network; text that is
likelier than real text is not better but suspicious; the model's dependence on its training text is in the interval.
"""

import copy
import math
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from textassay.corpus import UNK, Corpus, TextOptions, Texts
from textassay.errors import UnavailableError, unknown_name
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
    token_cost,
)

FloatArray = npt.NDArray[np.float64]

LIKELIER = "likelier than real text itself: often a sign of low temperature or repetition"
_COLUMN = "log_probs/"


@dataclass(frozen=True)
class Trained:
    """A language model trained on other real text, to be used as it is; `LmScore` fits a copy of any other model."""

    model: LanguageModel

    @property
    def name(self) -> str:
        """The model's name, marked as already trained."""
        return f"trained {self.model.name}"


def lm_score(
    generated: Texts,
    real: Texts,
    *,
    model: str | LanguageModel | Trained = "ngram",
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the mean cost of a generated token under a language model of the real text, in nats.

    Parameters
    ----------
    generated, real
        At least 10 sentences each.
    model
        ``ngram``: own n-gram model, its order chosen from 1 to 5. ``self``: the generator's own log-probabilities, from
        the columns of the corpora. A language model: a copy of it is fitted to eight tenths of the real text, with one
        tenth for its choices. `Trained`: a model that stays as it is. Models are told apart by their names.
    level
        Of the confidence interval, in (0, 1).
    seed
        Nothing is drawn; it stands in the signature as it does for every metric.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Nats per token (ends of sentences counted), at least 0; closer to what real text scores is better, and less is
        not better. It falls as the real text grows. Details: `real_nll_per_token`, of real sentences under models that
        did not see them, and `generated_nll_per_token` under those same models, to be compared with it; `order`,
        `validation_nll` of each order and `discounts` of the n-gram model; `oov_rate`, the share of tokens that the
        real text does not have; `perplexity`, `bits_per_token`, `bits_per_character`.

    Raises
    ------
    TooFewSentencesError
        If a side has fewer than 10 sentences, or real text fewer than two groups.
    UnavailableError
        If `model` is ``self`` and the generator's log-probabilities are not there.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Warns
    -----
    UserWarning
        If generated text is significantly likelier than real text.

    Notes
    -----
    The interval adds up the variance over generated sentences (of a ratio of sums, linearised) and, for the n-gram
    model, that over models without each of 20 groups of real sentences, the order held fixed. Every other model is held
    fixed: generators are then compared for this model, not for what another training run would give.
    """
    return measure(LmScore(model=model, level=level), generated, real, seed=seed, **text)


@dataclass(frozen=True)
class LmScore:
    """Cost of generated text under a model of real text as a `Metric`."""

    model: str | LanguageModel | Trained = "ngram"
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)
        if isinstance(self.model, str) and self.model not in ("ngram", "self"):
            raise unknown_name("language model", self.model, ["ngram", "self"])

    @property
    def name(self) -> str:
        """The metric, with its model if not the default."""
        model = self.model if isinstance(self.model, str) else self.model.name
        return "lm-score" if model == "ngram" else f"lm-score(model={model})"

    @property
    def better(self) -> Better:
        """Text that is likelier than real text is not better."""
        return "closer"

    @property
    def shares(self) -> Hashable:
        """The model."""
        return self.name

    @property
    def reads_columns(self) -> bool:
        """Whether log-probabilities come with the corpora."""
        return self.model == "self"

    def prepare(self, real: Corpus) -> "_RealSide":
        """Return a model of the real text, and the cost of real texts under models that did not see them."""
        check_corpora(real, real, metric=self.name, at_least=AT_LEAST)
        space = EventSpace.of(real)
        if self.model == "self":
            return _RealSide(real, space, None, None)
        encoded = space.encode(real)
        if isinstance(self.model, Trained):
            return _RealSide(real, space, self.model.model, Scored(real, -self.model.model.log_prob(encoded)))
        if isinstance(self.model, str):
            models = LeaveOutModels.fit(encoded, jackknife_groups(real, 0, metric=self.name))
            return _RealSide(real, space, models, Scored(real, models.nll_held_out()))
        groups = jackknife_groups(real, 0, metric=self.name, at_least=3)
        tenth = max(1, (int(groups.max()) + 1) // 10)
        rest, valid, train = (np.flatnonzero(np.minimum(groups // tenth, 2) == part) for part in range(3))
        model = copy.deepcopy(self.model).fit(encoded.take(train), encoded.take(valid))
        return _RealSide(real, space, model, Scored(real.take(rest), -model.log_prob(encoded.take(rest))))

    def statistics(self, state: "_RealSide", generated: Corpus, *, seed: int) -> "_Statistics":
        """Return the cost of generated texts."""
        real, model, unseen = state.real, state.model, state.unseen
        check_corpora(generated, real, metric=self.name, at_least=AT_LEAST)
        encoded = state.space.encode(generated)
        details: dict[str, Any] = {"oov_rate": share(encoded.tokens == UNK)}
        if isinstance(model, LeaveOutModels):
            details = {**ngram_details(model), **details}
            scored = Scored(generated, model.nll(encoded), model.nll_without(encoded), np.bincount(model.groups))
        elif model is None:
            column = _own_column(generated, real, metric=self.name)
            scored, unseen = (Scored(corpus, -corpus.columns[column].astype(float)) for corpus in (generated, real))
        else:
            scored = Scored(generated, -model.log_prob(encoded))
        assert unseen is not None
        return _Statistics(generated, real, seed, scored, unseen, details)

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the cost of a token; warn where generated text is likelier than real text, beyond both intervals."""
        scored, unseen = statistics.scored, statistics.unseen
        value = token_cost(scored)[0]
        real_value, real_terms = token_cost(unseen)
        if scored.nll_without is not None:  # under the models that real_value is of
            value = float(scored.nll_without.mean()) / scored.n_tokens
        estimate = cost_estimate(
            self,
            statistics.generated,
            statistics.real,
            scored,
            scores_real=False,
            seed=statistics.seed,
            details={"generated_nll_per_token": value, "real_nll_per_token": real_value, **statistics.details},
            real_scores=unseen.per_sentence if len(unseen.corpus) == len(statistics.real) else None,
            generated_scores=scored.per_sentence,
        )
        if real_terms is not None and estimate.interval is not None:
            z = float(ndtri((1 + self.level) / 2))
            of_real = z * math.sqrt(np.var(real_terms, ddof=1) / len(real_terms))
            arm = estimate.interval.high - estimate.value  # with the model's dependence on its training text
            if real_value - value > math.hypot(arm, of_real):
                warnings.warn(LIKELIER, UserWarning, stacklevel=2)
        return estimate


@dataclass(frozen=True)
class _RealSide:
    """A model of real text, and real texts that it did not see; neither with given log-probabilities."""

    real: Corpus
    space: EventSpace
    model: LeaveOutModels | LanguageModel | None
    unseen: Scored | None


@dataclass(frozen=True)
class _Statistics:
    """Costs of generated and of real texts."""

    generated: Corpus
    real: Corpus
    seed: int
    scored: Scored
    unseen: Scored
    details: dict[str, Any]


def _own_column(generated: Corpus, real: Corpus, *, metric: str) -> str:
    """Return the column of log-probabilities that both sides have, under the one generator there can be."""
    names = [name for name in generated.columns if name.startswith(_COLUMN) and name in real.columns]
    if len(names) != 1:
        raise UnavailableError(
            f"{metric} needs the log-probabilities that the generator itself gives to real and to its own sentences "
            "(log_probs)"
        )
    return names[0]
