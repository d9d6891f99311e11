"""Agreement of a classifier with the majority of human judgements.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges", figures 6 and 11: trained classifiers are applied to the texts
that people judged, and an answer is correct if it is the majority's, whoever wrote the text.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError
from textassay_lab.meta_evaluation.evaluation import Evaluation

FloatArray = npt.NDArray[np.float64]


def majority_agreement(
    prob_real: Mapping[str, npt.ArrayLike], majority: Evaluation, *, name: str, threshold: float = 0.5
) -> Evaluation:
    """Return the share of each generator's texts, in [0, 1], on which a classifier agrees with the majority of people.

    `majority`: from `Evaluation.of_judgements` with ``by="majority"``; texts without a majority do not count. "lower"
    is
    better, as for the accuracy on true labels.
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
        defined = np.isfinite(labels)
        if not defined.any():
            raise InputError(f"no text of {generator} has a majority")
        agrees = np.where(defined, (probabilities > threshold) == (labels >= 0.5), np.nan)
        values.append(float(agrees[defined].mean()))
        texts[generator] = agrees
        terms[generator] = np.where(defined, agrees - values[-1], 0.0) / defined.mean()
    return Evaluation(name, "lower", majority.generators, np.array(values), texts, terms=terms)
