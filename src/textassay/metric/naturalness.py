"""Naturalness: how well the words of generated sentences fit together, where nothing said again counts.

Source: SLOR, the length- and frequency-corrected log-probability that predicts how people judge sentences: Lau, Clark,
Lappin, "Grammaticality, Acceptability, and Probability", Cognitive Science 41, 2017; here with repetition inside the
sentence (see `token_credit`) and copies of whole sentences taken into account, both ours.
Departs from it: the log-probabilities are those of n-gram models; the mean is over sentences of a generator.
"""

import numpy as np
import numpy.typing as npt

from textassay.corpus import UNK, Corpus
from textassay.inspection import n_distinct, occurs_elsewhere, occurs_in, sentence_keys
from textassay.metric.base import Computed, declare_metric
from textassay.metric.sharing import compute_once
from textassay.metric.token_cost import AT_LEAST, jackknife_groups, share
from textassay.metric.token_credit import TokenCredit, place
from textassay.resampling import jackknife_terms, text_terms

FloatArray = npt.NDArray[np.float64]


@declare_metric(
    "naturalness",
    "how much likelier words are where they stand than anywhere, where nothing said again counts; by n-gram models",
    unit="nats per token",
    better="higher",
    only_named=True,
    at_least=AT_LEAST,
)
def naturalness(
    generated: Corpus,
    real: Corpus,
    *,
    markup: str | None = None,
    background: Corpus | None = None,
    train: Corpus | None = None,
) -> Computed:
    """Return how much likelier the words of generated sentences are where they stand than anywhere, in nats a token.

    Parameters
    ----------
    generated, real
        At least 10 sentences each.
    markup
        A token that stands for a word that is not shown; neither it nor the token after it is scored.
    background
        More text of the language, written by people on any topic, sharing the vocabulary: the models learn from it,
        too. The more there is, the nearer the value comes to what people say.
    train
        The sentences the generator was trained on, sharing the vocabulary: their copies earn nothing.

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

    Notes
    -----
    A sentence's score is the mean over its tokens of ``log p(w | words before) - log p(w) + log P(r)``, with r whether
    w ends a pair of words said before in the sentence and P(r) as in real text; where it does, the first difference
    counts only if it is below 0. Of a positive score, each of m equal sentences keeps 1/m, and a copy of a real or
    training sentence nothing. The interval joins the jackknife over generated sentences and that of the models over 20
    groups of real sentences, the order and the background held fixed.
    """
    credit, real_scores = compute_once(_real_side, real, background, train, markup)
    placed = place(generated, credit.space, markup)
    keys = sentence_keys(generated)
    is_copy = occurs_in(keys, sentence_keys(real))
    if train is not None:
        is_copy |= occurs_in(keys, sentence_keys(train))
    kinds, counts = np.unique(keys, return_inverse=True, return_counts=True)[1:]
    kept = np.where(is_copy, 0.0, 1.0 / counts[kinds])
    raw = credit.score(placed)
    scores = _earned(raw, kept)
    value = float(scores.mean())
    alone = _earned(raw, np.where(kept < 1, 0.0, 1.0))  # what is lost with the sentence
    without = _earned(credit.score_without(placed), kept).mean(axis=1)
    paired = placed.scored & placed.paired
    return Computed(
        value,
        terms={
            "generated": text_terms(value + alone - alone.mean(), generated.groups),
            "real": jackknife_terms(value, without, np.bincount(credit.groups)),
        },
        method=f"t: jackknife over generated sentences, and of the models over {credit.n_groups} groups of real ones",
        sizes={
            "n_background": 0 if background is None else len(background),
            "n_tokens": int(placed.n_scored.sum()),
        },
        settings={
            "order": credit.choice.order,
            "repeats": "pairs",
            "copies": "real" if train is None else f"real+train {train.fingerprint[:8]}",
        },
        details={
            "real_naturalness": float(real_scores.mean()),
            "copied_share": share(is_copy),
            "repeated_share": 1 - n_distinct(keys) / len(generated),
            "repeat_rate": share(placed.repeated[paired]),
            "real_repeat_rate": credit.repeat_rate(),
            "oov_rate": share(placed.corpus.tokens == UNK),
            "unscored_share": share(~placed.scored),
            "order": credit.choice.order,
        },
        real_scores=real_scores,
        generated_scores=scores,
    )


def _real_side(
    real: Corpus, background: Corpus | None, train: Corpus | None, markup: str | None
) -> tuple[TokenCredit, FloatArray]:
    """Return the models, and what real sentences earn under those that did not see them, shape (n_real,)."""
    credit = TokenCredit.fit(real, jackknife_groups(real, 0, metric="naturalness"), background, markup)
    keys = sentence_keys(real)
    is_copy = occurs_elsewhere(keys)
    if train is not None:
        is_copy |= occurs_in(keys, sentence_keys(train))
    return credit, _earned(credit.score_held_out(), np.where(is_copy, 0.0, 1.0))


def _earned(raw: FloatArray, kept: FloatArray) -> FloatArray:
    """Return the scores, shape (..., N), of which only the share `kept` counts where they are above 0."""
    return np.minimum(raw, 0.0) + kept * np.maximum(raw, 0.0)
