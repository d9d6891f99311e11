"""A generator without likelihood as a language model: cross-entropy under its average output after real prefixes.

Three values stand side by side: the plain one, which is too high on average; one corrected for that bias; and, where
the generator has a softmax, the exact one. How many samples bring the average of one-hot draws close to its expectation
follows from Hoeffding's inequality and a union over the V types: the probability that any share is off by more than
gamma is below ``2 V exp(-2 N gamma^2)``.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, and its appendix A;
Hoeffding, "Probability Inequalities for Sums of Bounded Random Variables", JASA 58, 1963.
Departs from it: adds intervals, bias corrections, exact values, and the cost of the floor of tokens never drawn.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import SPECIAL_TOKENS
from textassay.display import Displayed
from textassay.errors import OptionError, UnavailableError, unknown_name
from textassay.metric.base import check_level
from textassay.ngram.language_model import LanguageModel
from textassay_lab.approximation.reference_windows import ReferenceWindows, reference_windows
from textassay_lab.approximation.steppable import (
    SoftmaxStepper,
    WindowStepper,
    as_window_stepper,
    emits_distributions,
    has_softmax,
    reference_log_probs,
)
from textassay_lab.approximation.stopping_rule import ALPHA, RuleCurve, check_samples, rule_curve
from textassay_lab.approximation.token_counts import (
    Keep,
    Mode,
    Progress,
    RowCosts,
    check_floor,
    expected_bias_bits,
    floor_bits,
    multinomial_costs,
    one_hot_costs,
    richardson,
    second_order_bits,
    sizes_below,
    soft_costs,
)
from textassay_lab.generator.text_likelihood import Quantity

GAMMA, EPSILON = 1e-3, 1e-2  # as in the paper


def hoeffding_bound(gamma: float, epsilon: float, n_types: int) -> float:
    """Return the number that N must exceed for every share to be within gamma with probability 1 - epsilon."""
    for name, value in (("gamma", gamma), ("epsilon", epsilon)):
        if not 0 < value < 1:
            raise OptionError(f"{name} must be above 0 and below 1, got {value:g}")
    if n_types < 1:
        raise OptionError(f"n_types must be at least 1, got {n_types}")
    return math.log(2 * n_types / epsilon) / (2 * gamma**2)


def samples_needed(gamma: float, epsilon: float, n_types: int) -> int:
    """Return the smallest N above `hoeffding_bound`: 4,297,078 at 1e-3, 1e-2 and 27 types."""
    return math.floor(hoeffding_bound(gamma, epsilon, n_types)) + 1


FloatArray = npt.NDArray[np.float64]

N_SAMPLES = 2000  # as in the paper
FLOOR = 1e-20  # as in the authors' code
_LOG_2 = math.log(2)
_LOWEST = -700.0  # log-probability below which one over the probability is beyond float64
_SETTING_FIELDS = (
    *("generator", "mode", "n_samples", "floor", "window", "context", "level", "seed"),
    *("n_rows", "n_tokens", "n_dropped", "characters_per_token", "unknown_share", "n_types", "zero_share", "zero_bits"),
)


@dataclass(frozen=True)
class CurvePoint:
    """Cost of a text with fewer draws, in bits per token; `richardson` is None where no point has half of it."""

    n_samples: int  # The first so many of all draws
    # See `textassay_lab.approximation.token_counts`
    plain: float
    corrected: float
    jackknife: float
    richardson: float | None
    zero_share: float  # Share of tokens never drawn


@dataclass(frozen=True)
class Approximation(Displayed, document="textassay_lab.approximation.document:approximation_document"):
    """Cost of a text under a generator's average output."""

    generator: str
    mode: Mode  # ``multinomial``, ``onehot``, ``soft`` or ``exact``
    # Settings. Nothing is drawn in mode ``exact``.
    n_samples: int
    floor: float
    window: int | None  # Tokens of a window; None where the text was read text by text
    context: int
    level: float
    seed: int
    # Windows or texts; scored tokens; tokens in no window
    n_rows: int
    n_tokens: int
    n_dropped: int
    characters_per_token: float  # Of the text as read
    unknown_share: float  # Share of scored tokens that the generator does not know
    n_types: int  # Vocabulary size without special tokens, 27 for text8
    # Bits per token, as Algorithm 1 gives them and corrected for their bias; None in mode ``exact``
    plain: Quantity | None
    corrected: Quantity | None
    exact: Quantity | None  # Bits per token by the softmax; None without one
    # Expectation of `plain` minus `exact` over all draws, computed without sampling; None without a softmax
    gap: Quantity | None
    # Share of tokens that were never drawn, and their cost, in bits per token of the whole text
    zero_share: float
    zero_bits: float
    curve: tuple[CurvePoint, ...]  # The same with fewer draws, up to all of them
    rule: RuleCurve | None = None  # The stopping rule, if requested
    # Bias of `plain` to second order in 1/N, in bits per token: by the softmax, or in mode ``soft`` by the spread of
    # the distributions, as `corrected` takes it off; None without either
    second_order: Quantity | None = None

    @property
    def bound(self) -> int:
        """Draws after which, by Hoeffding's bound, no share is off by more than 1e-3 with probability 0.99."""
        return samples_needed(GAMMA, EPSILON, max(self.n_types, 1))

    def per_character(self, bits: Quantity) -> Quantity:
        """Return bits per token as bits per character (BPC)."""
        return bits.mapped(lambda value: value / self.characters_per_token)

    @staticmethod
    def perplexity(bits: Quantity) -> Quantity:
        """Return bits per token as perplexity; infinite where that is beyond float64."""
        return bits.mapped(lambda value: 2.0**value if value < 1024 else math.inf)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        document: dict[str, Any] = {name: getattr(self, name) for name in _SETTING_FIELDS}
        for name in ("plain", "corrected", "exact", "gap", "second_order"):
            bits: Quantity | None = getattr(self, name)
            document[name] = None if bits is None else {"bits_per_token": bits.to_dict()}
            if bits is not None:
                document[name]["bits_per_character"] = self.per_character(bits).to_dict()
            if bits is not None and name not in ("gap", "second_order"):
                document[name]["perplexity"] = self.perplexity(bits).to_dict()
        document["bound"] = self.bound
        document["curve"] = [vars(point) for point in self.curve]
        document["rule"] = None if self.rule is None else self.rule.to_dict()
        return {**document, "version": version("textassay")}


