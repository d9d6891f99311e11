"""The largest batch of sentences that a network can be trained on in memory."""

from collections.abc import Callable
from typing import Any

import torch

from textassay.corpus.corpus import Corpus
from textassay.errors import is_out_of_memory
from textassay_lab.generator.network import NetworkLanguageModel
from textassay_lab.training.backend import threads, training_device
from textassay_lab.training.memory import largest_batch, step_fits, with_memory_explained
from textassay_lab.training.processes import Processes, launched


def fitting_batch_size(model: NetworkLanguageModel, train: Corpus, *, known: int | None = None) -> int:
    """Return the batch size of `model`, halved until a step on the longest sentences of `train` fits into memory.

    Call it in every process of a launcher; all use the main process's result.
    """
    together = launched() or Processes()
    return int(together.from_main(lambda: known or largest_batch(_fits(model, train), model.batch_size)))


def fit_in_memory(model: NetworkLanguageModel, train: Corpus, valid: Corpus | None, **settings: Any) -> None:
    """Fit `model` as its `fit` does, with the same `settings`; where memory runs out, say which batch size fits."""
    with_memory_explained(
        lambda: model.fit(train, valid, **settings), batch_size=model.batch_size, fits=_fits(model, train)
    )


def _fits(model: NetworkLanguageModel, train: Corpus) -> Callable[[int], bool]:
    """Return a function from a number of sentences to whether a batch of the longest ones fits in memory."""

    def fits(n_sentences: int) -> bool:
        try:
            rng = torch.Generator().manual_seed(0)
            module = model.begun(len(train.vocabulary), int(train.lengths.max()), rng).to(training_device())
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return False
        lessons = model.lessons(train, module, batch_size=n_sentences, seed=0)
        with threads():
            return step_fits(dict(module.named_parameters()), lessons.heaviest, loss=lessons.loss, recipe=model.recipe)

    return fits
