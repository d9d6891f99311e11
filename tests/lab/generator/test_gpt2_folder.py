"""GPT-2 in folders: transformers opens ours and gives the same logits and tokens, and the other way round."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textassay as ta
from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.corpus.text_form import TextForm
from textassay.errors import InputError, OptionError
from textassay_lab.generators import Gpt2, Pretrained, from_pretrained

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = [f"the cat sat {word} on\u2003the mat" for word in "abcdefgh"] * 4
ODD = ["  the\tcat <eos> zzz\x1cx y <unk>b\u3000q\n", "caf\u00e9 (<pad>)", "", "the cat"]


def fitted(tokenizer: str) -> Gpt2:
    return Gpt2(preset="tiny", width=8, heads=2, layers=1, max_epochs=1, tokenizer=tokenizer).fit(
        TEXTS[:30], TEXTS[30:]
    )


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> tuple[Gpt2, Path]:
    folder = tmp_path_factory.mktemp("ours") / "gpt2"
    generator = fitted("whitespace")
    generator.save_pretrained(folder)
    return generator, folder


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2 of random weights, two rows more than tokens, whose tokeniser knows bytes and a few pairs."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    folder = tmp_path_factory.mktemp("theirs") / "gpt2"
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=265, initial_alphabet=alphabet, special_tokens=["<end>"])
    )
    transformers.PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<end>").save_pretrained(folder)
    sizes = {"vocab_size": 267, "n_positions": 24, "n_embd": 8, "n_layer": 2, "n_head": 2, "initializer_range": 0.4}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)
        transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def refused(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        Gpt2.from_pretrained(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def edited(folder: Path, copy: Path, **changes: Any) -> Path:
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    config = json.loads((copy / "config.json").read_text("utf-8"))
    (copy / "config.json").write_text(json.dumps({**config, **changes}), "utf-8")
    return copy


def test_transformers_opens_ours_with_the_same_logits(ours: tuple[Gpt2, Path]) -> None:
    generator, folder = ours
    peer, report = transformers.GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values())
    tokens = torch.from_numpy(np.random.default_rng(0).integers(3, 12, (3, 7)))
    with torch.no_grad():
        logits = generator.model.next_logits(generator.model.module(tokens).flatten(0, 1)).view(3, 7, -1)
        excluded = torch.zeros_like(logits).index_fill(2, torch.tensor([PAD, SOS]), -torch.inf)
        torch.testing.assert_close(logits, peer.eval()(tokens).logits + excluded, atol=1e-5, rtol=1e-5)
    config = peer.config
    assert (config.bos_token_id, config.eos_token_id, config.pad_token_id) == (SOS, EOS, PAD)
    wrapped = Pretrained(str(folder))
    short = ["the cat sat a", "", "sat sat"]
    np.testing.assert_allclose(wrapped.log_prob(short), generator.log_prob(short), rtol=1e-5)


@pytest.mark.parametrize("tokenizer", ["whitespace", "chars", "bpe-262"])
def test_transformers_makes_the_same_tokens(tokenizer: str, tmp_path: Path) -> None:
    from textassay_lab.generator.gpt2_folder import tokenizer_files

    form = TextForm.learn(TEXTS, tokenizer=tokenizer)
    files = {**tokenizer_files(form), "config.json": {"model_type": "gpt2"}}
    for name, document in files.items():
        (tmp_path / name).write_text(json.dumps(document), "utf-8")
    peer: Any = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in [*TEXTS[:8], *ODD]:
        own = form.vocabulary.encode(form.tokenizer(text)).tolist()
        assert peer(text)["input_ids"] == [SOS, *own]
    assert peer.decode(peer(TEXTS[0])["input_ids"], skip_special_tokens=True).split() == TEXTS[0].split()


def test_tokens_of_which_transformers_knows_no_rules_have_no_file(tmp_path: Path) -> None:
    from textassay_lab.generator.gpt2_folder import tokenizer_files

    assert tokenizer_files(TextForm.learn(TEXTS, tokenizer="words")) == {}
    assert tokenizer_files(TextForm.learn(TEXTS, tokenizer="whitespace", lowercase=True)) == {}


def test_a_folder_that_transformers_wrote_again_opens_with_its_weights(ours: tuple[Gpt2, Path], tmp_path: Path) -> None:
    generator, folder = ours
    peer = transformers.GPT2LMHeadModel.from_pretrained(folder)
    with torch.no_grad():
        peer.transformer.ln_f.weight *= 2
    peer.save_pretrained(tmp_path)
    again = from_pretrained(tmp_path)
    assert again.document["training"]["changed by"] == f"transformers {transformers.__version__}"
    assert again.form == generator.form
    changed = peer.transformer.ln_f.weight.detach().numpy()
    np.testing.assert_array_equal(again.model.arrays()["transformer.ln_f.weight"], changed)
    again.save_pretrained(tmp_path / "again")
    np.testing.assert_array_equal(from_pretrained(tmp_path / "again").log_prob(TEXTS[:3]), again.log_prob(TEXTS[:3]))
    peer.transformer.ln_f.weight.data[0] = torch.nan
    peer.save_pretrained(tmp_path)
    assert "1 of 8 values of the weights 'transformer.ln_f.weight' are not finite" in refused(tmp_path)


def test_tokenizers_of_a_model_that_was_there_before_go(ours: tuple[Gpt2, Path], tmp_path: Path) -> None:
    ours[0].save_pretrained(tmp_path)
    assert (tmp_path / "tokenizer.json").exists()
    ta.generators.Ngram(order=2).fit(TEXTS).save_pretrained(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


def test_a_gpt2_of_transformers_opens_as_ours(theirs: Path, tmp_path: Path) -> None:
    generator = Gpt2.from_pretrained(theirs)
    corpus = generator.corpus(["the cat sat on", "a caf\u00e9", "", "zq"])
    wrapped = Pretrained(str(theirs))
    assert wrapped.form.corpus(["zq"]).tokenizer == corpus.tokenizer
    for temperature in (1.0, 0.7):
        found = generator.model.token_log_probs(corpus, temperature=temperature)
        np.testing.assert_allclose(found, wrapped.model.token_log_probs(corpus, temperature=temperature), atol=1e-5)
    np.testing.assert_allclose(
        np.exp(generator.model.next_log_probs(corpus)), np.exp(wrapped.model.next_log_probs(corpus)), atol=1e-6
    )
    assert not np.isfinite(generator.model.next_log_probs(corpus)[:, [PAD, SOS, 3]]).any()
    peer = transformers.GPT2LMHeadModel.from_pretrained(theirs).eval()
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(theirs)
    ids = torch.tensor([[0, *tokenizer("the cat sat on")["input_ids"]]])
    with torch.no_grad():
        own = generator.model.module.plain_logits(
            generator.model.module(torch.tensor([[SOS, *corpus.tokens[: corpus.lengths[0]].tolist()]]))[0]
        )
        order = torch.tensor(tokenizer.convert_tokens_to_ids(list(generator.form.vocabulary.tokens[4:])))
        torch.testing.assert_close(own[:, 4:], peer(ids).logits[0][:, order], atol=1e-5, rtol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = generator.sample(20, seed=1)
    assert len(set(texts)) > 10
    transformers.GPT2Model.from_pretrained(theirs).save_pretrained(tmp_path)  # without the head: names have no prefix
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(theirs / name, tmp_path)
    np.testing.assert_array_equal(from_pretrained(tmp_path).log_prob(TEXTS[:1]), generator.log_prob(TEXTS[:1]))
    with pytest.raises(OptionError, match="part of a pretrained model"):
        generator.save_pretrained(tmp_path / "again")


def test_what_is_not_ours_is_one_line(theirs: Path, tmp_path: Path) -> None:
    hint = f"write pretrained:{tmp_path}"
    for name, value in {"n_inner": 20, "activation_function": "relu", "layer_norm_epsilon": 1e-6}.items():
        message = refused(edited(theirs, tmp_path, **{name: value}))
        assert f"has {name} {value}, not" in message
        assert hint in message
    edited(theirs, tmp_path)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [0, 1]}')
    assert "several end tokens" in refused(tmp_path)
    (tmp_path / "generation_config.json").unlink()
    assert "the model cannot be used" in refused(edited(theirs, tmp_path, n_layer=3))
    assert "do not fit its configuration" in refused(edited(theirs, tmp_path, vocab_size=266))
    edited(theirs, tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    assert "the model cannot be used" in refused(tmp_path)
    assert hint in refused(edited(theirs, tmp_path, model_type="llama"))
