"""Which automatic evaluator ranks generators as people do? ``python benchmarks/better_evaluator.py DATA``.

DATA holds `amt_reviews` (judgements of 1,800 real and 1,800 generated reviews) and, as more English for the language
models, `yelp`, `emnlp_news`, `wikitext2` and `coco`. Prints every candidate that was tried, not only the good ones:
Kendall's tau-b with the share of judgements "real" over twelve generators, the correlation with single texts inside
generators, and paired intervals of the difference in tau to the baselines, BLEU against ten nearest real reviews and
repetition (1 - distinct-3).

Intervals: random halves of each generator's texts, drawn without replacement, with the votes for them. A mean of half
the texts varies around that of all as that of all does around the truth, and no text is drawn twice, which distinct-n
would take for repetition. "Families too": families of generators are drawn with replacement, pairs weighted.
Learned candidates are fitted to the votes on other families' texts, and keep their predictions in the resampling.
"""

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from judged_reviews import FAMILIES, MARKUP, N_HALVES, SEED, Array, Data, Indices, read
from textassay.corpus.corpus import Corpus
from textassay.metric import Shared, naturalness
from textassay.metric.bleu_nearest import _rows, _scores, _value
from textassay.metric.overlap import Near, overlap
from textassay.metric.token_cost import jackknife_groups
from textassay.metric.token_credit import Placed, TokenCredit, place
from textassay.seeding import stream

# Candidates: one score a text.


def means(placed: Placed, credit: Array, scored: npt.NDArray[np.bool_]) -> Array:
    """Return the mean over the scored tokens of each text; 0 where there is none."""
    n = len(placed.corpus)
    sums = np.bincount(placed.sentences, weights=np.where(scored, credit, 0), minlength=n)
    return np.asarray(sums / np.maximum(np.bincount(placed.sentences[scored], minlength=n), 1), dtype=np.float64)


def worst(placed: Placed, credit: Array, scored: npt.NDArray[np.bool_], width: int = 4) -> Array:
    """Return the least mean of `width` tokens in a row of each text."""
    found = np.zeros(len(placed.corpus))
    for text in range(len(found)):
        one = credit[(placed.sentences == text) & scored]
        if len(one):
            window = min(width, len(one))
            found[text] = np.convolve(one, np.ones(window) / window, "valid").min()
    return found


def repeated(corpus: Corpus, order: int) -> npt.NDArray[np.bool_]:
    """Return whether each token ends an n-gram that stood in its text before."""
    found = np.zeros(len(corpus.tokens), dtype=np.bool_)
    for begin, end in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        seen = set()
        for last in range(begin + order - 1, end):
            ngram = tuple(corpus.tokens[last - order + 1 : last + 1].tolist())
            found[last] = ngram in seen
            seen.add(ngram)
    return found


def shares_of_real(scores: Array, real: Array) -> Array:
    """Return which share of real texts scores no more than each."""
    return np.searchsorted(np.sort(real), scores, side="right") / len(real)


