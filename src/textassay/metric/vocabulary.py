"""Vocabulary: how much of generated text is made of words that the real text does not have.

Source: the out-of-vocabulary rate of speech and language modelling, with the real text as the list of known words. New
words are right in moderation: real text has some that other real text lacks, and that is what to be close to.
"""

import math
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, Unpack, get_args

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, TextOptions, Texts
from textassay.errors import unknown_name
from textassay.estimate import Better, Estimate, Evidence
from textassay.metric.base import check_corpora, check_level, make_signature, measure
from textassay.resampling import assign_groups, jackknife_terms, sole_groups, terms_interval
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]
Unit = Literal["tokens", "types"]

_N_SHOWN = 10


def vocabulary(
    generated: Texts,
    real: Texts,
    *,
    of: Unit = "tokens",
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the share of generated tokens, or of their types, that do not stand in the real text.

    Parameters
    ----------
    generated, real
        At least one sentence each.
    of
        "tokens" counts every token, "types" every different token once.
    level
        Of the confidence interval, in (0, 1).
    seed
        Decides which sentences form a jackknife group.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Fraction in [0, 1]; NaN, with a warning, where the generated text has no token. The closer to what real text
        scores against other real text, the better. It falls with the number of real sentences; the share of types rises
        with the number of generated ones. Details: `n_unseen`, `n_total`, and `most_frequent_unseen`, up to ten
        {"token", "count"}.

    Raises
    ------
    EmptyCorpusError
        If a side has no sentence.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    The interval comes from leaving out each of 50 groups of sentences on either side; it errs on the wide side (see
    `self_bleu`).
    """
    return measure(UnseenVocabulary(of=of, level=level), generated, real, seed=seed, **text)


@dataclass(frozen=True)
class UnseenVocabulary:
    """Share of unseen tokens or types as a `Metric`; both share what is computed."""

    of: Unit = "tokens"
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.of not in get_args(Unit):
            raise unknown_name("value of vocabulary(of)", self.of, get_args(Unit))
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric with what it counts."""
        return f"vocabulary(of={self.of})"

    @property
    def better(self) -> Better:
        """Neither more nor fewer new words than in real text."""
        return "closer"

    @property
    def shares(self) -> Hashable:
        """Tokens and types share."""
        return ("vocabulary",)

    def prepare(self, real: Corpus) -> Corpus:
        """Return the real text as it is."""
        return real

    def statistics(self, state: Corpus, generated: Corpus, *, seed: int) -> "_Statistics":
        """Return the counts of tokens and types, in all and without each group."""
        check_corpora(generated, state, metric="vocabulary")
        n_types = len(generated.vocabulary)
        groups, real_groups = (
            assign_groups(len(corpus), stream(seed, "groups", side), units=corpus.groups)
            for corpus, side in ((generated, "generated"), (state, "real"))
        )
        is_unseen = np.bincount(state.tokens, minlength=n_types) == 0
        counts = np.bincount(generated.tokens, minlength=n_types)
        group_of_token = np.repeat(groups, generated.lengths)
        sole = sole_groups(generated.tokens, group_of_token, n_types)
        real_sole = sole_groups(state.tokens, np.repeat(real_groups, state.lengths), n_types)
        n_groups, n_real_groups = int(groups.max()) + 1, int(real_groups.max()) + 1
        return _Statistics(
            generated=generated,
            real=state,
            seed=seed,
            counts=counts,
            is_unseen=is_unseen,
            group_sizes=np.bincount(groups),
            real_group_sizes=np.bincount(real_groups),
            tokens_in_group=np.bincount(group_of_token, minlength=n_groups),
            unseen_tokens_in_group=np.bincount(group_of_token[is_unseen[generated.tokens]], minlength=n_groups),
            types_in_group_alone=np.bincount(sole[sole >= 0], minlength=n_groups),
            unseen_types_in_group_alone=np.bincount(sole[(sole >= 0) & is_unseen], minlength=n_groups),
            tokens_known_by_group_alone=np.bincount(
                np.repeat(real_sole[real_sole >= 0], counts[real_sole >= 0]), minlength=n_real_groups
            ),
            types_known_by_group_alone=np.bincount(real_sole[(real_sole >= 0) & (counts > 0)], minlength=n_real_groups),
        )

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the share of tokens or of types."""
        generated, real = statistics.generated, statistics.real
        if self.of == "tokens":
            counts = statistics.counts
            lost, lost_unseen = statistics.tokens_in_group, statistics.unseen_tokens_in_group
            newly_unseen = statistics.tokens_known_by_group_alone
        else:
            counts = np.minimum(statistics.counts, 1)
            lost, lost_unseen = statistics.types_in_group_alone, statistics.unseen_types_in_group_alone
            newly_unseen = statistics.types_known_by_group_alone
        n_total, n_unseen = int(counts.sum()), int(counts[statistics.is_unseen].sum())
        value, terms, real_terms = math.nan, None, None
        if n_total == 0:
            warnings.warn(f"{self.name} is undefined: the generated text has no token", RuntimeWarning, stacklevel=2)
        else:
            value = n_unseen / n_total
            left = n_total - lost
            without = (n_unseen - lost_unseen) / np.where(left == 0, np.nan, left)
            terms = jackknife_terms(value, without, statistics.group_sizes)
            real_terms = jackknife_terms(value, (n_unseen + newly_unseen) / n_total, statistics.real_group_sizes)
        n_groups, n_real_groups = len(statistics.group_sizes), len(statistics.real_group_sizes)
        interval = terms_interval(
            value,
            [terms, real_terms],
            level=self.level,
            method=f"t: jackknife over {n_groups} groups of generated and {n_real_groups} of real sentences",
            low=0.0,
            high=1.0,
        )
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="fraction",
            better=self.better,
            sizes={"n_generated": len(generated), "n_real": len(real), f"n_{self.of}": n_total},
            signature=make_signature(
                self.name,
                generated,
                real,
                seed=statistics.seed,
                groups=f"{n_groups}+{n_real_groups}",
            ),
            details={
                "n_unseen": n_unseen,
                "n_total": n_total,
                "most_frequent_unseen": _most_frequent(statistics),
            },
            evidence=None if interval is None else Evidence(real_terms, terms),
        )


@dataclass(frozen=True)
class _Statistics:
    """Counts of each type in generated text and whether it is unseen, shapes (V,); the others are per group, (G,)."""

    generated: Corpus
    real: Corpus
    seed: int
    counts: IntArray
    is_unseen: npt.NDArray[np.bool_]
    group_sizes: IntArray
    real_group_sizes: IntArray
    tokens_in_group: IntArray
    unseen_tokens_in_group: IntArray
    types_in_group_alone: IntArray
    unseen_types_in_group_alone: IntArray
    tokens_known_by_group_alone: IntArray
    types_known_by_group_alone: IntArray


def _most_frequent(statistics: _Statistics) -> list[dict[str, str | int]]:
    """Return the most frequent unseen tokens; equally frequent ones in the order of their letters."""
    unseen = np.flatnonzero(statistics.is_unseen & (statistics.counts > 0))
    tokens = statistics.generated.vocabulary.decode(unseen)
    counts = statistics.counts[unseen].tolist()
    ranked = sorted(zip(tokens, counts, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return [{"token": token, "count": count} for token, count in ranked[:_N_SHOWN]]
