"""From what a language model says of each token to columns of a text, and the published scores of machine text.

Sources: Gehrmann, Strobelt, Rush, "GLTR: Statistical Detection and Visualization of Generated Text", ACL 2019 (ranks);
Bao et al., "Fast-DetectGPT: Efficient Zero-Shot Detection of Machine-Generated Text via Conditional Probability
Curvature", ICLR 2024 (curvature, in closed form where the model that scores is the one that samples); Su et al.,
"DetectLLM: Leveraging Log Rank Information for Zero-Shot Detection of Machine-Generated Text", Findings of EMNLP 2023
(ratio of log-likelihood to log-rank); Hans et al., "Spotting LLMs With Binoculars", ICML 2024.
Departs from the last: one model is both observer and performer, so that the cross-perplexity is its own entropy.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from textassay.prior.language_model import ReadText

FloatArray = npt.NDArray[np.float64]

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_RANKS = (1, 10, 100, 1000)  # shares of tokens among so many likeliest
_BURST = 16  # tokens over which surprise is averaged
_MASSES = (0.8, 0.9, 0.95, 0.99)
_QUARTERS = 4
_SMALL = 1e-9

COLUMNS = (
    "surprise", "spread of surprise", *(f"surprise, quantile {q:g}" for q in _QUANTILES),
    "log-rank", "spread of log-rank", *(f"among {n} likeliest" for n in _RANKS),
    "entropy", "spread of entropy", "variance", "surprise over entropy", "distance from entropy",
    "mass above", *(f"mass above {share:g}" for share in _MASSES),
    *(f"surprise of quarter {k}" for k in range(1, _QUARTERS + 1)),
    "curvature", "curvature a token", "surprise by entropy", "surprise by log-rank",
    "slope of surprise", "slope of entropy", "surprise after surprise", "bursts", "surprise with entropy", "log-length",
)  # fmt: skip
# Detectors: the column of each, and whether more of it speaks for machine text (1) or for people (-1).
SCORES = {
    "log-likelihood": ("surprise", -1),
    "log-rank": ("log-rank", -1),
    "entropy": ("entropy", 1),
    "lrr": ("surprise by log-rank", 1),
    "fast-detectgpt": ("curvature", 1),
    "binoculars": ("surprise by entropy", -1),
}


def columns_of(texts: Sequence[ReadText]) -> FloatArray:
    """Return the columns of texts, shape (N, len(COLUMNS)); zeros for a text of fewer than four tokens."""
    return np.array([_describe(text) for text in texts], dtype=np.float64).reshape(-1, len(COLUMNS))


def _describe(text: ReadText) -> FloatArray:
    n = len(text.log_probs)
    if n < _QUARTERS:
        return np.zeros(len(COLUMNS))
    surprise, entropy, log_rank = -text.log_probs, text.entropies, np.log1p(text.ranks)
    excess = surprise - entropy
    place = np.linspace(-1.0, 1.0, n)
    mean = surprise.mean()
    curvature = -excess.sum() / np.sqrt(text.variances.sum() + _SMALL)
    bursts = [part.mean() for part in np.array_split(surprise, max(1, n // _BURST))]
    return np.array([
        mean, surprise.std(), *np.quantile(surprise, _QUANTILES),
        log_rank.mean(), log_rank.std(), *((text.ranks < most).mean() for most in _RANKS),
        entropy.mean(), entropy.std(), text.variances.mean(), excess.mean(), np.abs(excess).mean(),
        text.masses.mean(), *((text.masses > share).mean() for share in _MASSES),
        *(part.mean() for part in np.array_split(surprise, _QUARTERS)),
        curvature, curvature / np.sqrt(n), mean / (entropy.mean() + _SMALL), mean / (log_rank.mean() + _SMALL),
        (place * surprise).mean(), (place * entropy).mean(), _correlation(excess[1:], excess[:-1]), np.std(bursts),
        _correlation(surprise, entropy), np.log(n),
    ])  # fmt: skip


def _correlation(x: FloatArray, y: FloatArray) -> float:
    """Return Pearson's correlation, 0 where a side is constant."""
    x, y = x - x.mean(), y - y.mean()
    size = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / size) if size > _SMALL else 0.0
