"""People's majority as the ground truth: how often a classifier says of a text what most people say of it.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges", figures 6 and 11: trained classifiers are applied to the texts
that people judged, and an answer is right if it is the majority's, whoever wrote the text.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError
from textassay.meta_evaluation.evaluation import Evaluation

FloatArray = npt.NDArray[np.float64]


def majority_agreement(
    prob_real: Mapping[str, npt.ArrayLike], majority: Evaluation, *, name: str, threshold: float = 0.5
) -> Evaluation:
    """Return how often a classifier says of each generator's texts what most people say.

    `majority`: people's majority: of `Evaluation.of_judgements` with ``by="majority"``. Texts without a majority do not
    count.

    Share of agreement in [0, 1] for each generator; "lower" is better, as for the accuracy on true labels.
    """
    if majority.texts is None:
        raise InputError(f"{majority.name} has no labels of texts")
    values, texts, terms = [], {}, {}
    for generator, labels in majority.texts.items():
        if generator not in prob_real:
            raise InputError(f"{name} has no probabilities for the texts of {generator}")
        probabilities = np.asarray(prob_real[generator], dtype=np.float64)
        if probabilities.shape != labels.shape:
            raise InputError(f"{name} has {probabilities.size} probabilities for {labels.size} texts of {generator}")
        if not np.all((probabilities >= 0) & (probabilities <= 1)):
            raise InputError(f"{name}: probabilities of {generator} must be in [0, 1]")
        known = np.isfinite(labels)
        if not known.any():
            raise InputError(f"no text of {generator} has a majority")
        agrees = np.where(known, (probabilities > threshold) == (labels >= 0.5), np.nan)
        values.append(float(agrees[known].mean()))
        texts[generator] = agrees
        terms[generator] = np.where(known, agrees - values[-1], 0.0) / known.mean()
    return Evaluation(name, "lower", majority.generators, np.array(values), texts, terms=terms)