def choose_mode(generator: object, mode: str | None = None) -> Mode:
    """Return `mode`, checked; by default ``multinomial`` for a generator with a softmax, else ``onehot``."""
    if mode is None:
        return "multinomial" if has_softmax(generator) else "onehot"
    if mode not in get_args(Mode):
        raise unknown_name("mode", mode, get_args(Mode))
    name = _name(generator)
    if mode in ("multinomial", "exact") and not has_softmax(generator):
        raise UnavailableError(f"mode '{mode}' needs a generator with a softmax, and {name} has none: use onehot")
    if mode == "soft" and not emits_distributions(generator):
        raise UnavailableError(f"mode 'soft' needs a generator driven by noise, and {name} is not: use onehot")
    chosen: Mode = mode  # type: ignore[assignment]
    return chosen


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
    """Return the cost of a text under a generator's average output after the real prefix of each token.

    `mode`: ``multinomial`` (counts of N draws from a softmax), ``onehot`` (N draws by the generator itself), ``soft``
    (the mean of the distributions of N noise vectors), ``exact`` (the softmax, nothing drawn); None as in
    `choose_mode`.
    `keep`: stores finished parts of slow runs (``onehot`` and ``soft``), so that they can be resumed.
    """
    check_level(level)
    chosen_mode = choose_mode(generator, mode)
    if seed < 0:
        raise OptionError(f"seed must be at least 0, got {seed}")
    if chosen_mode != "exact":
        check_samples(n_samples)
        check_floor(floor, n_samples)
    text = reference_windows(corpus, window=window, context=context)
    if window is None and not getattr(generator, "draws_ends", True):
        raise OptionError(f"{_name(generator)} never ends a text: set the window, in tokens, to read running text")
    stepper = _stepper(generator, chosen_mode, text)
    exact = _exact(generator, text) if has_softmax(generator) else None
    exact_sums = None if exact is None else _row_sums(exact, text) / -_LOG_2
    costs: RowCosts | None = None
    sizes = sizes_below(n_samples, 2 * ALPHA)
    if stepper is not None:
        draw_costs: Callable[..., RowCosts] = soft_costs if chosen_mode == "soft" else one_hot_costs
        costs = draw_costs(stepper, text, sizes, floor=floor, seed=seed, keep=keep, progress=progress)
    elif chosen_mode == "multinomial" and exact is not None:
        costs = multinomial_costs(text, exact, sizes, floor=floor, seed=seed)
    curve = None
    if rule and chosen_mode != "exact":
        drawn_from: Any = generator if stepper is None else stepper
        curve = rule_curve(drawn_from, text, n_samples, mode=chosen_mode, seed=seed, progress=progress)
    zero_share = 0.0 if costs is None else float(costs["zeros"][-1].sum() / text.n_tokens)
    last_costs = {} if costs is None else {key: sums[-1] for key, sums in costs.items()}
    gap = second_order = None
    if exact is not None and np.isfinite(exact).all() and costs is not None:
        gap = text.mean(_row_sums(expected_bias_bits(exact, n_samples, floor=floor), text), level=level)
        if exact.min() > _LOWEST:
            second_order = text.mean(_row_sums(second_order_bits(np.exp(exact), n_samples), text), level=level)
    elif chosen_mode == "soft":
        second_order = text.mean(last_costs["plain"] - last_costs["corrected"], level=level)
    return Approximation(
        generator=_name(generator),
        mode=chosen_mode,
        n_samples=0 if costs is None else n_samples,
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
        plain=None if costs is None else text.mean(last_costs["plain"], level=level),
        corrected=None if costs is None else text.mean(last_costs["corrected"], level=level),
        exact=None if exact_sums is None else text.mean(exact_sums, level=level),
        gap=gap,
        second_order=second_order,
        zero_share=zero_share,
        zero_bits=zero_share * floor_bits(floor),
        curve=() if costs is None else _curve(costs, sizes, text),
        rule=curve,
    )


