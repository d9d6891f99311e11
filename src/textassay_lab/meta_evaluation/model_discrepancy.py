"""The discrepancy of two language models, from their own probabilities.

Both models sample, and both score both samples; `textassay_lab.meta_evaluation.known_truth` does the rest. The
comparison is of the text as sampled (`textassay_lab.generator.scored`): cut at the shorter of the two length limits,
so that two models that cut at 30 and at 40 tokens are compared on the first 30 tokens, exactly.

Where a vocabulary and a length are tiny, `exact_model_discrepancy` sums over all texts instead.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", equations (1) and (2).
Departs from it: closed vocabularies and cut sentences are part of the probabilities.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy
import numpy as np
import numpy.typing
import numpy.typing as npt

from textassay.corpus.encoding import UNK, Vocabulary
from textassay.display import Displayed
from textassay.errors import InputError, OptionError, check_range
from textassay.estimate import Interval
from textassay.metric.discrepancy import exact_discrepancy as discrepancy_of_probabilities
from textassay.ngram.language_model import LanguageModel, drawn_corpus
from textassay.seeding import stream
from textassay_lab.generator.ready import Model, label, open_generator
from textassay_lab.generator.scored import AsDrawn, ScoredGenerator, cut_length
from textassay_lab.generator.text_generator import TextGenerator
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
class ModelDiscrepancy(Displayed, document="textassay_lab.meta_evaluation.discrepancy_document:discrepancy_document"):
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
    return _sampled_discrepancy(first, second, n=n, max_length=limit, level=level, seed=seed)


def _sampled_discrepancy(
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


Probabilities = Mapping[Any, float] | npt.ArrayLike


def discrepancy(
    p: Model,
    q: Model,
    *,
    n: int = 10_000,
    temperatures: tuple[float, float] = (1.0, 1.0),
    level: float = 0.95,
    seed: int = 0,
) -> ModelDiscrepancy:
    """Return how far apart two language models are, by their own probabilities.

    Parameters
    ----------
    p, q
        Fitted generators of `textassay_lab.generators` with a likelihood, or folders of such, with one tokeniser.
    n
        Texts drawn from each, at least 2.
    temperatures
        Of each.
    level, seed
        As in `textassay.compare`.
    """
    first, second = _with_one_tokenizer(p, q)
    vocabularies = first.form.vocabulary, second.form.vocabulary
    return model_discrepancy(
        first.model, second.model, vocabularies, n=n, temperatures=temperatures, level=level, seed=seed
    )


def exact_discrepancy(p: Model | Probabilities, q: Model | Probabilities, *, max_length: int | None = None) -> float:
    """Return the discrepancy of two distributions whose texts can all be listed.

    It is half the sum of the absolute differences of probabilities, the total variation distance, which `dd` and
    `discrepancy` estimate: in [0, 1], 0 for equal distributions, 1 for those without a common text.

    Parameters
    ----------
    p, q
        Two mappings from text to probability, where a text that is missing has probability 0; two arrays with the
        probabilities of the same texts, shapes (N,); or two fitted generators of `textassay_lab.generators` with a
        likelihood, or folders of such, with one tokeniser.
    max_length
        Of generators: tokens at which texts are cut, by default where they cut their own. There must not be more than
        1,000,000 texts of up to so many tokens.

    Raises
    ------
    OptionError
        If probabilities do not sum to 1, p and q are of different kinds, or there are too many texts.
    InputError
        If what is given are no probabilities, or a generator has none.

    Notes
    -----
    Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", equation (1).
    """
    if isinstance(p, TextGenerator | str | os.PathLike) and isinstance(q, TextGenerator | str | os.PathLike):
        check_range("max_length", max_length, 1)
        first, second = _with_one_tokenizer(p, q)
        vocabularies = first.form.vocabulary, second.form.vocabulary
        tokenizer = first.form.tokenizer.name
        return exact_model_discrepancy(
            first.model, second.model, vocabularies, tokenizer=tokenizer, max_length=max_length
        )
    if max_length is not None:
        raise OptionError(f"max_length is for generators, got probabilities and max_length {max_length}")
    of_p, of_q = _probabilities("p", p), _probabilities("q", q)
    if hasattr(p, "items") != hasattr(q, "items") or not (hasattr(p, "items") or len(of_p) == len(of_q)):
        raise OptionError("p and q must be two mappings, two arrays of one length or two generators")
    return discrepancy_of_probabilities(of_p, of_q)


def _probabilities(name: str, given: Any) -> dict[Any, float]:
    """Return text to probability, of a mapping or a pandas series; of an array, place to probability."""
    named = hasattr(given, "items")
    keys, values = zip(*given.items(), strict=True) if named and len(given) else ((), ()) if named else (None, given)
    try:
        probs = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        probs = np.empty((0, 0))
    if probs.ndim != 1:
        what = type(given).__name__
        raise InputError(f"{name} must be probabilities by text, an array of them or a generator, got {what}")
    return dict(zip(range(len(probs)) if keys is None else keys, probs.tolist(), strict=True))


def _with_one_tokenizer(p: Model, q: Model) -> tuple[TextGenerator, TextGenerator]:
    """Return two models, opened; raise unless both see text in the same tokens."""
    first, second = open_generator(p), open_generator(q)
    names = [side.form.tokenizer.name for side in (first, second)]
    if names[0] != names[1]:
        raise OptionError(
            f"the two models see text differently: {label(first)} in tokens of '{names[0]}', {label(second)} of "
            f"'{names[1]}'; train both with one tokenizer (and lowercase)"
        )
    for side in (first, second):
        if not hasattr(side.model, "log_prob"):
            raise InputError(f"{side.model.name} has no likelihood: measure the dd of its texts instead")
    return first, second
