"""How far judges agree so far, computed anew only when another page was handed in."""

from collections.abc import Sequence

import numpy as np

from textassay.human.server.results import HandedIn, to_judgements
from textassay.human.study import Study

__all__ = ["AgreementSoFar"]


class AgreementSoFar:
    """Krippendorff's alpha of the answers that count: 1 where judges agree, 0 where they agree as chance would have it.

    Attributes
    ----------
    value
        None until two judges have judged a text, and where all answers are the same.
    n_seen
        Pages handed in when it was computed.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self.value: float | None = None
        self.n_seen = 0

    def update(self, rows: Sequence[HandedIn]) -> None:
        """Compute it for `rows`."""
        judgements = to_judgements(self._study, rows)
        places = 2 * judgements.item + judgements.value.astype(np.int64)
        votes = np.bincount(places, minlength=2 * len(judgements.items)).reshape(-1, 2)
        votes = votes[votes.sum(axis=1) > 1]
        totals, n = votes.sum(axis=0), int(votes.sum())
        expected = float(totals[0] * totals[1]) / (n - 1) if n else 0.0
        observed = float((votes[:, 0] * votes[:, 1] / (votes.sum(axis=1) - 1)).sum())
        self.value = 1 - observed / expected if expected else None
        self.n_seen = len(rows)
