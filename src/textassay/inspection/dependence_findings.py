"""What people are told of texts that are not independent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.inspection.crossing import ALPHA, CrossingTest
from textassay.inspection.dependence import ROWS, Dependence, Examined
from textassay.inspection.finding import REAL, Finding
from textassay.inspection.within import Within, examine_real


@dataclass(frozen=True)
class Independence:
    """What is known of the independence of several texts beside the same real text."""

    real: Corpus
    within: Within  # The real text alone
    texts: Mapping[str, Examined]  # Every other text beside it

    @classmethod
    def of(cls, real: Corpus, others: Mapping[str, Corpus], *, independent: bool = False) -> "Independence":
        """Examine every text beside the real text, unless they are said to be independent."""
        within = Within((), (), real.groups) if independent else examine_real(real)
        return cls(
            real,
            within,
            {
                name: Examined.of(corpus, real, within=within, independent=independent)
                for name, corpus in others.items()
            },
        )

    def findings(self, generators: Iterable[str]) -> list[Finding]:
        """Return what people are told: of the real text, then of each generator."""
        found = [dependent_real_texts(self.within, len(self.real))]
        for name in generators:
            texts = self.texts[name]
            found.append(dependent_texts(name, texts.dependence, len(texts.generated), len(texts.real)))
        return [one for one in found if one is not None]


def dependent_texts(name: str, found: Dependence, n_generated: int, n_real: int) -> Finding | None:
    """Return the finding that texts are not independent, or None, also where that is true of real text by itself."""
    if not found.is_found or (found.is_of_real and found.can_be_told):
        return None
    done, remedy, partners = "Even so, nothing can be told", "Give", ""
    if found.is_across:
        partners = "Metrics of overlap and of vectors take a partner for closeness. "
    if found.can_be_told:
        done = (
            f"What was found together is kept together in {found.n_groups:,} groups, the units of folds and intervals"
        )
        remedy = "To be exact, give"
        if found.is_across and ROWS not in found.kinds:
            done += "; partners that were not found make dd smaller, not larger"
    return Finding(
        "dependent-texts",
        "warning",
        name,
        f"Texts are not independent: {'; '.join(found.words)}{_p(found.test)}. {partners}{done}.",
        found.test.n_crossing,
        found.test.n_crossing,
        n_generated,
        n_real,
        found.pairs[0][0] if found.pairs else None,
        found.pairs[0][1] if found.pairs else None,
        f"{remedy} the column that says which texts belong together (--group-column, --prompt-column); where they are "
        "independent draws nevertheless, say --independent.",
        found.pairs,
    )


def _p(test: CrossingTest) -> str:
    """Return a p-value that says something, in brackets."""
    p_value = test.p_value
    return "" if p_value >= ALPHA else f" (p {p_value:.2g})" if p_value > 1e-300 else " (p below 1e-300)"


def dependent_real_texts(within: Within, n_real: int) -> Finding | None:
    """Return the finding that real text depends within itself, or None."""
    if not within.kinds or within.groups is None:
        return None
    n_groups = len(np.unique(within.groups))
    return Finding(
        "dependent-texts",
        "warning",
        REAL,
        f"Real texts are not independent: {'; '.join(within.words)}. What belongs together is kept together: "
        f"{n_groups:,} groups are the units of folds and intervals.",
        0,
        n_real,
        0,
        n_real,
        None,
        None,
        "Give the column that says which texts belong together (--group-column, --prompt-column), or each text once; "
        "where they are independent draws nevertheless, say --independent.",
    )


def shared_ids(column: str) -> Finding:
    """Return the finding that texts with the same id in both files were taken to belong together."""
    return Finding(
        "shared-ids",
        "note",
        REAL,
        f"Texts with the same '{column}' in several files belong together: they are one unit of folds and errors.",
        0,
        0,
        0,
        0,
        None,
        None,
        "Name another column (--group-column, --prompt-column), or say --independent where ids are the same by chance.",
    )
