"""Text entropy: how varied the words inside each text are; what papers on diffusion models set beside perplexity.

Source: Dieleman et al., "Continuous diffusion for categorical data", 2022: the entropy of the frequencies of tokens in
a sample, averaged over samples.
Departs from it: tokens are words where a tokeniser of words is used.
"""

import math

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.metric.base import Computed, declare_metric
from textassay.resampling.jackknife import terms_interval, text_terms


@declare_metric(
    "text-entropy",
    "mean entropy (nats) of the token frequencies within each generated text: how little it repeats itself",
    unit="nats",
    bounds=(0, math.inf),
    looks_at_real=False,
    size_sensitive=False,
    cannot_see=("word order", "words"),
    only_named=True,
)
def text_entropy(generated: Corpus, real: Corpus, *, level: float = 0.95) -> Computed:
    """Return the mean entropy of the frequencies of tokens inside each generated text, in nats.

    Parameters
    ----------
    generated
        Texts without a token are left out.
    real
        Not looked at, and may be left out; real text has an entropy of its own, to which this value is compared.

    Returns
    -------
    Estimate
        Nats, from 0 (one word again and again) to the logarithm of the number of tokens of a text (all different); NaN,
        with a warning, where no text has a token. Long texts have more than short ones: look at `length`, too. Details:
        `mean_length`, in tokens.

    Notes
    -----
    The entropy of a text of n tokens is ``log n - sum over words of (c log c) / n`` with c the count of a word in it.
    Student's interval over texts, or groups.
    """
    lengths = generated.lengths
    known = lengths > 0
    texts = np.repeat(np.arange(len(lengths)), lengths)
    n_types = int(generated.tokens.max(initial=0)) + 1
    keys, counts = np.unique(texts * n_types + generated.tokens, return_counts=True)
    sums = np.bincount(keys // n_types, weights=counts * np.log(counts), minlength=len(lengths))[known]
    # 0.0 +: the entropy of one word is not negative
    entropies = 0.0 + np.maximum(np.log(lengths[known]) - sums / lengths[known], 0.0)
    value = math.fsum(entropies) / len(entropies) if known.any() else math.nan  # the same in any order
    terms = text_terms(entropies, None if generated.groups is None else generated.groups[known])
    return Computed(
        value,
        terms={"generated": terms},
        interval=terms_interval(value, [terms], level=level, method="t over texts", low=0.0),
        undefined=None if known.any() else "no generated text has a token",
        details={"mean_length": float(lengths.mean())},
    )
