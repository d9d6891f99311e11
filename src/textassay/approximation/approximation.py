"""A generator without likelihood as a language model: what text costs under its average output after gold history.

Three values stand side by side: the plain one, which is too high on average; one corrected for that bias; and, where
the generator has a softmax, the exact one.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019.
Departs from it: intervals, corrections, exact values beside; what the floor of tokens never drawn costs is told.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from textassay.approximation.bound import EPSILON, GAMMA, samples_needed
from textassay.approximation.count_cost import check_floor, expected_bias_bits, floor_bits, richardson
from textassay.approximation.gold_history import gold_log_probs
from textassay.approximation.gold_text import GoldText, gold_text
from textassay.approximation.steppable import (
    SoftmaxStepper,
    WindowStepper,
    as_window_stepper,
    emits_distributions,
    has_softmax,
)
from textassay.approximation.stopping_rule import ALPHA, RuleCurve, check_samples, rule_curve
from textassay.approximation.tallies import (
    Keep,
    Mode,
    Progress,
    Tallies,
    multinomial_tallies,
    one_hot_tallies,
    sizes_below,
    soft_tallies,
)
from textassay.corpus import SPECIAL_TOKENS, Corpus
from textassay.display import Displayed
from textassay.errors import OptionError, UnavailableError, unknown_name
from textassay.generator import LanguageModel, Quantity
from textassay.metric import check_level

FloatArray = npt.NDArray[np.float64]

N_SAMPLES = 2000  # the paper's
FLOOR = 1e-20  # its authors'
_LOG_2 = math.log(2)
_TOLD = (
    *("generator", "mode", "n_samples", "floor", "window", "context", "level", "seed"),
    *("n_rows", "n_tokens", "n_dropped", "characters_per_token", "unknown_share", "n_types", "zero_share", "zero_bits"),
)


@dataclass(frozen=True)
class CurvePoint:
    """What a text costs with fewer draws, in bits per token; `richardson` is None where there is no half of them."""

    n_samples: int  # Draws: the first so many of all
    # See `textassay.approximation.count_cost`
    plain: float
    corrected: float
    jackknife: float
    richardson: float | None
    zero_share: float  # Share of tokens never drawn


@dataclass(frozen=True)
class Approximation(Displayed):
    """What a text costs under a generator, by its average output."""

    generator: str  # Its name
    mode: Mode  # ``multinomial``, ``onehot``, ``soft`` or ``exact``
    # Settings. Nothing is drawn in mode ``exact``.
    n_samples: int
    floor: float
    window: int | None  # Tokens of a window; None where the text was read sentence by sentence
    context: int
    level: float
    seed: int
    # Windows or sentences; tokens that were scored; tokens that are in no window
    n_rows: int
    n_tokens: int
    n_dropped: int
    characters_per_token: float  # Of the text as read
    unknown_share: float  # Share of scored tokens that the generator does not know
    n_types: int  # Ordinary types of its vocabulary, 27 for text8
    # Bits per token, as Algorithm 1 gives them and corrected for their bias; None in mode ``exact``
    plain: Quantity | None
    corrected: Quantity | None
    exact: Quantity | None  # Bits per token by the softmax; None without one
    # `plain` less `exact`, in expectation over all draws, which has no chance in it; None without a softmax
    gap: Quantity | None
    # Share of tokens that were never drawn, and what they cost, in bits per token of all the text
    zero_share: float
    zero_bits: float
    curve: tuple[CurvePoint, ...]  # The same with fewer draws, up to all of them
    rule: RuleCurve | None = None  # The stopping rule; None where it was not asked for

    @property
    def bound(self) -> int:
        """Draws that Hoeffding's bound asks for, so that no share is off by 1e-3 with probability 0.99."""
        return samples_needed(GAMMA, EPSILON, max(self.n_types, 1))

    def per_character(self, bits: Quantity) -> Quantity:
        """Return bits per token as bits per character (BPC)."""
        return bits.mapped(lambda value: value / self.characters_per_token)

    @staticmethod
    def perplexity(bits: Quantity) -> Quantity:
        """Return bits per token as perplexity; infinite where that is beyond float64."""
        return bits.mapped(lambda value: 2.0**value if value < 1024 else math.inf)

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready values."""
        told: dict[str, Any] = {name: getattr(self, name) for name in _TOLD}
        for name in ("plain", "corrected", "exact", "gap"):
            bits: Quantity | None = getattr(self, name)
            told[name] = None if bits is None else {"bits_per_token": bits.to_dict()}
            if bits is not None:
                told[name]["bits_per_character"] = self.per_character(bits).to_dict()
            if bits is not None and name != "gap":
                told[name]["perplexity"] = self.perplexity(bits).to_dict()
        told["bound"] = self.bound
        told["curve"] = [vars(point) for point in self.curve]
        told["rule"] = None if self.rule is None else self.rule.to_dict()
        return {**told, "version": version("textassay")}


def choose_mode(generator: object, mode: str | None = None) -> Mode:
    """Return how a generator is averaged: as asked, or ``multinomial`` where it has a softmax, else ``onehot``."""
    if mode is None:
        return "multinomial" if has_softmax(generator) else "onehot"
    if mode not in get_args(Mode):
        raise unknown_name("mode", mode, get_args(Mode))
    name = _name(generator)
    if mode in ("multinomial", "exact") and not has_softmax(generator):
        raise UnavailableError(f"{name} has no softmax, which mode '{mode}' needs: onehot needs none")
    if mode == "soft" and not emits_distributions(generator):
        raise UnavailableError(f"{name} is not driven by noise, which mode 'soft' needs: onehot does not")
    found: Mode = mode  # type: ignore[assignment]
    return found


def approximate(
    generator: object,
    corpus: Corpus,
    *,
    mode: str | None = None,
    n_samples: int = N_SAMPLES,
    window: int | None = None,
    context: int = 0,
    floor: float = FLOOR,
    rule: bool = False,
    level: float = 0.95,
    keep: Keep | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> Approximation:
    """Return what a text costs under a generator, by its average output after gold history.

    `mode`: ``multinomial`` (counts of N draws from a softmax), ``onehot`` (N draws of the generator's own), ``soft``
    (the mean of the distributions of N noise vectors), ``exact`` (the softmax, nothing drawn); None as `choose_mode`;
    `keep`: where parts are kept, for what takes long (``onehot`` and ``soft``).
    """
    check_level(level)
    chosen = choose_mode(generator, mode)
    if seed < 0:
        raise OptionError(f"seed must be at least 0, got {seed}")
    if chosen != "exact":
        check_samples(n_samples)
        check_floor(floor, n_samples)
    text = gold_text(corpus, window=window, context=context)
    if window is None and not getattr(generator, "draws_ends", True):
        raise OptionError(f"{_name(generator)} never ends a sentence: give the tokens of a window of running text")
    stepper = _stepper(generator, chosen, text)
    exact = _exact(generator, text) if has_softmax(generator) else None
    exact_sums = None if exact is None else _row_sums(exact, text) / -_LOG_2
    found: Tallies | None = None
    sizes = sizes_below(n_samples, 2 * ALPHA)
    if stepper is not None:
        draw: Callable[..., Tallies] = soft_tallies if chosen == "soft" else one_hot_tallies
        found = draw(stepper, text, sizes, floor=floor, seed=seed, keep=keep, progress=progress)
    elif chosen == "multinomial" and exact is not None:
        found = multinomial_tallies(text, exact, sizes, floor=floor, seed=seed)
    followed = None
    if rule and chosen != "exact":
        drawn_from: Any = generator if stepper is None else stepper
        followed = rule_curve(drawn_from, text, n_samples, mode=chosen, seed=seed, progress=progress)
    zero_share = 0.0 if found is None else float(found["zeros"][-1].sum() / text.n_tokens)
    last = {} if found is None else {key: sums[-1] for key, sums in found.items()}
    gap = None
    if exact is not None and np.isfinite(exact).all() and found is not None:
        gap = text.mean(_row_sums(expected_bias_bits(exact, n_samples, floor=floor), text), level=level)
    return Approximation(
        generator=_name(generator),
        mode=chosen,
        n_samples=0 if found is None else n_samples,
        floor=floor,
        window=text.window,
        context=text.context,
        level=level,
        seed=seed,
        n_rows=len(text.rows),
        n_tokens=text.n_tokens,
        n_dropped=text.n_dropped,
        characters_per_token=text.characters_per_token,
        unknown_share=text.unknown_share,
        n_types=len(corpus.vocabulary) - len(SPECIAL_TOKENS),
        plain=None if found is None else text.mean(last["plain"], level=level),
        corrected=None if found is None else text.mean(last["corrected"], level=level),
        exact=None if exact_sums is None else text.mean(exact_sums, level=level),
        gap=gap,
        zero_share=zero_share,
        zero_bits=zero_share * floor_bits(floor),
        curve=() if found is None else _curve(found, sizes, text),
        rule=followed,
    )


def _row_sums(log_probs: FloatArray, text: GoldText) -> FloatArray:
    """Return the sums over each row, shape (B,), of values of all scored tokens, shape (n_tokens,)."""
    return np.asarray(np.add.reduceat(log_probs, np.cumsum(text.sizes) - text.sizes), dtype=np.float64)


def _stepper(generator: object, mode: Mode, text: GoldText) -> WindowStepper | None:
    """Return what makes the draws of its own that `mode` asks for, or None where it asks for none."""
    if mode in ("multinomial", "exact"):
        return None
    return SoftmaxStepper(generator, ends=text.ends) if has_softmax(generator) else as_window_stepper(generator)


def _name(generator: object) -> str:
    return str(getattr(generator, "name", type(generator).__name__))


def _exact(model: LanguageModel, text: GoldText) -> FloatArray:
    """Return the log-probability of every scored token, in nats, shape (n_tokens,)."""
    if text.window is None:
        return model.token_log_probs(text.corpus)
    return gold_log_probs(model, text.rows, ends=text.ends, skipped=text.context).reshape(-1)


def _curve(found: Mapping[str, FloatArray], sizes: list[int], text: GoldText) -> tuple[CurvePoint, ...]:
    means = {name: sums.sum(axis=1) / text.n_tokens for name, sums in found.items()}
    points = []
    for place, size in enumerate(sizes):
        halved = place > 0 and 2 * sizes[place - 1] == size
        twice = float(richardson(means["plain"][place], means["plain"][place - 1])) if halved else None
        values = {name: float(means[name][place]) for name in ("plain", "corrected", "jackknife")}
        points.append(CurvePoint(size, **values, richardson=twice, zero_share=float(means["zeros"][place])))
    return tuple(points)