def _row_sums(log_probs: FloatArray, text: ReferenceWindows) -> FloatArray:
    """Return the sums over each row, shape (B,), of values of all scored tokens, shape (n_tokens,)."""
    return np.asarray(np.add.reduceat(log_probs, np.cumsum(text.sizes) - text.sizes), dtype=np.float64)


def _stepper(generator: object, mode: Mode, text: ReferenceWindows) -> WindowStepper | None:
    """Return what draws tokens step by step in this mode, or None where nothing is drawn that way."""
    if mode in ("multinomial", "exact"):
        return None
    return SoftmaxStepper(generator, ends=text.ends) if has_softmax(generator) else as_window_stepper(generator)


def _name(generator: object) -> str:
    return str(getattr(generator, "name", type(generator).__name__))


def _exact(model: LanguageModel, text: ReferenceWindows) -> FloatArray:
    """Return the log-probability of every scored token, in nats, shape (n_tokens,)."""
    if text.window is None:
        return model.token_log_probs(text.corpus)
    return reference_log_probs(model, text.rows, ends=text.ends, skipped=text.context).reshape(-1)


def _curve(costs: Mapping[str, FloatArray], sizes: list[int], text: ReferenceWindows) -> tuple[CurvePoint, ...]:
    means = {name: sums.sum(axis=1) / text.n_tokens for name, sums in costs.items()}
    points = []
    for place, size in enumerate(sizes):
        halved = place > 0 and 2 * sizes[place - 1] == size
        extrapolated = float(richardson(means["plain"][place], means["plain"][place - 1])) if halved else None
        values = {name: float(means[name][place]) for name in ("plain", "corrected", "jackknife")}
        points.append(CurvePoint(size, **values, richardson=extrapolated, zero_share=float(means["zeros"][place])))
    return tuple(points)
