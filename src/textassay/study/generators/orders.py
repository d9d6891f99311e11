"""The known orders of generators, and the agreement of evaluators with them, over resampled texts.

Two orders are known: by the share of the training text, and by the exact distance from the oracle, as total variation
and as Jensen-Shannon divergence. The errors of the exact values are resampled, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.meta_evaluation import Evaluation, Judging, draw_goodness, judge_evaluators
from textassay.study.drawn_values import DrawnValues
from textassay.study.generators.judging import DISTANCES
from textassay.study.generators.results import OTHER_DOMAIN, World
from textassay.study.judges.evaluators import BESIDES, LEVEL
from textassay.study.judges.published import BLEU_TRAIN, CLASSIFIERS, DIVERSITY, INDIVIDUAL, OVERLAPS, SELF_BLEU

FloatArray = npt.NDArray[np.float64]

VOLUME = "share of the training text"
TOTAL_VARIATION, DIVERGENCE = "exact total variation", "exact Jensen-Shannon"
JUDGED = (  # in the order of tables; other columns of the metrics are not judged
    *DISTANCES,
    *CLASSIFIERS,
    INDIVIDUAL,
    *OVERLAPS,
    BESIDES,
    SELF_BLEU,
    DIVERSITY,
    BLEU_TRAIN,
)
_EXACT: Mapping[str, str] = {TOTAL_VARIATION: "discrepancy", DIVERGENCE: "jensen_shannon"}
_N_TERMS = 101  # as no metric has: their draws are independent of the exact value's


def order_by_volume(world: World, generators: Sequence[str]) -> list[Evaluation]:
    """Return the order of `generators` by training text; none where fewer than two differ in nothing else."""
    names = tuple(name for name in generators if name in world.volume)
    if len(names) < 2:
        return []
    return [Evaluation(VOLUME, "higher", names, np.array([world.volume[name] for name in names]))]


def exact_orders(results: Mapping[str, Mapping[str, Any]]) -> list[Evaluation]:
    """Return the orders by exact distance, total variation first."""
    if len(results) < 2:
        return []
    scores = stats.norm.ppf((np.arange(_N_TERMS) + 0.5) / _N_TERMS)
    scores *= np.sqrt(_N_TERMS) / scores.std()  # so that the mean of as many draws has variance 1
    orders = []
    for name, key in _EXACT.items():
        values = {generator: one[key] for generator, one in results.items()}
        errors = {
            generator: (one["high"] - one["low"]) / (2 * float(stats.norm.ppf((1 + LEVEL) / 2)))
            for generator, one in values.items()
        }
        orders.append(
            Evaluation(
                name,
                "lower",
                tuple(values),
                np.array([one["value"] for one in values.values()]),
                terms={generator: one["value"] + errors[generator] * scores for generator, one in values.items()},
            )
        )
    return orders


def judged_by_orders(
    orders: Sequence[Evaluation], evaluations: Mapping[str, Evaluation], *, n_resamples: int, seed: int
) -> Judging | None:
    """Return how evaluators agree with orders of the same generators; none where there is no order."""
    if not orders:
        return None
    judged = [evaluations[name].select(orders[0].generators) for name in JUDGED if name in evaluations]
    return judge_evaluators(
        orders, judged, level=LEVEL, n_resamples=n_resamples, text_level=False, soft_pairs=False, seed=seed
    )


def drawn_values(
    about: str,
    evaluations: Mapping[str, Evaluation],
    generators: Sequence[str],
    *,
    orders: Sequence[Evaluation] = (),
    n_resamples: int = 2_000,
    seed: int = 0,
) -> DrawnValues:
    """Return evaluators' values of `generators`, as measured and over resampled texts.

    For an evaluator that is better the closer to real text, the value is the distance from that.
    """
    together = [one.select(generators) for one in (*evaluations.values(), *orders)]
    drawn = draw_goodness(together, n_resamples=n_resamples, seed=seed)
    goodness = np.concatenate([np.array([one.goodness for one in together])[:, None], drawn], axis=1)
    higher = [one.better == "higher" for one in together]
    return DrawnValues(
        about=about,
        generators=tuple(generators),
        values={one.name: rows if up else -rows for one, rows, up in zip(together, goodness, higher, strict=True)},
        better={one.name: "higher" if up else "lower" for one, up in zip(together, higher, strict=True)},
        foreign=OTHER_DOMAIN,
    )
