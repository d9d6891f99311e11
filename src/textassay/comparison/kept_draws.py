"""Texts that were drawn from one generator, and their log-probabilities: kept in a folder, and continued there.

A model draws blocks of `BLOCK` texts, each with a seed of its own; a command is called for as many as are needed, or
read as long as they are; an endpoint is asked for each text, and its answers are at once in a file of their own. A file
of JSON lines stands beside a document with its checksum, seed and the key of the generator: what draws the same goes on
from it, and what a killed run had begun is cut off.
"""

import hashlib
import json
import os
import re
import warnings
import zlib
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.comparison.sources import Source
from textassay.corpus.documents import parse_json
from textassay.errors import InputError, OutputError
from textassay.storage import atomic_write

if TYPE_CHECKING:
    from textassay.source.endpoint import EndpointModel
    from textassay.source.external import ExternalCommand

BLOCK = 500  # texts that are drawn, and kept, together
CALL = 10_000  # most texts of one call of a command
PATIENCE = 600.0  # seconds that a command may print nothing
DRAWS = "draws"  # the folder within that of the results
_SAFE = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 60

FloatArray = npt.NDArray[np.float64]
Pieces = Generator[list[str], None, None]


class KeptDraws:
    """The texts drawn from one generator so far, kept in a folder if there is one."""

    fails_early = False

    def __init__(self, name: str, model: str, key: str | None, seed: int, folder: Path | None) -> None:
        self.model = model
        self.seed = seed
        self.texts: list[str] = []
        self.seconds = 0.0
        self.warnings: list[str] = []
        self.note: str | None = None  # what drawing took, where that is known
        self.file: str | None = None
        self._name = name
        self._key = f"{key}/{seed}"
        self._bytes = self._checksum = self._n_saved = 0
        self._path: Path | None = None
        if folder is not None:
            self._path = folder / f"{_file_name(name)}-{hashlib.sha256(self._key.encode()).hexdigest()[:8]}.jsonl"
            self.file = f"{DRAWS}/{self._path.name}"
            if key is not None:
                self._load(self._path)
            else:  # what cannot be recognised is drawn anew
                with suppress(OSError):
                    scores_of(self._path).unlink(missing_ok=True)

    @property
    def scores(self) -> Path | None:
        """Where the log-probabilities of these texts are kept."""
        return None if self._path is None else scores_of(self._path)

    def pieces(self, n: int) -> Pieces:
        """Yield more texts until there are `n`."""
        raise NotImplementedError

    def keep(self, texts: Sequence[str], seconds: float) -> None:
        """Add texts that took so long to draw; where there is a folder, write them when there are enough."""
        self.texts += texts
        self.seconds += seconds
        if len(self.texts) - self._n_saved >= BLOCK:
            self.save()

    def row(self, number: int) -> dict[str, str]:
        """Return what the file says of a text."""
        return {"text": self.texts[number]}

    def save(self) -> None:
        """Write texts that are not yet in the folder, if there is one."""
        texts = self.texts[self._n_saved :]
        if self._path is None or not texts:
            return
        rows = (self.row(number) for number in range(self._n_saved, len(self.texts)))
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        content = lines.encode("utf-8", "surrogatepass")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("r+b" if self._bytes else "wb") as file:
                file.seek(self._bytes)
                file.truncate()  # what a killed run had begun
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            self._bytes += len(content)
            self._checksum = zlib.crc32(content, self._checksum)
            self._n_saved = len(self.texts)
            document = {
                "generator": self._name,
                "model": self.model,
                "key": self._key,
                "seed": self.seed,
                "texts": self._n_saved,
                "bytes": self._bytes,
                "checksum": self._checksum,
                "seconds": self.seconds,
                "warnings": self.warnings,
            }
            with atomic_write(self._path.with_suffix(".json")) as draft:
                draft.write(json.dumps(document, indent=1).encode())
        except OSError as error:
            raise OutputError(
                f"cannot write to {self._path.parent}: {error.strerror or error}; choose another --out"
            ) from error

    def _load(self, path: Path) -> None:
        """Take what an earlier run has kept; where it is damaged, nothing."""
        try:
            document = parse_json(path.with_suffix(".json").read_text(encoding="ascii"))
            with path.open("rb") as file:
                content = file.read(document["bytes"])
            texts = [json.loads(line)["text"] for line in content.decode("utf-8", "surrogatepass").split("\n")[:-1]]
            whole = len(content) == document["bytes"] and zlib.crc32(content) == document["checksum"]
            if whole and document["key"] == self._key and document["texts"] == len(texts):
                self.texts, self.seconds = texts, float(document["seconds"])
                self.warnings = [str(warning) for warning in document["warnings"]]
                self._bytes, self._checksum, self._n_saved = document["bytes"], document["checksum"], len(texts)
        except (OSError, ValueError, KeyError, TypeError):
            return


