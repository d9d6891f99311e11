"""Reverse language model score: how likely real text is under a language model of generated text.

Source: Zhao, Kim, Zhang, Rush, LeCun, "Adversarially regularized autoencoders", ICML 2018 (reverse perplexity); Cífka,
Severyn, Alfonseca, Filippova, "Eval all, trust a few, do wrong to none", 2018.
Departs from them: the model is by default an interpolated modified Kneser-Ney model, not a network; real text that made
a choice is not scored; the model's dependence on its training text is in the interval.
"""

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay.errors import unknown_name
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
)
from textassay.ngram.language_model import LanguageModel
from textassay.ngram.leave_out import LeaveOutModels


def _check_model(settings: Mapping[str, Any]) -> None:
    if isinstance(settings["model"], str) and settings["model"] != "ngram":
        raise unknown_name("language model", settings["model"], ["ngram"])


@declare_metric(
    "reverse-lm-score",
    "mean cost (nats) of a real token under a language model of the generated text",
    unit="nats per token",
    better="lower",
    bounds=(0, math.inf),
    most=MOST_MODELLED,
    at_least=AT_LEAST,
    check=_check_model,
)
def reverse_lm_score(
    generated: Corpus, real: Corpus, *, model: str | LanguageModel = "ngram", seed: int = 0
) -> Computed:
    """Return the mean cost of a real token under a language model of the generated text, in nats.

    Parameters
    ----------
    generated, real
        At least 10 sentences each.
    model
        ``ngram``: own n-gram model. A language model: a copy of it is fitted to the generated text. In both cases a
        tenth of the real text makes the choices (order, epoch) and is not scored.
    seed
        Decides which generated sentences form a jackknife group.

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

    Notes
    -----
    The interval is that of `lm_score` with the sides swapped; the choice of the order is held fixed.
    """
    space, valid, tested, is_scored = compute_once(_real_side, real)
    rest = real.take(np.flatnonzero(is_scored))
    encoded = space.encode(generated)
    seen = np.bincount(encoded.tokens, minlength=len(encoded.vocabulary)) > 0
    details: dict[str, Any] = {"oov_rate": share(~seen[tested.tokens]), "unk_rate": share(encoded.tokens == UNK)}
    if isinstance(model, str):
        groups = jackknife_groups(generated, seed, metric="reverse-lm-score")
        models = LeaveOutModels.fit(encoded, groups, valid=valid)
        details = {**ngram_details(models), **details}
        scored = Scored(rest, models.nll(tested), models.nll_without(tested), np.bincount(groups))
    else:
        scored = Scored(rest, -copy.deepcopy(model).fit(encoded, valid).log_prob(tested))
    real_scores = np.full(len(real), np.nan)
    real_scores[is_scored] = scored.per_sentence
    return cost_of(scored, side="real", details=details, real_scores=real_scores, generated_scores=None)


def _real_side(real: Corpus) -> tuple[EventSpace, Corpus, Corpus, npt.NDArray[np.bool_]]:
    """Return what is predicted, the tenth of the real text that makes choices, the rest, and which sentences it has."""
    groups = jackknife_groups(real, 0, metric="reverse-lm-score")
    is_scored = groups >= max(1, (int(groups.max()) + 1) // 10)
    space = EventSpace.of(real)
    encoded = space.encode(real)
    valid, tested = (encoded.take(np.flatnonzero(of_part)) for of_part in (~is_scored, is_scored))
    return space, valid, tested, is_scored
