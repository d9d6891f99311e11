"""Compare how frequent many traits are in two samples: exact tests and likelihood ratios of 2x2 tables.

Sources: Fisher, "Statistical Methods for Research Workers", 1925 (the exact test; two-sided p-values are twice the
smaller tail here); Dunning, "Accurate Methods for the Statistics of Surprise and Coincidence", Computational
Linguistics 19, 1993 (the likelihood ratio of rare words).
"""

import numpy as np
import numpy.typing as npt
from scipy.special import rel_entr
from scipy.stats import hypergeom

Counts = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def fisher_p_values(first: Counts, n_first: int, second: Counts, n_second: int) -> FloatArray:
    """Return Fisher's exact two-sided p-value of every trait.

    `first`, `second`: number of items of each sample that have the trait, shape (n_traits,).

    Shape (n_traits,), in [0, 1]: twice the smaller tail of the hypergeometric distribution. The test is exact at any
    counts.
    """
    tables, where = np.unique(np.stack([first, first + second]), axis=1, return_inverse=True)
    n_with_trait = tables[1]
    below = tables[0] * n_second <= (n_with_trait - tables[0]) * n_first
    tails = np.empty(tables.shape[1])
    for rows, tail, shift in ((below, hypergeom.cdf, 0), (~below, hypergeom.sf, 1)):
        tails[rows] = tail(tables[0, rows] - shift, n_first + n_second, n_first, n_with_trait[rows])
    return np.minimum(1.0, 2 * tails)[where.reshape(-1)]


def signed_likelihood_ratios(
    first: npt.ArrayLike, n_first: npt.ArrayLike, second: npt.ArrayLike, n_second: npt.ArrayLike
) -> FloatArray:
    """Return the signed log-likelihood ratio statistic of two proportions: twice the ratio in nats.

    Positive where the trait is more frequent in the first sample.
    """
    a, n, b, m = (np.asarray(argument, dtype=np.float64) for argument in (first, n_first, second, n_second))
    share = (a + b) / np.maximum(n + m, 1)
    ratio = 2 * (
        rel_entr(a, n * share)
        + rel_entr(n - a, n * (1 - share))
        + rel_entr(b, m * share)
        + rel_entr(m - b, m * (1 - share))
    )
    return np.asarray(np.sign(a * m - b * n) * np.maximum(ratio, 0.0), dtype=np.float64)
