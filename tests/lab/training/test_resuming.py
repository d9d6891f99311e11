"""Runs that were killed go on to the same weights; checkpoints that do not fit, or are damaged, are refused."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

import dropout_run
from textassay.errors import InputError, OutputError
from textassay.storage import host_name
from textassay_lab.training import checkpoint as checkpoint_module
from textassay_lab.training import loop
from textassay_lab.training.checkpoint import load_checkpoint, save_checkpoint
from textassay_lab.training.history import Epoch
from textassay_lab.training.recipe import Recipe

torch = pytest.importorskip("torch")


def equal(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(
    ("precision", "at", "number", "stands_at"),
    [
        # in the fourth step of epoch 3, when the third was written
        pytest.param("float32", "step", 14, (3, 3), marks=pytest.mark.slow),
        pytest.param("bfloat16", "step", 8, (2, 2), marks=pytest.mark.slow),
        # of 5 checkpoints an epoch, the last of each after the score
        pytest.param("bfloat16", "write", 9, (2, 3), marks=pytest.mark.slow),
        pytest.param("float32", "write", 10, (2, 4), marks=pytest.mark.slow),
    ],
)
def test_a_process_killed_inside_an_epoch_goes_on_to_the_same_bits(
    tmp_path: Path,
    precision: Literal["float32", "bfloat16"],
    at: str,
    number: int,
    stands_at: tuple[int, int],
) -> None:
    recipe = replace(dropout_run.RECIPE, precision=precision)
    whole = dropout_run.started()
    history = dropout_run.run(whole, recipe)
    path = tmp_path / "run.safetensors"
    task = {"checkpoint": str(path), "precision": precision, "at": at, "number": number}
    command = [sys.executable, dropout_run.__file__, json.dumps(task)]
    killed = subprocess.run(command, timeout=120, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-2000:]
    document = load_checkpoint(path)[1]
    assert (document["epoch"], document["step"]) == stands_at
    assert len(list(tmp_path.iterdir())) == (2 if at == "write" else 1)  # the half-written one

    resumed = dropout_run.started()
    assert dropout_run.run(resumed, recipe, checkpoint=path) == history
    assert equal(resumed, whole)
    assert [file.name for file in tmp_path.iterdir()] == ["run.safetensors"]


def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    others = [tmp_path / f".a.safetensors.{host_name()}.{number}.0a.tmp" for number in (os.getppid(), 2**22 + 1)]
    strangers = [tmp_path / name for name in (".a.safetensors.mine.tmp", ".b.safetensors.elsewhere.4194305.0a.tmp")]
    for other in (*others, *strangers):
        other.touch()
    save_checkpoint(path, {}, {})
    assert set(tmp_path.iterdir()) == {path, others[0], *strangers}


def failing_at(number: int, weights: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """Return the loss, not finite in step `number`, from 1."""
    plain, count = dropout_run.loss_of(weights, 0.3), 0

    def loss(batch: Any, rng: Any) -> Any:
        nonlocal count
        count += 1
        return plain(batch, rng) * (torch.inf if count == number else 1)

    return loss


@pytest.mark.parametrize("seconds", [0, 3600])
def test_a_loss_that_is_not_finite_leaves_the_last_good_checkpoint(tmp_path: Path, seconds: float) -> None:
    path = tmp_path / "run.safetensors"
    weights = dropout_run.started()
    message = r"the loss of epoch 2 is inf; a lower learning rate may help; the last good checkpoint is in .*run\.s"
    with pytest.raises(InputError, match=message):
        dropout_run.run(weights, loss=failing_at(8, weights), checkpoint=path, checkpoint_seconds=seconds)
    tensors, document = load_checkpoint(path)
    assert (document["epoch"], document["step"]) == (2, 2 if seconds == 0 else 0)
    assert all(tensor.isfinite().all() for tensor in tensors.values() if tensor.is_floating_point())
    whole, resumed = dropout_run.started(), dropout_run.started()
    history = dropout_run.run(whole)
    assert dropout_run.run(resumed, checkpoint=path) == history  # as if it had been the machine's fault
    assert equal(whole, resumed)


def test_weights_that_are_not_finite_are_never_written(tmp_path: Path) -> None:
    """The step after a finite loss may break them: the loss shows that one step later."""
    path = tmp_path / "run.safetensors"
    weights = dropout_run.started()
    plain, count = dropout_run.loss_of(weights, 0.3), 0

    def loss(batch: Any, rng: Any) -> Any:
        nonlocal count
        count += 1
        value = plain(batch, rng)
        return value + ((0 * weights["a"]).sqrt().sum() if count == 8 else 0)  # the gradient alone is NaN

    with pytest.raises(InputError, match="a weight after epoch 2, step 3 is not finite"):
        dropout_run.run(weights, loss=loss, checkpoint=path, checkpoint_seconds=0)
    tensors, document = load_checkpoint(path)
    assert document["step"] == 2
    assert all(tensor.isfinite().all() for tensor in tensors.values() if tensor.is_floating_point())


def test_time_decides_when_a_checkpoint_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step takes ten seconds here: a checkpoint is due 30 seconds after the last, and after each of four epochs."""
    now = 0.0
    monkeypatch.setattr(loop.time, "monotonic", lambda: now)  # type: ignore[attr-defined]
    written: list[tuple[int, int]] = []
    monkeypatch.setattr(
        "textassay_lab.training.loop.save_checkpoint",
        lambda path, tensors, document: written.append((document["epoch"], document["step"])),
    )
    weights = dropout_run.started()
    plain = dropout_run.loss_of(weights, 0.3)

    def loss(batch: Any, rng: Any) -> Any:
        nonlocal now
        now += 10
        return plain(batch, rng)

    dropout_run.run(weights, loss=loss, checkpoint=tmp_path / "a", checkpoint_seconds=30)
    assert written == [(1, 3), (2, 0), (2, 3), (3, 0), (3, 3), (4, 0), (4, 3), (5, 0)]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"seed": 4}, "another seed: delete it"),
        ({"config": {"layers": 2}}, "another config"),
        ({"recipe": replace(dropout_run.RECIPE, max_epochs=9), "seed": 4}, "another recipe and seed"),
        ({"batches": lambda epoch: [dropout_run.BATCHES[0]] * 3}, "belongs to other batches"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path, changes: dict[str, Any], what: str) -> None:
    path = tmp_path / "run.safetensors"
    weights = dropout_run.started()
    with pytest.raises(InputError, match="is in"):
        dropout_run.run(
            weights, loss=failing_at(5, weights), checkpoint=path, checkpoint_seconds=0, config={"layers": 1}
        )
    settings = {"config": {"layers": 1}, **changes}
    with pytest.raises(InputError, match=what):
        dropout_run.run(dropout_run.started(), checkpoint=path, **settings)