class _OfModel(KeptDraws):
    def __init__(self, name: str, source: Source, seed: int, folder: Path | None) -> None:
        model = getattr(source, "model", source)
        super().__init__(name, str(getattr(model, "name", type(model).__name__)), _key(model), seed, folder)
        self._source = source

    def pieces(self, n: int) -> Pieces:
        while len(self.texts) < n:
            start = len(self.texts)
            first = start - start % BLOCK
            texts = self._sample(min(first + BLOCK, n) - first, self.seed + first // BLOCK)
            repeats = texts[: start - first] == self.texts[first:start]  # else it does not draw as it should
            yield texts[start - first :] if repeats else texts

    def _sample(self, n: int, seed: int) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            drawn = self._source.sample(n, seed=seed)
        if caught and not self.warnings:  # each block has the same to say
            self.warnings.append(f"{self._name}: {caught[0].message} (of {n} that were drawn together)")
        texts = list(getattr(drawn, "texts", drawn))
        if len(texts) != n or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{self._name}: sample({n}, seed={seed}) must return {n} str, got {len(texts)} items")
        return texts


class _OfCommand(KeptDraws):
    fails_early = True

    def __init__(self, name: str, command: "ExternalCommand", seed: int, folder: Path | None) -> None:
        key = f"command {command.column} {command.command}"
        super().__init__(name, command.name, key, seed, folder)
        self._command = command

    def pieces(self, n: int) -> Pieces:
        return self._called(n) if "{n}" in self._command.command else self._read(n)

    def _called(self, n: int) -> Pieces:
        """Yield what calls print that are told how many; the last texts of a call only where it did not fail."""
        while len(self.texts) < n:
            start, before = len(self.texts), self.texts[:BLOCK]
            wanted = min(n - start, CALL)
            held: list[str] = []
            n_printed = 0
            with self._command.lines(wanted, self.seed + start, patience=PATIENCE) as lines:
                while n_printed < wanted:
                    block = self._sentences(lines.read(min(BLOCK, wanted - n_printed)), n_printed)
                    if not block:
                        break
                    if n_printed == 0:
                        _check_new(self._command, block, before)
                    if held:
                        yield held
                    held, n_printed = block, n_printed + len(block)
                if lines.read(1):
                    raise InputError(f"{self._command.name} printed more than {wanted} sentences")
                failure = lines.ended()
            if failure or n_printed < wanted:
                failure = failure or "it ended with status 0"
                raise InputError(f"{self._command.name} printed {n_printed} of {wanted} sentences; {failure}")
            yield held

    def _read(self, n: int) -> Pieces:
        """Yield what a command prints that is not told how many: it is read as long as texts are needed."""
        n_kept, n_read, repeats = len(self.texts), 0, True
        with self._command.lines(n, self.seed, patience=PATIENCE) as lines:
            while len(self.texts) < n:
                repeating = n_read < n_kept and repeats
                wanted = min(BLOCK, (n_kept - n_read) if repeating else n - len(self.texts))
                texts = self._sentences(lines.read(wanted), n_read)
                has_ended = len(texts) < wanted
                if has_ended and (failure := lines.ended()):
                    raise InputError(f"{self._command.name} failed after {n_read + len(texts)} sentences; {failure}")
                place = n_read
                n_read += len(texts)
                if repeating:  # where an earlier run was, a command without a seed may begin again
                    repeats = texts == self.texts[place : place + len(texts)]
                    texts = [] if repeats else texts
                if texts:
                    yield texts
                if has_ended:
                    return

    def _sentences(self, lines: Sequence[bytes], n_before: int) -> list[str]:
        return [self._command.sentence(line, number) for number, line in enumerate(lines, start=n_before + 1)]


class _OfEndpoint(KeptDraws):
    fails_early = True

    def __init__(self, name: str, model: "EndpointModel", seed: int, folder: Path | None) -> None:
        from textassay.source.endpoint import KeptAnswers

        super().__init__(name, model.name, model.key, seed, folder)
        self._model = model
        self._kept = (
            model.kept(seed)
            if self._path is None or model.folder is not None
            else KeptAnswers(self._path.with_suffix(".answers.jsonl"))
        )

    def pieces(self, n: int) -> Pieces:
        try:
            for answers in self._model.draw(len(self.texts), n, seed=self.seed, kept=self._kept):
                yield [answer.text for answer in answers]
        except InputError as error:
            lost = "" if self._path is not None else "; with --out they are kept, and the same command goes on"
            raise type(error)(f"{self._name}: {error}{lost}") from None

    def row(self, number: int) -> dict[str, str]:
        row = super().row(number)
        return {"prompt": self._model.prompt_of(number), **row} if self._model.has_prompts else row

    def save(self) -> None:
        answers = self._kept.first(len(self.texts))
        self.warnings = [f"{self._name}: {words}" for words in self._model.warnings(answers)]
        self.note = self._model.note(answers)
        super().save()


def _check_new(command: "ExternalCommand", texts: Sequence[str], before: Sequence[str]) -> None:
    """Raise where a call prints what the first one printed."""
    n = min(len(texts), len(before))
    if n and list(texts[:n]) == list(before[:n]) and len(set(texts[:n])) > 1:
        raise InputError(
            f"{command.name} prints the same sentences at every call: it should draw others for another {{seed}}"
        )


def kept_draws(name: str, source: Source, seed: int, folder: Path | None) -> KeptDraws:
    """Return the draws of a generator, those that the folder holds."""
    from textassay.source.endpoint import endpoint_model
    from textassay.source.external import ExternalCommand

    endpoint = endpoint_model(source)
    if endpoint is not None:
        return _OfEndpoint(name, endpoint, seed, folder)
    model = getattr(source, "model", source)
    if isinstance(model, ExternalCommand):
        return _OfCommand(name, model, seed, folder)
    return _OfModel(name, source, seed, folder)


def _key(model: Any) -> str | None:
    """Return what decides a model's draws beside the seed: a hash of its weights; None where that cannot be known."""
    hashed = getattr(model, "_hash", None)  # of the files of a pretrained model
    if isinstance(hashed, str):
        return f"pretrained {hashed} {getattr(model, 'max_length', None)}"
    if not callable(getattr(model, "arrays", None)):
        return None
    digest = hashlib.sha256(json.dumps([model.name, model.settings, list(model.vocabulary.tokens)]).encode())
    for key, array in sorted(model.arrays().items()):
        digest.update(f"{key}{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return f"model {digest.hexdigest()}"


def _file_name(name: str) -> str:
    """Return a generator's name as that of a file."""
    return _SAFE.sub("-", name)[:_LONGEST_NAME].strip(".-") or "generator"


def scores_of(draws: Path) -> Path:
    """Return where the log-probabilities of kept draws, and of the real text, are kept: a file for ``--log-probs``."""
    return draws.with_suffix(".log-probs.npz")


def score_kept(
    source: Any, real: Sequence[str], drawn: Sequence[str], path: Path | None
) -> tuple[FloatArray, FloatArray]:
    """Return the log-probabilities of draws and of real texts; those that `path` has are not computed again."""
    of_texts = hashlib.sha256("\0".join(real).encode("utf-8", "surrogatepass")).hexdigest()
    before, known_real = _load_scores(path, of_texts)
    of_real = known_real if len(known_real) == len(real) else np.asarray(source.log_prob(list(real)), dtype=np.float64)
    rest = list(drawn[len(before) :])
    of_drawn = np.concatenate([before, *([source.log_prob(rest)] if rest else [])]).astype(np.float64)
    if path is not None and (rest or len(known_real) != len(real)):
        with atomic_write(path) as file:
            np.savez(file, real=of_real, generated=of_drawn, of=np.array(of_texts))
    return of_drawn[: len(drawn)], of_real


def _load_scores(path: Path | None, of_texts: str) -> tuple[FloatArray, FloatArray]:
    try:
        if path is not None and path.exists():
            with np.load(path, allow_pickle=False) as kept:
                if str(kept["of"]) == of_texts:
                    return kept["generated"], kept["real"]
    except Exception:  # a damaged file raises anything
        pass
    return np.empty(0), np.empty(0)
