"""Values of people and evaluators over bootstrap draws of the judged texts, and published values, for findings.

Texts of each generator are resampled with replacement, the same for all evaluators; so are real texts.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from textassay.human import Judgements
from textassay.meta_evaluation import Evaluation, draw_goodness, row_correlations, text_draws
from textassay.study.drawn_values import DrawnValues
from textassay.study.judges.published import (
    CLASSIFIERS,
    GENERATORS,
    PEOPLE,
    published_evaluations,
    published_table,
)

FloatArray = npt.NDArray[np.float64]


def published_values() -> DrawnValues:
    """Return the printed values, as exact ones; METEOR and CIDEr are those of texts judged fake."""
    evaluations = published_evaluations()
    columns = published_table("figures 4 and 10")
    for name in ("METEOR", "CIDEr"):
        values = columns.column(f"{name}, judged fake")
        evaluations[name] = Evaluation(name, "higher", GENERATORS, np.array([values[g] for g in GENERATORS]))
    rates = {}
    for table, names in (("figure 2", PEOPLE), ("table 4", CLASSIFIERS)):
        for name in names:
            printed = published_table(table)
            row = printed.values[printed.rows.index(name)] if table == "figure 2" else ()
            sides = row or tuple(printed.column(name)[side] for side in ("(all)", "(real)", "(generated)"))
            rates[name] = np.array([sides], dtype=np.float64) / 100
    correlations = published_table("table 5")
    taus = {
        (name, gold): np.array([value]) for gold in PEOPLE for name, value in correlations.column(f"tau {gold}").items()
    }
    shares = (*PEOPLE, *CLASSIFIERS)
    return DrawnValues(
        about="the published numbers",
        generators=GENERATORS,
        values={name: one.values[None] / (100 if name in shares else 1) for name, one in evaluations.items()},
        better={name: one.better for name, one in evaluations.items()},
        rates=rates,
        taus=taus,
        kappa=published_table("kappa").column("all")["right or mistaken"],
    )


def drawn_values(
    judgements: Judgements,
    people: Sequence[Evaluation],
    evaluations: Mapping[str, Evaluation],
    real_right: Mapping[str, FloatArray],
    *,
    votes: int,
    majority: Sequence[Evaluation] = (),
    kappa: float | None = None,
    n_resamples: int = 2_000,
    seed: int = 0,
) -> DrawnValues:
    """Return values as measured and over draws of texts.

    `real_right`: classifier to how often it was right on each real text, shape (n_real,).
    """
    together = [*people, *evaluations.values()]
    goodness = _with_measured(together, n_resamples, seed)
    of_majority = _with_measured([*people, *majority], n_resamples, seed)
    n_people = len(people)
    taus = {
        (one.name, gold.name): row_correlations(goodness[n_people + k], goodness[g], "kendall")
        for g, gold in enumerate(people)
        for k, one in enumerate(evaluations.values())
    }
    majority_taus = {
        (one.name, gold.name): row_correlations(of_majority[n_people + k], of_majority[g], "kendall")
        for g, gold in enumerate(people)
        for k, one in enumerate(majority)
    }
    values = {
        one.name: 1 - rows if one.name in PEOPLE else rows if one.better == "higher" else -rows
        for one, rows in zip(together, goodness, strict=True)
    }
    real = _real_rates(judgements, real_right, votes, n_resamples, seed)
    texts = {one.name: one.texts or {} for one in together}
    rates = {}
    for name, of_real in real.items():
        sizes = np.array([np.isfinite(texts[name][g]).sum() for g in people[0].generators])
        if name == "H1":
            sizes = _n_judgements(judgements, people[0].generators)
        generated = values[name] @ sizes / sizes.sum()
        rates[name] = np.stack([(of_real + generated) / 2, of_real, generated], axis=1)
    for name, known in _pooled(judgements, votes).items():
        share = known[0] / known.sum()
        rates[name][:, 0] = share * rates[name][:, 1] + (1 - share) * rates[name][:, 2]
    return DrawnValues(
        about="the judged texts",
        generators=people[0].generators,
        values=values,
        better={one.name: "lower" if one.name in PEOPLE else one.better for one in together},
        rates=rates,
        taus=taus,
        majority_taus=majority_taus,
        kappa=kappa,
    )


def _with_measured(evaluations: Sequence[Evaluation], n_resamples: int, seed: int) -> FloatArray:
    """Return goodness as measured, then as drawn, shape (E, 1 + n_resamples, G)."""
    measured = np.array([one.goodness for one in evaluations])[:, None]
    return np.concatenate([measured, draw_goodness(evaluations, n_resamples=n_resamples, seed=seed)], axis=1)


def _real_rates(
    judgements: Judgements, real_right: Mapping[str, FloatArray], votes: int, n_resamples: int, seed: int
) -> dict[str, FloatArray]:
    """Return how often real texts are called real, as measured and as drawn, shape (1 + n_resamples,)."""
    real_votes = judgements.votes()[judgements.is_real].astype(np.float64)
    totals = real_votes.sum(axis=1)
    able = totals == votes
    sums = {"H1": real_votes[:, 1], "H2": (2 * real_votes[:, 1] > totals) * able}
    counts = {"H1": totals, "H2": able.astype(np.float64)}
    for name, right in real_right.items():
        sums[name], counts[name] = right, np.ones(len(right))
    drawn = np.concatenate(
        [np.ones((1, len(real_votes))), *text_draws("(real)", len(real_votes), n_resamples=n_resamples, seed=seed)]
    )
    return {name: (drawn @ sums[name]) / (drawn @ counts[name]) for name in sums}


def _n_judgements(judgements: Judgements, generators: Sequence[str]) -> FloatArray:
    totals = judgements.votes().sum(axis=1)
    writers = np.array([item.generator or "" for item in judgements.items])
    return np.array([totals[(writers == name) & ~judgements.is_real].sum() for name in generators], dtype=np.float64)


def _pooled(judgements: Judgements, votes: int) -> dict[str, FloatArray]:
    """Return how many judgements (H1), or texts with enough of them (H2), are of real and of generated texts."""
    totals, real = judgements.votes().sum(axis=1), judgements.is_real
    return {
        name: np.array([n[real].sum(), n[~real].sum()], dtype=np.float64)
        for name, n in (("H1", totals), ("H2", totals == votes))
    }