def unsupervised(data: Data) -> dict[str, Array]:
    """Return the scores of all unsupervised candidates, higher is better."""
    found: dict[str, Array] = {}
    again = {order: (repeated(data.generated, order), repeated(data.real, order)) for order in (1, 2, 3, 4)}
    groups = jackknife_groups(data.real, 0, metric="naturalness")
    for text, background in data.backgrounds.items():
        credit = TokenCredit.fit(data.real, groups, background, None)
        placed = place(data.generated, credit.space, None)
        unmarked, real_side = place(data.generated, credit.space, MARKUP).scored, credit.real
        marked = data.generated.tokens == data.generated.vocabulary.encode([MARKUP])[0]
        log_p, alone = credit.log_probs(placed)
        fit, every = log_p - alone, np.ones(len(log_p), dtype=np.bool_)
        real_log_p = np.empty(len(data.real.tokens))
        owners = groups[real_side.sentences]
        for group in range(credit.n_groups):
            real_log_p[owners == group] = credit.log_probs(real_side, (group,))[0][owners == group]
        all_real = np.ones(len(real_log_p), dtype=np.bool_)
        mean, real_mean = means(placed, log_p, every), means(real_side, real_log_p, all_real)
        low, real_low = worst(placed, log_p, every), worst(real_side, real_log_p, all_real)
        typical = float(np.median(real_mean))
        tails = [np.minimum(1, 2 * shares_of_real(one, of)) for one, of in ((mean, real_mean), (low, real_low))]
        found |= {
            f"log p, {text}": mean,
            f"log p, no more than real, {text}": np.minimum(mean, typical),
            f"log p, distance from real, {text}": -np.abs(mean - typical),
            f"log p, worst four words, {text}": low,
            f"log p, worst four words, share of real below, {text}": shares_of_real(low, real_low),
            f"log p, both as shares of real, {text}": (tails[0] + tails[1]) / 2,
            f"SLOR, {text}": means(placed, fit, every),
            f"SLOR, worst four words, {text}": worst(placed, fit, every),
            f"SLOR, markup not scored, {text}": means(placed, fit, ~marked),
            f"SLOR, worst four words, markup not scored, {text}": worst(placed, fit, ~marked),
        }
        for order in (1, 2, 3):
            once = np.where(again[order][0], np.minimum(fit, 0), fit)
            found[f"SLOR, {order}-grams count once, {text}"] = means(placed, once, ~marked)
        for order in (2, 3):
            rate = (again[order][1].sum() + 0.5) / (len(data.real.tokens) - (order - 1) * len(data.real) + 1)
            for kept, name in ((fit, "priced"), (np.minimum(fit, 0), "once and priced")):
                priced = np.where(again[order][0], kept + np.log(rate), fit + np.log1p(-rate))
                found[f"SLOR, {order}-grams {name}, {text}"] = means(placed, priced, ~marked)
                found[f"SLOR, {order}-grams {name}, none after markup, {text}"] = means(placed, priced, unmarked)
    for order, (of_generated, _) in again.items():
        found[f"few {order}-grams said again in a text"] = -means(placed, of_generated.astype(float), every)
    return found


def packaged(data: Data) -> dict[str, Array]:
    """Return the scores of `naturalness` as it is in the package, each generator measured alone."""
    found = {}
    for text, background in data.backgrounds.items():
        for markup in (None, MARKUP):
            metric = naturalness.declaration.with_settings(background=background, markup=markup)
            scores = np.empty(len(data.generated))
            with Shared().used():
                for places in data.places:
                    evidence = metric.estimate(data.generated.take(places), data.real, seed=SEED).evidence
                    assert evidence is not None
                    assert evidence.generated_scores is not None
                    scores[places] = evidence.generated_scores
            found[f"naturalness{'' if markup is None else ', markup'}, {text}"] = scores
    return found


def learned(data: Data, scores: Mapping[str, Array]) -> dict[str, Array]:
    """Return the probabilities of "real" by logistic regressions on the votes for other families' texts."""
    corpus = data.generated
    ends = np.array([text.split()[-1:] in ([["."], ["!"], ["?"]]) for text in corpus.texts], dtype=float)
    surface = np.column_stack(
        [np.log(corpus.lengths), ends, *(scores[f"few {n}-grams said again in a text"] for n in (1, 2, 3))]
    )

    def columns(*names: str) -> Array:
        return np.column_stack([scores[name] for name in names])

    short = columns("SLOR, markup not scored, + english", "few 2-grams said again in a text")
    fit = columns(
        *(f"SLOR, {kind}markup not scored, {text}" for kind in ("", "worst four words, ") for text in data.backgrounds)
    )
    log_p = columns(*(f"log p{kind}, {text}" for kind in ("", ", worst four words") for text in data.backgrounds))
    every = np.column_stack([fit, surface, log_p])
    squares = (every - every.mean(axis=0)) / every.std(axis=0)
    candidates = {
        "learned: log p": log_p,
        "learned: SLOR and said again": short,
        "learned: SLOR, surface": np.column_stack([fit, surface]),
        "learned: all": every,
        "learned: all and squares": np.column_stack([every, squares**2]),
    }
    found = {}
    for name, features in candidates.items():
        found[name] = np.empty(len(features))
        for family in range(int(data.families.max()) + 1):
            train, test = data.of_family != family, data.of_family == family
            model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
            rows, answers = np.vstack([features[train]] * 2), np.repeat([0, 1], train.sum())
            weights = np.concatenate([data.votes[train, 0], data.votes[train, 1]])
            model.fit(rows, answers, logisticregression__sample_weight=weights)
            found[name][test] = model.predict_proba(features[test])[:, 1]
    return found


