"""How much conditional dd finds, by answers a prompt: ``python benchmarks/prompted.py [PICTURE]``.

Worlds with prompts of known truth, made from the docstrings of Python's standard library: 800 prompts, 1 to 10 answers
of each side to each. PICTURE is ``docs/metrics/images/conditional-dd.svg`` by default. Prints every number that the
pages quote.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

from textassay.corpus.corpus import Corpus
from textassay.corpus.docstrings import docstring_sentences
from textassay.execution.threads import default_workers, workers
from textassay.metric.catalog import parse_metric
from textassay.metric.conditional_discrepancy import conditional_dd
from textassay.report.document import Figure
from textassay.report.drawing import draw_svg
from textassay.report.plots import Axis, Colour, Curves, Point, Series
from textassay_lab.meta_evaluation.prompted_worlds import prompted_worlds

SEED = 100
N_PROMPTS = 800
N_ANSWERS = (1, 2, 5, 10)
N_TRUTH = 10_000
BACKGROUND = '<rect width="100%" height="100%" fill="#ffffff"/>'
COLOURS: dict[str, Colour] = {
    "answers-continued": "ink",
    "answers-topic": "generated",
    "answers-hidden": "muted",
    "answers-same": "real",
}


def main() -> None:
    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/metrics/images/conditional-dd.svg")
    text = Corpus.from_texts(docstring_sentences())
    alone = parse_metric("dd", effort="quick")
    lines = []
    with workers(default_workers()):
        for name, colour in COLOURS.items():
            (world,) = prompted_worlds(text, SEED, [name])
            truth = world.truth(N_TRUTH, seed=SEED)
            points = []
            for n in N_ANSWERS:
                drawn = replace(world, n_answers=n).answered(n * N_PROMPTS, seed=SEED)
                begun = time.process_time()
                metric = conditional_dd.declaration.with_settings(prompts=drawn.prompts)
                found = metric.estimate(drawn.generated, drawn.real, seed=SEED)
                seconds = time.process_time() - begun
                interval, bound = found.interval, found.details["certified_bound"]["value"]
                assert interval is not None
                points.append(Point(float(n), found.value, interval.low, interval.high))
                print(
                    f"{name}, {n} answers: truth {truth.value:.3f}, conditional dd {found.value:.3f} "
                    f"[{interval.low:.3f}, {interval.high:.3f}], at least {bound:.3f}; dd "
                    f"{alone.estimate(drawn.generated, drawn.real, seed=SEED).value:.3f}; {seconds:.0f} s",
                    flush=True,
                )
            lines.append(Series(f"{name.removeprefix('answers-')} ({truth.value:.2f})", tuple(points), colour=colour))
    figure = Figure("conditional-dd", Curves(tuple(lines), Axis("answers a prompt"), Axis("conditional dd")))
    head, rest = (svg := draw_svg(figure)).split(">", 3)[:3], svg.split(">", 3)[3]
    picture.write_text(f"{'>'.join(head)}>{BACKGROUND}{rest}", encoding="utf-8")


if __name__ == "__main__":
    main()
