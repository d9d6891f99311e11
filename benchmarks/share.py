"""How often `share` names a share that is too high, and how much of the truth it names.

    python benchmarks/share.py [--runs 300] [--texts 1000]

Human text: sentences of Python's docstrings; machine text: a 2-gram model of them. Each run draws clean text, a corpus
with a share of machine text, and clean later text. With drift, sentences of the corpus's and the later human text are
drawn the more often, the longer they are. Printed, as Markdown: how often the bound is above the truth, with at most
5 % allowed, its mean, how often it is above 0, and the mean of the estimate by words.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from textassay.comparison.share import share
from textassay.corpus.corpus import Corpus
from textassay.corpus.docstrings import docstring_sentences
from textassay.ngram.model import NgramModel

SHARES = (0.0, 0.05, 0.1, 0.3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--texts", type=int, default=1000)
    options = parser.parse_args()
    sentences = sorted(set(docstring_sentences()))
    lengths = np.array([len(sentence.split()) for sentence in sentences], dtype=float)
    print("| share | human text | later text | too high | mean bound | above 0 | by words |")
    print("|---|---|---|---|---|---|---|")
    for drifts, has_later, shares in ((False, False, SHARES), (True, True, SHARES), (True, False, SHARES[:1])):
        for truth in shares:
            rng = np.random.default_rng(round(1000 * truth) + 2 * drifts + has_later)
            weights = lengths**0.5 if drifts else np.ones(len(lengths))
            found = [one_run(sentences, weights, truth, options.texts, rng, has_later) for _ in range(options.runs)]
            bounds, words = np.array(found).T
            print(
                f"| {truth:g} | {'drifts' if drifts else 'the same'} | {'yes' if has_later else 'no'} "
                f"| {100 * np.mean(bounds > truth):.1f} % | {bounds.mean():.3f} | {100 * np.mean(bounds > 0):.0f} % "
                f"| {words.mean():.3f} |",
                flush=True,
            )


def one_run(
    sentences: Sequence[str], weights: np.ndarray, truth: float, n: int, rng: np.random.Generator, has_later: bool
) -> tuple[float, float]:
    """Return the bound and the estimate by words of one corpus of `n` texts."""
    order = rng.permutation(len(sentences))
    clean, learnt, rest = order[:n], order[n : 3 * n], order[3 * n :]
    model = NgramModel(2).fit(Corpus.from_texts([sentences[place] for place in learnt]))
    n_machine = rng.binomial(n, truth)
    later = rng.choice(rest, 2 * n, replace=False, p=weights[rest] / weights[rest].sum())
    machine = list(model.sample(n + n_machine, seed=int(rng.integers(2**31))).texts)
    corpus = [sentences[place] for place in later[: n - n_machine]] + machine[n:]
    result = share(
        corpus,
        [sentences[place] for place in clean],
        later=[sentences[place] for place in later[n:]] if has_later else None,
        machine=machine[:n],
        effort="quick",
        independent=True,
        tokenizer="whitespace",
        seed=int(rng.integers(2**31)),
    )
    by_words = result.corpora[0].by_words
    assert by_words is not None
    return result.corpora[0].at_least, by_words.value


if __name__ == "__main__":
    main()
