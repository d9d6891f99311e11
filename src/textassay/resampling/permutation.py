"""Permutation test of whether the scores of real and generated texts differ by chance.

If both samples come from one distribution, all assignments of the labels "real" and "generated" are equally likely.
Texts in groups (of one document, of one prompt) are permuted by group.

Source: Phipson and Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics and
Molecular Biology 9, 2010 (the observed difference counts as one of the draws).
"""

import numpy as np
import numpy.typing as npt

from textassay.errors import EmptyCorpusError, OptionError

FloatArray = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]

_SCORES_AT_ONCE = 1_000_000


def permutation_p_value(
    real: FloatArray,
    generated: FloatArray,
    *,
    rng: np.random.Generator,
    n_resamples: int = 999,
    real_groups: Groups | None = None,
    generated_groups: Groups | None = None,
) -> float:
    """Return the one-sided p-value of a permutation test of the difference of means.

    `real`, `generated`: scores, shapes (n_real,) and (n_generated,), at least one each.

    ``(count + 1) / (n_resamples + 1)``, small if real scores are higher. Exact if the scores come from a function that
    saw none of these texts.
    """
    if len(real) == 0 or len(generated) == 0:
        raise EmptyCorpusError(
            f"a permutation test needs at least one score per side, got {len(real)} and {len(generated)}"
        )
    if n_resamples < 1:
        raise OptionError(f"n_resamples must be at least 1, got {n_resamples}")
    scores = np.concatenate([real, generated]).astype(np.float64)
    observed = np.mean(real) - np.mean(generated)
    margin = 1e-12 * (1 + abs(observed))  # so that rounding does not break ties
    if real_groups is None and generated_groups is None:
        differences = _permute_texts(scores, len(real), rng, n_resamples)
    else:
        groups = joint_groups(real_groups, generated_groups, len(real), len(generated))
        differences = _permute_groups(scores, groups, len(real), rng, n_resamples)
    return float((np.count_nonzero(differences >= observed - margin) + 1) / (n_resamples + 1))


def _permute_texts(scores: FloatArray, n_real: int, rng: np.random.Generator, n_resamples: int) -> FloatArray:
    """Return the differences of means under `n_resamples` random permutations, shape (n_resamples,)."""
    n_generated = len(scores) - n_real
    smaller = min(n_real, n_generated)
    block = max(1, _SCORES_AT_ONCE // len(scores))
    sums = np.empty(n_resamples)
    for start in range(0, n_resamples, block):
        stop = min(start + block, n_resamples)
        permuted = rng.permuted(np.tile(scores, (stop - start, 1)), axis=1)
        sums[start:stop] = permuted[:, :smaller].sum(axis=1)
    rest: FloatArray = scores.sum() - sums
    of_real, of_generated = (sums, rest) if smaller == n_real else (rest, sums)
    differences: FloatArray = of_real / n_real - of_generated / n_generated
    return differences


def joint_groups(real: Groups | None, generated: Groups | None, n_real: int, n_generated: int) -> Groups:
    """Return group numbers from 0 of all texts; on a side without groups each text is a group of its own."""
    used = max((int(groups.max()) for groups in (real, generated) if groups is not None), default=-1) + 1
    parts = [
        np.arange(first, first + n, dtype=np.int64) if groups is None else groups
        for groups, first, n in ((real, used, n_real), (generated, used + n_real, n_generated))
    ]
    return np.unique(np.concatenate(parts), return_inverse=True)[1].astype(np.int64)


def _permute_groups(
    scores: FloatArray, groups: Groups, n_real: int, rng: np.random.Generator, n_resamples: int
) -> FloatArray:
    """Return the differences of means under `n_resamples` random permutations by group, shape (n_resamples,).

    Groups of one side are exchanged whole, so the number of texts labelled real varies with their sizes.
    """
    is_real = np.arange(len(scores)) < n_real
    n_groups = int(groups.max()) + 1
    reals = np.bincount(groups, weights=is_real, minlength=n_groups)
    sizes = np.bincount(groups, minlength=n_groups)
    mixed = (reals > 0) & (reals < sizes)
    pure = np.flatnonzero(~mixed)
    pure_sums = np.bincount(groups, weights=scores, minlength=n_groups)[pure]
    pure_is_real = reals[pure] > 0
    inside = np.flatnonzero(mixed[groups])
    inside = inside[np.argsort(groups[inside], kind="stable")]  # real texts first within each group
    differences = np.empty(n_resamples)
    for resample in range(n_resamples):
        chosen = rng.permutation(pure_is_real)
        sum_real, count_real = pure_sums[chosen].sum(), sizes[pure][chosen].sum()
        if len(inside):
            order = np.argsort(groups[inside] + rng.random(len(inside)))  # shuffles inside each group
            labels = is_real[inside]
            sum_real += scores[inside[order]][labels].sum()
            count_real += labels.sum()
        rest = len(scores) - count_real
        differences[resample] = sum_real / count_real - (scores.sum() - sum_real) / rest
    return differences