# Judging them.


def taus(values: Array, gold: Array, weights: Array) -> Array:
    """Return tau-b of each row, generators weighted; shapes (B, G), each."""
    signs, of_gold = (np.sign(one[:, :, None] - one[:, None, :]) for one in (values, gold))
    pairs = weights[:, :, None] * weights[:, None, :]
    both, left, right = ((pairs * one).sum(axis=(1, 2)) for one in (signs * of_gold, signs**2, of_gold**2))
    with np.errstate(invalid="ignore"):  # one family drawn throughout has no pairs to order
        return np.asarray(both / np.sqrt(left * right), dtype=np.float64)


@dataclass(frozen=True)
class Judged:
    """A candidate against people."""

    name: str
    values: Array
    tau: float
    inside: Array  # correlation with single texts, (1 + N_HALVES,): on all texts, then on halves; NaN without scores
    halves: Array  # tau on each half
    families_too: Array


class Judge:
    """Compares candidates with people on the same halves."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.gold, self.of_halves = data.values(data.gold)
        n_families = int(data.families.max()) + 1
        drawn = stream(SEED, "families").integers(0, n_families, (N_HALVES, n_families))
        self.weights = (drawn[:, :, None] == data.families).sum(axis=1).astype(float)
        self.share = data.votes[:, 1] / data.votes.sum(axis=1)

    def judge(self, name: str, found: tuple[Array, Array], scores: Array | None = None) -> Judged:
        """Return how well a candidate agrees with people, from its values on all texts and on halves."""
        values, resampled = found
        even = np.ones_like(self.weights)
        return Judged(
            name,
            values,
            float(taus(values[None], self.gold[None], even[:1])[0]),
            np.full(N_HALVES + 1, np.nan) if scores is None else self.inside_halves(scores),
            taus(resampled, self.of_halves, even),
            taus(resampled, self.of_halves, self.weights),
        )

    def inside(self, scores: Array) -> Array:
        """Return Spearman's correlation with the share of votes inside each generator; 0 where all scores are equal."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.ConstantInputWarning)
            found = [stats.spearmanr(scores[texts], self.share[texts]).statistic for texts in self.data.places]
        return np.asarray(np.nan_to_num(np.array(found)), dtype=np.float64)

    def inside_halves(self, scores: Array) -> Array:
        """Return the mean of `inside` over generators, on all texts and on each half, (1 + N_HALVES,)."""
        found = np.empty((N_HALVES, len(self.data.places)))
        for column, halves in enumerate(self.data.halves):
            ranks, of_people = (stats.rankdata(one[halves], axis=1) for one in (scores, self.share))
            ranks, of_people = (one - one.mean(axis=1, keepdims=True) for one in (ranks, of_people))
            spread = np.sqrt((ranks**2).sum(axis=1) * (of_people**2).sum(axis=1))
            found[:, column] = (ranks * of_people).sum(axis=1) / np.where(spread > 0, spread, 1)
        return np.concatenate(([self.inside(scores).mean()], found.mean(axis=1)))

    def line(self, one: Judged, baselines: list[Judged]) -> str:
        """Return a row of the table."""
        rho, pearson = (stats.spearmanr, stats.pearsonr)
        cells = [
            f"{one.tau:.3f}",
            f"{rho(one.values, self.gold).statistic:.3f}",
            f"{pearson(one.values, self.gold).statistic:.3f}",
        ]
        more = np.quantile((one.inside - baselines[0].inside)[1:], [0.025, 0.975])
        cells.append("" if np.isnan(one.inside[0]) else f"{one.inside[0]:.3f} ({more[0]:+.2f}, {more[1]:+.2f})")
        for other in baselines:
            low, high = np.quantile(one.halves - other.halves, [0.025, 0.975])
            wide = np.nanquantile(one.families_too - other.families_too, [0.025, 0.975])
            cells.append(f"{one.tau - other.tau:+.2f} [{low:+.3f}, {high:+.3f}] ({wide[0]:+.2f}, {wide[1]:+.2f})")
        return f"| {one.name} | {' | '.join(cells)} |"

    def chosen_elsewhere(self, candidates: Mapping[str, Array]) -> tuple[Array, list[str]]:
        """Return scores of texts by the candidate that agrees best inside the generators of the other families.

        Each is made comparable by a straight line from its values to people's, fitted to those generators.
        """
        inside = {name: self.inside(scores) for name, scores in candidates.items()}
        found, names = np.empty(len(self.share)), []
        for family in range(int(self.data.families.max()) + 1):
            others = self.data.families != family
            best = max(inside, key=lambda name: float(inside[name][others].mean()))
            values = np.array([candidates[best][texts].mean() for texts in self.data.places])
            slope, shift = np.polyfit(values[others], self.gold[others], 1)
            texts = self.data.of_family == family
            found[texts] = slope * candidates[best][texts] + shift
            names.append(best)
        return found, names


