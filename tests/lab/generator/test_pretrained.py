"""Pretrained models: tiny ones made here; their loss, softmax and `generate` against ours; all that can be wrong."""

import json
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS, UNK
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import InputError, MissingExtraError, OptionError
from textassay.execution.threads import workers
from textassay_lab.generator.pretrained import PretrainedModel

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = ["the cat sat on the mat", "the dog ran", "a caf\u00e9, na\u00efve", "\u4f60\u597d <|endoftext|>", ""]
END = "<|endoftext|>"


def save(folder: Path, *, extra: int = 0, specials: tuple[str, ...] = (END,), size: int = 280, **config: Any) -> Path:
    """Save a GPT-2 of random weights whose tokeniser knows bytes, a few pairs and `specials`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, special_tokens=list(specials), show_progress=False
    )
    core.train_from_iterator(TEXTS[:3] * 3, trainer)
    names = {"eos_token": specials[0]}
    if len(specials) > 1:
        names |= {"bos_token": specials[1], "pad_token": specials[2]}
    transformers.PreTrainedTokenizerFast(tokenizer_object=core, **names).save_pretrained(folder)
    settings = {"n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 2, "bos_token_id": None, "eos_token_id": 0}
    wide = transformers.GPT2Config(
        vocab_size=core.get_vocab_size() + extra, initializer_range=0.4, **{**settings, **config}
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.GPT2LMHeadModel(wide).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> PretrainedModel:
    return PretrainedModel(folder, batch_size=16, max_length=8)


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


@pytest.fixture(scope="module")
def peer(folder: Path) -> Any:
    return transformers.GPT2LMHeadModel.from_pretrained(folder).eval()


def draw(model: PretrainedModel, n: int, **settings: Any) -> Corpus:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.sample(n, **{"seed": 0, **settings})


def ids_of(model: PretrainedModel, corpus: Corpus, index: int) -> list[int]:
    """Return the tokens of a sentence as ids of the tokeniser, through the texts of the tokens."""
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(model._folder)
    return [int(number) for number in tokenizer.convert_tokens_to_ids(corpus.sentence(index))]


def test_log_probs_are_the_models_own_loss(model: PretrainedModel, peer: Any) -> None:
    corpus = model.form.corpus([*TEXTS[:3], ""])
    scores, tokens = model.log_prob(corpus), model.token_log_probs(corpus)
    assert len(tokens) == len(corpus.tokens) + len(corpus)
    for index in range(len(corpus)):
        ids = torch.tensor([[0, *ids_of(model, corpus, index), 0]])  # end, sentence, end
        loss = peer(ids, labels=ids).loss.item()
        assert scores[index] == pytest.approx(-loss * (ids.shape[1] - 1), rel=1e-5)
        logits = peer(ids).logits[0, :-1].double().detach()
        own = torch.log_softmax(logits / 0.7, 1)[torch.arange(ids.shape[1] - 1), ids[0, 1:]].sum().item()
        assert model.log_prob(corpus, temperature=0.7)[index] == pytest.approx(own, rel=1e-5)
    following = model.next_log_probs(corpus)
    ends = tokens[corpus.offsets[1:] + np.arange(len(corpus))]
    np.testing.assert_allclose(following[:, EOS], ends, atol=1e-5)
    np.testing.assert_allclose(np.exp(following).sum(axis=1), 1, rtol=1e-9)
    assert np.isneginf(following[:, [PAD, SOS, UNK]]).all()


def test_neither_batches_nor_workers_change_a_score(model: PretrainedModel, folder: Path) -> None:
    corpus = model.form.corpus(TEXTS[:3] * 5)
    alone = PretrainedModel(folder, batch_size=1)
    np.testing.assert_allclose(alone.token_log_probs(corpus), model.token_log_probs(corpus), atol=1e-5)
    with workers(3):
        np.testing.assert_array_equal(PretrainedModel(folder, batch_size=1).log_prob(corpus), alone.log_prob(corpus))
    assert model.log_prob(model.form.corpus([])).shape == (0,)
    assert model.next_log_probs(model.form.corpus([])).shape == (0, len(model.vocabulary))


@pytest.mark.feature("A-04")
@pytest.mark.parametrize(
    "settings", [{}, {"temperature": 0.6}, {"top_k": 5}, {"temperature": 1.5, "top_p": 0.8}, {"top_k": 9, "top_p": 0.7}]
)
def test_first_tokens_follow_the_softmax(folder: Path, settings: dict[str, Any]) -> None:
    from scipy.stats import chisquare

    n = 6000
    model = PretrainedModel(folder, batch_size=500, max_length=1)
    drawn = draw(model, n, **settings)
    probs = np.exp(model.next_log_probs(model.form.corpus([""]), temperature=settings.get("temperature", 1))[0])
    order = np.argsort(-probs)
    kept = np.zeros(len(probs), dtype=bool)
    kept[order[: settings.get("top_k")]] = True
    probs = np.where(kept, probs, 0) / probs[kept].sum()
    if "top_p" in settings:
        kept[order[np.searchsorted(np.cumsum(probs[order]), settings["top_p"]) + 1 :]] = False
        probs = np.where(kept, probs, 0) / probs[kept].sum()
    firsts = np.where(drawn.lengths > 0, drawn.tokens[np.minimum(drawn.offsets[:-1], len(drawn.tokens) - 1)], EOS)
    found = np.bincount(firsts, minlength=len(probs))
    assert (found[~kept] == 0).all()
    often = probs * n >= 8
    expected = np.append(probs[often], probs[~often].sum()) * n
    observed = np.append(found[often], found[~often].sum())
    some = expected > 0
    assert chisquare(observed[some], expected[some]).pvalue > 1e-3


def test_whole_sentences_are_as_frequent_as_log_prob_says(folder: Path) -> None:
    model = PretrainedModel(folder, batch_size=256, max_length=15)
    n = 2000
    drawn = draw(model, n, seed=9, temperature=0.4)
    ended = drawn.take(np.flatnonzero(drawn.lengths < 15))
    probs = dict(zip(ended.texts, np.exp(model.log_prob(ended, temperature=0.4)), strict=True))
    for text, prob in sorted(probs.items(), key=lambda item: -item[1])[:5]:
        assert abs(ended.texts.count(text) - n * prob) < 4.5 * np.sqrt(n * prob) + 1


@pytest.mark.feature("A-04")
def test_greedy_is_what_generate_gives(model: PretrainedModel, peer: Any) -> None:
    prefix = model.form.corpus(["the", "a", "\u00e9", "dog ran"])
    drawn = draw(model, 4, top_k=1, prefix=prefix)
    cold, colder = (draw(model, 4, temperature=temperature, prefix=prefix) for temperature in (1e-4, 1e-300))
    for index in range(4):
        ids = torch.tensor([[0, *ids_of(model, prefix, index)]])
        found = peer.generate(ids, do_sample=False, max_length=9, pad_token_id=0, attention_mask=torch.ones_like(ids))
        expected = found[0, 1:].tolist()
        expected = expected[: expected.index(0)] if 0 in expected else expected
        assert ids_of(model, drawn, index) == expected
        assert drawn.sentence(index)[: prefix.lengths[index]] == prefix.sentence(index)
    assert cold.texts == colder.texts == drawn.texts


def test_draws_depend_on_seed_and_sentence_number_alone(model: PretrainedModel, folder: Path) -> None:
    drawn = draw(model, 40, seed=4)
    assert list(draw(model, 7, seed=4).texts) == list(drawn.texts[:7])
    assert list(draw(model, 7, seed=5).texts) != list(drawn.texts[:7])
    assert list(draw(PretrainedModel(folder, batch_size=5, max_length=8), 40, seed=4).texts) == list(drawn.texts)
    with workers(3):
        np.testing.assert_array_equal(draw(model, 40, seed=4).tokens, drawn.tokens)
    one = draw(model, 6, prefix=model.form.corpus(["the"]))
    assert all(text.startswith("the") for text in one.texts)


def test_texts_go_through_its_form_and_back(model: PretrainedModel) -> None:
    corpus = model.form.corpus(TEXTS)
    assert [join_tokens(corpus.tokenizer, corpus.sentence(index)) for index in range(len(TEXTS))] == TEXTS
    assert corpus.tokenizer == model.tokenizer == model.form.tokenizer.name
    assert model.tokenizer.startswith("bpe-280-")
    assert UNK not in corpus.tokens
    assert EOS not in corpus.tokens  # text that looks like the end token is text
    drawn = draw(model, 20)
    assert drawn.tokenizer == model.tokenizer
    assert drawn.vocabulary is model.vocabulary
    assert [join_tokens(drawn.tokenizer, drawn.sentence(index)) for index in range(20)] == list(drawn.texts)
    with pytest.raises(OptionError, match="cannot be saved"):
        model.form.to_dict()


def test_special_tokens_rows_without_token_and_several_ends(tmp_path: Path) -> None:
    """Begin, padding and rows of the output layer without a token are never drawn; the ends are one token."""
    folder = save(tmp_path / "other", specials=("</s>", "<s>", "<pad>", "<stop>"), extra=5, bos_token_id=1)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [0, 3], "bos_token_id": 1}))
    model = PretrainedModel(folder, max_length=6)
    peer = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    corpus = model.form.corpus(["the cat", ""])
    for index, score in enumerate(model.log_prob(corpus)):
        ids = [1, *ids_of(model, corpus, index)]
        logits = peer(torch.tensor([ids])).logits[0].double().detach()
        logits[:, [1, 2]] = -torch.inf
        logits[:, 280:] = -torch.inf
        rows = torch.log_softmax(logits, 1)
        inside = sum(rows[place, token].item() for place, token in enumerate(ids[1:]))
        assert score == pytest.approx(inside + rows[-1, [0, 3]].logsumexp(0).item(), rel=1e-5)
    np.testing.assert_allclose(np.exp(model.next_log_probs(corpus)).sum(axis=1), 1, rtol=1e-9)
    drawn = draw(model, 300)
    assert (drawn.tokens > UNK).all()
    assert not any("<" in text and ">" in text and "s>" in text for text in drawn.texts)


def test_a_tokenizer_with_other_rules_decodes_its_own_way(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = {token: number for number, token in enumerate(["<s>", "</s>", "<unk>", "\u2581the", "\u2581cat", "\u2581"])}
    core = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=core, **names).save_pretrained(tmp_path)
    config = transformers.GPT2Config(
        vocab_size=6, n_positions=8, n_embd=8, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=1
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    model = PretrainedModel(tmp_path, max_length=4)
    assert model.tokenizer.startswith("hf-6-")
    corpus = model.form.corpus(["the cat", "the mouse"])
    assert corpus.sentence(1) == ["\u2581the", "<unk>"]
    assert np.isfinite(model.log_prob(corpus)).all()
    drawn = draw(model, 30, prefix=model.form.corpus(["the cat"]))
    assert all(text.startswith("the cat") for text in drawn.texts)
    assert set(" ".join(drawn.texts).replace("<unk>", " <unk> ").split()) <= {"the", "cat", "<unk>"}


def test_half_precision_is_near_and_asked_for(folder: Path, model: PretrainedModel) -> None:
    half = PretrainedModel(folder)
    half.precision = "bfloat16"
    corpus = model.form.corpus(TEXTS[:3])
    found, full = half.log_prob(corpus), model.log_prob(corpus)
    np.testing.assert_allclose(found, full, rtol=0.05)
    assert not np.array_equal(found, full)
    half.precision = "float32"
    np.testing.assert_allclose(half.log_prob(corpus), full, rtol=1e-6)
    half.precision = "int8"
    with pytest.raises(OptionError, match="precision must be float32 or bfloat16, got int8"):
        half.log_prob(corpus)


def test_names_say_which_model_it_is(model: PretrainedModel, copy: Path) -> None:
    again = PretrainedModel(copy)
    assert again.name == model.name.replace("tiny", "copy")
    assert model.name.startswith("pretrained(tiny:")
    assert again.tokenizer == model.tokenizer
    assert model.n_parameters == sum(
        weight.numel() for weight in transformers.GPT2LMHeadModel.from_pretrained(copy).parameters()
    )
    written = (copy / "tokenizer.json").read_text()
    (copy / "tokenizer.json").write_text(f"{written}\n")
    assert PretrainedModel(copy).name != again.name
    assert PretrainedModel(copy).tokenizer == model.tokenizer


def test_what_it_cannot_do_is_one_line(model: PretrainedModel) -> None:
    corpus = model.form.corpus(TEXTS[:2])
    with pytest.raises(OptionError, match="is pretrained and cannot be fitted"):
        model.fit(corpus)
    with pytest.raises(InputError, match=r"reads its own tokens \(bpe-280-.*\), got whitespace"):
        model.log_prob(Corpus.from_texts(TEXTS))
    long = model.form.corpus(["the", "c" * 15, "c" * 16])
    assert np.isfinite(model.log_prob(long.take(np.arange(2)))).all()
    with pytest.raises(InputError, match="reads at most 15 tokens, but sentence 3 has 16: shorten it"):
        model.log_prob(long)
    with pytest.raises(InputError, match="sentence 3 has 16"):
        model.sample(3, seed=0, prefix=long)
    unknown = Corpus(np.array([5, UNK]), np.array([0, 1, 2]), model.vocabulary, ["", ""], tokenizer=model.tokenizer)
    with pytest.raises(InputError, match="sentence 2 holds a token that the model does not know"):
        model.log_prob(unknown)
    wrong: dict[str, Any] = {"n": 0, "temperature": 0.0, "top_k": 0, "top_p": 0.0, "context": corpus, "seed": -1}
    for name, value in wrong.items():
        with pytest.raises(OptionError, match=name):
            model.sample(**{"n": 1, "seed": 0, name: value})
    with pytest.raises(OptionError, match="temperature must be above 0"):
        model.token_log_probs(corpus, temperature=0)
    with pytest.raises(OptionError, match="batch_size must be at least 1"):
        PretrainedModel("any", batch_size=0)
    with pytest.warns(UserWarning, match="of 200 samples were cut at 8 tokens"):
        model.sample(200, seed=0)


def test_too_little_memory_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = PretrainedModel(folder, batch_size=4)
    corpus = model.form.corpus(TEXTS[:2])
    asked: list[Callable[[], object]] = [
        lambda: model.sample(2, seed=0),
        lambda: model.log_prob(corpus),
        lambda: model.next_log_probs(corpus),
    ]
    model.log_prob(corpus)

    def fail(*args: object, **settings: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB\nand more")

    monkeypatch.setattr(
        model._network(), "module", Mock(side_effect=fail, parameters=model._network().module.parameters)
    )
    for ask in asked:
        with pytest.raises(OptionError, match=r"out of memory with batch_size 4 in float32: a smaller batch_size"):
            ask()


def message(name: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        PretrainedModel(name).n_parameters  # noqa: B018
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_folders_that_hold_no_model_that_can_be_used(copy: Path, tmp_path: Path) -> None:
    assert "no such folder" in message(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    assert "no config.json" in message(tmp_path / "empty")
    assert "is a file" in message(copy / "config.json")
    weights = copy / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(b"damaged")
    assert "the model cannot be used" in message(copy)
    weights.rename(copy / "pytorch_model.bin")
    assert "pickle files (pytorch_model.bin), which can run any code when read" in message(copy)
    (copy / "pytorch_model.bin").unlink()
    assert "contains no weights" in message(copy)
    weights.write_bytes(whole)
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "n_layer": 3}))
    assert "its files lack weights, such as transformer.h.2" in message(copy)
    own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}}
    (copy / "config.json").write_text(json.dumps({**config, **own}))
    assert "its configuration cannot be used" in message(copy)
    (copy / "config.json").write_text("{")
    assert "its configuration cannot be used" in message(copy)
    (copy / "config.json").write_text(json.dumps({**config, "eos_token_id": None}))
    (copy / "generation_config.json").unlink()
    reader = json.loads((copy / "tokenizer_config.json").read_text())
    (copy / "tokenizer_config.json").write_text(json.dumps({**reader, "eos_token": None}))
    assert "it has no end token" in message(copy)
    (copy / "tokenizer.json").write_text("{}")
    assert "its tokenizer cannot be used" in message(copy)


def test_a_network_that_reads_both_ways_is_refused(copy: Path) -> None:
    config = transformers.BertConfig(
        vocab_size=280,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
        initializer_range=0.5,
        bos_token_id=0,
        eos_token_id=0,
    )
    transformers.BertLMHeadModel(config).save_pretrained(copy)
    assert "it attends to the tokens it is to predict" in message(copy)


def test_a_network_whose_state_is_not_kept_while_drawing_is_refused(copy: Path) -> None:
    """The library takes the cache and leaves it empty: each token would be drawn as if it were the first."""
    config = transformers.MambaConfig(
        vocab_size=280, hidden_size=16, num_hidden_layers=1, state_size=4, initializer_range=0.5, bos_token_id=0
    )
    transformers.MambaForCausalLM(config).save_pretrained(copy)
    assert "its state is not a cache of keys and values" in message(copy)


def test_a_name_without_a_model_says_how_to_get_one(no_model_online: str) -> None:
    found = message("nobody/no-model")
    assert no_model_online in found
    assert "hf download nobody/no-model --local-dir DIR" in found


def test_a_name_in_the_local_cache_needs_no_network(
    folder: Path, model: PretrainedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants, hf_api

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(hf_api, "ENDPOINT", "http://127.0.0.1:9", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    kept = tmp_path / "models--nobody--tiny"
    shutil.copytree(folder, kept / "snapshots" / ("0" * 40))
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("0" * 40)
    found = PretrainedModel("nobody/tiny")
    assert found.name == model.name.replace("tiny", "nobody/tiny")
    corpus = model.form.corpus(TEXTS[:2])
    np.testing.assert_allclose(found.log_prob(corpus), model.log_prob(corpus), rtol=1e-5)


def test_without_the_extra_the_command_that_installs_it_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay.prior.model_folder.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'textassay\[neural\]'"):
        PretrainedModel(folder)


def test_nothing_is_printed(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = PretrainedModel(folder, max_length=3)
    model.log_prob(model.form.corpus(TEXTS[:2]))
    draw(model, 3)
    assert capfd.readouterr() == ("", "")
    assert "transformers" in sys.modules


def test_sequences_are_read_and_gone_on_from_in_batches(model: PretrainedModel) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        sampled = model.sample(40, seed=2)
    tokens, lengths = model.continued(np.empty((40, 0), dtype=np.int64), 8, seed=2, ends=True)
    assert np.array_equal(tokens, sampled.tokens)
    assert np.array_equal(lengths, sampled.lengths)
    rows = np.stack([sampled.tokens[:4], sampled.tokens[4:8]]).astype(np.int64)
    tokens, lengths = model.continued(rows, 3, seed=2)
    assert lengths.tolist() == [7, 7]
    assert np.array_equal(tokens.reshape(2, 7)[:, :4], rows)
    vectors = model.next_vectors(rows)
    prefixes = Corpus(
        rows.reshape(-1).astype(np.int32), np.array([0, 4, 8]), model.vocabulary, ("", ""), tokenizer=model.tokenizer
    )
    expected = model.next_log_probs(prefixes)
    found = torch.log_softmax(model.next_logits(vectors[:, 4]).double(), 1).numpy()
    assert np.abs(np.exp(found) - np.exp(expected)).max() < 1e-6
    with pytest.raises(InputError, match="reads at most 15 tokens, got sequences of 16"):
        model.continued(rows, 12, seed=2)
