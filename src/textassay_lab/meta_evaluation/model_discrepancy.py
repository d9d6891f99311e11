"""The discrepancy of two language models, from their own probabilities.

Both models sample, and both score both samples; `textassay_lab.meta_evaluation.known_truth` does the rest. The
comparison is of the text as sampled (`textassay_lab.generator.as_drawn`): cut at the shorter of the two length limits,
so that two models that cut at 30 and at 40 tokens are compared on the first 30 tokens, exactly.

Where a vocabulary and a length are tiny, `exact_model_discrepancy` sums over all texts instead.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", equations (1) and (2).
Departs from it: closed vocabularies and cut sentences are part of the probabilities.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.encoding import UNK, Vocabulary
from textassay.display import Displayed
from textassay.errors import InputError, OptionError
from textassay.estimate import Interval
from textassay.ngram.language_model import LanguageModel, drawn_corpus
from textassay.seeding import stream
from textassay_lab.generator.as_drawn import AsDrawn, cut_length
from textassay_lab.generator.scored import ScoredGenerator
from textassay_lab.meta_evaluation.known_truth import KnownTruth, log_ratios, truth_from_log_ratios

FloatArray = npt.NDArray[np.float64]

MOST_TEXTS = 1_000_000  # that are listed
_TEXTS_AT_ONCE = 1 << 16
_SUM_ERROR = 1e-4  # that float32 networks may leave in the sum of all probabilities
MOST_DISAGREEMENT = 4.0  # standard errors; above, the log-probabilities are not those of the sampled text


@dataclass(frozen=True)
class Side:
    """One of the two models: its name, and the shares of its texts that were cut and that the other never draws."""

    name: str
    cut_share: float
    foreign_share: float


@dataclass(frozen=True)
class ModelDiscrepancy(Displayed):
    """The discrepancy of two models."""

    truth: KnownTruth  # Estimates, with p as the real side
    p: Side
    q: Side
    n: int  # Texts sampled from each
    max_length: int | None  # Tokens at which texts are cut, if any
    seed: int
    # log p(x) - log q(x) of the texts of p and of q, in nats, shapes (n,); infinite where one never draws it
    log_ratios: tuple[FloatArray, FloatArray] = field(repr=False)

    @property
    def agrees(self) -> bool:
        """Whether the estimators agree with one another up to chance."""
        return self.truth.disagreement <= MOST_DISAGREEMENT

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the log-ratios, JSON-ready."""
        truth = self.truth

        def value_dict(value: float, interval: Interval) -> dict[str, float]:
            return {"value": value, "low": interval.low, "high": interval.high}

        return {
            "p": asdict(self.p),
            "q": asdict(self.q),
            "n": self.n,
            "max_length": self.max_length,
            "seed": self.seed,
            "level": truth.interval.level,
            "discrepancy": value_dict(truth.value, truth.interval),
            "ratio": value_dict(truth.ratio, truth.ratio_interval),
            "ratio_p": truth.ratio_real,
            "ratio_q": truth.ratio_generated,
            "sign": value_dict(truth.sign, truth.sign_interval),
            "disagreement": truth.disagreement,
            "agrees": self.agrees,
        }


def model_discrepancy(
    p: LanguageModel,
    q: LanguageModel,
    vocabularies: tuple[Vocabulary, Vocabulary],
    *,
    n: int,
    temperatures: tuple[float, float] = (1.0, 1.0),
    level: float = 0.95,
    seed: int = 0,
) -> ModelDiscrepancy:
    """Return the discrepancy of two models with the same tokens."""
    if n < 2:
        raise OptionError(f"n must be at least 2, got {n}")
    limit = min((own for own in map(cut_length, (p, q)) if own is not None), default=None)
    first, second = (
        AsDrawn(model, vocabulary, temperature=temperature, max_length=limit)
        for model, vocabulary, temperature in zip((p, q), vocabularies, temperatures, strict=True)
    )
    return _as_drawn_discrepancy(first, second, n=n, max_length=limit, level=level, seed=seed)


def _as_drawn_discrepancy(
    p: ScoredGenerator, q: ScoredGenerator, *, n: int, max_length: int | None, level: float = 0.95, seed: int = 0
) -> ModelDiscrepancy:
    """Return the discrepancy of two generators whose probabilities are those they sample with."""
    drawn = [
        side.sample(n, seed=int(stream(seed, "discrepancy", name).integers(2**63)))
        for name, side in (("p", p), ("q", q))
    ]
    ratios = (log_ratios(p, q, drawn[0]), log_ratios(p, q, drawn[1]))
    of_p, of_q = (
        Side(
            side.name,
            cut_share=0.0 if max_length is None else float(np.mean(corpus.lengths >= max_length)),
            foreign_share=float(np.isinf(ratio).mean()),
        )
        for side, corpus, ratio in zip((p, q), drawn, ratios, strict=True)
    )
    truth = truth_from_log_ratios(*ratios, level=level)
    return ModelDiscrepancy(truth, of_p, of_q, n=n, max_length=max_length, seed=seed, log_ratios=ratios)


def exact_model_discrepancy(
    p: LanguageModel,
    q: LanguageModel,
    vocabularies: tuple[Vocabulary, Vocabulary],
    *,
    tokenizer: str,
    max_length: int | None = None,
) -> float:
    """Return the discrepancy of two models with the same tokens, summed over all texts of up to `max_length` tokens.

    Longer texts are cut there; None for the shorter of the models' own limits.
    """
    limits = [own for own in (*map(cut_length, (p, q)), max_length) if own is not None]
    if not limits:
        raise OptionError("neither model limits how long a text may be: give max_length")
    limit = min(limits)
    sides = [
        AsDrawn(model, vocabulary, max_length=limit) for model, vocabulary in zip((p, q), vocabularies, strict=True)
    ]
    both = Vocabulary(token for vocabulary in vocabularies for token in vocabulary.tokens)
    n_words = len(both) - UNK  # <unk> is drawn like any other
    n_texts = sum(n_words**length for length in range(min(limit, 64) + 1))
    if n_texts > MOST_TEXTS:
        raise OptionError(
            f"all texts of up to {limit} of {n_words:,} words are more than {MOST_TEXTS:,}: give a smaller max_length, "
            "or estimate it with textassay.discrepancy"
        )
    sums = np.zeros(2)
    differences = 0.0
    for length in range(limit + 1):
        n = n_words**length
        for start in range(0, n, _TEXTS_AT_ONCE):
            numbers = np.arange(start, min(start + _TEXTS_AT_ONCE, n))
            words = UNK + numbers[:, None] // n_words ** np.arange(length) % n_words  # (texts, length): all of them
            offsets = length * np.arange(len(words) + 1)
            corpus = drawn_corpus(words.reshape(-1).astype(np.int32), offsets, vocabulary=both, tokenizer=tokenizer)
            probs = np.exp([side.log_prob(corpus) for side in sides])
            sums += probs.sum(axis=1)
            differences += float(np.abs(probs[0] - probs[1]).sum())
    for side, total in zip(sides, sums, strict=True):
        if not abs(total - 1) <= _SUM_ERROR:
            raise InputError(f"the probabilities of all texts of {side.name} must sum to 1, got {total:.6g}")
    return min(1.0, differences / 2)
