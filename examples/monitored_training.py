"""Train a small LSTM on a file of sentences, and watch after each epoch how far its text is from validation text.

    python examples/monitored_training.py train.txt valid.txt watched -n 1000

writes watched/monitor.jsonl, a line for each reading, and a figure for each metric. Needs the extra 'neural'.
"""

import argparse
from pathlib import Path

from textassay.corpus.reader import read_texts
from textassay.corpus.text_form import TextForm
from textassay.model_store.catalog import make_generator
from textassay.monitoring.loop import loop_monitors
from textassay.monitoring.monitor import METRICS, TextMonitor
from textassay.report.monitor_figure import draw_monitor


def main() -> None:
    """Train, watch, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path, help="one sentence a line")
    parser.add_argument("valid", type=Path, help="one sentence a line, not among those to train on")
    parser.add_argument("out", type=Path, help="folder for readings and figures")
    parser.add_argument("-n", type=int, default=1000, help="sentences a reading (default 1000)")
    parser.add_argument("--metrics", default=METRICS, help=f"default {METRICS}")
    parser.add_argument("--preset", default="small", help="small (default), tiny or paper")
    arguments = parser.parse_args()
    texts = read_texts(arguments.train).texts
    form = TextForm.learn(texts, max_size=5000)
    # in the form of the model, rare words are <unk> on both sides
    valid = form.corpus(read_texts(arguments.valid).texts)
    model = make_generator("lstm", preset=arguments.preset)
    monitor = TextMonitor(valid, metrics=arguments.metrics, n=arguments.n, keep=arguments.out / "monitor.jsonl")
    monitors = loop_monitors(monitor, lambda n, seed: model.sample(n, seed=seed))
    model.fit(form.corpus(texts), valid, monitors=monitors)
    print(monitor.to_frame().pivot(index="step", columns="metric", values="value").to_string())
    for drawing in draw_monitor(monitor.to_frame()):
        (arguments.out / drawing.file_name).write_text(drawing.svg, encoding="utf-8")
        print(drawing.description)


if __name__ == "__main__":
    main()
