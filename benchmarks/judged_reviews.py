"""The judged reviews of "Judge the Judges", with families of generators, random halves and more English text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.human.mechanical_turk import read_mechanical_turk
from textassay.seeding import stream

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Value = Callable[[Indices], float]

SEED = 0
N_HALVES = 2000
MARKUP = "__"
FAMILIES = {  # models of one training run, or of one code with a part switched off, are one family
    "WordRNN10": "word LSTM",
    "WordRNN07": "word LSTM",
    "WordRNN05": "word LSTM",
    "SS": "scheduled sampling",
    "GoogleLM": "Google LM",
    "AttentionAC": "attention",
    "NoAttentionAC": "contexts",
    "SkipConnectionsAC": "contexts",
    "MLESeqGAN": "SeqGAN",
    "SeqGAN": "SeqGAN",
    "RankGAN": "RankGAN",
    "LeakGAN": "LeakGAN",
}
GENERAL = ("emnlp_news/valid", "emnlp_news/test", "wikitext2/valid", "wikitext2/test", "coco/train")


@dataclass(frozen=True)
class Data:
    """Generated texts in one order, their votes, and where each generator's are."""

    generated: Corpus
    real: Corpus
    backgrounds: Mapping[str, Corpus | None]
    votes: Array  # (n, 2): fake, real
    places: tuple[Indices, ...]
    halves: tuple[npt.NDArray[np.int64], ...]  # of each generator, (N_HALVES, n // 2)
    families: Indices  # of each generator
    of_family: Indices  # of each text

    def gold(self, texts: Indices) -> float:
        """Return the share of judgements "real" among those of some texts."""
        counts = self.votes[texts].sum(axis=0)
        return float(counts[1] / counts.sum())

    def values(self, value: Value) -> tuple[Array, Array]:
        """Return the value of each generator, (G,), and on each half, (N_HALVES, G)."""
        resampled = [[value(texts) for texts in halves] for halves in self.halves]
        return np.array([value(texts) for texts in self.places]), np.array(resampled).T

    def means(self, scores: Array) -> tuple[Array, Array]:
        """Return the same of mean scores of texts, (n,)."""
        resampled = [scores[halves].mean(axis=1) for halves in self.halves]
        return np.array([scores[texts].mean() for texts in self.places]), np.column_stack(resampled)


def like_reviews(line: str) -> str:
    """Return a line of other text, split into words as the reviews are."""
    for old, new in (("n't", " n ' t"), ("'", " ' "), ("_num_", MARKUP), ("<unk>", MARKUP)):
        line = line.replace(old, new)
    return " ".join(line.split())


def read(folder: Path) -> Data:
    """Return the judgements and all texts."""
    judgements = read_mechanical_turk(folder / "amt_reviews" / "batch_results.csv")
    is_real = judgements.is_real

    def lines(names: tuple[str, ...]) -> list[str]:
        every = [line for name in names for line in (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()]
        return [like_reviews(line.lower()) for line in every if line.strip() and not line.startswith(" =")]

    yelp = lines(("yelp/train",))
    texts = {
        "real": [item.text for item in judgements.items if item.generator is None],
        "generated": [item.text for item in judgements.items if item.generator is not None],
        "yelp": yelp,
        "english": yelp + lines(GENERAL),
    }
    corpora = corpora_from_texts(texts)
    names = np.array([item.generator for item in judgements.items if item.generator is not None])
    families = sorted(set(FAMILIES.values()))
    places = tuple(np.flatnonzero(names == name) for name in FAMILIES)
    halves = []
    for name, texts_of in zip(FAMILIES, places, strict=True):
        order = stream(SEED, "halves", name).random((N_HALVES, len(texts_of))).argsort(axis=1)
        halves.append(texts_of[order[:, : len(texts_of) // 2]])
    return Data(
        generated=corpora["generated"],
        real=corpora["real"],
        backgrounds={"reviews": None, "+ yelp": corpora["yelp"], "+ english": corpora["english"]},
        votes=judgements.votes()[~is_real].astype(np.float64),
        places=places,
        halves=tuple(halves),
        families=np.array([families.index(family) for family in FAMILIES.values()]),
        of_family=np.array([families.index(FAMILIES[name]) for name in names]),
    )
