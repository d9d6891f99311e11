"""Seconds and peak memory of a whole `textassay compare`: every metric, three generators of 10,000 sentences.

    python benchmarks/compare.py DATA

DATA holds `yelp/`, `coco/` and `emnlp_news/`. The generators are n-gram models of the training text (of one half of the
news, which has none). Each run is a process of its own, compiled code being cached by a first one, that also writes the
report. Prints a table in Markdown.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from textassay.corpus.corpus import Corpus
from textassay.corpus.texts import read_texts
from textassay.ngram.model import NgramModel

CORPORA = {
    "Yelp reviews": ("yelp/train.txt", "yelp/test.txt"),
    "COCO captions": ("coco/train.txt", "coco/test.txt"),
    "EMNLP news": ("emnlp_news/valid.txt", "emnlp_news/test.txt"),
}
ORDERS = {"unigram": 1, "trigram": 3, "5-gram": 5}
N_SENTENCES = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    print("| real text | `--effort quick` | default | again | peak memory |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (train, real) in CORPORA.items():
            out = Path(folder) / name
            out.mkdir()
            command = [sys.executable, "-m", "textassay", "compare", "--quiet", "--real", str(data / real)]
            command += [f"{model}={path}" for model, path in write_samples(data / train, out).items()]
            run([*command[:-2], "--metrics", "length"])  # so that starting costs the same for all
            quick, _ = run([*command, "--effort", "quick", "--out", str(out / "quick")])
            first, peak = run([*command, "--out", str(out / "report")])
            again, _ = run([*command, "--out", str(out / "report")])
            print(f"| {name} | {quick:.1f} | {first:.1f} | {again:.1f} | {peak / 2**20:,.0f} MB |")


def write_samples(train: Path, out: Path) -> dict[str, Path]:
    """Write a file of samples for each model and return where it is."""
    corpus = Corpus.from_texts(read_texts(train).texts)
    paths = {}
    for name, order in ORDERS.items():
        texts = NgramModel(order=order).fit(corpus).sample(N_SENTENCES, seed=0).texts
        paths[name] = out / f"{name}.txt"
        paths[name].write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return paths


def run(command: list[str]) -> tuple[float, int]:
    """Return the seconds a process took and the most memory it had, in bytes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
