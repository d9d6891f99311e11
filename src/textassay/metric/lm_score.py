"""Language model scores: how likely generated text is under a model of real text, and real text under one of generated.

Source: Cífka, Severyn, Alfonseca, Filippova, "Eval all, trust a few, do wrong to none: Comparing sentence generation
models", 2018; de Masson d'Autume, Rosca, Rae, Mohamed, "Training language GANs from scratch", NeurIPS 2019; reverse:
Zhao, Kim, Zhang, Rush, LeCun, "Adversarially regularized autoencoders", ICML 2018.
Departs from them: the model is by default an interpolated modified Kneser-Ney model, not a network; text that is
likelier than real text is not better but suspicious; real text that made a choice is not scored; the model's dependence
on its training text is in the interval.

Both predict the same events whatever else is compared: the token types of the real text, ``<unk>`` for every other
token, and the end of the sentence, which counts as a token. A word that a text spells ``<pad>``, ``<sos>`` or ``<eos>``
counts as ``<unk>``, since models use these for themselves. Where the real text has ``<unk>`` itself, that is a type of
its own: what it does not have must not cost as little as what it often has.
"""

import copy
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS, UNK, Vocabulary
from textassay.errors import TooFewSentencesError, UnavailableError, unknown_name
from textassay.metric.base import MOST_MODELLED, Computed, compute_once, declare_metric
from textassay.ngram.kneser_ney import LeaveOutModels
from textassay.ngram.language_model import LanguageModel, Likelihood, n_characters
from textassay.resampling.jackknife import Terms, assign_groups, clustered, jackknife_terms, terms_interval, text_terms
from textassay.seeding import stream

LIKELIER = "generated text is likelier than real text: often a sign of low temperature or repetition"
_COLUMN = "log_probs/"

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_GROUPS = 20  # models without a twentieth of their text each
AT_LEAST = 10  # sentences a side
_WRITTEN_UNK = "\0<unk>"  # the type of an <unk> that stands in the real text


@dataclass(frozen=True, eq=False)
class Trained:
    """A language model trained on other real text, to be used as it is; `lm_score` fits a copy of any other model."""

    model: LanguageModel

    @property
    def name(self) -> str:
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
class EventSpace:
    """What is predicted: `vocabulary` holds the types of the real text, `table` their ids for the shared one's."""

    vocabulary: Vocabulary
    table: npt.NDArray[np.int32]

    @classmethod
    def of(cls, real: Corpus) -> "EventSpace":
        vocabulary = Vocabulary.build(real)
        if np.any(real.tokens == UNK):
            vocabulary = Vocabulary([*vocabulary.tokens[len(SPECIAL_TOKENS) :], _WRITTEN_UNK])
        table = vocabulary.encode(real.vocabulary.tokens)
        table[:UNK] = UNK
        table[UNK] = vocabulary.encode([_WRITTEN_UNK])[0]
        return cls(vocabulary, table)

    def encode(self, corpus: Corpus) -> Corpus:
        """Return `corpus`, which shares the vocabulary of the real text, in these events."""
        return replace(corpus, tokens=self.table[corpus.tokens], vocabulary=self.vocabulary)


@dataclass(frozen=True)
class Scored:
    """Sentences and what each costs."""

    corpus: Corpus  # The sentences as they came
    nll: FloatArray  # In nats, ends included, shape (N,)
    # The sum of them under the model without each group of its training text, shape (G,); none where it is fixed
    nll_without: FloatArray | None = None
    # Training sentences of each group, shape (G,)
    group_sizes: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def n_tokens(self) -> int:
        """Tokens and ends."""
        return len(self.corpus.tokens) + len(self.corpus)

    @property
    def per_sentence(self) -> FloatArray:
        """Nats per token of each sentence, shape (N,)."""
        return self.nll / (self.corpus.lengths + 1)


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


def _check_reverse_model(settings: Mapping[str, Any]) -> None:
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
    check=_check_reverse_model,
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
    space, valid, tested, is_scored = compute_once(_tested_side, real)
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


def _tested_side(real: Corpus) -> tuple[EventSpace, Corpus, Corpus, npt.NDArray[np.bool_]]:
    """Return what is predicted, the tenth of the real text that makes choices, the rest, and which sentences it has."""
    groups = jackknife_groups(real, 0, metric="reverse-lm-score")
    is_scored = groups >= max(1, (int(groups.max()) + 1) // 10)
    space = EventSpace.of(real)
    encoded = space.encode(real)
    valid, tested = (encoded.take(np.flatnonzero(of_part)) for of_part in (~is_scored, is_scored))
    return space, valid, tested, is_scored


def jackknife_groups(corpus: Corpus, seed: int, *, metric: str, at_least: int = 2) -> IntArray:
    """Return the group of each sentence, shape (N,), at most 20 groups; raise where there are fewer than `at_least`."""
    groups = assign_groups(len(corpus), stream(seed, "lm-score"), n_groups=N_GROUPS, units=corpus.groups)
    if groups.max() + 1 < at_least:
        raise TooFewSentencesError(f"{metric} needs sentences of at least {at_least} groups, got {groups.max() + 1}")
    return groups


def token_cost(scored: Scored) -> tuple[float, Terms | None]:
    """Return the mean cost of a token, and its terms, one a sentence."""
    n_tokens = scored.corpus.lengths + 1
    value = float(scored.nll.sum() / n_tokens.sum())
    if not math.isfinite(value):
        return value, None
    return value, text_terms(value + (scored.nll - value * n_tokens) / n_tokens.mean(), scored.corpus.groups)


def ngram_details(models: LeaveOutModels) -> dict[str, Any]:
    """Return what is worth knowing of an n-gram model."""
    return {
        "order": models.choice.order,
        "validation_nll": {str(order): nll for order, nll in models.choice.nll_per_token.items()},
        "discounts": [[details.once, details.twice, details.more] for details in models.discounts],
    }


def share(of_all: npt.NDArray[np.bool_]) -> float:
    """Return the share of true values; NaN for none at all."""
    return float(of_all.mean()) if len(of_all) else math.nan


def cost_of(
    scored: Scored,
    *,
    side: Literal["generated", "real"],
    details: Mapping[str, Any],
    real_scores: FloatArray | None,
    generated_scores: FloatArray | None,
) -> Computed:
    """Return the mean cost of a token of `scored`, which are sentences of `side`.

    `real_scores`, `generated_scores`: for people to read, shapes (n_real,) and (n_generated,).
    """
    value, sentence_terms = token_cost(scored)
    terms: dict[str, Terms | None] = {side: sentence_terms}
    method = f"t: {side} sentences; language model fixed"
    if scored.nll_without is not None:
        other = "generated" if side == "real" else "real"
        terms[other] = jackknife_terms(value, scored.nll_without / scored.n_tokens, scored.group_sizes)
        n_groups = len(scored.group_sizes)
        method = f"t: {side} sentences, and jackknife of the model over {n_groups} groups of {other} ones, order fixed"
    cost = Likelihood(-float(scored.nll.sum()), scored.n_tokens, n_characters(scored.corpus))
    return Computed(
        value,
        terms=terms,
        method=method,
        sizes={"n_scored": len(scored.corpus), "n_tokens": scored.n_tokens},
        settings={
            **({"order": details["order"]} if "order" in details else {}),
            "ends": "counted",
            "events": "real types+unk",
        },
        details={
            "perplexity": cost.perplexity,
            "bits_per_token": cost.bits_per_token,
            "bits_per_character": cost.bits_per_character,
            **details,
        },
        real_scores=real_scores,
        generated_scores=generated_scores,
    )
