"""A small network that Lightning trains. A module of its own: importing Lightning takes seconds."""

from pathlib import Path
from typing import Any

import torch
from lightning import pytorch as pl
from lightning.pytorch.callbacks import EarlyStopping as EarlyStopping
from lightning.pytorch.loggers import CSVLogger

from made_up import sentences

TEXTS = sentences(64, 1)
WORDS = sorted({word for text in TEXTS for word in text.split()})
ROWS = torch.tensor([[WORDS.index(word) for word in (text.split() * 4)[:8]] for text in TEXTS])


class Bigrams(pl.LightningModule):
    """The next word from the last, with dropout, and a frozen part that is never in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(len(WORDS), 16)
        self.dropout = torch.nn.Dropout(0.5)
        self.frozen = torch.nn.Dropout(0.5).eval()
        self.output = torch.nn.Linear(16, len(WORDS))
        self.modes: list[bool] = []

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.output(self.frozen(self.dropout(self.words(words))))
        return logits

    def training_step(self, batch: list[torch.Tensor], number: int) -> torch.Tensor:
        assert self.training
        assert torch.is_grad_enabled()
        self.frozen.eval()
        rows = batch[0]
        return torch.nn.functional.cross_entropy(self(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.05)


def draw(module: Bigrams, n: int, seed: int) -> list[str]:
    assert not module.dropout.training
    assert not torch.is_grad_enabled()
    words = torch.zeros(n, 1, dtype=torch.long)
    for _ in range(7):
        chances = module(words[:, -1]).softmax(1)
        words = torch.cat([words, torch.multinomial(chances, 1)], dim=1)  # from the global generator
    return [" ".join(WORDS[word] for word in row) for row in words.tolist()]


def fit(folder: Path, *callbacks: Any, **settings: Any) -> tuple[Bigrams, pl.Trainer]:
    torch.manual_seed(0)
    module = Bigrams()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(ROWS), batch_size=16, shuffle=True)
    trainer = pl.Trainer(
        accelerator="cpu",
        callbacks=list(callbacks),
        logger=CSVLogger(folder),
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        **{"max_epochs": 3, **settings},
    )
    trainer.fit(module, data)
    return module, trainer
