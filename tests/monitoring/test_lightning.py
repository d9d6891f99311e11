"""The monitor in Lightning's trainer, beside early stopping and a logger."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from made_up import sentences
from textassay.errors import OptionError
from textassay.monitoring import MissingLightningError, TextMonitor, lightning
from textassay.monitoring.lightning import LightningCallback

pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'train_dataloader' does not have many workers"),
    pytest.mark.filterwarnings("ignore:Found 1 module.s. in eval mode"),
    pytest.mark.filterwarnings("ignore:The number of training batches"),
    pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec:FutureWarning"),
]


@pytest.fixture
def made() -> Any:
    """Return the network and what trains it, imported where it is used: Lightning takes seconds to import."""
    return import_module("lightning_training")


@pytest.mark.parametrize("every_n_steps", [None, 3])
def test_training_is_the_same_with_it(made: Any, tmp_path: Path, every_n_steps: int | None) -> None:
    monitor = TextMonitor(sentences(64, 2), metrics="length,self-bleu(order=2)", n=64)
    callback = LightningCallback(monitor, made.draw, every_n_steps=every_n_steps)
    assert isinstance(callback, made.pl.Callback)
    with_it, trainer = made.fit(tmp_path / "with", callback)
    without, _ = made.fit(tmp_path / "without")
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


def test_steps_of_several_batches_are_read_once(made: Any, tmp_path: Path) -> None:
    monitor = TextMonitor(sentences(64, 2), metrics="length", n=64)
    made.fit(tmp_path, LightningCallback(monitor, made.draw, every_n_steps=1), accumulate_grad_batches=2)
    assert [reading.step for reading in monitor.readings] == [1, 2, 3, 4, 5, 6]


def test_early_stopping_follows_it(made: Any, tmp_path: Path) -> None:
    monitor = TextMonitor(sentences(64, 2), metrics="length", n=64)
    callback = LightningCallback(monitor, lambda module, n, seed: made.TEXTS[:n])
    stop = made.EarlyStopping("textassay/length", patience=1, check_on_train_epoch_end=True)
    made.fit(tmp_path, callback, stop, max_epochs=9)
    assert len(monitor.readings) == 2


def test_doors(made: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monitor = TextMonitor(sentences(64, 2), metrics="length", n=64)
    with pytest.raises(OptionError, match="every_n_steps must be at least 1, got 0"):
        LightningCallback(monitor, made.draw, every_n_steps=0)
    monkeypatch.setattr(made.Bigrams, "on_fit_start", lambda self: setattr(self.output.weight, "ds_id", 0))
    with pytest.raises(OptionError, match="a monitor needs all weights in one process"):
        made.fit(tmp_path, LightningCallback(monitor, made.draw))
    monkeypatch.setattr(lightning, "find_spec", lambda name: None)
    for name in ("lightning.pytorch", "pytorch_lightning"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(MissingLightningError, match="pip install lightning"):
        LightningCallback(monitor, made.draw)
