"""Language model score: how likely generated text is under a language model of real text.

Source: Cífka, Severyn, Alfonseca, Filippova, "Eval all, trust a few, do wrong to none: Comparing sentence generation
models", 2018; de Masson d'Autume, Rosca, Rae, Mohamed, "Training language GANs from scratch", NeurIPS 2019.
Departs from them: the model is by default an interpolated modified Kneser-Ney model, not a network; text that is
likelier than real text is not better but suspicious; the model's dependence on its training text is in the interval.
"""

import copy
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay.errors import UnavailableError, unknown_name
from textassay.metric.base import MOST_MODELLED, Computed, declare_metric
from textassay.metric.sharing import compute_once
from textassay.metric.token_cost import (
    AT_LEAST,
    EventSpace,
    Scored,
    cost_of,
    jackknife_groups,
    ngram_details,
    share,
    token_cost,
)
from textassay.ngram.language_model import LanguageModel
from textassay.ngram.leave_out import LeaveOutModels
from textassay.resampling.jackknife import clustered, terms_interval

LIKELIER = "likelier than real text itself: often a sign of low temperature or repetition"
_COLUMN = "log_probs/"


@dataclass(frozen=True, eq=False)
class Trained:
    """A language model trained on other real text, to be used as it is; `lm_score` fits a copy of any other model."""

    model: LanguageModel

    @property
    def name(self) -> str:
        """The model's name, marked as already trained."""
        return f"trained {self.model.name}"


def _check_model(settings: Mapping[str, Any]) -> None:
    model = settings["model"]
    if isinstance(model, str) and model not in ("ngram", "self"):
        raise unknown_name("language model", model, ["ngram", "self"])


@declare_metric(
    "lm-score",
    "mean cost (nats) of a generated token under a language model of the real text",
    unit="nats per token",
    bounds=(0, math.inf),
    most=MOST_MODELLED,
    at_least=AT_LEAST,
    reads_columns=lambda settings: settings["model"] == "self",
    check=_check_model,
)
def lm_score(
    generated: Corpus, real: Corpus, *, model: str | LanguageModel | Trained = "ngram", level: float = 0.95
) -> Computed:
    """Return the mean cost of a generated token under a language model of the real text, in nats.

    Parameters
    ----------
    generated, real
        At least 10 sentences each.
    model
        ``ngram``: own n-gram model, its order chosen from 1 to 5. ``self``: the generator's own log-probabilities, from
        the columns of the corpora. A language model: a copy of it is fitted to eight tenths of the real text, with one
        tenth for its choices. `Trained`: a model that stays as it is. Models are told apart by their names.

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
    real_side = compute_once(_real_side, real, model)
    encoded = real_side.space.encode(generated)
    details: dict[str, Any] = {"oov_rate": share(encoded.tokens == UNK)}
    fitted, unseen = real_side.model, real_side.unseen
    if fitted is None or unseen is None:
        column = _own_column(generated, real)
        scored, unseen = (Scored(corpus, -corpus.columns[column].astype(float)) for corpus in (generated, real))
    elif isinstance(fitted, LeaveOutModels):
        details = {**ngram_details(fitted), **details}
        scored = Scored(generated, fitted.nll(encoded), fitted.nll_without(encoded), np.bincount(fitted.groups))
    else:
        scored = Scored(generated, -fitted.log_prob(encoded))
    value = token_cost(scored)[0]
    real_value, of_texts = token_cost(unseen)
    real_terms = clustered(of_texts)
    if scored.nll_without is not None:  # under the models that real_value is of
        value = float(scored.nll_without.mean()) / scored.n_tokens
    cost = cost_of(
        scored,
        side="generated",
        details={"generated_nll_per_token": value, "real_nll_per_token": real_value, **details},
        real_scores=unseen.per_sentence if len(unseen.corpus) == len(real) else None,
        generated_scores=scored.per_sentence,
    )
    interval = terms_interval(cost.value, list(cost.terms.values()), level=level, method=cost.method)
    if real_terms is not None and interval is not None:
        z = float(ndtri((1 + level) / 2))
        of_real = z * math.sqrt(np.var(real_terms, ddof=1) / len(real_terms))
        arm = interval.high - cost.value  # with the model's dependence on its training text
        if real_value - value > math.hypot(arm, of_real):
            warnings.warn(LIKELIER, UserWarning, stacklevel=2)
    return cost


@dataclass(frozen=True)
class _RealSide:
    """A model of the real text, and real texts that it did not see; neither where log-probabilities are given."""

    space: EventSpace
    model: LeaveOutModels | LanguageModel | None = None
    unseen: Scored | None = None


def _real_side(real: Corpus, model: str | LanguageModel | Trained) -> _RealSide:
    space = EventSpace.of(real)
    if model == "self":
        return _RealSide(space)
    encoded = space.encode(real)
    if isinstance(model, Trained):
        return _RealSide(space, model.model, Scored(real, -model.model.log_prob(encoded)))
    if isinstance(model, str):
        models = LeaveOutModels.fit(encoded, jackknife_groups(real, 0, metric="lm-score"))
        return _RealSide(space, models, Scored(real, models.nll_held_out()))
    groups = jackknife_groups(real, 0, metric="lm-score", at_least=3)
    tenth = max(1, (int(groups.max()) + 1) // 10)
    rest, valid, train = (np.flatnonzero(np.minimum(groups // tenth, 2) == part) for part in range(3))
    fitted = copy.deepcopy(model).fit(encoded.take(train), encoded.take(valid))
    return _RealSide(space, fitted, Scored(real.take(rest), -fitted.log_prob(encoded.take(rest))))


def _own_column(generated: Corpus, real: Corpus) -> str:
    """Return the column of log-probabilities that both sides have, under the one generator there can be."""
    names = [name for name in generated.columns if name.startswith(_COLUMN) and name in real.columns]
    if len(names) != 1:
        raise UnavailableError(
            "lm-score needs the log-probabilities that the generator itself gives to real and to its own sentences "
            "(log_probs)"
        )
    return names[0]
