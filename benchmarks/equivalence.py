"""How often `compare --equivalent` is wrong where the truth is exactly the margin.

    python benchmarks/equivalence.py [--runs 1000] [--texts 300]

Real text and two generators are drawn anew in each run, from the word chains of ``calibration.py``. What a judge finds
in expectation is the mean over all runs, which is then the margin of all of them: a PASS is wrong, and a FAIL by this
judge. Where a share of a generator's texts is moved beyond all others, its total variation is that share, and any FAIL
at that margin is wrong. The limits of one-sided tests stand last: those of an interval at a lower level. Prints a table
in Markdown.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from calibration import chains
from textassay.comparison.comparison import Equivalence, Result
from textassay.comparison.equivalence import equivalence_of
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.execution.threads import workers
from textassay.metric.bleu import bleu
from textassay.metric.discrepancy import dd

LEVEL = 0.95
JUDGE = dd.declaration.with_settings(effort="quick", level=LEVEL)
BLEU = bleu.declaration.with_settings(order=4, level=LEVEL)
Texts = dict[str, list[str]]
Run = list[Result]  # of both generators


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--texts", type=int, default=300, help="on each side")
    arguments = parser.parse_args()
    n = arguments.texts
    worlds: dict[str, tuple[float | None, Callable[[int], Run]]] = {
        "dd, a fifth of the texts moved": (0.2, lambda seed: judged(moved(n, seed, 0.2), seed)),
        "dd, other frequencies of words": (None, lambda seed: judged(shifted(n, seed), seed)),
        "dd, pairs of texts": (None, lambda seed: judged(paired(n, seed), seed, by_pair=True)),
        "bleu(order=4), other frequencies of words": (None, lambda seed: scored(shifted(n, seed), seed)),
    }
    print("| world | margin | PASS | FAIL | of two: any PASS | any FAIL | one-sided: PASS | FAIL |")
    print("|---|---|---|---|---|---|---|---|")
    with workers(1):
        for world, (distance, draw) in worlds.items():
            runs = [draw(seed) for seed in range(arguments.runs)]
            found = [one.value or 0.0 for run in runs for one in equivalence_of(run, {run[0].metric: 1.0}, level=LEVEL)]
            print(line(world, abs(float(np.mean(found))), runs), flush=True)
            if distance is not None:
                print(line("the same, by total variation", distance, runs, of_judge=False), flush=True)


def line(world: str, margin: float, runs: Sequence[Run], *, of_judge: bool = True) -> str:
    """Return how often verdicts are wrong if `margin` is what the judge finds, or else the total variation."""
    cells = []
    for n_generators, level in ((1, LEVEL), (2, LEVEL), (1, 2 * LEVEL - 1)):
        found = [equivalence_of(run[:n_generators], {run[0].metric: margin}, level=level) for run in runs]
        passed = np.mean([any(one.verdict == "PASS" for one in each) for each in found])
        failed = np.mean([any(fails(one, by_judge=of_judge) for one in each) for each in found])
        cells += [f"{passed:.1%}" if of_judge else "", f"{failed:.1%}"]
    return f"| {world} | {margin:.3f} | {' | '.join(cells)} |"


def fails(one: Equivalence, *, by_judge: bool) -> bool:
    """Return whether a text fails; `by_judge`: by this one, and not only by the certified bound."""
    is_beyond = (one.low or 0) > one.margin or (one.high or 0) < -one.margin
    return one.verdict == "FAIL" and (is_beyond or not by_judge)


def judged(texts: Texts, seed: int, *, by_pair: bool = False) -> Run:
    corpora = corpora_from_texts(texts)
    if by_pair:
        corpora = {name: replace(corpus, groups=np.arange(len(corpus))) for name, corpus in corpora.items()}
    real = corpora.pop("real")
    return [Result(name, "dd", "lower", JUDGE.estimate(each, real, seed=seed)) for name, each in corpora.items()]


def scored(texts: Texts, seed: int) -> Run:
    corpora = corpora_from_texts(texts)
    real = corpora.pop("real")
    first, second = np.array_split(np.random.default_rng(seed).permutation(len(real)), 2)
    against = real.take(np.sort(second))

    def score(corpus: Corpus) -> Result:
        matched = BLEU.estimate(corpus.take(np.arange(len(first))), against, seed=seed)
        floor = BLEU.estimate(real.take(np.sort(first)), against, seed=seed)
        return Result("generator", BLEU.name, "higher", matched, matched, floor)

    return [score(corpus) for corpus in corpora.values()]


def moved(n: int, seed: int, share: float) -> Texts:
    """Return texts of one distribution, of which a generator's are in capitals with a chance of `share`."""
    texts, rng = shifted(n, seed, 0.0), np.random.default_rng([seed, 1])
    for name in ("first", "second"):
        is_moved = rng.random(n) < share
        texts[name] = [text.upper() if here else text for text, here in zip(texts[name], is_moved, strict=True)]
    return texts


def paired(n: int, seed: int) -> Texts:
    """Return texts of which the n-th of all sides begin alike."""
    begin = chains(n, 10**6 + seed, 0.0)
    return {name: list(map(" ".join, zip(begin, texts, strict=True))) for name, texts in moved(n, seed, 0.2).items()}


def shifted(n: int, seed: int, shift: float = 0.15) -> Texts:
    """Return texts, of which a generator's have other frequencies of words."""
    names = ("real", "first", "second")
    return {name: chains(n, 3 * seed + k, shift * (k > 0)) for k, name in enumerate(names)}


if __name__ == "__main__":
    main()
