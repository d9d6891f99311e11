"""Stages that measure the cost of a text under a generator by Algorithm 1, choose a window by it, and follow the rule.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, algorithm 1, section 5.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.approximation import (
    N_STRETCHES,
    Mode,
    ReferenceWindows,
    RowCosts,
    RuleCurve,
    as_window_stepper,
    emits_distributions,
    expected_bias_bits,
    has_softmax,
    multinomial_costs,
    one_hot_costs,
    reference_log_probs,
    reference_windows,
    rule_curve,
    soft_costs,
)
from textassay.corpus import Corpus
from textassay.study.gan_as_lm.results import TextCost
from textassay.study.gan_as_lm.stages import TrainedGenerator
from textassay.study.stages import Stage, Work

FloatArray = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]


def text_costs(
    generator: Any,
    corpus: Corpus,
    *,
    window: int,
    mode: Mode,
    sizes: Sequence[int],
    floor: float,
    n_stretches: int = N_STRETCHES,
    seed: int,
    progress: Progress | None = None,
) -> dict[int, TextCost]:
    """Return the cost of a text from N samples, by N, nested: the first of the largest N.

    `generator`: with a softmax for ``multinomial``; driven by noise for ``soft``; that steps for ``onehot``.
    """
    text = reference_windows(corpus, window=window)
    sums: dict[str, FloatArray] = {}
    log_probs = np.zeros(0)
    counts: RowCosts
    if mode == "multinomial":
        assert has_softmax(generator)
        log_probs = reference_log_probs(generator, text.rows, ends=text.ends).reshape(-1)
        sums["exact"] = _by_row(-log_probs / math.log(2), text)
        counts = multinomial_costs(text, log_probs, sizes, floor=floor, seed=seed)
    elif mode == "soft":
        assert emits_distributions(generator)
        counts = soft_costs(generator, text, sizes, floor=floor, seed=seed, progress=progress)
    else:
        stepper = as_window_stepper(generator)
        counts = one_hot_costs(stepper, text, sizes, floor=floor, seed=seed, progress=progress)
    n_stretches = min(n_stretches, len(text.rows))
    members = ((np.arange(len(text.rows)) + 0.5) * n_stretches / len(text.rows)).astype(np.int64)
    costs = {}
    for place, size in enumerate(sizes):
        own = sums | {name: counts[name][place] for name in ("plain", "corrected", "zeros")}
        if len(log_probs):
            own["expected"] = _by_row(expected_bias_bits(log_probs, size, floor=floor), text)
        costs[size] = TextCost(
            window=window,
            mode=mode,
            n_samples=size,
            floor=floor,
            n_windows=len(text.rows),
            n_dropped=text.n_dropped,
            unknown_share=text.unknown_share,
            sizes=tuple(np.bincount(members, weights=text.sizes).astype(int).tolist()),
            sums={name: tuple(np.bincount(members, weights=rows).tolist()) for name, rows in own.items()},
        )
    return costs


def rule_curves(
    generator: Any, corpus: Corpus, *, window: int, mode: Mode, n_samples: int, n_rows: int, n_parts: int, seed: int
) -> list[RuleCurve]:
    """Return the curve of the stopping rule in each of `n_parts` parts of a text; see `rule_curve`.

    Parts have equally many consecutive windows, of which `n_rows` are taken.
    """
    text = reference_windows(corpus, window=window)
    stepper = generator if mode == "multinomial" else as_window_stepper(generator)
    curves = []
    for part, rows in enumerate(np.array_split(np.arange(len(text.rows)), n_parts)):
        own = ReferenceWindows(text.rows[rows], text.sizes[rows], 0, window, 0, text.characters_per_token, text.corpus)
        curves.append(rule_curve(stepper, own, n_samples, mode=mode, n_rows=n_rows, seed=seed + part))
    return curves


def cost_stage(
    kind: str, name: str, trained: TrainedGenerator, corpus: Corpus, *, window: int | Stage, mode: Mode,
    sizes: Sequence[int], floor: float, n_stretches: int, seed: int, cost: float,
) -> Stage:  # fmt: skip
    """Return the stage of `text_costs`; its result is by N, null where there is no generator.

    `window` is a number of characters, or the stage that chooses it.
    """

    def run(work: Work) -> dict[str, Any] | None:
        if not trained.exists(work):
            return None

        def tell(label: str, done: int, total: int) -> None:
            work.tell(f"{label}, part {done} of {total}")

        costs = text_costs(
            trained.open(work),
            corpus,
            window=_length(work, window),
            mode=mode,
            sizes=sizes,
            floor=floor,
            n_stretches=n_stretches,
            seed=seed,
            progress=tell,
        )
        return {str(size): one.to_dict() for size, one in costs.items()}

    settings, inputs = _asked(trained, corpus, window, mode)
    settings |= {"sizes": list(sizes), "floor": floor, "n_stretches": n_stretches, "seed": seed}
    return Stage(kind, name, settings, run, inputs, cost)


def choice_stage(name: str, costs: Mapping[int, Sequence[Stage]]) -> Stage:
    """Return the stage that chooses the window of least cost on average over runs, the shortest of equals.

    `costs` is window to stages of `cost_stage` with one N, on text that nothing is reported on.
    """

    def run(work: Work) -> dict[str, Any]:
        def bits(stage: Stage) -> float:
            (cost,) = work.inputs[stage].result.values()
            return TextCost.from_dict(cost).mean("corrected")

        means = {window: float(np.mean([bits(stage) for stage in runs])) for window, runs in sorted(costs.items())}
        return {"window": min(means, key=means.__getitem__)}

    inputs = tuple(stage for runs in costs.values() for stage in runs)
    return Stage("choice", name, {"windows": sorted(costs), "by": "corrected"}, run, inputs)


def rule_stage(
    name: str, trained: TrainedGenerator, corpus: Corpus, *, window: int | Stage, mode: Mode, n_samples: int,
    n_rows: int, n_parts: int, seed: int, cost: float,
) -> Stage:  # fmt: skip
    """Return the stage of the stopping rule in parts of a text; see `rule_curves`."""
    settings, inputs = _asked(trained, corpus, window, mode)
    options: dict[str, int] = {"n_samples": n_samples, "n_rows": n_rows, "n_parts": n_parts, "seed": seed}

    def run(work: Work) -> list[dict[str, Any]]:
        curves = rule_curves(trained.open(work), corpus, window=_length(work, window), mode=mode, **options)
        return [curve.to_dict() for curve in curves]

    return Stage("rule", name, {**settings, **options}, run, inputs, cost)


def _asked(
    trained: TrainedGenerator, corpus: Corpus, window: int | Stage, mode: Mode
) -> tuple[dict[str, Any], tuple[Stage, ...]]:
    """Return the settings and inputs of a measurement."""
    settings = {"folder": trained.folder, "text": corpus.fingerprint, "window": window, "mode": mode}
    if isinstance(window, Stage):
        return {**settings, "window": "chosen"}, (*trained.inputs, window)
    return settings, trained.inputs


def _length(work: Work, window: int | Stage) -> int:
    return int(work.inputs[window].result["window"]) if isinstance(window, Stage) else window


def _by_row(values: FloatArray, text: ReferenceWindows) -> FloatArray:
    """Return sums over each row, shape (B,), of values of all scored tokens, shape (n_tokens,)."""
    return np.asarray(values.reshape(len(text.rows), -1).sum(axis=1))
