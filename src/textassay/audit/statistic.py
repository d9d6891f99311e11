"""Whether new answers differ from earlier ones to the same prompts: one p-value for a batch, by permutation.

Under no change all answers to a prompt are exchangeable, whatever the prompt, so every choice of which of them are the
new ones is equally likely. Several statistics look for several kinds of change; each is ranked among the same random
choices, and the combination of the ranks among the combinations:

- *kernels*: within each prompt, how much more alike the new answers are to each other than chance would have it, by
  whole answer, by its first words, and by its letters and words (the kernel two-sample test of model equality testing);
  and whether letters and words change in the same direction on several prompts;
- *traits*: rarity of letters, words and pairs among all answers; length, variety, capitals, marks, and likeness to the
  other answers to the prompt, of which the one that has moved most counts;
- *log-probabilities* of first tokens, where the endpoint gives them, each standardised within its prompt.

Everything but the choice is a function of the answers without their order, so the p-value is exact.

Sources: Gao, Liang, Guestrin, "Model Equality Testing: Which Model Is This API Serving?", arXiv 2410.20247, 2024 (the
kernel test, on strings); Hemerik and Goeman, "Exact testing with random permutations", TEST 27, 2018; Pesarin and
Salmaso, "Permutation Tests for Complex Data", Wiley 2010 (combining ranks of one set of permutations). Departs from
them: kernels of several kinds at once, the common direction, the traits; ranks are combined as Fisher does within the
three groups, and between them by the sum of 1 / sqrt(p), which a single small one decides.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags
from scipy.stats import rankdata

FloatArray = npt.NDArray[np.float64]

LOG_PROBS = "log-probabilities"  # the name of their statistic
N_RESAMPLES = 9_999
MOST_EARLIER = 40  # answers to a prompt that new ones are compared with, a random choice of the earlier ones
_DIRECTIONS = 256  # to which letters and words are projected for the common direction
_BEGIN = 4  # words of a beginning
_LETTERS = 4  # of an n-gram
_ROUNDED = 9  # digits to which statistics are compared, so that rounding breaks no ties
_SMALLEST = 1e-9
_WORD = re.compile(r"\w+|[^\w\s]")
_GROUPS = (
    ("whole answers", "first words", "letters and words", "common direction"), ("rarity", "one trait"), (LOG_PROBS,),
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """One answer; `log_probs`: of first tokens, by token, in nats, where the endpoint gives them."""

    text: str
    log_probs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchTest:
    """What the test of a batch gave.

    `p_value`: in (0, 1]; `scores`: of each prompt, in standard deviations, the larger the more changed; `by_statistic`:
    p-values of each, before they are combined.
    """

    p_value: float
    scores: FloatArray
    by_statistic: Mapping[str, float]

    @property
    def shown_by(self) -> str:
        """The statistic with the smallest p-value."""
        return min(self.by_statistic, key=lambda name: self.by_statistic[name], default="")


def examine_batch(
    earlier: Sequence[Sequence[Sample]],
    new: Sequence[Sequence[Sample]],
    *,
    rng: np.random.Generator,
    n_resamples: int = N_RESAMPLES,
) -> BatchTest:
    """Return how likely a difference at least as large is where nothing changed.

    `earlier`, `new`: the answers to each prompt, the order of prompts the same; a prompt without answers on one side
    says nothing.
    """
    both = np.array([bool(before and after) for before, after in zip(earlier, new, strict=True)])
    scores = np.zeros(len(both))
    if not both.any():
        return BatchTest(1.0, scores, {})
    pools: list[list[Sample]] = []
    for place in np.flatnonzero(both).tolist():
        kept = rng.permutation(len(earlier[place]))[:MOST_EARLIER]
        pools.append([*new[place], *(earlier[place][one] for one in kept.tolist())])
    n_new = [len(new[place]) for place in np.flatnonzero(both).tolist()]
    statistics, scores[both] = _statistics(pools, n_new, n_resamples, rng)
    p_values = {name: _p_values(values) for name, values in statistics.items()}
    by_statistic = {name: float(values[0]) for name, values in p_values.items()}
    groups = ([name for name in p_values if name in group] for group in _GROUPS)
    combined = [_p_values(-np.sum([np.log(p_values[name]) for name in names], axis=0)) for names in groups if names]
    overall = _p_values(np.sum([values**-0.5 for values in combined], axis=0))
    return BatchTest(float(overall[0]), scores, by_statistic)


def _p_values(statistic: FloatArray) -> FloatArray:
    """Return of each value the share of values that are at least as large."""
    return np.asarray(1 - (rankdata(np.round(statistic, _ROUNDED), method="min") - 1) / len(statistic))


def _choices(n: int, n_new: int, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Return 1 for new answers, 0 for others, shape (1 + n_resamples, n): first as it was and then at random."""
    chosen = np.argpartition(rng.random((n_resamples, n), dtype=np.float32), n_new - 1, axis=1)[:, :n_new]
    choices = np.zeros((1 + n_resamples, n))
    choices[0, :n_new] = 1
    np.put_along_axis(choices[1:], chosen, 1, axis=1)
    return choices


