"""Write samples of n-gram language models trained on a file of texts: the higher the order, the better the generator.

    python examples/ngram_generators.py train.txt samples -n 10000

writes samples/unigram.txt, bigram.txt, trigram.txt and 5-gram.txt; compare them with real text the models never saw.
"""

import argparse
from pathlib import Path

import textassay as ta

ORDERS = {"unigram": 1, "bigram": 2, "trigram": 3, "5-gram": 5}


def main() -> None:
    """Train, sample, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path, help="one text per line")
    parser.add_argument("out", type=Path, help="folder for the samples")
    parser.add_argument("-n", type=int, default=10_000, help="texts per model (default 10000)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, order in ORDERS.items():
        samples = ta.generators.Ngram(order=order).fit(arguments.train).sample(arguments.n, seed=arguments.seed)
        path = arguments.out / f"{name}.txt"
        path.write_text("".join(f"{text}\n" for text in samples), encoding="utf-8")
        print(f"{path}: {len(samples)} texts")


if __name__ == "__main__":
    main()
