"""What the metrics of sentence vectors say of damaged real text: ``python benchmarks/encoder_damage.py DATA``.

Prints, for news, reviews and captions, what fed, mmd, mauve, precision and recall give real text with each known damage
(`textassay stress`) at growing strength, the same text with its words in alphabetical order, and text of a trigram
model; the first row is undamaged real text, the floor. ``--encoder`` may be given several times.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.embedding.store import feature_store
from textassay.metric.base import measure
from textassay.metric.catalog import parse_metric
from textassay.ngram.model import NgramModel
from textassay_lab.meta_evaluation.damage import DAMAGES, damage, prepare_corpora

# real text of one kind, of which disjoint parts are drawn
FILES = {
    "news": ("emnlp_news/test.txt", "emnlp_news/valid.txt"),
    "reviews": ("yelp/test.txt", "yelp/valid.txt"),
    "captions": ("coco/test.txt", "coco/train.txt"),
}
METRICS = ("fed", "mmd", "mauve", "precision", "recall")
STRENGTHS = (0.1, 0.3, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--encoder", action="append")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--strength", type=float, action="append")
    parser.add_argument("--text", choices=FILES, action="append")
    options = parser.parse_args()
    for encoder in options.encoder or ["lsa", "lsa+lm"]:
        metrics = [parse_metric(name, encoder=encoder) for name in METRICS]
        for text in options.text or FILES:
            texts = _texts(options.data, text, options.sentences)
            print(f"\n{encoder}, {text}, {options.sentences:,} sentences a side\n")
            print(f"| generated | strength | {' | '.join(METRICS)} |\n{'|---' * (len(METRICS) + 2)}|")
            with feature_store():
                for name, strength, generated in _generated(texts, options.strength or STRENGTHS):
                    values = [measure(metric, generated, texts["reference"]).value for metric in metrics]
                    cells = " | ".join(f"{value:.3f}" for value in values)
                    print(f"| {name} | {strength:g} | {cells} |", flush=True)


def _texts(data: Path, text: str, n: int) -> dict[str, Corpus]:
    """Return disjoint parts of one text, text to learn from, and what a trigram model wrote."""
    real = [line for path in FILES[text] for line in (data / path).read_text(encoding="utf-8").splitlines()]
    order = np.random.default_rng(1).permutation(len(real))
    parts = {
        name: [real[row] for row in order[k * n : (k + 1) * n]]
        for k, name in enumerate(("reference", "clean", "spare"))
    }
    train = [real[row] for row in order[3 * n :]]
    other = next(path for name, (path, _) in FILES.items() if name != text)
    others = (data / other).read_text(encoding="utf-8").splitlines()[:n]
    model = NgramModel(3).fit(Corpus.from_texts(train))
    made = {
        "trigram": list(model.sample(n, seed=0).texts),
        "sorted": [" ".join(sorted(line.split())) for line in parts["clean"]],
    }
    return prepare_corpora(corpora_from_texts({**parts, "train": train, "other": others, **made}))


def _generated(texts: dict[str, Corpus], strengths: Sequence[float]) -> Iterator[tuple[str, float, Corpus]]:
    yield "real", 0, texts["clean"]
    for name in ("trigram", "sorted"):
        yield name, 1, texts[name]
    for name in DAMAGES:
        source = DAMAGES[name].source
        for strength in strengths:
            try:
                yield (
                    name,
                    strength,
                    damage(texts["clean"], name, strength, source=None if source is None else texts[source]),
                )
            except ValueError as error:
                print(f"| {name} | {strength:g} | {error} |")
                break


if __name__ == "__main__":
    main()
