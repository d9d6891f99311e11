"""Time and memory of a comparison of documents, by their number: whether both grow as the text does.

    python benchmarks/documents.py [--sizes 1000 2000 4000] [--tokens 1000] [--keep FOLDER]

Documents of about so many tokens are made of sentences that a 3-gram model of Python's docstrings draws, in paragraphs
and with headings; those that play the generated ones open and close alike, use bulleted lists and say things twice.
Printed, as Markdown: processor seconds, wall seconds and the largest memory of `textassay compare` with all default
metrics and the explanation, on two threads. ``--keep`` writes the documents as real.jsonl and generated.jsonl, for
`benchmarks/scale.py`, which has the figures of each stage. Not for Windows: the memory comes from `resource`.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from textassay.corpus import Corpus, docstring_sentences
from textassay.generator import NgramModel

WORKERS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=(1000, 2000, 4000))
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--options", nargs="*", default=(), help="more options of compare, without their dashes")
    parser.add_argument("--one", type=Path, default=None, help=argparse.SUPPRESS)  # a process for one comparison
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measured(options.one, options.options)))
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
            paragraph += paragraph[:1] + ["In summary, these are the main points."]
        parts.append(" ".join(paragraph))
        yield "\n\n".join(parts)


def _paragraph(sentences: list[str], rng: np.random.Generator, *, is_real: bool) -> str:
    kind = rng.random()
    if kind < 0.1:
        return "## " + sentences[0] + "\n\n" + " ".join(sentences[1:])
    if kind < (0.15 if is_real else 0.5):
        return "\n".join("- " + sentence for sentence in sentences)
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
