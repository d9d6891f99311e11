"""What both language model scores are made of: the events predicted, the cost of a token, its interval.

Both predict the same events whatever else is compared: the token types of the real text, ``<unk>`` for every other
token, and the end of the sentence, which counts as a token. A word that a text spells ``<pad>``, ``<sos>`` or ``<eos>``
counts as ``<unk>``, since models use these for themselves. Where the real text has ``<unk>`` itself, that is a type of
its own: what it does not have must not cost as little as what it often has.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS, UNK, Vocabulary
from textassay.errors import TooFewSentencesError
from textassay.metric.base import Computed
from textassay.ngram.leave_out import LeaveOutModels
from textassay.ngram.likelihood import Likelihood, n_characters
from textassay.resampling.jackknife import Terms, assign_groups, jackknife_terms, text_terms
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_GROUPS = 20  # models without a twentieth of their text each
AT_LEAST = 10  # sentences a side
_WRITTEN_UNK = "\0<unk>"  # the type of an <unk> that stands in the real text


@dataclass(frozen=True)
class EventSpace:
    """What is predicted: `vocabulary` holds the types of the real text, `table` their ids for the shared one's."""

    vocabulary: Vocabulary
    table: npt.NDArray[np.int32]

    @classmethod
    def of(cls, real: Corpus) -> "EventSpace":
        """Return the event space of `real`."""
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
