"""Overlap with the nearest real texts: seconds against other implementations, and how far their values are.

    python benchmarks/overlap.py [DATA] [--sentences 1800]

DATA holds `amt_reviews/` and `emnlp_news/`; without it, sentences of Python's docstrings are real, those of a trigram
model of them generated. Prints a table in Markdown: process seconds of ours, without the search for references but with
the interval; of the others, with references as texts, without an interval; and the largest difference of a sentence's
score (for BLEU of the value). With DATA, prints each generator's values as well, Kendall's tau-b with the judgements of
people, and seconds for 10,000 news sentences.

The peer rouge-score comes as source alone, so `make test` does not install it: `pip install setuptools wheel
rouge_score==0.1.2`.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import meteor_score
from pycocoevalcap.bleu.bleu_scorer import BleuScorer
from pycocoevalcap.cider.cider_scorer import CiderScorer
from pycocoevalcap.rouge.rouge import Rouge as CaptionRouge
from scipy import stats

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.docstrings import docstring_sentences
from textassay.corpus.texts import read_texts
from textassay.metric.base import Shared, compute_once, measure
from textassay.metric.catalog import parse_metric
from textassay.metric.overlap import NearestReferences
from textassay.ngram.model import NgramModel
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.mechanical_turk import read_mechanical_turk

try:
    from rouge_score.rouge_scorer import RougeScorer
except ImportError:
    raise SystemExit(
        "benchmarks/overlap.py compares with rouge-score, which is not here: "
        ".venv/bin/python -m pip install setuptools wheel rouge_score==0.1.2"
    ) from None

REAL = "(real)"
NAMES = (
    "bleu-nearest(order=4)",
    "rouge(kind=1)",
    "rouge(kind=2)",
    "rouge(kind=l)",
    "meteor",
    "cider",
    "cider(documents=sets)",
    "cider-d",
    "cider-d(documents=sets)",
)

Scores = npt.NDArray[np.float64]
Peer = Callable[[Sequence[str], Sequence[list[str]]], Scores]


class NoSynonyms:
    """A WordNet that knows none."""

    def synsets(self, word: str) -> list[object]:
        """Return none."""
        return []


def caption_bleu(texts: Sequence[str], references: Sequence[list[str]]) -> Scores:
    scorer = BleuScorer(n=4)
    for text, theirs in zip(texts, references, strict=True):
        scorer += (text, theirs)
    return np.array([scorer.compute_score(option="closest", verbose=0)[0][3]])


def caption_cider(texts: Sequence[str], references: Sequence[list[str]]) -> Scores:
    scorer = CiderScorer(n=4, sigma=6.0)
    for text, theirs in zip(texts, references, strict=True):
        scorer += (text, theirs)
    return np.asarray(scorer.compute_score()[1])


def caption_rouge(texts: Sequence[str], references: Sequence[list[str]]) -> Scores:
    rouge = CaptionRouge()
    return np.array([rouge.calc_score([text], theirs) for text, theirs in zip(texts, references, strict=True)])


def google_rouge(texts: Sequence[str], references: Sequence[list[str]]) -> Scores:
    scorer = RougeScorer(["rouge1"], tokenizer=Whitespace())
    pairs = zip(texts, references, strict=True)
    return np.array([scorer.score_multi(theirs, text)["rouge1"].fmeasure for text, theirs in pairs])


class Whitespace:
    """What splits text for rouge-score as our corpora do."""

    def tokenize(self, text: str) -> list[str]:
        """Return what stands between white space."""
        return text.split()


def nltk_meteor(texts: Sequence[str], references: Sequence[list[str]]) -> Scores:
    stemmer = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
    scores = [
        meteor_score([other.split() for other in theirs], text.split(), stemmer=stemmer, wordnet=NoSynonyms())
        for text, theirs in zip(texts, references, strict=True)
    ]
    return np.array(scores)


PEERS: dict[str, tuple[str, Peer]] = {
    "bleu-nearest(order=4)": ("pycocoevalcap", caption_bleu),
    "rouge(kind=l)": ("pycocoevalcap", caption_rouge),
    "rouge(kind=1)": ("rouge-score", google_rouge),
    "meteor": ("nltk", nltk_meteor),
    "cider-d(documents=sets)": ("pycocoevalcap", caption_cider),
}


def print_seconds(generated: Corpus, real: Corpus) -> None:
    start = time.process_time()
    nearest = NearestReferences(real).of(generated, k=20)[:, :10]
    print(f"Ten nearest of {len(real):,} for {len(generated):,} texts: {time.process_time() - start:.2f} s\n")
    references = [[real.texts[place] for place in row] for row in nearest]
    print("| metric | seconds | other | its seconds | times | largest difference |\n|---|---|---|---|---|---|")
    for name, (other, peer) in PEERS.items():
        metric = parse_metric(name)
        measure(metric, generated.take(np.arange(50)), real)  # compiled, and words indexed
        with Shared().used():
            compute_once(NearestReferences, real, "tf-idf")
            start = time.process_time()
            estimate = metric.estimate(generated, real)
            ours = time.process_time() - start
        start = time.process_time()
        theirs = peer(generated.texts, references)
        seconds = time.process_time() - start
        assert estimate.evidence is not None
        assert estimate.evidence.generated_scores is not None
        mine = np.array([estimate.value]) if len(theirs) == 1 else estimate.evidence.generated_scores
        gap = np.abs(mine - theirs).max()
        print(f"| {name} | {ours:.2f} | {other} | {seconds:.2f} | {seconds / ours:.0f} | {gap:.0e} |")


def print_news(data: Path) -> None:
    """Print process seconds for all news sentences: of the search, and of each metric after it."""
    texts = {
        name: read_texts(data / f"emnlp_news/{part}.txt") for name, part in (("generated", "valid"), ("real", "test"))
    }
    corpora = corpora_from_texts(texts)
    generated, real = corpora["generated"], corpora["real"]
    start = time.process_time()
    NearestReferences(real).of(generated, k=20)
    seconds = time.process_time() - start
    print(f"\n{len(generated):,} news sentences among {len(real):,}: {seconds:.1f} s to find references")
    for name in ("bleu-nearest(order=4)", "rouge(kind=l)", "meteor", "cider", "cider-d"):
        metric = parse_metric(name)
        with Shared().used():
            compute_once(NearestReferences, real, "tf-idf")
            start = time.process_time()
            metric.estimate(generated, real)
            print(f"{name}: {time.process_time() - start:.1f} s")


def print_values(corpora: dict[str, Corpus], judgements: Judgements) -> None:
    """Print the values of all generators, and their rank correlation with how often people took them for real."""
    votes = judgements.votes()
    makers = np.array([item.generator or REAL for item in judgements.items])
    real_share = [votes[makers == name, 1].sum() / votes[makers == name].sum() for name in judgements.generators]
    print(f"\n| metric | {' | '.join(judgements.generators)} | {REAL} | tau-b |")
    print(f"|---|{'---|' * (len(judgements.generators) + 2)}")
    for name in NAMES:
        metric = parse_metric(name)
        values = [measure(metric, corpora[maker], corpora[REAL]).value for maker in (*judgements.generators, REAL)]
        tau = stats.kendalltau(values[:-1], real_share).statistic
        print(f"| {name} | {' | '.join(f'{value:.4f}' for value in values)} | {tau:.4f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--sentences", type=int, default=1800)
    options = parser.parse_args()
    if options.data is None:
        sentences = docstring_sentences()
        half = len(sentences) // 2
        model = NgramModel(3).fit(Corpus.from_texts(sentences[half:]))
        drawn = model.sample(options.sentences, seed=0).texts
        corpora = corpora_from_texts({"generated": drawn, REAL: sentences[: min(half, options.sentences)]})
        print_seconds(corpora["generated"], corpora[REAL])
        return
    judgements = read_mechanical_turk(options.data / "amt_reviews" / "batch_results.csv")
    makers = (*judgements.generators, REAL)
    texts = {maker: [item.text for item in judgements.items if (item.generator or REAL) == maker] for maker in makers}
    corpora = corpora_from_texts(texts)
    generated = Corpus.concatenate([corpora[maker] for maker in judgements.generators])
    print_seconds(generated.take(np.arange(min(len(generated), options.sentences))), corpora[REAL])
    print_values(corpora, judgements)
    print_news(options.data)


if __name__ == "__main__":
    main()
