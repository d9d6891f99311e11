"""The monitor in the package's own loop: one reading a step for all metrics, and the same weights as without it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from made_up import sentences
from textassay.corpus.corpus import Corpus
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.monitoring.monitor import TextMonitor, loop_monitors
from textassay_lab.training.loop import train
from textassay_lab.training.recipe import Recipe

WORDS = sorted({word for text in sentences(200, 1) for word in text.split()})


def fitted(
    monitor: TextMonitor | None, **settings: int
) -> tuple[torch.Tensor, list[tuple[int, Mapping[str, float | None]]]]:
    """Train the probabilities of single words, and draw sentences of words that are independent of one another."""
    places = {word: place for place, word in enumerate(WORDS)}
    texts = [torch.tensor([places[word] for word in text.split()]) for text in sentences(200, 1)]
    weights = {"logits": torch.zeros(len(WORDS), requires_grad=True)}

    def loss(batch: torch.Tensor, rng: torch.Generator) -> torch.Tensor:
        kept = torch.rand(len(batch)) < 0.8  # from the global generator, which the monitor must leave alone
        return torch.nn.functional.cross_entropy(weights["logits"].expand(int(kept.sum()), -1), batch[kept])

    def sample(n: int, seed: int) -> list[str]:
        drawn = torch.multinomial(weights["logits"].softmax(0), 8 * n, replacement=True).view(n, 8)
        return [" ".join(WORDS[place] for place in row) for row in drawn.tolist()]

    torch.manual_seed(0)
    monitors = None if monitor is None else loop_monitors(monitor, sample)
    history = train(
        weights,
        batches=lambda epoch: [torch.cat(texts[start : start + 20]) for start in range(0, 200, 20)],
        loss=loss,
        score=None,
        recipe=Recipe(3, learning_rate=0.1),
        seed=0,
        monitors=monitors,
        **settings,  # type: ignore[arg-type]
    )
    return weights["logits"].detach(), [(reading.step, reading.values) for reading in history.readings]


def test_the_loop_keeps_what_the_monitor_reads() -> None:
    monitor = TextMonitor(sentences(200, 2), metrics="length,lm-score", n=100)
    weights, readings = fitted(monitor)
    assert [step for step, _ in readings] == [10, 20, 30]
    for (_, values), reading in zip(readings, monitor.readings, strict=True):
        assert values == {
            "textassay/length": reading.values["length"],
            "textassay/lm-score": reading.values["lm-score"],
        }
    assert len({reading.values["lm-score"] for reading in monitor.readings}) == 3
    assert torch.equal(weights, fitted(None)[0])


def test_readings_inside_epochs() -> None:
    monitor = TextMonitor(sentences(200, 2), metrics="length", n=100)
    fitted(monitor, monitor_steps=4)
    assert [reading.step for reading in monitor.readings] == [4, 8, 10, 12, 16, 20, 24, 28, 30]
    assert loop_monitors(monitor, lambda n, seed: ["too few"])["textassay/length"](31) is None


def test_a_network_is_read_as_it_is_at_that_step() -> None:
    """Readings inside the training are those of networks that were trained so far and no further."""
    real, train = sentences(100, 2), Corpus.from_texts(sentences(200, 1))
    monitor = TextMonitor(real, n=50)

    def fit(epochs: int, monitors: Any = None) -> Any:
        model = LstmModel(16, dropout=0.2, recipe=Recipe(epochs, learning_rate=1e-2), batch_size=20)
        if monitors is not None:
            monitors = loop_monitors(monitor, lambda n, seed: model.sample(n, seed=seed))
        return model.fit(train, monitors=monitors)

    watched = fit(2, True)
    for epochs in (1, 2):
        model = fit(epochs)
        apart = TextMonitor(real, n=50)
        reading = apart.measure(lambda n, seed, model=model: model.sample(n, seed=seed), 10 * epochs)  # type: ignore[misc]
        assert reading == monitor.readings[epochs - 1]
    np.testing.assert_array_equal(watched.log_prob(train), model.log_prob(train))
