"""The monitor in the trainer of transformers, with a tiny GPT-2 and a tokenizer trained here."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from made_up import sentences
from textassay.errors import OptionError
from textassay_lab.monitoring.monitor import TextMonitor
from textassay_lab.monitoring.transformers import TransformersCallback, sampler_of_tokenizer

TEXTS = sentences(80, 1)


class Reporter(TrainerCallback):
    """What TensorBoard's callback and its like are told."""

    def __init__(self) -> None:
        self.logs: list[dict[str, float]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        self.logs.append(dict(logs))


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.train_from_iterator(TEXTS, trainers.WordLevelTrainer(special_tokens=["<pad>", "<eos>", "<unk>"]))
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def made(folder: Path, tokenizer: PreTrainedTokenizerFast) -> tuple[Any, Reporter]:
    torch.manual_seed(0)
    end = tokenizer.eos_token_id
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=16,
            n_layer=1,
            n_head=2,
            n_positions=32,
            bos_token_id=end,
            eos_token_id=end,
        )
    )
    rows = [[end, *tokenizer(text).input_ids, end] for text in TEXTS]
    data = [
        {"input_ids": (row + [0] * 24)[:24], "labels": (row + [-100] * 24)[:24], "attention_mask": [1] * 24}
        for row in rows
    ]
    arguments = TrainingArguments(
        str(folder),
        max_steps=10,
        per_device_train_batch_size=16,
        learning_rate=1e-2,
        logging_steps=5,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    reporter = Reporter()
    return Trainer(model, arguments, train_dataset=data, callbacks=[reporter]), reporter


def test_training_is_the_same_with_it_and_reporters_are_told(
    tmp_path: Path, tokenizer: PreTrainedTokenizerFast, capsys: pytest.CaptureFixture[str]
) -> None:
    monitor = TextMonitor(sentences(60, 2), metrics="length,self-bleu(order=2)", n=60)
    trainer, reporter = made(tmp_path / "with", tokenizer)
    sample = sampler_of_tokenizer(tokenizer, max_new_tokens=20, batch_size=50)
    callback = TransformersCallback(monitor, trainer, sample, every_n_steps=4)
    assert isinstance(callback, TrainerCallback)
    trainer.add_callback(callback)
    trainer.train()
    assert [reading.step for reading in monitor.readings] == [4, 8]
    assert trainer.model.training
    for told in (reporter.logs, trainer.state.log_history):
        found = [logs for logs in told if "textassay/length" in logs]
        assert [logs["textassay/self-bleu(order=2)"] for logs in found] == [
            reading.values["self-bleu(order=2)"] for reading in monitor.readings
        ]
    assert [logs["step"] for logs in trainer.state.log_history if "textassay/length" in logs] == [4, 8]
    without, _ = made(tmp_path / "without", tokenizer)
    without.train()
    for name, weight in without.model.state_dict().items():
        assert torch.equal(weight, trainer.model.state_dict()[name]), name


def test_the_loss_of_a_step_that_is_read_is_logged_too(tmp_path: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    monitor = TextMonitor(sentences(60, 2), metrics="length", n=60)
    trainer, reporter = made(tmp_path, tokenizer)  # which logs every 5 steps
    sample = sampler_of_tokenizer(tokenizer, max_new_tokens=5)
    trainer.add_callback(TransformersCallback(monitor, trainer, sample, every_n_steps=5))
    trainer.train()
    history = trainer.state.log_history
    assert [logs["step"] for logs in history if "loss" in logs] == [5, 10]
    assert [logs["step"] for logs in history if "textassay/length" in logs] == [5, 10]
    assert sum("loss" in logs for logs in reporter.logs) == 2


def test_every_epoch_by_default(tmp_path: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    monitor = TextMonitor(sentences(60, 2), metrics="length", n=60)
    trainer, _ = made(tmp_path, tokenizer)
    trainer.add_callback(TransformersCallback(monitor, trainer, lambda model, n, seed: TEXTS[:n]))
    trainer.train()
    assert [reading.step for reading in monitor.readings] == [5, 10]


def test_the_sampler_draws_from_the_model_itself(tmp_path: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """First words as often as the model's own probabilities say, whatever its settings for generating are."""
    model = made(tmp_path, tokenizer)[0].model.eval()
    model.generation_config.top_k = 5
    model.generation_config.temperature = 0.3
    model.generation_config.repetition_penalty = 9.0
    model.generation_config.num_beams = 2
    settings = model.generation_config
    with torch.no_grad():
        model.transformer.ln_f.bias.normal_(0, 1)
        logits = model(torch.tensor([[tokenizer.eos_token_id]])).logits[0, -1]
    n = 4000
    texts = sampler_of_tokenizer(tokenizer, max_new_tokens=1, batch_size=1000)(model, n, 3)
    assert len(texts) == n
    assert model.generation_config is settings
    assert texts == sampler_of_tokenizer(tokenizer, max_new_tokens=1, batch_size=1000)(model, n, 3)
    chances = logits.softmax(0)
    for word in chances.topk(8).indices.tolist():
        if word > 2:
            expected = n * chances[word].item()
            assert abs(texts.count(str(tokenizer.decode([word]))) - expected) < 4.5 * expected**0.5 + 1


def test_doors(tmp_path: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    monitor = TextMonitor(sentences(60, 2), metrics="length", n=60)
    trainer, _ = made(tmp_path, tokenizer)
    nameless = PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer)  # type: ignore[no-untyped-call]
    with pytest.raises(OptionError, match="every_n_steps must be at least 1, got 0"):
        TransformersCallback(monitor, trainer, lambda model, n, seed: TEXTS, every_n_steps=0)
    with pytest.raises(OptionError, match="must have a bos_token or an eos_token"):
        sampler_of_tokenizer(nameless)
    with pytest.raises(OptionError, match="batch_size must be at least 1, got 0"):
        sampler_of_tokenizer(tokenizer, batch_size=0)
    next(trainer.model.parameters()).placements = ()
    trainer.add_callback(TransformersCallback(monitor, trainer, lambda model, n, seed: TEXTS))
    with pytest.raises(OptionError, match="a monitor needs all weights in one process"):
        trainer.train()
