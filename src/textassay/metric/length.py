"""Length: how far the sentence lengths of generated text are from those of real text.

Source: the two-sample statistic of Kolmogorov and Smirnov, the largest difference of two distribution functions.
Departs from it: the interval is that of the difference at the length where it is largest.
"""

import numpy as np

from textassay.corpus import Corpus
from textassay.metric.base import Computed, declare_metric
from textassay.resampling import text_terms


@declare_metric(
    "length",
    "Kolmogorov-Smirnov distance between the sentence lengths, in tokens",
    better="lower",
    bounds=(0, 1),
    symmetric=True,
    cannot_see=("word order", "words"),
    cost="n log n",
)
def length(generated: Corpus, real: Corpus) -> Computed:
    """Return the Kolmogorov-Smirnov distance between the sentence lengths of two corpora, in tokens.

    Parameters
    ----------
    generated, real
        At least one sentence each.

    Returns
    -------
    Estimate
        Distance in [0, 1], lower is better. Two samples of one distribution have a distance above 0, on average
        up to ``0.87 sqrt(1 / n_generated + 1 / n_real)``. Details: `length`, where the
        difference is largest, `generated_share` and `real_share` of sentences no longer than that, and the mean lengths
        `generated_mean` and `real_mean`.

    Notes
    -----
    ``max over l of |F_generated(l) - F_real(l)|``. The interval takes the length l* where the difference is largest as
    fixed; it is then a difference of two proportions. This is too narrow where the distance is near that of chance.
    """
    top = int(max(generated.lengths.max(), real.lengths.max())) + 1
    of_length = [np.bincount(corpus.lengths, minlength=top) for corpus in (generated, real)]
    values = np.flatnonzero(of_length[0] + of_length[1])
    generated_shares, real_shares = (np.cumsum(counts)[values] / counts.sum() for counts in of_length)
    differences = generated_shares - real_shares
    largest = int(np.argmax(np.abs(differences)))
    sign = -1.0 if differences[largest] < 0 else 1.0
    generated_short, real_short = (
        (corpus.lengths <= values[largest]).astype(np.float64) for corpus in (generated, real)
    )
    return Computed(
        abs(float(differences[largest])),
        terms={
            "generated": text_terms(sign * generated_short, generated.groups),
            "real": text_terms(-sign * real_short, real.groups),
        },
        method="t: difference of two proportions at the length where it is largest, taken as fixed",
        settings={"distance": "ks", "unit": "tokens"},
        details={
            "length": int(values[largest]),
            "generated_share": float(generated_shares[largest]),
            "real_share": float(real_shares[largest]),
            "generated_mean": float(generated.lengths.mean()),
            "real_mean": float(real.lengths.mean()),
        },
    )
