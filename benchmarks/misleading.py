"""Where each metric misleads: ``python benchmarks/misleading.py [FOLDER]``, by default ``docs/metrics/images``.

Nine made-up generators, eight of them with a known fault, are measured by every metric against the docstrings of
Python's standard library. Writes one forest plot a metric; prints the values, which metric sees which fault, and the
details that the pages in ``docs/metrics`` quote. Ratings for HUSE are drawn, not given by people.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import textassay
from textassay.comparison.comparison import FLOOR, TRAIN, Comparison, Result
from textassay.comparison.digest import Digest
from textassay.comparison.figures import forest_figure
from textassay.comparison.metric_kinds import metric_slug
from textassay.comparison.pairs import pair_differences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.docstrings import docstring_sentences
from textassay.metric.catalog import CATALOG, GROUPS, default_metrics, parse_metric
from textassay.ngram.model import NgramModel
from textassay.report.drawing import draw_file
from textassay.seeding import stream
from textassay.source.simple import Copier, WordShuffler

SEED = 0
COLD = 0.6
NOTHING = "nothing wrong"
LEFT_OUT = {f"{name}(order={order})" for name in ("bleu", "self-bleu") for order in (2, 3, 4)} | {
    "distinct-n(order=1)",
    "distinct-n(order=3)",
}  # one order a family in pictures and in the table of faults
DETAILS = {
    "dd": ("p_value", "auc"),
    "fed": ("bias", "extrapolated"),
    "mmd": ("p_value",),
    "mauve": ("sd_clusterings",),
    "length": ("length", "generated_mean", "generated_share", "real_share"),
    "coverage": ("expected",),
    "lm-score": ("order", "generated_nll_per_token", "real_nll_per_token", "oov_rate"),
    "reverse-lm-score": ("order", "oov_rate"),
    "zipf": ("real_exponent", "n_ranks"),
    "memorization": ("median_shared", "median_shared_part", "nearest_bleu"),
    "huse": ("huse_q", "huse_d"),
}
TABLES = {
    "value": "On all text",
    "matched_value": "At the floor's size",
    "floor_value": "Real text at the same size",
}
READERS = {"20 raters": 20, "1 rater": 1}
LIKED = {"real": 4.0, "trigram": 2.5, "cold": 3.5}  # what readers think of a sentence, on average, of 1 to 5

Ratings = npt.NDArray[np.float64]


def parts_of(sentences: Sequence[str]) -> dict[str, list[str]]:
    """Return three parts of the sentences: to train on, real, and other real text."""
    order = stream(SEED, "misleading", "parts").permutation(len(sentences))
    third = len(order) // 3
    cuts = {"train": order[:third], "real": order[third : 2 * third], "other": order[2 * third : 3 * third]}
    return {name: [sentences[index] for index in sorted(part)] for name, part in cuts.items()}


def generators_of(train: Corpus, other: Sequence[str]) -> dict[str, list[str]]:
    """Return what each generator wrote, by a name that says its fault."""
    n = len(train)
    trigram = NgramModel(3).fit(train)
    written: dict[str, list[str]] = {
        NOTHING: list(other),
        "trigram": list(trigram.sample(n, seed=SEED).texts),
        "trigram, few": list(trigram.sample(n // 10, seed=SEED + 1).texts),
        "trigram, cold": list(trigram.sample(n, seed=SEED, temperature=COLD).texts),
        "words shuffled": list(WordShuffler().fit(train).sample(n, seed=SEED).texts),
        "fifty, repeated": list(Copier(50, seed=SEED).fit(train).sample(n, seed=SEED).texts),
        "copied": list(train.texts),
        "cut at ten": [" ".join(text.split()[:10]) for text in other],
        "full stop glued": [text.removesuffix(" .") + "." if text.endswith(" .") else text for text in other],
    }
    return written


def rated_comparison(train: Corpus, real: Sequence[str]) -> Comparison:
    """Return HUSE of two generators, as many raters and as one rater would give it."""
    trigram = NgramModel(3).fit(train)
    real_corpus = Corpus.from_texts(real)
    generated, log_probs, ratings = {}, {}, {}
    for kind, temperature in (("trigram", 1.0), ("cold", COLD)):
        drawn = trigram.sample(len(real), seed=SEED, temperature=temperature)
        of_real, of_drawn = (trigram.log_prob(corpus, temperature=temperature) for corpus in (real_corpus, drawn))
        for readers, n_readers in READERS.items():
            name = f"{kind}, {readers}"
            generated[name], log_probs[name] = list(drawn.texts), (of_drawn, of_real)
            ratings[name] = (
                rate(kind, len(real), n_readers, name),
                rate("real", len(real), n_readers, name),
            )
    return textassay.compare(
        generated, real, log_probs=log_probs, ratings=ratings, metrics=["huse"], seed=SEED, explain=False
    )


def rate(kind: str, n: int, n_readers: int, name: str) -> Ratings:
    """Return the mean rating of each of `n` sentences, by readers who agree but for a standard deviation of 1."""
    rng = stream(SEED, "misleading", "ratings", name, kind)
    liked = rng.normal(LIKED[kind], 0.6, (n, 1))
    given = np.clip(np.rint(rng.normal(liked, 1.0, (n, n_readers))), 1, 5)
    return np.asarray(given.mean(axis=1), dtype=np.float64)


def seen(result: Result, *, level: float) -> str:
    """Return whether a metric tells a generator from real text, at the floor's size and by its own standard errors.

    ``yes``; ``better`` where the text looks significantly better than real text does; nothing where it is not told.
    """
    if result.matched is None or result.floor is None:
        return "?"
    like = replace(result, better="lower", estimate=result.matched)
    floor = Result(FLOOR, result.metric, "lower", result.floor)
    pair = pair_differences([like, floor], level=level)[0]
    if pair.p is None or pair.difference is None:
        return "?"
    if pair.p >= 1 - level:
        return ""
    sign = {"lower": 1, "higher": -1}.get(result.better, 0)
    return "better" if sign * pair.difference < 0 else "yes"


def print_faults(comparison: Comparison, metrics: Sequence[str], faults: Mapping[str, object]) -> None:
    """Print, as a table in Markdown, which metric sees which fault."""
    print(f"| | {' | '.join(faults)} |\n|---|{'---|' * len(faults)}")
    for metric in metrics:
        cells = [seen(comparison.result(name, metric), level=comparison.level) for name in faults]
        print(f"| `{metric}` | {' | '.join(cells)} |")


def print_details(comparison: Comparison) -> None:
    """Print the details that the pages quote."""
    for metric in comparison.metrics:
        for key in DETAILS.get(metric, ()):
            values = []
            for generator in (FLOOR, *comparison.generators):
                estimate = comparison.result(generator, metric).estimate
                value = None if estimate is None else estimate.details.get(key)
                values.append(f"{generator} {value:.4g}" if isinstance(value, int | float) else f"{generator} {value}")
            print(f"{metric}, {key}: {'; '.join(values)}")


def draw(comparison: Comparison, folder: Path) -> None:
    """Write the forest plots, on white, so that they can be read on a dark page too."""
    digest = Digest(comparison)  # its names of metrics hold the encoder
    for metric in digest.metrics:
        figure = None if metric in LEFT_OUT else forest_figure(digest, metric)
        if figure is not None:
            (folder / f"{metric_slug(metric)}.svg").write_text(draw_file(figure), encoding="utf-8")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/metrics/images")
    folder.mkdir(parents=True, exist_ok=True)
    parts = parts_of(docstring_sentences())
    train = corpora_from_texts({"train": parts["train"]})["train"]
    generated = generators_of(train, parts["other"])
    named = [name for name, entry in CATALOG.items() if entry.only_named and name not in GROUPS["detectors"]]
    metrics = [*default_metrics(["train"]), *(parse_metric(name).name for name in named)]
    comparison = textassay.compare(
        generated, parts["real"], train=parts["train"], metrics=metrics, seed=SEED, explain=False
    )
    # "copied" is the training text: its row of reference would say the same again
    comparison = replace(comparison, results=tuple(row for row in comparison.results if row.generator != TRAIN))
    rated = rated_comparison(train, parts["real"])
    frames = [found.to_frame() for found in (comparison, rated)]
    print(f"{len(parts['real'])} real sentences\n")
    for frame, found in zip(frames, (comparison, rated), strict=True):
        names = [FLOOR, *found.generators]
        for column, rows in (("value", names), ("matched_value", names[1:]), ("floor_value", names[1:])):
            print(TABLES[column])
            table = frame.pivot(index="metric", columns="generator", values=column)
            print(table.loc[list(found.metrics), rows].round(4).to_string(), end="\n\n")
    print("Told from real text at 95 %, at the floor's size\n")
    print_faults(comparison, [metric for metric in comparison.metrics if metric not in LEFT_OUT], generated)
    print()
    for found in (comparison, rated):
        print_details(found)
        draw(found, folder)


if __name__ == "__main__":
    main()
