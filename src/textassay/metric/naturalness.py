"""Naturalness: how well the words of generated sentences fit together, where nothing said again counts.

Source: SLOR, the length- and frequency-corrected log-probability that predicts how people judge sentences: Lau, Clark,
Lappin, "Grammaticality, Acceptability, and Probability", Cognitive Science 41, 2017; here with repetition inside the
sentence (see `token_credit`) and copies of whole sentences taken into account, both ours.
Departs from it: the log-probabilities are those of n-gram models; the mean is over sentences of a generator.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus import UNK, Corpus, TextOptions, Texts
from textassay.errors import EmptyCorpusError, OptionError
from textassay.estimate import Better, Estimate, Evidence
from textassay.inspection import n_distinct, occurs_elsewhere, occurs_in, sentence_keys
from textassay.metric.base import check_corpora, check_level, make_signature, measure, prepare_sides
from textassay.metric.token_cost import AT_LEAST, jackknife_groups, share
from textassay.metric.token_credit import Placed, TokenCredit, place
from textassay.resampling import cluster_terms, jackknife_terms, terms_interval

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


def naturalness(
    generated: Texts,
    real: Texts,
    *,
    background: Texts = None,
    train: Texts = None,
    markup: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return how much likelier the words of generated sentences are where they stand than anywhere, in nats a token.

    Parameters
    ----------
    generated, real
        At least 10 sentences each.
    background
        More text of the language, written by people on any topic, sharing the vocabulary: the models learn from it,
        too. The more there is, the nearer the value comes to what people say.
    train
        The sentences the generator was trained on, sharing the vocabulary: their copies earn nothing.
    markup
        A token that stands for a word that is not shown; neither it nor the token after it is scored.
    level
        Of the confidence interval, in (0, 1).
    seed
        Nothing is drawn; it stands in the signature as it does for every metric.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Nats per token, higher is better; below 0 where words fit worse than at random. A low temperature raises it
        beyond real text, as it raises people's trust: it is no distance from real text. It rises with the real text and
        the background. Details: `real_naturalness`, of real sentences under models that did not see them;
        `copied_share` of sentences that stand in the real or training text, `repeated_share` of sentences that repeat
        another generated one; `repeat_rate`, the share of tokens that end a pair of words said before in the sentence,
        and `real_repeat_rate`; `oov_rate`, of tokens that no model has; `unscored_share` of tokens; `order`.

    Raises
    ------
    TooFewSentencesError
        If a side has fewer than 10 sentences, or real text fewer than two groups.
    EmptyCorpusError
        If `background` or `train` is given without a sentence.
    OptionError
        If a setting is out of range or the corpora have different vocabularies.

    Notes
    -----
    A sentence's score is the mean over its tokens of ``log p(w | words before) - log p(w) + log P(r)``, with r whether
    w ends a pair of words said before in the sentence and P(r) as in real text; where it does, the first difference
    counts only if it is below 0. Of a positive score, each of m equal sentences keeps 1/m, and a copy of a real or
    training sentence nothing. The interval joins the jackknife over generated sentences and that of the models over 20
    groups of real sentences, the order and the background held fixed.
    """
    generated, real, others = prepare_sides(generated, real, {"background": background, "train": train}, **text)
    metric = Naturalness(others["background"], others["train"], markup, level)
    return measure(metric, generated, real, seed=seed)


