"""Model folders that were edited or damaged: of every kind, refused in one line, in bounded time and memory."""

import hashlib
import itertools
import json
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edited_models import model_document, write_model_document
from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.errors import InputError
from textassay_lab.generator.catalog import KINDS, make_generator
from textassay_lab.generator.saved import load_generator, save_model
from textassay_lab.training.history import History

pytest.importorskip("torch")

TEXTS = ["the food was good", "0 1 2", "I will be back", "good food good people"] * 3
FORM = TextForm.learn(TEXTS)
ATTRIBUTES = {"rating": ["<other>", "good", "bad"], "length": ["<other>", "short"]}
SMALL: dict[str, dict[str, Any]] = {
    "leakgan": {"width": 4, "goal": 2, "feature_width": 4, "feature_filters": [[1, 4], [2, 4]]},
    "noise-gru": {"width": 4, "length": 6},
    "random-lstm": {"n_words": 30, "length": 6, "width": 4},
    "tied-lstm": {"width": 4, "embedding_width": 4, "fixed_width": 2},
    "transformer-xl": {"cutoffs": (6, 9)},
}
CONTEXTUAL = ("att2seq", "c2s", "gc2s")
# what no weight says and a draw does not need: it may be as large as it likes
MAY_BE_ZERO = ("dropout", "memory_reset_prob", "label_smoothing", "averaging", "fixed_width", "beta2")
HARMLESS = {
    "batch_size", "batch_tokens", "seed", "max_epochs", "patience", "warmup_steps", "max_norm", "learning_rate",
    "weight_decay", "segment", "memory", "noise", "strength", "spread", "sharpness", "k",
}  # fmt: skip
SECONDS = 20
BYTES = 1 << 30


@pytest.fixture(autouse=True)
def bounds() -> Iterator[None]:
    """Fail a test that takes far longer, or far more memory, than anything here should."""

    def stop(*_: object) -> None:
        raise TimeoutError("opening a model did not end")

    before = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text("utf-8").split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + BYTES, before[1]))
    handler = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, handler)
    resource.setrlimit(resource.RLIMIT_AS, before)