def ceiling(data: Data) -> Array:
    """Return tau between two of the votes for each text, drawn by chance, and the others, 200 times."""
    found = []
    of_real, of_all = data.votes[:, 1].astype(np.int64), data.votes.sum(axis=1).astype(np.int64)
    for split in range(200):
        first = stream(SEED, "ceiling", split).hypergeometric(of_real, of_all - of_real, 2)
        sides = (first / 2, (of_real - first) / (of_all - 2))
        found.append(stats.kendalltau(*([side[texts].mean() for texts in data.places] for side in sides)).statistic)
    return np.array(found)


def baselines_of(data: Data, judge: Judge) -> list[Judged]:
    """Return BLEU against ten nearest real reviews and 1 - distinct-3."""
    near: Near = (10, "tf-idf", "keep", None)
    rows = np.concatenate(
        [overlap(data.generated.take(texts), data.real, _rows, near=near).rows for texts in data.places]
    )
    back = np.argsort(np.concatenate(data.places))
    scores = _scores(rows, 4)[back]
    trigrams = [
        [tuple(tokens[place : place + 3]) for place in range(len(tokens) - 2)]
        for tokens in (text.split() for text in data.generated.texts)
    ]
    numbers = {
        trigram: number for number, trigram in enumerate(dict.fromkeys(one for text in trigrams for one in text))
    }
    ids = [np.array([numbers[one] for one in text], dtype=np.int64) for text in trigrams]

    def repetition(texts: Indices) -> float:
        every = np.concatenate([ids[text] for text in texts])
        return 1 - len(np.unique(every)) / len(every)

    return [
        judge.judge(
            "BLEU, ten nearest",
            data.values(lambda texts: _value(rows[back[texts]].sum(axis=0), 4)),
            scores,
        ),
        judge.judge("1 - distinct-3", data.values(repetition)),
    ]


def main() -> None:
    data = read(Path(sys.argv[1]))
    judge = Judge(data)
    print(f"people: {', '.join(f'{name} {value:.3f}' for name, value in zip(FAMILIES, judge.gold, strict=True))}")
    print(
        f"tau of two of the votes with the others, a text: {np.quantile(ceiling(data), [0.5, 0.025, 0.975]).round(3)}"
    )
    baselines = baselines_of(data, judge)
    candidates = unsupervised(data)
    ready = packaged(data)
    fitted = learned(data, candidates)
    chosen, names = judge.chosen_elsewhere(candidates)
    print(f"chosen on other families: {'; '.join(names)}")
    print(f"\n{len(candidates)} unsupervised, {len(fitted)} learned candidates; {N_HALVES} halves\n")
    print("| evaluator | tau | rho | r | texts (more than BLEU) | tau more than BLEU | tau more than repetition |")
    print("|---|---|---|---|---|---|---|")
    lines = [*baselines]
    for name, scores in {**ready, "chosen on other families": chosen, **fitted, **candidates}.items():
        lines.append(judge.judge(name, data.means(scores), scores))
    for one in lines:
        print(judge.line(one, baselines), flush=True)


if __name__ == "__main__":
    main()
