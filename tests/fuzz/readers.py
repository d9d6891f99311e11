"""What is fuzzed: every function that reads a file of a user, with a few small files to begin with."""

import gzip
import json
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

TEXTS = ("the cat sat", "on a mat .", 'A longer sentence, with "quotes" and é\U0001f600', "x", "the cat sat again")
_LINES = "".join(f"{text}\n" for text in TEXTS)


@dataclass(frozen=True)
class Reader:
    """One kind of file: `read` is called with a folder in which the file `name` holds the input."""

    name: str
    read: Callable[[Path], object]
    seeds: tuple[bytes, ...]
    others: Mapping[str, bytes]  # files that are beside it


def reader(kind: str) -> Reader:
    """Return a reader by its name in `READERS`."""
    return READERS[kind]()


def _text(name: str, *seeds: bytes, **options: Any) -> Reader:
    def read(path: Path) -> object:
        from textassay.corpus.texts import read_texts

        return read_texts(path, **options)

    return Reader(name, read, seeds, {})


def _table(name: str, delimiter: str) -> Reader:
    rows = [f'{number}{delimiter}"{text}"'.replace('""', '"').encode() for number, text in enumerate(TEXTS)]
    plain = f"id{delimiter}text\n1{delimiter}a b\n2{delimiter}c d\n".encode()
    quoted = f'id{delimiter}text\n1{delimiter}"a ""b"" \n c"\n'.encode()
    return _text(name, plain, quoted, b"\n".join(rows), column=None)


def _objects() -> list[dict[str, Any]]:
    return [{"text": text, "n": number, "meta": {"a": [1, None, 1e9]}} for number, text in enumerate(TEXTS)]


def _json_lines() -> bytes:
    return "".join(json.dumps(each) + "\n" for each in _objects()).encode()


def _parquet_file() -> bytes:
    import pyarrow
    from pyarrow import parquet

    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table({"text": list(TEXTS), "n": [1, 2, 3, 4, 5]}), sink)
    return bytes(sink.getvalue())


def _arrow_file() -> bytes:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    table = pyarrow.table({"text": list(TEXTS), "n": [1, 2, 3, 4, 5]})
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _dataset(name: str) -> Reader:
    from textassay.corpus.texts import read_texts

    files = {
        "data.arrow": _arrow_file(),
        "state.json": json.dumps({"_data_files": [{"filename": "data.arrow"}]}).encode(),
    }
    return Reader(name, lambda path: read_texts(path.parent), (files[name],), files)


def _saved_array(array: Any, **arrays: Any) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / ("a.npz" if arrays else "a.npy")
        np.savez(path, **arrays) if arrays else np.save(path, array)
        return path.read_bytes()


def _features(name: str, *seeds: bytes) -> Reader:
    from textassay.corpus.number_files import read_features

    return Reader(name, lambda path: np.asarray(read_features(path)).sum(), seeds, {})


def _columns(name: str, *seeds: bytes) -> Reader:
    from textassay.corpus.number_files import read_side_columns

    return Reader(name, lambda path: read_side_columns(path, n_generated=2, n_real=3), seeds, {})


def _config() -> Reader:
    from textassay.cli.declarations import read_config

    options = {name: name.replace("-", "_") for name in ("real", "metrics", "generators", "seed", "level", "fail-if")}
    seeds = (
        b"real: a.txt\nmetrics: [dd, bleu]\ngenerators: {a: b.txt}\nseed: 1\n",
        b"level: 0.9\nfail-if: ['dd>1', \"x\"]\nreal: &x |\n  a\n  b\nmetrics: *x\n",
    )
    return Reader(
        "config.yaml", lambda path: read_config(path, options=options, repeatable=("generators", "fail_if")), seeds, {}
    )


def _judgements(name: str, *seeds: bytes) -> Reader:
    from textassay_lab.human.results import read_judgements

    return Reader(name, read_judgements, seeds, {})


def _turk() -> bytes:
    head = "AssignmentStatus,WorkerId,Input.hit_id,Input.gotcha_locs"
    for slot in range(2):
        head += f",Input.review_{slot}_text,Input.review_{slot}_student_model,Answer.review_{slot}_judgment"
    rows = [f"Approved,w{worker},p1,1,a b c,Real,real,d e,lstm,fake" for worker in range(3)]
    return "\n".join([head, *rows, ""]).encode()


