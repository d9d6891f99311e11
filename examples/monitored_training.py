"""Train a small LSTM on a file of texts, and measure after each epoch how far its text is from validation text.

    python examples/monitored_training.py train.txt valid.txt watched -n 1000

writes watched/monitor.jsonl, one line per reading, and a figure for each metric. Needs the extra 'neural'.
"""

import argparse
from pathlib import Path

import textassay as ta

METRICS = "dd,self-bleu(order=4),lm-score"


def main() -> None:
    """Train, measure, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path, help="one text per line")
    parser.add_argument("valid", type=Path, help="one text per line, none of them in the training file")
    parser.add_argument("out", type=Path, help="folder for readings and figures")
    parser.add_argument("-n", type=int, default=1000, help="texts per reading (default 1000)")
    parser.add_argument("--metrics", default=METRICS, help=f"default {METRICS}")
    parser.add_argument("--preset", default="small", help="small (default), tiny or paper")
    arguments = parser.parse_args()
    words = ta.generators.Ngram(order=1, vocabulary_size=5000).fit(arguments.train)
    lstm = ta.generators.Lstm(preset=arguments.preset, like=words)
    valid = words.corpus(arguments.valid)  # in the tokens of the model, rare words are <unk> on both sides
    monitor = ta.TextMonitor(valid, metrics=arguments.metrics, n=arguments.n, keep=arguments.out / "monitor.jsonl")
    monitors = ta.loop_monitors(monitor, lambda n, seed: lstm.sample(n, seed=seed))
    lstm.fit(arguments.train, arguments.valid, monitors=monitors)
    print(monitor)
    for drawing in ta.draw_monitor(monitor.rows()):
        (arguments.out / drawing.file_name).write_text(drawing.svg, encoding="utf-8")
        print(f"{drawing.file_name}: {drawing.description}")


if __name__ == "__main__":
    main()
