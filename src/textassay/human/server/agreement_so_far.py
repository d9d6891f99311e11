"""How far judges agree so far, computed anew only when another page was handed in."""

from collections.abc import Sequence

import numpy as np

from textassay.human.agreement import krippendorff_alpha
from textassay.human.server.results import HandedIn, to_judgements
from textassay.human.study import Study


class AgreementSoFar:
    """Krippendorff's alpha of the answers that count: 1 where judges agree, 0 where they agree as chance would have it.

    `value`: None until two judges have judged a text, and where all answers are the same; `n_seen`: Pages handed in
    when it was computed.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self.value: float | None = None
        self.n_seen = 0

    def update(self, rows: Sequence[HandedIn]) -> None:
        """Compute it for `rows`."""
        judgements = to_judgements(self._study, rows)
        is_shared = np.bincount(judgements.item, minlength=len(judgements.items))[judgements.item] > 1
        units, values = judgements.item[is_shared], judgements.value[is_shared]
        varies = bool(np.any(values != values[:1]))  # else alpha is undefined
        self.value = krippendorff_alpha(units, values) if varies else None
        self.n_seen = len(rows)
