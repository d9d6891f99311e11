"""Zero-shot detectors of machine text: how well what a language model says of a text tells it from real text.

Sources: the scores are those of `textassay.prior.columns`, which names their papers; the value is the area under the
ROC curve, its interval that of DeLong, DeLong, Clarke-Pearson, "Comparing the Areas under Two or More Correlated
Receiver Operating Characteristic Curves", Biometrics 44, 1988.
Departs from the papers: one small model reads the texts, by default SmolLM2 of 135 million parameters; where a score
separates all texts, DeLong's interval has no width, and an exact one stands in its place.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay.estimate import Interval
from textassay.metric.base import Computed, MetricFunction, Prompts, Setting, compute_once, declare_metric
from textassay.prior.catalog import AUTO, MODEL_COLUMN, PRETRAINED, SMOLLM2, check_prior, is_model, label_of, with_prior
from textassay.prior.columns import COLUMNS, SCORES
from textassay.resampling.jackknife import text_terms
from textassay.resampling.proportions import clopper_pearson

FloatArray = npt.NDArray[np.float64]

_MOST_SHORT = 0.01  # share of a side's texts that the model cannot describe: as many decide the TPR at 1 % FPR
_LENGTH = COLUMNS.index("log-length")  # 0 for texts that are too short to be described, else above
_ABOUT = """

Parameters
----------
generated, real
    Texts of at least four of the model's tokens; shorter ones have score 0, and details count them.
prior
    The language model, as in `compare`: ``smollm2``, which None and ``auto`` stand for, or ``pretrained:NAME``. It
    reads the texts themselves, lower-cased or cut where all texts are.
prompts
    Where texts answer prompts: the model reads each answer after its prompt, and scores the answer alone.

Returns
-------
Estimate
    Probability that a generated text scores above a real one, ties count half, in [0, 1], the score in its published
    direction. 0.5, what real text scores, where the score tells nothing; near 0 where it mistakes people for machines.
    Expected value independent of the number of texts. Details: `tpr_at_1_fpr`, the share of generated texts above
    `threshold_at_1_fpr`, which 1 % of the real ones exceed (none of fewer than 100); `best_accuracy_gap`, twice the
    balanced accuracy less one at `threshold`, on the scale of dd, but chosen on these very texts, and so too high,
    the more the fewer they are; `direction`, by which the column of the model was multiplied; `n_short_generated` and
    `n_short_real`.

Notes
-----
The interval is Student's, from one term a text: the share of the other side's texts on the expected side of its own.
Where all generated texts score above all real ones, or below, it is Clopper and Pearson's for disjoint pairs of texts.
"""


def _resolve(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings with the name of a language model that can be read."""
    prior = SMOLLM2 if settings["prior"] in (None, AUTO) else settings["prior"]
    if not is_model(prior):
        raise OptionError(f"detectors read texts with a language model, {SMOLLM2} or {PRETRAINED}NAME, got {prior}")
    return {**settings, "prior": check_prior(prior)}


def _detector(name: str, summary: str) -> MetricFunction:
    """Return the metric of the score `name` of a language model."""

    def compute(
        generated: Corpus,
        real: Corpus,
        *,
        prior: Annotated[str | None, Setting(is_shared=True)] = None,
        prompts: Prompts = None,
        level: float = 0.95,
    ) -> Computed:
        return _auroc(generated, real, name, str(prior), prompts, level)

    compute.__name__ = compute.__qualname__ = name.replace("-", "_")
    compute.__doc__ = f"Return how well {summary} separates generated from real texts.{_ABOUT}"
    return declare_metric(
        name,
        f"AUROC of a detector of machine-written text: {summary}",
        better="closer",
        bounds=(0, 1),
        size_sensitive=False,
        only_named=True,
        cost="n log n",
        family="detectors",
        resolve=_resolve,
        identity=lambda settings: label_of(settings["prior"]),
    )(compute)


