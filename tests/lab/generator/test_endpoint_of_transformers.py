"""An endpoint that others wrote: `transformers serve`, with a tiny model that is made here."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from textassay.endpoints import EndpointError
from textassay_lab.generators import Endpoint, from_pretrained

pytestmark = pytest.mark.slow
SECONDS = 120.0  # until the server is there


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a transformer of 32 numbers a token, which draws at random."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE
    from tokenizers.trainers import BpeTrainer
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("served") / "tiny"
    bytes_of = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = bytes_of
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(vocab_size=300, special_tokens=["<|end|>"], initial_alphabet=bytes_of.alphabet())
    tokenizer.train_from_iterator(["the food was good .", "the place was loud ."] * 10, trainer)
    made: Any = PreTrainedTokenizerFast
    saved = made(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>")
    saved.chat_template = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
    config = GPT2Config(
        vocab_size=len(saved), n_positions=128, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0,
        pad_token_id=0,
    )  # fmt: skip
    network = GPT2LMHeadModel(config)
    assert network.generation_config is not None
    network.generation_config.do_sample = True
    network.save_pretrained(folder)
    saved.save_pretrained(folder)
    return folder


@contextmanager
def _serving(model: Path, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    program = shutil.which("transformers", path=str(Path(sys.executable).parent)) or "transformers"
    command = [program, "serve", str(model), "--host", "127.0.0.1", "--port", str(port)]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**os.environ, "HF_HUB_OFFLINE": "1"}, **silent) as process:  # type: ignore[call-overload]
        try:
            deadline = time.monotonic() + SECONDS
            while time.monotonic() < deadline and process.poll() is None:
                try:
                    if requests.get(f"http://127.0.0.1:{port}/health", timeout=1).ok:
                        break
                except requests.RequestException:
                    time.sleep(0.2)
            yield process
        finally:
            process.kill()


def test_answers_of_transformers_serve(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("textassay.endpoints._FIRST_WAIT", 0.05)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    with _serving(model, port) as process:
        chat = Endpoint(str(model), url=url, keep=tmp_path / "kept", prompt="the food", max_tokens=8, retries=1)
        first = chat.sample(12, seed=0)
        assert len(set(first)) > 6
        answers = chat.model.kept(0).first(12)
        assert {answer.finish for answer in answers} <= {"length", "stop"}
        assert all(answer.prompt_tokens and answer.completion_tokens is not None for answer in answers)
        assert "12 answers of" in chat.model.note(answers)
        plain = from_pretrained(f"openai:{model}@{url}?mode=completions&prompt=the&max_tokens=5&temperature=0.7")
        assert len(plain.sample(5, seed=1)) == 5
        with_prompts = Endpoint(str(model), url=url, max_tokens=4, system="Be brief.").answers(["one", "two"], 2)
        assert with_prompts.prompts == ("one", "one", "two", "two")
        with pytest.raises(EndpointError, match="refused the request"):  # it knows all fields that it takes
            Endpoint(str(model), url=url, prompt="a", extra={"no_such_field": 1}).sample(1)
        with pytest.raises(EndpointError, match=r"other.*status 40"):
            Endpoint("other", url=url, prompt="a").sample(1)
        process.kill()
        process.wait()
        with pytest.raises(EndpointError, match="12 of 20 answers are there, stored on disk"):
            chat.sample(20, seed=0)
    with _serving(model, port):
        again = Endpoint(str(model), url=url, keep=tmp_path / "kept", prompt="the food", max_tokens=8)
        drawn = again.sample(20, seed=0)
    assert drawn[:12] == first
