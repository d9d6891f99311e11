"""Processor seconds and memory to read and encode text: a million made-up sentences of 20 words, and smaller jobs.

Each row runs in a process of its own, so that peak memory is that row's. Usage: ``python benchmarks/reading.py
[--sentences N]``; prints a Markdown table.
"""

import argparse
import csv
import gzip
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

WORDS = 20
TYPES = 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=1_000_000)
    n_sentences = parser.parse_args().sentences
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        in_new_process(write, folder, n_sentences)
        print(f"| {n_sentences:,} sentences of {WORDS} words | processor s | peak memory, MB | imports alone, MB |")
        print("| --- | ---: | ---: | ---: |")
        for kind in ("txt", "txt.gz", "jsonl", "csv", "parquet"):
            report(f"read .{kind}", read, folder / f"f.{kind}")
        report("read .txt, encode whitespace", encode, folder / "f.txt", "whitespace")
        report("the same and fingerprint", fingerprint, folder / "f.txt", "whitespace")
        for tokenizer in ("words", "chars", "13a"):
            report(f"read .txt, encode {tokenizer}", encode, folder / "f.txt", tokenizer)
        report("20,000 sentences from Python strings, whitespace", encode_part, folder / "f.txt", "whitespace", 20_000)
        report("20,000 sentences, str.split and a dict, for comparison", split_part, folder / "f.txt", 20_000)


def write(folder: Path, n_sentences: int) -> None:
    """Write sentences of words with Zipf frequencies in every format."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(2, 9, TYPES)], dtype=object)
    cumulative = np.cumsum(1 / np.arange(1, TYPES + 1))
    with (folder / "f.txt").open("w", encoding="utf-8") as file:
        for start in range(0, n_sentences, 10_000):
            draws = rng.random((min(10_000, n_sentences - start), WORDS)) * cumulative[-1]
            for row in words[np.searchsorted(cumulative, draws)].tolist():
                file.write(" ".join(row) + "\n")
    texts = (folder / "f.txt").read_text(encoding="utf-8").split("\n")[:-1]
    with gzip.open(folder / "f.txt.gz", "wt", compresslevel=1, encoding="utf-8") as zipped:
        zipped.writelines(text + "\n" for text in texts)
    with (folder / "f.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    with (folder / "f.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in texts)])
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": texts}), folder / "f.parquet")


def report(label: str, work: Callable[..., float], *arguments: object) -> None:
    """Run `work` in a fresh process and print its row."""
    before, seconds, after = in_new_process(measured, work, arguments)
    print(f"| {label} | {seconds:.3f} | {after:.0f} | {before:.0f} |", flush=True)


def in_new_process(work: Callable[..., Any], *arguments: object) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def measured(work: Callable[..., float], arguments: tuple[object, ...]) -> tuple[float, float, float]:
    import textassay.corpus.corpus
    import textassay.corpus.texts

    textassay.corpus.corpus.Corpus.from_texts(["compile first"])
    before = peak()
    seconds = work(*arguments)
    return before, seconds, peak()


def peak() -> float:
    """Return the most memory this process has had so far, in MB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1e6 if sys.platform == "darwin" else 1e3)


def read(path: Path) -> float:
    from textassay.corpus.texts import read_texts

    start = time.process_time()
    read_texts(path)
    return time.process_time() - start


def encode(path: Path, tokenizer: str) -> float:
    from textassay.corpus.corpus import Corpus
    from textassay.corpus.texts import read_texts

    start = time.process_time()
    Corpus.from_texts(read_texts(path), tokenizer=tokenizer)
    return time.process_time() - start


def fingerprint(path: Path, tokenizer: str) -> float:
    from textassay.corpus.corpus import Corpus
    from textassay.corpus.texts import read_texts

    start = time.process_time()
    len(Corpus.from_texts(read_texts(path), tokenizer=tokenizer).fingerprint)
    return time.process_time() - start


def encode_part(path: Path, tokenizer: str, n_sentences: int) -> float:
    from textassay.corpus.corpus import Corpus
    from textassay.corpus.texts import read_texts

    texts = read_texts(path).texts[:n_sentences]
    return best(lambda: Corpus.from_texts(texts, tokenizer=tokenizer))


def split_part(path: Path, n_sentences: int) -> float:
    from textassay.corpus.texts import read_texts

    texts = read_texts(path).texts[:n_sentences]

    def split() -> None:
        ids: dict[str, int] = {}
        np.array([ids.setdefault(token, len(ids)) for text in texts for token in text.split()], dtype=np.int32)

    return best(split)


def best(work: Callable[[], object], repeats: int = 7) -> float:
    """Return the least seconds of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