def _statistics(
    pools: Sequence[Sequence[Sample]], n_new: Sequence[int], n_resamples: int, rng: np.random.Generator
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Return each statistic for each choice, shape (1 + n_resamples,), and the score of each prompt.

    In a pool the new answers come first.
    """
    samples = [sample for pool in pools for sample in pool]
    words = [_WORD.findall(sample.text) for sample in samples]
    ngrams = _unit_rows(_counts([_ngrams(one.text, own) for one, own in zip(samples, words, strict=True)], weigh=True))
    kernels = {
        "whole answers": _counts([[sample.text] for sample in samples]),
        "first words": _unit_rows(_counts([[tuple(own[:n]) for n in range(1, _BEGIN + 1)] for own in words])),
        "letters and words": ngrams,
    }
    bounds = list(pairwise(np.cumsum([0, *map(len, pools)]).tolist()))
    grams = {name: [(rows[a:b] @ rows[a:b].T).toarray() for a, b in bounds] for name, rows in kernels.items()}
    if any(sample.log_probs for sample in samples):
        grams[LOG_PROBS] = [_gram_of_log_probs(pool) for pool in pools]
    traits = _traits(samples, words, [grams[name] for name in ("first words", "letters and words")])
    directions = _projected(ngrams, rng)
    n = 1 + n_resamples
    sums = {name: np.zeros(n) for name in grams}
    traits_of_new, directions_of_new = np.zeros((n, traits.shape[1])), np.zeros((n, _DIRECTIONS))
    own_squares = np.zeros(n)
    scores = np.zeros(len(pools))
    for number, (a, b) in enumerate(bounds):
        choices = _choices(b - a, n_new[number], n_resamples, rng)
        for name, of_prompts in grams.items():
            values = _squares(choices, of_prompts[number]) / (n_new[number] * (b - a - n_new[number]) / (b - a))
            sums[name] += values
            scores[number] = max(scores[number], _score(values))
        traits_of_new += choices @ (traits[a:b] - traits[a:b].mean(axis=0))
        own = directions[a:b] - directions[a:b].mean(axis=0)
        directions_of_new += choices @ own
        own_squares += _squares(choices, own @ own.T)
    between = (directions_of_new**2).sum(axis=1) - own_squares  # over pairs of different prompts
    return {**sums, "common direction": between, **_of_traits(traits_of_new)}, scores


def _squares(choices: FloatArray, gram: FloatArray) -> FloatArray:
    """Return the squared norm of the sum of the chosen answers' features, centred, for each choice."""
    means = gram.mean(axis=0)
    centred = gram - means - means[:, None] + means.mean()
    return np.asarray(np.einsum("ij,ij->i", choices @ centred, choices))


def _score(values: FloatArray) -> float:
    spread = float(values.std())
    return float(values[0] - values.mean()) / spread if spread > _SMALLEST else 0.0


def _ngrams(text: str, words: Sequence[str]) -> list[object]:
    return [*_letters(text, _LETTERS), *((word,) for word in words), *pairwise(words)]


def _letters(text: str, n: int) -> list[str]:
    padded = f" {text.lower()} "
    return [padded[place : place + n] for place in range(len(padded) - n + 1)]


def _counts(features: Sequence[Sequence[object]], *, weigh: bool = False) -> csr_matrix:
    """Return counts of features, shape (n_answers, n_features); weighed, their roots by how rare features are."""
    names: dict[object, int] = {}
    places = [names.setdefault(one, len(names)) for own in features for one in own]
    rows = np.repeat(np.arange(len(features)), [len(own) for own in features])
    counts = csr_matrix((np.ones(len(places)), (rows, places)), shape=(len(features), max(1, len(names))))
    counts.sum_duplicates()
    if weigh:
        n_with = np.bincount(counts.indices, minlength=counts.shape[1])
        counts.data = np.sqrt(counts.data) * np.log(1 + len(features) / np.maximum(1, n_with))[counts.indices]
    return counts


def _unit_rows(rows: csr_matrix) -> csr_matrix:
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return csr_matrix(diags(1 / np.maximum(norms, _SMALLEST)) @ rows)


def _traits(
    samples: Sequence[Sample], words: Sequence[Sequence[str]], grams: Sequence[Sequence[FloatArray]]
) -> FloatArray:
    """Return traits of answers, the rarity of what they consist of first, shape (n_answers, n_traits)."""
    texts = [sample.text for sample in samples]
    lower = [[word.lower() for word in own] for own in words]
    pairs = [list(pairwise(own)) for own in lower]
    units: list[Sequence[Sequence[object]]] = [lower, pairs, *([_letters(text, n) for text in texts] for n in (4, 6))]
    columns = [
        np.mean([_scaled(_rarity(each)) for each in units], axis=0),
        np.log1p([len(own) for own in words]),
        np.array([len(set(own)) / max(1, len(own)) for own in words]),
        np.array([sum(letter.isupper() for letter in text) / max(1, len(text)) for text in texts]),
        np.array([sum(not (sign.isalnum() or sign.isspace()) for sign in text) / max(1, len(text)) for text in texts]),
    ]
    for of_prompts in grams:  # how alike an answer is to the others to its prompt
        columns.append(np.concatenate([(gram.sum(axis=1) - gram.diagonal()) / (len(gram) - 1) for gram in of_prompts]))
    return np.column_stack(columns)


def _scaled(values: FloatArray) -> FloatArray:
    return np.asarray(values / max(_SMALLEST, float(values.std())))


def _rarity(units: Sequence[Sequence[object]]) -> FloatArray:
    """Return the mean of -log of the frequency that an answer's units have in the other answers."""
    counts = _counts(units)
    totals = np.asarray(counts.sum(axis=0)).ravel()
    rarity = -np.log((totals[counts.indices] - counts.data + 0.5) / (totals.sum() + 1))
    rows = np.repeat(np.arange(len(units)), np.diff(counts.indptr))
    sums, sizes = (np.bincount(rows, w, minlength=len(units)) for w in (counts.data * rarity, counts.data))
    return np.asarray(sums / np.maximum(1, sizes))


def _of_traits(sums: FloatArray) -> dict[str, FloatArray]:
    """Return how far the sum of the first trait is from none, and that of the trait that is farthest."""
    spread = sums.std(axis=0)
    distances = np.abs(sums) / np.where(spread > _SMALLEST, spread, np.inf)
    return {"rarity": distances[:, 0], "one trait": distances.max(axis=1)}


def _projected(rows: csr_matrix, rng: np.random.Generator) -> FloatArray:
    """Return rows projected at random to `_DIRECTIONS` dimensions."""
    signs = rng.choice(np.array([-1.0, 1.0]), size=(rows.shape[1], _DIRECTIONS))
    return np.asarray(rows @ signs / np.sqrt(_DIRECTIONS))


def _gram_of_log_probs(pool: Sequence[Sample]) -> FloatArray:
    """Return products of log-probabilities, each token's standardised within the prompt, shape (n, n).

    Where an answer gives none of a token, the least of its own stands for it.
    """
    tokens = sorted({token for sample in pool for token in sample.log_probs})
    least = [min(sample.log_probs.values(), default=0.0) for sample in pool]
    rows = [[sample.log_probs.get(token, low) for token in tokens] for sample, low in zip(pool, least, strict=True)]
    values = np.array(rows, dtype=np.float64).reshape(len(pool), len(tokens))
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > _SMALLEST, spread, np.inf)
    return np.asarray(scaled @ scaled.T / max(1, len(tokens)))
