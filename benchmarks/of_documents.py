"""Time and memory of a comparison of documents, by their number: whether both grow as the text does.

    python benchmarks/of_documents.py [--sizes 1000 2000 4000] [--tokens 1000] [--keep FOLDER]
    python benchmarks/of_documents.py --structure

Documents of about so many tokens are made of sentences that a 3-gram model of Python's docstrings draws, in paragraphs
and with headings; those that play the generated ones open and close alike, use bulleted lists and say things twice.
Printed, as Markdown: processor seconds, wall seconds and the largest memory of `textassay compare` with all default
metrics and the explanation, on two threads. ``--keep`` writes the documents as real.jsonl and generated.jsonl, for
`benchmarks/scale.py`, which measures each stage. ``--structure`` prints instead what dd finds of documents
that differ in one thing alone, taken as sentences and as documents, beside the truth, which is the share of documents
that differ; of documents that do not differ, how many intervals hold 0. Not for Windows: memory comes from `resource`.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.docstrings import docstring_sentences
from textassay.corpus.structure import TextUnit
from textassay.estimate import Estimate
from textassay.metric.discrepancy import dd
from textassay.ngram.model import NgramModel

WORKERS = 2
Make = Callable[[list[str]], str]  # a document of its sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=(1000, 2000, 4000))
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--options", nargs="*", default=(), help="more options of compare, without their dashes")
    parser.add_argument("--structure", action="store_true")
    parser.add_argument("--splits", type=int, default=100, help="with --structure: of equal documents")
    parser.add_argument("--one", type=Path, default=None, help=argparse.SUPPRESS)  # a process for one comparison
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measured(options.one, options.options)))
        return
    if options.structure:
        print_structure(options.splits)
        return
    print("| documents a side | tokens a side | processor s | wall s | GB |\n|---|---|---|---|---|")
    with TemporaryDirectory() as temporary:
        for size in options.sizes:
            folder = Path(temporary) if options.keep is None else options.keep
            n_tokens = write_documents(folder, size, options.tokens)
            command = [sys.executable, __file__, "--one", str(folder), "--options", *options.options]
            spent = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            cells = f"{spent['cpu']:.0f} | {spent['wall']:.0f} | {spent['gigabytes']:.2f}"
            print(f"| {size:,} | {n_tokens:,} | {cells} |", flush=True)


def write_documents(folder: Path, size: int, n_tokens: int) -> int:
    """Write `size` documents of each side; return how many tokens a side has."""
    folder.mkdir(parents=True, exist_ok=True)
    model = NgramModel(order=3).fit(Corpus.from_texts(docstring_sentences()))
    for seed, side in enumerate(("real", "generated")):
        total = 0
        with (folder / f"{side}.jsonl").open("w", encoding="utf-8") as file:
            for document in documents(model, size, n_tokens, seed=seed, is_real=side == "real"):
                total += len(document.split())
                file.write(json.dumps(document) + "\n")
    return total


def documents(model: NgramModel, size: int, n_tokens: int, *, seed: int, is_real: bool) -> Iterator[str]:
    """Yield documents of about `n_tokens` tokens, between two thirds and four thirds of that."""
    rng = np.random.default_rng(seed)
    sentences: Iterator[str] = iter(())
    n_drawn = 0
    for _ in range(size):
        parts: list[str] = [] if is_real else ["Certainly! Here is an overview."]
        paragraph: list[str] = []
        words, longest = 0, int(n_tokens * rng.uniform(2 / 3, 4 / 3))
        while words < longest:
            sentence = next(sentences, None)
            if sentence is None:
                n_drawn += 1
                sentences = iter(model.sample(20_000, seed=1000 * n_drawn + seed).texts)
                continue
            words += len(sentence.split())
            paragraph.append(sentence)
            if len(paragraph) >= rng.integers(2, 12):
                parts.append(_paragraph(paragraph, rng, is_real=is_real))
                paragraph = []
        if not is_real:
            paragraph += [*paragraph[:1], "In summary, these are the main points."]
        parts.append(" ".join(paragraph))
        yield "\n\n".join(parts)


def _paragraph(sentences: list[str], rng: np.random.Generator, *, is_real: bool) -> str:
    kind = rng.random()
    if kind < 0.1:
        return "## " + sentences[0] + "\n\n" + " ".join(sentences[1:])
    if kind < (0.15 if is_real else 0.5):
        return "\n".join("- " + sentence for sentence in sentences)
    return " ".join(sentences)


def print_structure(n_splits: int) -> None:
    """Print dd of documents that differ in one thing, and the share of splits of equal ones whose interval holds 0."""
    sentences = list(NgramModel(order=3).fit(Corpus.from_texts(docstring_sentences())).sample(200_000, seed=1).texts)
    rng = np.random.default_rng(2)

    def drawn(n: int) -> list[list[str]]:
        return [[sentences[number] for number in rng.integers(0, len(sentences), 24)] for _ in range(n)]

    def some(share: float, changed: Make) -> Make:
        return lambda document: (changed if rng.random() < share else _plain)(document)

    worlds: dict[str, tuple[float, Make]] = {
        "30 % with a bulleted list": (0.3, lambda one: "\n- ".join(["", *one[:6]]) + "\n\n" + _plain(one[6:])),
        "30 % with blank lines": (0.3, lambda one: "\n\n".join(map(_plain, (one[:8], one[8:16], one[16:])))),
        "40 % begin with a phrase": (0.4, lambda one: "Certainly, here it is. " + _plain(one[1:])),
        "40 % end with a phrase": (0.4, lambda one: _plain(one[1:]) + " I hope this helps."),
        "50 % say five sentences twice": (0.5, lambda one: _plain([*one[:19], *one[:5]])),
        "50 % sorted by length": (0.5, lambda one: _plain(sorted(one, key=len))),
        "equal": (0.0, _plain),
    }
    print("| generated documents | truth | as sentences | as documents |\n|---|---|---|---|")
    for name, (truth, make) in worlds.items():
        texts = {"real": [*map(_plain, drawn(500))], "generated": [*map(some(truth, make), drawn(500))]}
        corpora = corpora_from_texts(texts, tokenizer="whitespace")
        units: tuple[TextUnit, ...] = ("sentence", "document")
        estimates = [dd(corpora["generated"], corpora["real"], unit=unit) for unit in units]
        cells = ["{:.3f} [{:.3f}, {:.3f}]".format(each.value, *_ends(each)) for each in estimates]
        print(f"| {name} | {truth:g} | {' | '.join(cells)} |", flush=True)
    held = 0
    for split in range(n_splits):
        documents = [*map(some(0.3, worlds["30 % with a bulleted list"][1]), drawn(400))]
        corpora = corpora_from_texts({"real": documents[:200], "generated": documents[200:]}, tokenizer="whitespace")
        low, high = _ends(dd(corpora["generated"], corpora["real"], unit="document", seed=split))
        held += low <= 0 <= high
    print(f"\nThe interval held 0 in {held} of {n_splits} splits of 200 + 200 equal documents, a third with lists.")


def _ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.interval is not None
    return estimate.interval.low, estimate.interval.high


def _plain(sentences: Sequence[str]) -> str:
    return " ".join(sentences)


def measured(folder: Path, options: list[str]) -> dict[str, float]:
    """Return what one comparison takes; everything is compiled before."""
    command = [sys.executable, "-m", "textassay", "compare", f"made={folder / 'generated.jsonl'}"]
    command += ["--real", str(folder / "real.jsonl"), "--workers", str(WORKERS), "--json"]
    command += [f"--{option}" for option in options]
    begin = time.perf_counter()
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    wall = time.perf_counter() - begin
    if result.returncode:
        raise SystemExit(result.stderr)
    (folder / "results.json").write_text(result.stdout, encoding="utf-8")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"cpu": spent.ru_utime + spent.ru_stime, "wall": wall, "gigabytes": spent.ru_maxrss / 2**20}


if __name__ == "__main__":
    main()
