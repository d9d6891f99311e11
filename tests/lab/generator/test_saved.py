"""Models in folders: what comes back is the same to the last bit, and what is damaged is refused in one line."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edited_models import model_document, write_model_document
from textassay.corpus.text_form import TextForm
from textassay.errors import InputError, OptionError, OutputError
from textassay.ngram.language_model import LanguageModel
from textassay.source.simple import WordShuffler
from textassay.storage import host_name
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.network import NetworkLanguageModel
from textassay_lab.generator.saved import load_model, save_model

pytest.importorskip("torch")

TEXTS = ["The food was good.", "the service was slow", "", "I will be back!", "good  food, good people"] * 5
FORM = TextForm.learn(TEXTS, tokenizer="words", lowercase=True, min_count=1)


def fitted(name: str) -> LanguageModel:
    own: dict[str, Any] = {"width": 8, "max_epochs": 1} if name in ("lstm", "gpt2") else {}
    return make_generator(name, preset="tiny", seed=2 if own else 0, **own).fit(FORM.corpus(TEXTS))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(fitted("lstm"), tmp_path / "model", form=FORM)
    return tmp_path / "model"


@pytest.mark.filterwarnings("ignore:.*samples were cut")
@pytest.mark.parametrize("name", ["gpt2", "lstm", "ngram", "position-unigram", "scheduled-sampling", "transformer-xl"])
def test_a_saved_model_is_the_same_model(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    save_model(model, tmp_path / "a" / "b", form=FORM)
    saved = load_model(tmp_path / "a" / "b")
    corpus = FORM.corpus(TEXTS[:5])
    assert saved.model.name == model.name
    np.testing.assert_array_equal(saved.model.token_log_probs(corpus), model.token_log_probs(corpus))
    assert saved.model.sample(300, seed=1).texts == model.sample(300, seed=1).texts
    assert saved.form == FORM
    again = saved.form.corpus(TEXTS[:5])
    np.testing.assert_array_equal(saved.model.log_prob(again), model.log_prob(corpus))
    assert saved.document["training"]["train"] == {
        "fingerprint": FORM.corpus(TEXTS).fingerprint,
        "sentences": 25,
        "tokens": len(FORM.corpus(TEXTS).tokens),
    }
    save_model(saved.model, tmp_path / "c", form=saved.form)
    for file in ("config.json", "model.safetensors"):
        assert (tmp_path / "c" / file).read_bytes() == (tmp_path / "a" / "b" / file).read_bytes()
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["config.json", "model.safetensors"]


def test_the_document_says_how_it_was_trained(folder: Path) -> None:
    saved = load_model(folder)
    assert isinstance(saved.model, NetworkLanguageModel)
    document = saved.document
    assert document["kind"] == "lstm"
    assert (document["settings"]["seed"], document["settings"]["recipe"]["max_epochs"]) == (2, 1)
    assert document["training"]["threads"] == 1
    assert document["training"]["history"]["precision"] == "float32"
    assert saved.model.history.epochs[0].loss == document["training"]["history"]["epochs"][0]["loss"]


def changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = model_document(folder)
    change(document)
    write_model_document(folder, document)


def test_what_is_no_model_is_refused(folder: Path, tmp_path: Path) -> None:
    def refused(message: str) -> None:
        with pytest.raises(InputError, match=message) as caught:
            load_model(folder)
        assert "\n" not in str(caught.value)

    with pytest.raises(InputError, match="nowhere is not a model folder: there is no such folder"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"is not a model folder: it has no config\.json"):
        load_model(tmp_path)
    numbers, document = folder / "model.safetensors", folder / "config.json"
    whole, told = numbers.read_bytes(), document.read_text("utf-8")
    numbers.write_bytes(whole[:-100])
    refused(r"model\.safetensors is truncated or damaged: .*file not fully covered")
    numbers.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    refused(r"model\.safetensors is truncated or damaged: its checksum is not the one in config\.json")
    numbers.unlink()
    refused(r"cannot read .*model\.safetensors: No such file")
    numbers.write_bytes(whole)
    document.write_text(told[:-50], "utf-8")
    refused(r"cannot read .*config\.json, it is truncated or damaged")
    document.write_text("[1]", "utf-8")
    refused("does not describe a model of textassay")
    for change, message in (
        (lambda d: d.update(format=2), "holds a model of another version of textassay: train it again, or use that"),
        (lambda d: d.pop("checksum"), "is damaged: it lacks checksum"),
        (lambda d: d.update(vocabulary="0"), "the vocabulary is not the one the model was trained with"),
        (lambda d: d["form"]["tokens"].pop(), "its hash does not match"),
        (lambda d: d["settings"].update(width=16), r"'embedding.weight' must have shape \(18, 16\), got \(18, 8\)"),
        (lambda d: d["settings"].update(layers=2), r"'layers.1.bias' must have shape \(8?\d+,\), got None"),
        (lambda d: d["settings"].update(depth=2), "unknown setting 'depth'"),
        (lambda d: d.update(kind="rnn"), "unknown generator 'rnn'"),
        (lambda d: d.update(form=[]), "contains no usable model"),
        (lambda d: d.update(settings="x"), "contains no usable model"),
        (lambda d: d["settings"].update(recipe=None), "contains no usable model"),
    ):  # fmt: skip
        document.write_text(told, "utf-8")
        changed(folder, change)
        refused(message)
    document.write_text(told, "utf-8")
    load_model(folder)


def test_one_bit_that_differs_is_one_line(folder: Path) -> None:
    path = folder / "config.json"
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        for bit in range(8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            with pytest.raises(InputError) as caught:
                load_model(folder)
            assert "\n" not in str(caught.value)
    edited = json.loads(whole)
    edited["textassay"]["settings"]["seed"] = 3
    path.write_text(json.dumps(edited), "utf-8")
    with pytest.raises(InputError, match=r"config\.json is truncated or damaged: its checksum differs; train"):
        load_model(folder)


def test_a_vocabulary_of_another_size_does_not_fit_the_weights(folder: Path) -> None:
    other = TextForm.learn([*TEXTS, "more words"], tokenizer="words", lowercase=True)
    changed(folder, lambda document: document.update(form=other.to_dict(), vocabulary=other.hash))
    with pytest.raises(
        InputError, match=f"a vocabulary of {len(other.vocabulary)} tokens: 'embedding.weight' must have shape"
    ):
        load_model(folder)


def test_what_cannot_be_saved(folder: Path, tmp_path: Path) -> None:
    model = fitted("ngram")
    other = TextForm.learn(TEXTS, tokenizer="words", min_count=2)
    with pytest.raises(OptionError, match="was fitted to text with another tokenizer or vocabulary"):
        save_model(model, tmp_path, form=other)
    with pytest.raises(InputError, match="call fit first"):
        save_model(make_generator("lstm", preset="tiny"), tmp_path, form=FORM)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write the model to"):
        save_model(model, tmp_path / "file", form=FORM)
    before = (folder / "config.json").read_bytes()
    with pytest.raises(OptionError, match="cannot be saved: only models that textassay trains can be"):
        save_model(WordShuffler().fit(FORM.corpus(TEXTS)), folder, form=FORM)
    assert (folder / "config.json").read_bytes() == before


def test_what_a_killed_save_left_is_cleared_away(tmp_path: Path) -> None:
    for number in (2**22 + 1, os.getppid()):  # no process has the first number
        for name in ("config.json", "model.safetensors"):
            (tmp_path / f".{name}.{host_name()}.{number}.0a.tmp").touch()
    save_model(fitted("ngram"), tmp_path, form=FORM)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f".{name}.{host_name()}.{os.getppid()}.0a.tmp" for name in ("config.json", "model.safetensors")),
        "config.json",
        "model.safetensors",
    ]
