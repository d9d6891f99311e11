"""The threshold above which a score says "real", chosen on validation text.

Between two thresholds only the sentences scored between them are called differently, so the gain of one over the other
is a difference of two proportions with its own standard error. A threshold away from 1/2 is taken only where the gain
is `_STANDARD_ERRORS` of it: on text GANs' data an unlimited choice loses as often as it wins, since the best of many
thresholds on validation text is mostly luck.
"""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_STANDARD_ERRORS = 2.0


def choose_threshold(
    real_scores: FloatArray, generated_scores: FloatArray, *, standard_errors: float = _STANDARD_ERRORS
) -> float:
    """Return the threshold with the best balanced accuracy, or 1/2 where none is clearly better.

    `real_scores`, `generated_scores`: probabilities of being real of validation sentences, shapes (n_real,) and
    (n_generated,), at least one each.
    """
    scores, where = np.unique(np.concatenate([real_scores, generated_scores, [0.5]]), return_inverse=True)
    n_real, n_generated = len(real_scores), len(generated_scores)
    real = np.bincount(where[:n_real], minlength=len(scores)).cumsum()  # at or below each score: called generated
    generated = np.bincount(where[n_real:-1], minlength=len(scores)).cumsum()
    half = where[-1]
    more_real, more_generated = real - real[half], generated - generated[half]
    gains = more_generated / n_generated - more_real / n_real
    errors = np.sqrt(np.abs(more_generated) / n_generated**2 + np.abs(more_real) / n_real**2)
    clear = np.where(gains > standard_errors * errors, gains, 0.0)
    best = int(np.argmax(clear))
    if clear[best] <= 0 or best == len(scores) - 1:
        return 0.5
    return float((scores[best] + scores[best + 1]) / 2)