def made(kind: str, folder: Path) -> None:
    """Save a small model of a kind, with weights that nobody learnt."""
    if kind in ("ngram", "position-unigram"):
        save_model(make_generator(kind, preset="tiny").fit(FORM.corpus(TEXTS)), folder, form=FORM)
        return
    cut = {} if kind in ("noise-gru", "random-lstm", "translation") else {"max_length": 4}
    own = {**cut, **SMALL.get(kind, {}), **({"attributes": ATTRIBUTES} if kind in CONTEXTUAL else {})}
    has_preset = kind not in ("leakgan", "noise-gru", "random-lstm", "tied-lstm")
    model: Any = make_generator(kind, preset="tiny" if has_preset else None, **own)
    form = model.form if kind == "random-lstm" else FORM
    shapes = model.shapes(len(form.vocabulary), 8)
    rng = np.random.default_rng(0)
    arrays = {name: 0.1 * rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    record: dict[str, Any] = {"history": asdict(History()), "train": {"fingerprint": "f", "sentences": 12}}
    record |= {"contexts": {"numbers": [0, 4], "counts": [2, 1]}} if kind in CONTEXTUAL else {}
    record = json.loads(json.dumps(record))
    model.restore(arrays, vocabulary=form.vocabulary, tokenizer=form.tokenizer.name, record=record)
    save_model(model, folder, form=form)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    parent = tmp_path_factory.mktemp("models")
    for kind in KINDS:
        made(kind, parent / kind)
    return {kind: parent / kind for kind in KINDS}


@pytest.fixture
def copy(folders: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    def copied(kind: str) -> Path:
        return Path(shutil.copytree(folders[kind], tmp_path / kind, dirs_exist_ok=True))

    return copied


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write_arrays(folder: Path, arrays: dict[str, Any]) -> None:
    from safetensors.numpy import save

    content = save(arrays)
    (folder / "model.safetensors").write_bytes(content)
    write_model_document(folder, {**model_document(folder), "checksum": hashlib.sha256(content).hexdigest()})


def arrays_of(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return dict(load_file(folder / "model.safetensors"))


def refused(folder: Path, message: str = "contains no usable model: ") -> str:
    with pytest.raises(InputError, match=message) as caught:
        load_generator(folder)
    told = str(caught.value)
    assert "\n" not in told
    assert len(told) < 600
    return told


def drawn(folder: Path) -> Corpus:
    model = load_generator(folder).model
    context = FORM.corpus(TEXTS[:2]) if model_document(folder)["kind"] == "translation" else None
    return model.sample(2, seed=0, context=context)


def edits(settings: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each numeric setting, the recipe's as well, and the mapping that holds it."""
    for name, value in [*settings.items()]:
        if isinstance(value, dict):
            yield from edits(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, settings


@pytest.mark.filterwarnings("ignore:.*samples were cut")
def test_numbers_of_settings_are_checked_before_anything_is_built(kind: str, copy: Callable[[str], Path]) -> None:
    folder = copy(kind)
    assert len(drawn(folder)) == 2
    document = model_document(folder)
    names = list(edits(document["settings"]))
    assert names
    for name, holder in names:
        value = holder[name]
        wrong = [2**70, -1, str(value), True, [value], 10**400]
        wrong += [value + 0.5, float(10**7)] if isinstance(value, int) else []
        for other in wrong:
            holder[name] = other
            write_model_document(folder, document)
            assert name in refused(folder), (name, other)
        del holder[name]
        write_model_document(folder, document)
        assert f"'{name}' is missing" in refused(folder)
        for other in (0, 10**7, 2**62):
            holder[name] = other
            write_model_document(folder, document)
            if name in HARMLESS and not (kind == "leakgan" and name == "memory"):
                try:
                    assert len(drawn(folder)) == 2
                except InputError as error:
                    assert other == 0 or isinstance(value, float), error  # noqa: PT017
            elif name not in MAY_BE_ZERO or other:
                refused(folder)
        holder[name] = value
    write_model_document(folder, document)
    assert len(drawn(folder)) == 2


def test_settings_are_all_there_and_no_others(kind: str, copy: Callable[[str], Path]) -> None:
    folder = copy(kind)
    document = model_document(folder)
    for name in [*document["settings"]]:
        value = document["settings"].pop(name)
        write_model_document(folder, document)
        assert f"'{name}' is missing" in refused(folder)
        document["settings"][name] = value
    for extra in ("depth", "preset", "name", "self", "_", "max_epochs"):
        write_model_document(folder, {**document, "settings": {**document["settings"], extra: "tiny"}})
        assert extra in refused(folder)
    nothing: tuple[Any, ...] = (None, [], "x", 3, {})
    for settings in nothing:
        write_model_document(folder, {**document, "settings": settings})
        refused(folder)
    for other in sorted({*KINDS} - {kind}):
        write_model_document(folder, {**document, "kind": other})
        if {kind, other} != {"c2s", "att2seq"}:
            refused(folder)
    for wrong in nothing[:2] + nothing[3:]:
        write_model_document(folder, {**document, "kind": wrong})
        assert "kind" in refused(folder)


def test_weights_are_those_of_the_settings_and_finite(kind: str, copy: Callable[[str], Path]) -> None:
    folder = copy(kind)
    arrays = arrays_of(folder)
    networks = "tokens" not in arrays
    not_finite = itertools.cycle((np.nan, np.inf, -np.inf))
    for name, array in arrays.items():
        write_arrays(folder, {key: value for key, value in arrays.items() if key != name})
        assert name in refused(folder)
        write_arrays(folder, {**arrays, name: array.astype(np.float16 if networks else np.float64)})
        refused(folder)
        write_arrays(folder, {**arrays, name: array[..., None]})
        refused(folder)
        write_arrays(folder, {**arrays, name: array[:-1]})
        if networks and name != "transformer.wpe.weight":
            assert name in refused(folder)
        if networks:
            broken = array.copy()
            broken.flat[-1] = next(not_finite)
            write_arrays(folder, {**arrays, name: broken})
            assert f"1 of {array.size} values of the weights '{name}' are not finite" in refused(folder)
    write_arrays(folder, {**arrays, "extra": np.zeros(3, np.float32)})
    assert "extra" in refused(folder)
    write_arrays(folder, {})
    refused(folder)
    write_arrays(folder, arrays)
    assert len(load_generator(folder).form.vocabulary) > 4


def test_damaged_files(kind: str, copy: Callable[[str], Path]) -> None:
    folder = copy(kind)
    numbers, document = folder / "model.safetensors", folder / "config.json"
    whole, told = numbers.read_bytes(), document.read_text("utf-8")
    for part in (b"", whole[:4], whole[:-1], whole + b"\0", b"\xff" * 8 + whole[8:], whole[:-1] + b"\x55"):
        numbers.write_bytes(part)
        refused(folder, "truncated or damaged")
    numbers.write_bytes(whole)
    for text in (
        "", "no JSON", told[:-5], "[1]", "[" * 100_000, '{"format": ' + "9" * 5000 + "}", "\0",
        told.replace('"seed": 0', '"seed": NaN', 1) + "NaN",
    ):  # fmt: skip
        document.write_text(text, "utf-8")
        refused(folder, "cannot read|does not describe a model")
    document.write_bytes(b"\xff\xfe" + told.encode())
    refused(folder, "cannot read")


def test_a_vocabulary_that_is_not_the_models(kind: str, copy: Callable[[str], Path]) -> None:
    folder = copy(kind)
    document = model_document(folder)
    tokens = document["form"]["tokens"]

    def with_tokens(changed: list[Any]) -> dict[str, Any]:
        """Return the document with other tokens and hashes that fit those which are left."""
        from textassay.corpus.encoding import Vocabulary
        from textassay.corpus.tokenizer import resolve_tokenizer

        digest = TextForm(resolve_tokenizer("whitespace"), Vocabulary(map(str, changed))).hash
        return {**document, "vocabulary": digest, "form": {**document["form"], "tokens": changed, "hash": digest}}

    write_model_document(folder, with_tokens(tokens))
    load_generator(folder)
    doubled = [*tokens[:-1], tokens[0]]
    others: list[Any] = [
        tokens[:-1],
        doubled,
        [*tokens, "<eos>"],
        [*tokens[:-1], 7],
        [*tokens, None],
        "".join(tokens),
        {},
    ]
    for changed in others:
        write_model_document(
            folder, with_tokens(list(changed)) | ({"form": {"tokens": changed}} if changed != list(changed) else {})
        )
        refused(folder)
    write_model_document(folder, with_tokens(doubled))
    assert f"has the token '{tokens[0]}' twice" in refused(folder)
    if kind not in ("ngram", "position-unigram"):
        write_model_document(folder, with_tokens([*tokens, "one-more"]))
        refused(folder)
    for part in document["form"]:
        write_model_document(
            folder, {**document, "form": {key: value for key, value in document["form"].items() if key != part}}
        )
        refused(folder)
        write_model_document(folder, {**document, "form": {**document["form"], part: 3}})
        refused(folder)


def test_records_of_training_that_mean_nothing(kind: str, copy: Callable[[str], Path]) -> None:
    folder = copy(kind)
    document = model_document(folder)
    record = document["training"]
    wrong: list[Any] = [None, [], "x", 3, {**record, "train": 3}, {**record, "train": {"fingerprint": 3}}]
    wrong += [{**record, "train": {"fingerprint": "f", "sentences": "many"}}, {**record, "valid": [1]}]
    if "history" in record and kind != "noise-gru":
        epoch = {"number": 1, "loss": 2.0, "score": -1.0}
        for history in (
            None, {}, {**record["history"], "epochs": 3}, {**record["history"], "epochs": [3]},
            {**record["history"], "epochs": [{**epoch, "loss": "2"}]}, {**record["history"], "epochs": [{"number": 1}]},
            {**record["history"], "precision": 3}, {**record["history"], "readings": [{"step": 1}]},
        ):  # fmt: skip
            wrong.append({**record, "history": history})
    if kind in CONTEXTUAL:
        others: tuple[Any, ...] = (
            None, {}, {"numbers": [], "counts": []}, {"numbers": [0], "counts": [0]}, {"numbers": [6], "counts": [1]},
            {"numbers": [-1], "counts": [1]}, {"numbers": [0, 1], "counts": [1]}, {"numbers": [0.5], "counts": [1]},
        )  # fmt: skip
        wrong += [{**record, "contexts": contexts} for contexts in others]
    for training in wrong:
        write_model_document(folder, {**document, "training": training})
        refused(folder)


@pytest.mark.parametrize("counted", ["ngram", "position-unigram"])
def test_the_text_of_models_that_count(counted: str, copy: Callable[[str], Path]) -> None:
    folder = copy(counted)
    arrays = arrays_of(folder)
    for name, place, value in (
        ("tokens", 0, -1), ("tokens", 0, 10**6), ("tokens", 0, 1), ("offsets", 0, 1), ("offsets", -1, 10**9),
        ("offsets", 1, -5), ("offsets", 1, 2**40), ("offsets", 2, 0),
    ):  # fmt: skip
        changed = arrays[name].copy()
        changed[place] = value
        write_arrays(folder, {**arrays, name: changed})
        refused(folder)
    write_arrays(folder, {"tokens": np.zeros(0, np.int32), "offsets": np.zeros(1, np.int64)})
    refused(folder)


def test_numbers_are_not_read_where_the_settings_do_not_fit(
    copy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy("gpt2")
    document = model_document(folder)
    document["settings"]["layers"] = 3
    write_model_document(folder, document)

    def read_bytes(path: Path) -> bytes:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    assert "transformer.h.2" in refused(folder)