def _ratings() -> bytes:
    rows = [
        f'{n},r{rater},{"real" if n % 2 else "fake"},{"" if n % 2 else "lstm"},p{n},"text, {n}"'
        for n in range(4)
        for rater in range(2)
    ]
    return "\n".join(["item,rater,label,generator,page,text", *rows, ""]).encode()


def _results() -> Reader:
    import textassay
    from textassay.comparison.document import comparison_markdown, read_comparison, to_json

    real = [f"the cat {word} on mat {number}" for number in range(30) for word in ("sat", "lay")]
    comparison = textassay.compare({"a": real[:40], "b": real[10:50]}, real, metrics=["length", "distinct-n", "bleu"])
    seed = to_json(comparison).encode()
    return Reader("results.json", lambda path: comparison_markdown(read_comparison(path.parent)), (seed,), {})


def _saved(name: str, save: Callable[[Path], None], read: Callable[[Path], object]) -> Reader:
    with TemporaryDirectory() as folder:
        save(Path(folder))
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    return Reader(name, lambda path: read(path.parent), (files[name],), files)


def _sealed(saved: Reader) -> Reader:
    """Return the reader of a document behind its checksum, as somebody may write it by hand."""
    from textassay_lab.generator.saved import document_checksum

    def read(path: Path) -> object:
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            config = json.loads(path.read_bytes())
            config["textassay"]["document-checksum"] = document_checksum(config)
            path.write_text(json.dumps(config), "utf-8")
        return saved.read(path)

    return replace(saved, read=read)


def _model(name: str) -> Reader:
    from textassay_lab import generators

    def read(folder: Path) -> object:
        return generators.from_pretrained(folder).sample(2, seed=0)

    texts = [f"{text} {word}" for text in TEXTS for word in ("one", "two", "three")]
    return _saved(name, generators.Ngram(order=2).fit(texts).save_pretrained, read)


def _network(name: str) -> Reader:
    from textassay_lab import generators

    texts = [f"{text} {word}" for text in TEXTS for word in ("one", "two", "three")]
    model = generators.Lstm(preset="tiny", max_epochs=1, width=4)
    return _saved(
        name,
        lambda folder: model.fit(texts, texts[:3]).save_pretrained(folder),
        lambda folder: generators.from_pretrained(folder).sample(2, seed=0),
    )


def _judge(name: str) -> Reader:
    from textassay import discriminators

    texts = [f"the cat {word} {number}" for number in range(20) for word in ("sat", "lay")]
    labels = [number % 2 for number in range(40)]
    return _saved(
        name,
        lambda folder: discriminators.Logistic().fit(texts, labels).save_pretrained(folder),
        lambda folder: discriminators.from_pretrained(folder).predict_proba(["the cat sat"]),
    )


def _pickle() -> Reader:
    """Return the judge's reader behind its checksum, as somebody may write it by hand."""
    from textassay.discriminator.saved import load_fitted, saved_checksum

    whole = _judge("discriminator.bin")
    first_line, _, objects = whole.seeds[0].partition(b"\n")
    begin = first_line.rpartition(b" ")[0] + b" "

    def read(path: Path) -> object:
        objects, arrays = path.read_bytes(), (path.parent / "discriminator.safetensors").read_bytes()
        content = begin + saved_checksum(arrays, objects) + objects
        (path.parent / "discriminator.bin").write_bytes(content)
        return load_fitted(path.parent)

    return Reader("objects", read, (objects,), whole.others)


def _estimate(name: str) -> Reader:
    from textassay.comparison.measure import EstimateStore

    def save(folder: Path) -> None:
        import textassay

        estimate = textassay.bleu(list(TEXTS), list(TEXTS))
        store = EstimateStore(folder)
        store.save("kept", estimate, ("a warning",))
        store.save_document("kept", {"value": 1.5, "details": [1, None, "x"]})

    def read(folder: Path) -> object:
        store = EstimateStore(folder)
        return store.load("kept"), store.load_document("kept")

    return _saved(name, save, read)


