"""The monitor in Lightning's trainer, beside early stopping and a logger."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import pytorch as pl
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.loggers import CSVLogger

from made_up import sentences
from textassay.errors import OptionError
from textassay.monitoring import MissingLightningError, TextMonitor, lightning
from textassay.monitoring.lightning import LightningCallback

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


pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'train_dataloader' does not have many workers"),
    pytest.mark.filterwarnings("ignore:Found 1 module.s. in eval mode"),
    pytest.mark.filterwarnings("ignore:The number of training batches"),
    pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec:FutureWarning"),
]


@pytest.mark.parametrize("every_n_steps", [None, 3])
def test_training_is_the_same_with_it(tmp_path: Path, every_n_steps: int | None) -> None:
    monitor = TextMonitor(sentences(64, 2), metrics="length,self-bleu(order=2)", n=64)
    callback = LightningCallback(monitor, draw, every_n_steps=every_n_steps)
    assert isinstance(callback, pl.Callback)
    with_it, trainer = fit(tmp_path / "with", callback)
    without, _ = fit(tmp_path / "without")
    for name, weight in without.state_dict().items():
        assert torch.equal(weight, with_it.state_dict()[name])
    assert (with_it.dropout.training, with_it.frozen.training) == (True, False)
    steps = [4, 8, 12] if every_n_steps is None else [3, 6, 9, 12]
    assert [reading.step for reading in monitor.readings] == steps
    last = monitor.readings[-1].values
    assert trainer.callback_metrics["textassay/self-bleu(order=2)"].item() == pytest.approx(
        last["self-bleu(order=2)"], rel=1e-6
    )
    logged = next(tmp_path.glob("with/**/metrics.csv")).read_text().splitlines()
    assert "textassay/length" in logged[0]
    assert len(logged) == 1 + len(steps)


def test_steps_of_several_batches_are_read_once(tmp_path: Path) -> None:
    monitor = TextMonitor(sentences(64, 2), metrics="length", n=64)
    fit(tmp_path, LightningCallback(monitor, draw, every_n_steps=1), accumulate_grad_batches=2)
    assert [reading.step for reading in monitor.readings] == [1, 2, 3, 4, 5, 6]


def test_early_stopping_follows_it(tmp_path: Path) -> None:
    monitor = TextMonitor(sentences(64, 2), metrics="length", n=64)
    callback = LightningCallback(monitor, lambda module, n, seed: TEXTS[:n])
    stop = EarlyStopping("textassay/length", patience=1, check_on_train_epoch_end=True)
    fit(tmp_path, callback, stop, max_epochs=9)
    assert len(monitor.readings) == 2


def test_doors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monitor = TextMonitor(sentences(64, 2), metrics="length", n=64)
    with pytest.raises(OptionError, match="every_n_steps must be at least 1, got 0"):
        LightningCallback(monitor, draw, every_n_steps=0)
    monkeypatch.setattr(Bigrams, "on_fit_start", lambda self: setattr(self.output.weight, "ds_id", 0))
    with pytest.raises(OptionError, match="a monitor needs all weights in one process"):
        fit(tmp_path, LightningCallback(monitor, draw))
    monkeypatch.setattr(lightning, "find_spec", lambda name: None)
    for name in ("lightning.pytorch", "pytorch_lightning"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(MissingLightningError, match="pip install lightning"):
        LightningCallback(monitor, draw)