@dataclass(frozen=True)
class Naturalness:
    """How well words fit together as a `Metric`."""

    background: Corpus | None = None
    train: Corpus | None = None
    markup: str | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def name(self) -> str:
        """The metric, with its markup and a hash of its background where it has them."""
        settings = [] if self.markup is None else [f"markup={self.markup}"]
        settings += [] if self.background is None else [f"background={self.background.fingerprint[:8]}"]
        return f"naturalness({','.join(settings)})" if settings else "naturalness"

    @property
    def better(self) -> Better:
        """People believe what fits together."""
        return "higher"

    @property
    def shares(self) -> Hashable:
        """Markup, background and training text decide everything."""
        texts = (self.background, self.train)
        return ("naturalness", self.markup, *(None if text is None else text.fingerprint for text in texts))

    def prepare(self, real: Corpus) -> "_RealSide":
        """Return the models of the real text, and what real sentences earn under models that did not see them."""
        check_corpora(real, real, metric="naturalness", at_least=AT_LEAST)
        for kind, text in (("background", self.background), ("training text", self.train)):
            if text is not None and len(text) == 0:
                raise EmptyCorpusError(f"naturalness: the {kind} has no sentence")
            if text is not None and text.vocabulary is not real.vocabulary:
                raise OptionError(f"naturalness: the {kind} has another vocabulary; make all with corpora_from_texts")
        groups = jackknife_groups(real, 0, metric="naturalness")
        credit = TokenCredit.fit(real, groups, self.background, self.markup)
        keys = sentence_keys(real)
        copies = occurs_elsewhere(keys)
        if self.train is not None:
            copies |= occurs_in(keys, sentence_keys(self.train))
        kept = np.where(copies, 0.0, 1.0)
        return _RealSide(real, credit, _earned(credit.score_held_out(), kept))

    def statistics(self, state: "_RealSide", generated: Corpus, *, seed: int) -> "_Statistics":
        """Return what generated sentences earn, under the models of all real text and without each group of it."""
        real, credit = state.real, state.credit
        check_corpora(generated, real, metric="naturalness", at_least=AT_LEAST)
        placed = place(generated, credit.space, self.markup)
        keys = sentence_keys(generated)
        copied = occurs_in(keys, sentence_keys(real))
        if self.train is not None:
            copied |= occurs_in(keys, sentence_keys(self.train))
        kinds, counts = np.unique(keys, return_inverse=True, return_counts=True)[1:]
        kept = np.where(copied, 0.0, 1.0 / counts[kinds])
        return _Statistics(
            generated=generated,
            real_side=state,
            seed=seed,
            placed=placed,
            raw=credit.score(placed),
            without=_earned(credit.score_without(placed), kept).mean(axis=1),
            kept=kept,
            copied=copied,
        )

    def estimate(self, statistics: "_Statistics") -> Estimate:
        """Return the mean over generated sentences."""
        generated, credit = statistics.generated, statistics.real_side.credit
        real, placed = statistics.real_side.real, statistics.placed
        scores = _earned(statistics.raw, statistics.kept)
        value = float(scores.mean())
        alone = _earned(statistics.raw, np.where(statistics.kept < 1, 0.0, 1.0))  # what is lost with the sentence
        generated_terms = cluster_terms(value + alone - alone.mean(), generated.groups)
        real_terms = jackknife_terms(value, statistics.without, np.bincount(credit.groups))
        method = f"t: jackknife over generated sentences, and of the models over {credit.n_groups} groups of real ones"
        interval = terms_interval(value, [generated_terms, real_terms], level=self.level, method=method)
        paired = placed.scored & placed.paired
        return Estimate(
            metric=self.name,
            value=value,
            interval=interval,
            unit="nats per token",
            better=self.better,
            sizes={
                "n_generated": len(generated),
                "n_real": len(real),
                "n_background": 0 if self.background is None else len(self.background),
                "n_tokens": int(placed.n_scored.sum()),
            },
            signature=make_signature(
                self.name,
                generated,
                real,
                seed=statistics.seed,
                order=credit.choice.order,
                repeats="pairs",
                copies="real" if self.train is None else f"real+train {self.train.fingerprint[:8]}",
            ),
            details={
                "real_naturalness": float(statistics.real_side.scores.mean()),
                "copied_share": share(statistics.copied),
                "repeated_share": 1 - n_distinct(sentence_keys(generated)) / len(generated),
                "repeat_rate": share(placed.repeated[paired]),
                "real_repeat_rate": credit.repeat_rate(),
                "oov_rate": share(placed.corpus.tokens == UNK),
                "unscored_share": share(~placed.scored),
                "order": credit.choice.order,
            },
            evidence=None
            if interval is None
            else Evidence(real_terms, generated_terms, statistics.real_side.scores, scores),
        )


@dataclass(frozen=True)
class _RealSide:
    """The models, and what real sentences earn under those that did not see them, shape (n_real,)."""

    real: Corpus
    credit: TokenCredit
    scores: FloatArray


@dataclass(frozen=True)
class _Statistics:
    """Scores before copies are looked at, (N,); the value without each group of real sentences, (G,); what is kept."""

    generated: Corpus
    real_side: _RealSide
    seed: int
    placed: Placed
    raw: FloatArray
    without: FloatArray
    kept: FloatArray
    copied: BoolArray


def _earned(raw: FloatArray, kept: FloatArray) -> FloatArray:
    """Return the scores, shape (..., N), of which only the share `kept` counts where they are above 0."""
    return np.minimum(raw, 0.0) + kept * np.maximum(raw, 0.0)
