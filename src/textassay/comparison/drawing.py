"""Generated text that a comparison draws by itself, from models, commands and endpoints, and keeps in a folder.

What is drawn depends on the generator, its name and the seed, never on how much is drawn. A model draws blocks of
`BLOCK` texts, each with a seed of its own; a command is called for as many as are needed, or read as long as they are;
an endpoint is asked for each text, and its answers are at once in a file of their own. Endpoints without a prompt of
their own answer the prompts of the real text, as often as these have real answers. A file of JSON lines stands beside a
document with its checksum, seed and the key of the generator: what draws the same goes on from it, and what a killed
run had begun is cut off. Log-probabilities of models are used where every generator of the comparison has them.
"""

import hashlib
import json
import os
import re
import time
import warnings
import zlib
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.comparison.comparison import Draw
from textassay.comparison.measure import Progress
from textassay.comparison.sources import Source, command_of, is_endpoint
from textassay.corpus.documents import parse_json
from textassay.corpus.text_file import TextFile
from textassay.corpus.texts import as_texts
from textassay.errors import InputError, OutputError, TextassayError
from textassay.seeding import stream
from textassay.storage import atomic_write

if TYPE_CHECKING:
    from textassay.source.endpoint import EndpointModel
    from textassay.source.external import ExternalCommand

FloatArray = npt.NDArray[np.float64]
LogProbs = tuple[FloatArray, FloatArray]  # of draws and of real texts
ENDED = "the command printed no more sentences"

BLOCK = 500  # texts that are drawn, and kept, together
CALL = 10_000  # most texts of one call of a command
PATIENCE = 600.0  # seconds that a command may print nothing
DRAWS = "draws"  # the folder within that of the results
_SAFE = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 60

Pieces = Generator[list[str], None, None]


@dataclass(frozen=True)
class Drawn:
    """What was drawn, the texts, log-probabilities of draws and of real texts, and what is to be said of it."""

    draws: tuple[Draw, ...]
    texts: Mapping[str, Sequence[str]]
    log_probs: Mapping[str, LogProbs]
    warnings: tuple[str, ...]


def draw_all(
    sources: Mapping[str, Source],
    *,
    named: Mapping[str, Any],
    real: Sequence[str],
    n: int,
    least: int,
    seed: int,
    folder: Path | None,
    scored: bool,
    with_log_probs: Collection[str],
    progress: Progress | None,
) -> Drawn:
    """Draw `n` texts from each generator, and score them where every generator of the comparison has log-probabilities.

    A command that ends before gives what it printed, if that is at least `least`. Nothing is written before every
    generator has been opened. `named`: all generators, as they were given; `with_log_probs`: those whose
    log-probabilities were given. All or none are used: dd with them and dd without are not comparable.
    """
    spelt = {name: _named(named[name], source) for name, source in sources.items()}
    kept: dict[str, KeptDraws] = {}
    for name, source in sources.items():
        first = int(stream(seed, "draws", name).integers(2**31))
        kept[name] = kept_draws(name, source, first, folder)
    try:
        for name, drawn in sorted(kept.items(), key=lambda item: not item[1].fails_early):
            _enlarge(name, drawn, n, progress)
            if len(drawn.texts) < least:
                raise InputError(
                    f"{name}: the command printed {len(drawn.texts)} sentences, at least {least} are needed"
                )
    except KeyboardInterrupt:
        for drawn in kept.values():
            drawn.save()
        raise
    for drawn in kept.values():
        drawn.save()
    texts = {name: drawn.texts[:n] for name, drawn in kept.items()}
    without = [
        name for name in named if not (_has_log_probs(sources[name]) if name in sources else name in with_log_probs)
    ]
    log_probs: dict[str, LogProbs] = {}
    reason = None
    if not scored:
        reason = "they were not requested"
    elif without:
        have = "have" if len(without) > 1 else "has"
        reason = f"{', '.join(without)} {have} none, and dd with log-probabilities is not comparable with dd without"
    else:
        try:
            for name, source in sources.items():
                if progress is not None:
                    progress(f"log-probabilities of {name}", 0, 1)
                log_probs[name] = _scored(name, source, texts[name], real, kept[name].scores)
        except _NoLogProbs as error:
            log_probs, reason = {}, str(error)
    draws = tuple(
        Draw(
            generator=name,
            source=spelt[name],
            model=drawn.model,
            seed=drawn.seed,
            n=len(texts[name]),
            seconds=round(drawn.seconds, 3),
            file=drawn.file,
            log_probs=reason is None,
            no_log_probs=reason,
            note=ENDED if len(texts[name]) < n else drawn.note,
        )
        for name, drawn in kept.items()
    )
    return Drawn(draws, texts, log_probs, tuple(words for drawn in kept.values() for words in drawn.warnings))


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