def test_auto_precision_of_another_machine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.safetensors"
    recipe = Recipe(1, precision="auto")
    monkeypatch.setattr("textassay_lab.training.backend.bfloat16_is_native", lambda device: True)
    assert dropout_run.run(dropout_run.started(), recipe, checkpoint=path).precision == "bfloat16"
    assert dropout_run.run(dropout_run.started(), recipe, checkpoint=path).precision == "bfloat16"
    monkeypatch.setattr("textassay_lab.training.backend.bfloat16_is_native", lambda device: False)
    with pytest.raises(InputError, match=r"trained in bfloat16, but this run uses float32"):
        dropout_run.run(dropout_run.started(), recipe, checkpoint=path)
    assert dropout_run.run(dropout_run.started(), recipe).precision == "float32"


def test_another_number_of_threads_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    dropout_run.run(dropout_run.started(), checkpoint=path, config={"sizes": (1, 2)})
    dropout_run.run(dropout_run.started(), checkpoint=path, config={"sizes": (1, 2)})  # a list in the document
    tensors, document = load_checkpoint(path)
    save_checkpoint(path, tensors, {**document, "threads": 7})
    with pytest.warns(UserWarning, match="made with 7 threads, but this run has 1: the last bits"):
        dropout_run.run(dropout_run.started(), checkpoint=path, config={"sizes": (1, 2)})


def test_a_damaged_checkpoint_is_refused_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.safetensors"
    dropout_run.run(dropout_run.started(), Recipe(1), checkpoint=path)
    other = {**dropout_run.started(), "d": torch.zeros(1, requires_grad=True)}
    with pytest.raises(InputError, match="another weights"):
        dropout_run.run(other, Recipe(1), checkpoint=path)
    good = path.read_bytes()

    def refused(content: bytes, message: str) -> None:
        path.write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            dropout_run.run(dropout_run.started(), Recipe(1), checkpoint=path)
        assert "\n" not in str(caught.value)

    truncated = r"cannot read the checkpoint .*run\.safetensors: truncated, .*; delete it to start again"
    refused(good[:100], truncated)
    refused(good[:-1], truncated)
    refused(b"", truncated)
    refused(good[:-7] + bytes([good[-7] ^ 1]) + good[-6:], r"is damaged \(its checksum differs\): delete it")
    number = good.index(b'loss_sum\\":') + len('loss_sum\\": ')
    refused(good[:number] + b"7" + good[number + 1 :], "its checksum differs")
    monkeypatch.setattr(checkpoint_module, "FORMAT", 2)
    refused(good, "was written by another version of textassay: continue with that version, or delete it")
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(2)}, path)
    refused(path.read_bytes(), "is not a textassay checkpoint: move it away, or use another folder")
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match="cannot read the checkpoint"):
        dropout_run.run(dropout_run.started(), Recipe(1), checkpoint=path)
    with pytest.raises(OutputError, match=r"cannot write the checkpoint .*: No such file or directory"):
        save_checkpoint(tmp_path / "nowhere" / "run.safetensors", other, {})
    with pytest.raises(OutputError, match="there is no folder"):  # before anything is trained
        dropout_run.run(other, loss=None, checkpoint=tmp_path / "nowhere" / "run.safetensors")


def test_checkpoints_hold_what_was_put_in(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    shared = torch.arange(6.0).reshape(2, 3)
    tensors = {"a": shared.T, "b": shared, "c": shared[1:], "half": shared.bfloat16(), "none": torch.zeros(0, 2)}
    save_checkpoint(path, tensors, {"words": ["é", "<unk>"], "n": 1})
    found, document = load_checkpoint(path)
    assert equal(tensors, found)
    assert document == {"words": ["é", "<unk>"], "n": 1}


def test_a_checkpoint_can_be_read_by_whom_other_files_can(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    save_checkpoint(tmp_path / "a.safetensors", {"a": torch.zeros(2)}, {})
    assert (tmp_path / "a.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    first, second = dropout_run.started(), dropout_run.started()
    path = tmp_path / "run.safetensors"
    history = dropout_run.run(first, checkpoint=path)
    assert history.best == Epoch(4, history.epochs[3].loss, 3.0)  # without a score, the last
    assert dropout_run.run(second, checkpoint=path, loss=None) == history
    assert equal(first, second)
