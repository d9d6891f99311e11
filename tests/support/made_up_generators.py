"""Writers of the study ``generators`` that are made up: their stages draw at once, and nothing is trained."""

from collections.abc import Callable, Mapping
from typing import Any

from made_up import sentences, shuffled
from textassay.corpus.text_form import TextForm
from textassay_lab.papers.draws import as_written, save_draws
from textassay_lab.papers.generators.texts import DRAWN, OTHER_DOMAIN, Generated, GeneratorStages, WrittenTexts
from textassay_lab.papers.network_stages import Part
from textassay_lab.papers.stages import Stage, Work

_LONGEST = 14


def _reversed(n: int) -> list[str]:
    """Return sentences of the same words the other way round: another domain."""
    return [" ".join(line.split()[::-1]) for line in sentences(n, 11)]


WRITERS: Mapping[str, Callable[[int], list[str]]] = {
    "Word LSTM 1.0": lambda n: [*sentences(n - n // 8, 12), *shuffled(sentences(n // 8, 13), 0)],
    "Word LSTM 0.7": lambda n: [*sentences(n // 2, 14), *sentences(n // 4, 23) * 2],
    "Word LSTM 0.5": lambda n: sentences(n // 20, 15) * 20,
    OTHER_DOMAIN: _reversed,
    "MLE SeqGAN": lambda n: [*sentences(n - n // 4, 16), *shuffled(sentences(n // 4, 17), 0)],
    "SeqGAN": lambda n: [*sentences(n - n // 2, 18), *shuffled(sentences(n // 2, 19), 0)],
    "CoT": lambda n: [*sentences(n // 4, 20), *shuffled(sentences(n - n // 4, 21), 0)],
    "bigram": lambda n: shuffled(sentences(n, 22), 0),
}


def made_up_generators(n: int, *, writers: Mapping[str, Callable[[int], list[str]]] = WRITERS) -> GeneratorStages:
    """Return the stages; `n`, of sentences of each writer, is a multiple of 20."""
    train = sentences(400, 1)
    form = TextForm.learn(train)

    def part(lines: list[str]) -> Part:
        return Part(as_written(form.corpus(lines), form, _LONGEST))

    parts = {
        "train": part(train),
        "valid": part(sentences(40, 2)),
        "real": part(sentences(n * len(writers), 3)),
        "floor": part(sentences(n, 4)),
        "contexts": part(sentences(n, 5)),
    }
    texts = WrittenTexts(form=form, longest=_LONGEST, sizes={"train": 400}, **parts)
    return GeneratorStages(texts, {writer: _generated(texts, writer, lines, n) for writer, lines in writers.items()}, n)


def _generated(texts: WrittenTexts, writer: str, lines: Callable[[int], list[str]], n: int) -> Generated:
    def train(work: Work) -> dict[str, Any]:
        first = "Word LSTM 1.0" if writer.startswith("Word") else writer
        return {"model": writer, "trained_as": first, "n_parameters": 7, "seconds": 2.0, "n_seen": 400,
                "stopped": "it forgot its words" if writer == "SeqGAN" else None}  # fmt: skip

    def draw(work: Work) -> dict[str, Any]:
        corpus = as_written(texts.form.corpus(lines(n)), texts.form, texts.longest)
        save_draws(work.folder / f"{DRAWN}.npz", corpus)
        return {"n": n, "seconds": 0.5, "unk_rate": 0.0, "cut_share": 0.0, "mean_length": 5.0, "temperature": 1.0}

    trained = Stage("train", writer, {}, train)
    return Generated(trained, Stage("draw", writer, {"n": n}, draw, (trained,)))