def _enlarge(name: str, drawn: KeptDraws, n: int, progress: Progress | None) -> None:
    """Draw until there are `n` texts, or no more come."""
    if len(drawn.texts) >= n:
        return
    with closing(drawn.pieces(n)) as pieces:
        while len(drawn.texts) < n:
            if progress is not None:
                progress(f"drawing {name}", len(drawn.texts), n)
            begun = time.perf_counter()
            piece = next(pieces, None)
            if piece is None:
                return
            drawn.keep(piece[: n - len(drawn.texts)], time.perf_counter() - begun)


def _has_log_probs(source: Source) -> bool:
    """Return whether a generator can say how likely a text is."""
    model = getattr(source, "model", source)
    return callable(getattr(source, "log_prob", None)) and hasattr(model, "log_prob")


class _NoLogProbs(Exception):  # noqa: N818  (it is no error of the user's: dd goes on without them)
    """A generator turned out to give no log-probabilities, or some text the probability 0."""


def _scored(name: str, source: Source, texts: Sequence[str], real: Sequence[str], path: Path | None) -> LogProbs:
    """Return the log-probabilities of draws and of real texts; `path`: where they are kept."""
    try:
        found = score_kept(source, real, texts, path)
    except TextassayError as error:
        raise _NoLogProbs(f"{name} gives none ({error})") from None
    if not all(np.isfinite(side).all() for side in found):
        raise _NoLogProbs(f"{name} assigns probability 0 to some texts")
    return found


def _named(given: Any, source: Source) -> str | None:
    """Return how the command line names a generator; None for what Python alone knows."""
    name = given if isinstance(given, str | os.PathLike) else getattr(source, "source", None)
    if name is None and (command := command_of(source)) is not None:
        return f"command:{command}"
    return None if name is None else os.fspath(name)


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
            lost = "" if self._path is not None else "; with --out they are stored, and the same command resumes"
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
            f"{command.name} prints the same sentences at every call: it should draw other sentences for another "
            "{seed}"
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


def asked_endpoints(
    generated: Mapping[str, Any], prompts: Sequence[str] | None, out: Path | str | None
) -> "dict[str, tuple[EndpointModel, int]]":
    """Return the endpoints without a prompt of their own, as models that answer `prompts`, and how many answers.

    `prompts`: those of the real texts, one each; None: none are asked.
    """
    names = [name for name, source in generated.items() if is_endpoint(source)]
    if prompts is None or not names:
        return {}
    from textassay.endpoints import settings_of
    from textassay.source.endpoint import EndpointModel, EndpointSettings

    distinct = tuple(dict.fromkeys(prompts))
    n_each = max(1, round(len(prompts) / len(distinct)))
    folder = None if out is None else Path(out) / DRAWS
    asked = {}
    for name in names:
        source = generated[name]
        settings = settings_of(EndpointSettings, source) if isinstance(source, str) else source.model.settings
        if settings.prompt is None and settings.prompts is None:
            model = EndpointModel(replace(settings, prompts=distinct), folder=folder)
            asked[name] = model, n_each * len(distinct)
    return asked


def answered(
    endpoints: "Mapping[str, tuple[EndpointModel, int]]", *, seed: int, progress: Progress | None
) -> tuple[dict[str, TextFile], list[str]]:
    """Return the answers of each endpoint with their prompts, and what is to be known of them."""
    files, told = {}, []
    for name, (model, n) in endpoints.items():
        answers: list[Any] = []
        try:
            for part in model.draw(0, n, seed=seed):
                answers += part
                if progress is not None:
                    progress(f"answers of {name}", len(answers), n)
        except InputError as error:
            lost = "" if model.folder is not None else "; with --out they are stored, and the same command resumes"
            raise type(error)(f"{name}: {error}{lost}") from None
        prompts = [model.prompt_of(number) for number in range(n)]
        files[name] = TextFile(name, [answer.text for answer in answers], prompts=prompts)
        told += [f"{name}: {words}" for words in (*model.warnings(answers), model.note(answers))]
    return files, told


def split_prompts(prompts: Any, real: TextFile, generated: Mapping[str, Any]) -> tuple[TextFile, Any]:
    """Return the real text with its prompts, and what prompts are given beside the others that are not endpoints."""
    if prompts is None or not any(map(is_endpoint, generated.values())):
        return real, prompts
    if isinstance(prompts, Mapping):
        others = {name: value for name, value in prompts.items() if name not in ("real", "(real)")}
        own = prompts.get("real", prompts.get("(real)"))
    else:
        own = list(as_texts(prompts, "prompts").texts)
        others = {name: own for name, source in generated.items() if not is_endpoint(source)}
    return (real if own is None else replace(real, prompts=as_texts(own, "prompts of real").texts)), others or None