def _checkpoint() -> Reader:
    import torch

    from textassay_lab.training.checkpoint import load_checkpoint, save_checkpoint

    def save(folder: Path) -> None:
        tensors = {"weight": torch.arange(12.0).reshape(3, 4), "step": torch.tensor(3)}
        save_checkpoint(folder / "checkpoint.safetensors", tensors, {"epoch": 1, "history": [1.5, None]})

    return _saved("checkpoint.safetensors", save, lambda folder: load_checkpoint(folder / "checkpoint.safetensors"))


def _study_file() -> Reader:
    from textassay_lab.human.pages import build_study
    from textassay_lab.human.study import load_study, save_study

    def save(folder: Path) -> None:
        save_study(build_study(list(TEXTS), {"a": list(TEXTS)}, page_size=4, per_generator=4), folder)

    return _saved("study.json", save, load_study)


def _members(content: bytes) -> bytes:
    """Return a zip file with one member, for readers that expect two."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("real.npy", content)
        return path.read_bytes()


def _zst(content: bytes) -> bytes:
    import pyarrow

    return bytes(pyarrow.compress(content, codec="zstd", asbytes=True))


_BOMB = b"a\n" * 2_000_000
_MATRIX = np.arange(12.0).reshape(3, 4)
_SIDES = {"real": [0.1, 0.2, 0.3], "generated": [1.0, 2.0]}

READERS: Mapping[str, Callable[[], Reader]] = {
    "txt": lambda: _text("a.txt", _LINES.encode(), b"\xef\xbb\xbfa\r\nb\r\n", b"one line"),
    "jsonl": lambda: _text("a.jsonl", _json_lines(), b'"a"\n"b"\n'),
    "json": lambda: _text("a.json", json.dumps(_objects(), indent=1).encode(), b'["a", "b"]'),
    "csv": lambda: _table("a.csv", ","),
    "tsv": lambda: _table("a.tsv", "\t"),
    "gz": lambda: _text("a.txt.gz", gzip.compress(_LINES.encode(), mtime=0), gzip.compress(_BOMB, mtime=0)),
    "zst": lambda: _text("a.txt.zst", _zst(_LINES.encode()), _zst(_BOMB)),
    "jsonl.zst": lambda: _text("a.jsonl.zst", _zst(_json_lines())),
    "parquet.zst": lambda: _text("a.parquet.zst", _zst(_parquet_file())),
    "jsonl.gz": lambda: _text("a.jsonl.gz", gzip.compress(_json_lines(), mtime=0)),
    "parquet": lambda: _text("a.parquet", _parquet_file()),
    "parquet.gz": lambda: _text("a.parquet.gz", gzip.compress(_parquet_file(), mtime=0)),
    "arrow": lambda: _dataset("data.arrow"),
    "dataset": lambda: _dataset("state.json"),
    "npy": lambda: _features("a.npy", _saved_array(_MATRIX), _saved_array(_MATRIX.astype(np.int32).T)),
    "npz": lambda: _features("a.npz", _saved_array(None, features=_MATRIX)),
    "columns.npz": lambda: _columns("a.npz", _saved_array(None, **_SIDES), _members(_saved_array(_MATRIX))),
    "columns.json": lambda: _columns("a.json", json.dumps(_SIDES).encode()),
    "columns.txt": lambda: _columns("a.txt", b"0.5\n1\n2e3\nnan\n-inf\n"),
    "config": _config,
    "turk": lambda: _judgements("a.csv", _turk()),
    "judgements": lambda: _judgements("a.csv", _ratings()),
    "study": _study_file,
    "results": _results,
    "judge.bin": lambda: _judge("discriminator.bin"),
    "judge.pickle": _pickle,
    "judge.safetensors": lambda: _judge("discriminator.safetensors"),
    "config.json": lambda: _model("config.json"),
    "sealed.json": lambda: _sealed(_model("config.json")),
    "model.safetensors": lambda: _model("model.safetensors"),
    "network.json": lambda: _network("config.json"),
    "sealed-network.json": lambda: _sealed(_network("config.json")),
    "network.safetensors": lambda: _network("model.safetensors"),
    "checkpoint": _checkpoint,
    "estimate.npz": lambda: _estimate("kept.npz"),
    "estimate.json": lambda: _estimate("kept.json"),
}
"""Name to what makes the reader."""