log_likelihood = _detector("log-likelihood", "the mean log-probability of a token under a language model")
log_rank = _detector("log-rank", "the mean log-rank of a token under a language model")
entropy = _detector("entropy", "the mean entropy of a language model's next token")
lrr = _detector("lrr", "the log-likelihood of a text by a language model over its log-rank")
fast_detectgpt = _detector("fast-detectgpt", "how much likelier a text is than what a language model would draw")
binoculars = _detector("binoculars", "the log-perplexity of a text over the entropy of a language model")


def _auroc(generated: Corpus, real: Corpus, name: str, prior: str, prompts: Corpus | None, level: float) -> Computed:
    column, direction = SCORES[name]
    described = [compute_once(with_prior, corpus, prior, prompts).columns[MODEL_COLUMN] for corpus in (generated, real)]
    scores, real_scores = (direction * each[:, COLUMNS.index(column)].astype(np.float64) for each in described)
    n_short, n_short_real = (int(np.count_nonzero(each[:, _LENGTH] == 0)) for each in described)
    above, below = ranked_terms(scores, real_scores)
    value = float(above.mean())
    terms = {"generated": text_terms(above, generated.groups), "real": text_terms(below, real.groups)}
    caution = None
    if max(n_short / len(generated), n_short_real / len(real)) > _MOST_SHORT:
        caution = f"{n_short:,} generated and {n_short_real:,} real texts are shorter than four tokens of the model"
    elif np.ptp(np.concatenate([scores, real_scores])) == 0:
        caution = "all texts have the same score"
    return Computed(
        value,
        terms=terms,
        method="t: DeLong",
        interval=_outermost(value, generated, real, level),
        caution=caution,
        settings={
            "prior": label_of(prior),
            **({} if prompts is None else {"prompts": prompts.fingerprint[:8]}),
        },
        details={
            **operating_points(scores, real_scores),
            "direction": direction,
            "n_short_generated": n_short,
            "n_short_real": n_short_real,
        },
        real_scores=real_scores,
        generated_scores=scores,
    )


def ranked_terms(scores: FloatArray, real_scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the share of real scores below each of `scores`, and of `scores` above each real one; ties count half.

    Both have the AUROC as their mean, and are the terms of its variance.
    """
    of_real, of_generated = np.sort(real_scores), np.sort(scores)
    below = np.searchsorted(of_real, scores, "left") + np.searchsorted(of_real, scores, "right")
    not_above = np.searchsorted(of_generated, real_scores, "left") + np.searchsorted(of_generated, real_scores, "right")
    return below / (2 * len(of_real)), 1 - not_above / (2 * len(of_generated))


def operating_points(scores: FloatArray, real_scores: FloatArray) -> dict[str, float]:
    """Return what a threshold makes of the scores: where 1 % of the real ones exceed it, and where it is best."""
    strict = float(np.sort(real_scores)[::-1][len(real_scores) // 100])
    thresholds = np.unique(np.concatenate([scores, real_scores]))
    at_most = [np.searchsorted(np.sort(side), thresholds, "right") / len(side) for side in (scores, real_scores)]
    gaps = at_most[1] - at_most[0]
    best = int(np.argmax(gaps))
    return {
        "tpr_at_1_fpr": float(np.mean(scores > strict)),
        "threshold_at_1_fpr": strict,
        "best_accuracy_gap": float(gaps[best]),
        "threshold": float(thresholds[best]),
    }


def _outermost(value: float, generated: Corpus, real: Corpus, level: float) -> Interval | None:
    """Return the interval of a value at an end of its range, where terms do not vary; None for others, or of one text.

    Of disjoint pairs of a generated and a real text, the same won all; groups stand for texts, and a pair of texts has
    two groups where those of both sides are the same.
    """
    units = [np.arange(len(each)) if each.groups is None else np.unique(each.groups) for each in (generated, real)]
    if 0 < value < 1 or min(map(len, units)) < 2:
        return None
    is_shared = real.groups is not None and len(np.unique(np.concatenate(units))) < sum(map(len, units))
    n_pairs = min(map(len, units)) // (2 if is_shared else 1)
    bound = clopper_pearson(n_pairs, n_pairs, alpha=(1 - level) / 2, side="lower")
    low, high = (bound, 1.0) if value == 1 else (0.0, 1 - bound)
    return Interval(low, high, level, "Clopper-Pearson: disjoint pairs of texts, all of one order")
