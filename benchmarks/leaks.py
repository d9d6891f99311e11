"""What `textassay leaks` finds, how often it is wrong, and what it costs.

    python benchmarks/leaks.py recall|errors|groups|power|cost --data FOLDER [--draws 1000]

`FOLDER` holds yelp, multi30k and emnlp_news. Each prints one table, as Markdown. recall: training texts of which one
token in ten is substituted, inserted or deleted, and of which each token is with probability 0.1. errors: real against
real text of yelp, split at random. groups: made-up documents of ten sentences that share their chance of a copy. power:
1 % of the generated texts are training texts. cost: texts crossed from two of yelp, one million on either side.
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import corpora_from_texts
from textassay.execution.threads import workers
from textassay.leakage.carried import QUANTITIES, Training
from textassay.leakage.excess import Side, excess
from textassay.leakage.leaks import leaks
from textassay.leakage.near_copies import SHORTEST, allowed_edits, near_copies
from textassay.resampling.multiplicity import holm

IntArray = npt.NDArray[np.int64]


def lines(*files: Path) -> list[str]:
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def recall(data: Path, draws: int) -> None:
    news = lines(data / "emnlp_news/valid.txt")
    sources = {
        "yelp": lines(data / "yelp/train.txt"),
        "multi30k": lines(data / "multi30k/train.en"),
        "news, 10 sentences": [" ".join(news[start : start + 10]) for start in range(0, len(news), 10)],
    }
    print("| training text | tokens | texts | found, one in ten | found, each with 0.1 |\n|---|---|---:|---:|---:|")
    for name, texts in sources.items():
        rng = np.random.default_rng(0)
        chosen = [texts[place].split() for place in rng.permutation(len(texts))[: 4 * draws]]
        chosen = [text for text in chosen if len(text) >= SHORTEST + 1]  # so that a deletion leaves enough
        found = []
        for exact in (True, False):
            n_edits = [allowed_edits(np.array(len(t))) if exact else rng.binomial(len(t), 0.1) for t in chosen]
            copies = [" ".join(changed(t, int(n), rng)) for t, n in zip(chosen, n_edits, strict=True)]
            corpora = corpora_from_texts({"copies": copies, "train": texts})
            found.append(near_copies(corpora["copies"], corpora["train"]).texts >= 0)
        lengths = np.array([len(text) for text in chosen])
        for low, high in ((9, 14), (15, 24), (25, 49), (50, 199), (200, 9999)):
            here = (lengths >= low) & (lengths <= high)
            if here.any():
                shares = " | ".join(f"{100 * one[here].mean():.1f} %" for one in found)
                print(f"| {name} | {low}-{min(high, lengths.max())} | {here.sum():,} | {shares} |")


def changed(tokens: list[str], n_edits: int, rng: np.random.Generator) -> list[str]:
    """Return tokens with changes at so many different places: substituted, inserted or deleted."""
    kinds = dict(zip(rng.permutation(len(tokens))[:n_edits].tolist(), rng.integers(3, size=n_edits), strict=True))
    new = [[["CHANGED"], [token, "ADDED"], [], [token]][kinds.get(place, 3)] for place, token in enumerate(tokens)]
    return [piece for pieces in new for piece in pieces]


class Pool:
    """Texts with what they share with the training text of yelp: 20,000 held-out ones, then 20,000 training texts."""

    def __init__(self, data: Path) -> None:
        files = {
            "(real)": lines(data / "yelp/valid.txt", data / "yelp/test.txt"),
            "train": lines(data / "yelp/train.txt"),
        }
        corpora = corpora_from_texts(files)
        training = Training.of(corpora["train"], seed=0)
        real, copies = corpora["(real)"], corpora["train"].take(np.arange(20_000))
        parts = [training.shared_with(corpus) for corpus in (real, copies)]
        self.n = len(real)
        self.lengths = np.concatenate([real.lengths, copies.lengths])
        self.has = {name: np.concatenate([part.has(name, training.limits) for part in parts]) for name in QUANTITIES}
        least = {"copies": 1, "near copies": SHORTEST} | {name: n + 1 for name, n in training.limits.items()}
        self.can = {name: self.lengths >= least[name] for name in QUANTITIES}

    def side(self, name: str, chosen: IntArray, groups: IntArray | None = None) -> Side:
        kept = self.can[name][chosen]
        chosen = chosen[kept]
        return Side(self.lengths[chosen], self.has[name][chosen], None if groups is None else groups[kept])

    def truth(self, name: str, copied: float) -> float:
        """Return the excess where so large a share of the generated texts is copied."""
        of = [(self.has[name] & self.can[name])[part].mean() for part in (slice(self.n), slice(self.n, None))]
        able = [self.can[name][part].mean() for part in (slice(self.n), slice(self.n, None))]
        mixed = [(1 - copied) * each[0] + copied * each[1] for each in (of, able)]
        return float(mixed[0] / mixed[1] - of[0] / able[0])


def splits(data: Path, draws: int, sizes: list[tuple[int, int]], copied: float) -> None:
    """Print how often each test rejects, and all together, where a share of the generated texts is copied."""
    pool = Pool(data)
    print(f"| generated | real | {' | '.join(QUANTITIES)} | any, by Holm | intervals that hold the truth, in % |")
    print(f"|---:|---:|{'---:|' * (len(QUANTITIES) + 2)}")
    for n_generated, n_real in sizes:
        rng = np.random.default_rng(n_generated + n_real)
        p_values, holds = np.empty((draws, len(QUANTITIES))), np.empty((draws, len(QUANTITIES)))
        for draw in range(draws):
            order = rng.permutation(pool.n)
            n_copied = rng.binomial(n_generated, copied)
            planted = pool.n + rng.integers(pool.n, size=n_copied)
            mine = np.concatenate([order[: n_generated - n_copied], planted])
            other = order[n_generated : n_generated + n_real]
            for place, name in enumerate(QUANTITIES):
                found = excess(pool.side(name, mine), pool.side(name, other), level=0.95)
                p_values[draw, place] = found.p_value
                assert found.interval is not None
                holds[draw, place] = found.interval.low <= pool.truth(name, copied) <= found.interval.high
        row = [*(p_values < 0.05).mean(axis=0), np.mean([holm(each).min() < 0.05 for each in p_values])]
        told = " | ".join(f"{100 * share:.1f} %" for share in row)
        coverage = " ".join(f"{100 * share:.1f}" for share in holds.mean(axis=0))
        print(f"| {n_generated:,} | {n_real:,} | {told} | {coverage} |", flush=True)


def groups(draws: int) -> None:
    """Print how often texts, and groups of texts, are said to have an excess where there is none."""
    print("| generated | real | tested as texts | tested in groups | intervals that hold 0, in groups |")
    print("|---|---|---:|---:|---:|")
    for name, sizes in {"documents of 10": (10, 10), "single texts": (1, 10), "documents of 2": (2, 20)}.items():
        rng = np.random.default_rng(sizes[0])
        found = []
        for _ in range(draws):
            sides = [documents(1500 // size, size, rng) for size in sizes]
            plain = [Side(side.lengths, side.has) for side in sides]
            one, other = (excess(*pair, level=0.95) for pair in (plain, sides))
            assert other.interval is not None
            found.append((one.p_value < 0.05, other.p_value < 0.05, other.interval.low <= 0 <= other.interval.high))
        told = " | ".join(f"{100 * share:.1f} %" for share in np.mean(found, axis=0))
        print(f"| {name} | documents of {sizes[1]} | {told} |", flush=True)


def documents(n: int, size: int, rng: np.random.Generator) -> Side:
    chances = np.repeat(rng.beta(0.1, 1.9, n), size)  # of a copy, 5 % on average
    return Side(rng.integers(5, 15, n * size), rng.random(n * size) < chances, np.repeat(np.arange(n), size))


def cost(data: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    base = [text.split() for text in lines(data / "yelp/train.txt")]
    starts: dict[str, list[tuple[int, int]]] = {}
    for number, tokens in enumerate(base):
        for place, token in enumerate(tokens):
            starts.setdefault(token, []).append((number, place))

    def crossed(n: int) -> list[str]:
        made = []
        for number in rng.integers(len(base), size=n):
            tokens = base[number]
            while True:  # until it is long enough, go on as another text that has the same token
                at = int(rng.integers(len(tokens)))
                other, place = starts[tokens[at]][int(rng.integers(len(starts[tokens[at]])))]
                tokens = tokens[:at] + base[other][place:]
                if len(tokens) >= 10 or rng.random() < 0.1:
                    break
            made.append(" ".join(tokens))
        return made

    sides = {"generated": crossed(n), "real": crossed(n // 10), "train": crossed(n)}
    n_tokens = sum(text.count(" ") + 1 for text in sides["generated"]) / n
    begin = time.perf_counter()
    with workers(2):
        leaks(sides["generated"], sides["real"], train=sides["train"])
    seconds, memory = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{n:,} training, {n:,} generated, {n // 10:,} real texts of {n_tokens:.1f} tokens: ", end="")
    print(f"{seconds:.0f} s, {memory:.1f} GB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("recall", "errors", "groups", "power", "cost"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    if options.what == "recall":
        recall(options.data, options.draws)
    elif options.what == "groups":
        groups(options.draws)
    elif options.what == "cost":
        cost(options.data, 1000 * options.draws)
    elif options.what == "errors":
        splits(options.data, options.draws, [(500, 500), (2000, 500), (2000, 2000), (9000, 9000)], 0.0)
    else:
        splits(options.data, options.draws, [(2000, 500), (2000, 2000), (9000, 1000), (9000, 9000)], 0.01)


if __name__ == "__main__":
    main()
