"""Time and quality of translation: train on pairs, some of them held back, then BLEU of beam search on a test set.

    python benchmarks/translation.py --data DIR --out DIR [--preset small] [--workers 2]

DIR holds ``train``, ``val`` and ``test_2016_flickr``, each with ``.de`` and ``.en`` (Multi30k, lower-cased, tokenised).
Seconds are of the clock and of all processors; run it on a quiet machine. A run that is interrupted goes on.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from textassay.cli.main import main as textassay
from textassay.corpus.texts import read_texts
from textassay.execution.threads import workers
from textassay_lab.cli.models import open_model
from textassay_lab.exposure.translation_bleu import translation_bleu
from textassay_lab.generator.translation_decoding import translate
from textassay_lab.generator.translation_model import TranslationModel

Outcome = TypeVar("Outcome")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--preset", default="small")
    parser.add_argument("--hold-back", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()

    def named(part: str) -> tuple[str, str]:
        return str(arguments.data / f"{part}.de"), str(arguments.data / f"{part}.en")

    (source, real), (valid_source, valid) = named("train"), named("val")
    asked = ["train", "translation", "--preset", arguments.preset, "--source", source, "--real", real]
    asked += ["--valid-source", valid_source, "--valid", valid, "--hold-back", str(arguments.hold_back)]
    asked += ["--out", str(arguments.out), "--workers", str(arguments.workers)]
    # the command itself, which also keeps waiting threads from spinning: beside other work they crawl
    if timed("training", lambda: textassay(asked)) != 0:
        raise SystemExit(2)
    test, references = (read_texts(name).texts for name in named("test_2016_flickr"))
    with workers(arguments.workers):
        opened = open_model(str(arguments.out))
        model: TranslationModel = opened.model
        for width in (1, 10):
            found = timed(f"beam of {width}", partial(translate, model, opened.form.corpus(test), width=width))
            for tokenizer in ("13a", "none"):
                bleu = translation_bleu(found.corpus.texts, references, tokenizer=tokenizer)
                assert bleu.interval is not None
                low, high = 100 * bleu.interval.low, 100 * bleu.interval.high
                print(f"  BLEU {100 * bleu.value:.2f} ({low:.2f} to {high:.2f}), tok:{tokenizer}, case:lc", flush=True)


def timed(what: str, run: Callable[[], Outcome]) -> Outcome:
    """Return what `run` returns; print the seconds it took."""
    began, worked = time.monotonic(), time.process_time()
    outcome = run()
    print(f"{what}: {time.monotonic() - began:.1f} s, of processors {time.process_time() - worked:.1f} s", flush=True)
    return outcome


if __name__ == "__main__":
    main()
