"""Senseless text beside generators, by what papers on diffusion language models report, and by dd.

    python benchmarks/senseless.py REAL NAME=FILE...

REAL and FILE have a sentence a line, REAL at least 6,000: the first 3,000 are the real text, the next are made
senseless by the damages of `textassay stress`, at full strength. Of each generator the first 3,000 are taken.
"""

import sys
from itertools import pairwise
from pathlib import Path

import textassay as ta
from textassay.corpus.corpus import corpora_from_texts
from textassay_lab.meta_evaluation.damage import damage

N = 3000
KINDS = ("tilted-words", "spliced-fragments", "looped-phrases")


def main() -> None:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    texts = {}
    for argument in sys.argv[2:]:
        name, _, file = argument.partition("=")
        texts[name] = Path(file).read_text(encoding="utf-8").splitlines()[:N]
    other = corpora_from_texts({"other": lines[N : 2 * N]})["other"]
    for kind in KINDS:
        made = damage(other, kind, 1.0)
        words = made.vocabulary.decode(made.tokens)
        texts[kind] = [" ".join(words[start:end]) for start, end in pairwise(made.offsets.tolist())]
    print(ta.compare(texts, lines[:N], metrics=["diffusion"], explain=False, independent=True))


if __name__ == "__main__":
    main()
